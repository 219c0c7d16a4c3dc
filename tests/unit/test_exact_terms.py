"""What is meant as it is written, and what that is worth."""

from __future__ import annotations

from dataclasses import replace

import pytest
from passages import passages_of

from cluster.model import Chunk
from cluster.text.terms import query_terms
from rerank.verbatim import ExactTerm, verbatim, verbatim_bonus
from serve.plan.exact_terms import BONUSES, exact_terms, weighted


def found(question: str) -> list[tuple[str, str]]:
    return [(term.text, term.kind) for term in exact_terms(question)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("《红楼梦》的作者是谁？", [("红楼梦", "title")]),
        ("“东方红一号”何时发射", [("东方红一号", "quoted")]),
        ("「仁明英睿」是誰說的", [("仁明英睿", "quoted")]),
        ("who said “never again”?", [("never again", "quoted")]),
        ('what is a "fishbowl" debate', [("fishbowl", "quoted")]),
        ("Who wrote 'War and Peace'?", [("War and Peace", "quoted")]),
        ("metadata.filter 怎么写", [("metadata.filter", "identifier")]),
        ("max_open_files的默认值", [("max_open_files", "identifier")]),
        ("does hybrid=True help", [("hybrid=True", "identifier")]),
        ("call `json.loads(text)` here", [("json.loads(text)", "identifier")]),
        ("“max_open_files”是什么", [("max_open_files", "identifier")]),
        ("run it with --dry-run please", [("--dry-run", "identifier")]),
        ("what does Client.create() return", [("Client.create()", "identifier")]),
        ("error FIT-2024-0087", [("FIT-2024-0087", "error_code")]),
        ("ORA-00942 or 0x80070005", [("ORA-00942", "error_code"), ("0x80070005", "error_code")]),
        ("upgrade to v2.4.1 now", [("v2.4.1", "version")]),
        ("When did Barack Obama visit?", [("Barack Obama", "name")]),
        ("Did the University of Chicago win?", [("University of Chicago", "name")]),
        ("Where is Notre Dame's library?", [("Notre Dame", "name")]),
        ("`a_b` twice: `A_B`", [("a_b", "identifier")]),
    ],
)
def test_exact_terms_are_seen(question: str, expected: list[tuple[str, str]]) -> None:
    assert found(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "How long are access tokens valid?",
        "访问令牌的有效期是多久",
        "it's Bob's dog's bone",
        '5\'10" tall and 6" wide',
        "U.S. president in e.g. 1990 at example.com",
        "What Is The Matter?",
        "Does COVID-19 affect GPT-4?",
        "Activation of PPM1D suppresses p53 function.",
        "well-known re-embedding",
        "set `x` to 7.5",
        "rock 'n' roll",
    ],
)
def test_other_words_are_not_exact(question: str) -> None:
    assert found(question) == []


def test_there_are_at_most_sixteen() -> None:
    assert len(exact_terms(" ".join(f"name_{number}" for number in range(40)))) == 16


def test_terms_of_an_exact_term_count_more_and_function_words_stay_low() -> None:
    question = "“the wind in the willows”的作者"
    plain = {term.term: term.weight for term in query_terms(question)}
    raised = {
        term.term: term.weight for term in weighted(query_terms(question), exact_terms(question))
    }
    assert raised["willow"] == plain["willow"] * 1.25
    assert raised["the"] == plain["the"]
    assert raised["作者"] == plain["作者"]


def chunk(text: str, *headings: str) -> Chunk:
    (passage,) = passages_of(text, [(0, len(text))])
    return replace(passage.chunk, heading_path=headings, context=" > ".join(headings))


def term(text: str, bonus: float = 0.2) -> ExactTerm:
    return ExactTerm(text=text, kind="identifier", bonus=bonus)


