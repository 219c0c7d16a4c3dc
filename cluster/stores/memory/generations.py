"""Encoder generations of the reference ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from cluster.errors import InvalidRequest, NotFound
from cluster.ids import vector_key
from cluster.model import Chunk, Generation
from cluster.stores.checks import require, require_limit
from cluster.stores.generation_rules import (
    check_begin,
    check_retire,
    check_switch,
    check_writable,
    other_encoder,
)
from cluster.stores.memory.state import State
from cluster.stores.protocols import (
    Backlog,
    GenerationState,
    HeldGeneration,
    Progress,
    UnencodedText,
)

_ORDER: tuple[GenerationState, ...] = ("active", "grace", "building", "gone")


class MemoryGenerations:
    def __init__(self, state: State) -> None:
        self._state = state

    async def active(self) -> Generation | None:
        return next((one.generation for one in self._held() if one.state == "active"), None)

    async def activate(self, generation: Generation) -> None:
        active = await self.active()
        if (active or generation).fingerprint != generation.fingerprint:
            raise other_encoder(generation.fingerprint)
        if active is None:
            self._put(
                HeldGeneration(
                    generation=generation, state="active", started_at=self._state.clock.now()
                )
            )

    async def live(self) -> list[HeldGeneration]:
        return [one for one in await self.known() if one.state != "gone"]

    async def known(self) -> list[HeldGeneration]:
        return sorted(self._held(), key=lambda one: (_ORDER.index(one.state), one.fingerprint))

    async def begin(self, generation: Generation, *, now: datetime) -> None:
        if check_begin(generation.fingerprint, self._live_states()):
            self._put(HeldGeneration(generation=generation, state="building", started_at=now))
            self._state.awake = True

    async def note(self, fingerprint: str, progress: Progress) -> None:
        held = self._state.generations.get(fingerprint)
        if held is not None and held.state != "gone":
            self._put(replace(held, progress=dict(progress)))

    async def missing(
        self, fingerprint: str, *, after: str = "", limit: int
    ) -> list[UnencodedText]:
        texts = {
            key: UnencodedText(vector_key=key, indexed_text=chunk.indexed_text, language=language)
            for key, chunk, language in self._chunks()
            if key > after and (key, fingerprint) not in self._state.vectors
        }
        return [texts[key] for key in sorted(texts)[: require_limit(limit)]]

    async def tokenless(
        self, fingerprint: str, *, head: bytes, after: str = "", limit: int
    ) -> list[UnencodedText]:
        held = self._state.vectors
        texts = {
            key: UnencodedText(vector_key=key, indexed_text=chunk.indexed_text, language=language)
            for key, chunk, language in self._chunks()
            if key > after
            and (one := held.get((key, fingerprint)))
            and not (one.tokens or b"").startswith(head)
        }
        return [texts[key] for key in sorted(texts)[: require_limit(limit)]]

    async def encoded(self, fingerprint: str, *, after: str = "", limit: int) -> list[str]:
        found = (
            chunk.chunk_id
            for key, chunk, _ in self._chunks()
            if chunk.chunk_id > after and (key, fingerprint) in self._state.vectors
        )
        return sorted(found)[: require_limit(limit)]

    async def hold(self, vector_keys: Sequence[str]) -> dict[str, list[str]]:
        asked = set(require(vector_keys, "vector keys"))
        held: dict[str, list[str]] = {}
        for key, chunk, _ in self._chunks():
            if key in asked:
                held.setdefault(key, []).append(chunk.chunk_id)
        return {key: sorted(chunks) for key, chunks in held.items()}

    async def sizes(self, fingerprint: str) -> tuple[int, int]:
        keys = {key for key, _, _ in self._chunks()}
        return len(keys), sum((key, fingerprint) not in self._state.vectors for key in keys)

    async def backlog(self, fingerprint: str) -> Backlog:
        _, missing = await self.sizes(fingerprint)
        owed = sum(target == fingerprint for _, target in self._state.outbox)
        return Backlog(missing=missing, owed=owed)

    async def switch(self, to: str, *, now: datetime, grace: timedelta) -> Backlog:
        check_switch(to, self._live_states())
        lacks = await self.backlog(to)
        if not lacks:
            former = next(one for one in self._held() if one.state == "active")
            self._put(replace(former, state="grace", retire_at=now + grace))
            chosen = self._state.generations[to]
            self._put(replace(chosen, state="active", activated_at=now, retire_at=None))
            self._state.awake = True
        return lacks

    async def retire(self, fingerprint: str, *, now: datetime) -> None:
        held = self._state.generations.get(fingerprint)
        if held is None:
            raise NotFound(f"no generation {fingerprint!r}")
        check_retire(fingerprint, self._live_states())
        self._put(replace(held, state="gone", ended_at=held.ended_at or now))
        for chunk, target in [place for place in self._state.outbox if place[1] == fingerprint]:
            del self._state.outbox[chunk, target]
        self._state.awake = True

    async def erase_vectors(self, fingerprint: str, *, after: str, limit: int) -> str | None:
        if fingerprint in self._live_states():
            raise InvalidRequest(f"generation {fingerprint!r} is live, not gone")
        keys = sorted(
            key for key, made_by in self._state.vectors if made_by == fingerprint and key > after
        )[: require_limit(limit)]
        for key in keys:
            del self._state.vectors[key, fingerprint]
        return keys[-1] if keys else None

    def _held(self) -> list[HeldGeneration]:
        return list(self._state.generations.values())

    def _put(self, held: HeldGeneration) -> None:
        self._state.generations[held.fingerprint] = held

    def _live_states(self) -> dict[str, GenerationState]:
        return {one.fingerprint: one.state for one in self._held() if one.state != "gone"}

    def _chunks(self) -> Iterator[tuple[str, Chunk, str]]:
        """(vector key, chunk, language) of what is pending or visible."""
        for held in self._state.alive():
            language = held.revision.metadata.language
            for chunk in held.chunks:
                yield vector_key(language, chunk.indexed_text), chunk, language


def claim(state: State, fingerprints: Collection[str], *, active: bool) -> None:
    """`EncoderChanged` unless something may be written for these encoders (with `active`: for
    the active one only)."""
    states = {name: held.state for name, held in state.generations.items()}
    now_active = next((name for name, held in states.items() if held == "active"), None)
    check_writable(fingerprints, states, now_active=now_active, active_only=active)
