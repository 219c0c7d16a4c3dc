"""What is sent to Elasticsearch: addresses, batches, documents, queries."""

from __future__ import annotations

import json

import pytest

from cluster.errors import InvalidSettings
from cluster.filters import FIELDS, AllOf, AnyOf, Eq, In, Missing, Not, Range
from cluster.stores.elasticsearch import bulk
from cluster.stores.elasticsearch.bulk import Operation, batches, deleting, writing
from cluster.stores.elasticsearch.connection import hosts
from cluster.stores.elasticsearch.errors import of_status
from cluster.stores.elasticsearch.filters import render
from cluster.stores.elasticsearch.rows import MAX_TERM_UNITS, indexed_term, mappings
from contract.text_index import MOMENT, row


def test_addresses_get_the_port_of_their_kind() -> None:
    assert hosts("http://a") == ["http://a:9200"]
    assert hosts("https://a/path/") == ["https://a:443/path"]
    assert hosts("http://u:p@a:1, https://[::1]:2") == ["http://u:p@a:1", "https://[::1]:2"]


@pytest.mark.parametrize("wrong", ["", "a:9200", "ftp://a", "http://", "http://a,"])
def test_other_addresses_are_refused_without_repeating_them(wrong: str) -> None:
    with pytest.raises(InvalidSettings, match=r"text_index\.url") as refused:
        hosts(wrong)
    assert "ftp" not in str(refused.value)


def operation(size: int) -> Operation:
    return Operation(chunk_id="c", lines=(b"x" * (size - 1),))


def test_batches_are_bounded_by_rows_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "BATCH_BYTES", 100)
    sizes = [40, 60, 1, 99, 150, 10, 10, 10, 10]
    found = [[one.size for one in batch] for batch in batches(map(operation, sizes), rows=3)]
    assert found == [[40, 60], [1, 99], [150], [10, 10, 10], [10]]
    assert list(batches([], rows=3)) == []


def test_a_row_is_written_in_its_version_and_deleted_in_a_given_one() -> None:
    action, held = writing(row("c1", "a b a", version=7, path="p", said_at=5, authority=-0.0)).lines
    assert json.loads(action) == {
        "index": {"_id": "c1", "version": 7, "version_type": "external_gte"}
    }
    fields = json.loads(held)
    absent = set(fields.pop("absent"))
    assert absent == FIELDS.keys() - {"tenant", "path", "said_at", "authority"}
    assert fields == {
        "chunk_id": "c1",
        "terms": "a b a",
        "tenant": ["acme"],
        "path": ["p"],
        "said_at": 5,
        "authority": 0.0,
    }
    assert json.loads(deleting("c1", version=8).lines[0]) == {
        "delete": {"_id": "c1", "version": 8, "version_type": "external_gte"}
    }


def test_every_field_has_a_place_and_no_other_may_come() -> None:
    layout = mappings()
    assert layout["dynamic"] == "strict"
    assert layout["properties"].keys() == FIELDS.keys() | {"chunk_id", "terms", "absent"}


def test_terms_are_cut_where_the_analyzer_would_cut_them() -> None:
    assert indexed_term("a" * 300) == "a" * MAX_TERM_UNITS
    assert indexed_term("😀" * 200) == "😀" * (MAX_TERM_UNITS // 2)
    assert indexed_term("中" * 128) == "中" * 128


def test_filters_become_queries_of_objects() -> None:
    assert render(Eq("path", 'a" OR *')) == {"term": {"path": 'a" OR *'}}
    assert render(Eq("said_at", MOMENT)) == {"term": {"said_at": 1714550400123}}
    assert render(Range("authority", gte=1)) == {"range": {"authority": {"gte": 1.0}}}
    assert render(Missing("owner")) == {"term": {"absent": "owner"}}
    assert render(Not(Eq("newest_edition", True))) == {
        "bool": {"must_not": [{"term": {"newest_edition": True}}]}
    }
    assert render(AllOf((Eq("path", "a"), In("tags", ("b", "c"))))) == {
        "bool": {"filter": [{"term": {"path": "a"}}, {"terms": {"tags": ["b", "c"]}}]}
    }


def test_alternatives_of_one_field_are_one_clause() -> None:
    parts = (Eq("path", "a"), Missing("tags"), In("path", ("b", "c")), Eq("tags", "d"))
    assert render(AnyOf(parts)) == {
        "bool": {
            "should": [
                {"terms": {"path": ["a", "b", "c"]}},
                {"terms": {"tags": ["d"]}},
                {"term": {"absent": "tags"}},
            ],
            "minimum_should_match": 1,
        }
    }


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (401, False), (403, False), (413, False), (408, True), (429, True), (503, True)],
)
def test_what_may_be_tried_again(status: int, retryable: bool) -> None:
    assert of_status("search", status, {}).retryable is retryable


def test_an_error_without_a_reason_tells_what_is_below_it() -> None:
    below = {"type": "no_shard_available", "reason": "no shard"}
    error = of_status("search", 503, {"type": "phase", "reason": "", "caused_by": below})
    assert str(error) == "elasticsearch: search: phase: no shard"
