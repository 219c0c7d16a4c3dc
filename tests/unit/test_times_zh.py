"""Which times Chinese questions name, read on Wednesday 15 April 2026, ten in the morning."""

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
        ("我们上个月底讨论了什么", "上个月底", "2026-03-21/2026-04-01"),
        ("去年国庆去了哪里", "去年国庆", "2025-10-01/2025-10-02"),
        ("三天前谁打过电话", "三天前", "2026-04-12/2026-04-13"),
        ("下周三下午有会吗", "下周三下午", "2026-04-22T12:00/2026-04-22T18:00"),
        ("2024年第三季度的收入", "2024年第三季度", "2024-07-01/2024-10-01"),
        ("1月中旬的会议纪要", "1月中旬", "2026-01-11/2026-01-21"),
        ("2023年的中文资料", "2023年", "2023-01-01/2024-01-01"),
        ("中文的2023年资料", "2023年", "2023-01-01/2024-01-01"),
        ("2023年中文资料里怎么说", "2023年", "2023-01-01/2024-01-01"),
        ("去年的中英文文档", "去年", "2025-01-01/2026-01-01"),
        ("3月中国队赢了吗", "3月", "2026-03-01/2026-04-01"),
        ("2023年中医药大会", "2023年", "2023-01-01/2024-01-01"),
        ("2023年的初稿在哪", "2023年", "2023-01-01/2024-01-01"),
        ("3月底层重构完成了吗", "3月", "2026-03-01/2026-04-01"),
        ("2023年中的文档", "2023年中", "2023-05-01/2023-09-01"),
        ("2023年年中发布的", "2023年年中", "2023-05-01/2023-09-01"),
        ("3月中的会议", "3月中", "2026-03-11/2026-03-21"),
        ("2023年中文化节", "2023年中", "2023-05-01/2023-09-01"),
        ("月中发布了什么", "月中", "2026-04-11/2026-04-21"),
        ("上个月的中间", "上个月的中间", "2026-03-11/2026-03-21"),
        ("八月下旬的周报", "八月下旬", "2025-08-21/2025-09-01"),
        ("腊月廿三吃什么", "腊月廿三", "2026-02-10/2026-02-11"),
        ("今年春节的照片", "今年春节", "2026-02-17/2026-02-18"),
        ("中秋节我们聊了什么", "中秋节", "2025-10-06/2025-10-07"),
        ("前年12月5日的邮件", "前年12月5日", "2024-12-05/2024-12-06"),
        ("昨晚八点半谁在线", "昨晚八点半", "2026-04-14T20:30/2026-04-14T20:31"),
        ("上周五她说了什么", "上周五", "2026-04-10/2026-04-11"),
        ("九十年代的音乐", "九十年代", "1990-01-01/2000-01-01"),
        ("二十世纪八十年代初的政策", "二十世纪八十年代初", "1980-01-01/1983-01-01"),
        ("二〇二三年十月的账单", "二〇二三年十月", "2023-10-01/2023-11-01"),
        ("去年夏天的旅行", "去年夏天", "2025-06-01/2025-09-01"),
        ("今年上半年的目标", "今年上半年", "2026-01-01/2026-07-01"),
        ("三月的第一个星期一", "三月的第一个星期一", "2026-03-02/2026-03-03"),
        ("最近两周的日志", "最近两周", "2026-04-01/2026-04-15T10:00"),
        ("過去三個月的變化", "過去三個月", "2026-01-15/2026-04-15T10:00"),
        ("28号的记录", "28号", "2026-03-28/2026-03-29"),
    ],
)
def test_a_time_and_what_it_means(text: str, raw: str, expected: str) -> None:
    mention = one(text)
    assert (mention.raw, interval(mention)) == (raw, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("从2025年6月6日到9日的行程", "2025-06-06/2025-06-10"),
        ("2018年到2020年的利润", "2018-01-01/2021-01-01"),
        ("昨天下午2点到4点的会议", "2026-04-14T14:00/2026-04-14T16:00"),
        ("自2021年以来的变化", "2021-01-01/"),
        ("2025年3月之后的改动", "2025-04-01/"),
        ("2019年以前的决定", "/2019-01-01"),
        ("截至2024年1月5日的数据", "/2024-01-06"),
        ("2022年及以后的文章", "2022-01-01/"),
    ],
)
def test_stretches_and_open_stretches(text: str, expected: str) -> None:
    mention = one(text)
    assert interval(mention) == expected
    assert mention.kind == "range"


@pytest.mark.parametrize(
    "text",
    [
        "一点建议",
        "有一点慢，万一出错怎么办",
        "两天两夜的故事",
        "三分之一的用户",
        "日本的历史和月亮的传说",
        "一时兴起，十分重要",
        "3号线怎么换乘",
        "上下文窗口有多大",
        "版本 7.5 的默认值",
        "提前天数怎么设置",
        "三年级二班有五个人",
        "后天性免疫缺陷",
        "六一路和八一村在哪",
        "半天没有回复",
        "大雪压垮了屋顶",
        "前端和后端怎么分工",
        "分钟级的监控",
    ],
)
def test_no_time_is_read_into_other_words(text: str) -> None:
    assert [each.raw for each in read(text) if each.placed] == []


def test_kinds_are_told() -> None:
    assert one("每周一的例会").kind == "recurring"
    assert one("为期三天的培训").kind == "duration"
    assert one("2020年5月").kind == "point"
    assert one("上个季度").kind == "relative"
    assert one("上个季度").grain == "quarter"


def test_english_inside_chinese_is_read_too() -> None:
    first, second = read("请比较 last week 和 2025年 的数据")
    assert (interval(first), interval(second)) == ("2026-04-06/2026-04-13", "2025-01-01/2026-01-01")


@pytest.mark.parametrize(
    ("text", "demanded"),
    [("仅限2024年的文档", True), ("只看去年的", True), ("2024年的文档", False)],
)
def test_a_time_is_a_preference_unless_words_demand_it(text: str, *, demanded: bool) -> None:
    assert one(text).demanded is demanded


def test_traditional_characters_keep_their_places() -> None:
    mention = one("請問上個禮拜五發生了甚麼")
    assert (mention.raw, mention.start) == ("上個禮拜五", 2)
    assert interval(mention) == "2026-04-10/2026-04-11"
