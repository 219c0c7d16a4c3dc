"""Figures are read as what they mean."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.text.values import Value, comparable, read_values, same_value, unit_in


def only(text: str) -> Value:
    (value,) = read_values(text)
    return value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 s", "5000 ms"),
        ("`10m0s`", "10 minutes"),
        ("720h", "30 days"),
        ("1 万", "10000"),
        ("1.5 亿", "150,000,000"),
        ("65,536", "65536"),
        ("3.5%", "3.5 percent"),
        ("64 MB", "67108864 bytes"),
        ("1 GiB", "1024 MiB"),
        ("2024 年 5 月 31 日", "May 31, 2024"),
        ("2024-05-31", "31 May 2024"),
        ("v7.5.0", "7.5.0"),
        ("`ON`", "true"),
        ("三个", "3"),
        ("two", "2"),
        ('"" ', "''"),
        ("`None`", "NULL"),
        ("`18446744073709551615`", "18446744073709551615"),
    ],
)
def test_the_same_said_otherwise(one: str, other: str) -> None:
    assert same_value(only(one), only(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 s", "5 ms"),
        ("64 MB", "64 GB"),
        ("18446744073709551615", "18446744073709551614"),
        ("`ON`", "`OFF`"),
        ("v7.5.0", "v7.5.1"),
        ("2024-05-31", "2024-05-30"),
        ("0.8", "0.7"),
        ("`static`", "`dynamic`"),
    ],
)
def test_what_differs_can_contradict(one: str, other: str) -> None:
    assert not same_value(only(one), only(other))
    assert comparable(only(one), only(other))


def test_a_time_and_a_size_do_not_contradict() -> None:
    assert not comparable(only("5 s"), only("5 MB"))


def test_bare_figures_are_counted_in_the_unit_that_is_known() -> None:
    assert same_value(only("5 s"), only("5000"), unit="ms")
    assert not same_value(only("5 s"), only("5"), unit="ms")


@pytest.mark.parametrize("text", ["IVF_SQ8", "x86_64", "http://10.0.0.1:80/a", "sha256", "node-3"])
def test_figures_inside_names_are_none(text: str) -> None:
    assert read_values(text) == ()


def test_places_point_into_the_text() -> None:
    text = "At most 64 MB, `ON` since v2.1"
    assert [text[v.start : v.end] for v in read_values(text)] == ["64 MB", "`ON`", "v2.1"]


def test_a_unit_is_named() -> None:
    assert unit_in("单位：毫秒") == "毫秒"
    assert unit_in("no measure here") == ""


@given(st.integers(min_value=0, max_value=10**18))
def test_a_figure_is_itself_with_and_without_thousands(number: int) -> None:
    assert only(f"{number:,}").plain == Fraction(number)
    assert same_value(only(f"{number:,}"), only(str(number)))
    assert not same_value(only(str(number)), only(str(number + 1)))


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    for value in read_values(text):
        assert text[value.start : value.end] == value.text
        assert same_value(value, value)
