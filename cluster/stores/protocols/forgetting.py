"""Forgetting in the ledger: what is meant, erasing it, keeping it away, jobs and receipts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from cluster.model import Revision, Turn

SelectorKind = Literal["item", "document", "source", "owner", "session", "conversation"]
JobState = Literal["draining", "scanning", "finished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """What shall be forgotten. An `item` is named by its document id, its origin or the id of
    one of its chunks; a `document` by its id."""

    kind: SelectorKind
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """One revision of a document, in whatever state, as forgetting has to know it."""

    revision_id: str
    document_id: str
    owner: str | None
    source: str
    path: str
    origin: str
    title: str
    state: str
    run_id: str
    text: str
    turn: Turn | None
    chunk_ids: tuple[str, ...]
    vector_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """`document_id` was made of `support`; `alive` are the live documents which that names."""

    document_id: str
    support: str
    alive: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """`mark` is a keyed hash. With `before`, it keeps away only what runs that started earlier
    bring."""

    mark: str
    before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Needles:
    """What must be found nowhere: `ids` and `names` as whole values, `samples` (sentences, and
    names long enough to be told from others) as parts of a text too."""

    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Where something was found after all, and in how many rows."""

    store: str
    place: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetJob:
    """`selector` is a keyed hash of the value, `asked_by` one of the owner whose key asked (`None`:
    it was asked without an owner); `counts` by table, as they were before; what
    still has to happen is told in `waits_for`."""

    job_id: str
    receipt_id: str
    tenant: str
    kind: SelectorKind
    selector: str
    state: JobState
    counts: Mapping[str, int]
    asked_at: datetime
    waits_for: str = ""
    finished_at: datetime | None = None
    lifted_at: datetime | None = None
    asked_by: str | None = None


class Forgetting(Protocol):
    """Selection, erasure and tombstones. Nothing here reaches beyond `tenant`."""

    async def lock(self, tenant: str) -> None:
        """Until the transaction ends no revision of the tenant is put; waits for puts that are
        under way."""
        ...

    async def matching(self, tenant: str, selector: Selector, *, owner: str | None) -> list[str]:
        """Ids, in order, of the documents with a revision in whatever state that is meant.
        With `owner`, only those of this owner."""
        ...

    async def holdings(self, tenant: str, document_ids: Sequence[str]) -> list[Holding]:
        """All revisions of these documents, by revision id."""
        ...

    async def derived(
        self, tenant: str, document_ids: Sequence[str], *, owner: str | None
    ) -> list[str]:
        """Ids of the documents that were made of any of these, by their id or an origin. With
        `owner`, only those of this owner."""
        ...

    async def supports(self, tenant: str, document_ids: Sequence[str]) -> list[Support]:
        """All that these documents were made of."""
        ...

    async def erase(self, tenant: str, document_ids: Sequence[str]) -> dict[str, int]:
        """Owe the indexes the removal of all chunks and leave no row of these documents, of
        whatever revision, nor a vector that nobody else needs. Rows by table."""
        ...

    async def erase_former(self, tenant: str, document_ids: Sequence[str]) -> int:
        """The same for the revisions of these documents that are not live. How many."""
        ...

    async def detach(self, tenant: str, supports: Sequence[str]) -> int:
        """Items that stay are no longer said to be made of these; but for an origin that another
        document, which stays, was read from as well. How many rows."""
        ...

    async def scrub(
        self,
        tenant: str,
        needles: Needles,
        *,
        selector: Selector,
        run_ids: Sequence[str],
        uploads: bool = True,
    ) -> dict[str, int]:
        """Take the names out of runs and their problems, all that was said of an upload out of
        those of `run_ids` that brought nothing else, and with `uploads` drop those that wait and
        are meant. Rows by table. Doing it twice changes nothing more."""
        ...

    async def drop_vectors(self, vector_keys: Sequence[str]) -> int:
        """Drop vectors that no chunk needs. How many; of no keys none."""
        ...

    async def bury(
        self, tenant: str, receipt_id: str, tombstones: Sequence[Tombstone], *, now: datetime
    ) -> None:
        """Keep away what these mark. `InvalidRequest` when the ledger's tombstones were made with
        another key, also for none."""
        ...

    async def lift(self, tenant: str, receipt_id: str, *, now: datetime) -> int:
        """How many tombstones went. Unknown receipt: `NotFound`."""
        ...

    async def refused(self, revisions: Sequence[Revision]) -> dict[str, str]:
        """revision id -> why it may not be put: it was forgotten. A document that is live and
        says the same already may say it again. `Documents.put` asks this itself and raises
        `Forgotten`. `InvalidRequest` when there are tombstones and no key to read them with."""
        ...

    async def owed(self, chunk_ids: Sequence[str]) -> int:
        """How many of these chunks the indexes have still to remove."""
        ...

    async def residue(self, tenant: str, needles: Needles) -> list[Finding]:
        """Every place of the ledger that still has one of these. Texts and names of documents
        that stay do not count, ids do everywhere."""
        ...


class ForgetJobs(Protocol):
    async def add(self, job: ForgetJob, work: Sequence[bytes]) -> None:
        """`work` is sealed."""
        ...

    async def get(self, tenant: str, job_id: str) -> ForgetJob:
        """Unknown: `NotFound`."""
        ...

    async def of_receipt(self, tenant: str, receipt_id: str) -> ForgetJob:
        """Unknown: `NotFound`."""
        ...

    async def latest(self, tenant: str, selector: str) -> ForgetJob | None:
        """The latest one that asked for the same."""
        ...

    async def unfinished(self) -> list[ForgetJob]:
        """Of all tenants, oldest first."""
        ...

    async def work(self, job_id: str) -> list[bytes]:
        """As it was added; empty once finished."""
        ...

    async def progress(self, job_id: str, *, state: JobState, waits_for: str) -> None: ...

    async def finish(self, job_id: str, *, body: str, now: datetime) -> bool:
        """Keep the receipt and drop the work; false when it was finished before, and nothing is
        changed then."""
        ...

    async def receipt(self, tenant: str, receipt_id: str) -> str:
        """The signed text. `NotFound` before the job is finished."""
        ...
