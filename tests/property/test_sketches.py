"""Sketches: alike texts meet, others rarely; the same everywhere."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from cluster.model import Chunk, Metadata, Revision, Turn
from cluster.text.shingles import similarity
from cluster.text.sketches import BANDS, bands_of
from ingest.near_duplicates import sketches

WORDS = [f"word{at}" for at in range(400)] + list(
    "港口中继会在首次投递后将消息保留七天然后移到死信架上"
)


def text_of(chance: random.Random, words: int = 120) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(words))


def changed(chance: random.Random, text: str, *, words: int) -> str:
    found = text.split()
    for at in chance.sample(range(len(found)), words):
        found[at] = chance.choice(WORDS)
    return " ".join(found)


def test_copies_meet_and_strangers_do_not() -> None:
    chance = random.Random(7)
    met = strangers = 0
    for _ in range(150):
        text = text_of(chance)
        copy = changed(chance, text, words=2)
        if similarity(text, copy) > 0.85:
            met += bool(set(bands_of(text, inside="t")) & set(bands_of(copy, inside="t")))
        else:
            met += 1
        other = set(bands_of(text_of(chance), inside="t"))
        strangers += bool(other & set(bands_of(text, inside="t")))
    assert met >= 149
    assert strangers == 0


def test_form_does_not_count() -> None:
    text = "訪問令牌的有效期為三十分鐘，刷新令牌的有效期為二十四小時。"
    same = "访问令牌的有效期为三十分钟,刷新令牌的有效期为二十四小时."
    assert bands_of(text, inside="t") == bands_of(same, inside="t") != ()


def test_the_same_on_every_machine() -> None:
    """Sketches lie in ledgers: another number here means that old ones meet no new ones."""
    bands = bands_of("one two three four five six seven eight nine ten", inside="acme")
    assert bands[:2] == (5534170736477641393, 9038998041220430733)


def test_texts_meet_only_inside_the_same_tenant() -> None:
    text = "one two three four five six seven eight"
    assert not set(bands_of(text, inside="a")) & set(bands_of(text, inside="b"))


def test_short_texts_have_none() -> None:
    assert bands_of("one two three four five six seven", inside="t") == ()
    assert bands_of("", inside="t") == ()


@given(st.text(max_size=300), st.text(min_size=1, max_size=5))
def test_bands_fit_a_bigint_and_are_all_different(text: str, tenant: str) -> None:
    bands = bands_of(text, inside=tenant)
    assert len(bands) in (0, BANDS)
    assert len(set(bands)) == len(bands)
    assert all(0 <= band < 2**63 for band in bands)


def test_turns_and_short_chunks_go_without() -> None:
    long = "one two three four five six seven eight nine ten"
    chunks = [_chunk("chk_long", long), _chunk("chk_short", "One."), _chunk("chk_title", long)]
    assert set(sketches(_revision(None), chunks)) == {"chk_long", "chk_title"}
    turn = Turn(conversation="c", session="s", ordinal=0, speaker="Ann", said_at=None)
    assert sketches(_revision(turn), chunks) == {}


def _chunk(chunk_id: str, text: str) -> Chunk:
    return Chunk(
        chunk_id=chunk_id, revision_id="rev", ordinal=0, start=0, end=len(text), text=text,
        context="", heading_path=("Title",), token_count=1,
    )  # fmt: skip


def _revision(turn: Turn | None) -> Revision:
    return Revision(
        revision_id="rev", document_id="doc", tenant="acme", source="tests", path="a.md",
        edition="", edition_key="", origin="tests:a", item_digest="", media_type="text/plain",
        content_sha256="", text="", metadata=Metadata(), turn=turn, fingerprint="f", run_id="r",
    )  # fmt: skip
