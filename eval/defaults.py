"""Does the right edition answer? "The default of X in V", for settings whose default changed.

    python -m eval.defaults [--data ../shared/data/versioned_docs] [--pages all] [--show 20]

The corpus is the product's pages in all its editions: those about settings, or all of them.
Three kinds of questions, Chinese and English: of a version (the first passage must hold the
setting and its default there, and be of that edition), of none (the newest edition first, no
other shown), and of a version that does not exist (the answer must say so). Needs the local
stack (`palimpsest up`); the corpus goes into a tenant of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import regex
from rich.console import Console

from cluster.errors import StackError
from cluster.model import Scope
from cluster.settings import Settings, load_settings
from eval.datasets import read_lines
from eval.open import open_service
from eval.results import write_corpus
from eval.run import patient
from eval.sets import Corpus
from ingest.open import open_surroundings
from ingest.progress import watcher
from ingest.run import Request, ingest
from serve.plan.planner import Question
from serve.retrieve import Retrieved
from serve.service import Service

PRODUCT = "tidb"
SETTING_PAGES = ("system-variables.md", "status-variables.md", "tidb-configuration-file.md")
NAME = "defaults"
FLOOR = 0.98
DEPTH = 10
PATIENCE_S = 60.0

Kind = Literal["version", "newest", "missing"]

TEMPLATES: Mapping[Kind, tuple[str, ...]] = {
    "version": (
        "default of {name} in {version}",
        "What is the default value of {name} in TiDB {version}?",
        "{version} 版本中 {name} 的默认值",
        "TiDB {version} 里 {name} 默认是多少？",
    ),
    "newest": ("What is the default of {name}?", "{name} 的默认值是多少？"),
    "missing": ("default of {name} in TiDB {version}", "TiDB {version} 版本中 {name} 的默认值"),
}
MISSING = ("4.0", "6.1", "9.9")

_ONE_LITERAL = regex.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """`literals` by version: where the default is nothing but one literal in backticks."""

    name: str
    literals: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultQuestion:
    """`version` is the edition that must answer, `literal` what its first passage must hold;
    for `missing` the version that no page has."""

    kind: Kind
    text: str
    name: str
    version: str
    literal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    question: DefaultQuestion
    right: bool
    why: str = ""


def read_facts(path: Path) -> list[Fact]:
    """The settings that are flagged as changed, with at least one such version."""
    rows = (row for _, row in read_lines(path) if row["changed"])
    facts = (Fact(name=row["variable"], literals=_literals(row["defaults"])) for row in rows)
    return [fact for fact in facts if fact.literals]


def questions_of(facts: Iterable[Fact], *, newest: str) -> list[DefaultQuestion]:
    """`newest` is the highest edition: without a version it must answer."""
    return [
        DefaultQuestion(
            kind=kind,
            text=template.format(name=fact.name, version=version),
            name=fact.name,
            version=version,
            literal=fact.literals.get(version, ""),
        )
        for fact in facts
        for kind, versions in _versions(fact, newest).items()
        for version in versions
        for template in TEMPLATES[kind]
    ]


def corpus_of(docs: Path, *, name: str = NAME, pages: Sequence[str] = ()) -> Corpus:
    """Every edition of the product's pages, or of these."""
    lines = tuple(
        row
        for _, row in read_lines(docs)
        if row["project"] == PRODUCT and (not pages or row["path"] in pages)
    )
    return Corpus(name=name, file=docs, documents=len(lines), lines=lines)


def judge(question: DefaultQuestion, found: Retrieved) -> Verdict:
    """What the kind of question demands (see above)."""
    if question.kind == "missing":
        told = any(f"{question.version} here" in note for note in found.notes)
        return Verdict(question=question, right=told, why="" if told else "not said to be missing")
    wrong = [
        passage.citation.version or "none"
        for passage in found.passages
        if passage.citation.version != question.version
    ]
    if wrong:
        return Verdict(question=question, right=False, why=f"editions shown: {', '.join(wrong)}")
    if not found.passages:
        return Verdict(question=question, right=False, why="nothing found")
    return _judge_first(question, found.passages[0].text)


