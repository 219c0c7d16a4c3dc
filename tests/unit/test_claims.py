"""Claims are compared with what a page says, never by likeness alone."""

from __future__ import annotations

import time

import pytest

from serve.claims.conditions import clauses_for, holding
from serve.claims.judge import Evidence, Judgement, judge
from serve.claims.quotes import find_quote
from serve.claims.reading import read_claim
from serve.claims.splitting import claims_in
from serve.claims.units import outline, read_units
from serve.claims.words import read_wording

PAGE = """# Tidepool reference

## `retry_limit` <span>since v1.5.0</span>

- Default: `5`
- Range: `[0, 100]`
- Scope: GLOBAL

How often a failed job is tried again.

## `flush_interval`

| Description | Default Value |
| --- | --- |
| How often the log is written. Unit: ms | 200 |

## `keep_warm`

- 默认值：在 v1.8.0 之前版本中为 `OFF`，在 v1.8.0 及之后版本中为 `ON`
- 是否持久化到集群：否

## batch.size

<table><thead><tr><th>Description</th><th>Default</th></tr></thead>
<tbody><tr><td><li>Rows of a batch.</li></td><td>1024</td></tr></tbody></table>

## Number of resources

| Resource | Limit |
| --- | --- |
| Queue | 4,096 |
| Worker | 64 |

## Length of a name

| Resource | Limit |
| --- | --- |
| Queue | 255 characters |

## Notes

**`strict`**
: whether unknown fields are refused (default: `False`)

A worker does not keep jobs on disk. The lease of a job lasts 30 seconds and is renewed twice.
集群最少需要 3 个节点，最多支持 100 个节点。
The buffer was raised from `16` to `32` in v2.0.
"""


def judged(claim: str, *, page: str = PAGE, edition: str = "2.0") -> Judgement:
    units = read_units(page, start=0, end=len(page), headings=outline(page), path=("Tidepool",))
    evidence = Evidence(place=0, units=units, edition=edition, product="tidepool")
    return judge(read_claim(claim, products=["tidepool"]), [evidence])


@pytest.mark.parametrize(
    "claim",
    [
        "In tidepool 2.0, `retry_limit` defaults to 5.",
        "tidepool 2.0 中 `retry_limit` 的默认值是 5。",
        "retry_limit 在 v2.0 版本里默认为 `5`",
        "By default, retry_limit is set to 5.",
        "`retry_limit` was introduced in v1.5.0.",
        "retry_limit 是从 v1.5.0 版本开始引入的",
        "The maximum value of `retry_limit` is 100.",
        "`retry_limit` 的取值范围是 [0, 100]",
        "`retry_limit` 最小为 0",
        "`flush_interval` defaults to 0.2 s.",
        "flush_interval 默认 200 毫秒",
        "`keep_warm` is enabled by default in tidepool 2.0.",
        "tidepool 2.0 里 `keep_warm` 默认开启",
        "`keep_warm` 不会持久化到集群",
        "`batch.size` 默认值为 1024",
        "The maximum number of workers is 64.",
        "Worker 最多 64 个",
        "At most 4,096 queues are allowed.",
        "`strict` defaults to false",
        "A worker does not keep jobs on disk.",
        "The lease of a job lasts 30 s.",
        "集群最少需要 3 个节点",
        "`retry_limit` does not default to 7.",
        "The default of `retry_limit` is not 3 but 5.",
        "5 is the default value of `retry_limit` in tidepool 2.0",
        "If you do not set `retry_limit`, tidepool 2.0 uses 5.",
        "`retry_limit` 未设置时取 5",
        "从 tidepool 2.0 版本的文档看，`retry_limit` 的默认配置为 5",
        "`retry_limit` accepts values from 0 to 100",
        "`retry_limit` 的作用域是 GLOBAL",
    ],
)
def test_what_the_page_says_is_supported(claim: str) -> None:
    assert judged(claim).verdict == "supported"


@pytest.mark.parametrize(
    "claim",
    [
        "In tidepool 2.0, `retry_limit` defaults to 6.",
        "tidepool 2.0 中 `retry_limit` 的默认值是 50。",
        "`retry_limit` was introduced in v1.6.0.",
        "The maximum value of `retry_limit` is 1000.",
        "`retry_limit` 的取值范围是 [0, 10]",
        "`flush_interval` defaults to 2 s.",
        "`keep_warm` is disabled by default in tidepool 2.0.",
        "tidepool 2.0 里 `keep_warm` 默认不开启",
        "`keep_warm` 会持久化到集群",
        "The maximum number of workers is 32.",
        "The maximum number of queues is 255.",
        "`strict` defaults to true",
        "A worker keeps jobs on disk.",
        "The lease of a job lasts 40 seconds.",
        "集群最少需要 5 个节点",
        "`retry_limit` does not default to 5.",
        "`retry_limit` 的默认值不是 5",
        "The default of `retry_limit` is not 5 but 3.",
        "It is not true that `retry_limit` defaults to 5 in tidepool 2.0.",
        "`retry_limit` 的默认值为 5 的说法是错误的",
        "The default of retry_limit differs from 5",
        "tidepool 2.0 中 `retry_limit` 的默认值不再是 5",
    ],
)
def test_what_the_page_says_otherwise_is_contradicted(claim: str) -> None:
    assert judged(claim).verdict == "contradicted"


