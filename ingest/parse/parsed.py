"""What a parser hands on: text with structure, and the fields that were found inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

BlockKind = Literal["heading", "paragraph", "code", "table", "list", "quote", "html", "turn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """What one item may cost. Beyond a limit `UnreadableItem("too_large")` is raised.

    `max_item_bytes` bounds the file as given, `max_unpacked_bytes` all members of a zip-like
    container together, `max_entries` their number, `max_depth` containers inside containers
    and nested elements.
    """

    max_item_bytes: int = 64 * 1024 * 1024
    max_unpacked_bytes: int = 512 * 1024 * 1024
    max_entries: int = 20_000
    max_depth: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A structural span of `Parsed.text`: half-open offsets in code points.

    `heading_path` holds the headings above the block, outermost first; a heading's own path
    ends with itself. `page` is the page, slide or sheet, from 1, where it is known.
    `table_header` is the header of a table as Markdown lines (`| a | b |` and the rule under
    it), to be repeated when the table is split; `""` for everything else.
    """

    kind: BlockKind
    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    table_header: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """One item as text.

    `text` is Markdown-like, with `\\n` as the only line end, no NUL and no lone surrogate.
    `blocks` are in order, do not overlap, and hold every character that is not white space.
    `fields` are raw strings under lower-case names (`title`, `author`, `language`,
    `published_at`, `updated_at`, `version`, `url`, `license`, `keywords`, `encoding`, and whatever
    a front matter names); `field_sources` says for each one `front_matter`, `html`, `file` or
    `text`. `links` are `(anchor text, target)`. `notes` say in words what was lost or odd.
    """

    text: str
    blocks: tuple[Block, ...]
    title: str
    media_type: str
    fields: Mapping[str, str] = field(default_factory=dict)
    field_sources: Mapping[str, str] = field(default_factory=dict)
    links: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
