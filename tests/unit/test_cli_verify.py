"""Verdicts and conflicts as a person reads them."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console
from typer.testing import CliRunner

from cli import verify as command
from cli.answer import conflict_line
from cli.main import build
from cli.verify import NOT_SUPPORTED, print_verdicts


def result(verdict: str, **more: Any) -> dict[str, Any]:
    citation = {"url": None, "path": "settings.md", "version": "2.0"}
    proof = {"text": "- Default:\n `5`", "citation": citation}
    base = {
        "claim": "It is 5.",
        "verdict": verdict,
        "supported": verdict == "supported",
        "outdated": False,
        "why": "Default = `5`",
        "evidence": [proof],
    }
    return {**base, **more}


def printed(*results: dict[str, Any]) -> str:
    out = io.StringIO()
    print_verdicts({"results": results}, Console(file=out, width=80, highlight=False))
    return out.getvalue()


def test_a_verdict_is_printed_with_its_place() -> None:
    assert printed(result("supported")).splitlines() == [
        "supported  It is 5.",
        "    Default = `5`",
        "    - Default: `5` — settings.md (2.0)",
    ]


def test_outdated_is_said_first() -> None:
    told = printed(result("contradicted", outdated=True, evidence=[]))
    assert told.startswith("outdated  It is 5.")


def test_steering_characters_are_left_out() -> None:
    assert "\x1b" not in printed(result("not_found", claim="\x1b[31mred", evidence=[]))


def test_the_exit_status_tells_whether_all_is_borne_out(monkeypatch: Any) -> None:
    asked: list[dict[str, Any]] = []

    def answered(_endpoint: object, body: dict[str, Any], *, path: str) -> dict[str, Any]:
        asked.append({"path": path, **body})
        return {"results": [result("supported" if "5" in body["claims"][0] else "not_found")]}

    monkeypatch.setattr(command, "find_endpoint", lambda *, quiet: None)
    monkeypatch.setattr(command, "ask", answered)
    runner = CliRunner()
    assert runner.invoke(build(), ["verify", "It is 5.", "--version", "2.0"]).exit_code == 0
    assert runner.invoke(build(), ["verify", "It is 6."]).exit_code == NOT_SUPPORTED
    assert asked[0] == {"path": "/v1/verify", "claims": ["It is 5."], "version": "2.0"}


def test_a_conflict_is_one_line() -> None:
    told = {"rank": 2, "mine": "5", "theirs": "6", "standing": "loses", "by": "authority"}
    assert conflict_line(told) == "contradicts 2: 6 there, 5 here; that one wins by authority"
    assert conflict_line({**told, "standing": "open", "by": None}) == (
        "contradicts 2: 6 there, 5 here"
    )
