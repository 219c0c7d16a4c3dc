"""/healthz, /readyz, /metrics: does it live, can it answer, how does it do?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

from fastapi import APIRouter, Response

from cluster.errors import ModelError, Overloaded, PalimpsestError, StoreError
from serve.api.auth import TheService
from serve.api.schemas import Alive, PartState, Readiness
from serve.metrics import CONTENT_TYPE
from serve.service import Service

router = APIRouter(tags=["operations"])
PROBE_S = 2.0
NOBODY = "chk_probe"
"""An id that no chunk has."""


@router.get("/healthz", response_model=Alive, summary="Does the process live?")
async def healthz() -> Alive:
    return Alive()


@router.get(
    "/readyz",
    response_model=Readiness,
    summary="Can it answer?",
    responses={503: {"model": Readiness, "description": "Not now; `parts` says why."}},
)
async def readyz(service: TheService, response: Response) -> Readiness:
    """Each part is asked for real: ledger, both indexes, the encoder."""
    parts = await probe_all(service)
    ready = all(part.ok for part in parts.values())
    if not ready:
        response.status_code = 503
        response.headers["Retry-After"] = "1"
    return Readiness(ready=ready, parts=parts)


@router.get("/metrics", summary="Prometheus text", response_class=Response)
async def metrics(service: TheService) -> Response:
    """Requests, latencies by route and stage, channel failures, outbox, stores, counts."""
    parts = await probe_all(service)
    lines = [
        service.metrics.text().rstrip("\n"),
        *_up(parts),
        *await _ledger_gauges(service, ok=parts["ledger"].ok),
    ]
    others = await service.metrics.others()
    return Response(
        "\n".join([*lines, others.strip("\n")]).rstrip("\n") + "\n", media_type=CONTENT_TYPE
    )


async def probe_all(service: Service) -> Mapping[str, PartState]:
    probes: Mapping[str, Callable[[Service], Awaitable[str]]] = {
        "ledger": _ledger,
        "vector_index": _vector_index,
        "text_index": _text_index,
        "encoder": _encoder,
    }
    states = await asyncio.gather(*(_probe(probe, service) for probe in probes.values()))
    return dict(zip(probes, states, strict=True))


async def _probe(probe: Callable[[Service], Awaitable[str]], service: Service) -> PartState:
    started = time.perf_counter()
    try:
        async with asyncio.timeout(PROBE_S):
            ok, detail = True, await probe(service)
    except TimeoutError:
        ok, detail = False, f"no answer within {PROBE_S:g} s"
    except (StoreError, ModelError, Overloaded) as error:
        ok, detail = False, str(error)
    return PartState(ok=ok, detail=detail, took_ms=round((time.perf_counter() - started) * 1e3, 1))


async def _ledger(service: Service) -> str:
    async with service.ledger.transaction() as tx:
        active = await tx.generations.active()
    if active is None:
        return "reachable; nothing encoded yet"
    if active.fingerprint != service.fingerprint:
        raise ModelError(
            f"the ledger is encoded by {active.fingerprint}, this process by {service.fingerprint}"
        )
    return f"reachable; encoded by {active.fingerprint}"


async def _vector_index(service: Service) -> str:
    await service.stores.vector_index.versions([NOBODY])
    return "reachable"


async def _text_index(service: Service) -> str:
    await service.stores.text_index.versions([NOBODY])
    return "reachable"


async def _encoder(service: Service) -> str:
    vector = await service.encode("ready?", "en")
    return f"{vector.shape[0]} dimensions"


def _up(parts: Mapping[str, PartState]) -> list[str]:
    return [
        "# HELP palimpsest_part_up Whether a part answered just now.",
        "# TYPE palimpsest_part_up gauge",
        *(f'palimpsest_part_up{{part="{name}"}} {int(part.ok)}' for name, part in parts.items()),
    ]


async def _ledger_gauges(service: Service, *, ok: bool) -> list[str]:
    """Nothing, where the ledger cannot be asked: a gauge of 0 would be a lie."""
    if not ok:
        return []
    try:
        async with asyncio.timeout(PROBE_S), service.ledger.transaction() as tx:
            entries, age = await tx.outbox.lag()
            counts = await tx.documents.counts(None)
    except (PalimpsestError, TimeoutError):
        return []
    return [
        "# HELP palimpsest_outbox_entries Index work that is owed.",
        "# TYPE palimpsest_outbox_entries gauge",
        f"palimpsest_outbox_entries {entries}",
        "# HELP palimpsest_outbox_age_seconds Age of the oldest index work owed.",
        "# TYPE palimpsest_outbox_age_seconds gauge",
        f"palimpsest_outbox_age_seconds {age.total_seconds():.3f}",
        "# HELP palimpsest_visible What is visible, and revisions pending.",
        "# TYPE palimpsest_visible gauge",
        *(f'palimpsest_visible{{what="{what}"}} {count}' for what, count in sorted(counts.items())),
    ]
