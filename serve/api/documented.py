"""Which problems an endpoint may answer with, for its documentation."""

from __future__ import annotations

from typing import Any

from serve.api.problems import CONTENT_TYPE, KINDS


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """FastAPI's `responses` for these statuses, each with an example."""
    return {status: _documented(status) for status in (*statuses, 500)}


def _documented(status: int) -> dict[str, Any]:
    kinds = [kind for kind in KINDS.values() if kind.status == status]
    documented: dict[str, Any] = {
        "description": "; ".join(f"{kind.title}. {kind.meaning}" for kind in kinds),
        "content": {
            CONTENT_TYPE: {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "example": {
                    "type": f"/docs#{kinds[0].name}",
                    "title": kinds[0].title,
                    "status": status,
                    "detail": kinds[0].meaning,
                    "instance": "/v1/search",
                    "request_id": "0d4f6a51c0de4be1a0b4b2a2fb4cf9a3",
                },
            }
        },
    }
    if status in (429, 503):
        documented["headers"] = {
            "Retry-After": {"description": "seconds", "schema": {"type": "integer"}}
        }
    return documented
