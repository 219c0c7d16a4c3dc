"""How much may be quoted, under each policy, in both languages."""

from __future__ import annotations

import pytest

from cluster.model import QuotePolicy
from rerank.quoting import QuoteLimits, judge_quote, length_of, quote_of

TEXT = (
    "Jobs that fail are tried again. The delay doubles after each attempt, so that a broken "
    "service is not flooded. After eight attempts the job is set aside until somebody looks at it."
)
ZH = (
    "失败的任务会重试。每次重试后延迟加倍，以免压垮故障的服务。八次之后任务会被搁置，直到有人处理。"
)
LIMITS = QuoteLimits(clue_words=8, clue_characters=12)


@pytest.mark.parametrize("policy", ["citable", "citable_with_version", "project_fact"])
def test_the_whole_passage(policy: QuotePolicy) -> None:
    quote = quote_of(TEXT, start=100, policy=policy, version="2.0", limits=LIMITS)
    assert (quote.allowed, quote.start, quote.end) == (True, 100, 100 + len(TEXT))
    assert not quote.shortened
    assert quote.reason == ""
    assert quote.with_version == ("2.0" if policy == "citable_with_version" else None)


def test_a_clue_is_a_few_words() -> None:
    quote = quote_of(TEXT, start=0, policy="clue", version=None, limits=LIMITS)
    assert TEXT[quote.start : quote.end] == "Jobs that fail are tried again. The delay"
    assert quote.allowed
    assert quote.shortened
    assert "8 words or 12 Chinese characters" in quote.reason


def test_a_clue_in_chinese_is_counted_in_characters() -> None:
    quote = quote_of(ZH, start=5, policy="clue", version=None, limits=LIMITS)
    assert ZH[quote.start - 5 : quote.end - 5] == "失败的任务会重试。每次重试"


def test_a_clue_begins_with_what_answers() -> None:
    at = TEXT.index("After eight")
    quote = quote_of(
        TEXT, start=0, policy="clue", version=None, best=[(at, len(TEXT))], limits=LIMITS
    )
    assert TEXT[quote.start : quote.end] == "After eight attempts the job is set aside"


def test_a_short_clue_is_whole() -> None:
    quote = quote_of("Jobs are tried again.", start=3, policy="clue", version=None, limits=LIMITS)
    assert (quote.start, quote.end, quote.shortened, quote.reason) == (3, 24, False, "")


def test_nothing_of_what_must_not_be_quoted() -> None:
    quote = quote_of(TEXT, start=7, policy="do_not_quote", version="1", limits=LIMITS)
    assert (quote.allowed, quote.start, quote.end) == (False, 7, 7)
    assert quote.reason == "the source does not allow quotes; say it in other words"


def test_a_limit_for_everything_that_may_be_quoted() -> None:
    limits = QuoteLimits(words=5, characters=9)
    quote = quote_of(TEXT, start=0, policy="citable", version=None, limits=limits)
    assert TEXT[quote.start : quote.end] == "Jobs that fail are tried"
    assert quote.reason == "at most 5 words or 9 Chinese characters may be quoted"


@pytest.mark.parametrize(
    ("text", "length"),
    [("", (0, 0)), ("v2.4.1 isn't out", (3, 0)), ("重试8次", (1, 3)), ("a-b 1,000", (2, 0))],
)
def test_lengths(text: str, length: tuple[int, int]) -> None:
    assert length_of(text) == length


def test_verdicts_on_somebodys_quotation() -> None:
    words = "Jobs that fail are tried again."
    assert judge_quote(words, policy="citable").allowed
    assert not judge_quote(words, policy="do_not_quote").allowed
    assert judge_quote(words, policy="clue", limits=LIMITS).allowed
    assert not judge_quote(TEXT, policy="clue", limits=LIMITS).allowed
    unnamed = judge_quote(words, policy="citable_with_version", version="2.0")
    assert unnamed.reason == "name the version it is quoted from: 2.0"
    assert judge_quote(
        words, policy="citable_with_version", version="2.0", says_version=True
    ).allowed
