"""What is a source worth, and who may say otherwise?"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cluster.errors import InvalidRequest
from ingest.authority import judge
from ingest.rules import Rules, canonical, load_rules

DATED = {"published_at": datetime(2024, 1, 1, tzinfo=UTC)}


@pytest.fixture(scope="module")
def rules() -> Rules:
    return load_rules()


def judged(
    rules: Rules, path: str = "a.md", kind: str = "document", **values: Any
) -> dict[str, Any]:
    found = judge({**DATED, **values}, path=path, kind=kind, rules=rules)
    return dict(found.values)


@pytest.mark.parametrize(
    ("path", "values", "source_type", "authority", "policy"),
    [
        ("CHANGELOG.md", {}, "changelog", 0.8, "project_fact"),
        ("docs/release-notes/2.0.md", {}, "changelog", 0.8, "project_fact"),
        ("docs/a.md", {}, "official_doc", 0.9, "citable"),
        (
            "a.md",
            {"product": "p", "product_version": "2"},
            "official_doc",
            0.9,
            "citable_with_version",
        ),
        ("a.md", {"source_url": "https://arxiv.org/abs/1"}, "paper", 0.95, "citable"),
        ("a.md", {"source_url": "https://www.rfc-editor.org/rfc/rfc1"}, "standard", 1.0, "citable"),
        ("a.md", {"source_url": "https://h.example/o/r/issues/7"}, "issue", 0.5, "project_fact"),
        (
            "a.md",
            {"source_url": "https://h.example/o/r/pull/7"},
            "pull_request",
            0.5,
            "project_fact",
        ),
        ("blog/a.md", {}, "blog", 0.4, "clue"),
        ("a.md", {"source_url": "https://stackoverflow.com/q/1"}, "forum", 0.3, "clue"),
        ("src/a.py", {}, "source_code", 0.7, "project_fact"),
        ("a.md", {}, "unknown", 0.2, "clue"),
    ],
)
def test_worth_by_kind_of_source(
    rules: Rules,
    *,
    path: str,
    values: dict[str, Any],
    source_type: str,
    authority: float,
    policy: str,
) -> None:
    found = judged(rules, path=path, **values)
    assert found["source_type"] == source_type
    assert found["authority"] == authority
    assert found["quote_policy"] == policy


def test_turns_are_conversation(rules: Rules) -> None:
    assert judged(rules, kind="turn")["source_type"] == "conversation"


def test_what_is_undated_is_worth_less_unless_a_version_dates_it(rules: Rules) -> None:
    undated = judge({}, path="docs/a.md", kind="document", rules=rules)
    versioned = judge({"product_version": "2"}, path="docs/a.md", kind="document", rules=rules)
    assert undated.values["authority"] == pytest.approx(0.9 - rules.undated_penalty)
    assert versioned.values["authority"] == 0.9


def test_what_the_data_says_stays(rules: Rules) -> None:
    found = judged(rules, path="docs/a.md", source_type="blog", authority=0.77)
    assert "authority" not in found
    assert "source_type" not in found
    assert found["quote_policy"] == "clue"


def test_own_rules_come_first_and_are_named(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(
        '[aliases]\nproduct = ["component"]\n'
        '[[rules]]\nname = "ours"\nmatch = { path = "docs/*" }\n'
        'authority = 0.99\nlicense = "MIT"\n',
        encoding="utf-8",
    )
    own = load_rules(file)
    found = judge(DATED, path="docs/a.md", kind="document", rules=own)
    assert found.values["authority"] == 0.99
    assert found.values["license"] == "MIT"
    assert found.provenance["authority"] == "rule:ours"
    assert found.values["quote_policy"] == "citable"
    assert canonical({"Component": "x"}, own.document_aliases) == {"product": "x"}
    assert own.digest != load_rules().digest


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[rules]]\nauthority = 2\n", "authority is a number from 0 to 1"),
        ('[[rules]]\nquote_policy = "free"\n', "quote_policy 'free' is none of"),
        ('[[rules]]\nmatch = { pth = "*" }\nauthority = 1\n', "unknown key 'pth'"),
        ('[[rules]]\nname = "x"\n', "gives nothing"),
        ("[rules\n", "is not valid TOML"),
        ("[alias]\n", "unknown key 'alias'"),
    ],
)
def test_a_wrong_rules_file_is_refused_by_name(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidRequest, match=words) as caught:
        load_rules(file)
    assert "rules.toml" in str(caught.value)


def test_a_source_is_an_address_only_when_it_looks_like_one(rules: Rules) -> None:
    known = canonical({"source": "crawl", "lang": "en"}, rules.document_aliases)
    assert known == {"language": "en"}
    linked = canonical({"source": "https://a.example/x"}, rules.document_aliases)
    assert linked == {"source_url": "https://a.example/x"}
