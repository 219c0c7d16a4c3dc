"""/v1/forget and /v1/receipts: make something gone for good, and have it in writing.

The request's own transaction erases; whoever answers from then on finds nothing. A worker then
waits for the indexes, searches every store and signs the receipt.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Response

from cluster.errors import NotAllowed, NotFound
from cluster.forget.key_files import receipt_key_file, tombstone_key_file
from cluster.forget.receipts import Signer, key_id
from cluster.forget.request import Preview, Wish, commit, lift, look, may_see
from cluster.model import ApiKey
from cluster.stores.protocols import ForgetJob, Selector
from serve.api.auth import Reader, TheService, Writer
from serve.api.documented import problems
from serve.api.documents import known_form
from serve.api.schemas import (
    ForgetAnswer,
    ForgetJobView,
    ForgetPreview,
    ForgetRequest,
    Lifted,
    ReceiptKey,
    SignedReceipt,
)
from serve.service import Service

router = APIRouter(tags=["forgetting"])
POLL_S = 0.1
MAX_WAIT_S = 120.0


@router.post(
    "/v1/forget",
    response_model=ForgetAnswer,
    status_code=202,
    summary="Forget something exactly",
    responses={
        200: {"model": ForgetAnswer, "description": "A dry run, or done within `wait`."},
        **problems(400, 401, 403, 404, 408, 413, 422, 503),
    },
)
async def forget(
    given: ForgetRequest,
    response: Response,
    key: Writer,
    service: TheService,
    wait: Annotated[float, Query(ge=0, le=MAX_WAIT_S, description="seconds")] = 0.0,
) -> ForgetAnswer:
    """No answer shows it from the moment on that this returns, and the same content stays away
    until the receipt is lifted. A key of an owner forgets that owner's items; others need the
    role admin."""
    wish = Wish(
        tenant=key.tenant,
        selector=Selector(kind=given.kind, value=given.value),
        owner=_reach(key),
    )
    if given.dry_run:
        response.status_code = 200
        return ForgetAnswer(preview=_previewed(await look(service.ledger, wish)))
    job = await commit(
        service.ledger,
        wish,
        key_file=tombstone_key_file(service.settings),
        now=service.clock.now(),
    )
    service.editions.clear()
    response.headers["Location"] = f"/v1/forget/{job.job_id}"
    job = await _waited(service, job, seconds=wait)
    if job.state == "finished":
        response.status_code = 200
    return ForgetAnswer(job=_view(job))


@router.get(
    "/v1/forget/{job_id}",
    response_model=ForgetJobView,
    summary="How far forgetting is",
    responses=problems(401, 403, 404, 503),
)
async def get_job(job_id: str, key: Writer, service: TheService) -> ForgetJobView:
    """`waits_for` says what keeps it from its receipt. A key of an owner sees what was asked
    with that owner's keys."""
    known_form(job_id, "forget job")
    owner = _reach(key)
    async with service.ledger.transaction() as tx:
        job = await tx.forget_jobs.get(key.tenant, job_id)
    if not await _may_see(service, job, owner):
        raise NotFound(f"no forget job {job_id!r}")
    return _view(job)


@router.post(
    "/v1/forget/{receipt_id}/lift",
    response_model=Lifted,
    summary="Let it come back",
    responses=problems(401, 403, 404, 503),
)
async def lift_receipt(receipt_id: str, key: Writer, service: TheService) -> Lifted:
    """The content that this receipt keeps away may be ingested again. Needs the role admin."""
    known_form(receipt_id, "receipt")
    _need_admin(key)
    lifted = await lift(service.ledger, key.tenant, receipt_id, now=service.clock.now())
    return Lifted(receipt_id=receipt_id, tombstones=lifted)


@router.get(
    "/v1/receipts/key",
    response_model=ReceiptKey,
    summary="The key that receipts are checked with",
    responses=problems(401, 503),
)
async def get_key(key: Reader, service: TheService) -> ReceiptKey:
    """Public; `palimpsest receipt verify` and any Ed25519 library take it."""
    signer = Signer(await asyncio.to_thread(receipt_key_file(service.settings).make))
    return ReceiptKey(
        key_id=key_id(signer.public_key), public_key=signer.public_key.hex(), pem=signer.pem
    )


@router.get(
    "/v1/receipts/{receipt_id}",
    response_class=Response,
    summary="A signed receipt",
    responses={
        200: {"model": SignedReceipt, "description": "Byte for byte as it was signed."},
        **problems(401, 403, 404, 503),
    },
)
async def get_receipt(receipt_id: str, key: Writer, service: TheService) -> Response:
    """Once everything was searched and nothing was found. A key of an owner sees those of what
    was asked with that owner's keys."""
    known_form(receipt_id, "receipt")
    owner = _reach(key)
    async with service.ledger.transaction() as tx:
        body = await tx.forget_jobs.receipt(key.tenant, receipt_id)
        job = await tx.forget_jobs.of_receipt(key.tenant, receipt_id)
    if not await _may_see(service, job, owner):
        raise NotFound(f"no receipt {receipt_id!r}")
    return Response(body, media_type="application/json")


def _reach(key: ApiKey) -> str | None:
    """Whose items this key may forget: its owner's, or, for an administrator, all."""
    if key.owner is None:
        _need_admin(key)
    return key.owner


async def _may_see(service: Service, job: ForgetJob, owner: str | None) -> bool:
    key_file = tombstone_key_file(service.settings)
    return await asyncio.to_thread(may_see, job, owner=owner, key_file=key_file)


def _need_admin(key: ApiKey) -> None:
    if key.role != "admin" or key.owner is not None:
        raise NotAllowed("this needs a key of role admin that belongs to no owner")


async def _waited(service: Service, job: ForgetJob, *, seconds: float) -> ForgetJob:
    """Not at all while as many wait as may."""
    if seconds <= 0 or service.waiters.locked():
        return job
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    async with service.waiters:
        while job.state != "finished" and loop.time() < until:
            await asyncio.sleep(min(POLL_S, max(until - loop.time(), 0.0)))
            async with service.ledger.transaction() as tx:
                job = await tx.forget_jobs.get(job.tenant, job.job_id)
    return job


def _view(job: ForgetJob) -> ForgetJobView:
    return ForgetJobView(
        job_id=job.job_id,
        receipt_id=job.receipt_id,
        kind=job.kind,
        state=job.state,
        counts=job.counts,
        waits_for=job.waits_for,
        asked_at=job.asked_at,
        finished_at=job.finished_at,
        lifted_at=job.lifted_at,
    )


def _previewed(seen: Preview) -> ForgetPreview:
    return ForgetPreview(
        documents=len(seen.plan.documents),
        derived=list(seen.plan.derived),
        needs_recompute=list(seen.plan.recompute),
        of_others=seen.plan.others,
        revisions=seen.revisions,
        chunks=seen.chunks,
        tombstones=seen.tombstones,
        shown=list(seen.shown),
    )
