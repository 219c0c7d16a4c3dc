"""A moment as a plan holds it: a datetime with its zone; in JSON its ISO form."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator


def _moment(raw: object) -> datetime:
    moment = datetime.fromisoformat(raw) if isinstance(raw, str) else raw
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise ValueError("a moment is a text with its zone, such as 2024-05-01T00:00:00Z")
    return moment


Moment = Annotated[
    datetime, PlainValidator(_moment), PlainSerializer(datetime.isoformat, when_used="json")
]
