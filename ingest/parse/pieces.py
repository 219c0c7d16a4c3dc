"""Pieces of a document, as a parser meets them, put together into one text with blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ingest.parse.markdown import markdown_blocks
from ingest.parse.parsed import Block, BlockKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One block to be. `text` is as it shall appear, without blank lines around it.

    A heading's `text` is its title alone; `#` marks are put before it by `level`. Kind
    `markdown` is expanded into the blocks that it contains. `table_header` as in `Block`.
    """

    kind: BlockKind | str
    text: str
    level: int = 0
    page: int | None = None
    table_header: str = ""


def assemble(pieces: Iterable[Piece]) -> tuple[str, tuple[Block, ...]]:
    """The pieces joined by blank lines, and where each of them lies."""
    parts: list[str] = []
    blocks: list[Block] = []
    open_headings: list[tuple[int, str]] = []
    position = 0
    for piece in pieces:
        shown = _shown(piece)
        if not shown.strip():
            continue
        if piece.kind == "markdown":
            inner = markdown_blocks(
                shown, page=piece.page, above=tuple(open_headings), shift=position
            )
            _follow(open_headings, inner, shown, position)
            blocks.extend(inner)
        else:
            if piece.kind == "heading":
                _open(open_headings, piece.level, piece.text)
            blocks.append(_block(piece, shown, position, open_headings))
        parts.append(shown)
        position += len(shown) + 2
    return "\n\n".join(parts), tuple(blocks)


def _shown(piece: Piece) -> str:
    if piece.kind == "heading":
        return f"{'#' * piece.level} {' '.join(piece.text.split())}" if piece.text.strip() else ""
    return piece.text.rstrip()


def _block(
    piece: Piece, shown: str, position: int, open_headings: Sequence[tuple[int, str]]
) -> Block:
    return Block(
        kind=piece.kind,  # type: ignore[arg-type]  # "markdown" was handled before
        start=position,
        end=position + len(shown),
        heading_path=tuple(title for _, title in open_headings),
        page=piece.page,
        table_header=piece.table_header,
    )


def _open(open_headings: list[tuple[int, str]], level: int, title: str) -> None:
    while open_headings and open_headings[-1][0] >= level:
        open_headings.pop()
    if title.strip():
        open_headings.append((level, " ".join(title.split())))


def _follow(
    open_headings: list[tuple[int, str]], inner: Sequence[Block], shown: str, position: int
) -> None:
    """Headings inside a Markdown piece stay open behind it."""
    for block in inner:
        if block.kind == "heading":
            source = shown[block.start - position : block.end - position].lstrip()
            level = len(source) - len(source.lstrip("#")) or (1 if source.endswith("=") else 2)
            _open(open_headings, level, block.heading_path[-1] if block.heading_path else "")
