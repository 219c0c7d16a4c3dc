"""What kind of file is this? The first bytes decide, where they can, over any name."""

from __future__ import annotations

import io
import re
import zipfile

import olefile  # type: ignore[import-untyped]  # ships no types

from cluster.errors import UnreadableItem
from ingest.parse.faults import damage_of

# Kinds that other modules read; a text kind is found by `text_kind`.
_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89PNG", "scanned", "a PNG picture; run OCR first"),
    (b"\xff\xd8\xff", "scanned", "a JPEG picture; run OCR first"),
    (b"GIF8", "scanned", "a GIF picture; run OCR first"),
    (b"II*\0", "scanned", "a TIFF picture; run OCR first"),
    (b"MM\0*", "scanned", "a TIFF picture; run OCR first"),
    (b"\x1f\x8b", "unsupported", "a gzip archive; unpack it first"),
    (b"BZh", "unsupported", "a bzip2 archive; unpack it first"),
    (b"7z\xbc\xaf", "unsupported", "a 7z archive; unpack it first"),
    (b"\xfd7zXZ", "unsupported", "an xz archive; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "unsupported", "a zstd archive; unpack it first"),
    (b"Rar!", "unsupported", "a RAR archive; unpack it first"),
    (b"{\\rtf", "unsupported", "an RTF file; save it as DOCX or plain text"),
    (b"\x7fELF", "binary", "an ELF program"),
    (b"MZ", "binary", "a Windows program"),
    (b"SQLite format 3", "binary", "an SQLite database"),
    (b"PAR1", "unsupported", "a Parquet file; name it as a corpus of records"),
    (b"ID3", "binary", "an MP3 recording"),
    (b"OggS", "binary", "an Ogg recording"),
    (b"RIFF", "binary", "a RIFF file (sound, film or WebP picture)"),
    (b"\0\0\0\x18ftyp", "binary", "a film"),
    (b"\0\0\0\x20ftyp", "binary", "a film"),
    (b"\0\0\0\x1cftyp", "binary", "a film"),
)
_MIN_PROGRAM = 64
_MARKDOWN = tuple(
    re.compile(mark, re.MULTILINE)
    for mark in (
        r"^#{1,6} \S.{0,200}\n\s*\n",
        r"^```\w*$",
        r"\[[^\[\]\n]{1,200}\]\([^()\s]{1,500}\)",
        r"^\|.{3,500}\|\n\|[ :|-]{3,500}\|$",
        r"^(?:- |\* |1\. )\S.{0,500}\n(?:- |\* |2\. )\S",
        r"\A---\n(?:\w+: .{0,500}\n)+---\n",
    )
)
_MEMBERS = (
    ("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx"), ("META-INF/container.xml", "epub"),
)  # fmt: skip
_ENDINGS: dict[str, str] = {
    "md": "markdown", "markdown": "markdown", "mdx": "markdown", "mkd": "markdown",
    "mdown": "markdown", "qmd": "markdown", "rmd": "markdown",
    "html": "html", "htm": "html", "xhtml": "html", "shtml": "html",
    "rst": "rst", "rest": "rst", "adoc": "asciidoc", "asciidoc": "asciidoc", "asc": "asciidoc",
    "csv": "csv", "tsv": "csv", "tab": "csv", "json": "json", "jsonl": "jsonl", "ndjson": "jsonl",
    "yaml": "yaml", "yml": "yaml", "xml": "xml", "rss": "xml", "atom": "xml", "opml": "xml",
    "eml": "eml", "mht": "eml", "mhtml": "eml", "ipynb": "ipynb",
    "txt": "plain", "text": "plain", "log": "plain", "srt": "plain", "vtt": "plain",
}  # fmt: skip
_MEDIA_TYPES: dict[str, str] = {
    "text/markdown": "markdown", "text/html": "html", "application/xhtml+xml": "html",
    "text/x-rst": "rst", "text/asciidoc": "asciidoc", "text/csv": "csv",
    "text/tab-separated-values": "csv", "application/json": "json", "application/jsonl": "jsonl",
    "application/x-ndjson": "jsonl", "application/yaml": "yaml", "text/yaml": "yaml",
    "application/xml": "xml", "text/xml": "xml", "application/rss+xml": "xml",
    "application/atom+xml": "xml", "message/rfc822": "eml", "application/x-ipynb+json": "ipynb",
}  # fmt: skip
_HTML_START = re.compile(
    r"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_MAIL_START = re.compile(r"(?:[A-Za-z][\w-]{1,40}:[^\n]*\n(?:[ \t][^\n]*\n)*){3}")
_MAIL_HEADER = re.compile(
    r"^(?:From|Message-ID|MIME-Version|Received|Return-Path):", re.MULTILINE | re.IGNORECASE
)


def binary_kind(content: bytes) -> str | None:
    """`pdf`, `docx`, `pptx`, `xlsx`, `epub`, `opendocument:<type>`, `xls`, `msg`; `None` for
    what may be text. Raises `UnreadableItem` for what no parser here reads."""
    head = content[:1024]
    if head.lstrip(b"\0 \r\n\t\xef\xbb\xbf").startswith(b"%PDF-"):
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_kind(content)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _ole_kind(content)
    for magic, kind, message in _MAGIC:
        if head.startswith(magic) and (kind != "binary" or b"\0" in content[:_MIN_PROGRAM]):
            raise UnreadableItem(kind, message)
    return None


def text_kind(text: str, *, name: str, media_type: str | None) -> str:
    """Name of the format of a decoded text; `plain` when nothing says more."""
    ending = name.lower().rpartition(".")[2] if "." in name else ""
    by_name = _ENDINGS.get(ending, "")
    stated = _MEDIA_TYPES.get((media_type or "").partition(";")[0].strip().lower(), "")
    kind = by_name if by_name and by_name != "plain" else stated or by_name
    if kind in ("", "plain", "xml"):
        return _by_content(text) or kind or "plain"
    return kind


def looks_like_markdown(text: str) -> bool:
    """For texts whose name says nothing: two different marks of Markdown at least."""
    head = text[:100_000]
    return sum(bool(mark.search(head)) for mark in _MARKDOWN) > 1


def _by_content(text: str) -> str:
    head = text[:4096]
    if _HTML_START.match(head):
        return "html"
    if head.lstrip().startswith("<?xml"):
        return "html" if "<html" in head.lower() else "xml"
    if head.lstrip()[:1] in "{[" and head.lstrip():
        return "json" if text.rstrip()[-1:] in "}]" else ""
    if _MAIL_START.match(head) and len(_MAIL_HEADER.findall(head)) > 1:
        return "eml"
    return ""


def _zip_kind(content: bytes) -> str:
    with damage_of("zip file"):
        archive = zipfile.ZipFile(io.BytesIO(content))
        names = archive.namelist()
        if "mimetype" in names and archive.getinfo("mimetype").file_size <= _MIN_PROGRAM * 4:
            stated = archive.read("mimetype").decode("ascii", "replace").strip()
            if "opendocument" in stated:
                return f"opendocument:{stated}"
    for member, kind in _MEMBERS:
        if any(name.startswith(member) for name in names):
            return kind
    raise UnreadableItem("unsupported", "a zip archive of other files; unpack it first")


def _ole_kind(content: bytes) -> str:
    with damage_of("OLE file"), olefile.OleFileIO(io.BytesIO(content)) as store:
        if store.exists("EncryptedPackage"):
            raise UnreadableItem("encrypted", "the office file asks for a password")
        if store.exists("Workbook") or store.exists("Book"):
            return "xls"
        if any(path[0].startswith("__substg1.0_") for path in store.listdir()):
            return "msg"
    raise UnreadableItem("unsupported", "an old Office format; save it as DOCX or PPTX")