@pytest.mark.parametrize(
    "claim",
    [
        "`retry_limits` defaults to 5.",
        "retry_budget 的默认值是 5",
        "The minimum of `batch.size` is 1024.",
        "In tidepool 3.0, `retry_limit` defaults to 5.",
        "A scheduler keeps its state in memory.",
        "`flush_interval` was introduced in v1.5.0.",
        "The number of zones is 64.",
        "`retry_limit` defaults to 5 s.",
    ],
)
def test_what_the_page_does_not_say_is_not_found(claim: str) -> None:
    assert judged(claim).verdict == "not_found"


def test_another_version_and_another_product_say_nothing() -> None:
    assert judged("In tidepool 2.0 `retry_limit` is 5 by default", edition="1.5").verdict == (
        "not_found"
    )
    claim = read_claim("In ebb, `retry_limit` defaults to 5.", products=["tidepool", "ebb"])
    units = read_units(PAGE, start=0, end=len(PAGE), headings=outline(PAGE))
    evidence = Evidence(place=0, units=units, edition="2.0", product="tidepool")
    assert judge(claim, [evidence]).verdict == "not_found"


def test_a_condition_on_the_version_decides_which_value_holds() -> None:
    claim = "`keep_warm` defaults to `OFF`."
    assert judged(claim, edition="1.5").verdict == "supported"
    assert judged(claim, edition="2.0").verdict == "contradicted"


def test_sources_that_disagree_decide_nothing() -> None:
    page = "## `a_b`\n\n- Default: `1`\n\n## `a_b`\n\n- Default: `2`\n"
    found = judged("`a_b` defaults to 1", page=page)
    assert found.verdict == "not_found"
    assert "disagree" in found.why


def test_the_place_that_decides_is_told() -> None:
    (_, finding), *_ = judged("`retry_limit` defaults to 5").findings
    assert PAGE[finding.unit.start : finding.unit.end] == "- Default: `5`"


def test_a_table_that_is_cut_is_read_with_its_header() -> None:
    start = PAGE.index("| Worker")
    units = read_units(PAGE, start=start, end=start + 20, headings=outline(PAGE))
    (cell,) = [unit for unit in units if unit.kind == "cell"]
    assert (cell.label, cell.text, cell.subjects[0]) == ("Limit", "64", "Worker")


@pytest.mark.parametrize(
    ("text", "edition", "expected"),
    [
        ("`2`。v7.4.0 及之前版本默认值为 `1`。", "7.5", "`2`"),
        ("Before v2.0 it is `1`; since v2.0 it is `3`", "2.1", "since v2.0 it is `3`"),
        ("v7.6 ~ v8.1，值为 `128`", "8.5", ""),
    ],
)
def test_clauses_of_other_versions_do_not_hold(text: str, edition: str, expected: str) -> None:
    assert holding(text, edition=edition).strip(" ") == expected.strip(" ")


def test_a_version_inside_the_edition_s_line_leaves_it_open() -> None:
    parts = clauses_for("`ON`。在 v7.5.7 之前，默认值为 `OFF`。", edition="7.5")
    assert [part.standing for part in parts] == ["holds", "maybe", "maybe"]


def test_versions_that_are_claimed_are_not_what_the_claim_is_about() -> None:
    products = ["tidepool"]
    assert read_claim("In tidepool 2.0, x came", products=products).versions == ("2.0",)
    assert read_claim("`x` was added in v1.5", products=products).versions == ()
    about = read_claim("在 tidepool 2.0 中，`x` 是从 v1.5.0 版本开始引入的", products=products)
    assert about.versions == ("2.0",)
    assert [value.name for value in about.values] == ["1.5.0"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The cache is disabled.", "缓存已禁用"),
        ("The cache is not enabled.", "缓存未启用"),
        ("No longer supports partitions", "不再支持分区"),
    ],
)
def test_denials_are_read_alike_in_both_languages(one: str, other: str) -> None:
    assert read_wording(one).denied == read_wording(other).denied != frozenset()


def test_a_text_is_split_into_what_it_states() -> None:
    text = (
        "# Title\n\nThe port is 8730. Is it? 任务默认重试 5 次；失败会告警。\n\n"
        "```\nx = 1.\n```\n- One more thing."
    )
    assert claims_in(text) == (
        "The port is 8730.",
        "任务默认重试 5 次",
        "失败会告警。",
        "One more thing.",
    )


@pytest.mark.parametrize("quote", ["* * * * * * c", "a " + "_ " * 40 + "c", "~`" * 60 + " c"])
def test_a_quote_of_marks_is_looked_for_once_at_each_place(quote: str) -> None:
    started = time.process_time()
    assert find_quote(quote, "*" * 700 + "a" + "_" * 700 + "`~" * 700) is None
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("quote", "text", "said", "exact"),
    [
        ("keeps a * b", "It keeps a * b.", "keeps a * b", True),
        ("the *lease* lasts", "Here the **lease** lasts.", "the **lease** lasts", False),
        ("the lease lasts", "Here the **lease** lasts.", "the **lease** lasts", False),
        ("the _lease", "Here **the** _lease lasts.", "the** _lease", False),
        ("a_b  is", "So a_b is.", "a_b is", True),
    ],
)
def test_a_quote_is_found_through_marks(quote: str, text: str, said: str, exact: bool) -> None:
    found = find_quote(quote, text)
    assert found is not None
    assert (text[found.start : found.end], found.exact) == (said, exact)


@pytest.mark.parametrize("quote", ["", "  ", "***"])
def test_what_says_nothing_is_no_quote(quote: str) -> None:
    assert find_quote(quote, "a text of **words**") is None
