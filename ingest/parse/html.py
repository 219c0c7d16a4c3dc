"""HTML → the content that a reader came for, as Markdown-like pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ingest.parse.html_boilerplate import content_root, strip_boilerplate, strip_invisible
from ingest.parse.html_fields import page_fields
from ingest.parse.html_render import Renderer
from ingest.parse.markdown import first_title
from ingest.parse.parsed import Parsed, ParseLimits
from ingest.parse.pieces import Piece, assemble
from ingest.parse.plain import parse_plain

MAX_TREE_DEPTH = 1_500
"""Elements inside elements, counted naively; the tree builder is quadratic in it."""

_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)[^<>]*?(/?)>")
_CLOSED_BY_OTHERS = frozenset(
    {
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
        "source", "track", "wbr", "p", "li", "td", "tr", "th", "dt", "dd", "option", "optgroup",
        "thead", "tbody", "tfoot", "colgroup", "html", "head", "body",
    }
)  # fmt: skip
_HIDDEN_TEXT = re.compile(
    r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[A-Za-z/!?][^<>]*>", re.DOTALL | re.IGNORECASE
)


def parse_html(text: str, *, limits: ParseLimits, whole_page: bool = True) -> Parsed:
    """`whole_page`: take away navigation, banners, footers; else all visible text is kept
    (a mail body, a chapter of a book, what another converter wrote)."""
    if _depth(text) > MAX_TREE_DEPTH:
        return _without_structure(text)
    tree = LexborHTMLParser(text)
    fields = page_fields(tree)
    pieces, links = render_tree(tree, limits=limits, whole_page=whole_page, base=fields.get("url"))
    content, blocks = assemble(pieces)
    sources = dict.fromkeys(fields, "html")
    title = fields.get("title", "") or first_title(blocks)
    if title and "title" not in fields:
        fields, sources = {**fields, "title": title}, {**sources, "title": "text"}
    return Parsed(
        text=content,
        blocks=blocks,
        title=title,
        media_type="text/html",
        fields=fields,
        field_sources=sources,
        links=links,
    )


def html_pieces(text: str, *, limits: ParseLimits) -> list[Piece]:
    """All visible text of a fragment as pieces."""
    if _depth(text) > MAX_TREE_DEPTH:
        return [Piece(kind="paragraph", text=_without_structure(text).text)]
    pieces, _ = render_tree(LexborHTMLParser(text), limits=limits, whole_page=False, base=None)
    return pieces


def render_tree(
    tree: LexborHTMLParser, *, limits: ParseLimits, whole_page: bool, base: str | None
) -> tuple[list[Piece], tuple[tuple[str, str], ...]]:
    body = tree.body or tree.root
    if body is None:
        return [], ()
    strip_invisible(tree)
    root: LexborNode = body
    if whole_page:
        strip_boilerplate(body)
        root = content_root(body)
    renderer = Renderer(max_depth=limits.max_depth, base=base)
    return list(renderer.pieces(root)), tuple(renderer.links)


def _depth(text: str) -> int:
    depth = deepest = 0
    for closing, name, alone in _TAG.findall(text):
        if alone or name.lower() in _CLOSED_BY_OTHERS:
            continue
        depth = max(0, depth - 1) if closing else depth + 1
        deepest = max(deepest, depth)
    return deepest


def _without_structure(text: str) -> Parsed:
    lines = (" ".join(part.split()) for part in _visible(text))
    parsed = parse_plain("\n\n".join(line for line in lines if line), media_type="text/html")
    return Parsed(
        text=parsed.text,
        blocks=parsed.blocks,
        title="",
        media_type="text/html",
        notes=("elements are nested too deep; only the words were kept",),
    )


def _visible(text: str) -> Iterator[str]:
    yield from _HIDDEN_TEXT.sub("\n", text).split("\n")
