"""How well are time expressions read? `python -m eval.temporal [--data FOLDER] [--misses]`

Every source of the gold rows has conventions of its own (`CONVENTIONS`): whether "5 to 7 May"
holds the 7th, what "end of the month" is, which way "on Monday" points. They contradict each
other, so each source is scored by its own; the product's defaults are told beside it. A row is
right when the interval of the mention that covers most of the gold span equals the gold interval,
or any of the readings that its source accepts. `soft` counts those that overlap by half.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import regex

from serve.plan.time_mention import Grain, TimeMention
from serve.plan.time_units import EDGES, PARTS, Conventions
from serve.plan.times import DEFAULTS, find_times

DATA = Path(__file__).parents[2] / "shared" / "data" / "temporal_expressions"
MINUTE_S = 60
HALF = 0.5

Edges = Mapping[tuple[str, str], tuple[Grain, int | None, int | None]]

RECOGNIZERS_EDGES: Edges = {
    **EDGES,
    ("day", "end"): ("second", 86_399, None),
    ("month", "early"): ("day", 0, 15),
    ("month", "mid"): ("day", 9, 20),
    ("month", "late"): ("day", 15, None),
    ("year", "early"): ("month", 0, 4),
    ("year", "mid"): ("month", 4, 8),
    ("year", "late"): ("month", 8, None),
}
RECOGNIZERS = Conventions(
    prefer="future",
    whole_end=False,
    after="long",
    until_holds=False,
    rolling="days",
    ago="day",
    last_weekday="week",
    parts={
        **PARTS,
        "morning": (8, 12),
        "early_morning": (8, 10),
        "forenoon": (8, 12),
        "afternoon": (12, 16),
        "evening": (16, 20),
        "early_evening": (16, 18),
        "night": (20, 24 - 1 / 3600),
    },
    edges=RECOGNIZERS_EDGES,
)
DUCKLING = Conventions(
    prefer="future",
    first_week="thursday",
    after="start",
    until_holds=True,
    from_now=frozenset({"until"}),
    rolling="whole",
    ago="below",
    unit_count_is_nth=True,
    last_weekday="week",
    weekend=(4, 18),
    clock_end_shared=True,
    clock_end={
        "hour": timedelta(hours=1),
        "minute": timedelta(minutes=1),
        "second": timedelta(seconds=1),
    },
    parts={
        **PARTS,
        "morning": (0, 12),
        "early_morning": (0, 9),
        "lunch": (12, 14),
        "after_lunch": (13, 17),
        "afternoon": (12, 19),
        "evening": (18, 24),
        "night": (18, 24),
        "late_night": (21, 24),
    },
    seasons={
        "spring": ((3, 20), (6, 22)),
        "summer": ((6, 21), (9, 24)),
        "autumn": ((9, 23), (12, 22)),
        "winter": ((12, 21), (3, 21)),
    },
    edges={
        **EDGES,
        ("week", "early"): ("day", 0, 3),
        ("week", "late"): ("day", 4, None),
        ("year", "early"): ("month", 0, 3),
        ("year", "late"): ("month", 8, None),
    },
)
DUCKLING_ZH = replace(
    DUCKLING,
    orthodox_lent=True,
    ago="since",
    next_weekday="nearest",
    parts={
        **PARTS,
        "morning": (4, 12),
        "early_morning": (4, 12),
        "forenoon": (8, 12),
        "afternoon": (12, 19),
        "evening": (18, 24),
        "night": (18, 24),
    },
)
JIONLP = Conventions(
    open_offsets=True,
    rolling="exact",
    now_holds=timedelta(seconds=1),
    prefer="current",
    first_week="monday",
    from_now=frozenset({"before", "until"}),
    ago="day",
    clock_end={"hour": timedelta(seconds=1), "minute": timedelta(minutes=1)},
    parts={
        **PARTS,
        "dawn": (0, 6),
        "morning": (6, 10),
        "forenoon": (8, 12),
        "noon": (12, 14),
        "after_lunch": (13, 15),
        "evening": (18, 24),
        "night": (20, 24),
        "daytime": (6, 19),
    },
    edges={
        **EDGES,
        ("month", "early"): ("day", 0, 5),
        ("month", "late"): ("day", -5, None),
        ("year", "early"): ("month", 0, 2),
        ("year", "late"): ("month", 10, None),
    },
)
CONVENTIONS: Mapping[tuple[str, str], Conventions] = {
    ("recognizers", "en"): RECOGNIZERS,
    ("recognizers", "zh"): replace(RECOGNIZERS, after="start", lunar="never", day_first=True),
    ("duckling", "en"): DUCKLING,
    ("duckling", "zh"): DUCKLING_ZH,
    ("jionlp", "zh"): JIONLP,
    ("dateparser", "en"): replace(RECOGNIZERS, rolling="now"),
    ("dateparser", "zh"): replace(RECOGNIZERS, rolling="now"),
}
ZONES = {"duckling": ZoneInfo("Etc/GMT+2"), "jionlp": ZoneInfo("Asia/Shanghai")}
UTC = ZoneInfo("UTC")

OUT_OF_SCOPE: Mapping[str, str] = {
    "festivals of the Hindu, Sikh, Jain, Buddhist and Parsi calendars": (
        r"diwali|deepavali|dhan(?:atray|ter)|kali chaudas|choti|naraka|lakshmi|laxmi|bhaiya|bhau|"
        r"bhai ?(?:dooj|beej|tika|phonta)|chhath|dala (?:chhath|puja)|surya shashthi|annakut|"
        r"go(?:var|wardhan|dhan)|govatsa|vasu baras|tulsi|dussehra|dasara|vijaya|navaratri|durga|"
        r"karva chauth|shiva?rat|pongal|sankrant|maghi|lohri|bogi|bhogi|uzhavar|vai?sha?kh|vaisakh|"
        r"baisakh|vesak|buddha|onam|panchami|janmashtami|ashtami|krishna|gokulashtami|raksha|rakhi|"
        r"ganesh|vinayaka|\bholi\b|holika|dhuli|dhulandi|phagwah|navami|hanuman|mahavir|purnima|"
        r"pargat|jayanti|guru |gurpurab|ravidas|valmiki|[uy]u?gadi|samvatsar|ratha?[ -]?yatra|"
        r"rath jatra|chariot festival|parsi|navroz|nowruz|chaturthi|teej|"
        "洒红|灑紅|欢悦节|歡悅節|[侯好][丽利麗][节節]|[庞龐]格[尔爾][节節]|淡米[尔爾]|丰收节|豐收節|"
        "[欧歐]南|圣母节|聖母節|十[胜勝][节節]|九夜|[难難]近母|比[萨薩][宝寶]蕉|[卫衛]塞|排灯|排燈|"
        "屠妖|浴佛|佛诞|佛誕|奎师那|象头神"
    ),
    "days that organisers set anew: service days, EMS week, Earth Hour, primaries": (
        r"gysd|youth service|\bemsc? |ems week|earth hour|(?:super|giga|mini)[ -]*tuesday|"
        "全球青年服[务務]日|地球一小[时時]"
    ),
    "the nearest of its kind to another time": r"\bclosest\b|\bnearest\b",
}
"""What the rules do not try, by kind: less than a tenth of the rows of duckling and jionlp."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    id: str
    text: str
    span: str | None
    now: datetime
    source: str
    language: str
    kind: str
    accepted: tuple[tuple[datetime | None, datetime | None], ...]
    future: bool

    @property
    def start_only(self) -> bool:
        """Sources of instants tell no end."""
        return self.source == "dateparser" or (
            self.source == "recognizers" and self.kind == "datetime"
        )


