"""What of a web page is not its content? Never more than the page can spare."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

INVISIBLE = (
    "script, style, template, svg, iframe, object, embed, canvas, audio, video, noscript, "
    "head, datalist, map, dialog, [hidden], [aria-hidden='true'], button, input, select, textarea"
)
FURNITURE = (
    "nav, footer, [role='navigation'], [role='contentinfo'], [role='search'], "
    "[role='banner'], [role='complementary'], [role='dialog'], menu"
)
MAIN = (
    "main",
    "[role='main']",
    "#mw-content-text",
    "article",
    ".markdown-body",
    "#main-content",
    "#content",
    "#main",
)
MAX_SHARE = 0.5
"""A part that holds more of the page's text than this is content, whatever it is called."""
MIN_MAIN_SHARE = 0.5

_CLUTTER = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|breadcrumbs?|sidebar|navbar|nav-?bar|navigation|site-?nav|"
    r"menu|share|sharing|social|related-(?:posts|articles)|advert\w*|ads?-(?:banner|slot)|promo|"
    r"newsletter|subscribe|skip-?(?:link|nav|to-content)|pagination|pager|editsection|"
    r"jump-?link|navbox|noprint|headerlink|anchor-?link|heading-?anchor|copy-?btn|copybutton|"
    r"back-?to-?top|toc|table-of-contents|site-?(?:header|footer)|printfooter|catlinks|"
    r"mw-hidden-catlinks|vector-(?:header|menu|column)\w*|page-?footer|footer)(?:$|[\s_-])",
    re.IGNORECASE,
)
_INVISIBLE_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_INSIDE_CONTENT = frozenset({"article", "main", "blockquote", "figure", "section"})


def strip_invisible(tree: LexborHTMLParser) -> None:
    """Scripts, styles, form controls and hidden parts go; formulas keep their source."""
    _keep_formula_source(tree)
    for node in tree.css(INVISIBLE):
        if not _holds_formula(node):
            node.decompose()
    for node in tree.css("[style]"):
        if _INVISIBLE_STYLE.search(node.attributes.get("style") or ""):
            node.decompose()


def strip_boilerplate(body: LexborNode) -> None:
    """Navigation, banners, footers, cookie notes, lists of mere links."""
    total = _weight(body)
    for node in body.css(FURNITURE):
        if _weight(node) <= MAX_SHARE * total and not _within_content(node):
            node.decompose()
    for node in body.css("header, aside"):
        if not _within_content(node) and (node.css_first("h1") is None):
            _drop_light(node, total)
    for node in body.css("[class], [id]"):
        named = f"{node.attributes.get('class') or ''} {node.attributes.get('id') or ''}"
        if node.tag not in ("body", "main", "article") and _CLUTTER.search(named):
            _drop_light(node, total)


def content_root(body: LexborNode) -> LexborNode:
    """The element that holds the content, when one clearly does."""
    total = _weight(body)
    for selector in MAIN:
        found = body.css(selector)
        if len(found) == 1 and _weight(found[0]) >= MIN_MAIN_SHARE * total:
            return found[0]
    return body


def _drop_light(node: LexborNode, total: int) -> None:
    if _weight(node) <= MAX_SHARE * total:
        node.decompose()


def _weight(node: LexborNode) -> int:
    return len("".join(node.text(deep=True).split()))


def _within_content(node: LexborNode) -> bool:
    parent = node.parent
    while parent is not None and parent.tag != "body":
        if parent.tag in _INSIDE_CONTENT:
            return True
        parent = parent.parent
    return False


def _holds_formula(node: LexborNode) -> bool:
    return node.css_first("math") is not None


def _keep_formula_source(tree: LexborHTMLParser) -> None:
    """`<math>` → `$TeX$` where the page carries the TeX."""
    for node in tree.css("math"):
        source = node.css_first("annotation[encoding='application/x-tex']")
        tex = (source.text() if source else "") or node.attributes.get("alttext") or ""
        if tex.strip():
            node.replace_with(f"${' '.join(tex.split())}$")
