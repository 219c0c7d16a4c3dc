"""Works off what came over HTTP: `python -m ingest.worker`, one upload after the other.

An upload leaves the ledger only when its run has ended, so that a worker that dies takes it up
again; one that makes the worker die three times fails its run instead.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from cluster.clock import Clock, SystemClock
from cluster.errors import IndexesBehind, NotFound, PalimpsestError, StoreUnavailable
from cluster.kill_points import reached
from cluster.model import ItemProblem, Run
from cluster.models.open import open_embedder
from cluster.settings import Settings, load_settings
from cluster.stores.open import open_ledger
from cluster.stores.protocols import Transaction
from ingest.claims import LocalClaims
from ingest.encoder import activate, encoder_of
from ingest.link import LedgerLink
from ingest.load import from_upload
from ingest.loop import Once
from ingest.prepare import Plan
from ingest.rules import load_rules
from ingest.run import mark_interrupted, wait_until_visible
from ingest.stages import Bundle, Embed, Prepare, Write, added

MAX_TRIES = 3
IDLE_UNLOAD_S = 300.0
_STUCK_AFTER_S = 30.0
_NOT_FIELDS = frozenset({"owner", "agent", "source", "name", "path"})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    run_id: str
    tenant: str
    name: str
    media_type: str | None
    content: bytes
    arguments: Mapping[str, str]

    @property
    def fields(self) -> dict[str, Any]:
        """What the sender said about the document, under our names."""
        said: dict[str, Any] = {
            key: value for key, value in self.arguments.items() if key not in _NOT_FIELDS
        }
        if "tags" in said:
            said["tags"] = _tags(said["tags"])
        return said


class Worker:
    """`step` is called again and again; it never raises for what is wrong with an upload."""

    def __init__(self, settings: Settings, link: LedgerLink, opened: Once, clock: Clock) -> None:
        self._settings = settings
        self._encoder = settings.encoder
        """What `opened` opens; the ledger's encoder may be another one, and may change."""
        self._link = link
        self._opened = opened
        self._clock = clock
        self._rules = load_rules()
        self._worked_at = time.monotonic()
        self._excused: set[str] = set()
        """Uploads whose last try met a ledger out of reach, which is no fault of theirs."""

    def step(self) -> int:
        """Work off what waits; returns how many runs ended."""

        async def waiting(tx: Transaction) -> list[str]:
            return await tx.uploads.waiting()

        ended = sum(self._one(run_id) for run_id in self._link.call(waiting))
        now = time.monotonic()
        if ended:
            self._worked_at = now
        elif now - self._worked_at > IDLE_UNLOAD_S:
            self._opened.unload()
        return ended

    def _one(self, run_id: str) -> bool:
        try:
            upload, run = self._link.call(lambda tx: _fetch(tx, run_id))
        except NotFound:
            return False
        tries = run.counts.get("tries", 0) + (run_id not in self._excused)
        self._excused.discard(run_id)
        if tries > MAX_TRIES:
            why = f"; the last one: {run.error}" if run.error else ": each ended the worker"
            self._end(upload, "failed", {}, [], error=f"given up after {MAX_TRIES} tries{why}")
            return True
        self._update(upload, "running", {"tries": tries}, error=run.error)
        try:
            self._ingest(upload)
        except (StoreUnavailable, IndexesBehind) as error:
            _log.warning("run %s: %s; it is tried again", run_id, error)
            self._excused.add(run_id)
            return False
        except PalimpsestError as error:
            self._end(upload, "failed", {}, [], error=str(error))
        except Exception as error:  # noqa: BLE001  # outermost loop: the next upload must not wait
            _log.exception("run %s stopped", run_id)
            self._update(upload, "queued", {}, error=f"{type(error).__name__}: {error}")
            return False
        return True

    def _ingest(self, upload: Upload) -> None:
        settings, generation = encoder_of(self._link, self._settings)
        if settings.encoder != self._encoder:
            self._encoder = settings.encoder
            self._opened = Once(lambda: open_embedder(settings))
        activate(self._link, generation)
        plan = Plan(
            settings=settings,
            run_id=upload.run_id,
            tenant=upload.tenant,
            rules=self._rules,
            fingerprint=generation.fingerprint,
            chunked_as=generation.chunked_as,
            flags=upload.fields,
            source=upload.arguments.get("source"),
            owner=upload.arguments.get("owner"),
            agent=upload.arguments.get("agent"),
        )
        items = from_upload(
            upload.content,
            name=upload.arguments.get("path") or upload.name or "upload",
            media_type=upload.media_type,
            owner=plan.owner,
            said={**plan.flags, "source": plan.source},
            rules=self._rules,
        )
        embed = Embed(plan, self._link, LocalClaims(), self._opened)
        write = Write(plan, self._link, self._clock, self._opened)
        report = Bundle()
        for bundle in Prepare(plan, self._link, self._opened).bundles(items):
            report = _joined(report, write(embed(bundle)))
        self._finish(upload, report)

    def _finish(self, upload: Upload, report: Bundle) -> None:
        counts = report.counts
        written = counts.get("parsed", 0) - counts.get("refused", 0)
        came_through = written or counts.get("unchanged", 0)
        error, left = None, None
        if report.counts.get("published", 0):
            left = wait_until_visible(
                self._link, upload.tenant, upload.run_id, stuck_after_s=_STUCK_AFTER_S
            )
        if left is not None:
            report = _joined(report, left.report())
            if left.count >= report.counts["published"]:
                came_through, error = 0, left.reason
        elif not came_through:
            error = "; ".join(each.reason for each in report.problems[:3]) or "nothing was in it"
        state = "succeeded" if came_through else "failed"
        self._end(upload, state, report.counts, report.problems, error=error)

    def _end(
        self,
        upload: Upload,
        state: str,
        counts: Mapping[str, int],
        problems: tuple[ItemProblem, ...] | list[ItemProblem],
        *,
        error: str | None,
    ) -> None:
        now = self._clock.now()

        async def end(tx: Transaction) -> None:
            if problems:
                await tx.runs.add_problems(upload.run_id, list(problems))
            await tx.runs.update(upload.run_id, state=state, counts=counts, now=now, error=error)
            await tx.uploads.delete(upload.run_id)

        self._link.call(end)
        reached("worker.ended")
        _log.info("run %s: %s, %s", upload.run_id, state, dict(counts))

    def _update(
        self, upload: Upload, state: str, counts: Mapping[str, int], *, error: str | None
    ) -> None:
        now = self._clock.now()

        async def update(tx: Transaction) -> None:
            await tx.runs.update(upload.run_id, state=state, counts=counts, now=now, error=error)

        self._link.call(update)
        reached("worker.updated")


