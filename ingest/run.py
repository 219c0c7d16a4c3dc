"""One run from start to end: list, work, wait until all of it can be found, retire."""

from __future__ import annotations

import os
import platform
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NoReturn, Protocol

import psutil

from cluster.clock import Clock
from cluster.errors import PalimpsestError, StackError
from cluster.ids import content_id
from cluster.kill_points import reached
from cluster.model import Generation, ItemProblem, Run
from cluster.settings import Settings
from cluster.stores.protocols import Transaction
from ingest.claims import LocalClaims
from ingest.encoder import activate
from ingest.link import LedgerLink
from ingest.prepare import Plan
from ingest.pressure import Say
from ingest.progress import Summary, Watcher
from ingest.rules import Rules, load_rules
from ingest.sources import Listing, Unit
from ingest.stages import Bundle, Prepare, added

LOOP_ITEMS = 64
"""Fewer changed items than this are worked off in this process: Ray would take longer to start."""

_UPDATE_EVERY_S = 5.0
_LOOK_EVERY_S = 0.3
_STUCK_AFTER_S = 90.0
_REFUSED_AFTER_S = 5.0
"""Time for the indexer to show the last of what it was not refused."""

_KEPT_PROBLEMS = 100
_PROBLEM_BATCH = 200
_LATEST_RUNS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person asks for. `flags` hold fields under our names."""

    targets: tuple[str, ...]
    tenant: str
    flags: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None
    owner: str | None = None
    agent: str | None = None
    rules_path: Path | None = None
    retire_missing: bool = False
    dry_run: bool = False

    def told(self) -> dict[str, str]:
        """For the run's record."""
        flags = {f"flag.{key}": value for key, value in self.flags.items()}
        rest = {"source": self.source, "rules": str(self.rules_path) if self.rules_path else None}
        return {
            "targets": "\n".join(self.targets),
            **flags,
            **{key: value for key, value in rest.items() if value},
            **({"retire_missing": "true"} if self.retire_missing else {}),
            "process": this_process(),
        }


class Executor(Protocol):
    def __call__(
        self, plan: Plan, units: Sequence[Unit], *, claims: LocalClaims, dry_run: bool
    ) -> Iterator[Bundle]:
        """Reports of all units. `claims` may hold some already."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a run stands on; `few` and `many` execute the stages. `watch` is entered around them
    with what tells the person who waits."""

    settings: Settings
    link: LedgerLink
    clock: Clock
    generation: Generation
    few: Executor
    many: Executor
    watch: Callable[[Say], AbstractContextManager[object]] = nullcontext
    wait_until_visible: bool = True


def ingest(request: Request, on: Surroundings, watcher: Watcher) -> Summary:
    """Raises what stops a run as a whole; the run's record then says `failed`, or `interrupted`
    when somebody stopped it. Running again goes on where it stopped."""
    rules = load_rules(request.rules_path)
    began = time.monotonic()
    run = _Run(request, on, watcher, rules)
    if request.dry_run:
        run.execute()
        return run.summary("succeeded", elapsed_s=time.monotonic() - began)
    activate(on.link, on.generation)
    mark_interrupted(on.link, request.tenant, on.clock)
    run.start()
    try:
        run.execute()
        run.wait_until_visible()
        run.retire()
    except KeyboardInterrupt:
        run.finish("interrupted", error="stopped by hand; run it again to go on")
        raise
    except Exception as error:
        told = str(error) if isinstance(error, PalimpsestError) else repr(error)
        run.finish("failed", error=told)
        raise
    state = "failed" if run.nothing_came_through else "succeeded"
    run.finish(state, error="every item failed" if state == "failed" else None)
    return run.summary(state, elapsed_s=time.monotonic() - began)


