"""Which derived items go with what they were made of, and which stay on what is left?"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from cluster.stores.protocols.forgetting import Support


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """`dropped` have nothing left to stand on; `recompute` stay on other support, but may tell
    what was forgotten until they are made anew. Both in order."""

    dropped: tuple[str, ...]
    recompute: tuple[str, ...]


def decide_fate(
    forgotten: Collection[str], affected: Collection[str], supports: Iterable[Support]
) -> Fate:
    """`affected` are the items made of what is forgotten, or of one another; `supports` all that
    they were made of. An item stays if any of that is alive and neither forgotten nor affected,
    or is affected and stays itself: a ring of items that hold each other has no ground."""
    stands_on: dict[str, set[str]] = {one: set() for one in affected}
    for support in supports:
        if support.document_id in stands_on:
            stands_on[support.document_id].update(support.alive)
    forgotten = set(forgotten)
    gone = {one for one in stands_on if one in forgotten}
    grounded: set[str] = set()
    grew = True
    while grew:
        grew = False
        for one, below in stands_on.items():
            if one in grounded or one in gone:
                continue
            if any(each not in forgotten and _holds(each, stands_on, grounded) for each in below):
                grounded.add(one)
                grew = True
    dropped = stands_on.keys() - grounded - gone
    return Fate(dropped=tuple(sorted(dropped)), recompute=tuple(sorted(grounded)))


def _holds(one: str, affected: Collection[str], grounded: Collection[str]) -> bool:
    return one not in affected or one in grounded
