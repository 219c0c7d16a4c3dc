"""A revision -> the fields that filters look at, in every store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from cluster.filters import epoch_ms
from cluster.model import FieldValue, Metadata, Revision, StoredPassage, Turn


def stored_fields(revision: Revision, *, newest_edition: bool) -> Mapping[str, FieldValue]:
    """As `IndexRow.fields` holds them: moments are whole milliseconds since the epoch."""
    fields = matchable_fields(revision, newest_edition=newest_edition)
    return {
        name: epoch_ms(value) if isinstance(value, datetime) else value
        for name, value in fields.items()
    }


def matchable_fields(
    revision: Revision, *, newest_edition: bool
) -> Mapping[str, FieldValue | datetime]:
    """Every key of `cluster.filters.FIELDS`, as `matches` reads them (moments: `datetime`)."""
    return {
        "tenant": revision.tenant,
        "owner": revision.owner,
        "agent": revision.agent,
        "kind": revision.kind,
        "document_id": revision.document_id,
        "source": revision.source,
        "path": revision.path,
        "version_key": revision.edition_key,
        "newest_edition": newest_edition,
        **_described(revision.metadata, revision.turn),
    }


def passage_fields(passage: StoredPassage, *, tenant: str) -> Mapping[str, FieldValue | datetime]:
    """The same for a passage of the tenant, but for `agent`, which a passage does not tell."""
    return {
        "tenant": tenant,
        "owner": passage.owner,
        "kind": passage.kind,
        "document_id": passage.document_id,
        "source": passage.source,
        "path": passage.path,
        "version_key": passage.edition_key,
        "newest_edition": passage.newest_edition,
        **_described(passage.metadata, passage.turn),
    }


def _described(meta: Metadata, turn: Turn | None) -> Mapping[str, FieldValue | datetime]:
    return {
        "source_type": meta.source_type,
        "source_url": meta.source_url,
        "language": meta.language,
        "author": meta.author,
        "product": meta.product,
        "product_version": meta.product_version,
        "api_version": meta.api_version,
        "license": meta.license,
        "quote_policy": meta.quote_policy,
        "tags": meta.tags,
        "conversation": turn.conversation if turn else None,
        "session": turn.session if turn else None,
        "speaker": turn.speaker if turn else None,
        "authority": meta.authority,
        "published_at": meta.published_at,
        "updated_at": meta.updated_at,
        "said_at": turn.said_at if turn else None,
    }
