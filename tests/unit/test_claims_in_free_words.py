"""What frames a claim, and how it is put, changes nothing of what it says."""

from __future__ import annotations

import pytest

from cluster.text.values import read_values
from serve.claims.judge import Evidence, Judgement, judge
from serve.claims.reading import read_claim
from serve.claims.units import outline, read_units

PAGE = """# Tidepool guide

### `lease_ms`

- 默认值：`400`
- 范围：`[10, 5000]`

## Notes

The gap is found by taking the low water mark from 1. For short gaps, it is zero.

如果字段的值为 NULL，那么它会被当作 0 来比较。

For ebb 1.4.x, call `open_gate` first.
"""


def judged(claim: str) -> Judgement:
    units = read_units(PAGE, start=0, end=len(PAGE), headings=outline(PAGE), path=("Tidepool",))
    evidence = Evidence(place=0, units=units, edition="2.0", product="tidepool")
    return judge(read_claim(claim, products=["tidepool", "ebb"]), [evidence])


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("按 tidepool 2.0 的文档，lease_ms 的默认值为 400。", "supported"),
        ("参照 tidepool v2.0 手册：lease_ms 默认是 500", "contradicted"),
        ("tidepool 2.0 里 lease_ms 最大可以设为 5000。", "supported"),
        ("lease_ms 应该最小可设为 20（适用于 tidepool 2.0）", "contradicted"),
        ("The gap is found by taking the low water mark from 1. (For tidepool 2.0)", "supported"),
        ("The gap is not found by taking the low water mark from 1.", "contradicted"),
        ("在 tidepool 2.0 中：如果字段的值为 NULL，那么它会被当作 0 来比较。", "supported"),
        ("在 tidepool 2.0 中：如果字段的值为 NULL，那么它会被当作 7 来比较。", "contradicted"),
    ],
)
def test_a_frame_says_nothing_but_what_the_claim_is_about(claim: str, verdict: str) -> None:
    assert judged(claim).verdict == verdict


@pytest.mark.parametrize(
    ("claim", "versions", "claimed"),
    [
        ("In tidepool 2.0: this began with the 1.x line.", ("2.0",), ["1.x"]),
        ("For ebb 1.4.x, call `open_gate`. (This is about tidepool 2.0.)", ("2.0",), ["1.4.x"]),
        ("In tidepool 2.0 and 2.1, lease_ms is 400", ("2.0", "2.1"), []),
        ("Between tidepool 2.0 and 2.1 nothing changed", ("2.0",), []),
    ],
)
def test_a_frame_tells_of_which_versions_a_claim_is(
    claim: str, versions: tuple[str, ...], claimed: list[str]
) -> None:
    read = read_claim(claim, products=["tidepool", "ebb"])
    assert read.versions == versions
    assert [value.text for value in read.values if value.kind == "version"] == claimed


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("Jobs on disk depend on it.", []),
        ("On Linux, off the record", ["on"]),
        ("It is turned on by default", ["on"]),
        ("set to off.", ["off"]),
        ("either off or on", ["off", "on"]),
        ("on/off", ["on", "off"]),
        ("ON", ["on"]),
    ],
)
def test_on_and_off_are_flags_where_a_value_stands(text: str, flags: list[str]) -> None:
    assert [value.name for value in read_values(text) if value.kind == "flag"] == flags


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("One gate serves many basins at once (ratio N:1).", "supported"),
        ("One gate serves many basins at once (ratio N:5).", "contradicted"),
        ("One gate serves many basins at once (class K9).", "not_found"),
    ],
)
def test_digits_inside_words_must_stand_there(claim: str, verdict: str) -> None:
    page = "# Gates\n\nOne gate serves many basins at once (ratio N:1).\n"
    units = read_units(page, start=0, end=len(page), headings=outline(page))
    evidence = Evidence(place=0, units=units, edition=None, product=None)
    assert judge(read_claim(claim), [evidence]).verdict == verdict


@pytest.mark.parametrize(
    ("claim", "subjects"),
    [
        ("The default value of depth is 12.", ("depth",)),
        ("depth does not default to 12", ("depth",)),
        ("tidepool 2.0 ships with depth set to `12`", ("depth",)),
        ("depth 最大可以设为 90", ("depth",)),
        ("系统变量 depth 的默认值为 12", ("depth",)),
        ("`tide-log` 的默认值为 12；tide-gauge 的最大值为 12", ("tide-gauge",)),
        ("The maximum number of gates is 12", ()),
        ("The default of gates per basin is 12", ()),
        ("By default, gates are shut.", ()),
    ],
)
def test_a_plain_word_that_has_a_value_may_be_a_name(claim: str, subjects: tuple[str]) -> None:
    assert read_claim(claim, products=["tidepool"]).subjects == subjects


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("The default value of depth is not 12 in tidepool 2.0.", "contradicted"),
        ("tidepool 2.0 里 depth 最大可以设为 90。", "supported"),
        ("tidepool 2.0 里 depth 最大可以设为 91。", "contradicted"),
        ("`label` defaults to `tide-(local name)`", "supported"),
        ("label 的默认值是 `ebb-(local name)`", "contradicted"),
        ("draught 的默认值是 12", "not_found"),
    ],
)
def test_a_plain_name_is_told_by_the_headings(claim: str, verdict: str) -> None:
    page = (
        "### `depth`\n\n- 默认值：`12`\n- 范围：`[1, 90]`\n\n"
        "### `label`\n\n- 默认值：`tide-(local name)`\n"
    )
    units = read_units(page, start=0, end=len(page), headings=outline(page))
    evidence = Evidence(place=0, units=units, edition="2.0", product="tidepool")
    assert judge(read_claim(claim, products=["tidepool"]), [evidence]).verdict == verdict


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("The new gate opens faster and saves 10% of the water.", "supported"),
        ("The new gate opens faster and saves 23% of the water.", "contradicted"),
        ("The new gate does not open faster and saves 10% of the water.", "contradicted"),
        ("The old lock is guaranteed to close in time at spring tide.", "contradicted"),
        ("The old lock closes in time at spring tide.", "not_found"),
    ],
)
def test_what_is_denied_of_something_else_denies_nothing(claim: str, verdict: str) -> None:
    page = (
        "This is not vanity - the new gate opens faster and saves 10% of the water.\n\n"
        "The old lock is not guaranteed to close in time at spring tide.\n"
    )
    units = read_units(page, start=0, end=len(page), headings=outline(page))
    evidence = Evidence(place=0, units=units, edition=None, product=None)
    assert judge(read_claim(claim), [evidence]).verdict == verdict


@pytest.mark.parametrize(
    ("claim", "named"),
    [
        ("tide-gauge defaults to 12", True),
        ("The tide-log-gc-limit was raised to 12", True),
        ("`depth` may be changed at run time", True),
        ("The tide-gauge shows 12 metres at a read-only panel", False),
    ],
)
def test_a_hyphen_alone_makes_no_name(claim: str, named: bool) -> None:
    assert read_claim(claim).named is named


def test_a_plain_name_is_searched_for_as_a_name() -> None:
    claim = read_claim("Beside `the depth` and max-depth the depth setting of tide_depth is 12")
    assert claim.subjects == ("depth",)
    assert claim.question == "Beside `the depth` and max-depth the `depth` setting of tide_depth is"
