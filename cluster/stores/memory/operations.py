"""Everything of the reference ledger beside documents: vectors, runs, uploads, keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from cluster.errors import InvalidRequest, NotFound
from cluster.ids import vector_key
from cluster.model import ApiKey, ItemProblem, Run, Scope, Vector
from cluster.stores.checks import (
    check_state,
    check_tokens,
    check_vector,
    finished_at,
    printable,
    require,
    require_limit,
)
from cluster.stores.memory.generations import claim
from cluster.stores.memory.state import HeldUpload, HeldVector, State


class MemoryVectors:
    def __init__(self, state: State) -> None:
        self._state = state

    async def known(self, text_digests: Sequence[str], *, fingerprint: str) -> set[str]:
        held = self._state.vectors
        keys = require(text_digests, "text digests")
        return {key for key in keys if (key, fingerprint) in held}

    async def get(self, text_digests: Sequence[str], *, fingerprint: str) -> dict[str, Vector]:
        held = self._state.vectors
        return {
            key: held[key, fingerprint].vector.copy()
            for key in require(text_digests, "text digests")
            if (key, fingerprint) in held
        }

    async def put(
        self,
        vectors: Mapping[str, Vector],
        *,
        fingerprint: str,
        tokens: Mapping[str, bytes] | None = None,
    ) -> None:
        packed = tokens or {}
        check_tokens(vectors, packed)
        for key, vector in require(vectors, "vectors").items():
            check_vector(key, vector)
        claim(self._state, {fingerprint}, active=False)
        held = self._state.vectors
        for key, vector in vectors.items():
            one = held.get((key, fingerprint)) or HeldVector(vector=np.array(vector))
            held[key, fingerprint] = replace(one, tokens=packed.get(key, one.tokens))

    async def tokens_of(
        self, scope: Scope, chunk_ids: Sequence[str], *, fingerprint: str
    ) -> dict[str, bytes]:
        keys = {one: self._key_of(scope, one) for one in require(chunk_ids, "chunk ids")}
        held = {one: self._state.vectors.get((key, fingerprint)) for one, key in keys.items()}
        return {one: row.tokens for one, row in held.items() if row and row.tokens is not None}

    def _key_of(self, scope: Scope, chunk_id: str) -> str:
        """The vector key of a chunk that is there for this scope, else an empty one."""
        held = self._state.revisions.get(self._state.revision_of_chunk.get(chunk_id, ""))
        if held is None or held.state != "visible" or not held.in_scope(scope):
            return ""
        (text,) = [one.indexed_text for one in held.chunks if one.chunk_id == chunk_id]
        return vector_key(held.revision.metadata.language, text)

    async def drop_unneeded(self, *, after: str, limit: int) -> tuple[int, str | None]:
        page = sorted(key for key, _ in self._state.vectors if key > after)[: require_limit(limit)]
        needed = {
            vector_key(held.revision.metadata.language, chunk.indexed_text)
            for held in self._state.revisions.values()
            for chunk in held.chunks
        }
        gone = [one for one in self._state.vectors if one[0] in {*page} - needed]
        for one in gone:
            del self._state.vectors[one]
        return len(gone), page[-1] if page else None


class MemoryRuns:
    def __init__(self, state: State) -> None:
        self._state = state

    async def start(self, run: Run) -> None:
        check_state(run.state)
        arguments = {printable(key): printable(value) for key, value in run.arguments.items()}
        error = None if run.error is None else printable(run.error)
        self._state.runs[run.run_id] = replace(
            run, arguments=arguments, counts=dict(run.counts), error=error
        )

    async def update(
        self,
        run_id: str,
        *,
        state: str,
        counts: Mapping[str, int],
        now: datetime,
        error: str | None = None,
    ) -> None:
        run = self._state.runs.get(run_id)
        check_state(state)
        if run is None:
            raise NotFound(f"no run {run_id!r}")
        self._state.runs[run_id] = replace(
            run,
            state=state,  # type: ignore[arg-type]  # checked above
            counts={**run.counts, **counts},
            finished_at=finished_at(state, now=now),
            error=None if error is None else printable(error),
        )

    async def interrupt(self, run_id: str, *, now: datetime, error: str) -> bool:
        run = self._state.runs.get(run_id)
        if run is None or run.state != "running":
            return False
        await self.update(run_id, state="interrupted", counts={}, now=now, error=error)
        return True

    async def add_problems(self, run_id: str, problems: Sequence[ItemProblem]) -> None:
        held = dict(self._state.problems.get(run_id, {}))
        for problem in require(problems, "problems"):
            held[problem.origin, problem.stage] = replace(
                problem,
                origin=printable(problem.origin),
                stage=printable(problem.stage),
                kind=printable(problem.kind),
                reason=printable(problem.reason),
            )
        self._state.problems[run_id] = held

    async def get(self, tenant: str, run_id: str) -> tuple[Run, list[ItemProblem]]:
        run = self._state.runs.get(run_id)
        if run is None or run.tenant != tenant:
            raise NotFound(f"no run {run_id!r}")
        return run, list(self._state.problems.get(run_id, {}).values())

    async def latest(self, tenant: str, *, limit: int) -> list[Run]:
        runs = [run for run in self._state.runs.values() if run.tenant == tenant]
        runs.sort(key=lambda run: (run.started_at, run.run_id), reverse=True)
        return runs[: require_limit(limit)]


class MemoryUploads:
    def __init__(self, state: State) -> None:
        self._state = state

    async def put(
        self,
        run_id: str,
        tenant: str,
        *,
        name: str,
        media_type: str | None,
        content: bytes,
        arguments: Mapping[str, str],
    ) -> None:
        self._state.uploads[run_id] = HeldUpload(
            tenant=tenant,
            name=printable(name),
            media_type=media_type,
            content=content,
            arguments={printable(key): printable(value) for key, value in arguments.items()},
        )
        self._state.awake = True

    async def get(self, run_id: str) -> tuple[str, str, str | None, bytes, dict[str, str]]:
        held = self._state.uploads.get(run_id)
        if held is None:
            raise NotFound(f"no upload {run_id!r}")
        return held.tenant, held.name, held.media_type, held.content, dict(held.arguments)

    async def waiting(self) -> list[str]:
        return list(self._state.uploads)

    async def delete(self, run_id: str) -> None:
        self._state.uploads.pop(run_id, None)


class MemoryKeys:
    def __init__(self, state: State) -> None:
        self._state = state

    async def put(self, key: ApiKey, *, secret_sha256: str) -> None:
        secrets = {secret for _, secret in self._state.keys.values()}
        if key.key_id in self._state.keys or secret_sha256 in secrets:
            raise InvalidRequest(f"key {key.key_id!r}: its id or its secret is already in use")
        self._state.keys[key.key_id] = (key, secret_sha256)

    async def find(self, secret_sha256: str) -> ApiKey | None:
        for key, secret in self._state.keys.values():
            if secret == secret_sha256 and key.revoked_at is None:
                return key
        return None

    async def all_of(self, tenant: str | None) -> list[ApiKey]:
        keys = [key for key, _ in self._state.keys.values() if tenant in (None, key.tenant)]
        return sorted(keys, key=lambda key: (key.created_at, key.key_id))

    async def revoke(self, key_id: str, *, now: datetime) -> None:
        if key_id not in self._state.keys:
            raise NotFound(f"no key {key_id!r}")
        key, secret = self._state.keys[key_id]
        self._state.keys[key_id] = (replace(key, revoked_at=key.revoked_at or now), secret)
