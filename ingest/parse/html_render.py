"""A tree of elements → pieces: headings, paragraphs, lists, fences, tables, quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urljoin

from selectolax.lexbor import LexborNode

from ingest.parse.html_table import is_layout, render_table
from ingest.parse.pieces import Piece

MAX_LINKS = 5_000
MAX_SHOWN_TARGET = 200

_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd",
        "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure",
        "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "html",
        "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "section", "summary", "table",
        "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
    }
)  # fmt: skip
_HEADING = re.compile(r"h([1-6])")
_SPACES = re.compile(r"[ \t\n\r\f]+")
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source|brush:?|sourceCode)[-_ :]\s*([\w+#.-]+)"
)
_GUTTER = re.compile(r"(?:^|[\s_-])(?:gutter|linenos?|line-?numbers?|lnt)(?:$|[\s_-])")
_SAFE_TARGET = re.compile(r"(?:https?://|ftp://|mailto:)[^\s<>()]+")
_PICTURE_NAME = re.compile(r"^\S+\.(?:png|jpe?g|gif|svg|webp|bmp)$", re.IGNORECASE)


class Renderer:
    """One walk over a tree. `links` fills up as the pieces are taken."""

    def __init__(self, *, max_depth: int, base: str | None) -> None:
        self.links: dict[tuple[str, str], None] = {}
        self._max_depth = max_depth
        self._base = base

    def pieces(self, node: LexborNode, *, depth: int = 0) -> Iterator[Piece]:
        """Inline runs between block elements become paragraphs."""
        if depth > self._max_depth:
            yield Piece(kind="paragraph", text=_collapsed(node.text(deep=True)).strip())
            return
        run: list[str] = []
        for child in children(node):
            if self._is_block(child):
                yield from self._paragraph(run)
                run = []
                yield from self._block(child, depth + 1)
            else:
                run.append(self.inline(child, depth + 1))
        yield from self._paragraph(run)

    def inline(self, node: LexborNode, depth: int = 0) -> str:
        """The text of an inline element; `\\n` only where the page breaks the line."""
        if node.is_text_node:
            return _collapsed(node.text_content or "")
        if depth > self._max_depth:
            return _collapsed(node.text(deep=True))
        match node.tag:
            case "br":
                return "\n"
            case "img":
                return self._picture(node)
            case "code" | "kbd" | "samp" | "tt":
                return _code_span(node.text(deep=True))
            case "a":
                return self._link(node, depth)
            case "sup" | "sub":
                return self._script(node, depth)
            case "-comment" | "wbr":
                return ""
        inner = "".join(self.inline(child, depth + 1) for child in children(node))
        return f" {inner} " if node.tag in _BLOCKS else inner

    def _is_block(self, node: LexborNode) -> bool:
        if not node.is_element_node:
            return False
        return node.tag in _BLOCKS or node.css_first(_BLOCK_SELECTOR) is not None

    def _block(self, node: LexborNode, depth: int) -> Iterator[Piece]:
        tag = node.tag or ""
        heading = _HEADING.fullmatch(tag)
        if heading:
            yield from self._heading(node, int(heading[1]), depth)
        elif tag == "pre":
            yield Piece(kind="code", text=_fenced(node))
        elif tag == "table":
            yield from self._table(node, depth)
        elif tag in ("ul", "ol", "menu", "dir") and not _is_outline(node):
            yield from self._list(node, depth)
        elif tag == "dl":
            yield from self._definitions(node, depth)
        elif tag == "blockquote":
            yield from self._quote(node, depth)
        elif tag != "hr":
            yield from self.pieces(node, depth=depth)

    def _paragraph(self, run: list[str]) -> Iterator[Piece]:
        text = tidy("".join(run))
        if text:
            yield Piece(kind="paragraph", text=text)

    def _heading(self, node: LexborNode, level: int, depth: int) -> Iterator[Piece]:
        title = tidy(self.inline(node, depth)).strip("¶#§ \n").replace("\n", " ")
        if title:
            yield Piece(kind="heading", text=title, level=level)

    def _table(self, node: LexborNode, depth: int) -> Iterator[Piece]:
        if is_layout(node):
            code = node.css_first("td.code pre, td.blob-code pre, .highlighttable pre")
            if code is not None:
                yield Piece(kind="code", text=_fenced(code))
                return
            yield from self.pieces(node, depth=depth)
            return
        caption = node.css_first("caption")
        if caption is not None:
            yield from self._paragraph([self.inline(caption, depth)])
        table = render_table(node, cell_text=lambda cell: self._cell(cell, depth))
        if table is not None:
            yield Piece(kind="table", text=table.text, table_header=table.header)

    def _cell(self, cell: LexborNode, depth: int) -> str:
        return " ".join(tidy(self.inline(cell, depth)).split())

    def _list(self, node: LexborNode, depth: int) -> Iterator[Piece]:
        """The items of a list as one piece, cut by the code and tables inside."""
        lines: list[str] = []
        number = _start(node)
        for item in children(node):
            if not item.is_element_node:
                continue
            mark = f"{number}. " if node.tag == "ol" else "- "
            number += 1
            yield from self._item(item, mark, lines, depth, "")
        if lines:
            yield Piece(kind="list", text="\n".join(lines))

    def _item(
        self, item: LexborNode, mark: str, lines: list[str], depth: int, indent: str
    ) -> Iterator[Piece]:
        """Appends to `lines`; what must stand alone flushes them first."""
        inside = indent + " " * len(mark)
        lead = indent + mark
        for piece in self.pieces(item, depth=depth + 1):
            if piece.kind in ("code", "table"):
                if lines:
                    yield Piece(kind="list", text="\n".join(lines))
                    lines.clear()
                if lead.strip() and lead == indent + mark:
                    lead = inside
                yield piece
                continue
            for line in piece.text.split("\n"):
                if line.strip():
                    lines.append(f"{lead}{line}")
                    lead = inside

    def _definitions(self, node: LexborNode, depth: int) -> Iterator[Piece]:
        lines: list[str] = []
        entries = [
            entry
            for child in children(node)
            for entry in (children(child) if child.tag == "div" else (child,))
            if entry.tag in ("dt", "dd")
        ]
        for entry in entries:
            mark, indent = ("- ", "") if entry.tag == "dt" else ("", "  ")
            yield from self._item(entry, mark, lines, depth, indent)
        if lines:
            yield Piece(kind="list", text="\n".join(lines))

    def _quote(self, node: LexborNode, depth: int) -> Iterator[Piece]:
        for piece in self.pieces(node, depth=depth):
            if piece.kind in ("code", "table", "heading"):
                yield piece
            else:
                quoted = "\n".join(f"> {line}" for line in piece.text.split("\n"))
                yield Piece(kind="quote", text=quoted)

    def _link(self, node: LexborNode, depth: int) -> str:
        text = "".join(self.inline(child, depth + 1) for child in children(node))
        target = (node.attributes.get("href") or "").strip()
        shown = " ".join(text.split())
        if not target or target.startswith(("#", "javascript:", "data:")) or not shown:
            return text
        absolute = _absolute(self._base, target)
        if len(self.links) < MAX_LINKS:
            self.links.setdefault((shown, absolute), None)
        worth = len(target) <= MAX_SHOWN_TARGET and _SAFE_TARGET.fullmatch(target)
        if not worth or target.removeprefix("mailto:").rstrip("/") == shown or "[" in shown:
            return text
        return f"[{shown}]({target})"

    def _picture(self, node: LexborNode) -> str:
        name = " ".join((node.attributes.get("alt") or "").split())
        return "" if not name or _PICTURE_NAME.match(name) else f" {name} "

    def _script(self, node: LexborNode, depth: int) -> str:
        inner = "".join(self.inline(child, depth + 1) for child in children(node))
        if node.tag == "sup" and re.fullmatch(r"[\w+−-]{1,4}", inner):
            return f"^{inner}"
        return inner


_BLOCK_SELECTOR = ", ".join(sorted(_BLOCKS - {"html", "body", "caption"}))


def children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        yield child
        child = child.next


def tidy(text: str) -> str:
    """Spaces collapsed, no space around line ends, no empty lines."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _is_outline(node: LexborNode) -> bool:
    """A list whose items have headings is a sequence of sections."""
    return node.css_first("h1, h2, h3, h4, h5, h6") is not None


def _collapsed(text: str) -> str:
    return _SPACES.sub(" ", text)


def _absolute(base: str | None, target: str) -> str:
    try:
        return urljoin(base, target) if base else target
    except ValueError:
        return target


def _start(node: LexborNode) -> int:
    raw = node.attributes.get("start") or ""
    return int(raw) if re.fullmatch(r"\d{1,6}", raw) else 1


def _code_span(text: str) -> str:
    inner = " ".join(text.split())
    if not inner:
        return " " if text else ""
    return f"`{inner}`" if "`" not in inner else f"`` {inner} ``"


def _fenced(node: LexborNode) -> str:
    for gutter in node.css("[class]"):
        if _GUTTER.search(gutter.attributes.get("class") or ""):
            gutter.decompose()
    for line_end in node.css("br"):
        line_end.replace_with("\n")
    text = node.text(deep=True).strip("\n").rstrip()
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{_language(node)}\n{text}\n{fence}" if text.strip() else ""


def _language(node: LexborNode) -> str:
    nodes = [node, *node.css("code")]
    if node.parent is not None:
        nodes.append(node.parent)
    for candidate in nodes:
        found = _LANGUAGE.search(candidate.attributes.get("class") or "")
        if found:
            return found[1]
    return ""