async def serve(settings: Settings) -> None:
    """Until a signal asks to stop; the upload at hand is finished first."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    clock = SystemClock()
    opened = Once(lambda: open_embedder(settings))
    link = LedgerLink(lambda: open_ledger(settings))
    try:
        worker = Worker(settings, link, opened, clock)
        await asyncio.to_thread(mark_interrupted, link, settings.tenant, clock)
        watching = await open_ledger(settings)
        try:
            async with aclosing(watching.wake_ups()) as waking:
                async for _ in waking:
                    if stop.is_set():
                        return
                    await _step(worker)
        finally:
            await watching.close()
    finally:
        await asyncio.to_thread(link.close)  # its own loop cannot run inside this one


async def _step(worker: Worker) -> None:
    try:
        await asyncio.to_thread(worker.step)
    except StoreUnavailable as error:
        _log.warning("%s; tried again at the next look", error)


async def _fetch(tx: Transaction, run_id: str) -> tuple[Upload, Run]:
    tenant, name, media_type, content, arguments = await tx.uploads.get(run_id)
    run, _ = await tx.runs.get(tenant, run_id)
    upload = Upload(
        run_id=run_id,
        tenant=tenant,
        name=name,
        media_type=media_type,
        content=content,
        arguments=arguments,
    )
    return upload, run


def _joined(report: Bundle, more: Bundle) -> Bundle:
    return Bundle(
        counts=added(report.counts, more.counts), problems=(*report.problems, *more.problems)
    )


def _tags(said: str) -> list[str] | str:
    try:
        tags = json.loads(said)
    except ValueError:
        return said
    return [str(tag) for tag in tags] if isinstance(tags, list) else said


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(serve(load_settings()))


if __name__ == "__main__":
    main()
