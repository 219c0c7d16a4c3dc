"""What every text index must do: each sentence of `TextIndex`, on the reference and on Tantivy."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cluster.errors import InvalidRequest, StoreUnavailable
from cluster.filters import (
    FIELDS,
    AllOf,
    AnyOf,
    Eq,
    Filter,
    In,
    Missing,
    Not,
    Range,
    Scalar,
    epoch_ms,
    matches,
)
from cluster.model import FieldValue, IndexRow, Scope
from cluster.stores.protocols import TextIndex, TextRow
from cluster.text.terms import QueryTerm

ACME = Scope(tenant="acme")

HOSTILE = (
    'a"b',
    "a'b",
    "a\\b",
    "a\\",
    "100%",
    "a_b",
    "Capital",
    "capital",
    " two  words ",
    "a/b/c.md",
    "a|b-c",
    "AND",
    "tags:x OR *",
    "[a TO b]",
    "中文",
    "繁體",
    "😀",
    "é",
    "e\u0301",
    "line\nbreak",
    "tab\there",
    "0",
    "7.50",
    "\u200b",
    "ﬁ",
    "x" * 4096,
)

MOMENT = datetime(2024, 5, 1, 8, 0, 0, 123_456, tzinfo=UTC)
NUMBERS: tuple[float | int, ...] = (0, -0.0, 0.5, 0.1 + 0.2, 1, -3, 1e300, 2**53, -(2**53))
MOMENTS = tuple(
    MOMENT + timedelta(milliseconds=step) for step in (0, 1, -1, 10**6, -(10**12) * 2, 10**13)
)


def row(
    chunk_id: str,
    terms: str | Sequence[str] = "word",
    *,
    version: int = 1,
    tenant: str = "acme",
    **fields: FieldValue,
) -> TextRow:
    filled: dict[str, FieldValue] = {**dict.fromkeys(FIELDS), "tags": (), "tenant": tenant}
    words = tuple(terms.split(" ")) if isinstance(terms, str) else tuple(terms)
    return TextRow(
        row=IndexRow(chunk_id=chunk_id, version=version, fields={**filled, **fields}), terms=words
    )


def asked(*terms: str, weight: float = 1.0) -> tuple[QueryTerm, ...]:
    return tuple(QueryTerm(term=term, weight=weight, surface=term) for term in terms)


async def ids(
    index: TextIndex,
    *terms: str,
    scope: Scope = ACME,
    where: Filter | None = None,
    limit: int = 10_000,
) -> list[str]:
    wanted = asked(*(terms or ("word",)))
    return [name for name, _ in await index.search(wanted, scope=scope, where=where, limit=limit)]


async def scanned(index: TextIndex) -> dict[str, int]:
    pairs = [pair async for batch in index.scan() for pair in batch]
    assert len(pairs) == len(dict(pairs))
    return dict(pairs)


def bm25(term: str, rows: Sequence[TextRow]) -> dict[str, float]:
    """The definition, written out: k1 1.2, b 0.75, idf of Robertson and Spärck Jones plus 1."""
    holders = sum(term in candidate.terms for candidate in rows)
    idf = math.log(1 + (len(rows) - holders + 0.5) / (holders + 0.5))
    mean = sum(len(candidate.terms) for candidate in rows) / len(rows)
    scores = {}
    for candidate in rows:
        count = candidate.terms.count(term)
        norm = 1.2 * (1 - 0.75 + 0.75 * len(candidate.terms) / mean)
        scores[candidate.row.chunk_id] = idf * count * 2.2 / (count + norm)
    return scores


class TextIndexContract:
    """Subclasses give the fixture `index`: an empty one, closed afterwards."""

    async def test_finds_rows_by_any_term_best_first(self, index: TextIndex) -> None:
        await index.upsert([row("c1", "a b"), row("c2", "a b b"), row("c3", "z"), row("c4", "b b")])
        assert await ids(index, "b") == ["c4", "c2", "c1"]
        assert await ids(index, "z", "nowhere") == ["c3"]
        assert await ids(index, "nowhere") == []

    async def test_score_is_the_weighted_sum_of_bm25(self, index: TextIndex) -> None:
        rows = [
            row("c1", "a b c d"),
            row("c2", "a a b"),
            row("c3", "c " * 30 + "a"),
            row("c4", "d e f"),
            row("c5", "a"),
        ]
        await index.upsert(rows)
        wanted = (*asked("a", weight=0.25), *asked("b", weight=2.0))
        found = await index.search(wanted, scope=ACME, where=None, limit=10)
        a, b = bm25("a", rows), bm25("b", rows)
        expected = {name: 0.25 * a[name] + 2.0 * b[name] for name in ("c1", "c2", "c3", "c5")}
        assert dict(found) == pytest.approx(expected, rel=1e-4)
        assert [name for name, _ in found] == sorted(expected, key=lambda name: -expected[name])

    async def test_ties_go_by_chunk_id_also_at_the_limit(self, index: TextIndex) -> None:
        names = [f"c{number:02d}" for number in range(40)]
        for part in (names[30:], names[:10], names[10:30]):
            await index.upsert([row(name, "same word") for name in reversed(part)])
        await index.upsert([row("best", "word word word")])
        assert await ids(index, "word", limit=7) == ["best", *names[:6]]
        assert await ids(index, "word", limit=1000) == ["best", *names]

    async def test_limit_bounds_the_answer(self, index: TextIndex) -> None:
        await index.upsert([row(f"c{number}") for number in range(5)])
        assert len(await ids(index, limit=3)) == 3
        assert len(await ids(index, limit=5)) == 5

    async def test_upsert_replaces_terms_fields_and_version(self, index: TextIndex) -> None:
        await index.upsert([row("c1", "old", product="tidb")])
        await index.upsert([row("c1", "new", version=2, product="milvus")])
        assert await ids(index, "old") == []
        assert await ids(index, "new", where=Eq("product", "milvus")) == ["c1"]
        assert await ids(index, "new", where=Eq("product", "tidb")) == []
        assert await index.versions(["c1"]) == {"c1": 2}
        assert await scanned(index) == {"c1": 2}

    async def test_last_of_a_batch_wins(self, index: TextIndex) -> None:
        await index.upsert([row("c1", "first", version=1), row("c1", "second", version=9)])
        assert await ids(index, "first") == []
        assert await ids(index, "second") == ["c1"]
        assert await scanned(index) == {"c1": 9}

    async def test_same_upsert_twice_is_once(self, index: TextIndex) -> None:
        rows = [row("c1", "a b"), row("c2", "b")]
        await index.upsert(rows)
        await index.upsert(rows)
        assert await ids(index, "b") == ["c2", "c1"]
        assert await scanned(index) == {"c1": 1, "c2": 1}

    async def test_upsert_is_searchable_at_once(self, index: TextIndex) -> None:
        for number in range(5):
            await index.upsert([row(f"c{number}", f"term{number}")])
            assert await ids(index, f"term{number}") == [f"c{number}"]

    @pytest.mark.parametrize("count", [1, 100, 101, 1001])
    async def test_delete_is_effective_at_once(self, index: TextIndex, count: int) -> None:
        names = [f"c{number:05d}" for number in range(count)]
        await index.upsert([row(name) for name in [*names, "kept"]])
        await index.delete(names)
        assert await ids(index) == ["kept"]
        assert await index.versions([*names, "kept"]) == {"kept": 1}
        assert await scanned(index) == {"kept": 1}

    async def test_delete_of_unknown_ids_is_no_error(self, index: TextIndex) -> None:
        await index.upsert([row("c1")])
        await index.delete(["nowhere", "c1", "c1", "also nowhere"])
        await index.delete(["c1"])
        assert await ids(index) == []

    async def test_deleted_row_comes_back_by_upsert(self, index: TextIndex) -> None:
        await index.upsert([row("c1")])
        await index.delete(["c1"])
        await index.upsert([row("c1", version=3)])
        assert await ids(index) == ["c1"]
        assert await index.versions(["c1"]) == {"c1": 3}

    async def test_refuses_empty_lists_and_limits(self, index: TextIndex) -> None:
        await index.upsert([row("c1")])
        with pytest.raises(InvalidRequest):
            await index.upsert([])
        with pytest.raises(InvalidRequest):
            await index.delete([])
        with pytest.raises(InvalidRequest):
            await index.versions([])
        with pytest.raises(InvalidRequest):
            await index.search((), scope=ACME, where=None, limit=5)
        for limit in (0, -1):
            with pytest.raises(InvalidRequest):
                await index.search(asked("word"), scope=ACME, where=None, limit=limit)
        assert await ids(index) == ["c1"]

    async def test_other_tenants_do_not_exist(self, index: TextIndex) -> None:
        await index.upsert([row("mine"), row("theirs", tenant="Acme"), row("x", tenant="acme ")])
        assert await ids(index) == ["mine"]
        assert await ids(index, scope=Scope(tenant="Acme")) == ["theirs"]
        assert await ids(index, scope=Scope(tenant="nobody")) == []
        assert await ids(index, where=Eq("tenant", "Acme")) == []
        assert await ids(index, where=Not(Eq("tenant", "acme"))) == []

    async def test_rows_of_an_owner_are_for_that_owner(self, index: TextIndex) -> None:
        await index.upsert([row("shared"), row("ann", owner="ann"), row("bob", owner="bob")])
        assert await ids(index) == ["shared"]
        ann = Scope(tenant="acme", owner="ann")
        assert await ids(index, scope=ann) == ["ann", "shared"]
        assert await ids(index, scope=ann, where=AnyOf((Eq("owner", "bob"),))) == []

    async def test_filters_come_before_the_limit(self, index: TextIndex) -> None:
        await index.upsert([row(f"c{number:03d}", "word word") for number in range(200)])
        await index.upsert([row("wanted", "word and much else", product="rare")])
        assert await ids(index, where=Eq("product", "rare"), limit=1) == ["wanted"]

    async def test_terms_are_taken_as_they_are(self, index: TextIndex) -> None:
        odd = ["and", "AND", "a:b", "*", '"', "\\", "tags:x", "中文", "😀", "c++", "a'b", "(", "é"]
        await index.upsert([row(f"c{place:02d}", [term]) for place, term in enumerate(odd)])
        for place, term in enumerate(odd):
            assert await ids(index, term) == [f"c{place:02d}"]

    async def test_row_without_terms_is_held(self, index: TextIndex) -> None:
        await index.upsert([row("empty", ()), row("c1")])
        assert await index.versions(["empty"]) == {"empty": 1}
        assert await scanned(index) == {"empty": 1, "c1": 1}
        assert await ids(index) == ["c1"]

    async def test_versions_of_unknown_ids_are_absent(self, index: TextIndex) -> None:
        assert await index.versions(["nowhere"]) == {}
        await index.upsert([row("c1", version=2**40), row("c2", version=7)])
        assert await index.versions(["c2", "nowhere", "c1", "c2"]) == {"c1": 2**40, "c2": 7}

    async def test_scan_gives_every_row_once(self, index: TextIndex) -> None:
        assert await scanned(index) == {}
        await index.upsert([row(f"c{number}", version=number + 1) for number in range(2500)])
        expected = {f"c{number}": number + 1 for number in range(2500)}
        assert await scanned(index) == expected

    async def test_calls_at_the_same_time(self, index: TextIndex) -> None:
        await asyncio.gather(
            *(index.upsert([row(f"c{number}", version=number + 1)]) for number in range(12)),
            *(ids(index) for _ in range(12)),
        )
        assert sorted(await ids(index)) == sorted(f"c{number}" for number in range(12))

    async def test_close_twice_then_unavailable(self, index: TextIndex) -> None:
        await index.upsert([row("c1")])
        await index.close()
        await index.close()
        with pytest.raises(StoreUnavailable):
            await ids(index)
        with pytest.raises(StoreUnavailable):
            await index.upsert([row("c2")])

    async def test_filters_mean_what_matches_says(self, index: TextIndex) -> None:
        rows = hostile_rows()
        await index.upsert(rows)
        checked = 0
        for where in hostile_filters():
            expected = [held.row.chunk_id for held in rows if matches(where, matchable(held))]
            assert await ids(index, where=where) == sorted(expected), where
            checked += bool(expected)
        assert checked > 100

    async def test_filter_with_thousands_of_values(self, index: TextIndex) -> None:
        await index.upsert([row(f"c{number:04d}", path=f"p/{number}") for number in range(1500)])
        odd = tuple(f"p/{number}" for number in range(1, 4000, 2))
        assert len(await ids(index, where=In("path", odd))) == 750
        assert len(await ids(index, where=Not(In("path", odd)))) == 750


def matchable(held: TextRow) -> Mapping[str, FieldValue | datetime]:
    return {
        name: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=value)
        if FIELDS[name] == "moment" and isinstance(value, int)
        else value
        for name, value in held.row.fields.items()
    }


def hostile_rows() -> list[TextRow]:
    """One row for each value, and rows that lack fields."""
    rows = [row(f"text{place:02d}", path=text) for place, text in enumerate(HOSTILE)]
    rows += [
        row(f"tags{place:02d}", tags=(text, HOSTILE[place - 1]))
        for place, text in enumerate(HOSTILE)
    ]
    rows += [row(f"number{place}", authority=number) for place, number in enumerate(NUMBERS)]
    rows += [
        row(f"moment{place}", said_at=epoch_ms(moment)) for place, moment in enumerate(MOMENTS)
    ]
    rows += [row(f"flag{flag}", newest_edition=flag) for flag in (True, False)]
    rows += [row("bare"), row("empty", path="", tags=())]
    return rows


def hostile_filters() -> Iterable[Filter]:
    for field, values in _values().items():
        yield Missing(field)
        yield Not(Missing(field))
        yield In(field, values)
        yield Not(In(field, values[::2]))
        for value in values:
            yield Eq(field, value)
            yield Not(Eq(field, value))
            if field not in ("tags", "newest_edition"):
                yield Range(field, gte=value)
                yield Range(field, lt=value)
                yield Range(field, gte=values[0], lt=value)
    yield AllOf((Eq("path", HOSTILE[0]), Missing("tags")))
    yield AllOf((Eq("path", HOSTILE[0]), Eq("path", HOSTILE[1])))
    yield AnyOf((Eq("path", HOSTILE[0]), AllOf((Eq("tags", "AND"), Not(Eq("tags", "中文"))))))
    yield Not(AnyOf((Missing("path"), Eq("path", "Capital"))))
    yield Not(Not(Eq("newest_edition", True)))


def _values() -> dict[str, Any]:
    beyond: tuple[Scalar, ...] = (0.3, 2**53 - 1, -1e300, 0.7)
    return {
        "path": (*HOSTILE, "absent", "capita", "\U0010ffff"),
        "tags": (*HOSTILE, "absent"),
        "authority": (*NUMBERS, *beyond),
        "said_at": (*MOMENTS, MOMENT + timedelta(microseconds=400), MOMENT + timedelta(days=1)),
        "newest_edition": (True, False),
    }
