"""A plan as JSON, and back: what an answer explains can be sent again and gives the same answer.

The annotations of `QueryPlan` are the schema. Keys that it does not know are refused, and so is
the scope: whose data a plan may touch is told by the key of whoever sends it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from cluster.errors import InvalidRequest
from cluster.model import Scope
from serve.plan.plan import QueryPlan

NAMES = {"where": "filter", "editions": "versions", "limit": "top_k", "deadline_s": "deadline_ms"}
"""Fields that callers know by another name."""

MAX_TOLD = 5

_PLAN: TypeAdapter[QueryPlan] = TypeAdapter(QueryPlan)
_FIELDS = {name: field for field, name in NAMES.items()}


def plan_json(plan: QueryPlan) -> dict[str, Any]:
    """The plan as JSON, without its scope; filters in the form that `parse_filter` reads."""
    told = _PLAN.dump_python(plan, mode="json", exclude={"scope"})
    told["deadline_s"] = round(plan.deadline_s * 1000)
    return {NAMES.get(field, field): value for field, value in told.items()}


def plan_from_json(raw: Mapping[str, Any], *, scope: Scope) -> QueryPlan:
    """The inverse, inside `scope`. Raises `InvalidRequest` that names the key."""
    unknown = raw.keys() & {"scope", *NAMES}
    if unknown:
        raise InvalidRequest(f"plan.{min(unknown)}: unknown key; remove it")
    fields = {_FIELDS.get(key, key): value for key, value in raw.items()}
    deadline_ms = fields.get("deadline_s")
    if isinstance(deadline_ms, int | float):
        fields["deadline_s"] = deadline_ms / 1000
    text = json.dumps(fields | {"scope": asdict(scope)})
    if "\\u0000" in text:
        raise InvalidRequest("plan: NUL is not allowed here; remove it")
    try:
        return _PLAN.validate_json(text)
    except ValidationError as error:
        raise InvalidRequest(_explained(error)) from error


def _explained(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False)
    return "; ".join(
        f"{_place(each['loc'])}: {_told(each)}" for each in cast(list[Any], problems[:MAX_TOLD])
    )


def _place(location: tuple[int | str, ...]) -> str:
    first, *rest = location or ("",)
    return ".".join(("plan", *(str(each) for each in (NAMES.get(str(first), first), *rest))))


def _told(problem: Mapping[str, Any]) -> str:
    if problem["type"] == "unexpected_keyword_argument":
        return "unknown key; remove it"
    if problem["type"] == "missing":
        return "missing; send the plan as an answer gave it"
    return str(problem["msg"]).removeprefix("Value error, ")
