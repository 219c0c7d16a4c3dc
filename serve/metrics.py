"""Counters and histograms of one replica, as Prometheus text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from cluster.model import ChannelFailure

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LATENCY_BUCKETS_S = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.4, 0.75, 1, 2, 5, 30)
LABELS_HTTP = ("method", "route", "status")


class Metrics:
    """No label carries a tenant, a question or an id, so their number stays small."""

    def __init__(self, *, others: Callable[[], Awaitable[str]] | None = None) -> None:
        """`others` gives the text of exporters that are merged into the page."""
        self._others = others
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "palimpsest_http_requests", "Answered requests.", LABELS_HTTP, registry=self.registry
        )
        self._latency = Histogram(
            "palimpsest_http_request_seconds",
            "From the first byte of the request to the last of the answer.",
            LABELS_HTTP,
            buckets=LATENCY_BUCKETS_S,
            registry=self.registry,
        )
        self._ongoing = Gauge(
            "palimpsest_http_requests_ongoing", "Requests in work.", registry=self.registry
        )
        self._waiting = Gauge(
            "palimpsest_http_requests_waiting",
            "Requests that wait for their turn.",
            registry=self.registry,
        )
        self._stages = Histogram(
            "palimpsest_stage_seconds",
            "Stages of a search; `channel:<name>` is one channel.",
            ("stage",),
            buckets=LATENCY_BUCKETS_S,
            registry=self.registry,
        )
        self._failures = Counter(
            "palimpsest_channel_failures",
            "Channels that were late or failed.",
            ("channel",),
            registry=self.registry,
        )

        self._shown = Counter(
            "palimpsest_passages_shown",
            "Passages in answers, by whether showing them was counted in the ledger.",
            ("outcome",),
            registry=self.registry,
        )
        self._cache = Counter(
            "palimpsest_query_cache",
            "Questions, by what the cache of answers did for them.",
            ("outcome",),
            registry=self.registry,
        )
        self._cache_entries = Gauge(
            "palimpsest_query_cache_entries", "Answers that are kept.", registry=self.registry
        )
        self._cache_bytes = Gauge(
            "palimpsest_query_cache_bytes", "Bytes of these, roughly.", registry=self.registry
        )

    def shown(self, *, kept: int = 0, lost: int = 0) -> None:
        self._shown.labels("kept").inc(kept)
        self._shown.labels("lost").inc(lost)

    def cache(self, outcome: Literal["hit", "miss"], *, entries: int, size: int) -> None:
        self._cache.labels(outcome).inc()
        self._cache_entries.set(entries)
        self._cache_bytes.set(size)

    def answered(self, *, method: str, route: str, status: int, seconds: float) -> None:
        labels = (method, route, str(status))
        self._requests.labels(*labels).inc()
        self._latency.labels(*labels).observe(seconds)

    def load(self, *, ongoing: int, waiting: int) -> None:
        self._ongoing.set(ongoing)
        self._waiting.set(waiting)

    def retrieved(
        self, timings_ms: Mapping[str, float], failures: Iterable[ChannelFailure]
    ) -> None:
        for stage, took_ms in timings_ms.items():
            self._stages.labels(stage).observe(took_ms / 1000)
        for failure in failures:
            self._failures.labels(failure.channel).inc()

    def text(self) -> str:
        return generate_latest(self.registry).decode()

    async def others(self) -> str:
        return await self._others() if self._others else ""
