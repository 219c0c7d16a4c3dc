"""Which passages are copies of a better one, and which only look like it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from passages import passages_of

from cluster.filters import FIELDS
from cluster.model import Hit, Metadata, Turn
from cluster.stores.fields import passage_fields
from cluster.text.shingles import similarity, words_of
from rerank.dedup import Block
from rerank.near_copies import same_statement, with_others, without_copies

PAGE = (
    "The relay keeps a message for seven days after its first delivery attempt and then moves it "
    "to the dead letter shelf, where an operator can look at it, send it again or throw it away. "
    "Messages on the shelf do not count towards the quota of the sender, and their attachments "
    "are stored in the archive, not in memory, so that a full shelf slows nothing down at all."
)
SEITE = (
    "中继会在首次投递后将消息保留七天，然后把它移到死信架上，运维人员可以查看、重新发送或丢弃。"
    "死信架上的消息不计入发送者的配额，附件保存在归档中而不是内存里，因此死信架满了也不会拖慢系统。"
)


def block(
    text: str,
    score: float,
    *,
    name: str,
    authority: float = 0.5,
    published: int | None = None,
    edition: str = "",
    heading: str = "",
) -> Block:
    about = Metadata(
        title=name,
        authority=authority,
        published_at=datetime(published, 1, 1, tzinfo=UTC) if published else None,
    )
    (passage,) = passages_of(
        text, [(0, len(text))], revision=f"r_{name}", document=f"d_{name}", edition=edition,
        metadata=about,
    )  # fmt: skip
    if heading:
        passage = replace(passage, chunk=replace(passage.chunk, heading_path=(name, heading)))
    hit = Hit(chunk_id=passage.chunk.chunk_id, channel="keyword", rank=1, score=score)
    return Block(passages=(passage,), score=score, hits=(hit,))


def names(blocks: list[Block]) -> list[str]:
    return [each.passages[0].metadata.title for each in blocks]


def clues(one: Block) -> list[tuple[str, str]]:
    return [(copy.passage.metadata.title, copy.kind) for copy in one.also_in]


def test_the_primary_source_stays_in_the_place_of_the_best_copy() -> None:
    blog = block(PAGE, 0.9, name="blog", authority=0.4, published=2020)
    other = block("Something else about queues.", 0.8, name="other")
    docs = block(PAGE + " See also quotas.", 0.5, name="docs", authority=0.9, published=2024)
    kept = without_copies([blog, other, docs])
    assert names(kept) == ["docs", "other"]
    assert kept[0].score == 0.9
    assert clues(kept[0]) == [("blog", "near_copy")]
    assert {hit.chunk_id for hit in kept[0].hits} == {
        each.passages[0].chunk.chunk_id for each in (blog, docs)
    }


def test_thirty_copies_of_a_page_are_one_result_whichever_is_primary() -> None:
    blogs = [block(PAGE, 0.9 - at / 100, name=f"blog{at}", authority=0.4) for at in range(29)]
    docs = block(PAGE, 0.5, name="docs", authority=0.9)
    (kept,) = without_copies([*blogs, docs])
    assert names([kept]) == ["docs"]
    assert len(kept.also_in) == 29


def test_of_equal_authority_the_earlier_date_is_primary() -> None:
    late, early = (
        block(PAGE, 0.9, name="late", published=2025),
        block(PAGE, 0.5, name="early", published=2021),
    )
    undated = block(PAGE, 0.7, name="undated")
    (kept,) = without_copies([late, undated, early])
    assert names([kept]) == ["early"]
    assert sorted(clues(kept)) == [("late", "near_copy"), ("undated", "near_copy")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seven days", "nine days"),
        ("seven days", "7.5 days"),
        ("do not count", "do count"),
        ("an operator can", "only an operator can"),
        ("The relay", "Since v2.1 the relay"),
        ("The relay", "As of March the relay"),
        ("the archive", "the cellar"),
        ("Messages on", "Unless disabled, messages on"),
    ],
)
def test_another_number_version_date_negation_or_word_is_another_statement(
    old: str, new: str
) -> None:
    changed = PAGE.replace(old, new, 1)
    assert changed != PAGE
    assert similarity(PAGE, changed) > 0.75
    assert not same_statement(PAGE, changed)
    blocks = [block(PAGE, 0.9, name="a"), block(changed, 0.8, name="b")]
    assert without_copies(blocks) == blocks


@pytest.mark.parametrize(
    ("old", "new"),
    [("七天", "九天"), ("不计入", "计入"), ("运维人员", "开发人员"), ("中继会", "2.1版起中继会"),
     ("可以查看", "仅可以查看"), ("内存里", "缓存里"), ("首次投递", "三月首次投递")],
)  # fmt: skip
def test_the_same_in_chinese(old: str, new: str) -> None:
    changed = SEITE.replace(old, new, 1)
    assert changed != SEITE
    assert not same_statement(SEITE, changed)
    blocks = [block(SEITE, 0.9, name="a"), block(changed, 0.8, name="b")]
    assert without_copies(blocks) == blocks


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PAGE, PAGE.upper()),
        (PAGE, PAGE.replace("throw it away", "throw them away").replace("them", "it")),
        (PAGE, PAGE + " Thanks for reading."),
        (PAGE, PAGE.replace("The relay keeps", "This relay keeps")),
        (PAGE, PAGE.replace("Messages on the shelf", "Message on the shelf")),
        (SEITE, SEITE.translate(str.maketrans("会将还满统们", "會將還滿統們"))),
        (SEITE, SEITE.replace("，", ", ").replace("。", ". ")),
        (SEITE, SEITE.replace("附件保存", "附件都保存")),
    ],
)
def test_form_alone_makes_no_other_statement(one: str, other: str) -> None:
    kept = without_copies([block(one, 0.9, name="a"), block(other, 0.8, name="b")])
    assert names(kept) == ["a"]
    assert clues(kept[0]) == [("b", "near_copy")]


def test_swapped_names_are_two_statements() -> None:
    one = PAGE + " Redis answers faster than Kafka in this setting."
    other = PAGE + " Kafka answers faster than Redis in this setting."
    assert not same_statement(one, other)


def test_numbers_are_one_word_however_they_are_written() -> None:
    assert words_of("1,000 at −5 on 2026-05-01, v2.4.1") == words_of(
        "1000 at -5 on 2026-05-01; v2.4.1"
    )
    assert words_of("１２ 個") == ("12", "个")


def test_the_same_words_under_another_heading_are_another_statement() -> None:
    text = "Scope: SESSION. Type: Boolean. Default value: ON. It can be set at run time by a user."
    ours = block(text, 0.9, name="a", heading="cache_size_v1")
    theirs = block(text, 0.8, name="b", heading="queue_size_v2")
    assert names(without_copies([ours, theirs])) == ["a", "b"]


def test_editions_are_no_copies_of_each_other() -> None:
    blocks = [
        block(PAGE, 0.9, name="a", edition="7.5"),
        block(PAGE, 0.8, name="b", edition="8.1"),
        block(PAGE, 0.7, name="c", edition="v7.5.0"),
    ]
    assert names(without_copies(blocks)) == ["a", "b"]


def test_what_people_say_is_an_event_each_time() -> None:
    turn = Turn(conversation="c", session="s", ordinal=0, speaker="Ann", said_at=None)
    said = [block(PAGE, 0.9, name="a"), block(PAGE, 0.8, name="b")]
    turns = [replace(one, passages=(replace(one.passages[0], turn=turn),)) for one in said]
    assert without_copies(turns) == turns


def test_thirty_copies_become_one() -> None:
    blocks = [block(PAGE, 1 - at / 100, name=f"{at:02}") for at in range(30)]
    (kept,) = without_copies(blocks)
    assert len(kept.also_in) == 29


def test_a_retold_fact_becomes_a_clue_of_the_better_source() -> None:
    docs = block(
        "Access tokens of Harbour are valid for 30 minutes. Refresh tokens are valid for 24 hours.",
        0.5, name="docs", authority=0.9,
    )  # fmt: skip
    retold = block(
        "I read that an access token of Harbour is valid for 30 minutes.",
        0.9, name="forum", authority=0.3,
    )  # fmt: skip
    kept = without_copies([retold, docs])
    assert names(kept) == ["docs"]
    assert kept[0].score == 0.5
    assert clues(kept[0]) == [("forum", "retold")]


@pytest.mark.parametrize(
    ("text", "authority"),
    [
        ("I read that an access token of Harbour is valid for 45 minutes.", 0.3),
        ("I read that an access token of Harbour is not valid for 30 minutes.", 0.3),
        ("I read that an access token of Harbour is valid for 30 minutes.", 0.85),
        ("Use the harbour mirror in Oslo when tokens expire too early for your batch jobs.", 0.3),
    ],
)
def test_no_retelling(text: str, authority: float) -> None:
    docs = block(
        "Access tokens of Harbour are valid for 30 minutes. Refresh tokens are valid for 24 hours.",
        0.5, name="docs", authority=0.9,
    )  # fmt: skip
    assert names(without_copies([block(text, 0.9, name="x", authority=authority), docs])) == [
        "x",
        "docs",
    ]


def test_a_retold_fact_in_chinese() -> None:
    docs = block(
        "访问令牌的有效期为30分钟。刷新令牌的有效期为24小时。", 0.5, name="d", authority=0.9
    )
    retold = block("听说访问令牌有效期是30分钟", 0.9, name="f", authority=0.3)
    wrong = block("听说访问令牌有效期是45分钟", 0.8, name="w", authority=0.3)
    kept = without_copies([retold, wrong, docs])
    assert names(kept) == ["w", "d"]
    assert clues(kept[1]) == [("f", "retold")]


def test_others_are_told_of_when_they_are_copies() -> None:
    shown = block(PAGE, 0.9, name="shown")
    copy = block(PAGE + " Thanks for reading.", 0.0, name="copy").passages[0]
    other = block(PAGE.replace("seven days", "nine days"), 0.0, name="other").passages[0]
    exact = block(PAGE, 0.0, name="exact").passages[0]
    told = with_others(shown, [copy, other, exact, shown.passages[0]], similar=0.85)
    assert [each.passage.metadata.title for each in told.also_in] == ["exact", "copy"]
    assert told.also_in[0].similarity == 1.0
    assert with_others(told, [copy, exact], similar=0.85) == told
    assert with_others(shown, [other], similar=0.85) == shown


def test_filters_find_the_fields_of_a_passage() -> None:
    """All but the agent's, which passages do not tell: such a filter lets no known copy pass."""
    passage = block(PAGE, 0.9, name="a").passages[0]
    assert set(passage_fields(passage, tenant="acme")) == set(FIELDS) - {"agent"}
