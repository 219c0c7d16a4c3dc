"""Claims are what their kind says, and the same seed gives the same ones."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from eval.claim_facts import Facts, read_facts
from eval.claims import KINDS, denied, make_claims, other_number

PAGE = """\
### `tea_cup_size` <span>v1</span>

- 默认值：`{size}`
- 范围：`[1, 64]`

### `tea_milk`

- 默认值：`ON`

茶叶在水中泡制的时间大约需要 3 分钟才够。

```
The kettle has exactly 5 handles in this code block.
```
"""
ENGLISH = "The kettle is filled with at least 2 litres of water before it boils over.\n"


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    pages = [
        {"project": "tidb", "version": version, "lang": "zh", "path": "system-variables.md",
         "text": PAGE.format(size=size)}
        for version, size in (("1.0", 8), ("2.0", 16))
    ]  # fmt: skip
    page = {"project": "milvus", "version": "2.4", "lang": "en", "path": "kettle.md"}
    lines = [json.dumps(each) for each in (*pages, {**page, "text": ENGLISH})]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines) + "\n")
    defaults = [
        {"variable": "tea_cup_size", "defaults": {"1.0": "`8`", "2.0": "`16`"}},
        {"variable": "tea_milk", "defaults": {"1.0": "`ON`", "2.0": "`ON`。在 v1.5 之前为 `OFF`"}},
    ]
    listed = "\n".join(json.dumps(each) for each in defaults)
    (tmp_path / "tidb_default_facts.jsonl").write_text(f"{listed}\n")
    return read_facts(tmp_path)


def test_facts_are_read_where_they_are_plain(facts: Facts) -> None:
    cup, milk = facts.defaults
    assert cup.literals == {"1.0": "8", "2.0": "16"}
    assert cup.numbers == {"8", "16", "1", "64"}
    assert milk.literals == {"1.0": "ON"}
    assert facts.ranges[0].bounds["1.0"] == ("1", "64")
    assert {(each.language, each.number) for each in facts.sentences} == {("zh", "3"), ("en", "2")}


def test_each_kind_is_what_it_says(facts: Facts) -> None:
    claims = make_claims(facts, count=60, seed=1)
    assert len(claims) == len({claim.text for claim in claims}) == 60
    assert Counter(claim.kind for claim in claims) == dict.fromkeys(KINDS, 12)
    for claim in claims:
        if claim.source.startswith("default of tea_cup_size") and claim.kind != "absent":
            value = {"1.0": "8", "2.0": "16"}[claim.version]
            other = {"1.0": "16", "2.0": "8"}[claim.version]
            words = set(claim.text.replace("`", " ").replace("。", " ").replace(".", " ").split())
            assert (value in words) is (claim.kind in ("true", "negated")), claim
            assert (other in words) is (claim.kind == "wrong_version"), claim


def test_the_seed_decides(facts: Facts) -> None:
    assert make_claims(facts, count=40, seed=4) == make_claims(facts, count=40, seed=4)
    assert make_claims(facts, count=40, seed=4) != make_claims(facts, count=40, seed=5)


def test_another_number_is_another_number() -> None:
    rng = random.Random(2)  # repeatable
    for number in ("0", "1", "0.8", "65535"):
        for _ in range(20):
            changed = other_number(number, rng, known=frozenset({"2", "14"}))
            assert changed not in {number, "2", "14"}
            assert ("." in changed) <= ("." in number)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("A pod can hold 3 shards.", "en", "A pod cannot hold 3 shards."),
        ("The limit is 3 shards.", "en", "The limit is not 3 shards."),
        ("The limit is not 3 shards.", "en", None),
        ("It is 3 and will be 4.", "en", None),
        ("该版本支持 3 种索引。", "zh", "该版本不支持 3 种索引。"),
        ("上限是 3 个。", "zh", "上限不是 3 个。"),
        ("没有上限，但是支持 3 个。", "zh", None),
    ],
)
def test_a_sentence_is_denied_once_or_not_at_all(
    text: str, language: str, expected: str | None
) -> None:
    assert denied(text, language=language) == expected
