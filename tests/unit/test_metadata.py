"""Where do the fields of a document come from, and what is one document?"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ingest.authority import Judged
from ingest.metadata import (
    MAX_TAGS,
    Layer,
    Resolved,
    identity,
    language_code,
    metadata,
    metadata_digest,
    path_layer,
    resolve,
    settle,
)
from ingest.moments import parse_moment
from ingest.path_rules import PathFacts, path_facts, plain_version

NOTHING = Judged(values={}, provenance={})


def test_the_strongest_layer_with_a_readable_value_wins_and_is_named() -> None:
    found = resolve(
        [
            Layer(came_from="flag", fields={"product": "nimbus"}),
            Layer(came_from="record", fields={"product": "other", "published_at": "soon"}),
            Layer(came_from="front_matter", fields={"published_at": "2024-03-01"}),
        ]
    )
    assert found.values == {"product": "nimbus", "published_at": datetime(2024, 3, 1, tzinfo=UTC)}
    assert found.provenance == {"product": "flag", "published_at": "front_matter"}
    assert found.notes == ("published_at 'soon' (record) is not a date that can be read",)


def test_more_tags_than_an_index_takes_are_cut_and_told() -> None:
    tags = [f"t{number}" for number in range(MAX_TAGS + 1)]
    found = resolve([Layer(came_from="record", fields={"tags": tags})])
    assert found.values["tags"] == tuple(tags[:MAX_TAGS])
    assert found.notes == ("1,001 tags (record); the first 1,000 kept",)
    assert resolve([Layer(came_from="record", fields={"tags": tags[:-1]})]).notes == ()


def test_a_number_of_hundreds_of_digits_is_no_value() -> None:
    fields = {"authority": 10**400, "published_at": 10**400}
    found = resolve([Layer(came_from="record", fields=fields)])
    assert found.values == {}
    assert parse_moment(-(10**400)) is None


def test_an_unknown_date_stays_unknown() -> None:
    found = resolve([Layer(came_from="record", fields={"updated_at": "yesterday"})])
    settled = settle(found, NOTHING, text="Plain English words about the weather and the sea.")
    made = metadata(settled)
    assert made.updated_at is None
    assert (made.language, made.provenance["language"]) == ("en", "text")


@pytest.mark.parametrize(
    ("raw", "moment"),
    [
        ("2024-03-01", datetime(2024, 3, 1, tzinfo=UTC)),
        ("2024-03-01T10:00:00+08:00", datetime(2024, 3, 1, 2, tzinfo=UTC)),
        ("2023-05-08T13:56:00", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("2024-03-01T10:00:00Z", datetime(2024, 3, 1, 10, tzinfo=UTC)),
        ("Fri, 01 Mar 2024 10:00:00 -0700", datetime(2024, 3, 1, 17, tzinfo=UTC)),
        ("2024年3月1日", datetime(2024, 3, 1, tzinfo=UTC)),
        ("March 1, 2024", datetime(2024, 3, 1, tzinfo=UTC)),
        ("2024/03/01", datetime(2024, 3, 1, tzinfo=UTC)),
        ("20240301", datetime(2024, 3, 1, tzinfo=UTC)),
        (1709251200, datetime(2024, 3, 1, tzinfo=UTC)),
        (1709251200000, datetime(2024, 3, 1, tzinfo=UTC)),
        ("1709251200", datetime(2024, 3, 1, tzinfo=UTC)),
        (2024, datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-02-31", None),
        ("next week", None),
        ("", None),
        (True, None),
        (float("nan"), None),
        (10**30, None),
        (["2024"], None),
    ],
)
def test_moments(raw: object, moment: datetime | None) -> None:
    assert parse_moment(raw) == moment


@pytest.mark.parametrize(
    ("path", "facts"),
    [
        ("docs/v2.3/guide.md", PathFacts(path="docs/guide.md", version="2.3")),
        (
            "nimbus/2.3.1/guide.md",
            PathFacts(path="nimbus/guide.md", product="nimbus", version="2.3.1"),
        ),
        ("release-6.5/a.md", PathFacts(path="a.md", version="6.5")),
        ("docs-7.5/a/b.md", PathFacts(path="a/b.md", version="7.5")),
        ("nimbus-2.0/a.md", PathFacts(path="a.md", product="nimbus", version="2.0")),
        ("v2/a.md", PathFacts(path="a.md", version="2")),
        ("api/v2/users.py", PathFacts(path="api/v2/users.py")),
        ("2024/05/post.md", PathFacts(path="2024/05/post.md")),
        ("chapter-1.2/a.md", PathFacts(path="chapter-1.2/a.md")),
        ("notes-3/a.md", PathFacts(path="notes-3/a.md")),
        ("a.md", PathFacts(path="a.md")),
    ],
)
def test_paths_tell_product_and_version(path: str, facts: PathFacts) -> None:
    assert path_facts(path) == facts


def test_the_folder_that_was_named_may_tell_the_version() -> None:
    assert path_facts("a.md", root_name="docs-7.5") == PathFacts(path="a.md", version="7.5")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("zh-CN", "zh"),
        ("zh_Hant", "zh"),
        ("EN", "en"),
        ("Chinese", "zh"),
        ("中文", "zh"),
        ("?", None),
    ],
)
def test_language_codes(raw: str, code: str | None) -> None:
    assert language_code(raw) == code


def test_one_version_has_one_spelling() -> None:
    assert plain_version("v2.3") == plain_version("2.3") == "2.3"
    assert plain_version("vista") == "vista"


def settled(path: str, **fields: str) -> tuple[str, str]:
    facts = path_facts(path)
    found = resolve([Layer(came_from="record", fields=fields), path_layer(facts)])
    whole = settle(found, NOTHING, text="words")
    place = identity(whole, path=path, facts=facts, named_source=None, root="file:///r")
    return place.document("t", owner=None), place.edition


def test_versions_of_a_page_are_editions_of_one_document_and_languages_are_not() -> None:
    old = settled("nimbus/v1.0/guide.md", language="en")
    new = settled("nimbus/v2.0/guide.md", language="en")
    assert old[0] == new[0]
    assert (old[1], new[1]) == ("1.0", "2.0")
    assert settled("nimbus/v2.0/guide.md", language="zh")[0] != new[0]
    assert settled("nimbus/v2.0/other.md", language="en")[0] != new[0]


def test_a_version_that_the_page_states_itself_is_taken_out_of_its_path_as_well() -> None:
    old = settled("v1.0/guide.md", language="en", product="nimbus", product_version="1.0")
    new = settled("v2.0/guide.md", language="en", product="nimbus", product_version="v2.0")
    assert old[0] == new[0]
    assert (old[1], new[1]) == ("1.0", "2.0")
    other = settled("v2.0/guide.md", language="en", product="nimbus", product_version="3.0")
    assert other[0] != new[0]


def test_a_product_with_a_version_is_one_source_wherever_it_lies() -> None:
    facts = PathFacts(path="a.md")
    fields = {"product": "nimbus", "product_version": "2.0", "language": "en"}
    known = settle(resolve([Layer(came_from="record", fields=fields)]), NOTHING, text="")
    unversioned = settle(
        resolve([Layer(came_from="record", fields={**fields, "product_version": ""})]),
        NOTHING,
        text="",
    )

    def source(of: Resolved, named: str | None = None) -> str:
        return identity(
            of,
            path="a.md",
            facts=facts,
            named_source=named,
            root="file:///r",
        ).source

    assert source(known) == "nimbus"
    assert source(unversioned) == "file:///r"
    assert source(known, "mine") == "mine"


def test_the_digest_of_metadata_sees_every_field() -> None:
    one = metadata(
        settle(resolve([Layer(came_from="record", fields={"title": "a"})]), NOTHING, text="")
    )
    other = metadata(
        settle(resolve([Layer(came_from="flag", fields={"title": "a"})]), NOTHING, text="")
    )
    assert metadata_digest(one) == metadata_digest(one)
    assert metadata_digest(one) != metadata_digest(other)
