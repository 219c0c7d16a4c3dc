"""Check claims: verify."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from cli.answer import plain
from cli.ask import ask, filter_of, find_endpoint

STYLES = {
    "supported": "bold green",
    "contradicted": "bold red",
    "not_found": "bold yellow",
    "unchecked": "bold magenta",
}
NOT_SUPPORTED = 3
"""Exit status when some claim is not supported."""


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("verify")(verify)


def verify(
    claims: Annotated[list[str], typer.Argument(help="What is claimed, one argument each.")],
    where: Annotated[
        list[str] | None,
        typer.Option("--filter", "-f", help="Only these sources: `field=value` or JSON."),
    ] = None,
    version: Annotated[
        str | None, typer.Option("--version", help="What claims without a version are about.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="For machines: the answer as is.")
    ] = False,
) -> None:
    """Do the sources bear these claims out? Exit status 3 when they do not bear out all."""
    body: dict[str, Any] = {"claims": claims}
    if where:
        body["filter"] = filter_of(where)
    if version is not None:
        body["version"] = version
    answer = ask(find_endpoint(quiet=as_json), body, path="/v1/verify")
    if as_json:
        sys.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2) + "\n")
    else:
        print_verdicts(answer, Console(highlight=False))
    if not all(each["supported"] for each in answer["results"]):
        raise typer.Exit(NOT_SUPPORTED)


def print_verdicts(answer: Mapping[str, Any], console: Console) -> None:
    """Verdict, claim, why, and the places that decided."""
    for result in answer["results"]:
        verdict = result["verdict"]
        told = "outdated" if result["outdated"] else verdict.replace("_", " ")
        line = Text.assemble((told, STYLES[verdict]), "  ", plain(result["claim"]))
        console.print(line, soft_wrap=True)
        console.print(Text(f"    {plain(result['why'])}"), soft_wrap=True)
        for proof in result["evidence"]:
            citation = proof["citation"]
            place = citation["url"] or citation["path"]
            version = f" ({citation['version']})" if citation["version"] else ""
            said = plain(" ".join(proof["text"].split()))
            console.print(Text(f"    {said} — {plain(place)}{version}", "cyan"), soft_wrap=True)
