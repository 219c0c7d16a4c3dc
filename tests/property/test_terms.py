"""Terms of arbitrary text: sound for the stores, the same for question and document."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cluster.text.han import to_simplified
from cluster.text.languages import detect_language
from cluster.text.terms import (
    MAX_QUERY_TERMS,
    content_terms,
    document_terms,
    matched_surfaces,
    query_terms,
)
from cluster.text.versions import same_version, version_key

AWKWARD = (
    "metadata.filter v2.4.1 getUserName ERR_4021 the 的 什么 北京 University a/b.c C++ don't 1,000 "
    "ёлка สวัสดี 안녕 カタカナ مُحَمَّد é İ ß ﬁ \ud800 \0 \u200b \ufe0f 😀 \u202e \u0301 々 ½ _ __ ... ǅ"
)
PIECES = st.sampled_from(AWKWARD.split())
ANY_TEXT = st.one_of(
    st.text(st.characters(), max_size=60),
    st.lists(st.one_of(PIECES, st.sampled_from(["", " ", "-", "/", "\u2019"]))).map("".join),
)


@given(ANY_TEXT)
@example("\u0345a")
@example("a\u0b71")
def test_terms_are_what_the_stores_take(text: str) -> None:
    for term in document_terms(text):
        assert term
        assert not any(letter.isspace() for letter in term)
        assert term.encode()
        assert "\0" not in term


@given(ANY_TEXT)
def test_a_question_finds_a_document_with_its_text(text: str) -> None:
    asked = query_terms(text)
    terms = [term.term for term in asked]
    assert len(terms) == len(set(terms)) <= MAX_QUERY_TERMS
    assert set(terms) <= set(document_terms(text))
    assert all(0 < term.weight <= 1 and term.surface for term in asked)
    assert bool(asked) == bool(document_terms(text))


@given(ANY_TEXT)
def test_letters_and_digits_always_give_a_term(text: str) -> None:
    visible = any(unicodedata.category(letter)[0] in "LN" for letter in text)
    if visible:
        assert document_terms(text)


@given(ANY_TEXT)
def test_unicode_forms_do_not_matter(text: str) -> None:
    terms = document_terms(text)
    assert document_terms(unicodedata.normalize("NFC", text)) == terms
    assert document_terms(unicodedata.normalize("NFD", text)) == terms


@given(st.text("臺灣軟體個們電腦萬與開關測試国", min_size=1, max_size=20))
def test_traditional_and_simplified_meet(text: str) -> None:
    assert document_terms(text) == document_terms(to_simplified(text))
    assert len(to_simplified(text)) == len(text)


@given(ANY_TEXT, ANY_TEXT)
def test_parts_separated_by_space_add_up(left: str, right: str) -> None:
    assert document_terms(f"{left} \n {right}") == document_terms(left) + document_terms(right)


@given(ANY_TEXT, ANY_TEXT)
def test_surfaces_are_pieces_of_the_question(question: str, passage: str) -> None:
    asked = query_terms(question)
    pieces = matched_surfaces(asked, document_terms(passage))
    shown = {term.surface for term in content_terms(asked)}
    assert len(pieces) == len(set(pieces))
    held = set(document_terms(passage))
    assert bool(pieces) == any(term.term in held for term in content_terms(asked))
    for piece in pieces:
        assert piece in shown or {piece[:2], piece[-2:]} <= shown


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown foxes were running over metadata.filter in v2.4.1, again. ",
        "全文索引把文本变成词项，数据库在北京的服务器上运行。",
        "a" * 999 + " ",
        "a" * 1_000_000,
        "a.b" * 1000,
        "中" * 1000,
        "\u0301" * 1000,
        "....////",
    ],
)
def test_a_megabyte_takes_seconds_at_most(text: str) -> None:
    """A guard against quadratic time; on a free core it is less than a second."""
    whole = text * (1_000_000 // len(text.encode()))
    start = time.process_time()
    document_terms(whole)
    query_terms(whole)
    detect_language(whole)
    assert time.process_time() - start < 8.0


@given(ANY_TEXT)
def test_language_is_a_code(text: str) -> None:
    code = detect_language(text)
    assert code == "und" or (len(code) == 2 and code.islower())


NUMBERS = st.lists(st.integers(0, 10**6), min_size=1, max_size=5)
VERSIONS = st.one_of(
    NUMBERS.map(lambda parts: ".".join(map(str, parts))),
    st.tuples(NUMBERS, st.sampled_from(["a1", "-rc.2", "-beta", ".x", "-1", "k", " GA"])).map(
        lambda pair: ".".join(map(str, pair[0])) + pair[1]
    ),
    st.text(st.characters(), max_size=200),
)


@given(NUMBERS, NUMBERS)
def test_numbers_sort_as_numbers(left: list[int], right: list[int]) -> None:
    def padded(parts: list[int]) -> list[int]:
        return parts + [0] * (5 - len(parts))

    keys = [version_key(".".join(map(str, parts))) for parts in (left, right)]
    assert (keys[0] < keys[1]) == (padded(left) < padded(right))
    assert (keys[0] == keys[1]) == (padded(left) == padded(right))


@given(NUMBERS)
@example([1000, 0, 100])
def test_a_candidate_comes_before_its_release_and_after_the_one_before(parts: list[int]) -> None:
    text = ".".join(map(str, parts))
    order = [f"{text}.dev3", f"{text}-alpha.1", f"{text}b2", f"{text}-rc1", f"v{text}", f"{text}.1"]
    assert sorted(order, key=version_key) == order
    if parts[-1]:
        before = ".".join(map(str, [*parts[:-1], parts[-1] - 1]))
        assert version_key(before) < version_key(order[0])


@given(VERSIONS)
@example("9" * 5000)
@example("1-" + "9" * 5000)
def test_a_version_is_itself(version: str) -> None:
    key = version_key(version)
    assert same_version(version, version)
    assert len(key.encode("utf-8", "surrogatepass")) <= 500
    assert key == version_key(f" {version}\n")
    assert (key == "") == (version.strip() == "")


@given(NUMBERS, NUMBERS)
@example([1000, 0, 100], [0])
def test_a_line_means_its_patches(line: list[int], patch: list[int]) -> None:
    asked = ".".join(map(str, line))
    assert same_version(asked, "v" + ".".join(map(str, line + patch)))
    assert same_version(f"{asked}.x", ".".join(map(str, line + patch)))
    other = ".".join(map(str, [line[0] + 1, *line[1:]]))
    assert not same_version(other, asked)
