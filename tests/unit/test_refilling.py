"""An answer from an index that is not full again says so."""

from __future__ import annotations

from datetime import timedelta

from serving import EMBEDDER, NOW, TENANT, encode, fill, memory_stores, prepared

from cluster.clock import FixedClock
from cluster.model import Scope
from cluster.settings import Settings
from cluster.stores.drift import KINDS, DriftReport, StoreDrift
from lifecycle.rebuild import begin_rebuild
from serve.metrics import Metrics
from serve.plan.planner import Question
from serve.refilling import gauges, refilling
from serve.service import build_service

QUESTION = Question(
    text="retries of a job", scope=Scope(tenant=TENANT), limit=5, now=NOW, deadline_s=10.0
)


async def failures(*refills: str) -> list[tuple[str, str]]:
    stores = memory_stores()
    await fill(stores, [prepared("a.md", "How often a job retries.")])
    if refills:
        await begin_rebuild(stores.ledger, refills=refills, now=NOW)
    service = build_service(
        settings=Settings.model_validate({"serve": {"channel_deadline_s": 5}}),
        stores=stores,
        encode=encode,
        fingerprint=EMBEDDER.fingerprint,
        clock=FixedClock(NOW),
        metrics=Metrics(),
    )
    found = await service.search(QUESTION)
    assert len(found.passages) == 1
    return [(one.channel, one.reason) for one in found.failures]


async def test_each_channel_of_an_index_that_is_filled_again_is_named() -> None:
    assert await failures() == []
    ((channel, reason),) = await failures("vectors")
    assert (channel, "filled again, 0 % so far" in reason) == ("semantic", True)
    assert [name for name, _ in await failures("text", "vectors")] == ["keyword", "semantic"]


async def test_every_channel_that_searches_the_index_of_words_is_named() -> None:
    ledger = memory_stores().ledger
    await begin_rebuild(ledger, refills=("text", "other"), now=NOW)
    named = [one.channel for one in await refilling(ledger)]
    assert named == ["keyword", "facts", "time_range"]


def test_gauges() -> None:
    assert gauges(None, None) == []
    drift = dict.fromkeys(KINDS, 0) | {"missing": 3}
    stores = (
        StoreDrift(store="text", rows=1, drift=drift, in_flight=dict.fromkeys(KINDS, 0)),
        StoreDrift(store="vectors", rows=0, drift=drift, in_flight=drift, error="away"),
    )
    done = NOW + timedelta(seconds=5)
    lines = gauges(DriftReport(started_at=NOW, finished_at=done, wanted=4, stores=stores), None)
    assert 'palimpsest_drift_rows{store="text",kind="missing"} 3' in lines
    assert 'palimpsest_drift_rows{store="text",kind="ghost"} 0' in lines
    assert 'palimpsest_drift_unreadable{store="text"} 0' in lines
    assert 'palimpsest_drift_unreadable{store="vectors"} 1' in lines
    assert lines[-1] == f"palimpsest_drift_checked_seconds {done.timestamp():.3f}"
    assert len([line for line in lines if not line.startswith("#")]) == 11