class _Run:
    def __init__(self, request: Request, on: Surroundings, watcher: Watcher, rules: Rules) -> None:
        self._request = request
        self._on = on
        self._watcher = watcher
        self._started_at = on.clock.now()
        self.run_id = new_run_id(request.tenant, self._started_at)
        self._plan = Plan(
            settings=on.settings,
            run_id=self.run_id,
            tenant=request.tenant,
            rules=rules,
            fingerprint=on.generation.fingerprint,
            chunked_as=on.generation.chunked_as,
            flags=request.flags,
            source=request.source,
            owner=request.owner,
            agent=request.agent,
        )
        self._listing = Listing(
            targets=request.targets,
            rules=rules,
            block_items=on.settings.ingest.block_items,
            max_item_bytes=self._plan.parse_limits.max_item_bytes,
        )
        self._counts: dict[str, int] = {}
        self._problems: list[ItemProblem] = []
        self._unsaved: list[ItemProblem] = []
        self._origins: set[str] = set()
        self._load_failed = False
        self._saved_at = time.monotonic()

    @property
    def nothing_came_through(self) -> bool:
        bad = self._counts.get("failed", 0)
        return bad > 0 and not (
            self._counts.get("parsed", 0) > self._counts.get("refused", 0)
            or self._counts.get("unchanged", 0)
            or self._counts.get("skipped", 0)
        )

    def start(self) -> None:
        run = Run(
            run_id=self.run_id,
            tenant=self._request.tenant,
            arguments=self._request.told(),
            state="running",
            started_at=self._started_at,
            finished_at=None,
            counts={},
        )

        async def start(tx: Transaction) -> None:
            await tx.runs.start(run)

        self._on.link.call(start)
        reached("ingest.run_started")

    def execute(self) -> None:
        units = list(self._listing.units())
        self._watcher.total(sum(unit.items for unit in units))
        self._note(Bundle(problems=tuple(self._listing.problems)), failed_to_list=True)
        with self._on.watch(self._watcher.say):
            for report in self._reports(units):
                self._note(report)
        self._save(force=True)

    def _reports(self, units: Sequence[Unit]) -> Iterator[Bundle]:
        """In this process as long as little has changed; the rest is for many."""
        claims = LocalClaims()
        look = Prepare(self._plan, self._on.link, _no_counter)
        changed = 0
        for at, unit in enumerate(units):
            changed += look.changed(unit)
            few = changed < LOOP_ITEMS
            executor = self._on.few if few else self._on.many
            part = [unit] if few else units[at:]
            yield from executor(self._plan, part, claims=claims, dry_run=self._request.dry_run)
            if not few:
                return

    def wait_until_visible(self) -> None:
        """What the indexer does not show becomes a problem of its item; `StackError` when it
        shows nothing of all that this run published."""
        if not (self._on.wait_until_visible and self._counts.get("published")):
            return
        self._watcher.say("waiting for the indexer")
        left = wait_until_visible(self._on.link, self._request.tenant, self.run_id)
        if left is not None:
            self._note(left.report())
            if left.count >= self._counts["published"]:
                raise StackError(left.reason)

    def retire(self) -> None:
        if not self._request.retire_missing:
            return
        if not self._listing.complete or self._load_failed or not self._origins:
            self._watcher.say("nothing was retired: the source could not be read completely")
            return
        if not self._listing.covered:
            self._watcher.say("nothing was retired: name the folder, not the files or a pattern")
            return
        origins, under = sorted(self._origins), sorted(self._listing.covered)

        async def retire(tx: Transaction) -> int:
            tenant = self._request.tenant
            return await tx.documents.retire(tenant, under=under, keep_origins=origins)

        self._counts["retired"] = self._on.link.call(retire)
        reached("ingest.retired")

    def finish(self, state: str, *, error: str | None) -> None:
        self._save(force=True, state=state, error=error)
        reached("ingest.run_ended")

    def summary(self, state: str, *, elapsed_s: float) -> Summary:
        return Summary(
            run_id=self.run_id,
            state=state,
            counts=dict(self._counts),
            problems=tuple(self._problems),
            problem_count=self._counts.get("skipped", 0) + self._counts.get("failed", 0),
            elapsed_s=elapsed_s,
            dry_run=self._request.dry_run,
        )

    def _note(self, report: Bundle, *, failed_to_list: bool = False) -> None:
        counts = {"failed": len(report.problems)} if failed_to_list and report.problems else {}
        self._counts = added(self._counts, counts or report.counts)
        self._problems.extend(report.problems[: _KEPT_PROBLEMS - len(self._problems)])
        self._unsaved.extend(report.problems)
        self._load_failed |= any(each.stage == "load" for each in report.problems)
        if self._request.retire_missing:
            self._origins.update(report.origins)
        self._watcher.advanced(self._counts)
        self._save()

    def _save(
        self, *, force: bool = False, state: str = "running", error: str | None = None
    ) -> None:
        due = time.monotonic() - self._saved_at >= _UPDATE_EVERY_S
        if self._request.dry_run or not (force or due or len(self._unsaved) >= _PROBLEM_BATCH):
            return
        unsaved, self._unsaved = self._unsaved, []
        self._saved_at = time.monotonic()
        now = self._on.clock.now()

        async def save(tx: Transaction) -> None:
            if unsaved:
                await tx.runs.add_problems(self.run_id, unsaved)
            await tx.runs.update(
                self.run_id, state=state, counts=self._counts, now=now, error=error
            )

        self._on.link.call(save)
        reached("ingest.saved")


