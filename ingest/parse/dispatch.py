"""Which parser reads this item? Content decides, then the name, then the media type."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from cluster.errors import UnreadableItem
from ingest.parse.code import language_of, parse_code
from ingest.parse.encoding import Decoded, clean, decode
from ingest.parse.epub import parse_epub
from ingest.parse.faults import damage_of
from ingest.parse.html import parse_html
from ingest.parse.mail import parse_eml, parse_msg
from ingest.parse.markdown import parse_markdown
from ingest.parse.markup import parse_asciidoc, parse_rst
from ingest.parse.notebook import parse_notebook
from ingest.parse.office import parse_docx, parse_pptx
from ingest.parse.opendocument import parse_opendocument
from ingest.parse.parsed import Parsed, ParseLimits
from ingest.parse.pdf import parse_pdf
from ingest.parse.plain import parse_plain
from ingest.parse.sheets import parse_xls, parse_xlsx
from ingest.parse.sniff import binary_kind, looks_like_markdown, text_kind
from ingest.parse.structured import parse_json, parse_json_lines, parse_xml, parse_yaml
from ingest.parse.tabular import parse_csv

# Readers that talk about damaged files; what matters of it is in the error or the notes.
for _noisy in ("pdfminer", "pypdfium2", "openpyxl", "mammoth", "olefile"):
    logging.getLogger(_noisy).setLevel(logging.ERROR)

TextParser = Callable[[str, ParseLimits], Parsed]
BinaryParser = Callable[[bytes, ParseLimits], Parsed]

_TEXT: dict[str, TextParser] = {
    "markdown": lambda text, _: parse_markdown(text),
    "html": lambda text, limits: parse_html(text, limits=limits),
    "rst": lambda text, _: parse_rst(text),
    "asciidoc": lambda text, _: parse_asciidoc(text),
    "csv": lambda text, _: parse_csv(text),
    "json": lambda text, limits: parse_json(text, limits=limits),
    "jsonl": lambda text, limits: parse_json_lines(text, limits=limits),
    "yaml": lambda text, _: parse_yaml(text),
    "xml": lambda text, limits: parse_xml(text, limits=limits),
    "ipynb": lambda text, _: parse_notebook(text),
    "plain": lambda text, _: parse_plain(text),
}
_BINARY: dict[str, BinaryParser] = {
    "pdf": lambda content, limits: parse_pdf(content, limits=limits),
    "docx": lambda content, limits: parse_docx(content, limits=limits),
    "pptx": lambda content, limits: parse_pptx(content, limits=limits),
    "xlsx": lambda content, limits: parse_xlsx(content, limits=limits),
    "xls": lambda content, _: parse_xls(content),
    "epub": lambda content, limits: parse_epub(content, limits=limits),
    "msg": lambda content, limits: parse_msg(content, limits=limits),
}


def parse(
    content: bytes, *, name: str, media_type: str | None = None, limits: ParseLimits
) -> Parsed:
    """Text, blocks and fields of one item. Pure: same bytes, same result.

    `name` is the file name or path; only its ending counts. Raises `UnreadableItem`, and
    nothing else, whatever the bytes are.
    """
    if len(content) > limits.max_item_bytes:
        raise UnreadableItem(
            "too_large", f"{len(content)} bytes; at most {limits.max_item_bytes} are read"
        )
    with damage_of("file"):
        kind = binary_kind(content)
        parsed = (
            _of_text(content, name, media_type, limits)
            if kind is None
            else _of_binary(kind, content, limits)
        )
    if not parsed.text.strip():
        raise UnreadableItem("empty", "the file holds no text")
    return parsed


def _of_binary(kind: str, content: bytes, limits: ParseLimits) -> Parsed:
    if kind.startswith("opendocument:"):
        media_type = kind.partition(":")[2]
        return _cleaned(parse_opendocument(content, media_type=media_type, limits=limits))
    return _cleaned(_BINARY[kind](content, limits))


def _of_text(content: bytes, name: str, media_type: str | None, limits: ParseLimits) -> Parsed:
    decoded = decode(content, declared=_charset(media_type))
    kind = text_kind(decoded.text, name=name, media_type=media_type)
    if kind == "eml":
        return _cleaned(parse_eml(content, limits=limits))
    language = language_of(name, decoded.text) if kind == "plain" else ""
    if kind == "plain" and not language and looks_like_markdown(decoded.text):
        kind = "markdown"
    if language:
        parsed = parse_code(decoded.text, language=language)
    else:
        parsed = _TEXT[kind](decoded.text, limits)
    return _cleaned(_with_encoding(parsed, decoded))


def _charset(media_type: str | None) -> str | None:
    _, _, parameter = (media_type or "").partition("charset=")
    return parameter.strip("\"' ;") or None


def _with_encoding(parsed: Parsed, decoded: Decoded) -> Parsed:
    return replace(
        parsed,
        fields={**parsed.fields, "encoding": decoded.encoding},
        field_sources={**parsed.field_sources, "encoding": "file"},
        notes=(*parsed.notes, *decoded.notes),
    )


def _cleaned(parsed: Parsed) -> Parsed:
    """Other converters' texts may hold control characters; offsets must not move, so each is
    replaced by a space."""
    if clean(parsed.text) == parsed.text:
        return parsed
    text = "".join(c if c == "\n" or clean(c) == c else " " for c in parsed.text)
    return replace(parsed, text=text)