def load_rows(folder: Path = DATA) -> list[Row]:
    lines = (folder / "data.jsonl").read_text("utf-8").splitlines()
    return [_row(json.loads(line)) for line in lines if line]


def _row(raw: Mapping[str, Any]) -> Row:
    zone = ZONES.get(raw["source"], UTC)
    given = raw.get("alternatives") or [[raw["start"], raw["end"]]]
    return Row(
        id=raw["id"],
        text=raw["text"],
        span=raw.get("span"),
        now=datetime.fromisoformat(raw["ref"]).replace(tzinfo=zone),
        source=raw["source"],
        language=raw["lang"],
        kind=raw["type"],
        accepted=tuple((_local(start, zone), _local(end, zone)) for start, end in given),
        future=bool(raw.get("future_mode")),
    )


def _local(text: str | None, zone: ZoneInfo) -> datetime | None:
    if text is None:
        return None
    year, rest = text.split("-", 1)
    return datetime.fromisoformat(f"{int(year):04d}-{rest}").replace(tzinfo=zone)


def out_of_scope(row: Row) -> str | None:
    """Why no answer is expected: a kind of expression, never a single row."""
    for kind, pattern in OUT_OF_SCOPE.items():
        if regex.search(pattern, row.text, regex.IGNORECASE):
            return kind
    return None


def read(row: Row, says: Conventions) -> TimeMention | None:
    """The mention that covers most of the gold span, or of the whole text."""
    if row.future and says.prefer == "current":
        says = replace(says, prefer="future")
    zone = row.now.tzinfo or UTC
    mentions = [m for m in find_times(row.text, now=row.now, zone=zone, says=says) if m.placed]
    if not mentions:
        return None
    start, end = _span(row)
    return max(mentions, key=lambda each: _shared(each.start, each.end, start, end))


