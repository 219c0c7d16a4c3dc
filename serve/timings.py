"""How long does each stage of one answer take?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timings:
    """Milliseconds by stage; a stage that runs twice counts twice."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._spent: dict[str, float] = {}

    def add(self, stage: str, took_ms: float) -> None:
        self._spent[stage] = self._spent.get(stage, 0.0) + took_ms

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, (time.perf_counter() - started) * 1000)

    def passed_s(self) -> float:
        return time.perf_counter() - self._started

    def read(self) -> dict[str, float]:
        total = (time.perf_counter() - self._started) * 1000
        return {stage: round(spent, 2) for stage, spent in {**self._spent, "total": total}.items()}
