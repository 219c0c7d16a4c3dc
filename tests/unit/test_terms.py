"""Words, identifiers and scripts as index terms."""

from __future__ import annotations

import pytest

from cluster.text.function_words import is_function_word
from cluster.text.terms import (
    FUNCTION_WEIGHT,
    MAX_QUERY_TERMS,
    content_terms,
    document_terms,
    matched_surfaces,
    query_terms,
)


def weights(question: str) -> dict[str, float]:
    return {term.term: term.weight for term in query_terms(question)}


def matched(question: str, passage: str) -> tuple[str, ...]:
    return matched_surfaces(query_terms(question), document_terms(passage))


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("metadata.filter", "use metadata.filter=None here"),
        ("filter", "see `metadata.filter`."),
        ("FTS5", "sqlite's fts5 module"),
        ("FIT-2024-0087", "ticket fit-2024-0087: closed"),
        ("FIT 2024", "FIT-2024-0087"),
        ("hybrid", "search(hybrid=True)"),
        ("hybrid=True", "search(a, hybrid=True)"),
        ("2.4.1", "since v2.4.1"),
        ("v2.4.1", "since 2.4.1"),
        ("2.4", "since v2.4.1"),
        ("user", "getUserName()"),
        ("getUserName", "getusername"),
        ("user_name", "self.user_name"),
        ("setup.md", "docs/guide/setup.md"),
        ("guide", "C:\\docs\\guide\\setup.md"),
        ("docs.example.org", "https://docs.example.org/a?b=c"),
        ("ERR_4021", "[ERR_4021] failed"),
        ("4021", "ERR_4021"),
        ("wifi", "Wi-Fi"),
        ("e-mail", "email"),
        ("C++", "written in c++."),
        ("C#", "the C# client"),
        ("1000", "about 1,000 genomes"),
        ("foxes", "a fox"),
        ("running", "it runs"),
        ("O'Brien", "Mr O\u2019Brien"),
        ("Müller", "muller"),
        ("resume", "résumé"),
        ("ﬁle", "file"),
        ("ＦＴＳ５", "fts5"),
        ("STRASSE", "straße"),
        ("елка", "ёлка"),
        ("الكتاب", "الكِتَاب"),
        ("หนังสือ", "ร้านหนังสือ"),
        ("서울", "서울에서"),
        ("カタカナ", "ｶﾀｶﾅ"),
        ("東京", "東京都"),
        ("软件", "臺灣的軟件"),
        ("臺灣", "台湾"),
        ("税", "个人所得税"),
        ("李雷", "昨天李雷来了"),
        ("hyphen\u00adated", "hyphenated"),
    ],
)
def test_question_finds_passage(question: str, passage: str) -> None:
    shared = {term.term for term in content_terms(query_terms(question))}
    assert shared & set(document_terms(passage))


@pytest.mark.parametrize(
    ("question", "passage"),
    [("北京 University", "上海 University"), ("v2.4.1", "v2.4.2"), ("王小明", "王大明")],
)
def test_other_names_match_in_part_only(question: str, passage: str) -> None:
    own = {term.term for term in query_terms(question)}
    assert not own <= set(document_terms(passage))


def test_reading_order_and_repeats_are_kept() -> None:
    assert document_terms("beta Alpha beta") == ("beta", "alpha", "beta")
    assert document_terms("数据库") == ("数", "数据", "据", "据库", "库")


def test_nothing_to_search_for() -> None:
    for text in ("", " \n\t", "?!…", "😀", "\u200b\ufe0f", "\ud800", "\0"):
        assert query_terms(text) == ()
        assert document_terms(text) == ()


def test_stem_counts_more_than_exact_form_and_function_words_least() -> None:
    asked = weights("what is the running time")
    assert asked["run"] > asked["running"] > asked["the"] == asked["what"] == FUNCTION_WEIGHT
    assert asked["time"] == 1.0
    assert weights("WHO guidelines")["who"] == 1.0
    assert weights("don't panic")["don't"] == FUNCTION_WEIGHT
    chinese = weights("什么是向量索引")
    assert chinese["向量"] == chinese["索引"] == 1.0
    assert chinese["什么"] == FUNCTION_WEIGHT
    assert FUNCTION_WEIGHT < chinese["向"] < chinese["是向"] < 1.0


def test_whole_identifier_counts_more_than_its_parts() -> None:
    asked = weights("metadata.filter")
    assert asked["metadata.filter"] > asked["metadata"]
    asked = weights("v2.4.1")
    assert asked["v2.4.1"] == asked["2.4.1"] > asked["2.4"]


def test_question_of_function_words_only_keeps_them() -> None:
    assert [term.term for term in content_terms(query_terms("who is it"))] == ["who", "is", "it"]
    assert [term.term for term in content_terms(query_terms("who is Ann"))] == ["ann"]
    assert is_function_word("什么")
    assert not is_function_word("数据")


def test_long_question_is_bounded() -> None:
    terms = query_terms(" ".join(f"w{number}" for number in range(20_000)))
    assert len(terms) == MAX_QUERY_TERMS
    assert terms[0].term == "w0"


@pytest.mark.parametrize(
    ("question", "passage", "pieces"),
    [
        (
            "How do I set metadata.filter?",
            "metadata.filter is set here",
            ("set", "metadata.filter"),
        ),
        ("How do I set metadata.filter?", "a filter", ("filter",)),
        ("Which foxes were running?", "the fox runs", ("foxes", "running")),
        ("北京大学的校长是谁", "他是北京大学校长", ("北京大学", "校长")),
        ("臺灣大學", "台湾大学在台北", ("臺灣大學",)),
        ("what is it", "it is here", ("is", "it")),
        ("Which version has FTS5?", "nothing", ()),
        ("安装 TiDB 7.5", "TiDB 7.5 的安装步骤", ("安装", "TiDB", "7.5")),
        ("税", "个人所得税", ("税",)),
    ],
)
def test_pieces_of_the_question_that_a_passage_has(
    question: str, passage: str, pieces: tuple[str, ...]
) -> None:
    assert matched(question, passage) == pieces