def _span(row: Row) -> tuple[int, int]:
    at = row.text.casefold().find(row.span.casefold()) if row.span else -1
    return (at, at + len(row.span or "")) if at >= 0 else (0, len(row.text))


def _shared(a: int, b: int, c: int, d: int) -> float:
    together = max(0, min(b, d) - max(a, c))
    return together / max(1, max(b, d) - min(a, c))


def exact(row: Row, mention: TimeMention | None) -> bool:
    if mention is None:
        return False
    if row.start_only:
        return any(_near(mention.begins, start) for start, _ in row.accepted)
    return (mention.begins, mention.ends) in row.accepted


def _near(ours: datetime | None, gold: datetime | None) -> bool:
    if ours is None or gold is None:
        return ours is gold
    return abs((ours - gold).total_seconds()) <= MINUTE_S


def soft(row: Row, mention: TimeMention | None) -> bool:
    """The intervals share half of what they cover together."""
    if mention is None:
        return False
    return exact(row, mention) or any(
        _overlap(mention.begins, mention.ends, start, end) >= HALF for start, end in row.accepted
    )


def _overlap(
    a: datetime | None, b: datetime | None, c: datetime | None, d: datetime | None
) -> float:
    if a is None or b is None or c is None or d is None:
        return 0.0
    together = (min(b, d) - max(a, c)).total_seconds()
    return max(0.0, together) / max(1.0, (max(b, d) - min(a, c)).total_seconds())


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    rows: int
    left_out: int
    exact: float
    soft: float
    """Shares of the rows in scope."""


def score(rows: Sequence[Row], says: Conventions) -> Score:
    asked = [row for row in rows if out_of_scope(row) is None]
    mentions = [(row, read(row, says)) for row in asked]
    return Score(
        rows=len(rows),
        left_out=len(rows) - len(asked),
        exact=_share(exact(row, mention) for row, mention in mentions),
        soft=_share(soft(row, mention) for row, mention in mentions),
    )


def _share(right: Iterable[bool]) -> float:
    found = list(right)
    return sum(found) / max(1, len(found))


def groups(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.source, row.language), []).append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m eval.temporal")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with data.jsonl")
    parser.add_argument("--misses", action="store_true", help="list the rows read wrongly")
    parser.add_argument("--source", help="only this source, such as duckling-en")
    given = parser.parse_args()
    rows = load_rows(given.data)
    print(f"{'source':16} {'rows':>5} {'out':>4} {'exact':>7} {'soft':>7} {'defaults':>9}")
    for (source, language), group in groups(rows).items():
        name = f"{source}-{language}"
        if given.source in {None, name}:
            _print(name, group, CONVENTIONS[source, language], misses=given.misses)
    _print_scope(rows)
    started = time.process_time()
    for row in rows:
        find_times(row.text, now=row.now)
    taken_ms = (time.process_time() - started) * 1000
    print(f"{taken_ms / len(rows):.2f} ms of CPU a text")


def _print(name: str, rows: Sequence[Row], says: Conventions, *, misses: bool) -> None:
    got, ours = score(rows, says), score(rows, DEFAULTS)
    print(
        f"{name:16} {got.rows:5} {got.left_out:4} {got.exact:7.1%} {got.soft:7.1%}"
        f" {ours.exact:9.1%}"
    )
    for row in rows if misses else ():
        mention = read(row, says)
        if out_of_scope(row) is None and not exact(row, mention):
            print("   ", row.id, repr(_told_text(row)), _told(row, mention))


def _told_text(row: Row) -> str:
    start, end = _span(row)
    return row.text[max(0, start - 25) : end + 25]


def _told(row: Row, mention: TimeMention | None) -> str:
    gold = " or ".join(f"{_iso(a, row)}/{_iso(b, row)}" for a, b in row.accepted)
    if mention is None:
        return f"gold {gold}, read nothing"
    ours = f"{_iso(mention.begins, row)}/{_iso(mention.ends, row)}"
    return f"gold {gold}, read {ours} in {mention.raw!r}"


def _iso(moment: datetime | None, row: Row) -> str:
    if moment is None:
        return "…"
    local = moment.astimezone(row.now.tzinfo).replace(tzinfo=None)
    return local.isoformat(timespec="minutes").removesuffix("T00:00")


def _print_scope(rows: Iterable[Row]) -> None:
    for kind, count in Counter(filter(None, map(out_of_scope, rows))).most_common():
        print(f"out of scope: {count:3} {kind}")


if __name__ == "__main__":
    main()
