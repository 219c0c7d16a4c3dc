"""Run history and waiting uploads in PostgreSQL; the protocols `Runs` and `Uploads`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from cluster.errors import NotFound
from cluster.ids import digest
from cluster.model import ItemProblem, Run
from cluster.stores.checks import check_state, finished_at, printable, require, require_limit
from cluster.stores.postgres.rows import to_json
from cluster.stores.postgres.statements import Connection, Statements


class PostgresRuns:
    def __init__(self, connection: Connection) -> None:
        self._sql = Statements(connection, "runs")

    async def start(self, run: Run) -> None:
        check_state(run.state)
        await self._sql.run(
            "start",
            {
                "run_id": run.run_id,
                "tenant": run.tenant,
                "arguments": _printable_json(run.arguments),
                "state": run.state,
                "started_at": run.started_at,
                "finished_at": run.finished_at,
                "counts": json.dumps(dict(run.counts)),
                "error": None if run.error is None else printable(run.error),
            },
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
        changed = await self._sql.run(
            "update",
            {
                "run_id": run_id,
                "state": check_state(state),
                "counts": json.dumps(dict(counts)),
                "error": None if error is None else printable(error),
                "finished_at": finished_at(state, now=now),
            },
        )
        if not changed:
            raise NotFound(f"no run {run_id!r}")

    async def interrupt(self, run_id: str, *, now: datetime, error: str) -> bool:
        asked = {"run_id": run_id, "error": printable(error), "now": now}
        return bool(await self._sql.run("interrupt", asked))

    async def add_problems(self, run_id: str, problems: Sequence[ItemProblem]) -> None:
        rows: dict[str, dict[str, object]] = {}
        for problem in require(problems, "problems"):
            key = digest(problem.origin, problem.stage).hex()
            rows[key] = {
                "item_key": key,
                "origin": printable(problem.origin),
                "stage": printable(problem.stage),
                "outcome": problem.outcome,
                "kind": printable(problem.kind),
                "reason": printable(problem.reason),
            }
        await self._sql.run("add_problems", {"run_id": run_id, "rows": to_json(rows.values())})

    async def get(self, tenant: str, run_id: str) -> tuple[Run, list[ItemProblem]]:
        rows = await self._sql.rows("get", {"tenant": tenant, "run_id": run_id})
        if not rows:
            raise NotFound(f"no run {run_id!r}")
        problems = await self._sql.rows("problems", {"run_id": run_id})
        return _read_run(rows[0]), [
            ItemProblem(origin=origin, stage=stage, outcome=outcome, kind=kind, reason=reason)
            for origin, stage, outcome, kind, reason in problems
        ]

    async def latest(self, tenant: str, *, limit: int) -> list[Run]:
        asked = {"tenant": tenant, "limit": require_limit(limit)}
        return [_read_run(row) for row in await self._sql.rows("latest", asked)]


class PostgresUploads:
    def __init__(self, connection: Connection) -> None:
        self._sql = Statements(connection, "runs")

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
        await self._sql.run(
            "put_upload",
            {
                "run_id": run_id,
                "tenant": tenant,
                "name": printable(name),
                "media_type": media_type,
                "content": content,
                "arguments": _printable_json(arguments),
            },
        )
        await self._sql.rows("notify", {})

    async def get(self, run_id: str) -> tuple[str, str, str | None, bytes, dict[str, str]]:
        rows = await self._sql.rows("get_upload", {"run_id": run_id})
        if not rows:
            raise NotFound(f"no upload {run_id!r}")
        tenant, name, media_type, content, arguments = rows[0]
        return tenant, name, media_type, bytes(content), arguments

    async def waiting(self) -> list[str]:
        return [row[0] for row in await self._sql.rows("waiting_uploads", {})]

    async def delete(self, run_id: str) -> None:
        await self._sql.run("delete_upload", {"run_id": run_id})


def _read_run(row: tuple[Any, ...]) -> Run:
    return Run(
        run_id=row[0],
        tenant=row[1],
        arguments=row[2],
        state=row[3],
        started_at=row[4],
        finished_at=row[5],
        counts=row[6],
        error=row[7],
    )


def _printable_json(values: Mapping[str, str]) -> str:
    return json.dumps({printable(key): printable(value) for key, value in values.items()})