def mark_interrupted(link: LedgerLink, tenant: str, clock: Clock) -> None:
    """Runs whose process is gone did not end well."""
    now = clock.now()

    async def mark(tx: Transaction) -> None:
        for run in await tx.runs.latest(tenant, limit=_LATEST_RUNS):
            process = run.arguments.get("process", "")
            if run.state == "running" and process and not is_running(process):
                why = "its process ended before it did; run it again to go on"
                await tx.runs.interrupt(run.run_id, now=now, error=why)

    link.call(mark)
    reached("ingest.interrupted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unshown:
    """What a run wrote and the indexer does not show: `count` revisions, the first `origins` of
    them; `owed`, `lag_s` are those of the whole outbox, `set_aside` the tenant's entries that an
    index refused too often."""

    count: int
    origins: tuple[str, ...]
    owed: int
    lag_s: float
    set_aside: int = 0

    @property
    def reason(self) -> str:
        if self.refused:
            return (
                f"everything is in the ledger, but {self.count:,} documents stay hidden: an index "
                f"refuses {self.set_aside:,} of the tenant's rows. `palimpsest outbox list` tells "
                "which and why, `palimpsest outbox retry` tries them again"
            )
        return (
            f"everything is in the ledger, but {self.count:,} documents wait for the indexer. It "
            f"owes {self.owed:,} entries, the oldest for {self.lag_s:,.0f} s. See `palimpsest "
            "status`; once it shows them they can be found, nothing is lost"
        )

    @property
    def refused(self) -> bool:
        """Whether waiting on would not help: nothing is owed but what was set aside."""
        return self.owed == 0 and self.set_aside > 0

    def report(self) -> Bundle:
        why = "outbox list" if self.set_aside else "status"
        return Bundle(
            counts={"not_visible": self.count},
            problems=tuple(
                ItemProblem(
                    origin=origin, stage="index", outcome="failed", kind="not_visible",
                    reason="it is in the ledger, but the indexer does not show it; "
                    f"`palimpsest {why}` tells why",
                )
                for origin in self.origins
            ),
        )  # fmt: skip


def wait_until_visible(
    link: LedgerLink,
    tenant: str,
    run_id: str,
    *,
    stuck_after_s: float = _STUCK_AFTER_S,
    sleep: Callable[[float], None] = time.sleep,
) -> Unshown | None:
    """Until nothing that the run wrote is pending; what else the tenant waits for is not waited
    for. What is left when for `stuck_after_s` it never became fewer than ever before."""
    moved_at = time.monotonic()
    fewest: int | None = None
    while True:
        left = link.call(lambda tx: _unshown(tx, tenant, run_id))
        if left.count == 0:
            return None
        if fewest is None or left.count < fewest:
            fewest, moved_at = left.count, time.monotonic()
        elif time.monotonic() - moved_at > (_REFUSED_AFTER_S if left.refused else stuck_after_s):
            return left
        sleep(_LOOK_EVERY_S)


def new_run_id(tenant: str, started_at: datetime) -> str:
    return content_id("run", tenant, started_at.isoformat(), this_process(), uuid.uuid4().hex)


def this_process() -> str:
    """Host, pid and start time: enough to tell later whether it still runs."""
    started = psutil.Process().create_time()
    return f"{platform.node()}:{os.getpid()}:{started:.2f}"


def is_running(process: str) -> bool:
    """A process on another host is taken to run."""
    host, pid, started = process.rsplit(":", 2)
    if host != platform.node():
        return True
    try:
        return abs(psutil.Process(int(pid)).create_time() - float(started)) < 1
    except (psutil.NoSuchProcess, psutil.AccessDenied, ValueError):
        return False


async def _unshown(tx: Transaction, tenant: str, run_id: str) -> Unshown:
    count, origins = await tx.documents.unshown(tenant, run_id=run_id, limit=_KEPT_PROBLEMS)
    owed, lag = await tx.outbox.lag()
    return Unshown(
        count=count,
        origins=tuple(origins),
        owed=owed,
        lag_s=lag.total_seconds(),
        set_aside=await tx.outbox.aside(tenant),
    )


def _no_counter() -> NoReturn:
    raise NotImplementedError("what only looks counts no tokens")
