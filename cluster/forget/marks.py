"""Content -> keyed hashes that tell nothing to whoever has no key; the tombstones.

What is kept away, by the mark that does it:

    content   the text, compared without case, width and white space, in the whole tenant;
              what belonged to an owner stays open to other owners, and is closed to all
              without one
    said      the same inside one session: a short turn ("yes", "好的") is nobody's secret
    place     the document id: what is put there next is kept away although it was edited
    owner, source, session, conversation
              all of it, from work that had begun before it was forgotten
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography.fernet import Fernet, InvalidToken

from cluster.errors import InvalidRequest
from cluster.ids import digest
from cluster.model import Turn
from cluster.stores.protocols.forgetting import Holding, Selector, Tombstone

SHORT_TURN_BYTES = 48
"""A turn with less normalised UTF-8 than this is marked inside its session only."""

ANY_OWNER = "\0any"


@dataclass(frozen=True, slots=True)
class MarkKey:
    """The ledger's secret for marks, and for sealing what a job has to remember."""

    secret: bytes

    @property
    def key_id(self) -> str:
        """Tells two keys apart, and nothing else."""
        return self.mark("key id")[:32]

    def mark(self, *parts: str) -> str:
        return hmac.new(self.secret, digest(*parts), hashlib.sha256).hexdigest()

    def seal(self, value: Any) -> bytes:
        return self._box().encrypt(json.dumps(value, ensure_ascii=False).encode())

    def unseal(self, sealed: bytes) -> Any:
        """`InvalidRequest` when it was sealed with another key."""
        try:
            return json.loads(self._box().decrypt(sealed))
        except InvalidToken as error:
            raise InvalidRequest(
                "this forget job was begun with another key; set forget.tombstone_key_file to "
                "the key of this ledger"
            ) from error

    def _box(self) -> Fernet:
        derived = hmac.new(self.secret, b"seal", hashlib.sha256).digest()
        return Fernet(base64.urlsafe_b64encode(derived))


def normalised(text: str) -> str:
    """What stays of a text when case, width and white space do not count."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def selector_mark(key: MarkKey, tenant: str, selector: Selector, *, owner: str | None) -> str:
    """Names the same wish by the same hash."""
    return key.mark("selector", tenant, owner or "", selector.kind, selector.value)


def owner_mark(key: MarkKey, tenant: str, owner: str) -> str:
    """Tells whether two were the same owner, and not who."""
    return key.mark("asked by", tenant, owner)


def tombstones_of(
    key: MarkKey,
    tenant: str,
    holdings: Iterable[Holding],
    *,
    places: frozenset[str],
) -> list[Tombstone]:
    """Those of contents, and of the places of the documents in `places`."""
    marks: dict[str, None] = {}
    for one in holdings:
        if one.text:
            marks.update(dict.fromkeys(_buried(key, tenant, one.owner, one.turn, one.text)))
        if one.document_id in places:
            marks[key.mark("place", tenant, one.document_id)] = None
    return [Tombstone(mark=mark) for mark in marks]


def selector_tombstones(
    key: MarkKey, tenant: str, selector: Selector, *, owner: str | None, now: datetime
) -> list[Tombstone]:
    """What keeps away work that is under way."""
    if selector.kind in ("item", "document"):
        return []
    mark = key.mark(selector.kind, tenant, owner or ANY_OWNER, selector.value)
    return [Tombstone(mark=mark, before=now)]


def marks_of_owner(key: MarkKey, tenant: str, owner: str) -> list[str]:
    """Any of these among the tombstones tells that the owner was forgotten."""
    return [key.mark("owner", tenant, of, owner) for of in (ANY_OWNER, owner)]


def marks_to_check(
    key: MarkKey,
    tenant: str,
    *,
    document_id: str,
    owner: str | None,
    source: str,
    turn: Turn | None,
    text: str,
) -> list[str]:
    """Any of these among the tombstones keeps a revision away."""
    whole = normalised(text)
    contents = [key.mark("content", tenant, whole)]
    if owner is None:
        contents.append(key.mark("content, owned", tenant, whole))
    else:
        contents.append(key.mark("content, of", tenant, owner, whole))
    if turn is not None:
        contents.append(_said(key, tenant, owner, turn, whole))
    places = [key.mark("place", tenant, document_id)]
    for of in dict.fromkeys((ANY_OWNER, owner or ANY_OWNER)):
        places.append(key.mark("source", tenant, of, source))
        if turn is not None:
            places.append(key.mark("session", tenant, of, turn.session))
            places.append(key.mark("conversation", tenant, of, turn.conversation))
    if owner is not None:
        places += marks_of_owner(key, tenant, owner)
    return [*contents, *places]


def _buried(
    key: MarkKey, tenant: str, owner: str | None, turn: Turn | None, text: str
) -> list[str]:
    whole = normalised(text)
    if turn is not None and len(whole.encode("utf-8", "surrogatepass")) < SHORT_TURN_BYTES:
        return [_said(key, tenant, owner, turn, whole)]
    if owner is None:
        return [key.mark("content", tenant, whole)]
    return [
        key.mark("content, owned", tenant, whole),
        key.mark("content, of", tenant, owner, whole),
    ]


def _said(key: MarkKey, tenant: str, owner: str | None, turn: Turn, whole: str) -> str:
    return key.mark("said", tenant, owner or "", turn.conversation, turn.session, whole)
