"""What a run tells the person who waits for it: rate and time left, then a summary."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from cluster.model import ItemProblem

_EVERY_S = 5.0
_SHOWN_PROBLEMS = 15
_MINUTE = 60
_STAGES = (
    "loaded",
    "unchanged",
    "parsed",
    "chunks",
    "embedded",
    "from_cache",
    "published",
    "skipped",
    "failed",
    "not_visible",
    "retired",
)


class Watcher(Protocol):
    """Is told how a run goes on. Used as a context manager around it."""

    def __enter__(self) -> Watcher: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def total(self, items: int) -> None: ...

    def advanced(self, counts: Mapping[str, int]) -> None:
        """Counts since the start of the run."""
        ...

    def say(self, words: str) -> None: ...


class Silent:
    """Tells nobody."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def total(self, items: int) -> None:
        return None

    def advanced(self, counts: Mapping[str, int]) -> None:
        return None

    def say(self, words: str) -> None:
        return None


class Lines(Silent):
    """A plain line every few seconds, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._total = 0
        self._began = self._told = time.monotonic()

    def __enter__(self) -> Lines:
        return self

    def total(self, items: int) -> None:
        self._total = items
        self.say(f"{items:,} items to look at")

    def advanced(self, counts: Mapping[str, int]) -> None:
        now = time.monotonic()
        if now - self._told >= _EVERY_S:
            self._told = now
            self.say(progress_line(counts, total=self._total, elapsed_s=now - self._began))

    def say(self, words: str) -> None:
        self._console.print(words, markup=False, highlight=False, soft_wrap=True)


class Bar(Silent):
    """A bar with rate and time left, for a terminal."""

    def __init__(self, console: Console) -> None:
        self._began = time.monotonic()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("ingesting", total=None, rate="")

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def total(self, items: int) -> None:
        self._progress.update(self._task, total=items)

    def advanced(self, counts: Mapping[str, int]) -> None:
        rate = counts.get("chunks", 0) / max(1e-9, time.monotonic() - self._began)
        self._progress.update(self._task, completed=finished(counts), rate=f"{rate:,.0f} chunks/s")

    def say(self, words: str) -> None:
        self._progress.update(self._task, description=escape(words))


def watcher(console: Console) -> Watcher:
    return Bar(console) if console.is_terminal else Lines(console)


def finished(counts: Mapping[str, int]) -> int:
    """Items that were looked at: read, or found unreadable."""
    return counts.get("loaded", 0) + counts.get("unreadable", 0)


def progress_line(counts: Mapping[str, int], *, total: int, elapsed_s: float) -> str:
    done = finished(counts)
    rate = counts.get("chunks", 0) / max(1e-9, elapsed_s)
    left = (total - done) * elapsed_s / done if done and total > done else 0.0
    return (
        f"{done:,} of {total:,} items, {counts.get('chunks', 0):,} chunks, {rate:,.1f} chunks/s, "
        f"{duration(left)} left"
    )


def duration(seconds: float) -> str:
    """`12 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    minutes, rest = divmod(whole, _MINUTE)
    return (
        f"{minutes} min {rest:02d} s"
        if minutes < _MINUTE
        else f"{minutes // _MINUTE} h {minutes % _MINUTE} min"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    run_id: str
    state: str
    counts: Mapping[str, int]
    problems: Sequence[ItemProblem]
    problem_count: int
    elapsed_s: float
    dry_run: bool = False


def print_summary(console: Console, summary: Summary) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2))
    for stage in _STAGES:
        if stage in summary.counts or stage in ("loaded", "chunks"):
            words = "would be published" if summary.dry_run and stage == "published" else stage
            table.add_row(words.replace("_", " "), f"{summary.counts.get(stage, 0):,}")
    console.print(table)
    rate = summary.counts.get("chunks", 0) / max(1e-9, summary.elapsed_s)
    name = "dry run, nothing was written" if summary.dry_run else f"run {summary.run_id}"
    line = f"{name}: {summary.state} after {duration(summary.elapsed_s)}, {rate:,.1f} chunks/s"
    console.print(line, markup=False, highlight=False, soft_wrap=True)
    print_problems(console, summary)


def print_problems(console: Console, summary: Summary) -> None:
    for each in summary.problems[:_SHOWN_PROBLEMS]:
        line = f"  {each.outcome} ({each.kind})  {each.origin}: {each.reason}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    more = summary.problem_count - min(len(summary.problems), _SHOWN_PROBLEMS)
    if more > 0:
        hint = f"  {more:,} more; palimpsest runs show {summary.run_id} lists them all"
        console.print(hint, markup=False, highlight=False, soft_wrap=True)
