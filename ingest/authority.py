"""How far is a source to be trusted, and how may it be quoted? Rules decide, data overrides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from cluster.model import QuotePolicy
from ingest.rules import Rules

_BY_RULE = ("product", "language", "license", "source_type", "authority", "quote_policy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Only the fields that the rules filled, with `rule:<name>` for each."""

    values: Mapping[str, Any]
    provenance: Mapping[str, str]


def judge(values: Mapping[str, Any], *, path: str, kind: str, rules: Rules) -> Judged:
    """What is in `values` stays; each other field comes from the first rule that fits.

    Authority of what has neither a date nor a version is lowered, explicit authority is not.
    """
    seen = {
        "path": path.lower(),
        "url": str(values.get("source_url") or "").lower(),
        "product": str(values.get("product") or "").lower(),
        "version": str(values.get("product_version") or "").lower(),
        "source_type": str(values.get("source_type") or "").lower(),
        "kind": kind,
    }
    found: dict[str, Any] = {}
    provenance: dict[str, str] = {}
    for field in _BY_RULE:
        if _holds(values, field):
            continue
        given = rules.first(field, seen)
        if given is not None:
            found[field], provenance[field] = given[0], f"rule:{given[1]}"
            if field in seen:
                seen[field] = str(given[0]).lower()
    if "authority" in found and _undated(values):
        found["authority"] = max(0.0, round(float(found["authority"]) - rules.undated_penalty, 4))
    return Judged(values=found, provenance=provenance)


def _holds(values: Mapping[str, Any], field: str) -> bool:
    if field == "quote_policy":
        return values.get(field) in get_args(QuotePolicy)
    return values.get(field) is not None


def _undated(values: Mapping[str, Any]) -> bool:
    dated = ("published_at", "updated_at", "said_at", "product_version")
    return not any(values.get(field) for field in dated)
