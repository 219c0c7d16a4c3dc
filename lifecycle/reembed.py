"""Encode everything anew beside the old, then switch: `palimpsest reembed`.

    begin ─► owe what has a vector already ─► encode what has none ─► catch up ─► verify ─► switch
          ─► grace, in which one may go back ─► finish

The ledger holds every step, so that a run that was killed goes on where it stopped. The indexer
alone writes the new index; this job puts vectors into the ledger and owes rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from cluster.clock import Clock
from cluster.errors import InvalidRequest, ModelError
from cluster.kill_points import reached
from cluster.model import Generation, Vector
from cluster.models.protocols import Embedder
from cluster.models.token_vectors import pack
from cluster.stores.generation_rules import check_begin
from cluster.stores.protocols import (
    Backlog,
    Collections,
    GenerationState,
    HeldGeneration,
    Lease,
    Ledger,
    UnencodedText,
)
from lifecycle.recall import recall_at_10
from lifecycle.reconcile import Side, reconcile
from lifecycle.reembed_rate import Patience, Rate
from lifecycle.scanned import Scanned

LEASE = "reembed"
GRACE = timedelta(hours=24)
PAGE_TEXTS = 256
PAGE_CHUNKS = 1000
ALL_OWED = "~"
"""Behind every chunk id."""

MAX_OWED = 20_000
"""No more is encoded while the indexer is so far behind."""

LEAST_RECALL = 0.95
STALLED_S = 120.0
SETTLE_S = 3.0
"""After a generation is gone, until all processes have noticed and its index may be dropped."""

SAY_EVERY_S = 5.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What the job works with. `open_embedder` loads a model, and is called in a thread.
    `token_vectors`: whether those of a text are kept with its vector."""

    ledger: Ledger
    collections: Collections
    clock: Clock
    open_embedder: Callable[[Generation], Embedder]
    token_vectors: bool = True
    say: Say = lambda _: None
    settle_s: float = SETTLE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`encoded`: texts of this run; `switch_s`: how long puts were held for the switch."""

    state: Literal["switched", "already active"]
    former: str
    active: str
    encoded: int = 0
    rows: int = 0
    recall: float = 1.0
    switch_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would do: `texts` to encode out of `of`, the longest with `longest` tokens of
    at most `limit`, in about `seconds`, from the time that a few took."""

    texts: int
    of: int
    longest: int
    limit: int
    seconds: float


async def reembed(to: Generation, tools: Tools, *, grace: timedelta = GRACE) -> Outcome:
    """Make `to` the active generation. Running it again after it was killed goes on.

    `InvalidRequest` when a chunk is longer than the new encoder takes, or another re-embedding
    is under way; `StoreUnavailable` when the indexer does not keep up; `ModelError` when the new
    index does not find what it should.
    """
    async with tools.ledger.lease(LEASE) as lease:
        await _end_of_grace(tools)
        former = await active_generation(tools.ledger)
        if former.fingerprint == to.fingerprint:
            await tools.collections.point(former)
            reached("reembed.pointed")
            return Outcome(state="already active", former=former.fingerprint, active=to.fingerprint)
        to = replace(to, recipe={**to.recipe, "chunked_as": former.chunked_as})
        fresh = check_begin(to.fingerprint, await _states(tools.ledger))
        embedder = await asyncio.to_thread(tools.open_embedder, to)
        if fresh:
            await _check_lengths(tools, to, embedder)
        async with tools.ledger.transaction() as tx:
            await tx.generations.begin(to, now=tools.clock.now())
        reached("reembed.begun")
        return await _Build(tools, lease, embedder, former=former, to=to).run(grace=grace)


async def roll_back(tools: Tools, *, grace: timedelta = GRACE) -> Outcome:
    """Make the generation that is in its grace period the active one again, once what came
    since the switch is caught up. `InvalidRequest` when there is none."""
    async with tools.ledger.lease(LEASE) as lease:
        former = await active_generation(tools.ledger)
        to = await _in_state(tools.ledger, "grace")
        if to is None:
            raise InvalidRequest("there is nothing to go back to: no generation is in grace")
        embedder = await asyncio.to_thread(tools.open_embedder, to.generation)
        build = _Build(tools, lease, embedder, former=former, to=to.generation)
        return await build.run(grace=grace, rewrite=False)


