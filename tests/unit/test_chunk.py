"""What a reader of chunks relies on, on small examples."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ingest.chunk import ChunkLimits, ChunkSpan, chunk, chunks_of
from ingest.parse.markdown import parse_markdown


def words(texts: Sequence[str]) -> list[int]:
    return [len(re.findall(r"[\u4e00-\u9fff]|[^\s\u4e00-\u9fff]+", text)) for text in texts]


def chunked(markdown: str, *, most: int = 40, target: int = 30) -> tuple[ChunkSpan, ...]:
    limits = ChunkLimits(max_tokens=most, target_tokens=target)
    return chunk(parse_markdown(markdown), limits=limits, count_tokens=words)


def sentence(word: str, length: int) -> str:
    return " ".join([word] * (length - 1)) + f" {word}."


def test_a_small_document_is_one_chunk_with_its_headings_inside() -> None:
    (only,) = chunked("# Guide\n\n## Install\n\nRun the program.\n")
    assert only.text == "# Guide\n\n## Install\n\nRun the program."
    assert only.context == ""
    assert only.heading_path == ("Guide", "Install")


def test_a_later_piece_of_a_section_carries_the_headings_as_context() -> None:
    body = " ".join(sentence(f"w{number}", 10) for number in range(8))
    first, *rest = chunked(f"# Guide\n\n## Install\n\n{body}\n")
    assert first.text.startswith("# Guide\n\n## Install\n\nw0 ")
    assert first.context == ""
    assert {span.context for span in rest} == {"Guide > Install"}
    assert all(span.text.endswith(".") for span in rest)


def test_a_heading_is_never_left_without_its_body() -> None:
    long = sentence("long", 28)
    spans = chunked(f"# A\n\n{long}\n\n## B\n\n{long}\n")
    assert [span.text.split("\n")[0] for span in spans] == ["# A", "## B"]


def test_small_sections_under_one_heading_share_a_chunk_and_others_do_not() -> None:
    spans = chunked("# A\n\n## One\n\nfirst text\n\n## Two\n\nsecond text\n", target=30)
    assert len(spans) == 1
    assert spans[0].heading_path == ("A",)
    far = chunked("# A\n\n## One\n\n### Deep\n\ntext one\n\n# B\n\n## Two\n\ntext two\n")
    assert [span.heading_path for span in far] == [("A", "One", "Deep"), ("B", "Two")]


def test_a_split_table_repeats_its_header_and_breaks_no_row() -> None:
    rows = [f"| name{number} | value of {number} |" for number in range(12)]
    table = "\n".join(["| name | value |", "| --- | --- |", *rows])
    spans = chunked(f"# T\n\n{table}\n")
    assert len(spans) > 1
    assert spans[0].text.startswith("# T\n\n| name | value |")
    for span in spans[1:]:
        assert span.context == "T\n| name | value |\n| --- | --- |"
        assert set(span.text.split("\n")) <= set(rows)


def test_a_split_fence_repeats_its_opening_line_and_breaks_no_line() -> None:
    lines = [f"call_{number}(a, b, c)" for number in range(40)]
    fence = "\n".join(["```python", *lines, "```"])
    spans = chunked(f"# F\n\n{fence}\n")
    assert len(spans) > 1
    assert all(span.context == "F\n```python" for span in spans[1:])
    assert [line for span in spans for line in span.text.split("\n") if "call" in line] == lines


def test_a_fence_that_fits_is_kept_whole_and_its_comment_is_no_heading() -> None:
    fence = "```sh\n# not a heading\nrun\n```"
    spans = chunked(f"# F\n\n{sentence('x', 26)}\n\n{fence}\n")
    assert [fence in span.text for span in spans] == [False, True]
    assert spans[1].heading_path == ("F",)


def test_chinese_is_cut_behind_its_own_full_stops() -> None:
    text = "数据库保存三份副本。" * 8
    spans = chunked(text)
    assert len(spans) > 1
    assert all(span.text.endswith("。") for span in spans)


def test_a_context_that_would_fill_the_chunk_is_shortened_from_the_outside() -> None:
    outer, inner = "outer " * 12, "inner " * 4
    body = " ".join(sentence("w", 10) for _ in range(8))
    spans = chunked(f"# {outer}\n\n## {inner}\n\n{body}\n")
    assert spans[-1].context == inner.strip()
    assert max(span.token_count for span in spans) <= 40


def test_the_title_stands_at_the_head_of_the_context_unless_it_is_the_heading() -> None:
    parsed = parse_markdown("# Guide\n\n## Use\n\n" + " ".join(sentence("w", 9) for _ in range(9)))
    limits = ChunkLimits(max_tokens=40, target_tokens=30)
    same = chunk(parsed, limits=limits, count_tokens=words, title="guide")
    other = chunk(parsed, limits=limits, count_tokens=words, title="Handbook")
    assert same[-1].context == "Guide > Use"
    assert other[-1].context == "Handbook > Guide > Use"


def test_ids_depend_on_revision_span_and_text() -> None:
    spans = chunked("# A\n\ntext\n")
    one, again = (chunks_of(spans, revision_id="rev_1") for _ in range(2))
    other = chunks_of(spans, revision_id="rev_2")
    assert one == again
    assert one[0].chunk_id != other[0].chunk_id
    assert one[0].ordinal == 0
