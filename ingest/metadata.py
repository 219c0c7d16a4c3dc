"""The fields of a document, and where each came from; its identity."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from cluster.ids import document_id
from cluster.model import Metadata
from cluster.text.languages import detect_language
from cluster.text.versions import version_key
from ingest.authority import Judged
from ingest.moments import parse_moment
from ingest.path_rules import PathFacts, plain_version

_TEXTS = ("title", "author", "source_url", "product", "license", "api_version", "source_type")
_MOMENTS = ("published_at", "updated_at")
_LANGUAGES = {
    "english": "en",
    "chinese": "zh",
    "中文": "zh",
    "简体中文": "zh",
    "繁體中文": "zh",
    "英文": "en",
}
_MAX_CHARS = 1000
_DETECTED_CHARS = 20_000
MAX_SUPPORTS = 1000
_MAX_SUPPORT_CHARS = 4000
MAX_TAGS = 1000
"""More than an index takes on one row would keep the document from being shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Fields that came from one place. Layers are given strongest first."""

    came_from: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Values that could be read; `notes` tell what could not."""

    values: Mapping[str, Any]
    provenance: Mapping[str, str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What makes two contents revisions of one thing."""

    source: str
    path: str
    language: str
    edition: str
    edition_key: str

    def document(self, tenant: str, *, owner: str | None) -> str:
        return document_id(
            tenant=tenant,
            source=self.source,
            path=self.path,
            language=self.language,
            owner=owner,
        )


def resolve(layers: Sequence[Layer]) -> Resolved:
    """For each field the strongest layer with a value that can be read."""
    values: dict[str, Any] = {}
    provenance: dict[str, str] = {}
    notes: list[str] = []
    for layer in layers:
        for field, raw in layer.fields.items():
            if field in values:
                continue
            value = _read(field, raw)
            if field == "tags" and value is not None and len(value) > MAX_TAGS:
                notes.append(
                    f"{len(value):,} tags ({layer.came_from}); the first {MAX_TAGS:,} kept"
                )
                value = value[:MAX_TAGS]
            if value is not None:
                values[field], provenance[field] = value, layer.came_from
            elif field in _MOMENTS:
                notes.append(f"{field} {raw!r} ({layer.came_from}) is not a date that can be read")
    return Resolved(values=values, provenance=provenance, notes=tuple(notes))


def settle(resolved: Resolved, judged: Judged, *, text: str) -> Resolved:
    """What rules say is added; the language of the text is the last resort."""
    values = {**resolved.values, **judged.values}
    provenance = {**resolved.provenance, **judged.provenance}
    if "language" not in values:
        values["language"] = detect_language(text[:_DETECTED_CHARS])
        provenance["language"] = "text"
    return Resolved(values=values, provenance=provenance, notes=resolved.notes)


def path_layer(facts: PathFacts) -> Layer:
    told = {"product": facts.product, "product_version": facts.version}
    return Layer(came_from="path", fields={key: value for key, value in told.items() if value})


def metadata(settled: Resolved) -> Metadata:
    known = {
        name: settled.values[name]
        for name in Metadata.__dataclass_fields__
        if name in settled.values
    }
    came_from = {name: settled.provenance[name] for name in sorted(known)}
    return Metadata(**known, provenance=came_from)


def identity(
    settled: Resolved, *, path: str, facts: PathFacts, named_source: str | None, root: str
) -> Identity:
    """Versioned material of a product is one source, wherever it lies."""
    values = settled.values
    version = values.get("product_version") or ""
    told_by_path = facts.version is not None and plain_version(facts.version) == version
    product = values.get("product")
    return Identity(
        source=named_source or (product if product and version else root),
        path=facts.path if told_by_path else path,
        language=values["language"],
        edition=version,
        edition_key=version_key(version) if version else "",
    )


def metadata_digest(of: Metadata) -> str:
    """The same for the same values; provenance counts, order does not."""
    return json.dumps(asdict(of), sort_keys=True, default=_jsonable, ensure_ascii=True)


def plain_text(value: object, *, limit: int = _MAX_CHARS) -> str:
    """One line without NUL and lone surrogates, as every store takes it."""
    text = re.sub(r"[\ud800-\udfff]", "\ufffd", str(value).replace("\0", ""))
    return " ".join(text.split())[:limit]


def language_code(value: object) -> str | None:
    """`zh-CN`, `zh_Hant`, `Chinese` -> `zh`. What is no language is `None`."""
    text = plain_text(value).lower()
    if text in _LANGUAGES:
        return _LANGUAGES[text]
    found = re.fullmatch(r"([a-z]{2,3})(?:[-_][a-z0-9]+)*", text)
    return found[1] if found else None


def _read(field: str, raw: Any) -> Any:
    if field in _TEXTS:
        joined = ", ".join(map(str, raw)) if isinstance(raw, list | tuple) else raw
        return (plain_text(joined) or None) if not isinstance(joined, Mapping) else None
    if field in _MOMENTS:
        return parse_moment(raw)
    if field == "language":
        return language_code(raw)
    if field == "product_version":
        return plain_version(plain_text(raw, limit=100)) or None
    if field == "tags":
        return _tags(raw)
    if field == "derived_from":
        return _supports(raw)
    return _judgement(field, raw)


def _tags(raw: Any) -> tuple[str, ...] | None:
    parts = re.split(r"[,;，；、]", raw) if isinstance(raw, str) else raw
    if not isinstance(parts, list | tuple):
        return None
    tags = (plain_text(part, limit=100) for part in parts)
    return tuple(dict.fromkeys(tag for tag in tags if tag)) or None


def _supports(raw: Any) -> tuple[str, ...] | None:
    """Ids or origins, one a line or an element; nothing else separates them."""
    parts = raw.splitlines() if isinstance(raw, str) else raw
    if not isinstance(parts, list | tuple):
        return None
    named = (plain_text(part, limit=_MAX_SUPPORT_CHARS) for part in parts)
    return tuple(dict.fromkeys(each for each in named if each))[:MAX_SUPPORTS] or None


def _judgement(field: str, raw: Any) -> Any:
    if field == "quote_policy":
        return plain_text(raw) or None
    if field == "authority" and isinstance(raw, int | float | str):
        try:
            score = float(raw)
        except (ValueError, OverflowError):
            return None
        return score if 0 <= score <= 1 else None
    return None


def _jsonable(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