async def finish(tools: Tools) -> list[str]:
    """End the grace period now: drop the index and the vectors of what is in it, and of all
    that is gone. Returns the fingerprints of what was in grace."""
    async with tools.ledger.lease(LEASE):
        held = await _in_state(tools.ledger, "grace")
        await _end(tools, held)
        return [held.fingerprint] if held else []


async def abort(tools: Tools) -> list[str]:
    """Give up the generation that is being built, with its index and vectors."""
    async with tools.ledger.lease(LEASE):
        held = await _in_state(tools.ledger, "building")
        await _end(tools, held)
        return [held.fingerprint] if held else []


async def estimate(to: Generation, tools: Tools) -> Estimate:
    """Writes nothing. Encodes a page of texts to see how long that takes."""
    embedder = await asyncio.to_thread(tools.open_embedder, to)
    async with tools.ledger.transaction() as tx:
        of, missing = await tx.generations.sizes(to.fingerprint)
        page = await tx.generations.missing(to.fingerprint, limit=PAGE_TEXTS)
    started = asyncio.get_running_loop().time()
    await asyncio.to_thread(encode_page if tools.token_vectors else encode_plain, embedder, page)
    took_s = asyncio.get_running_loop().time() - started
    return Estimate(
        texts=missing,
        of=of,
        longest=await _longest(tools, to, embedder),
        limit=embedder.max_tokens,
        seconds=round(took_s / max(1, len(page)) * missing, 1),
    )