@pytest.mark.parametrize(
    ("text", "phrase", "stands"),
    [
        ("Set max_open to 5.", "max_open", True),
        ("Set MAX_OPEN to 5.", "max_open", True),
        ("Set max_open_files to 5.", "max_open", False),
        ("Set x.max_open to 5.", "max_open", True),
        ("Since v2.4.1 it is on.", "v2.4.1", True),
        ("Since v2.4.10 it is on.", "v2.4.1", False),
        ("Since v2.4.1.3 it is on.", "v2.4.1", False),
        ("It ends with v2.4.1.", "v2.4.1", True),
        ("这是东方红一号卫星", "东方红一号", True),
        ("这是东方红二号卫星", "东方红一号", False),
        ("用max_open来设置", "max_open", True),
        ("他说：停止，云雀！", "停止，云雀", True),
        ("他说:停止,云雀!", "停止，云雀", True),
        ("Set ＭＡＸ to 5.", "ＭＡＸ", True),
    ],
)
def test_a_term_stands_there_as_it_is_written(text: str, phrase: str, stands: bool) -> None:
    assert verbatim(chunk(text), [term(phrase)]) == ((phrase,) if stands else ())


def test_a_heading_earns_more_than_the_text() -> None:
    exact = [term("max_open")]
    assert verbatim_bonus(chunk("## max_open\n\nA limit.", "Variables"), exact) == 0.2
    assert verbatim_bonus(chunk("A limit.", "Variables", "max_open"), exact) == (
        pytest.approx(0.15)
    )
    assert verbatim_bonus(chunk("Set max_open.", "Variables"), exact) == 0.1
    assert verbatim_bonus(chunk("A limit.", "max_open", "See also"), exact) == 0.1
    assert verbatim_bonus(chunk("A limit.", "Variables"), exact) == 0.0
    assert verbatim_bonus(chunk("Set max_open."), []) == 0.0


def test_of_several_terms_each_earns_its_share_of_the_highest_bonus() -> None:
    exact = [term("max_open"), term("Tide Pool", 0.05)]
    both = verbatim_bonus(chunk("Tide Pool has max_open."), exact)
    one = verbatim_bonus(chunk("max_open is a limit."), exact)
    assert both == pytest.approx(0.2 * 0.5)
    assert one == pytest.approx(0.2 * 0.5 * 0.2 / 0.25)


def test_quotations_and_names_order_what_is_nearly_equal() -> None:
    assert max(BONUSES[kind] for kind in ("title", "quoted", "version", "name")) <= 0.1


def test_headings_in_the_text_count_without_their_marks() -> None:
    text = '### `max_open` <span class="mark">since v2</span>\n\nA limit.\n\n### other\n\nNo.'
    assert verbatim_bonus(chunk(text, "Variables"), [term("max_open")]) == 0.2
    assert verbatim_bonus(chunk(text, "Variables"), [term("mark")]) == 0.1
    assert verbatim_bonus(chunk("## The max_open limit\n\nIt.", "V"), [term("max_open")]) == (
        pytest.approx(0.14)
    )


def test_a_subject_counts_only_as_a_whole_heading() -> None:
    subject = [ExactTerm(text="Version", kind="subject", bonus=1.0)]
    assert verbatim_bonus(chunk("### `version`\n\nIt says.", "Variables"), subject) == 1.0
    assert verbatim_bonus(chunk("### server version\n\nIt says.", "Variables"), subject) == 0.0
    assert verbatim_bonus(chunk("The version.", "Variables"), subject) == 0.0


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("default of timeout in 5.4", "timeout"),
        ("What is the default value of timeout?", "timeout"),
        ("5.4 版本中 timeout 的默认值", "timeout"),
        ("TiDB 5.4 里 timeout 默认是多少？", "timeout"),
        ("变量 datadir 在哪里", "datadir"),
        ("what does the timeout setting do", "timeout"),
        ("a field called owner", "owner"),
    ],
)
def test_a_plain_word_that_is_named_as_a_thing_is_a_subject(question: str, subject: str) -> None:
    assert found(question) == [(subject, "subject")]


@pytest.mark.parametrize(
    "question", ["property tax in Texas", "class action lawsuits", "what is the value of life"]
)
def test_other_plain_words_are_no_subjects(question: str) -> None:
    assert found(question) == []
