"""The rules file: names of fields in other people's data, and what sources are worth."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from cluster.errors import InvalidRequest
from cluster.ids import sha256_hex
from cluster.model import QuotePolicy

Given = str | float
Aliases = Mapping[str, tuple[str, ...]]
"""Field -> names it may have, strongest first."""

MATCHABLE = ("path", "url", "product", "version", "source_type", "kind")
GIVEN = ("source_type", "authority", "quote_policy", "license", "product", "language")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`match`: what is looked at -> patterns, one of which must fit; `gives`: field -> value."""

    name: str
    match: Mapping[str, tuple[str, ...]]
    gives: Mapping[str, Given]

    def fits(self, seen: Mapping[str, str]) -> bool:
        return all(
            any(fnmatchcase(seen.get(key, "").lower(), pattern) for pattern in patterns)
            and bool(seen.get(key))
            for key, patterns in self.match.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    document_aliases: Aliases
    turn_aliases: Aliases
    rules: tuple[Rule, ...]
    undated_penalty: float
    digest: str

    def first(self, field: str, seen: Mapping[str, str]) -> tuple[Given, str] | None:
        """The value of the first rule that fits and gives the field, and the rule's name."""
        for rule in self.rules:
            if field in rule.gives and rule.fits(seen):
                return rule.gives[field], rule.name
        return None


def load_rules(path: Path | None = None) -> Rules:
    """The shipped tables, with those of `path` in front."""
    names, worth = _shipped("aliases.toml"), _shipped("authority.toml")
    own = path.read_text(encoding="utf-8") if path is not None else ""
    extra = _toml(own, where=str(path))
    _refuse_unknown(extra, {"aliases", "rules", "undated_penalty"}, where=str(path))
    shipped = tomllib.loads(names)
    defaults = tomllib.loads(worth)
    added = extra.get("aliases", {})
    return Rules(
        document_aliases=_aliases(shipped["document"], added, where=str(path)),
        turn_aliases=_aliases(shipped["turn"], added, where=str(path)),
        rules=tuple(
            [
                _rule(raw, number, where=str(path))
                for number, raw in enumerate(extra.get("rules", []))
            ]
            + [_rule(raw, 0, where="authority.toml") for raw in defaults["rules"]]
        ),
        undated_penalty=float(extra.get("undated_penalty", defaults["undated_penalty"])),
        digest=sha256_hex("\0".join((names, worth, own))),
    )


def canonical(record: Mapping[str, Any], aliases: Aliases) -> dict[str, Any]:
    """The fields of `record` under our names; what is empty or unknown is left out."""
    plain = {str(key).strip().lower().replace("-", "_").replace(" ", "_"): key for key in record}
    found: dict[str, Any] = {}
    for field, names in aliases.items():
        for name in names:
            value = record[plain[name]] if name in plain else None
            if not _is_empty(value) and _suits(field, name, value):
                found[field] = value
                break
    return found


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | tuple | dict) and not value)


def _suits(field: str, name: str, value: Any) -> bool:
    """`source` and `origin` mean many things; only an address is one for us."""
    if field == "source_url" and name in ("source", "origin", "link"):
        return isinstance(value, str) and value.startswith(("http://", "https://"))
    return True


def _aliases(
    shipped: Mapping[str, Sequence[str]], added: Mapping[str, Sequence[str]], *, where: str
) -> Aliases:
    for field, names in added.items():
        if not isinstance(names, list):
            raise InvalidRequest(f"{where}: aliases.{field} takes a list of names")
    return {
        field: (*(str(name).lower() for name in added.get(field, ())), *names)
        for field, names in shipped.items()
    }


def _rule(raw: Mapping[str, Any], number: int, *, where: str) -> Rule:
    name = str(raw.get("name", f"rule {number + 1}"))
    at = f"{where}: rule {name!r}"
    _refuse_unknown(raw, {"name", "match", *GIVEN}, where=at)
    match = dict(raw.get("match", {}))
    _refuse_unknown(match, set(MATCHABLE), where=f"{at}, match")
    gives = {key: raw[key] for key in GIVEN if key in raw}
    if not gives:
        raise InvalidRequest(f"{at} gives nothing; it may give {', '.join(GIVEN)}")
    _check_given(gives, at=at)
    return Rule(
        name=name,
        match={key: _patterns(value) for key, value in match.items()},
        gives=gives,
    )


def _check_given(gives: Mapping[str, Any], *, at: str) -> None:
    authority = gives.get("authority", 0.0)
    if not isinstance(authority, int | float) or not 0 <= authority <= 1:
        raise InvalidRequest(f"{at}: authority is a number from 0 to 1, not {authority!r}")
    policy = gives.get("quote_policy", "clue")
    if policy not in get_args(QuotePolicy):
        known = ", ".join(get_args(QuotePolicy))
        raise InvalidRequest(f"{at}: quote_policy {policy!r} is none of {known}")


def _patterns(value: Any) -> tuple[str, ...]:
    return tuple(str(each).lower() for each in (value if isinstance(value, list) else [value]))


def _refuse_unknown(raw: Mapping[str, Any], known: set[str], *, where: str) -> None:
    for key in raw:
        if key not in known:
            raise InvalidRequest(f"{where}: unknown key {key!r}; known: {', '.join(sorted(known))}")


def _toml(text: str, *, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"{where} is not valid TOML: {error}") from error


def _shipped(name: str) -> str:
    return files("ingest").joinpath(name).read_text(encoding="utf-8")