class _Build:
    """From a generation that is live to one that is active."""

    def __init__(
        self,
        tools: Tools,
        lease: Lease,
        embedder: Embedder,
        *,
        former: Generation,
        to: Generation,
    ) -> None:
        self._tools, self._ledger, self._lease = tools, tools.ledger, lease
        self._embedder, self._former, self._to = embedder, former, to
        self._encoded = 0
        self._owed_to = ALL_OWED
        self._rate = Rate()

    async def run(self, *, grace: timedelta, rewrite: bool = True) -> Outcome:
        """`rewrite`: its index may lack rows whose text has a vector."""
        if rewrite:
            await self._owe_encoded()
        await self._catch_up()
        rows, recall = await self._verify()
        switch_s = await self._switch(grace=grace)
        await self._tools.collections.point(self._to)
        reached("reembed.pointed")
        return Outcome(
            state="switched",
            former=self._former.fingerprint,
            active=self._to.fingerprint,
            encoded=self._encoded,
            rows=rows,
            recall=recall,
            switch_s=round(switch_s, 3),
        )

    async def _owe_encoded(self) -> None:
        """Texts that had a vector before owe their rows; those that get one later owe them
        then. Goes on behind the last page of a former run."""
        self._owed_to = await self._noted("owed_to")
        while self._owed_to != ALL_OWED:
            await self._lease.check()
            async with self._ledger.transaction() as tx:
                chunks = await tx.generations.encoded(
                    self._to.fingerprint, after=self._owed_to, limit=PAGE_CHUNKS
                )
                if chunks:
                    await tx.outbox.owe(chunks, target=self._to.fingerprint)
                self._owed_to = chunks[-1] if chunks else ALL_OWED
                await tx.generations.note(self._to.fingerprint, {"owed_to": self._owed_to})
            reached("reembed.owed")

    async def _catch_up(self) -> None:
        """Until no text lacks a vector and the indexer has written every row."""
        while True:
            await self._encode_missing()
            if not (await self._indexed()).missing:
                return

    async def _encode_missing(self) -> None:
        after = ""
        async with self._ledger.transaction() as tx:
            of, missing = await tx.generations.sizes(self._to.fingerprint)
        self._rate.begin(missing=missing, of=of)
        while True:
            await self._lease.check()
            await self._wait_for_indexer()
            async with self._ledger.transaction() as tx:
                page = await tx.generations.missing(
                    self._to.fingerprint, after=after, limit=PAGE_TEXTS
                )
            if not page:
                return
            after = page[-1].vector_key
            _check_page(self._embedder, page)
            encode = encode_page if self._tools.token_vectors else encode_plain
            await self._put(*await asyncio.to_thread(encode, self._embedder, page))

    async def _put(self, made: Mapping[str, Vector], tokens: Mapping[str, bytes]) -> None:
        progress = self._rate.advanced(len(made))
        async with self._ledger.transaction() as tx:
            held = await tx.generations.hold(list(made))
            if held:
                kept = {key: made[key] for key in held}
                await tx.vectors.put(
                    kept,
                    fingerprint=self._to.fingerprint,
                    tokens={key: tokens[key] for key in held if key in tokens},
                )
                chunks = sorted(chunk for some in held.values() for chunk in some)
                await tx.outbox.owe(chunks, target=self._to.fingerprint)
            await tx.generations.note(self._to.fingerprint, {**progress, "owed_to": self._owed_to})
        reached("reembed.vectors_put")
        self._encoded += len(held)
        if told := self._rate.due(SAY_EVERY_S):
            self._tools.say(told)

    async def _wait_for_indexer(self) -> None:
        patience = Patience(STALLED_S)
        while True:
            async with self._ledger.transaction() as tx:
                owed, _ = await tx.outbox.lag()
            if owed <= MAX_OWED:
                return
            await patience.wait(owed)

    async def _indexed(self) -> Backlog:
        """What is missing once nothing is owed any more."""
        patience = Patience(STALLED_S)
        while True:
            await self._lease.check()
            async with self._ledger.transaction() as tx:
                backlog = await tx.generations.backlog(self._to.fingerprint)
            if not backlog.owed:
                return backlog
            await patience.wait(backlog.owed)

    async def _verify(self) -> tuple[int, float]:
        """Ids and versions one by one, and what searches find; rows and recall. What comes
        meanwhile is caught up by the switch."""
        self._tools.say("comparing the new index with the ledger")
        index = await self._tools.collections.open(self._to)
        try:
            side = Side(index=Scanned(index), generation=self._to.fingerprint, catching_up=True)
            report = await reconcile(
                self._ledger,
                {"vectors-building": side},
                self._tools.clock,
                repair=True,
                grace=timedelta(0),
            )
            recall = await recall_at_10(self._ledger, index, fingerprint=self._to.fingerprint)
        finally:
            await index.close()
        if not report.sound:
            raise ModelError(
                "the new index differs from the ledger, nothing was switched; see `palimpsest "
                "reconcile`, then run `palimpsest reembed` again"
            )
        if recall < LEAST_RECALL:
            raise ModelError(
                f"the new index finds {recall:.1%} of the exact neighbours, at least "
                f"{LEAST_RECALL:.0%} are needed; nothing was switched"
            )
        return report.stores[0].rows, recall

    async def _switch(self, *, grace: timedelta) -> float:
        """Catches up again as often as documents come in between; how long the last one took."""
        while True:
            await self._lease.check()
            started = asyncio.get_running_loop().time()
            async with self._ledger.transaction() as tx:
                lacks = await tx.generations.switch(
                    self._to.fingerprint, now=self._tools.clock.now(), grace=grace
                )
            reached("reembed.switched")
            if not lacks:
                return asyncio.get_running_loop().time() - started
            self._tools.say(f"documents came in between: {lacks.missing:,} texts to catch up")
            await self._catch_up()

    async def _noted(self, key: str) -> str:
        async with self._ledger.transaction() as tx:
            live = await tx.generations.live()
        held = next((one for one in live if one.fingerprint == self._to.fingerprint), None)
        return str((held.progress or {}).get(key, "")) if held else ""


async def _end_of_grace(tools: Tools) -> None:
    held = await _in_state(tools.ledger, "grace")
    if held and held.retire_at and held.retire_at <= tools.clock.now():
        tools.say(f"the grace period of {held.fingerprint} is over; it goes")
        await _end(tools, held)


