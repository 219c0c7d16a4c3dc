"""Does a fact or a table cell say what a claim says of the same subject and attribute?

`same`: it does; `other`: it says something else; `None`: that cannot be told.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import regex

from cluster.text.values import Value, comparable, read_values, same_value, unit_in
from cluster.text.versions import version_key
from serve.claims.conditions import Clause, clauses_for
from serve.claims.reading import Claim, bare_name, capitals_in, names_in
from serve.claims.words import read_wording

Likeness = Literal["same", "other"] | None

_ENDS = r"\s*(?:$|[。.，,；;（(])"
_YES = regex.compile(rf"\s*(?:是|yes|支持|可以|✓|✔){_ENDS}", regex.IGNORECASE)
_NO = regex.compile(rf"\s*(?:否|no|不支持|不可以|✗|✘){_ENDS}", regex.IGNORECASE)
_ON = regex.compile(r"(?<!不)(?:开启|启用|打开)|\benabled\b", regex.IGNORECASE)
_OFF = regex.compile(r"关闭|禁用|不(?:开启|启用)|\bdisabled\b|\bnot enabled\b", regex.IGNORECASE)
_EXTREMES = regex.compile(
    r"[\[(（【]\s*(?P<low>[^,，\[\]]+?)\s*[,，~～]\s*(?P<high>[^\])）】]+)[\])）】]"
    r"|(?P<low>-?\d[\d.]*)\s*(?:~|～|-|–|to|到|至)\s*(?P<high>\d[\d.]*)"
)
_ASIDE = regex.compile(
    r"`[^`]*`(*SKIP)(*FAIL)|[（(](?P<aside>[^（()）]*)[)）]|即(?P<ie>[^，,。；]*)"
)
_KINDS = {
    "integer": "整数|整型|integer|int",
    "float": "浮点|float|double",
    "string": "字符串|string|str|varchar",
    "flag": "布尔|bool|boolean",
    "enumeration": "枚举|enum|enumeration",
    "duration": "duration|时间间隔|时长",
    "time": "时间|timestamp|time",
}
_KIND = {name: regex.compile(rf"(?:{words})", regex.IGNORECASE) for name, words in _KINDS.items()}
MAX_WORD_CHARS = 40


def likeness(
    claim: Claim,
    *,
    said: str,
    attribute: str,
    subjects: Collection[str],
    edition: str | None,
    unit: str,
    context: str,
) -> Likeness:
    """Of what a fact says under `attribute` and what the claim says. `subjects` are the claim's
    names that the fact is about, `unit` what its bare figures are counted in, `context` the words
    around it."""
    claimed = _claimed(claim, subjects)
    if attribute == "type":
        return _same_kind(claim, said)
    if attribute == "unit":
        return _same_unit(claim, said)
    if attribute in ("range", "minimum", "maximum") and (ends := _ends(said)) is not None:
        if attribute == "range":
            return _same_ends(claimed, ends)
        said = ends[0 if attribute == "minimum" else 1]
    if attribute in ("scope", "options") or _is_list(said):
        return _in_list(claim, claimed, said, exact=attribute != "options")
    if attribute == "introduced":
        versions = [each for each in read_values(said) if each.kind == "version"]
        return _one_of(claimed, versions)
    if not claimed:
        return _yes_or_no(said) if claim.asserts is None else _flag(claim.asserts, said, edition)
    sure, maybe = _figures(said, edition)
    if not sure:
        return None
    return _told(claimed, sure, maybe, unit=unit, context=context)


def _one_of(claimed: Sequence[Value], given: Sequence[Value]) -> Likeness:
    """Something came in several lines at once: any of their versions is right. That it came in
    a line says less than in which version."""
    versions = [each for each in claimed if each.kind == "version"]
    if not versions or not given or len(versions) != len(claimed):
        return None
    return (
        "same"
        if all(any(_exactly(one, other) for other in given) for one in versions)
        else ("other")
    )


def _exactly(one: Value, other: Value) -> bool:
    return version_key(one.name) == version_key(other.name)


def _told(
    claimed: Sequence[Value],
    sure: Sequence[Value],
    maybe: Sequence[Value],
    *,
    unit: str,
    context: str,
) -> Likeness:
    likely = [_matches(value, sure, unit=unit, context=context) for value in claimed]
    if all(each == "same" for each in likely):
        return "same"
    if any(each == "same" for each in likely) or None in likely:
        return None
    if any(same_value(value, other, unit=unit) for value in claimed for other in maybe):
        return None
    return "other"


def _matches(value: Value, sure: Sequence[Value], *, unit: str, context: str) -> Likeness:
    for other in sure:
        if same_value(value, other, unit=unit):
            if _kilo(value) and _kilo(other) and _kilo(value) != _kilo(other):
                return None
            unknown = value.dimension and not other.dimension and not unit
            if other.kind == "number" and unknown and value.dimension != "share":
                return "same" if value.unit and _named(value.unit, context) else None
            return "same"
    bare = [other for other in sure if other.kind == "number" and not other.dimension]
    if value.dimension and bare and not unit and not any(each.dimension for each in sure):
        return None
    return "other"


def _kilo(value: Value) -> int:
    """What a unit of size counts by: 1024 (`MiB`), 1000 (`MB`, where that is meant), or 0."""
    if value.dimension != "bytes" or value.unit in {"b", "byte", "bytes", "字节"}:
        return 0
    return 1024 if "i" in value.unit else 1000


def _named(unit: str, context: str) -> bool:
    pattern = rf"(?<![\p{{Latin}}\d]){regex.escape(unit)}(?!\p{{Latin}})"
    return regex.search(pattern, context, regex.IGNORECASE) is not None


def _claimed(claim: Claim, subjects: Collection[str]) -> tuple[Value, ...]:
    """What the claim says: its values, and names that are not whom it is about."""
    rest = [name for name in claim.names if name not in subjects]
    names = tuple(Value(kind="literal", text=name, start=0, end=0, name=name) for name in rest)
    return (*claim.values, *names)


def _figures(said: str, edition: str | None) -> tuple[list[Value], list[Value]]:
    """The values that hold, first the one itself, then the same in other words; and those that
    may hold in cases that are not known."""
    clauses = clauses_for(said, edition=edition)
    holding = [part for part in clauses if part.standing == "holds"]
    conditioned = [part for part in holding if part.conditioned and _values(part.text)]
    general = [part for part in holding if not part.conditioned]
    sure = _main(conditioned or general)
    maybe = [value for part in clauses if part.standing == "maybe" for value in _values(part.text)]
    return sure, maybe


def _main(clauses: Sequence[Clause]) -> list[Value]:
    for part in clauses:
        outside = _ASIDE.sub(lambda match: " " * len(match.group()), part.text)
        values = _values(outside) or _values(part.text)
        if not values:
            if len(part.text.strip()) <= MAX_WORD_CHARS:
                return [_word(part.text)]
            continue
        asides = (each["aside"] or each["ie"] for each in _ASIDE.finditer(part.text))
        more = [value for aside in asides for value in read_values(aside or "")]
        same_kind = [each for each in more if each.kind in (values[0].kind, "number")]
        return [values[0], *same_kind]
    return []


def _values(text: str) -> list[Value]:
    """A version beside another value only says since when."""
    found = list(read_values(text))
    if found:
        return [each for each in found if each.kind != "version"] or found
    if _OFF.search(text):
        return [Value(kind="flag", text=text, start=0, end=len(text), name="off")]
    if _ON.search(text):
        return [Value(kind="flag", text=text, start=0, end=len(text), name="on")]
    return []


def _word(text: str) -> Value:
    name = bare_name(text.strip(" 。.，,"))
    return Value(kind="literal", text=text, start=0, end=len(text), name=name)


def _flag(asserts: str, said: str, edition: str | None) -> Likeness:
    sure, maybe = _figures(said, edition)
    claimed = Value(kind="flag", text=asserts, start=0, end=0, name=asserts)
    if not sure or not (sure[0].kind == "flag" or comparable(sure[0], claimed)):
        return None
    if same_value(sure[0], claimed):
        return "same"
    return None if any(same_value(each, claimed) for each in maybe) else "other"


def _yes_or_no(said: str) -> Likeness:
    """A claim without figures says that it is so."""
    if _YES.match(said):
        return "same"
    return "other" if _NO.match(said) else None


def _ends(said: str) -> tuple[str, str] | None:
    """Both ends of a range such as `[1, 100]`."""
    match = _EXTREMES.search(said.replace("`", " "))
    if match is None:
        return None
    low, high = (match[side].strip("[]()（）【】 ") for side in ("low", "high"))
    return low, high


def _same_ends(claimed: Sequence[Value], ends: tuple[str, str]) -> Likeness:
    """A claim about a range names both of its ends; one alone tells nothing."""
    said = [value for each in claimed for value in _unwrapped(each)]
    given = [value for end in ends for value in read_values(end)[:1]]
    if len(said) != len(given) or not given:
        return None
    return "same" if all(map(same_value, said, given)) else "other"


def _unwrapped(value: Value) -> list[Value]:
    """The figures of a quoted range."""
    return list(read_values(value.name)) if value.kind == "literal" else [value]


def _is_list(said: str) -> bool:
    return _LIST.fullmatch(said.strip(" 。.")) is not None


_LIST = regex.compile(r"`[^`]+`(?:\s*(?:[、,，/|]|和|或|及|\band\b|\bor\b)+\s*`[^`]+`)+")


def _in_list(claim: Claim, claimed: Sequence[Value], said: str, *, exact: bool) -> Likeness:
    """A list says all that there is: of a range both ends, of a scope each."""
    listed = {bare_name(each) for each in names_in(said)} | capitals_in(said)
    figures = read_values(said)
    wanted = {value.name for value in claimed if value.kind == "literal" and value.name}
    wanted |= {word for word in capitals_in(claim.body) if word in listed or not wanted}
    numbers = [value for value in claimed if value.kind != "literal"]
    found = [any(same_value(value, each) for each in figures) for value in numbers]
    held = [word in listed for word in wanted]
    if not held and not found:
        return None
    if all(held) and all(found):
        whole = len(wanted) + len(numbers) >= len(listed | {each.text for each in figures})
        return "same" if whole or not exact else None
    return "other" if not any(held) and not any(found) else None


def _same_kind(claim: Claim, said: str) -> Likeness:
    wanted = [name for name, pattern in _KIND.items() if pattern.search(claim.body)]
    given = [name for name, pattern in _KIND.items() if pattern.search(said)]
    if not wanted or not given:
        return None
    return "same" if wanted[0] == given[0] else "other"


def _same_unit(claim: Claim, said: str) -> Likeness:
    wanted, given = unit_in(claim.question), unit_in(said)
    if not wanted or not given:
        return None
    one, other = read_values(f"1 {wanted}"), read_values(f"1 {given}")
    if not one or not other:
        return None
    return "same" if same_value(one[0], other[0]) else "other"


def label_attribute(label: str) -> str | None:
    """The concept that a label names, such as `default` of `Default Value`."""
    attributes = read_wording(label).attributes
    for name in ("default", "minimum", "maximum", "range", "options", "unit", "scope", "type"):
        if name in attributes:
            return name
    return next(iter(sorted(attributes)), None)
