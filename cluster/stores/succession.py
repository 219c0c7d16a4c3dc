"""Which revision of an edition is shown, and which edition of a document is the newest?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRevision:
    """A revision that is pending or visible. `put_order` grows with every put."""

    revision_id: str
    document_id: str
    tenant: str
    owner: str | None
    origin: str
    edition: str
    edition_key: str
    state: Literal["pending", "visible"]
    put_order: int
    newest_edition: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Succession:
    """What a publication changes. `flags` holds only revisions whose flag becomes another."""

    shown: tuple[str, ...]
    superseded: tuple[str, ...]
    flags: dict[str, bool]


def decide_succession(live: Sequence[LiveRevision], *, wanted: Collection[str]) -> Succession:
    """Publish the pending revisions `wanted`; `live` are all live revisions of their documents,
    and of those that have a live revision at the same place as one of them.

    In each edition the one that was put last, among the visible one and those wanted, is
    shown; whatever was put before it is superseded, pending or not. The same goes for each
    place, across documents: an item that became another document (its language, product or
    source is another) leaves no former one behind.
    """
    shown: set[str] = set()
    superseded: set[str] = set()

    def stands(one: LiveRevision) -> bool:
        stays = one.state == "visible" and one.revision_id not in superseded
        return stays or one.revision_id in shown

    for group in _grouped(live, by=_edition):
        asked = [one for one in group if one.state == "pending" and one.revision_id in wanted]
        if asked:
            winner = _last_put(asked + [one for one in group if one.state == "visible"])
            if winner.state == "pending":
                shown.add(winner.revision_id)
            superseded.update(_put_before(winner, group))
    for group in _grouped(live, by=_place):
        if any(one.revision_id in shown for one in group):
            winner = _last_put([one for one in group if stands(one)])
            superseded.update(_put_before(winner, group))
    shown -= superseded
    return Succession(
        shown=tuple(sorted(shown)),
        superseded=tuple(sorted(superseded)),
        flags=changed_flags(one for one in live if stands(one)),
    )


def changed_flags(visible: Iterable[LiveRevision]) -> dict[str, bool]:
    """revision id -> the right flag, for those of `visible` that carry the wrong one."""
    flags: dict[str, bool] = {}
    documents: dict[str, list[LiveRevision]] = {}
    for one in visible:
        documents.setdefault(one.document_id, []).append(one)
    for editions in documents.values():
        newest = max(editions, key=lambda one: (one.edition_key, one.edition))
        for one in editions:
            if one.newest_edition != (one is newest):
                flags[one.revision_id] = one is newest
    return flags


def expected_newest(edition_key: str, edition: str, *, others: Iterable[tuple[str, str]]) -> bool:
    """Whether an edition will be the newest once all of `others` (key, edition) are shown."""
    return all((edition_key, edition) >= other for other in others)


def gone_editions(
    origins: Iterable[Sequence[str]],
    *,
    under: Collection[str],
    keep_origins: Collection[str],
) -> set[tuple[str, str]]:
    """The (document id, edition) of which every live revision has an origin under one of the
    addresses `under` that is not kept. `origins` are (document id, edition, origin)."""
    below = tuple(prefix for address in under for prefix in _prefixes(address))
    kept: set[tuple[str, str]] = set()
    every: set[tuple[str, str]] = set()
    for document, edition, origin in origins:
        every.add((document, edition))
        covered = origin in under or origin.startswith(below)
        if origin in keep_origins or not covered:
            kept.add((document, edition))
    return every - kept


def _prefixes(address: str) -> tuple[str, str]:
    """How the origins inside a folder or a corpus begin: never another name that only starts
    alike."""
    return (address if address.endswith("/") else f"{address}/", f"{address}#")


def _edition(one: LiveRevision) -> Hashable:
    return (one.document_id, one.edition)


def _place(one: LiveRevision) -> Hashable:
    """Where an edition was read, and for whom: nobody's rows replace those of another."""
    return (one.tenant, one.owner, one.origin, one.edition)


def _grouped(
    live: Iterable[LiveRevision], *, by: Callable[[LiveRevision], Hashable]
) -> Iterable[list[LiveRevision]]:
    groups: dict[Hashable, list[LiveRevision]] = {}
    for one in live:
        groups.setdefault(by(one), []).append(one)
    return groups.values()


def _last_put(contenders: Iterable[LiveRevision]) -> LiveRevision:
    return max(contenders, key=lambda one: one.put_order)


def _put_before(winner: LiveRevision, group: Iterable[LiveRevision]) -> Iterable[str]:
    return (one.revision_id for one in group if one.put_order < winner.put_order)
