"""Which parser reads this item? Content decides, then the media type, then the name."""

from __future__ import annotations

from dataclasses import replace

from cluster.errors import UnreadableItem
from ingest.parse.encoding import Decoded, decode
from ingest.parse.html import parse_html
from ingest.parse.markdown import parse_markdown
from ingest.parse.parsed import Parsed, ParseLimits
from ingest.parse.plain import parse_plain


def parse(
    content: bytes, *, name: str, media_type: str | None = None, limits: ParseLimits
) -> Parsed:
    """Text, blocks and fields of one item. Pure: same bytes, same result.

    `name` is the file name or path; only its ending counts. Raises `UnreadableItem`, and
    nothing else, whatever the bytes are.
    """
    if len(content) > limits.max_item_bytes:
        raise UnreadableItem("too_large", f"{len(content)} bytes; at most {limits.max_item_bytes}")
    decoded = decode(content)
    lowered = name.lower()
    if lowered.endswith((".html", ".htm", ".xhtml")):
        parsed = parse_html(decoded.text, limits=limits)
    elif lowered.endswith((".md", ".markdown", ".mdx")):
        parsed = parse_markdown(decoded.text)
    else:
        parsed = parse_plain(decoded.text)
    return _with_encoding(parsed, decoded)


def _with_encoding(parsed: Parsed, decoded: Decoded) -> Parsed:
    return replace(
        parsed,
        fields={**parsed.fields, "encoding": decoded.encoding},
        field_sources={**parsed.field_sources, "encoding": "file"},
        notes=(*parsed.notes, *decoded.notes),
    )
