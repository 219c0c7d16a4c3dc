"""Forget jobs and their receipts in PostgreSQL; `cluster.stores.protocols.ForgetJobs`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from cluster.errors import NotFound
from cluster.stores.postgres.statements import Connection, Statements
from cluster.stores.protocols.forgetting import ForgetJob, JobState


class PostgresForgetJobs:
    def __init__(self, connection: Connection) -> None:
        self._sql = Statements(connection, "forgetting")

    async def add(self, job: ForgetJob, work: Sequence[bytes]) -> None:
        await self._sql.run(
            "add_job",
            {
                "job_id": job.job_id,
                "receipt_id": job.receipt_id,
                "tenant": job.tenant,
                "kind": job.kind,
                "selector": job.selector,
                "state": job.state,
                "counts": json.dumps(dict(job.counts)),
                "waits_for": job.waits_for,
                "asked_at": job.asked_at,
                "asked_by": job.asked_by,
            },
        )
        if work:
            parts = {"job_id": job.job_id, "parts": list(range(len(work))), "sealed": list(work)}
            await self._sql.run("add_work", parts)
        await self._sql.rows("notify", {})

    async def get(self, tenant: str, job_id: str) -> ForgetJob:
        return await self._one("job", tenant, job_id, what="forget job")

    async def of_receipt(self, tenant: str, receipt_id: str) -> ForgetJob:
        return await self._one("job_of_receipt", tenant, receipt_id, what="receipt")

    async def latest(self, tenant: str, selector: str) -> ForgetJob | None:
        rows = await self._sql.rows("latest_job", {"tenant": tenant, "selector": selector})
        return _job(rows[0]) if rows else None

    async def unfinished(self) -> list[ForgetJob]:
        return [_job(row) for row in await self._sql.rows("unfinished_jobs", {})]

    async def work(self, job_id: str) -> list[bytes]:
        return [bytes(row[0]) for row in await self._sql.rows("work", {"id": job_id})]

    async def progress(self, job_id: str, *, state: JobState, waits_for: str) -> None:
        await self._sql.run("progress", {"id": job_id, "state": state, "waits_for": waits_for})

    async def finish(self, job_id: str, *, body: str, now: datetime) -> bool:
        if not await self._sql.run("finish", {"id": job_id, "now": now}):
            return False
        await self._sql.run("keep_receipt", {"id": job_id, "body": body, "now": now})
        await self._sql.run("drop_work", {"id": job_id})
        return True

    async def receipt(self, tenant: str, receipt_id: str) -> str:
        rows = await self._sql.rows("receipt", {"tenant": tenant, "id": receipt_id})
        if not rows:
            raise NotFound(f"no receipt {receipt_id!r}")
        return str(rows[0][0])

    async def _one(self, statement: str, tenant: str, identifier: str, *, what: str) -> ForgetJob:
        rows = await self._sql.rows(statement, {"tenant": tenant, "id": identifier})
        if not rows:
            raise NotFound(f"no {what} {identifier!r}")
        return _job(rows[0])


def _job(row: tuple[Any, ...]) -> ForgetJob:
    return ForgetJob(
        job_id=row[0],
        receipt_id=row[1],
        tenant=row[2],
        kind=row[3],
        selector=row[4],
        state=row[5],
        counts=row[6],
        asked_at=row[7],
        waits_for=row[8],
        finished_at=row[9],
        lifted_at=row[10],
        asked_by=row[11],
    )
