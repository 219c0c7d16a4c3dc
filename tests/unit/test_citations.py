"""What a result says about itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from passages import RECORDED, passages_of

from cluster.ids import sha256_hex
from cluster.model import Hit, Metadata, StoredPassage, Turn
from rerank.citations import citation_of, cite
from rerank.dedup import Block
from rerank.fusion import FusionMethod, Ranking
from rerank.pipeline import fuse_rankings, standing
from rerank.priors import bonuses, moment_of, recency_bonus
from rerank.selection import USUAL_SELECTION, shortlist

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
TEXT = "Access tokens last 30 minutes. Refresh tokens last a day."
ABOUT = Metadata(
    title="Tokens",
    language="en",
    source_type="official_doc",
    source_url="https://docs.example.org/tokens",
    product="harbour",
    product_version="2.0",
    updated_at=NOW - timedelta(days=40),
    authority=0.9,
    quote_policy="citable_with_version",
)
FIRST, SECOND = passages_of(
    TEXT, [(0, 31), (31, len(TEXT))], edition="2.0", edition_key="2", metadata=ABOUT
)


def hit(passage: StoredPassage, channel: str, place: int, score: float = 1.0) -> Hit:
    return Hit(chunk_id=passage.chunk.chunk_id, channel=channel, rank=place, score=score)


def test_a_citation_points_at_the_exact_span_and_its_source() -> None:
    block = Block(
        passages=(FIRST, SECOND),
        score=0.9,
        hits=(hit(FIRST, "keyword", 4), hit(FIRST, "semantic", 2), hit(SECOND, "keyword", 1)),
    )
    cited = cite(
        block,
        rank=1,
        text=TEXT,
        surfaces=lambda text: [word for word in ("tokens", "year") if word in text],
        filters=("tenant",),
    )
    citation = cited.citation
    assert TEXT[citation.start : citation.end] == cited.text
    assert citation.content_sha256 == sha256_hex(TEXT)
    assert citation.chunk_ids == (FIRST.chunk.chunk_id, SECOND.chunk.chunk_id)
    assert (citation.title, citation.product, citation.version) == ("Tokens", "harbour", "2.0")
    assert citation.quote_policy == "citable_with_version"
    assert cited.reasons.matched_terms == ("tokens",)
    assert [(each.channel, each.rank) for each in cited.reasons.channels] == [
        ("keyword", 1),
        ("semantic", 2),
    ]


@pytest.mark.parametrize(
    ("paths", "span", "shared"),
    [
        ((("Tokens", "Access"), ("Tokens", "Access")), None, ("Tokens", "Access")),
        ((("Tokens", "Access"), ("Tokens", "Access", "Refresh")), None, ("Tokens", "Access")),
        ((("Tokens", "Access"), ("Tokens", "Refresh")), None, ("Tokens",)),
        ((("Access",), ("Refresh",)), None, ()),
        (((), ("Refresh",)), None, ()),
        ((("Tokens", "Access"), ("Tokens", "Refresh")), (31, 40), ("Tokens", "Refresh")),
        ((("Tokens", "Access"), ("Tokens", "Refresh")), (0, 31), ("Tokens", "Access")),
        ((("Access",), ("Refresh",)), (0, 0), ("Access",)),
    ],
)
def test_neighbours_of_two_sections_are_cited_under_what_both_stand_under(
    paths: tuple[tuple[str, ...], ...],
    span: tuple[int, int] | None,
    shared: tuple[str, ...],
) -> None:
    passages = tuple(
        replace(one, chunk=replace(one.chunk, heading_path=path))
        for one, path in zip((FIRST, SECOND), paths, strict=True)
    )
    citation = citation_of(Block(passages=passages, score=0.9, hits=()), span=span)
    assert citation.heading_path == shared


@pytest.mark.parametrize(
    ("age", "bonus"),
    [
        (timedelta(0), 0.10),
        (timedelta(hours=24), 0.10),
        (timedelta(hours=24, seconds=1), 0.05),
        (timedelta(days=7), 0.05),
        (timedelta(days=7, seconds=1), 0.0),
        (timedelta(seconds=-1), 0.0),
    ],
)
def test_recency_by_age(age: timedelta, bonus: float) -> None:
    assert recency_bonus(NOW - age, now=NOW) == bonus
    assert recency_bonus(None, now=NOW) == 0.0


def test_bonuses_name_what_they_are_for() -> None:
    assert bonuses(FIRST, now=NOW) == {"authority": pytest.approx(0.036), "status": 0.02}
    bare = replace(FIRST, newest_edition=False, metadata=Metadata())
    assert bonuses(bare, now=NOW) == {}


def test_said_counts_before_updated_before_published() -> None:
    said, updated, published = (NOW - timedelta(days=days) for days in (1, 2, 3))
    about = Metadata(updated_at=updated, published_at=published)
    turn = Turn(conversation="c", session="s", ordinal=0, speaker="a", said_at=said)
    assert moment_of(replace(FIRST, turn=turn, metadata=about)) == said
    assert moment_of(replace(FIRST, metadata=about)) == updated
    assert moment_of(replace(FIRST, metadata=Metadata(published_at=published))) == published
    assert moment_of(replace(FIRST, metadata=Metadata())) is None
    assert FIRST.recorded_at == RECORDED


def ranking(channel: str, *passages: StoredPassage) -> Ranking:
    return Ranking(
        channel=channel,
        hits=tuple(
            hit(passage, channel, place, score=1.0 / place)
            for place, passage in enumerate(passages, start=1)
        ),
    )


def many(count: int) -> list[StoredPassage]:
    return [
        passages_of(f"text {place}", [(0, 6)], revision=f"r{place:03}", document=f"d{place:03}")[0]
        for place in range(count)
    ]


def rank(
    rankings: list[Ranking], *, passages: dict[str, StoredPassage], method: FusionMethod
) -> list[Block]:
    fused = fuse_rankings(rankings, passages=passages, method=method, language="en")
    return standing(fused, passages=passages, reranked=None, now=NOW)


def ids_of(blocks: Iterable[Block]) -> list[str]:
    return [block.chunk_ids[0] for block in blocks]


def test_equal_standing_changes_no_order() -> None:
    """Undated passages of one authority: the fused order is the order."""
    found = many(30)
    stored = {each.chunk.chunk_id: each for each in found}
    ranked = rank(
        [ranking("semantic", *found)],
        passages=stored,
        method="score",
    )
    assert ids_of(ranked) == [each.chunk.chunk_id for each in found]


def test_equal_scores_stay_in_the_order_of_the_fusion() -> None:
    """First in one list beats second in the other; ids would turn that round."""
    low, high = sorted(many(2), key=lambda each: each.chunk.chunk_id)
    one, other = ranking("keyword", high), ranking("semantic", *many(3)[2:], low)
    ranked = rank(
        [replace(one, weight=1.0), replace(other, weight=62 / 61)],
        passages={each.chunk.chunk_id: each for each in many(3)},
        method="reciprocal_rank",
    )
    wanted = [high.chunk.chunk_id, low.chunk.chunk_id]
    assert ids_of(ranked)[1:] == wanted
    assert ids_of(shortlist(ranked, limit=10, plan=USUAL_SELECTION))[1:] == wanted


def test_news_rises_by_a_little_only() -> None:
    found = many(30)
    fresh = Metadata(updated_at=NOW - timedelta(hours=1))
    for place in (1, 29):
        found[place] = replace(found[place], metadata=fresh)
    stored = {each.chunk.chunk_id: each for each in found}
    order = ids_of(rank([ranking("semantic", *found)], passages=stored, method="score"))
    assert order[0] == found[0].chunk.chunk_id
    assert order.index(found[29].chunk.chunk_id) > 5


def test_only_what_may_be_shown_takes_part() -> None:
    found = many(3)
    stored = {each.chunk.chunk_id: each for each in found[1:]}
    ranked = rank(
        [ranking("semantic", *found)],
        passages=stored,
        method="reciprocal_rank",
    )
    assert ids_of(ranked) == list(stored)
    assert ranked[0].hits[0].rank == 2
