"""POST /v1/documents and /v1/runs: bring a document in, see what became of it.

The bytes wait in the ledger for the ingest worker; the run tells how far it is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from cluster.errors import InvalidRequest, NotFound
from cluster.ids import content_id, sha256_hex
from cluster.kill_points import reached
from cluster.model import ApiKey, ItemProblem, Run
from serve.api.auth import Reader, TheService, Writer
from serve.api.documented import problems
from serve.api.documents import known_form
from serve.api.schemas import RunList, RunView, TextUpload
from serve.service import Service

router = APIRouter()
POLL_S = 0.1
MAX_WAIT_S = 120.0
MAX_RUNS_READ = 5000
DIGEST = "upload_digest"
"""The argument of a run with an idempotency key that tells another upload from the same."""

FINAL = frozenset({"succeeded", "failed", "interrupted"})
FORM_FIELDS = frozenset(TextUpload.model_fields) - {"text"} | {"file"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    name: str
    media_type: str | None
    content: bytes
    arguments: Mapping[str, str]


@router.post(
    "/v1/documents",
    tags=["documents"],
    response_model=RunView,
    status_code=202,
    summary="Bring a document in",
    responses={
        200: {"model": RunView, "description": "Done within `wait`."},
        **problems(400, 401, 403, 408, 413, 415, 422, 503),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/TextUpload"}},
                "multipart/form-data": {
                    "schema": {
                        "type": "object",
                        "required": ["file"],
                        "properties": {"file": {"type": "string", "format": "binary"}}
                        | {name: {"type": "string"} for name in sorted(FORM_FIELDS - {"file"})},
                    }
                },
            },
        }
    },
)
async def upload(  # noqa: PLR0917  # the framework passes them by name
    request: Request,
    response: Response,
    key: Writer,
    service: TheService,
    wait: Annotated[float, Query(ge=0, le=MAX_WAIT_S, description="seconds")] = 0.0,
    idempotency_key: Annotated[
        str | None, Header(pattern=r"^[!-~]{1,200}$", description="same key, same run")
    ] = None,
) -> RunView:
    """Text as JSON, or a file as a form. Answers 202 with the run to look at, or waits for
    it, unless too many wait already. The same name replaces the earlier content once the new
    one is searchable."""
    given = await _read(request)
    run = await _start(service, key, given, idempotency_key=idempotency_key)
    response.headers["Location"] = f"/v1/runs/{run.run_id}"
    run, skipped = await _wait(service, run, seconds=wait)
    if run.state in FINAL:
        response.status_code = 200
    return _view(run, skipped)


@router.get(
    "/v1/runs",
    tags=["runs"],
    response_model=RunList,
    summary="Latest ingest runs",
    responses=problems(401, 422, 503),
)
async def list_runs(
    key: Reader, service: TheService, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> RunList:
    """Those of the caller's owner; a key of role admin without an owner sees the tenant's."""
    shown, read = [], limit
    async with service.ledger.transaction() as tx:
        while True:
            runs = await tx.runs.latest(key.tenant, limit=read)
            shown = [run for run in runs if _may_see(key, run)][:limit]
            if len(shown) == limit or len(runs) < read or read >= MAX_RUNS_READ:
                return RunList(runs=[_view(run, []) for run in shown])
            read = min(read * 8, MAX_RUNS_READ)


@router.get(
    "/v1/runs/{run_id}",
    tags=["runs"],
    response_model=RunView,
    summary="One ingest run",
    responses=problems(401, 404, 503),
)
async def get_run(run_id: str, key: Reader, service: TheService) -> RunView:
    """How far it is, its counts, and every item that was skipped or failed, with the reason."""
    known_form(run_id, "run")
    async with service.ledger.transaction() as tx:
        run, skipped = await tx.runs.get(key.tenant, run_id)
    if not _may_see(key, run):
        raise NotFound(f"no run {run_id!r}")
    return _view(run, skipped)


def _may_see(key: ApiKey, run: Run) -> bool:
    """What belongs to an owner is for keys of that owner."""
    everything = key.role == "admin" and key.owner is None
    return everything or run.arguments.get("owner") == key.owner


async def _read(request: Request) -> Upload:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == "application/json":
        return await asyncio.to_thread(_from_json, await request.body())
    if media_type == "multipart/form-data":
        async with request.form(max_files=1, max_fields=len(FORM_FIELDS)) as form:
            return await _from_form(form)
    raise HTTPException(
        415, "send application/json with `text`, or multipart/form-data with `file`"
    )


def _from_json(body: bytes) -> Upload:
    try:
        given = TextUpload.model_validate_json(body)
    except ValidationError as error:
        raise _explained(error) from error
    return Upload(
        name=given.name,
        media_type=given.media_type,
        content=given.text.encode(),
        arguments=_arguments(given),
    )


async def _from_form(form: FormData) -> Upload:
    unknown = sorted(set(form) - FORM_FIELDS)
    if unknown:
        known = ", ".join(sorted(FORM_FIELDS))
        raise InvalidRequest(f"{unknown[0]!r}: unknown form field; known: {known}")
    file = form.get("file")
    if not isinstance(file, UploadFile):
        raise InvalidRequest("file: missing; send the document as a form file named `file`")
    texts: dict[str, Any] = {name: value for name, value in form.items() if name != "file"}
    if "derived_from" in texts:
        texts["derived_from"] = str(texts["derived_from"]).splitlines()
    if "tags" in texts:
        texts["tags"] = [tag.strip() for tag in str(texts["tags"]).split(",") if tag.strip()]
    texts.setdefault("name", file.filename or "")
    try:
        given = TextUpload.model_validate({**texts, "text": "-"})
    except ValidationError as error:
        raise _explained(error) from error
    content = await file.read()
    if not content:
        raise InvalidRequest("file: it is empty")
    return Upload(
        name=given.name,
        media_type=given.media_type or file.content_type,
        content=content,
        arguments=_arguments(given),
    )


def _explained(error: ValidationError) -> Exception:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "json_invalid":
        return HTTPException(400, str(first["msg"]))
    if first["type"] == "extra_forbidden":
        known = ", ".join(TextUpload.model_fields)
        return InvalidRequest(f"{where}: unknown key; known: {known}")
    return InvalidRequest(f"{where}: {str(first['msg']).removeprefix('Value error, ')}")


def _arguments(given: TextUpload) -> dict[str, str]:
    """What the caller says about the document, by field of `cluster.model.Metadata`."""
    known = given.model_dump(mode="json", exclude={"text", "name", "media_type"}, exclude_none=True)
    tags = known.pop("tags", [])
    if supports := known.pop("derived_from", []):
        known["derived_from"] = "\n".join(supports)
    if "version" in known:
        known["product_version"] = known.pop("version")
    return {name: str(value) for name, value in known.items()} | (
        {"tags": json.dumps(tags, ensure_ascii=False)} if tags else {}
    )


async def _start(
    service: Service, key: ApiKey, given: Upload, *, idempotency_key: str | None
) -> Run:
    """Stores bytes and run together; the same idempotency key finds the first run, and refuses
    another upload."""
    now = service.clock.now()
    arguments = {**given.arguments, "name": given.name}
    if key.owner is not None:
        arguments["owner"] = key.owner
    if key.agent is not None:
        arguments["agent"] = key.agent
    digest = await asyncio.to_thread(_digest, given)
    if idempotency_key is None:
        run_id = content_id("run", key.tenant, key.key_id, "once", now.isoformat(), digest)
        return await _store(service, _queued(run_id, key, arguments, now=now), given, arguments)
    run_id = content_id("run", key.tenant, key.key_id, "again", idempotency_key)
    run = _queued(run_id, key, {**arguments, DIGEST: digest}, now=now)
    async with service.ledger.lease(f"upload {run_id[-2:]}"):  # few names for many runs
        return await _store(service, run, given, arguments)


def _digest(given: Upload) -> str:
    about = json.dumps([given.name, given.media_type, sorted(given.arguments.items())])
    return content_id("upload", sha256_hex(given.content), about)


def _queued(run_id: str, key: ApiKey, arguments: Mapping[str, str], *, now: datetime) -> Run:
    return Run(
        run_id=run_id,
        tenant=key.tenant,
        arguments=arguments,
        state="queued",
        started_at=now,
        finished_at=None,
        counts={},
    )


async def _store(service: Service, run: Run, given: Upload, arguments: Mapping[str, str]) -> Run:
    async with service.ledger.transaction() as tx:
        with suppress(NotFound):
            first, _ = await tx.runs.get(run.tenant, run.run_id)
            if first.arguments.get(DIGEST) != run.arguments.get(DIGEST):
                raise InvalidRequest(
                    "Idempotency-Key: it was used for another upload; take a new one"
                )
            return first
        await tx.runs.start(run)
        await tx.uploads.put(
            run.run_id,
            run.tenant,
            name=given.name,
            media_type=given.media_type,
            content=given.content,
            arguments=arguments,
        )
    reached("upload.committed")
    return run


async def _wait(service: Service, run: Run, *, seconds: float) -> tuple[Run, list[ItemProblem]]:
    """Not at all while as many wait as may."""
    if seconds <= 0 or service.waiters.locked():
        return run, []
    async with service.waiters:
        return await _followed(service, run, seconds=seconds)


async def _followed(service: Service, run: Run, *, seconds: float) -> tuple[Run, list[ItemProblem]]:
    skipped: list[ItemProblem] = []
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while run.state not in FINAL and loop.time() < until:
        await asyncio.sleep(min(POLL_S, max(until - loop.time(), 0.0)))
        async with service.ledger.transaction() as tx:
            run, skipped = await tx.runs.get(run.tenant, run.run_id)
    return run, skipped


def _view(run: Run, skipped: list[ItemProblem]) -> RunView:
    return RunView(
        run_id=run.run_id,
        state=run.state,
        started_at=run.started_at,
        finished_at=run.finished_at,
        counts=run.counts,
        arguments=run.arguments,
        error=run.error,
        problems=skipped,
    )
