"""/healthz, /readyz, /metrics: does it live, can it answer, how does it do?"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from cluster.errors import ModelError, Overloaded, PalimpsestError, StoreError, StoreUnavailable
from serve.api.auth import TheService
from serve.api.schemas import Alive, PartState, Readiness
from serve.metrics import CONTENT_TYPE
from serve.refilling import gauges
from serve.service import Service
from serve.short_lived import ShortLived

router = APIRouter(tags=["operations"])
log = logging.getLogger(__name__)

PROBE_S = 2.0
LOOK_TTL_S = 1.0
NOBODY = "chk_probe"
"""An id that no chunk has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How the parts do, and the ledger's gauges as lines of Prometheus text."""

    parts: Mapping[str, PartState]
    ledger_gauges: tuple[str, ...]


Looks = ShortLived[None, Look]


def _looks_of(request: Request) -> Looks:
    looks: Looks = request.app.state.looks
    return looks


TheLooks = Annotated[Looks, Depends(_looks_of)]


@router.get("/healthz", response_model=Alive, summary="Does the process live?")
async def healthz() -> Alive:
    return Alive()


@router.get(
    "/readyz",
    response_model=Readiness,
    summary="Can it answer?",
    responses={503: {"model": Readiness, "description": "Not now; `parts` says why."}},
)
async def readyz(looks: TheLooks, response: Response) -> Readiness:
    """Each part is asked for real, at most once a second: ledger, both indexes, the encoder."""
    parts = (await looks.get(None)).parts
    ready = all(part.ok for part in parts.values())
    if not ready:
        response.status_code = 503
        response.headers["Retry-After"] = "1"
    return Readiness(ready=ready, parts=parts)


@router.get("/metrics", summary="Prometheus text", response_class=Response)
async def metrics(service: TheService, looks: TheLooks) -> Response:
    """Requests, latencies by route and stage, channel failures, outbox, stores, counts."""
    look = await looks.get(None)
    lines = [service.metrics.text().rstrip("\n"), *_up(look.parts), *look.ledger_gauges]
    others = await service.metrics.others()
    return Response(
        "\n".join([*lines, others.strip("\n")]).rstrip("\n") + "\n", media_type=CONTENT_TYPE
    )


def looks_at(service: Service) -> Looks:
    """Whoever asks at once or soon after shares one look, as nobody needs a key for it."""

    async def look(_: None) -> Look:
        parts = await probe_all(service)
        gauges = await _ledger_gauges(service, ok=parts["ledger"].ok)
        return Look(parts=parts, ledger_gauges=tuple(gauges))

    return ShortLived(look, ttl_s=LOOK_TTL_S)


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
        ok, detail = False, _told(error)
        log.warning("not ready: %s", error)
    return PartState(ok=ok, detail=detail, took_ms=round((time.perf_counter() - started) * 1e3, 1))


class _OtherEncoder(ModelError):
    """The ledger is kept up for other encoders than the one that this process has."""


def _told(error: PalimpsestError) -> str:
    """The kind alone: whoever reads this has no key. The log has the rest."""
    kinds: Mapping[type[PalimpsestError], str] = {
        StoreUnavailable: "not reached",
        _OtherEncoder: "the ledger is encoded by another encoder than the one in use",
        ModelError: "the model failed",
        Overloaded: "busy",
    }
    return next((told for kind, told in kinds.items() if isinstance(error, kind)), "refused")


async def _ledger(service: Service) -> str:
    async with service.ledger.transaction() as tx:
        live = await tx.generations.live()
        aside = await tx.outbox.aside()
    if not live:
        return "reachable; nothing encoded yet"
    # For a moment after a switch, the former one; it is kept up as long as it is live.
    if service.fingerprint not in {one.fingerprint for one in live}:
        raise _OtherEncoder(
            f"the ledger is encoded by {live[0].fingerprint}, this process by {service.fingerprint}"
        )
    return f"reachable; the indexes refuse {aside} rows" if aside else "reachable"


async def _vector_index(service: Service) -> str:
    await service.generations.searched.index.versions([NOBODY])
    return "reachable"


async def _text_index(service: Service) -> str:
    await service.stores.text_index.versions([NOBODY])
    return "reachable"


async def _encoder(service: Service) -> str:
    query = await service.encode("ready?", "en")
    return f"{query.vector.shape[0]} dimensions"


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
            done, aside = await tx.outbox.done_total(), await tx.outbox.aside()
            counts = await tx.documents.counts(None)
            drift = gauges(await tx.reconciling.latest(), await tx.rebuilds.unfinished())
    except (PalimpsestError, TimeoutError):
        return []
    return [
        "# HELP palimpsest_outbox_entries Index work that is owed.",
        "# TYPE palimpsest_outbox_entries gauge",
        f"palimpsest_outbox_entries {entries}",
        "# HELP palimpsest_outbox_age_seconds Age of the oldest index work owed.",
        "# TYPE palimpsest_outbox_age_seconds gauge",
        f"palimpsest_outbox_age_seconds {age.total_seconds():.3f}",
        "# HELP palimpsest_outbox_set_aside_entries Index work that an index refuses.",
        "# TYPE palimpsest_outbox_set_aside_entries gauge",
        f"palimpsest_outbox_set_aside_entries {aside}",
        "# HELP palimpsest_outbox_done_total Index work done; its rate is rows a second.",
        "# TYPE palimpsest_outbox_done_total counter",
        f"palimpsest_outbox_done_total {done}",
        "# HELP palimpsest_visible What is visible, and revisions pending.",
        "# TYPE palimpsest_visible gauge",
        *(f'palimpsest_visible{{what="{what}"}} {count}' for what, count in sorted(counts.items())),
        *drift,
    ]
