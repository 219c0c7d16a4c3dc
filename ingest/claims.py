"""Two items of one run must not be the same edition of the same document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

Claim = tuple[str, str]
"""Identity of an edition, label of the item that holds it."""


class Claims(Protocol):
    def claim(self, claims: Sequence[Claim]) -> list[str | None]:
        """For each the label of the item that holds the identity already; `None`: it is yours.
        An item may claim again what it holds."""
        ...


class LocalClaims:
    """In this process; first come, first served. `held` are claims that were made before."""

    def __init__(self, held: Mapping[str, str] | None = None) -> None:
        self._holders = dict(held or {})

    @property
    def held(self) -> Mapping[str, str]:
        """Identity -> label."""
        return self._holders

    def claim(self, claims: Sequence[Claim]) -> list[str | None]:
        answers: list[str | None] = []
        for identity, label in claims:
            holder = self._holders.setdefault(identity, label)
            answers.append(None if holder == label else holder)
        return answers