async def ask_all(
    questions: Sequence[DefaultQuestion], service: Service, *, tenant: str
) -> list[Verdict]:
    scope = Scope(tenant=tenant)
    verdicts = []
    for question in questions:
        asked = Question(
            text=question.text,
            scope=scope,
            limit=DEPTH,
            now=service.clock.now(),
            deadline_s=PATIENCE_S,
        )
        found = await service.search(patient(await service.plan(asked)))
        verdicts.append(judge(question, found))
    return verdicts


def shares(verdicts: Iterable[Verdict]) -> dict[str, tuple[int, int]]:
    """Kind -> (right, asked)."""
    asked, right = Counter[str](), Counter[str]()
    for verdict in verdicts:
        asked[verdict.question.kind] += 1
        right[verdict.question.kind] += verdict.right
    return {kind: (right[kind], asked[kind]) for kind in TEMPLATES if asked[kind]}


def _literals(defaults: Mapping[str, str | None]) -> dict[str, str]:
    found = {
        version: _ONE_LITERAL.fullmatch(default.strip())
        for version, default in defaults.items()
        if default
    }
    return {version: match[1] for version, match in found.items() if match is not None}


def _versions(fact: Fact, newest: str) -> dict[Kind, tuple[str, ...]]:
    """Without a version only what the newest edition states as one literal can be judged."""
    return {
        "version": tuple(fact.literals),
        "newest": (newest,) if newest in fact.literals else (),
        "missing": MISSING,
    }


def _judge_first(question: DefaultQuestion, text: str) -> Verdict:
    """The passage may be several merged chunks; the literal must stand where the setting does."""
    for part in (question.name, f"`{question.literal}`"):
        if part not in text:
            return Verdict(question=question, right=False, why=f"no {part} in the first passage")
    return Verdict(question=question, right=True)


def _take_in(file: Path, tenant: str, settings: Settings) -> None:
    """A second time costs nothing."""
    request = Request(targets=(str(file),), tenant=tenant)
    watching = watcher(Console(stderr=True))
    with open_surroundings(settings) as around, watching:
        done = ingest(request, around, watching)
    if done.state != "succeeded":
        raise StackError(f"nothing of {file} came in: run {done.run_id} {done.state}")


async def _measure(
    questions: Sequence[DefaultQuestion], settings: Settings, *, tenant: str
) -> list[Verdict]:
    async with open_service(settings) as service:
        return await ask_all(questions, service, tenant=tenant)


def _told(verdicts: Sequence[Verdict], *, show: int) -> str:
    lines = [
        json.dumps(
            {
                kind: {"right": right, "asked": asked, "share": round(right / asked, 4)}
                for kind, (right, asked) in shares(verdicts).items()
            }
        )
    ]
    misses = [verdict for verdict in verdicts if not verdict.right]
    lines += [f"{each.question.text!r}: {each.why}" for each in misses[:show]]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_AsWritten)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/versioned_docs"))
    parser.add_argument("--pages", choices=("settings", "all"), default="settings")
    parser.add_argument("--show", type=int, default=20, help="at most so many misses")
    given = parser.parse_args()
    pages = SETTING_PAGES if given.pages == "settings" else ()
    corpus = corpus_of(given.data / "docs.jsonl", name=f"{NAME}-{given.pages}", pages=pages)
    settings = load_settings()
    _take_in(write_corpus(corpus, settings.data_dir / "eval" / "corpora"), corpus.tenant, settings)
    facts = read_facts(given.data / "tidb_default_facts.jsonl")
    newest = max(version for fact in facts for version in fact.literals)
    questions = questions_of(facts, newest=newest)
    verdicts = asyncio.run(_measure(questions, settings, tenant=corpus.tenant))
    print(_told(verdicts, show=given.show))
    right, asked = shares(verdicts)["version"]
    sys.exit(0 if right >= FLOOR * asked else 1)


class _AsWritten(argparse.RawDescriptionHelpFormatter):
    pass


if __name__ == "__main__":
    main()
