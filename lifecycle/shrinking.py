"""Does what is waited for still come nearer?"""

from __future__ import annotations


class Shrinking:
    """Told again and again how much is left."""

    def __init__(self, stalled_s: float) -> None:
        self._stalled_s = stalled_s
        self._least: int | None = None
        self._moved_s = 0.0

    def stalled(self, left: int, now_s: float) -> bool:
        """Whether `left` has not been less than ever before for longer than `stalled_s`."""
        if self._least is None or left < self._least:
            self._least, self._moved_s = left, now_s
        return now_s - self._moved_s > self._stalled_s
