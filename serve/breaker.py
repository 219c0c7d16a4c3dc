"""Is it worth asking something that failed again and again?

Closed: everyone may ask. After so many failures in a row it opens: nobody asks for a while, and
nobody waits. Then it is half open: one may try, and how that ends decides for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

State = Literal["closed", "open", "half_open"]


class Breaker:
    """For one event loop. Whoever is admitted tells how it ended: `heard`, or `unheard` where
    nothing follows from it."""

    def __init__(
        self, *, failures: int, rest_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = failures
        self._rest_s = rest_s
        self._clock = clock
        self._failures = 0
        self._open_until: float | None = None
        self._trying = False

    @property
    def state(self) -> State:
        if self._open_until is None:
            return "closed"
        return "open" if self._clock() < self._open_until else "half_open"

    def admits(self) -> bool:
        """Half open, it admits one at a time."""
        state = self.state
        if state == "half_open" and not self._trying:
            self._trying = True
            return True
        return state == "closed"

    def heard(self, *, well: bool) -> None:
        """Answers to what was asked before it opened do not close it, nor open it anew."""
        if self.state == "open":
            return
        tried, self._trying = self._open_until is not None, False
        self._failures = 0 if well else self._failures + 1
        if well:
            self._open_until = None
        elif tried or self._failures >= self._most:
            self._failures = 0
            self._open_until = self._clock() + self._rest_s

    def unheard(self) -> None:
        self._trying = False
