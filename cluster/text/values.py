"""What a text says in figures: numbers with units, flags, dates, versions and quoted literals.

Values are read alike from claims and from evidence, and compared as what they mean: `5 s` and
`5000 ms`, `1 万` and `10000`, `64 MB` and `67108864` bytes, `10m0s` and `10 minutes`.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import regex

from cluster.text.versions import same_version, version_key

Kind = Literal["number", "flag", "date", "version", "literal"]
Dimension = Literal["", "time", "bytes", "share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """`numbers` are all that the figure may mean in the base unit of its dimension (seconds,
    bytes, a share of 1): a megabyte has 10^6 or 2^20 bytes. `plain` is the figure without its
    unit. `start`, `end` are where it stands."""

    kind: Kind
    text: str
    start: int
    end: int
    numbers: tuple[Fraction, ...] = ()
    plain: Fraction | None = None
    dimension: Dimension = ""
    unit: str = ""
    name: str = ""
    quoted: bool = False


_TIME = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
    "week": Fraction(7 * 86400),
    "month": Fraction(30 * 86400),
    "year": Fraction(365 * 86400),
}
_TIME_WORDS = {
    "ns": "ns nanosecond nanoseconds 纳秒",
    "us": "us μs µs microsecond microseconds 微秒",
    "ms": "ms msec millisecond milliseconds millis 毫秒",
    "s": "s sec secs second seconds 秒 秒钟",
    "min": "min mins minute minutes 分钟",
    "h": "h hr hrs hour hours 小时 个小时",
    "d": "d day days 天",
    "week": "week weeks 周 个星期 星期",
    "month": "month months 个月",
    "year": "year years 年",
}
_BYTES = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_BYTE_WORDS = {"byte": "b", "bytes": "b", "字节": "b"}
_SHARES = {"%": 100, "％": 100, "percent": 100, "per cent": 100}
_UNITS = {word: unit for unit, words in _TIME_WORDS.items() for word in words.split()}
_SCALES = {
    "万亿": 10**12,
    "亿": 10**8,
    "千万": 10**7,
    "百万": 10**6,
    "万": 10**4,
    "千": 1000,
    "trillion": 10**12,
    "billion": 10**9,
    "million": 10**6,
    "thousand": 1000,
}
_FLAGS = {"on": "on", "true": "on", "off": "off", "false": "off"}
_NOTHING = {"null": "none", "none": "none", "nil": "none", '""': "", "''": "", "[]": "", "{}": ""}
_DIGITS = {"零": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5} | {
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
_WORDS = {
    word: number
    for number, word in enumerate(
        [
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        ],
        start=2,
    )
}
_MONTHS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
        start=1,
    )
}
_MONTH = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_NOT_INSIDE = r"(?<![\p{Latin}\d_./:#-])"
_NUMBER = r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?(?:e-?\d+)?"
_BYTE_UNIT = r"[kmgtp]i?b(?![a-z/])|[kmgtp]ib|bytes?|字节|b(?![\p{Latin}])"
_TIME_UNIT = "|".join(sorted(map(regex.escape, _UNITS), key=len, reverse=True))
_SCALE = "|".join(sorted(_SCALES, key=len, reverse=True))
_QUOTED = (
    r"``(?P<q0>[^`\n]{1,200})``|`(?P<q1>[^`\n]{1,200})`|\"(?P<q2>[^\"\n]{0,80})\""
    r"|“(?P<q3>[^”\n]{1,80})”|「(?P<q4>[^」\n]{1,80})」"
    r"|(?<![\p{Latin}\d])'(?P<q5>[^'\n]{0,60})'(?![\p{Latin}\d])"
)
_ON_OFF = (
    r"(?-i:ON|OFF|On|Off)|(?:(?<=(?:[=:：为是成到,，/|]|\b(?:is|are|be|to|or|and|not|either|default|defaults|turned"
    r"|switched|value))\s*)|(?<=^\s*))(?:on|off)(?=\s*(?:$|[^\s\p{Latin}\d_.-]|\.(?!\S)"
    r"|(?:by|in|for|and|or|when|if|unless|from|since|as)\b))"
)
"""In small letters these are flags where a value may stand, and else say where or when."""

_SCANNER = regex.compile(
    rf"""
    (?P<quoted>{_QUOTED})
    |(?P<date>(?<!\d)(?:
        (?P<y1>[12]\d{{3}})[-/](?P<m1>\d{{1,2}})[-/](?P<d1>\d{{1,2}})(?!\d)
        |(?P<y2>[12]\d{{3}})\s*年\s*(?:(?P<m2>\d{{1,2}})\s*月\s*(?:(?P<d2>\d{{1,2}})\s*[日号])?)?
        |(?P<m3>{_MONTH})\.?\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>[12]\d{{3}})
        |(?P<d4>\d{{1,2}})\s+(?P<m4>{_MONTH})\s+(?P<y4>[12]\d{{3}})))
    |(?P<clock>(?<![\p{{Latin}}\d_./:#-])\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:\s*[+-]\d{{4}})?(?![\d:]))
    |(?P<version>{_NOT_INSIDE}(?:v\.?\s?\d+(?:\.(?:\d+|x))*|\d+(?:\.\d+){{2,}}(?:\.x)?|\d+(?:\.\d+)*\.x
        |\d+\.\d+(?=\s*(?:版本?|及以上|或更高))
        |(?<=(?:version|release|版本|版)\s{{0,2}})\d+(?:\.(?:\d+|x))*)
        (?:[-.]?(?:rc|beta|alpha|dmr|preview)[-.]?\d*)?(?![\p{{Latin}}\d_]))
    |(?P<duration>{_NOT_INSIDE}(?:\d+(?:\.\d+)?(?:h|ms|m|s|us|µs|ns)){{2,}}(?![\p{{Latin}}\d]))
    |(?P<minutes>{_NOT_INSIDE}\d+m(?![\p{{Latin}}\d]))
    |(?P<flag>(?<![\p{{Latin}}\d_.])(?:{_ON_OFF}|true|false|null|none|nil)(?![\p{{Latin}}\d_]))
    |(?P<number>{_NOT_INSIDE}(?P<figure>{_NUMBER})(?![\d_]|\.\d)
        (?:\s*(?P<scale>{_SCALE}))?
        (?:[\s-]*(?P<unit>{_BYTE_UNIT}|{_TIME_UNIT}|%|％|percent|per\ cent)(?![\p{{Latin}}_]))?
        (?![\p{{Latin}}_-]*[\p{{Latin}}_]\d|[\p{{Latin}}_]))
    |(?P<hanzi>(?<![\p{{Han}}])?[零一二两三四五六七八九]?十[一二三四五六七八九]?(?=\s*[个条次台份天秒类种块段行列])
        |[两二三四五六七八九](?=\s*(?:[个条次台份天秒类种段]|分钟|小时)))
    |(?P<word>(?<![\p{{Latin}}\d_.-])(?:{"|".join(_WORDS)})(?![\p{{Latin}}\d_-]))
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
_DURATION_PART = regex.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s)")
_GO_UNITS = {"h": "h", "m": "min", "s": "s", "ms": "ms", "us": "us", "µs": "us", "ns": "ns"}


def read_values(text: str) -> tuple[Value, ...]:
    """In the order of the text; a quoted figure is that figure, another quote a literal."""
    known = _DIGIT.sub(_if_known, text)
    found = (_value(match) for match in _SCANNER.finditer(known))
    return tuple(value for value in found if value is not None)


_DIGIT = regex.compile(r"(?![0-9])\p{Nd}")


def _if_known(match: regex.Match[str]) -> str:
    """The scanner may know digits that Python cannot read yet."""
    return match.group() if match.group().isdecimal() else " "


def same_value(one: Value, other: Value, *, unit: str = "") -> bool:
    """Whether both say the same. `unit` is what figures without a unit are counted in."""
    if "version" in (one.kind, other.kind):
        return _same_version(one, other)
    if one.kind == "number" and other.kind == "number":
        return _same_number(one, other, unit=unit)
    if {one.kind, other.kind} == {"flag", "number"}:
        flag, number = (one, other) if one.kind == "flag" else (other, one)
        return number.plain == {"on": 1, "off": 0}.get(flag.name)
    if one.kind == other.kind == "date":
        return _same_date(one.name, other.name)
    return _bare(one.name) == _bare(other.name)


def comparable(one: Value, other: Value) -> bool:
    """Whether two values that differ contradict each other when said of the same."""
    if one.kind == "number" and other.kind == "number":
        return "" in (one.dimension, other.dimension) or one.dimension == other.dimension
    return one.kind == other.kind


def unit_in(text: str) -> str:
    """The unit of time or size that a text names, such as what stands behind `Unit:`."""
    match = _UNIT_NAMED.search(text)
    return match.group().casefold() if match else ""


_UNIT_NAMED = regex.compile(
    rf"(?<![\p{{Latin}}])(?:{_BYTE_UNIT}|{_TIME_UNIT})(?![\p{{Latin}}])", regex.IGNORECASE
)


def _value(match: regex.Match[str]) -> Value | None:
    kind, text = match.lastgroup, match.group()
    at = Value(kind="literal", text=text, start=match.start(), end=match.end())
    if match["quoted"] is not None:
        return _quoted(match, at)
    if match["date"] is not None:
        return replace(at, kind="date", name=_date(match))
    if match["clock"] is not None:
        return replace(at, kind="date", name=" ".join(text.split()))
    if match["version"] is not None:
        return replace(at, kind="version", name=text.casefold().lstrip("v. "))
    if match["duration"] is not None or match["minutes"] is not None:
        return _duration(at)
    if match["flag"] is not None:
        folded = text.casefold()
        nothing = _NOTHING.get(folded)
        if nothing is not None:
            return replace(at, name=nothing)
        return replace(at, kind="flag", name=_FLAGS[folded])
    if match["number"] is not None:
        return _number(match, at)
    plain = Fraction(_WORDS[text.casefold()] if kind == "word" else _hanzi(text))
    return replace(at, kind="number", numbers=(plain,), plain=plain)


def _quoted(match: regex.Match[str], at: Value) -> Value:
    groups = (match[f"q{place}"] for place in range(6))
    inner = next((each for each in groups if each is not None), "")
    stripped = inner.strip().strip("\"'")
    whole = _SCANNER.fullmatch(stripped) if stripped else None
    if whole is not None and whole["quoted"] is None and whole["word"] is None:
        value = _value(whole)
        if value is not None:
            return replace(value, text=at.text, start=at.start, end=at.end, quoted=True)
    folded = unicodedata.normalize("NFKC", inner).strip().casefold()
    return replace(at, name=_NOTHING.get(folded, folded), quoted=True)


def _number(match: regex.Match[str], at: Value) -> Value:
    plain = Fraction(match["figure"].replace(",", ""))
    plain *= _SCALES.get((match["scale"] or "").casefold(), 1)
    unit = (match["unit"] or "").casefold()
    numbers, dimension = in_base(plain, unit)
    return replace(at, kind="number", numbers=numbers, plain=plain, dimension=dimension, unit=unit)


def in_base(plain: Fraction, unit: str) -> tuple[tuple[Fraction, ...], Dimension]:
    """A figure in the base unit of what it measures; all that it may mean."""
    if not unit:
        return (plain,), ""
    if unit in _SHARES:
        return (plain / _SHARES[unit],), "share"
    if unit in _UNITS:
        return (plain * _TIME[_UNITS[unit]],), "time"
    letter = _BYTE_WORDS.get(unit, unit[0])
    power = _BYTES.get(letter, 0)
    if "i" in unit or power == 0:
        return (plain * 1024**power,), "bytes"
    return (plain * 1024**power, plain * 1000**power), "bytes"


def _duration(at: Value) -> Value:
    parts = _DURATION_PART.findall(at.text.casefold())
    seconds = sum(
        (Fraction(figure) * _TIME[_GO_UNITS[unit]] for figure, unit in parts), Fraction(0)
    )
    return replace(at, kind="number", numbers=(seconds,), dimension="time", unit="duration")


def _date(match: regex.Match[str]) -> str:
    """`2024-05-31`, `2024-05` or `2024`."""
    for place in "1234":
        if (year := match[f"y{place}"]) is None:
            continue
        month = match[f"m{place}"]
        day = match[f"d{place}"]
        if month is None:
            return year
        number = _MONTHS[month[:3].casefold()] if month[0].isalpha() else int(month)
        return f"{year}-{number:02d}" + (f"-{int(day):02d}" if day else "")
    return ""


def _hanzi(text: str) -> int:
    before, ten, after = text.partition("十")
    if not ten:
        return _DIGITS[text]
    return 10 * (_DIGITS[before] if before else 1) + (_DIGITS[after] if after else 0)


def _same_number(one: Value, other: Value, *, unit: str) -> bool:
    if one.dimension == other.dimension:
        return bool(set(one.numbers) & set(other.numbers))
    if one.dimension and other.dimension:
        return False
    bare, measured = (one, other) if not one.dimension else (other, one)
    if measured.dimension == "share":
        return bare.plain in (measured.plain, *measured.numbers)
    if not unit or bare.plain is None:
        return measured.plain is not None and measured.plain == bare.plain
    numbers, dimension = in_base(bare.plain, unit)
    return dimension == measured.dimension and bool(set(numbers) & set(measured.numbers))


def _same_version(one: Value, other: Value) -> bool:
    if "number" in (one.kind, other.kind):
        number, version = (one, other) if one.kind == "number" else (other, one)
        return version_key(number.text.strip("`\"'")) == version_key(version.name)
    if one.kind != other.kind:
        return False
    return same_version(one.name, other.name) or same_version(other.name, one.name)


def _same_date(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}-") or other.startswith(f"{one}-")


def _bare(name: str) -> str:
    return name.strip().strip("\"'").rstrip("()").strip()
