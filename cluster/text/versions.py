"""Which edition is higher? Version texts -> keys that sort by code point.

The grammar is what PEP 440, semantic versioning and dated releases have in common: an optional
word in front (`v`, `release-`), numbers, then suffixes. `7.5` < `7.10`; `2.0-rc1` < `2.0` <
`2.0.1`; `2.3.7` < `2.3.x` < `2.4`; `v2.0`, `2.0.0` and `2.0` are one version.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import regex

LATEST = frozenset({"latest", "current", "stable"})
"""Names without a number that mean the highest edition. Other names sort lowest."""

_BEFORE_RELEASE = {
    "dev": "a",
    "nightly": "a",
    "snapshot": "a",
    "canary": "a",
    "a": "b",
    "alpha": "b",
    "b": "c",
    "beta": "c",
    "m": "d",
    "milestone": "d",
    "c": "e",
    "rc": "e",
    "pre": "e",
    "preview": "e",
}
_AFTER_RELEASE = frozenset({"post", "patch", "p", "sp", "r", "rev", "hotfix"})
_PLAIN_RELEASE = frozenset({"", "ga", "final", "release", "lts", "stable", "dmr"})
_ANY = -1
"""The component `x` or `*`: any number."""

_MAX_COMPONENTS = 12
_MAX_DIGITS = 18
_MAX_NAME_CHARS = 100
_REMEMBERED_CHARS = 100

_FRONT = r"(?P<front>[^\W\d][^\d]*?[-_./ ]?)?"
_DATE = regex.compile(
    rf"{_FRONT}(?P<numbers>[12]\d{{3}}(?:[-/]\d{{1,2}}){{1,2}})(?!\d)(?P<rest>.*)", regex.DOTALL
)
_VERSION = regex.compile(
    rf"{_FRONT}(?P<numbers>\d+(?:[._](?:\d+|[x*](?![a-z])))*+)(?P<rest>.*)", regex.DOTALL
)
_SUFFIX = regex.compile(r"[-_.+ ]*(?P<word>[a-z]*)[-_.]*(?P<number>\d*)")


@dataclass(frozen=True, slots=True)
class _Version:
    """`stage` is a part of the sort key: `!…` before the release, `#…` it, `%…` after it."""

    numbers: tuple[int, ...]
    stage: str


def version_key(version: str) -> str:
    """A key so that `a` is older than `b` exactly when `version_key(a) < version_key(b)`.

    ASCII for versions with numbers. The empty text has the empty key, the lowest; names without
    numbers come next, by code point; `latest`, `current` and `stable` are the highest.
    """
    return _read(version).key


def same_version(asked: str, held: str) -> bool:
    """Whether somebody who asks for version `asked` means the edition `held`: `7.5` means
    `7.5`, `v7.5`, `7.5.0`, `7.5.1` and `7.5.x`, not `7.50` and not `7.5-rc1`; `7.5.1` means
    `7.5.x`. Names without numbers are the same when they are equal but for case."""
    one, other = _read(asked), _read(held)
    if one.key == other.key:
        return True
    wanted, found = one.parsed, other.parsed
    if wanted is None or found is None or wanted.stage != "#" or found.stage[0] == "!":
        return False
    numbers = wanted.numbers[:-1] if wanted.numbers[-1] == _ANY else wanted.numbers
    if found.numbers[-1] == _ANY:
        line = found.numbers[:-1]
        common = min(len(numbers), len(line))
        return numbers[:common] == line[:common]
    padded = found.numbers + (0,) * (len(numbers) - len(found.numbers))
    return padded[: len(numbers)] == numbers


@dataclass(frozen=True, slots=True)
class _Read:
    key: str
    parsed: _Version | None


def _read(version: str) -> _Read:
    """The same few are compared again and again."""
    return _read_once(version) if len(version) <= _REMEMBERED_CHARS else _read_anew(version)


def _read_anew(version: str) -> _Read:
    name = _folded(version)
    parsed = _parse(name) if name else None
    if parsed is not None:
        numbers = "".join(map(_component, _without_zeros(parsed.numbers)))
        return _Read(numbers + parsed.stage, parsed)
    if not name:
        return _Read("", None)
    return _Read("~" if name in LATEST else f"({name[:_MAX_NAME_CHARS]}", None)


_read_once = lru_cache(maxsize=20_000)(_read_anew)


def _folded(version: str) -> str:
    return unicodedata.normalize("NFKC", version).casefold().strip().translate(_CHINESE_DATE)


_CHINESE_DATE = str.maketrans({"年": ".", "月": ".", "日": None})


def _parse(name: str) -> _Version | None:
    match = _DATE.fullmatch(name) or _VERSION.fullmatch(name)
    if match is None:
        return None
    parts = regex.split(r"[-._/]", match["numbers"])
    if len(parts) > _MAX_COMPONENTS or any(len(part) > _MAX_DIGITS for part in parts):
        return None
    numbers = tuple(int(part) if part.isdecimal() else _ANY for part in parts)
    return _Version(numbers, _stage(match["rest"]))


def _stage(rest: str) -> str:
    """The suffixes of a version as the end of its key."""
    key = ""
    for match in _SUFFIX.finditer(rest):
        word, number = match["word"], match["number"][:_MAX_DIGITS]
        if word in _BEFORE_RELEASE:
            key += _BEFORE_RELEASE[word] + _component(int(number or 0))
        elif key or (word in _PLAIN_RELEASE and not number):
            continue
        elif word in _AFTER_RELEASE or not word:
            return f"%{_component(int(number or 0))}"
        else:
            return f"#{rest[:_MAX_NAME_CHARS]}"
    return f"!{key}~" if key else "#"


def _without_zeros(numbers: tuple[int, ...]) -> tuple[int, ...]:
    end = len(numbers)
    while end > 1 and numbers[end - 1] == 0:
        end -= 1
    return numbers[:end]


def _component(number: int) -> str:
    """Sorts by value: the count of digits, then the digits."""
    return ".~" if number == _ANY else f".{len(str(number)):02d}{number}"
