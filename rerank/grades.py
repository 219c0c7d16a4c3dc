"""How near to the facts is a source? A grade for people and agents who choose what to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

SourceGrade = Literal["primary", "project", "second_hand", "clue", "unknown"]

_GRADES: Mapping[str, SourceGrade] = {
    **dict.fromkeys(
        ("paper", "book", "standard", "law", "statute", "regulation", "official_doc"), "primary"
    ),
    **dict.fromkeys(
        ("changelog", "source_code", "issue", "pull_request", "conversation", "mail"), "project"
    ),
    **dict.fromkeys(("encyclopedia", "wiki", "news"), "second_hand"),
    **dict.fromkeys(("blog", "forum"), "clue"),
}


def grade_of(source_type: str) -> SourceGrade:
    """By kind of source; `primary` says it first, `project` is the project's own record,
    `second_hand` retells with care, a `clue` only points somewhere."""
    return _GRADES.get(source_type, "unknown")
