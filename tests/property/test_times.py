"""Reading times holds on any text, moment and zone."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serve.plan.plan import MAX_TIMES
from serve.plan.times import FIRST_YEAR, LAST_YEAR, find_times

WORDS_TEXT = """
last next this past upcoming week weeks month year day days Friday Sunday May march 5 17
31 2024 1999 between and to from until by since before after ago in on at the a of first
second early mid late end beginning noon midnight half quarter past 3pm 15:30 8am tomorrow
yesterday today now tonight morning evening christmas easter Q3 H1 decade century 1990s
12/31 2024-02-30 29 february for three hundred
上 下 这 个 周 星期 三 五 日 年 月 2025年 2月30日 初八 腊月 除夕
春节 前 后 之前 以后 半 十 点 分 到 至 从 最近 过去 未来 季度 上旬 底 末
今天 明年 去年 晚上 下午
"""
WORDS = WORDS_TEXT.split()
ZONES = st.sampled_from(["UTC", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"])
MOMENTS = st.datetimes(
    datetime(1900, 1, 1),  # noqa: DTZ001  the zone is drawn
    datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
TIMELIKE = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
TIGHT = st.lists(st.sampled_from(WORDS), max_size=8).map("".join)


@settings(max_examples=150, deadline=None)
@given(text=st.one_of(TIMELIKE, TIGHT, st.text(max_size=60)), now=MOMENTS, zone=ZONES)
def test_each_mention_is_a_piece_of_the_text_and_a_stretch_of_time(
    text: str, now: datetime, zone: str
) -> None:
    mentions = find_times(text, now=now, zone=ZoneInfo(zone))
    for each in mentions:
        assert text[each.start : each.end] == each.raw
        assert each.raw
        for moment in (each.begins, each.ends):
            assert moment is None or moment.utcoffset() == timedelta(0)
            assert moment is None or FIRST_YEAR - 1 <= moment.year <= LAST_YEAR + 1
        if each.begins is not None and each.ends is not None:
            assert each.begins < each.ends
    places = [(each.start, each.end) for each in mentions]
    assert all(first[1] <= second[0] for first, second in pairwise(places))


@settings(max_examples=50, deadline=None)
@given(text=TIMELIKE, now=MOMENTS, zone=ZONES)
def test_the_same_question_is_read_the_same_way(text: str, now: datetime, zone: str) -> None:
    place = ZoneInfo(zone)
    assert find_times(text, now=now, zone=place) == find_times(text, now=now, zone=place)


@settings(max_examples=40, deadline=None)
@given(now=MOMENTS, zone=ZONES)
def test_yesterday_today_and_tomorrow_touch_and_hold_now(now: datetime, zone: str) -> None:
    place = ZoneInfo(zone)
    text = "was it yesterday, is it today, or will it be tomorrow?"
    before, here, after = find_times(text, now=now, zone=place)
    assert before.ends == here.begins
    assert here.ends == after.begins
    assert here.holds(now)
    assert not before.holds(now)


@settings(max_examples=40, deadline=None)
@given(now=MOMENTS, days=st.integers(1, 400))
def test_both_languages_say_the_same(now: datetime, days: int) -> None:
    pairs = (
        (f"it was {days} days ago", f"那是{days}天前的事"),
        ("what happened last week?", "上周发生了什么"),
        ("what happened in the last 3 months?", "过去三个月发生了什么"),
        ("notes from last year", "去年的笔记"),
    )
    for english, chinese in pairs:
        ours, theirs = find_times(english, now=now), find_times(chinese, now=now)
        assert [(each.begins, each.ends) for each in ours] == [
            (each.begins, each.ends) for each in theirs
        ]


@settings(max_examples=50, deadline=None)
@given(now=MOMENTS, month=st.sampled_from(["January", "April", "August", "December"]))
def test_a_month_without_a_year_has_begun(now: datetime, month: str) -> None:
    (mention,) = find_times(f"what did she say in {month}?", now=now)
    assert mention.begins is not None
    assert mention.begins <= now
    assert now - mention.begins < timedelta(days=366)


@pytest.mark.parametrize(
    "text",
    [
        "the day before " * 500,
        "early in the " * 600,
        "一二三四五六七八九十" * 800,
        "1 2 3 " * 1300,
        "in may " * 1100,
        "第" * 8000,
    ],
)
def test_long_texts_are_read_in_bounds(text: str) -> None:
    started = time.process_time()
    found = find_times(text, now=datetime(2026, 4, 15, tzinfo=UTC))
    assert len(found) <= MAX_TIMES
    assert time.process_time() - started < 2
