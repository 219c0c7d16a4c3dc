"""The nouns of the system: frozen values without behaviour that needs I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cluster.errors import InvalidRequest

Vector = NDArray[np.float32]
"""Shape `(dim,)`, float32, unit length."""

Vectors = NDArray[np.float32]
"""Shape `(n, dim)`, float32, rows of unit length."""

TokenVectors = NDArray[np.float32]
"""Shape `(tokens, dim)`, float32, rows of unit length, centred as vectors are. Tokens of the
prompt and special ones are left out, and of passages those of function words; there may be none.
"""

FieldValue = str | int | float | bool | tuple[str, ...] | None

DocumentKind = Literal["document", "turn"]
RevisionState = Literal["pending", "visible", "superseded", "deleted"]
QuotePolicy = Literal["citable", "citable_with_version", "project_fact", "clue", "do_not_quote"]
Role = Literal["read", "write", "admin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose data a call may touch. Rows of another tenant, and rows that belong to another
    owner, do not exist for it; rows without an owner are shared inside the tenant."""

    tenant: str
    owner: str | None = None
    agent: str | None = None
    session: str | None = None

    def __post_init__(self) -> None:
        if not self.tenant.strip():
            raise InvalidRequest("scope: tenant is empty; name the tenant whose data is meant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What is known about a document. `None` or empty means unknown, never a guess.

    `provenance` says for each filled field where its value came from: `flag`, `record`,
    `front_matter`, `sidecar`, `html`, `file`, `path`, `rule:<name>`, `text`, `default`.
    """

    title: str = ""
    author: str | None = None
    language: str = "und"
    source_type: str = "unknown"
    source_url: str | None = None
    published_at: datetime | None = None
    updated_at: datetime | None = None
    product: str | None = None
    product_version: str | None = None
    api_version: str | None = None
    authority: float = 0.0
    license: str | None = None
    quote_policy: QuotePolicy = "clue"
    tags: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One utterance of a conversation; `ordinal` counts from 0 inside the session."""

    conversation: str
    session: str
    ordinal: int
    speaker: str
    said_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A span of a revision's text: `revision.text[start:end] == chunk.text`.

    `start`, `end` are half-open offsets in characters (code points). `context` is what
    travels with the text into both indexes but is not part of it: the heading path, and
    the header row of a table that was split.
    """

    chunk_id: str
    revision_id: str
    ordinal: int
    start: int
    end: int
    text: str
    context: str
    heading_path: tuple[str, ...]
    token_count: int
    page: int | None = None

    @property
    def indexed_text(self) -> str:
        """What is embedded and indexed by terms."""
        return f"{self.context}\n{self.text}" if self.context else self.text

    @property
    def compared_text(self) -> str:
        """What is compared to tell copies: the text under its headings, without the title, which
        another site gives another way."""
        return "\n".join([*self.heading_path[1:], self.text])


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One content of one edition of a document (or one turn).

    `origin` is the URI of the item it was read from, `item_digest` the digest of its raw
    bytes and of everything else that shapes the result: equal digest, nothing to do.
    `edition` is the product version, `""` where there is none; `edition_key` sorts editions
    (`cluster.text.versions.version_key`). `derived_from` names what it was made of (document ids
    or origins of the same tenant): when all of that is forgotten, so is this.
    """

    revision_id: str
    document_id: str
    tenant: str
    owner: str | None = None
    agent: str | None = None
    kind: DocumentKind = "document"
    source: str
    path: str
    edition: str
    edition_key: str
    origin: str
    item_digest: str
    media_type: str
    content_sha256: str
    text: str
    metadata: Metadata
    turn: Turn | None = None
    fingerprint: str
    run_id: str
    derived_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """What both indexes know of a chunk beside its vector or its terms.

    `version` grows with every write of the row in the ledger; `fields` has every key of
    `cluster.filters.FIELDS`.
    """

    chunk_id: str
    version: int
    fields: Mapping[str, FieldValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One candidate from one channel. `rank` starts at 1; `score` is the channel's own scale."""

    chunk_id: str
    channel: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPassage:
    """A visible chunk as the ledger knows it at the moment of asking."""

    chunk: Chunk
    document_id: str
    kind: DocumentKind
    source: str
    path: str
    edition: str
    edition_key: str
    newest_edition: bool
    other_editions: tuple[str, ...]
    content_sha256: str
    metadata: Metadata
    turn: Turn | None
    owner: str | None
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFailure:
    """A channel that gave nothing, and why; part of the answer."""

    channel: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One encoding of everything: the collection and alias that hold its vectors."""

    fingerprint: str
    dim: int
    recipe: Mapping[str, str]

    @property
    def chunked_as(self) -> str:
        """The generation whose token limits shaped the chunks: re-encoding leaves them."""
        return self.recipe.get("chunked_as", self.fingerprint)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncodedQuery:
    """A question as one vector and as the vectors of its tokens.

    `spans[i]` is the half-open range of characters (code points) that `tokens[i]` stands for, in
    the question as it was given: `question[start:end]` is its text. Tokens that stand for white
    space alone are left out. `recipe` names how token vectors are made beyond the encoder's
    fingerprint: stored ones of another recipe cannot be compared with these.
    """

    vector: Vector
    tokens: TokenVectors
    spans: tuple[tuple[int, int], ...]
    recipe: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemProblem:
    """An item of a run that was skipped or failed, by name and reason."""

    origin: str
    stage: str
    outcome: Literal["skipped", "failed"]
    kind: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One ingest run. `counts` per stage, e.g. `loaded`, `unchanged`, `parsed`, `chunks`,
    `embedded`, `from_cache`, `published`, `skipped`, `failed`, `retired`."""

    run_id: str
    tenant: str
    arguments: Mapping[str, str]
    state: Literal["queued", "running", "succeeded", "failed", "interrupted"]
    started_at: datetime
    finished_at: datetime | None
    counts: Mapping[str, int]
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as the ledger keeps it: only its hash."""

    key_id: str
    tenant: str
    role: Role
    name: str
    owner: str | None
    agent: str | None
    created_at: datetime
    revoked_at: datetime | None = None
