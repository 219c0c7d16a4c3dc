"""Which times English questions name, read on Wednesday 15 April 2026, ten in the morning."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from serve.plan.time_mention import TimeMention
from serve.plan.times import find_times

NOW = datetime(2026, 4, 15, 10, tzinfo=UTC)


def read(text: str) -> tuple[TimeMention, ...]:
    return find_times(text, now=NOW)


def one(text: str) -> TimeMention:
    (mention,) = read(text)
    return mention


def interval(mention: TimeMention) -> str:
    def told(moment: datetime | None) -> str:
        text = moment.isoformat(timespec="minutes")[:16] if moment else ""
        return text.removesuffix("T00:00")

    return f"{told(mention.begins)}/{told(mention.ends)}"


@pytest.mark.parametrize(
    ("text", "raw", "expected"),
    [
        ("Which bugs did we close two weeks ago?", "two weeks ago", "2026-03-30/2026-04-06"),
        (
            "Who called the day before yesterday?",
            "the day before yesterday",
            "2026-04-13/2026-04-14",
        ),
        ("What did Ada say last Friday about caching?", "last Friday", "2026-04-10/2026-04-11"),
        ("plans for the end of next month", "the end of next month", "2026-05-21/2026-06-01"),
        ("what changed in early May", "early May", "2025-05-01/2025-05-11"),
        ("sales during Q3 2024 in Spain", "Q3 2024", "2024-07-01/2024-10-01"),
        ("music of the 90s", "the 90s", "1990-01-01/2000-01-01"),
        ("our budget in fiscal terms for 2023", "2023", "2023-01-01/2024-01-01"),
        ("meeting on 3 March 2025 with Lin", "3 March 2025", "2025-03-03/2025-03-04"),
        ("the call of January 7th", "January 7th", "2026-01-07/2026-01-08"),
        ("what happened on the 28th?", "the 28th", "2026-03-28/2026-03-29"),
        ("logs of 2025-11-30 please", "2025-11-30", "2025-11-30/2025-12-01"),
        ("the visit last summer", "last summer", "2025-06-01/2025-09-01"),
        ("Christmas 2024 dinner", "Christmas 2024", "2024-12-25/2024-12-26"),
        ("at Easter we went to Rome", "Easter", "2026-04-05/2026-04-06"),
        (
            "thanksgiving two years ago at home",
            "thanksgiving two years ago",
            "2024-11-28/2024-11-29",
        ),
        (
            "the second Tuesday of March 2026",
            "the second Tuesday of March 2026",
            "2026-03-10/2026-03-11",
        ),
        ("the last week of February", "the last week of February", "2026-02-23/2026-03-02"),
        (
            "it broke yesterday at 3:40 pm",
            "yesterday at 3:40 pm",
            "2026-04-14T15:40/2026-04-14T15:41",
        ),
        ("I saw her this morning in the lab", "this morning", "2026-04-15T06:00/2026-04-15T12:00"),
        ("who phoned on Monday evening?", "Monday evening", "2026-04-13T17:00/2026-04-14"),
        ("errors in the last 3 days", "last 3 days", "2026-04-12/2026-04-15T10:00"),
        ("the late 2010s were quiet", "late 2010s", "2017-01-01/2020-01-01"),
        ("rules of the 18th century", "the 18th century", "1700-01-01/1800-01-01"),
        ("mid-January was cold", "mid-January", "2026-01-11/2026-01-21"),
    ],
)
def test_a_time_and_what_it_means(text: str, raw: str, expected: str) -> None:
    mention = one(text)
    assert mention.raw == raw
    assert interval(mention) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("was it between 3 and 5 pm on 2 March 2026?", "2026-03-02T15:00/2026-03-02T17:00"),
        ("we met from the 6th to the 9th of June 2025", "2025-06-06/2025-06-10"),
        ("orders from Nov to Feb 2026", "2025-11-01/2026-03-01"),
        ("profits between 2018 and 2020", "2018-01-01/2021-01-01"),
        ("on call 9am-1pm yesterday", "2026-04-14T09:00/2026-04-14T13:00"),
        ("from Monday to Wednesday of that sprint", "2026-04-13/2026-04-16"),
        ("away from 2 February for 10 days", "2026-02-02/2026-02-12"),
        ("since 2021 we use it", "2021-01-01/"),
        ("all changes after March 2025", "2025-04-01/"),
        ("decisions before 2019", "/2019-01-01"),
        ("due by the end of May 2026", "/2026-06-01"),
        ("posts from 2022 or later", "2022-01-01/"),
        ("everything up to 5 January 2024", "/2024-01-06"),
    ],
)
def test_stretches_and_open_stretches(text: str, expected: str) -> None:
    mention = one(text)
    assert interval(mention) == expected
    assert mention.kind == "range"


@pytest.mark.parametrize(
    "text",
    [
        "What is new in version 2.0?",
        "see section 3.4 and table 12",
        "she ate 5 apples",
        "May I ask something?",
        "you may want to march on",
        "march forward, then fall back",
        "spring boot starters",
        "the second choice took a minute",
        "a table of 2048 rows, on average 1998 users",
        "ratio 16:9 and a 50/50 split",
        "support is 24/7",
        "he sat in the sun and wed",
        "10.0.0.1 answers on port 8080",
        "between 3 and 5 nodes, from 10 to 20 threads",
        "error 404 happens in 500 requests",
        "release v2024.1.3 of the driver",
        "at the end of the day it works",
        "the decade-old mystery of may",
        "one moment in the history of nations",
    ],
)
def test_no_time_is_read_into_other_words(text: str) -> None:
    assert [each.raw for each in read(text) if each.placed] == []


def test_kinds_and_grains_are_told() -> None:
    assert [each.kind for each in read("every Monday for three days")] == ["recurring", "duration"]
    assert not any(each.placed for each in read("every Monday for three days"))
    assert one("in May 2020").kind == "point"
    assert one("in May 2020").grain == "month"
    assert one("three hours ago").grain == "hour"
    assert one("last quarter").kind == "relative"


def test_several_times_are_told_in_order() -> None:
    first, second = read("Compare the report of March 2024 with that of yesterday.")
    assert (interval(first), interval(second)) == ("2024-03-01/2024-04-01", "2026-04-14/2026-04-15")
    assert first.end < second.start


@pytest.mark.parametrize(
    ("text", "demanded"),
    [
        ("only in 2024", True),
        ("show me documents strictly from 2024", True),
        ("2024 only, please", True),
        ("in 2024", False),
        ("the only report of 2024", False),
    ],
)
def test_a_time_is_a_preference_unless_words_demand_it(text: str, *, demanded: bool) -> None:
    assert one(text).demanded is demanded


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("before 2020", "before"),
        ("until Friday", "until"),
        ("since last May", "since"),
        ("after 2020", "after"),
        ("in 2020", "in"),
    ],
)
def test_bounds_are_told(text: str, bound: str) -> None:
    assert one(text).bound == bound
