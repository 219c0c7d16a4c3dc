"""HTML pages: content kept, boilerplate gone, tables as grids, fields with their source."""

from __future__ import annotations

import time

from ingest.parse.html import parse_html
from ingest.parse.parsed import ParseLimits

LIMITS = ParseLimits()

PAGE = """<!doctype html><html lang="zh-CN"><head><title>Install | Docs</title>
<meta name="author" content="Docs Team"><link rel="canonical" href="https://docs.example.com/install">
<meta property="article:published_time" content="2024-03-01T00:00:00Z">
<script type="application/ld+json">{"@type":"TechArticle","dateModified":"2024-05-06"}</script>
<style>p{color:red}</style></head><body>
<nav><a href="/">Home</a><a href="/b">Blog</a></nav>
<div class="cookie-consent">We use cookies</div>
<main><article><h1>Install<a class="headerlink" href="#i">¶</a></h1>
<p>Run the <code>demo up</code> command, see <a href="https://example.com/faq">the FAQ</a>.</p>
<pre><code class="language-sh">demo up\n  # not a heading\n</code></pre>
<ol start="3"><li>First<ul><li>inner</li></ul></li><li><p>Second</p><pre>x = 1</pre></li></ol>
<dl><dt>term</dt><dd>meaning</dd></dl>
<table><caption>Ports</caption><thead><tr><th>Name</th><th colspan="2">Port</th></tr></thead>
<tr><td rowspan="2">api</td><td>8730</td><td>a|b</td></tr><tr><td>8731</td><td></td></tr></table>
<blockquote>quoted</blockquote>
<p hidden>secret</p><script>alert(1)</script></article></main>
<footer>© Example</footer></body></html>"""


def test_a_page_with_everything() -> None:
    parsed = parse_html(PAGE, limits=LIMITS)
    assert parsed.text == (
        "# Install\n\n"
        "Run the `demo up` command, see [the FAQ](https://example.com/faq).\n\n"
        "```sh\ndemo up\n  # not a heading\n```\n\n"
        "3. First\n   - inner\n4. Second\n\n"
        "```\nx = 1\n```\n\n"
        "- term\n  meaning\n\n"
        "Ports\n\n"
        "| Name | Port | Port |\n| --- | --- | --- |\n| api | 8730 | a\\|b |\n| api | 8731 |  |\n\n"
        "> quoted"
    )
    assert [block.kind for block in parsed.blocks] == [
        *("heading", "paragraph", "code", "list", "code", "list", "paragraph", "table", "quote")
    ]
    assert parsed.blocks[7].table_header == "| Name | Port | Port |\n| --- | --- | --- |"
    assert all(block.heading_path == ("Install",) for block in parsed.blocks)
    assert parsed.fields == {
        "title": "Install | Docs",
        "author": "Docs Team",
        "language": "zh-CN",
        "url": "https://docs.example.com/install",
        "published_at": "2024-03-01T00:00:00Z",
        "updated_at": "2024-05-06",
    }
    assert set(parsed.field_sources.values()) == {"html"}
    assert parsed.links == (("the FAQ", "https://example.com/faq"),)


def test_content_without_main_element_is_never_lost() -> None:
    parsed = parse_html(
        "<body><div class='sidebar'><p>The only text of this page stands here.</p></div></body>",
        limits=LIMITS,
    )
    assert parsed.text == "The only text of this page stands here."


def test_layout_tables_are_no_tables() -> None:
    parsed = parse_html("<table><tr><td><h2>T</h2><p>text</p></td></tr></table>", limits=LIMITS)
    assert [block.kind for block in parsed.blocks] == ["heading", "paragraph"]


def test_row_headers_are_no_header_rows() -> None:
    parsed = parse_html(
        "<table><tr><th>Year<th>Cost</tr><tr><th rowspan=2>2025</tr><tr><td>7</tr></table>",
        limits=LIMITS,
    )
    assert parsed.text.startswith("| Year | Cost |\n| --- | --- |\n| 2025 |  |\n| 2025 | 7 |")


def test_hostile_nesting_ends_soon_and_keeps_the_words() -> None:
    started = time.monotonic()
    for tag in ("div", "b", "table", "ul", "blockquote"):
        parsed = parse_html(f"<{tag}>" * 50_000 + "deep" + f"</{tag}>" * 50_000, limits=LIMITS)
        assert parsed.text == "deep"
        assert parsed.notes
    assert "inner" in parse_html("<div>" * 1_000 + "inner", limits=LIMITS).text
    assert time.monotonic() - started < 20


def test_huge_spans_are_bounded() -> None:
    parsed = parse_html(
        "<table>" + "<tr><td rowspan=60000 colspan=60000>x</td><td>y</td></tr>" * 50 + "</table>",
        limits=LIMITS,
    )
    assert len(parsed.text) < 1_000_000
    assert "y" in parsed.text
