"""One record of a JSONL or Parquet corpus -> documents or turns, under our names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cluster.errors import UnreadableItem
from cluster.model import Turn
from ingest.metadata import plain_text
from ingest.moments import parse_moment
from ingest.rules import Rules, canonical

_NAMES_TURN_WITHOUT_TEXT = frozenset({"user", "assistant"})
_MAX_ORDINAL = 2**31 - 1
"""What is larger is no place in a session (a moment, an id), and no store keeps it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document or a turn inside a record. `position` tells where in the file (`L12`, `L12/3`),
    `path` is its logical path; `fields` are under our names, without text and path."""

    position: str
    path: str
    text: str
    fields: Mapping[str, Any]
    turn: Turn | None = None


def decode_record(raw: bytes) -> dict[str, Any]:
    """`UnreadableItem` when this is not one JSON object."""
    try:
        record = json.loads(raw)
    except UnicodeDecodeError as error:
        raise UnreadableItem("encoding", f"not UTF-8: {error.reason}") from error
    except RecursionError as error:
        raise UnreadableItem("broken", "JSON nested too deeply") from error
    except ValueError as error:
        raise UnreadableItem("broken", f"not JSON: {error}") from error
    if not isinstance(record, dict):
        raise UnreadableItem("broken", f"a JSON object is wanted, not {type(record).__name__}")
    return record


def session_of(record: Mapping[str, Any], rules: Rules) -> str | None:
    """The session that a record is a turn of; `None` for documents and whole sessions."""
    fields = canonical(record, rules.turn_aliases)
    if isinstance(record.get("turns"), list) or not _is_turn(fields):
        return None
    return f"{fields.get('conversation', '')}\0{fields.get('session', '')}"


def entries(
    record: Mapping[str, Any], rules: Rules, *, position: str, ordinal: int = 0
) -> Iterator[Entry]:
    """`position` names the record in its file (`L12`); `ordinal` counts turns of the session
    that came before, for records that are turns and do not count themselves."""
    document = canonical(record, rules.document_aliases)
    turns = document.get("turns")
    if isinstance(turns, list) and all(isinstance(turn, Mapping) for turn in turns):
        yield from _session(record, document, turns, rules, position=position)
        return
    turn = canonical(record, rules.turn_aliases)
    if _is_turn(turn):
        yield _turn_entry(turn, position=position, ordinal=ordinal)
    else:
        yield _document_entry(document, position=position)


def _document_entry(fields: dict[str, Any], *, position: str) -> Entry:
    name = _name(fields.pop("id", None))
    path = _name(fields.pop("path", None)) or name or position
    text = fields.pop("text", None)
    if text is None:
        text = fields.get("title")
    if not isinstance(text, str):
        raise UnreadableItem(
            "empty", "no text: its text field is empty, or has a name that no rule knows"
        )
    for field in ("turns", "conversation", "session", "speaker"):
        fields.pop(field, None)
    return Entry(position=position, path=path, text=text, fields=fields)


def _turn_entry(fields: dict[str, Any], *, position: str, ordinal: int) -> Entry:
    text = fields.pop("text", None)
    if not isinstance(text, str) or not text.strip():
        raise UnreadableItem("empty", "a turn without text")
    conversation = _name(fields.pop("conversation", None))
    session = _name(fields.pop("session", None))
    own = fields.pop("ordinal", None)
    said_at = fields.pop("said_at", None)
    turn = Turn(
        conversation=conversation or session,
        session=session or conversation,
        ordinal=own if isinstance(own, int) and 0 <= own <= _MAX_ORDINAL else ordinal,
        speaker=_name(fields.pop("speaker", None)),
        said_at=parse_moment(said_at),
    )
    own_name = _name(fields.pop("id", None))
    path = _turn_path(turn, own_name or str(turn.ordinal))
    return Entry(position=position, path=path, text=text, fields=fields, turn=turn)


def _turn_path(turn: Turn, name: str) -> str:
    """The turn's own name when it tells the conversation or session; else below both, since
    numbers of turns are often unique inside their session only."""
    if any(above and name.startswith(above) for above in (turn.conversation, turn.session)):
        return name
    within = turn.session.startswith(turn.conversation)
    above = turn.session if within else f"{turn.conversation}/{turn.session}"
    return f"{above}/{name}"


def _session(
    record: Mapping[str, Any],
    document: Mapping[str, Any],
    turns: list[Mapping[str, Any]],
    rules: Rules,
    *,
    position: str,
) -> Iterator[Entry]:
    outer = canonical(record, rules.turn_aliases)
    inherited: dict[str, Any] = {
        key: outer[key]
        for key in ("conversation", "session", "said_at", "language", "license", "owner", "agent")
        if key in outer
    }
    name = _name(outer.get("id")) or _name(record.get("user")) or position
    inherited.setdefault("session", outer.get("conversation", name))
    inherited.setdefault("conversation", inherited["session"])
    if "source_url" in document:
        inherited["source_url"] = document["source_url"]
    spoken = [part for turn in turns for part in _exchange(turn)]
    for number, turn in enumerate(spoken):
        fields = {**inherited, **canonical(turn, rules.turn_aliases)}
        fields.setdefault("ordinal", number)
        yield _turn_entry(fields, position=f"{position}/{number}", ordinal=number)


def _exchange(turn: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """`{"user": …, "assistant": …}` is two turns, one after the other."""
    spoken = [
        key
        for key in turn
        if str(key).lower() in _NAMES_TURN_WITHOUT_TEXT and isinstance(turn[key], str)
    ]
    if not spoken or any(key in turn for key in ("text", "content", "message")):
        return [turn]
    rest = {key: value for key, value in turn.items() if key not in spoken}
    names = {key: rest.pop(key) for key in ("turn_id", "id") if key in rest}
    base = next((str(value) for value in names.values()), "")
    return [
        {**rest, "speaker": key, "text": turn[key], **({"id": f"{base}/{key}"} if base else {})}
        for key in spoken
        if turn[key].strip()
    ]


def _is_turn(fields: Mapping[str, Any]) -> bool:
    placed = "conversation" in fields or "session" in fields
    return placed and "text" in fields and ("speaker" in fields or "said_at" in fields)


def _name(value: object) -> str:
    return plain_text(value) if isinstance(value, str | int) else ""
