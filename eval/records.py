"""The answer to one question as it is kept: every stage's list with scores, and the judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

AFTER_CHANNELS = ("fused", "ranked", "passages", "final")
"""All channels together, then reranked and with bonuses, then the passages shown, then these with
the documents that each names as having the same text."""

SHAPE = 2
"""Grows when records of before no longer mean the same; they are asked anew."""

Listed = tuple[str, str, float | None]
"""Chunk id, the unit that it counts as, and its score on the scale of the stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A channel's list, best first, as `(chunk_id, score)`; `floor` as in `Found`."""

    listed: tuple[tuple[str, float], ...]
    floor: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """`stages` has each channel, then `fused`, what follows, and `final`: what is shown.
    `relevant_found` is False when it was said that nothing relevant is there, None where that
    cannot be told."""

    question_id: str
    kind: str
    language: str
    half: str
    relevant: Mapping[str, int]
    stages: Mapping[str, tuple[Listed, ...]]
    channels: Mapping[str, Given] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    relevant_found: bool | None = None

    def ranking(self, stage: str) -> list[str]:
        """Units, best first; a unit's place is that of its best chunk."""
        return list(dict.fromkeys(unit for _, unit, _ in self.stages.get(stage, ())))


def as_json(record: Record) -> dict[str, Any]:
    return asdict(record)


def from_json(raw: Mapping[str, Any]) -> Record:
    return Record(
        question_id=raw["question_id"],
        kind=raw["kind"],
        language=raw["language"],
        half=raw["half"],
        relevant=raw["relevant"],
        stages={
            name: tuple((chunk, unit, score) for chunk, unit, score in listed)
            for name, listed in raw["stages"].items()
        },
        channels={
            name: Given(
                listed=tuple((chunk, score) for chunk, score in given["listed"]),
                floor=given["floor"],
            )
            for name, given in raw["channels"].items()
        },
        failures=tuple(raw["failures"]),
        notes=tuple(raw["notes"]),
        timings_ms=raw["timings_ms"],
        relevant_found=raw.get("relevant_found"),
    )


def stages_of(records: Sequence[Record]) -> list[str]:
    """In the order in which they follow each other; channels first, by name."""
    found = {stage for record in records for stage in record.stages}
    later = [stage for stage in AFTER_CHANNELS if stage in found]
    return [*sorted(found.difference(later)), *later]
