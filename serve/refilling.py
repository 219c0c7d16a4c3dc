"""Which channels search an index that is being filled again, and how the indexes agree."""

from __future__ import annotations

from collections.abc import Mapping

from cluster.model import ChannelFailure
from cluster.stores.drift import DriftReport
from cluster.stores.protocols import Ledger, Rebuild

CHANNELS: Mapping[str, tuple[str, ...]] = {
    "text": ("keyword", "facts", "time_range"),
    "vectors": ("semantic",),
}
"""Store -> the channels that search it."""


async def refilling(ledger: Ledger) -> tuple[ChannelFailure, ...]:
    """The channels that may miss what is not in their index again yet: part of every answer,
    as a short list would otherwise look like a complete one."""
    async with ledger.transaction() as tx:
        rebuild = await tx.rebuilds.unfinished()
    if rebuild is None:
        return ()
    return tuple(
        ChannelFailure(channel=channel, reason=_reason(rebuild))
        for store in rebuild.refills
        for channel in CHANNELS.get(store, ())
    )


def gauges(report: DriftReport | None, rebuild: Rebuild | None) -> list[str]:
    """Lines of Prometheus text; none before the first reconciliation."""
    lines: list[str] = []
    if report is not None:
        lines += _drift(report)
    if rebuild is not None:
        lines += [
            "# HELP palimpsest_rebuild_rows Rows of the rebuild that is not finished.",
            "# TYPE palimpsest_rebuild_rows gauge",
            f'palimpsest_rebuild_rows{{what="owed"}} {rebuild.owed}',
            f'palimpsest_rebuild_rows{{what="total"}} {rebuild.total}',
        ]
    return lines


def _reason(rebuild: Rebuild) -> str:
    percent = 100 * rebuild.owed // max(1, rebuild.total)
    return f"its index is being filled again, {min(percent, 99)} % so far; some may be missing"


def _drift(report: DriftReport) -> list[str]:
    rows = (
        f'palimpsest_drift_rows{{store="{store.store}",kind="{kind}"}} {count}'
        for store in report.stores
        for kind, count in store.drift.items()
    )
    errors = (
        f'palimpsest_drift_unreadable{{store="{store.store}"}} {int(store.error is not None)}'
        for store in report.stores
    )
    return [
        "# HELP palimpsest_drift_rows Rows of an index that differ from the ledger.",
        "# TYPE palimpsest_drift_rows gauge",
        *rows,
        "# HELP palimpsest_drift_unreadable Indexes that the last comparison could not read.",
        "# TYPE palimpsest_drift_unreadable gauge",
        *errors,
        "# HELP palimpsest_drift_checked_seconds When the indexes were last compared (Unix time).",
        "# TYPE palimpsest_drift_checked_seconds gauge",
        f"palimpsest_drift_checked_seconds {report.finished_at.timestamp():.3f}",
    ]
