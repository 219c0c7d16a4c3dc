"""Selection, erasure and tombstones in PostgreSQL; `cluster.stores.protocols.Forgetting`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from typing import Any

from cluster.errors import InvalidRequest, NotFound
from cluster.forget.key_files import KeyFile
from cluster.forget.marks import MarkKey, marks_of_owner
from cluster.forget.naming import emptied, is_upload, names_it, scrubbed, upload_meant
from cluster.forget.refusal import NO_KEY, OTHER_KEY, Buried, decide_refusals, marks_of
from cluster.model import Revision, Turn
from cluster.stores.checks import require, storable
from cluster.stores.postgres.residue import find_residue
from cluster.stores.postgres.statements import Connection, Statements
from cluster.stores.postgres.usage_erasure import UsageErasure
from cluster.stores.protocols.forgetting import (
    Finding,
    Holding,
    Needles,
    Selector,
    Support,
    Tombstone,
)

LOCK_SPACE = 0x70616C66  # "palf": keeps these advisory locks apart from leases and migrations

AT_ONCE = 500
"""Documents or revisions of one statement: of very many it would not be done in time."""

PAGE_ROWS = 2000
"""Runs or problems that are looked at together."""


class PostgresForgetting:
    """`key_file` is read when the first tombstone has to be made or compared."""

    def __init__(self, connection: Connection, key_file: KeyFile | None) -> None:
        self._connection = connection
        self._sql = Statements(connection, "forgetting")
        self._usage = UsageErasure(connection)
        self._key_file = key_file

    async def lock(self, tenant: str) -> None:
        await self._sql.rows("lock_tenant", {"space": LOCK_SPACE, "tenant": tenant})

    async def lock_puts(self, tenants: Sequence[str]) -> None:
        """Taken by every put, so that none of what `lock` waits for is overlooked."""
        await self._sql.rows("share_tenants", {"space": LOCK_SPACE, "tenants": list(tenants)})

    async def lock_free(self, tenants: Sequence[str]) -> set[str]:
        """The same for those of `tenants` that nobody forgets in; waits for nobody."""
        asked = {"space": LOCK_SPACE, "tenants": list(tenants)}
        return {row[0] for row in await self._sql.rows("share_free_tenants", asked)}

    async def owners_forgotten(
        self, owners: Collection[tuple[str, str]]
    ) -> dict[tuple[str, str], datetime]:
        """Of these (tenant, owner) the forgotten ones, and when that was last. `InvalidRequest`
        when there are tombstones and no key to read them with."""
        if not owners:
            return {}
        tenants = sorted({tenant for tenant, _ in owners})
        rows = await self._sql.rows("tenants_with_tombstones", {"tenants": tenants})
        closed = {row[0] for row in rows}
        if not closed:
            return {}
        key = await self._known_key()
        marks = {
            mark: (tenant, owner)
            for tenant, owner in owners
            if tenant in closed
            for mark in marks_of_owner(key, tenant, owner)
        }
        asked = {"marks": list(marks), "tenants": sorted(closed)}
        found: dict[tuple[str, str], datetime] = {}
        for mark, _, at, _ in await self._sql.rows("buried", asked):
            found[marks[mark]] = max(at, found.get(marks[mark], at))
        return found

    async def matching(self, tenant: str, selector: Selector, *, owner: str | None) -> list[str]:
        if not storable(selector.value):
            return []
        asked = {"tenant": tenant, "value": selector.value, "owner": owner}
        return [row[0] for row in await self._sql.rows(f"matching_{selector.kind}", asked)]

    async def holdings(self, tenant: str, document_ids: Sequence[str]) -> list[Holding]:
        found: list[Holding] = []
        for ids in _parts(require(document_ids, "document ids")):
            rows = await self._sql.rows("holdings", {"tenant": tenant, "ids": ids})
            found.extend(_holding(row) for row in rows)
        return sorted(found, key=lambda one: one.revision_id)

    async def derived(
        self, tenant: str, document_ids: Sequence[str], *, owner: str | None
    ) -> list[str]:
        ids = list(require(document_ids, "document ids"))
        asked = {"tenant": tenant, "ids": ids, "owner": owner}
        return [row[0] for row in await self._sql.rows("derived", asked)]

    async def supports(self, tenant: str, document_ids: Sequence[str]) -> list[Support]:
        asked = {"tenant": tenant, "ids": list(require(document_ids, "document ids"))}
        return [
            Support(document_id=document, support=support, alive=tuple(alive))
            for document, support, alive in await self._sql.rows("supports", asked)
        ]

    async def erase(self, tenant: str, document_ids: Sequence[str]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for ids in _parts(sorted(set(require(document_ids, "document ids")))):
            asked = {"tenant": tenant, "ids": ids}
            await self._sql.rows("lock_documents", asked)
            revisions = [row[0] for row in await self._sql.rows("revisions_of", asked)]
            for part in _parts(revisions):
                _add(counts, await self._erase_revisions(part))
            _add(counts, {"documents": await self._sql.run("erase_documents", asked)})
        await self._sql.rows("notify", {})
        return counts

    async def erase_former(self, tenant: str, document_ids: Sequence[str]) -> int:
        asked = {"tenant": tenant, "ids": list(require(document_ids, "document ids"))}
        await self._sql.rows("lock_documents", asked)
        rows = await self._sql.rows("revisions_of", asked)
        former = [one for one, state in rows if state not in ("pending", "visible")]
        for part in _parts(former):
            await self._erase_revisions(part)
        return len(former)

    async def detach(self, tenant: str, supports: Sequence[str]) -> int:
        asked = {"tenant": tenant, "supports": list(require(supports, "supports"))}
        return await self._sql.run("detach", asked)

    async def scrub(
        self,
        tenant: str,
        needles: Needles,
        *,
        selector: Selector,
        run_ids: Sequence[str],
        uploads: bool = True,
    ) -> dict[str, int]:
        names = frozenset((*needles.names, *needles.ids))
        dropped = await self._scrub_uploads(tenant, names, selector) if uploads else []
        problems = await self._scrub_problems(tenant, needles, names)
        runs = await self._scrub_runs(tenant, needles, names, selector, (*run_ids, *dropped))
        usage = await self._usage.scrub(tenant, needles, selector)
        return {"uploads": len(dropped), "run_problems": problems, "runs": runs, **usage}

    async def drop_vectors(self, vector_keys: Sequence[str]) -> int:
        dropped = 0
        for keys in _parts(sorted(set(vector_keys))):
            await self._sql.rows("lock_vectors_by_key", {"keys": keys})
            dropped += await self._sql.run("erase_unneeded_vectors", {"keys": keys})
        return dropped

    async def bury(
        self, tenant: str, receipt_id: str, tombstones: Sequence[Tombstone], *, now: datetime
    ) -> None:
        key = self._key()
        await self._sql.run("claim_key", {"key_id": key.key_id})
        if await self._sql.rows("key_id", {}) != [(key.key_id,)]:
            raise InvalidRequest(OTHER_KEY)
        for start in range(0, len(tombstones), AT_ONCE):
            part = tombstones[start : start + AT_ONCE]
            asked = {
                "receipt": receipt_id,
                "tenant": tenant,
                "now": now,
                "marks": [one.mark for one in part],
                "befores": [one.before for one in part],
            }
            await self._sql.run("bury", asked)

    async def lift(self, tenant: str, receipt_id: str, *, now: datetime) -> int:
        asked = {"tenant": tenant, "receipt": receipt_id, "now": now}
        if not await self._sql.run("lifted", asked):
            raise NotFound(f"no receipt {receipt_id!r}")
        return await self._sql.run("lift", asked)

    async def refused(self, revisions: Sequence[Revision]) -> dict[str, str]:
        asked = list(require(revisions, "revisions"))
        tenants = sorted({one.tenant for one in asked})
        rows = await self._sql.rows("tenants_with_tombstones", {"tenants": tenants})
        closed = {row[0] for row in rows}
        asked = [one for one in asked if one.tenant in closed]
        if not asked:
            return {}
        key = await self._known_key()
        marks = {one.revision_id: marks_of(key, one) for one in asked}
        every = sorted({mark for each in marks.values() for mark in each})
        found = await self._sql.rows("buried", {"marks": every, "tenants": sorted(closed)})
        if not found:
            return {}
        buried: dict[str, list[Buried]] = {}
        for mark, receipt, at, before in found:
            stone = Buried(receipt_id=receipt, buried_at=at, before=before)
            buried.setdefault(mark, []).append(stone)
        starts = await self._sql.rows("starts", {"ids": sorted({one.run_id for one in asked})})
        documents = sorted({one.document_id for one in asked})
        said = await self._sql.rows("said_by_live", {"ids": documents})
        return decide_refusals(
            marks,
            asked,
            buried=buried,
            started=dict(starts),
            said=frozenset((document, text) for document, text in said),
        )

    async def owed(self, chunk_ids: Sequence[str]) -> int:
        owed = 0
        for ids in _parts(require(chunk_ids, "chunk ids"), size=10_000):
            owed += int((await self._sql.rows("owed", {"ids": ids}))[0][0])
        return owed

    async def residue(self, tenant: str, needles: Needles) -> list[Finding]:
        columns = await self._sql.rows("columns", {})
        return await find_residue(self._connection, columns, tenant, needles)

    async def _erase_revisions(self, ids: list[str]) -> dict[str, int]:
        asked = {"ids": ids}
        keys = [row[0] for row in await self._sql.rows("vector_keys_of", asked)]
        await self._sql.run("queue_removal", asked)
        await self._sql.rows("lock_vectors_by_key", {"keys": keys})
        counts = {"chunks": await self._sql.run("erase_chunks", asked)}
        counts |= await self._usage.erase(ids)
        counts |= {
            name: await self._sql.run(f"erase_{name}", asked) for name in ("lineage", "revisions")
        }
        vectors = await self._sql.run("erase_unneeded_vectors", {"keys": keys})
        return {**counts, "embeddings": vectors}

    async def _scrub_uploads(
        self, tenant: str, names: frozenset[str], selector: Selector
    ) -> list[str]:
        rows = await self._sql.rows("uploads_of_tenant", {"tenant": tenant})
        meant = [
            run_id
            for run_id, name, arguments in rows
            if upload_meant(name=name, arguments=arguments, names=names, selector=selector)
        ]
        if meant:
            await self._sql.run("drop_uploads", {"ids": meant})
            await self._sql.run("end_runs", {"ids": meant})
        return meant

    async def _scrub_problems(self, tenant: str, needles: Needles, names: frozenset[str]) -> int:
        dropped = 0
        async for page in self._pages("problems_of_tenant", tenant, after=0):
            named = [
                problem_id
                for problem_id, origin, reason in page
                if names_it(f"{origin}\n{reason}", names, needles.samples)
            ]
            if named:
                dropped += await self._sql.run("drop_problems", {"ids": named})
        return dropped

    async def _scrub_runs(
        self,
        tenant: str,
        needles: Needles,
        names: frozenset[str],
        selector: Selector,
        run_ids: Sequence[str],
    ) -> int:
        asked = {"tenant": tenant, "ids": list(dict.fromkeys(run_ids))}
        bring = {row[0] for row in await self._sql.rows("runs_that_still_bring", asked)}
        only = set(run_ids) - bring
        changed = 0
        async for page in self._pages("runs_of_tenant", tenant, after=""):
            for run_id, arguments, error in page:
                if run_id in only and is_upload(arguments):
                    clean = emptied(arguments, selector)
                else:
                    clean = scrubbed(arguments, needles, names, selector)
                told = None if error and names_it(error, names, needles.samples) else error
                if (clean, told) != (arguments, error):
                    row = {"run_id": run_id, "arguments": json.dumps(clean), "error": told}
                    changed += await self._sql.run("rewrite_run", row)
        return changed

    async def _pages(
        self, statement: str, tenant: str, *, after: int | str
    ) -> AsyncIterator[list[tuple[Any, ...]]]:
        """All rows, in the order of the first column: of years of runs there are very many."""
        while page := await self._sql.rows(
            statement, {"tenant": tenant, "after": after, "limit": PAGE_ROWS}
        ):
            yield page
            after = page[-1][0]

    def _key(self) -> MarkKey:
        if self._key_file is None:
            raise InvalidRequest(NO_KEY)
        return MarkKey(self._key_file.make())

    async def _known_key(self) -> MarkKey:
        """The key that the ledger's tombstones were made with; no other will do."""
        secret = self._key_file.read() if self._key_file else None
        if secret is None:
            raise InvalidRequest(NO_KEY)
        key = MarkKey(secret)
        if await self._sql.rows("key_id", {}) != [(key.key_id,)]:
            raise InvalidRequest(OTHER_KEY)
        return key


def _holding(row: tuple[object, ...]) -> Holding:
    names = (
        *("revision_id", "document_id", "owner", "source", "path", "origin", "title", "state"),
        *("run_id", "text"),
    )
    conversation, session, ordinal, speaker, said_at = row[10:15]
    turn = None
    if conversation is not None:
        turn = Turn(
            conversation=conversation,  # type: ignore[arg-type]  # columns of the statement
            session=session,  # type: ignore[arg-type]
            ordinal=ordinal,  # type: ignore[arg-type]
            speaker=speaker or "",  # type: ignore[arg-type]
            said_at=said_at,  # type: ignore[arg-type]
        )
    return Holding(
        **dict(zip(names, row[:10], strict=True)),  # type: ignore[arg-type]
        turn=turn,
        chunk_ids=tuple(row[15]),  # type: ignore[arg-type]
        vector_keys=tuple(row[16]),  # type: ignore[arg-type]
    )


def _parts(ids: Sequence[str], *, size: int = AT_ONCE) -> list[list[str]]:
    return [list(ids[start : start + size]) for start in range(0, len(ids), size)]


def _add(counts: dict[str, int], more: dict[str, int]) -> None:
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count
