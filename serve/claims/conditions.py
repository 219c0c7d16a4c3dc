"""Which part of a statement holds for a version? "`2`. Up to v7.4.0 the default is `1`."

Each clause may carry a condition on the version; a clause that only names the condition passes it
on to the next. A statement "changed from A to B" says B where its condition holds, A before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import regex

from cluster.text.versions import same_version, version_key

Standing = Literal["holds", "maybe", "not"]

_VERSION = (
    r"(?:\p{{Latin}}+\s*(?=v\.?\d)|(?:version|release)\s+|版本\s*)?v?\.?\s?"
    r"(?P<{0}>\d+(?:\.(?:\d+|x))+)(?:\s*(?:GA|RC|DMR))?"
)
"""A name in front counts with a `v` only: `MySQL 5.7` is a version of something else."""

_A, _B, _C, _D = map(_VERSION.format, "abcd")
_WORDED = {
    "between": rf"{_A}\s*(?:版本)?\s*(?:~|～|至|到|–|to|through)\s*{_B}",
    "until": (
        rf"{_A}\s*(?:版本)?\s*(?:及其?|以及)\s*(?:之前|以前|更早)"
        rf"|(?:up to|through)\s+{_B}"
        rf"|{_C}\s*(?:and|or)\s+(?:earlier|below|before|older|prior)"
    ),
    "before": (
        rf"{_A}\s*(?:版本)?\s*(?:之前|以前|前)|(?:before|prior to|earlier than|until)\s+{_B}"
    ),
    "since": (
        rf"{_A}\s*(?:版本)?\s*(?:(?:及其?|以及|或)?\s*(?:之后|以后|以上|后续|更高)|起|开始)"
        rf"|(?:since|from|as of|after|starting (?:from|with|in)|beginning (?:with|in))\s+{_B}"
        rf"|{_C}\s*(?:and|or)\s+(?:later|above|newer|higher)|[从自]\s*{_D}"
    ),
    "in": rf"(?:对于|在|for|in)\s*{_A}",
}
_CONDITIONS = {name: regex.compile(worded, regex.IGNORECASE) for name, worded in _WORDED.items()}
_SENTENCES = regex.compile(r"[；;。\n]|\.\s+(?=[\p{Lu}\p{Han}`])")
_PARTS = regex.compile(r"[，,](?![^（(]*[)）])(?!\d{3}(?!\d))")
_CASES = regex.compile(
    r"升级|\bupgrad|^\s*(?:当|如果|若|否则)|^\s*(?:if|when|otherwise|unless)\b", regex.IGNORECASE
)
_CHANGED = regex.compile(
    r"(?:从|由|from)\s*(?P<old>`[^`]+`|[^\s，,。]{1,40})\s*"
    r"(?:变更为|更改为|修改为|改为|调整为|变为|增加到|提升到|提高到|降低到|减小到|减少到|升到|降到|改成"
    r"|变成|to)\s*"
    r"(?P<new>`[^`]+`|[^\s，,。]{1,40})",
    regex.IGNORECASE,
)


_ANY_VERSION = regex.compile(r"v?\d+(?:\.(?:\d+|x))+", regex.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a statement and whether it holds for the edition that was asked about.
    `conditioned`: the statement itself says for which versions it holds; such a part that holds
    goes before one that is said in general."""

    text: str
    standing: Standing
    conditioned: bool = False


def clauses_for(text: str, *, edition: str | None) -> tuple[Clause, ...]:
    """The clauses of a statement. `maybe`: the condition names a version inside the edition's
    line (`7.5.7` of `7.5`), a case (an upgrade, another setting), or there is no edition."""
    found: list[Clause] = []
    for sentence in _SENTENCES.split(text):
        inherited: Standing | None = None
        for part in _PARTS.split(sentence or ""):
            if not part or not part.strip():
                continue
            own = _standing(part, edition)
            standing = own or inherited
            conditioned = standing is not None
            if _CASES.search(part):
                standing = "not" if standing == "not" else "maybe"
            if (own is not None and not _says_more(part)) or _CASES.search(part):
                inherited = standing
            found.extend(_changed(part, standing or "holds", conditioned=conditioned))
    return tuple(found)


def holding(text: str, *, edition: str | None) -> str:
    """What of a statement is not said of other versions or cases."""
    parts = clauses_for(text, edition=edition)
    return "，".join(part.text for part in parts if part.standing == "holds")


def _changed(part: str, standing: Standing, *, conditioned: bool) -> list[Clause]:
    match = _CHANGED.search(part)
    if match is None:
        return [Clause(text=part, standing=standing, conditioned=conditioned)]
    kept, gone = ("old", "new") if standing == "not" else ("new", "old")
    before, after = part[: match.start()], part[match.end() :]
    known: Standing = "maybe" if standing == "maybe" else "holds"
    told = Clause(text=f"{before}{match[kept]}{after}", standing=known, conditioned=conditioned)
    return [told, Clause(text=match[gone], standing="not", conditioned=conditioned)]


def _says_more(part: str) -> bool:
    """Beside its condition, does a clause say a value?"""
    rest = _ANY_VERSION.sub(" ", part)
    return regex.search(r"`|\d|\b(?:ON|OFF|true|false)\b|开启|关闭|启用|禁用", rest) is not None


def _standing(part: str, edition: str | None) -> Standing | None:
    for name, pattern in _CONDITIONS.items():
        if (match := pattern.search(part)) is not None:
            named = [each for each in match.groupdict().values() if each]
            since = name == "in" and _CHANGED.search(part) is not None
            return _judged("since" if since else name, named, edition)
    return None


def _judged(name: str, named: list[str], edition: str | None) -> Standing:
    if edition is None:
        return "holds" if name == "since" else "maybe"
    key, first = version_key(edition), version_key(named[0])
    if name == "between":
        return "holds" if first <= key <= version_key(named[-1]) else "not"
    if any(version_key(each) != key and same_version(edition, each) for each in named):
        return "maybe"
    holds = {
        "until": key <= first or same_version(named[0], edition),
        "before": key < first,
        "since": key >= first,
        "in": key == first or same_version(named[0], edition),
    }[name]
    return "holds" if holds else "not"
