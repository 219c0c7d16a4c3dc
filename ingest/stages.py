"""The stages of a run as plain classes; a loop and Ray Data run the same ones.

    unit -> Prepare -> bundles -> Embed -> bundle -> Write -> report

A bundle is a handful of documents with about as many chunks as the encoder wants at once. What
happens to an item is told in counts and problems that travel along; no item stops a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cluster.clock import Clock
from cluster.errors import UnreadableItem
from cluster.model import ItemProblem
from cluster.models.protocols import Embedder
from cluster.stores.protocols import Transaction
from ingest.claims import Claim, Claims
from ingest.embed import EmbedChunks
from ingest.link import LedgerLink
from ingest.load import Item, load, problem
from ingest.prepare import Draft, Plan, TokenCounter, prepare, read_stored
from ingest.pressure import Room
from ingest.publish import Publish
from ingest.sources import Unit

BUNDLE_CHUNKS = 512
_BUNDLE_CHARS = 4_000_000
_ASK_ITEMS = 64
_ASK_BYTES = 32 * 1024 * 1024

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """`held` are claims of items that are unchanged; `origins` tell what is there, for retiring
    what is not."""

    drafts: tuple[Draft, ...] = ()
    held: tuple[Claim, ...] = ()
    counts: Counts = field(default_factory=dict)
    problems: tuple[ItemProblem, ...] = ()
    origins: tuple[str, ...] = ()


class Prepare:
    """Load, leave out what is unchanged, parse, chunk, fields, authority.

    `open_counter` is called when the first item has changed, not before.
    """

    def __init__(
        self, plan: Plan, link: LedgerLink, open_counter: Callable[[], TokenCounter]
    ) -> None:
        self._plan = plan
        self._link = link
        self._open_counter = open_counter
        self._counter: TokenCounter | None = None

    def __call__(self, unit: Unit) -> Iterator[Bundle]:
        limit = self._plan.parse_limits.max_item_bytes
        yield from self.bundles(load(unit, rules=self._plan.rules, max_item_bytes=limit))

    def changed(self, unit: Unit) -> int:
        """How many items of `unit` are not in the ledger as they are. Parses nothing."""
        limit = self._plan.parse_limits.max_item_bytes
        loaded = load(unit, rules=self._plan.rules, max_item_bytes=limit)
        changed = 0
        for group in _grouped(loaded, _ASK_ITEMS):
            items = [each for each in group if isinstance(each, Item)]
            known = self._known([item.origin for item in items])
            changed += sum(
                read_stored(known.get(item.origin, ""))[0] != self._plan.item_digest(item)
                for item in items
            )
        return changed

    def bundles(self, loaded: Iterator[Item | ItemProblem]) -> Iterator[Bundle]:
        made = _Growing()
        for group in _grouped(loaded, _ASK_ITEMS):
            items = [each for each in group if isinstance(each, Item)]
            for failed in (each for each in group if isinstance(each, ItemProblem)):
                made.fail(failed)
            known = self._known([item.origin for item in items])
            for item in items:
                self._take(item, known.get(item.origin, ""), made)
                if made.full:
                    yield made.bundle()
                    made = _Growing()
        yield made.bundle()

    def _take(self, item: Item, stored: str, made: _Growing) -> None:
        made.loaded(item.origin)
        before, identity = read_stored(stored)
        if before == self._plan.item_digest(item):
            made.hold(_claims(item.label, identity, item.origin))
            return
        if self._counter is None:
            self._counter = self._open_counter()
        try:
            made.add(prepare(item, self._plan, counter=self._counter))
        except UnreadableItem as error:
            made.fail(problem(item.label, error, stage="parse"))

    def _known(self, origins: Sequence[str]) -> dict[str, str]:
        if not origins:
            return {}

        async def ask(tx: Transaction) -> dict[str, str]:
            return await tx.documents.digests(self._plan.tenant, origins)

        return self._link.call(ask)


class Embed:
    """Leave out what was forgotten, refuse a second claim to the same identity, then see that
    all vectors are there."""

    def __init__(
        self,
        plan: Plan,
        link: LedgerLink,
        claims: Claims,
        open_embedder: Callable[[], Embedder],
    ) -> None:
        self._link = link
        self._claims = claims
        self._embed = _embedding(plan, link, open_embedder)

    def __call__(self, bundle: Bundle) -> Bundle:
        bundle, forgotten = self._without_forgotten(bundle)
        drafts, refused = self._claimed(bundle)
        done = self._embed([draft.prepared for draft in drafts])
        counts = {"embedded": done.embedded, "from_cache": done.from_cache}
        if refused:
            counts["failed"] = len(refused)
        return replace(
            bundle,
            drafts=tuple(drafts),
            counts=added(added(bundle.counts, counts), _left_out(forgotten)),
            problems=(*bundle.problems, *forgotten, *refused),
        )

    def _without_forgotten(self, bundle: Bundle) -> tuple[Bundle, list[ItemProblem]]:
        """The ledger would refuse it anyway; but then it would have been encoded."""
        if not bundle.drafts:
            return bundle, []
        revisions = [draft.prepared.revision for draft in bundle.drafts]

        async def ask(tx: Transaction) -> dict[str, str]:
            return await tx.forgetting.refused(revisions)

        reasons = self._link.call(ask)
        kept = [one for one in bundle.drafts if one.prepared.revision.revision_id not in reasons]
        told = [
            _forgotten(one.label, reasons[one.prepared.revision.revision_id])
            for one in bundle.drafts
            if one.prepared.revision.revision_id in reasons
        ]
        return replace(bundle, drafts=tuple(kept)), told

    def _claimed(self, bundle: Bundle) -> tuple[list[Draft], list[ItemProblem]]:
        wanted = [
            claim
            for draft in bundle.drafts
            for claim in _claims(draft.label, draft.identity, draft.prepared.revision.origin)
        ]
        claims = [*bundle.held, *wanted]
        answers = self._claims.claim(claims) if claims else []
        holders = {label: other for (_, label), other in zip(claims, answers, strict=True) if other}
        drafts = [draft for draft in bundle.drafts if draft.label not in holders]
        return drafts, [_duplicate(label, other) for label, other in holders.items()]


class Write:
    """Ledger rows. What remains of the bundle is its report; what the ledger refuses is a
    problem of its item. `open_embedder` is called when vectors have gone since they were made."""

    def __init__(
        self, plan: Plan, link: LedgerLink, clock: Clock, open_embedder: Callable[[], Embedder]
    ) -> None:
        embed = _embedding(plan, link, open_embedder)
        room = Room(link, plan.settings.indexer)
        self._publish = Publish(link, clock, embed, room)

    def __call__(self, bundle: Bundle) -> Bundle:
        done = self._publish([draft.prepared for draft in bundle.drafts])
        left = done.refused.keys() | done.forgotten.keys()
        written = [draft for at, draft in enumerate(bundle.drafts) if at not in left]
        counts = {
            "published": done.new,
            "chunks": sum(len(draft.prepared.chunks) for draft in written),
        }
        if done.refused:
            counts["failed"] = counts["refused"] = len(done.refused)
        refused = [
            ItemProblem(
                origin=bundle.drafts[at].label, stage="write", outcome="failed", kind="refused",
                reason=reason,
            )
            for at, reason in done.refused.items()
        ]  # fmt: skip
        forgotten = [
            _forgotten(bundle.drafts[at].label, reason) for at, reason in done.forgotten.items()
        ]
        return replace(
            bundle,
            drafts=(),
            held=(),
            counts=added(added(bundle.counts, counts), _left_out(forgotten)),
            problems=(*bundle.problems, *refused, *forgotten),
        )


class DryWrite:
    """Writes nothing: what would be published."""

    def __call__(self, bundle: Bundle) -> Bundle:
        chunks = sum(len(draft.prepared.chunks) for draft in bundle.drafts)
        counts = {"published": len(bundle.drafts), "chunks": chunks}
        return replace(bundle, drafts=(), held=(), counts=added(bundle.counts, counts))


def added(one: Counts, other: Counts) -> dict[str, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in (*one, *other)}


class _Growing:
    """A bundle that is being filled."""

    def __init__(self) -> None:
        self._drafts: list[Draft] = []
        self._held: list[Claim] = []
        self._unchanged = 0
        self._problems: list[ItemProblem] = []
        self._origins: list[str] = []
        self._chunks = 0
        self._chars = 0

    @property
    def full(self) -> bool:
        return self._chunks >= BUNDLE_CHUNKS or self._chars >= _BUNDLE_CHARS

    def loaded(self, origin: str) -> None:
        self._origins.append(origin)

    def add(self, draft: Draft) -> None:
        self._drafts.append(draft)
        self._chunks += len(draft.prepared.chunks)
        self._chars += len(draft.prepared.revision.text)

    def hold(self, claims: Sequence[Claim]) -> None:
        self._unchanged += 1
        self._held.extend(claims)

    def fail(self, failed: ItemProblem) -> None:
        self._problems.append(failed)

    def bundle(self) -> Bundle:
        outcomes = [each.outcome for each in self._problems]
        loaded = len(self._origins)
        counts = {
            "loaded": loaded,
            "unchanged": self._unchanged,
            "parsed": len(self._drafts),
            "skipped": outcomes.count("skipped"),
            "failed": outcomes.count("failed"),
            "unreadable": sum(each.stage == "load" for each in self._problems),
        }
        return Bundle(
            drafts=tuple(self._drafts),
            held=tuple(self._held),
            counts={key: count for key, count in counts.items() if count},
            problems=tuple(self._problems),
            origins=tuple(self._origins),
        )


def _embedding(plan: Plan, link: LedgerLink, open_embedder: Callable[[], Embedder]) -> EmbedChunks:
    return EmbedChunks(
        link,
        fingerprint=plan.fingerprint,
        open_embedder=open_embedder,
        token_vectors=plan.settings.encoder.token_vectors,
    )


def _claims(label: str, identity: str, origin: str) -> list[Claim]:
    """An item holds its identity, and its place where that is not already its name."""
    return [(key, label) for key in (identity, origin) if key != label]


def _duplicate(label: str, other: str) -> ItemProblem:
    if label.partition("#")[0] == other.partition("#")[0]:
        reason = (
            f"it has the same name as {other}; only that one is kept. If both are wanted, give "
            "each an id or path of its own, or say its language, or its product and version"
        )
    else:
        reason = (
            f"the same page, version and language as {other}; only that one is kept. If both are "
            "wanted, ingest them apart, each with a --source name of its own"
        )
    return ItemProblem(
        origin=label, stage="identity", outcome="failed", kind="duplicate", reason=reason
    )


def _forgotten(label: str, reason: str) -> ItemProblem:
    return ItemProblem(
        origin=label, stage="write", outcome="skipped", kind="forgotten", reason=reason
    )


def _left_out(forgotten: Sequence[ItemProblem]) -> Counts:
    """They were parsed, and are not written."""
    return {"skipped": len(forgotten), "refused": len(forgotten)} if forgotten else {}


def _grouped(loaded: Iterator[Item | ItemProblem], size: int) -> Iterator[list[Item | ItemProblem]]:
    """At most `size` at a time, and about `_ASK_BYTES`: all of a group are in memory."""
    group: list[Item | ItemProblem] = []
    held = 0
    for each in loaded:
        group.append(each)
        held += len(each.content) if isinstance(each, Item) else 0
        if len(group) >= size or held >= _ASK_BYTES:
            yield group
            group, held = [], 0
    if group:
        yield group
