"""Every sentence of a protocol is in the list of promises, with a test that is there."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
STORES = ROOT / "cluster/stores/protocols"
PROTOCOLS = (*sorted(STORES.glob("*.py")), ROOT / "cluster/models/protocols.py")
CONTRACTS = TESTS / "contract"
LIST = CONTRACTS / "promises.toml"

Promise = tuple[str, str]
"""Where it stands (`Protocol` or `Protocol.method`), and the sentence."""


def sentences(docstring: str) -> Iterator[str]:
    """What ends with a full stop before white space, or with the paragraph."""
    for paragraph in re.split(r"\n\s*\n", docstring):
        yield from re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split()))


def is_protocol(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef) and any(
        "Protocol" in ast.unparse(base) for base in node.bases
    )


def docstrings(source: str) -> Iterator[tuple[str, str]]:
    """Of each protocol and each of its methods."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and is_protocol(node):
            yield node.name, ast.get_docstring(node) or ""
            for method in node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{method.name}", ast.get_docstring(method) or ""


def promised() -> list[Promise]:
    package = (STORES / "__init__.py").read_text(encoding="utf-8")
    found = [("protocols", ast.get_docstring(ast.parse(package)) or "")]
    for path in PROTOCOLS:
        found += docstrings(path.read_text(encoding="utf-8"))
    return [(name, each) for name, text in found if text for each in sentences(text)]


def listed() -> dict[Promise, list[str] | str]:
    held = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return {(name, each): tests for name, says in held.items() for each, tests in says.items()}


def test_every_sentence_is_in_the_list_and_nothing_else() -> None:
    stands, held = promised(), listed()
    twice = [one for one, times in Counter(stands).items() if times > 1]
    assert twice == []
    assert sorted(set(stands) - held.keys()) == [], "sentences that no test is named for"
    assert sorted(held.keys() - set(stands)) == [], "sentences that stand nowhere any more"


def test_every_test_of_the_list_is_there() -> None:
    there: dict[str, set[str]] = {}
    for tests in listed().values():
        if isinstance(tests, str):
            assert tests
            continue
        assert tests
        for test in tests:
            file, _, name = test.partition("::")
            if file not in there:
                path = (TESTS if "/" in file else CONTRACTS) / f"{file}.py"
                there[file] = names_in(path.read_text(encoding="utf-8"))
            assert name in there[file], f"no test {test}"


def test_every_contract_is_kept_by_somebody() -> None:
    files = {path: ast.parse(path.read_text(encoding="utf-8")) for path in CONTRACTS.glob("*.py")}
    kept = {
        ast.unparse(base)
        for path, tree in files.items()
        if path.name.startswith("test_")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    }
    contracts = {
        node.name
        for path, tree in files.items()
        if not path.name.startswith("test_")
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Contract")
    }
    assert len(contracts) > 15
    assert contracts <= kept


def names_in(source: str) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }


def test_sentences_end_where_they_end() -> None:
    text = "One, 1.2 and `a.b`. two?\n    goes on. `Three`: x.\n\nFour"
    assert list(sentences(text)) == [
        "One, 1.2 and `a.b`.",
        "two?",
        "goes on.",
        "`Three`: x.",
        "Four",
    ]


def test_the_list_is_of_every_protocol_and_nothing_but_protocols() -> None:
    source = (
        '"""No."""\nclass A(Protocol):\n    """Yes."""\n    def b(self): "Too."\nclass C: "No."'
    )
    assert list(docstrings(source)) == [("A", "Yes."), ("A.b", "Too.")]
    assert len({name.partition(".")[0] for name, _ in promised()}) > 20
