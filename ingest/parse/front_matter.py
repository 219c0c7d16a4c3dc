"""Which fields does a text name at its head? YAML between `---`, TOML between `+++`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import yaml

MAX_CHARACTERS = 65_536
MAX_VALUE = 4_000
MAX_DEPTH = 4

_OPEN = re.compile(r"(---|\+\+\+)[ \t]*\n")
_CLOSE = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*(?:\n|\Z)", re.MULTILINE),
}
_LINE = re.compile(r"^([A-Za-z_][\w .-]{0,60}?)[ \t]*:[ \t]+(.+?)[ \t]*$", re.MULTILINE)


def split_front_matter(text: str) -> tuple[dict[str, str], str, tuple[str, ...]]:
    """`(fields, the rest of the text, notes)`; no front matter: the text as it is.

    Names are lower case; a nested mapping gives `outer.inner`; lists of scalars are joined by
    `, `. YAML that does not parse is read line by line as `name: value`, with a note; when not
    even that gives a field, the text is left whole.
    """
    opening = _OPEN.match(text)
    if not opening:
        return {}, text, ()
    fence = opening.group(1)
    closing = _CLOSE[fence].search(text, opening.end(), opening.end() + MAX_CHARACTERS)
    if not closing:
        return {}, text, ()
    raw = text[opening.end() : closing.start()]
    fields, notes = _read_toml(raw) if fence == "+++" else _read_yaml(raw)
    if not fields and raw.strip():
        return {}, text, ()
    return fields, text[closing.end() :], notes


def flatten(value: Any, *, name: str = "", depth: int = 0) -> dict[str, str]:
    """Nested mappings as `outer.inner` names, lists of scalars as `a, b`; the rest is dropped."""
    if depth > MAX_DEPTH:
        return {}
    if isinstance(value, Mapping):
        found: dict[str, str] = {}
        for key, inner in value.items():
            path = f"{name}.{key}" if name else str(key)
            found.update(flatten(inner, name=path.lower().strip(), depth=depth + 1))
        return found
    if isinstance(value, list):
        scalars = [str(item) for item in value[:200] if not isinstance(item, list | Mapping)]
        value = ", ".join(scalars)
    shown = str(value).strip()[:MAX_VALUE] if value is not None else ""
    return {name: shown} if name and shown else {}


def _read_yaml(raw: str) -> tuple[dict[str, str], tuple[str, ...]]:
    try:
        # The base loader keeps every scalar as it is written: "7.10" stays "7.10".
        loaded = yaml.load(raw, Loader=yaml.CBaseLoader)  # noqa: S506 - builds only str, list, dict
    except (yaml.YAMLError, ValueError, RecursionError):
        lines = {name.lower(): value.strip("\"' ") for name, value in _LINE.findall(raw)}
        return lines, ("front matter is not valid YAML; read line by line",)
    return (flatten(loaded), ()) if isinstance(loaded, Mapping) else ({}, ())


def _read_toml(raw: str) -> tuple[dict[str, str], tuple[str, ...]]:
    try:
        return flatten(tomllib.loads(raw)), ()
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}, ()
