"""Which revision of an edition is shown, and which edition of a document is the newest?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRevision:
    """A revision that is pending or visible. `put_order` grows with every put."""

    revision_id: str
    document_id: str
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
    """Publish the pending revisions `wanted`; `live` are all live revisions of their documents.

    In each edition the one that was put last, among the visible one and those wanted, is
    shown; whatever was put before it is superseded, pending or not.
    """
    shown: list[str] = []
    superseded: set[str] = set()
    for group in _by_edition(live).values():
        asked = [one for one in group if one.state == "pending" and one.revision_id in wanted]
        if not asked:
            continue
        contenders = asked + [one for one in group if one.state == "visible"]
        winner = max(contenders, key=lambda one: one.put_order)
        if winner.state == "pending":
            shown.append(winner.revision_id)
        superseded.update(one.revision_id for one in group if one.put_order < winner.put_order)
    after = [
        one
        for one in live
        if one.revision_id in shown
        or (one.state == "visible" and one.revision_id not in superseded)
    ]
    return Succession(
        shown=tuple(shown), superseded=tuple(sorted(superseded)), flags=changed_flags(after)
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
    origins: Iterable[tuple[str, str, str]], *, keep_origins: Collection[str]
) -> set[tuple[str, str]]:
    """The (document id, edition) of which no live revision has an origin that is kept.
    `origins` are (document id, edition, origin)."""
    kept: set[tuple[str, str]] = set()
    every: set[tuple[str, str]] = set()
    for document, edition, origin in origins:
        every.add((document, edition))
        if origin in keep_origins:
            kept.add((document, edition))
    return every - kept


def _by_edition(live: Iterable[LiveRevision]) -> dict[tuple[str, str], list[LiveRevision]]:
    groups: dict[tuple[str, str], list[LiveRevision]] = {}
    for one in live:
        groups.setdefault((one.document_id, one.edition), []).append(one)
    return groups
