"""The stages one after the other in this process: for a few items, and as the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cluster.clock import Clock
from cluster.models.protocols import Embedder
from ingest.claims import LocalClaims
from ingest.link import LedgerLink
from ingest.prepare import Plan
from ingest.sources import Unit
from ingest.stages import Bundle, DryWrite, Embed, Prepare, Write


class Once:
    """Opens the embedder at the first call and hands out the same one afterwards."""

    def __init__(self, open_embedder: Callable[[], Embedder]) -> None:
        self._open = open_embedder
        self._embedder: Embedder | None = None

    def __call__(self) -> Embedder:
        if self._embedder is None:
            self._embedder = self._open()
        return self._embedder

    def unload(self) -> None:
        """Give the model's memory back; the next call opens it again."""
        self._embedder = None


def run_in_loop(
    plan: Plan,
    units: Iterable[Unit],
    *,
    link: LedgerLink,
    clock: Clock,
    opened: Once,
    claims: LocalClaims,
    dry_run: bool = False,
) -> Iterator[Bundle]:
    """Reports, in the order of the units."""
    prepare = Prepare(plan, link, opened)
    embed = Embed(plan, link, claims, opened)
    write = Write(plan, link, clock, opened)
    for unit in units:
        for bundle in prepare(unit):
            yield DryWrite()(bundle) if dry_run else write(embed(bundle))