async def _end(tools: Tools, held: HeldGeneration | None) -> None:
    """Retire `held`; then what is left of all that is gone."""
    if held is not None:
        async with tools.ledger.transaction() as tx:
            await tx.generations.retire(held.fingerprint, now=tools.clock.now())
        reached("reembed.retired")
        await asyncio.sleep(tools.settle_s)
    async with tools.ledger.transaction() as tx:
        known = await tx.generations.known()
    gone = [one.generation for one in known if one.state == "gone"]
    if gone:
        await tools.collections.drop(gone)
        reached("reembed.dropped")
    for generation in gone:
        await _erase_vectors(tools.ledger, generation.fingerprint)


async def _erase_vectors(ledger: Ledger, fingerprint: str) -> None:
    after: str | None = ""
    while after is not None:
        async with ledger.transaction() as tx:
            after = await tx.generations.erase_vectors(fingerprint, after=after, limit=PAGE_CHUNKS)
        reached("reembed.vectors_erased")


async def active_generation(ledger: Ledger) -> Generation:
    async with ledger.transaction() as tx:
        active = await tx.generations.active()
    if active is None:
        raise InvalidRequest("nothing is encoded yet; the first ingest chooses the encoder")
    return active


async def _in_state(ledger: Ledger, state: str) -> HeldGeneration | None:
    async with ledger.transaction() as tx:
        return next((one for one in await tx.generations.live() if one.state == state), None)


async def _states(ledger: Ledger) -> dict[str, GenerationState]:
    async with ledger.transaction() as tx:
        return {one.fingerprint: one.state for one in await tx.generations.live()}


async def _check_lengths(tools: Tools, to: Generation, embedder: Embedder) -> None:
    """Before anything is begun: half of a long run would be for nothing."""
    longest = await _longest(tools, to, embedder)
    if longest > embedder.max_tokens:
        raise _too_long(longest, embedder.max_tokens)


async def _longest(tools: Tools, to: Generation, embedder: Embedder) -> int:
    """Tokens of the longest text that has no vector yet."""
    longest, after = 0, ""
    while True:
        async with tools.ledger.transaction() as tx:
            page = await tx.generations.missing(to.fingerprint, after=after, limit=PAGE_CHUNKS)
        if not page:
            return longest
        after = page[-1].vector_key
        texts = [one.indexed_text for one in page]
        longest = max(longest, *await asyncio.to_thread(embedder.count_tokens, texts))


def _check_page(embedder: Embedder, page: Sequence[UnencodedText]) -> None:
    longest = max(embedder.count_tokens([one.indexed_text for one in page]))
    if longest > embedder.max_tokens:
        raise _too_long(longest, embedder.max_tokens)


def _too_long(longest: int, limit: int) -> InvalidRequest:
    return InvalidRequest(
        f"a chunk has {longest} tokens, and the new encoder takes {limit}: the rest would be cut "
        f"off. Ingest again with chunk.max_tokens below {limit}, then run `palimpsest reembed`"
    )


def encode_page(
    embedder: Embedder, page: Sequence[UnencodedText]
) -> tuple[dict[str, Vector], dict[str, bytes]]:
    """Vectors and packed token vectors by vector key."""
    keys, texts, languages = _columns(page)
    vectors, tokens = embedder.embed_documents_with_tokens(texts, languages=languages)
    packed = (pack(one, recipe=embedder.token_recipe) for one in tokens)
    return dict(zip(keys, vectors, strict=True)), dict(zip(keys, packed, strict=True))


def encode_plain(
    embedder: Embedder, page: Sequence[UnencodedText]
) -> tuple[dict[str, Vector], dict[str, bytes]]:
    """The same without token vectors."""
    keys, texts, languages = _columns(page)
    vectors = embedder.embed_documents(texts, languages=languages)
    return dict(zip(keys, vectors, strict=True)), {}


def _columns(page: Sequence[UnencodedText]) -> tuple[list[str], list[str], list[str]]:
    return (
        [one.vector_key for one in page],
        [one.indexed_text for one in page],
        [one.language for one in page],
    )
