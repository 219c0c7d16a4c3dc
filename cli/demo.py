"""A first look: start the stack, take in the examples, ask five questions, expected beside got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from cli.ask import Endpoint, ask, find_endpoint
from cli.ingest import ingest
from cluster.errors import StackError
from cluster.settings import load_settings

ROOT = Path(__file__).parents[1]
SHOWN = 60
PATIENCE_MS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Showcase:
    """A question and what its best passage must be."""

    shows: str
    question: str
    path: str
    version: str | None
    words: str


SHOWCASES = (
    Showcase(
        shows="an exact identifier",
        question="TP-4021",
        path="errors.md",
        version="3.0",
        words="job.max_bytes",
    ),
    Showcase(
        shows="a paraphrase",
        question="How can a receiver be sure that a message was not faked?",
        path="security.md",
        version="3.0",
        words="tell them from forgeries",
    ),
    Showcase(
        shows="the other language",
        question="怎样更换 webhook 的签名密钥？",
        path="security.md",
        version="3.0",
        words="tidepool keys promote next",
    ),
    Showcase(
        shows="a version",
        question="In version 2.0, how often is a failed job retried?",
        path="retries.md",
        version="2.0",
        words="5 times",
    ),
    Showcase(
        shows="a superseded fact",
        question="失败的任务默认重试几次？",
        path="retries.md",
        version="3.0",
        words="8 次",
    ),
)


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("demo")(demo)


def demo() -> None:
    """Start the stack, ingest the examples and this project's documentation, ask five questions."""
    console = Console(highlight=False)
    endpoint = find_endpoint(quiet=False)
    ingest([str(ROOT / "examples" / "tidepool")])
    ingest([str(ROOT / "docs")], product="palimpsest", source_type="official_doc")
    right = _show(endpoint, console)
    if right < len(SHOWCASES):
        raise StackError(f"{len(SHOWCASES) - right} of {len(SHOWCASES)} answers differ; see above")
    serve = load_settings().serve
    _go_on(console, f"http://{serve.host}:{serve.port}")


def _show(endpoint: Endpoint, console: Console) -> int:
    """Asks and prints; returns how many answers were as expected."""
    right = 0
    for number, showcase in enumerate(SHOWCASES, start=1):
        best = _best(endpoint, showcase.question)
        fits = _fits(showcase, best)
        right += fits
        asked = f"{number}. {showcase.question}   ({showcase.shows})"
        console.print(f"\n{asked}", style="bold", markup=False)
        wanted = f"{showcase.path} {showcase.version or ''}: “{showcase.words}”"
        console.print(f"   expected  {wanted}", markup=False)
        console.print(f"   got       {_told(best, showcase.words)}", markup=False)
        console.print("   right" if fits else "   WRONG", style="green" if fits else "bold red")
    return right


def _best(endpoint: Endpoint, question: str) -> Mapping[str, Any] | None:
    answer = ask(endpoint, {"query": question, "top_k": 3, "deadline_ms": PATIENCE_MS})
    results = answer["results"]
    return results[0] if results else None


def _fits(showcase: Showcase, best: Mapping[str, Any] | None) -> bool:
    if best is None:
        return False
    citation = best["citation"]
    right_page = citation["path"].endswith(showcase.path)
    return bool(
        right_page and citation["version"] == showcase.version and showcase.words in best["text"]
    )


def _told(best: Mapping[str, Any] | None, words: str) -> str:
    if best is None:
        return "nothing"
    at = max(0, best["text"].find(words))
    start = max(0, at - SHOWN // 3)
    extract = " ".join(best["text"][start : start + SHOWN].split())
    return f"{best['citation']['path']} {best['citation']['version'] or ''}: “…{extract}…”"


def _go_on(console: Console, url: str) -> None:
    console.print(
        "\nAll five answers are as expected. The stack keeps running. How to go on:\n"
        "  palimpsest ingest ~/your/folder     your own documents\n"
        '  palimpsest search "your question"   ask, in Chinese or English\n'
        f"  {url}/docs{' ' * (30 - len(url))} the HTTP API\n"
        "  palimpsest status · down            look at the stack, stop it\n"
        "The command is .venv/bin/palimpsest; `. .venv/bin/activate` puts it on your path."
    )
