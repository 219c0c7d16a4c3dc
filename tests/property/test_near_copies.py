"""Copies: nothing is lost, the order holds, doing it again changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from passages import passages_of

from cluster.model import Hit, Metadata
from cluster.text.sentences import sentence_spans
from cluster.text.shingles import shingles, similarity, words_of
from rerank.dedup import Block
from rerank.near_copies import SIMILAR, same_statement, without_copies

WORDS = st.sampled_from(
    ["harbour", "relay", "cache", "is", "the", "not", "7", "v2.1", "only", "令", "牌", "不", "三"]
)
LONG = st.lists(WORDS, min_size=12, max_size=30).map(" ".join)


@st.composite
def some_blocks(draw: st.DrawFn) -> list[Block]:
    """Best first; many are a few texts with a word more, less or changed."""
    texts = draw(st.lists(LONG, min_size=1, max_size=3))
    blocks = []
    for at in range(draw(st.integers(0, 8))):
        words = draw(st.sampled_from(texts)).split()
        place = draw(st.integers(0, len(words) - 1))
        words[place : place + draw(st.integers(0, 1))] = draw(st.lists(WORDS, max_size=1))
        text = " ".join(words)
        about = Metadata(
            authority=draw(st.sampled_from([0.3, 0.9])),
            published_at=draw(st.sampled_from([None, datetime(2024, 1, 1, tzinfo=UTC)])),
        )
        (passage,) = passages_of(
            text, [(0, len(text))], revision=f"r{at}", document=f"d{at}", metadata=about
        )
        hit = Hit(chunk_id=passage.chunk.chunk_id, channel="keyword", rank=at + 1, score=1.0)
        blocks.append(Block(passages=(passage,), score=1 - at / 10, hits=(hit,)))
    return blocks


def everything(blocks: list[Block]) -> list[str]:
    shown = [each for block in blocks for each in block.chunk_ids]
    clues = [copy.passage.chunk.chunk_id for block in blocks for copy in block.also_in]
    return sorted([*shown, *clues])


@given(some_blocks())
def test_each_passage_is_shown_or_a_clue(blocks: list[Block]) -> None:
    kept = without_copies(blocks)
    assert everything(kept) == everything(blocks)
    for each in kept:
        found = {hit.chunk_id for hit in each.hits}
        near = (copy for copy in each.also_in if copy.kind == "near_copy")
        assert {*each.chunk_ids, *(copy.passage.chunk.chunk_id for copy in near)} <= found


@given(some_blocks())
def test_best_first_as_before(blocks: list[Block]) -> None:
    scores = [each.score for each in without_copies(blocks)]
    assert scores == sorted(scores, reverse=True)


@given(some_blocks())
def test_doing_it_again_changes_nothing(blocks: list[Block]) -> None:
    once = without_copies(blocks)
    assert without_copies(once) == once


@given(some_blocks())
def test_a_near_copy_is_one(blocks: list[Block]) -> None:
    for each in without_copies(blocks):
        for copy in each.also_in:
            if copy.kind == "near_copy":
                shown, other = each.passages[0].chunk.text, copy.passage.chunk.text
                assert similarity(shown, other) > SIMILAR
                assert same_statement(shown, other)


@given(st.text(max_size=200), st.text(max_size=200))
def test_similarity_is_a_share_and_knows_no_sides(left: str, right: str) -> None:
    share = similarity(left, right)
    assert 0.0 <= share <= 1.0
    assert similarity(right, left) == share
    assert similarity(left, left) == (1.0 if words_of(left) else 0.0)
    assert same_statement(left, right) == same_statement(right, left)


@given(st.lists(WORDS, max_size=20))
def test_shingles_are_runs_of_the_words(words: list[str]) -> None:
    runs = {tuple(words[at : at + 3]) for at in range(max(len(words) - 2, min(len(words), 1)))}
    assert len(shingles(words)) == len(runs)
    assert shingles([*words, "end"]) >= shingles(words[1:]) or len(words) < 4
    assert shingles(words) == shingles(tuple(words))


@given(st.text(max_size=400))
def test_sentences_hold_all_but_white_space(text: str) -> None:
    spans = sentence_spans(text)
    assert all(start < end for start, end in spans)
    assert list(spans) == sorted(spans)
    covered = "".join(text[start:end] for start, end in spans)
    assert "".join(covered.split()) == "".join(text.split())
