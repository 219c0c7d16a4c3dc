"""Structure of Markdown with exact offsets; the text stays as it is written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingest.parse.encoding import clean
from ingest.parse.front_matter import split_front_matter
from ingest.parse.markdown import parse_markdown, plain_inline
from ingest.parse.parsed import Parsed

PAGE = """---
title: "Backup"
product: demo
version: 7.10
tags: [a, b]
nested: {deep: x}
---

# Backup `now` {#backup}

Intro with a [link](https://example.com/a_(b) "t") and ![alt](x.png).

Setext *title*
--------------

```sh
# not a heading
run --all
```

| a | b |
|---|:-:|
| 1 | 2 |

- item

  ```py
  x = 1
  ```

- second
> quote

<div>
html
</div>

[ref]: https://example.com/ref
"""


def shown(parsed: Parsed, kind: str) -> list[str]:
    return [parsed.text[b.start : b.end] for b in parsed.blocks if b.kind == kind]


def test_a_page_with_everything() -> None:
    parsed = parse_markdown(PAGE)
    assert parsed.text == PAGE.split("---\n", 2)[2]
    assert parsed.title == "Backup"
    assert parsed.fields == {
        "title": "Backup",
        "product": "demo",
        "version": "7.10",
        "tags": "a, b",
        "nested.deep": "x",
    }
    assert set(parsed.field_sources.values()) == {"front_matter"}
    assert shown(parsed, "heading") == [
        "# Backup `now` {#backup}",
        "Setext *title*\n--------------",
    ]
    assert shown(parsed, "code") == [
        "```sh\n# not a heading\nrun --all\n```",
        "  ```py\n  x = 1\n  ```",
    ]
    assert shown(parsed, "table") == ["| a | b |\n|---|:-:|\n| 1 | 2 |"]
    assert shown(parsed, "list") == ["- item", "- second"]
    assert shown(parsed, "quote") == ["> quote"]
    assert shown(parsed, "html") == ["<div>\nhtml\n</div>"]
    table = next(b for b in parsed.blocks if b.kind == "table")
    assert table.table_header == "| a | b |\n|---|:-:|"
    assert table.heading_path == ("Backup now", "Setext title")
    assert parsed.links == (("link", "https://example.com/a_(b)"),)


def test_heading_path_closes_deeper_levels() -> None:
    parsed = parse_markdown("# A\n## B\n### C\n## D\ntext\n# E\n")
    assert [b.heading_path for b in parsed.blocks] == [
        ("A",),
        ("A", "B"),
        ("A", "B", "C"),
        ("A", "D"),
        ("A", "D"),
        ("E",),
    ]
    assert parsed.title == "A"
    assert parsed.field_sources == {"title": "text"}


def test_headings_are_read_as_a_reader_sees_them() -> None:
    assert plain_inline("**Bold** [link](u) `code` &amp; <b>x</b> a_b_c \\# {#id}") == (
        "Bold link code & x a_b_c #"
    )


def test_front_matter_that_is_not_yaml_is_read_by_line() -> None:
    fields, body, notes = split_front_matter("---\nsummary: `x` is: y\nlang: zh\n---\nbody")
    assert fields == {"summary": "`x` is: y", "lang": "zh"}
    assert body == "body"
    assert notes


def test_toml_front_matter_and_thematic_breaks() -> None:
    assert split_front_matter('+++\nversion = "1.20"\ndate = 2024-01-02\n+++\nx')[0] == {
        "version": "1.20",
        "date": "2024-01-02",
    }
    assert split_front_matter("---\n\nprose\n\n---\nx") == ({}, "---\n\nprose\n\n---\nx", ())


def test_yaml_aliases_cannot_explode() -> None:
    bomb = "---\na: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(12)
    )
    fields, _, _ = split_front_matter(bomb + "---\nbody")
    assert sum(map(len, fields.values())) < 10_000


def check(parsed: Parsed) -> None:
    position = 0
    for block in parsed.blocks:
        assert position <= block.start < block.end <= len(parsed.text)
        assert not parsed.text[position : block.start].strip()
        assert parsed.text[block.start : block.end].strip()
        position = block.end
    assert not parsed.text[position:].strip()


def test_giants_keep_headings_and_fences() -> None:
    text = "# A\n\npara\n\n```\n# no\n\n```\n" + "- x\n" * 210_000 + "\n## B\nend"
    parsed = parse_markdown(text)
    check(parsed)
    assert [b.kind for b in parsed.blocks] == [
        *("heading", "paragraph", "code", "paragraph", "heading", "paragraph")
    ]
    assert parsed.blocks[-1].heading_path == ("A", "B")


MARKS = st.sampled_from(
    [
        *("# ", "## ", "- ", "  - ", "1. ", "> ", "```\n", "~~~\n", "|a|b|\n|-|-|\n|1|2|\n"),
        *("===\n", "\n", "---\n", "<div>\n", "</div>\n", "<!--", "[a]: b\n", "    ", "\t"),
        *("é", "🤷🏽‍♀️", "中文", "\u2028", "x"),
    ]
)


@given(st.lists(st.one_of(MARKS, st.text(max_size=10)), max_size=60).map("".join))
def test_blocks_cover_arbitrary_markdown(source: str) -> None:
    text = clean(source)
    parsed = parse_markdown(text)
    assert text.endswith(parsed.text)
    check(parsed)
