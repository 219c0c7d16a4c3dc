"""Blocks and editions by example."""

from __future__ import annotations

from passages import passages_of

from cluster.model import Hit, StoredPassage
from cluster.text.versions import version_key
from rerank.dedup import Block, best_blocks, block_text, gaps, merge_adjacent, newest_editions

TEXT = "alpha beta gamma delta"
CHUNKS = passages_of(TEXT, [(0, 6), (6, 11), (11, 17), (17, 22)])


def block(passage: StoredPassage, score: float, channel: str = "semantic") -> Block:
    hit = Hit(chunk_id=passage.chunk.chunk_id, channel=channel, rank=1, score=score)
    return Block(passages=(passage,), score=score, hits=(hit,))


def test_neighbours_become_one_block_with_the_best_score_and_all_reasons() -> None:
    merged = merge_adjacent([block(CHUNKS[1], 0.9), block(CHUNKS[0], 0.4, "keyword")])
    assert len(merged) == 1
    assert (merged[0].start, merged[0].end, merged[0].score) == (0, 11, 0.9)
    assert block_text(merged[0]) == "alpha beta "
    assert [hit.channel for hit in merged[0].hits] == ["keyword", "semantic"]


def test_a_chunk_between_two_others_joins_all_three() -> None:
    merged = merge_adjacent([block(CHUNKS[0], 0.9), block(CHUNKS[2], 0.8), block(CHUNKS[1], 0.7)])
    assert [block_text(each) for each in merged] == ["alpha beta gamma "]


def test_chunks_that_do_not_follow_each_other_stay_apart() -> None:
    merged = merge_adjacent([block(CHUNKS[0], 0.9), block(CHUNKS[2], 0.8)])
    assert [each.start for each in merged] == [0, 11]


def test_a_block_stays_within_its_bound() -> None:
    merged = merge_adjacent([block(each, 0.5) for each in CHUNKS], max_tokens=12)
    assert sorted((each.start, each.end) for each in merged) == [(0, 11), (11, 22)]


def test_text_that_no_chunk_holds_comes_from_the_revision() -> None:
    first, second = passages_of(TEXT, [(0, 5), (6, 10)])
    (merged,) = merge_adjacent([block(first, 0.9), block(second, 0.8)])
    assert gaps(merged)
    assert block_text(merged, revision_text=TEXT) == "alpha beta"


def test_overlapping_chunks_do_not_repeat_text() -> None:
    first, second = passages_of(TEXT, [(0, 10), (6, 16)])
    (merged,) = merge_adjacent([block(first, 0.9), block(second, 0.8)])
    assert block_text(merged) == TEXT[0:16]


def test_only_what_would_be_shown_is_merged() -> None:
    """The neighbour of the best one is far down and must not lengthen it."""
    far = [block(each, 0.5) for each in passages_of("x" * 9, [(0, 3), (6, 9)], revision="r")[:1]]
    best = best_blocks([block(CHUNKS[0], 0.9), *far, block(CHUNKS[1], 0.1)], limit=2)
    assert [(each.start, each.end) for each in best] == [(0, 6), (0, 3)]


def test_editions_collapse_to_the_highest_by_version_not_by_order() -> None:
    found: dict[str, StoredPassage] = {}
    for edition, key in (("7.5", "0007.0005"), ("7.10", "0007.0010")):
        for each in passages_of(
            "text", [(0, 4)], revision=edition, edition=edition, edition_key=key
        ):
            found[each.chunk.chunk_id] = each
    assert [each.edition for each in newest_editions(found).values()] == ["7.10"]


def test_each_version_that_was_asked_for_keeps_its_own_highest_edition() -> None:
    found = {
        each.chunk.chunk_id: each
        for edition in ("7.5.1", "7.5.2", "8.1")
        for each in passages_of(
            "text", [(0, 4)], revision=edition, edition=edition, edition_key=version_key(edition)
        )
    }

    def kept(*asked: str) -> list[str]:
        return [each.edition for each in newest_editions(found, asked=asked).values()]

    assert kept("7.5", "8.1") == ["7.5.2", "8.1"]
    assert kept("7.5", "7.5.1") == ["7.5.1", "7.5.2", "8.1"]
    assert kept() == ["8.1"]
