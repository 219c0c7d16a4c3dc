"""A revision -> the fields that filters look at, in every store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from cluster.filters import epoch_ms
from cluster.model import FieldValue, Revision


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
    meta = revision.metadata
    turn = revision.turn
    return {
        "tenant": revision.tenant,
        "owner": revision.owner,
        "agent": revision.agent,
        "kind": revision.kind,
        "document_id": revision.document_id,
        "source": revision.source,
        "path": revision.path,
        "source_type": meta.source_type,
        "source_url": meta.source_url,
        "language": meta.language,
        "author": meta.author,
        "product": meta.product,
        "product_version": meta.product_version,
        "version_key": revision.edition_key,
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
        "newest_edition": newest_edition,
    }
