"""May this be stored? The refusals that every ledger shares, before it writes anything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np

from cluster.errors import Forgotten, InvalidRequest
from cluster.model import Chunk, Revision, Vector
from cluster.stores.protocols import Prepared

MAX_KEY_BYTES = 500
"""Longest tenant, owner, edition or edition key."""

MAX_PUBLISHABLE_CHUNKS = 20_000
"""No further revision is looked at for publication once those before have so many chunks."""

RUN_STATES = ("queued", "running", "succeeded", "failed", "interrupted")
FINAL_STATES = ("succeeded", "failed", "interrupted")

Some = TypeVar("Some", bound=Sized)


def require(things: Some, what: str) -> Some:
    """`things`, unless empty: an empty list is a mistake of the caller, never "all"."""
    if not len(things):
        raise InvalidRequest(f"an empty list of {what}; leave the call out instead")
    return things


def require_limit(limit: int) -> int:
    if limit < 1:
        raise InvalidRequest(f"limit {limit}: it must be at least 1")
    return limit


def require_target(target: str) -> str:
    if not target:
        raise InvalidRequest("an empty target; name the generation whose index is meant")
    return target


def check_tokens(vectors: Mapping[str, Vector], tokens: Mapping[str, bytes]) -> None:
    """Packed token vectors belong to vectors that are put with them."""
    alone = sorted(tokens.keys() - vectors.keys())
    if alone:
        raise InvalidRequest(f"token vectors of {alone[0]}, but no vector of it")


def storable(text: str) -> bool:
    """Whether a text has no NUL and no lone surrogate."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    """A text for a report, with what cannot be stored written as an escape (`\\x00`)."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def check_batch(batch: Sequence[Prepared]) -> None:
    """Refuse what no ledger can keep; `InvalidRequest` names the document."""
    for prepared in require(batch, "revisions"):
        name = f"document {prepared.revision.document_id}"
        _check_revision(name, prepared.revision)
        _check_chunks(name, prepared)


def check_vector(key: str, vector: Vector) -> None:
    if vector.dtype != np.float32 or vector.ndim != 1 or not vector.size:
        raise InvalidRequest(f"vector {key}: shape (dim,) and float32 are needed")
    if not np.isfinite(vector).all():
        raise InvalidRequest(f"vector {key}: it holds NaN or infinity")


def check_same_owner(revision: Revision, *, tenant: str, owner: str | None) -> None:
    """`tenant`, `owner` are those of the document's live revisions."""
    if (revision.tenant, revision.owner) != (tenant, owner):
        raise InvalidRequest(
            f"document {revision.document_id}: it belongs to another tenant or owner; "
            "delete it there first, or store this one under another source or path"
        )


def refuse_forgotten(reasons: Mapping[str, str]) -> None:
    """`Forgotten` with the first reason; `reasons` by revision id."""
    for revision, reason in sorted(reasons.items()):
        raise Forgotten(f"revision {revision}: {reason}")


def _check_revision(name: str, revision: Revision) -> None:
    meta = revision.metadata
    turn = revision.turn
    if (revision.kind == "turn") != (turn is not None):
        raise InvalidRequest(f"{name}: a turn needs its `turn`, a document has none")
    if revision.owner == "":
        raise InvalidRequest(f"{name}: the owner is empty; use none for shared rows")
    if not math.isfinite(meta.authority):
        raise InvalidRequest(f"{name}: authority {meta.authority} is not a finite number")
    for key in (revision.tenant, revision.owner or "", revision.edition, revision.edition_key):
        if len(key.encode("utf-8", "surrogatepass")) > MAX_KEY_BYTES:
            raise InvalidRequest(
                f"{name}: tenant, owner, edition or edition key over {MAX_KEY_BYTES} bytes"
            )
    for moment in (meta.published_at, meta.updated_at, turn.said_at if turn else None):
        _check_moment(name, moment)
    _check_texts(name, _texts_of(revision))


def _check_chunks(name: str, prepared: Prepared) -> None:
    if not prepared.chunks:
        raise InvalidRequest(f"{name}: no chunks, so that nothing could find it")
    ordinals = {chunk.ordinal for chunk in prepared.chunks}
    ids = {chunk.chunk_id for chunk in prepared.chunks}
    if len(ordinals) < len(prepared.chunks) or len(ids) < len(prepared.chunks):
        raise InvalidRequest(f"{name}: two chunks with one id or ordinal")
    for chunk in prepared.chunks:
        if chunk.revision_id != prepared.revision.revision_id:
            raise InvalidRequest(f"{name}: chunk {chunk.chunk_id} is of another revision")
        _check_texts(name, _chunk_texts(chunk))


def _check_moment(name: str, moment: datetime | None) -> None:
    if moment is None:
        return
    if moment.tzinfo is None:
        raise InvalidRequest(f"{name}: {moment.isoformat()} has no time zone")
    try:
        moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidRequest(f"{name}: {moment.isoformat()} is out of range") from error


def _check_texts(name: str, texts: Iterable[str]) -> None:
    for text in texts:
        if not storable(text):
            raise InvalidRequest(
                f"{name}: NUL or a lone surrogate in {printable(text[:80])!r}; clean the text first"
            )


def _texts_of(revision: Revision) -> Iterable[str]:
    yield from _strings(getattr(revision, name) for name in Revision.__slots__)
    meta = revision.metadata
    yield from _strings(getattr(meta, name) for name in type(meta).__slots__)
    yield from meta.tags
    yield from revision.derived_from
    for key, value in meta.provenance.items():
        yield from (key, value)
    if revision.turn is not None:
        yield from (revision.turn.conversation, revision.turn.session, revision.turn.speaker)


def _chunk_texts(chunk: Chunk) -> Iterable[str]:
    yield from (chunk.chunk_id, chunk.text, chunk.context, *chunk.heading_path)


def _strings(values: Iterable[object]) -> Iterable[str]:
    return (value for value in values if isinstance(value, str))


def check_state(state: str) -> str:
    if state not in RUN_STATES:
        raise InvalidRequest(f"run state {state!r}; known: {', '.join(RUN_STATES)}")
    return state


def finished_at(state: str, *, now: datetime) -> datetime | None:
    """`now` for a final state."""
    return now if state in FINAL_STATES else None
