"""Settings -> everything a run stands on."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import TextIO

from cluster.clock import Clock, SystemClock
from cluster.models.open import open_embedder
from cluster.settings import Settings
from cluster.stack.services import ray_address, ray_environment
from cluster.stores.open import open_ledger
from ingest.claims import LocalClaims
from ingest.encoder import encoder_of
from ingest.link import LedgerLink
from ingest.loop import Once, run_in_loop
from ingest.prepare import Plan
from ingest.pressure import Teller
from ingest.run import Surroundings
from ingest.sources import Unit
from ingest.stages import Bundle

_PATIENT = {
    "RAY_task_actor_unavailable_retry_delay_base_ms": "12000",
    "RAY_task_actor_unavailable_retry_max_delay_ms": "60000",
}
"""Ray notices the loss of a node after 15 to 65 s, and until then sends work there. The first
pauses are a tenth of a second by default, so that every try would be used up at once."""


@contextmanager
def open_surroundings(
    settings: Settings, *, always_loop: bool = False, wait_until_visible: bool = True
) -> Iterator[Surroundings]:
    """The stores must be up. A few changed items are worked off in this process, many by Ray
    Data unless `always_loop`."""
    clock = SystemClock()
    with LedgerLink(lambda: open_ledger(settings)) as link:
        settings, generation = encoder_of(link, settings)
        opened = Once(lambda: open_embedder(settings))
        few = InLoop(link=link, clock=clock, opened=opened)
        yield Surroundings(
            settings=settings,
            link=link,
            clock=clock,
            generation=generation,
            few=few,
            many=few if always_loop else OnRay(settings),
            watch=lambda say: Teller(
                LedgerLink(lambda: open_ledger(settings)), settings.indexer, say
            ),
            wait_until_visible=wait_until_visible,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InLoop:
    link: LedgerLink
    clock: Clock
    opened: Once

    def __call__(
        self, plan: Plan, units: Sequence[Unit], *, claims: LocalClaims, dry_run: bool
    ) -> Iterator[Bundle]:
        return run_in_loop(
            plan,
            units,
            link=self.link,
            clock=self.clock,
            opened=self.opened,
            claims=claims,
            dry_run=dry_run,
        )


@dataclass(frozen=True, slots=True)
class OnRay:
    settings: Settings

    def __call__(
        self, plan: Plan, units: Sequence[Unit], *, claims: LocalClaims, dry_run: bool
    ) -> Iterator[Bundle]:
        log = self.settings.data_dir / "logs" / "ingest-ray.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        # Ray prints what its nodes say to standard output, which belongs to the summary, and
        # may do so until it is disconnected.
        with log.open("a", encoding="utf-8") as said, redirect_stdout(said):
            with _standard_error_to(said):
                connected = connect_ray(self.settings)
            # Ray reads its environment when it is imported, so that comes after connecting.
            from ingest.job import disconnect, run_on_ray

            try:
                yield from run_on_ray(plan, units, held=claims.held, dry_run=dry_run)
            finally:
                if connected:
                    disconnect()


@contextmanager
def _standard_error_to(said: TextIO) -> Iterator[None]:
    """Of the whole process: the native part of Ray greets on file descriptor 2."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(said.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def connect_ray(settings: Settings) -> bool:
    """Connect this process to the Ray of the settings. False when it was connected before."""
    os.environ.update({"RAY_BACKEND_LOG_LEVEL": "fatal", **_PATIENT, **ray_environment(settings)})
    import ray

    if ray.is_initialized():
        return False
    ray.init(
        address=ray_address(settings),
        namespace="palimpsest",
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    return True
