"""What is a part of the stack? Data, so that it can be handed to the detached supervisor."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

ProbeKind = Literal["alive", "grpc", "http", "postgres", "beat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """How to see that a part does its work.

    `target` by kind: `alive` none (it runs, two seconds after its start); `grpc`
    `host:port/service/method`, called with the bytes of `request_hex`, whose raw answer
    holds `expect`; `http` a URL;
    `postgres` `host:port`; `beat` a file that the part touches at least every ten seconds.
    `secret_file` holds the password or the token that the probe has to show.
    A part that is not ready `ready_within_s` after its start, or whose probe then fails
    `failures` times in a row, is killed and started again.
    """

    kind: ProbeKind
    target: str = ""
    request_hex: str = ""
    expect: str = ""
    secret_file: str | None = None
    ready_within_s: float = 90.0
    interval_s: float = 5.0
    timeout_s: float = 5.0
    failures: int = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A port that a part listens on, and the setting that changes it."""

    number: int
    setting: str
    host: str = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSpec:
    """One part of the local stack.

    `env` is added to the environment of the command that starts the stack. `after` are the
    parts that must be ready first, `restart_with` those whose restart makes this one useless.
    `endpoint` is what people are shown. `stop_signal` asks for an orderly end; after
    `stop_within_s` the part is killed.
    """

    name: str
    command: tuple[str, ...]
    probe: Probe
    env: Mapping[str, str] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    restart_with: tuple[str, ...] = ()
    ports: tuple[Port, ...] = ()
    endpoint: str = ""
    stop_signal: Literal["TERM", "INT"] = "TERM"
    stop_within_s: float = 15.0

    @property
    def digest(self) -> str:
        """Changes when the part would be started in another way."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def in_order(specs: Sequence[ServiceSpec]) -> list[ServiceSpec]:
    """Each part after those it needs; otherwise as given. What is not in `specs` runs
    elsewhere and is not waited for."""
    names = {spec.name for spec in specs}
    done: set[str] = set()
    ordered: list[ServiceSpec] = []
    while len(ordered) < len(specs):
        free = [
            spec for spec in specs if spec.name not in done and not (set(spec.after) & names) - done
        ]
        if not free:
            raise ValueError(f"parts wait for each other: {sorted(names - done)}")
        ordered.append(free[0])
        done.add(free[0].name)
    return ordered


def to_json(specs: Sequence[ServiceSpec]) -> str:
    return json.dumps([asdict(spec) for spec in specs], indent=1)


def from_json(text: str) -> list[ServiceSpec]:
    return [_spec(row) for row in json.loads(text)]


def read_specs(path: Path) -> list[ServiceSpec]:
    return from_json(path.read_text(encoding="utf-8"))


def _spec(row: dict[str, Any]) -> ServiceSpec:
    return ServiceSpec(
        **{
            **row,
            "probe": Probe(**row["probe"]),
            "ports": tuple(Port(**port) for port in row["ports"]),
            **{key: tuple(row[key]) for key in ("command", "after", "restart_with")},
        }
    )
