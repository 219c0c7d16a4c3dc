"""Encode everything anew: with another model, backend, centring or dimension."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from cli.repair import read_age
from cli.stack import service_specs
from cluster.clock import SystemClock
from cluster.errors import InvalidRequest
from cluster.model import Generation
from cluster.models.open import describe, open_generation
from cluster.settings import EncoderSettings, Settings, load_settings
from cluster.stack.control import ensure_up
from cluster.stores.open import open_collections, open_ledger
from cluster.stores.protocols import HeldGeneration, Ledger
from lifecycle.reembed import (
    Tools,
    abort,
    estimate,
    finish,
    reembed,
    roll_back,
)
from lifecycle.token_fill import fill_tokens

Result = TypeVar("Result")

AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("reembed")(reembed_command)


def reembed_command(  # noqa: PLR0917  # each is an option of the command line
    model: Annotated[str | None, typer.Option(help="Default: encoder.model.")] = None,
    revision: Annotated[str | None, typer.Option(help="Of a hub model.")] = None,
    backend: Annotated[str | None, typer.Option(help="Default: encoder.backend.")] = None,
    centred: Annotated[
        bool | None, typer.Option("--centred/--no-centred", help="Default: encoder.centred.")
    ] = None,
    hashing_dim: Annotated[int | None, typer.Option(help="For backend hashing (tests).")] = None,
    grace: Annotated[
        str, typer.Option(help="How long one may go back after the switch: 30m, 24h, 7d.")
    ] = "24h",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Which generations there are.")] = False,
    back: Annotated[bool, typer.Option("--roll-back", help="Return to the former one.")] = False,
    end: Annotated[
        bool, typer.Option("--finish", help="End the grace period; the former one goes.")
    ] = False,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Make the token vectors that are missing, no more.")
    ] = False,
    give_up: Annotated[bool, typer.Option("--abort", help="Give up what is being built.")] = False,
    as_json: AsJson = False,
) -> None:
    """Encode everything anew beside what is searched, and switch when it is complete.

    Questions are answered all the while. May be interrupted, and goes on when run again. Without
    options it takes the encoder of the settings.
    """
    named = {
        "model": model, "revision": revision, "backend": backend, "centred": centred,
        "hashing_dim": hashing_dim,
    }  # fmt: skip
    changes = {key: value for key, value in named.items() if value is not None}
    actions = {
        "dry_run": dry_run,
        "status": status,
        "back": back,
        "end": end,
        "tokens": tokens,
        "abort": give_up,
    }
    chosen = [name for name, wanted in actions.items() if wanted]
    if len(chosen) > 1 or (changes and chosen and chosen != ["dry_run"]):
        raise InvalidRequest(
            "reembed: one of its actions at a time, and an encoder only for a run or --dry-run"
        )
    settings = load_settings()
    if settings.postgres.url is None or settings.milvus.uri is None:
        ensure_up(settings, service_specs(settings), say=_note)
    told = _act(chosen[0] if chosen else "run", settings, changes, grace=read_age(grace))
    if as_json:
        typer.echo(json.dumps(told, indent=2, default=str))
    else:
        _print(told)
    if told.get("state") == "switched":
        _note(
            f"{told['former']} is kept up for {grace}: `palimpsest reembed --roll-back` returns to "
            "it, `--finish` removes it. Let encoder.* of the settings name what is active now"
        )


def _act(
    action: str, settings: Settings, changes: Mapping[str, Any], *, grace: timedelta
) -> dict[str, Any]:
    match action:
        case "run":
            to = _wanted(settings, changes)
            return asdict(_with(settings, lambda tools: reembed(to, tools, grace=grace)))
        case "dry_run":
            to = _wanted(settings, changes)
            return {"to": to.fingerprint} | asdict(_with(settings, lambda t: estimate(to, t)))
        case "back":
            return asdict(_with(settings, lambda tools: roll_back(tools, grace=grace)))
        case "end":
            return {"gone": _with(settings, finish)}
        case "tokens":
            return asdict(_with(settings, fill_tokens))
        case "abort":
            return {"given_up": _with(settings, abort)}
    return _with(settings, lambda tools: _status(tools.ledger))


def _wanted(settings: Settings, changes: Mapping[str, Any]) -> Generation:
    """The settings' encoder with what was asked for beside them."""
    if "hashing_dim" in changes:
        changes = {"backend": "hashing", **changes}
    try:
        encoder = EncoderSettings.model_validate({**settings.encoder.model_dump(), **changes})
    except ValidationError as error:
        first = error.errors()[0]
        option = "--" + "-".join(map(str, first["loc"])).replace("_", "-")
        raise InvalidRequest(f"reembed {option}: {first['msg']}; got {first['input']!r}") from error
    return describe(settings.model_copy(update={"encoder": encoder}))


def _with(settings: Settings, work: Callable[[Tools], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        ledger = await open_ledger(settings)
        try:
            return await work(
                Tools(
                    ledger=ledger,
                    collections=open_collections(settings),
                    clock=SystemClock(),
                    open_embedder=lambda generation: open_generation(generation, settings),
                    token_vectors=settings.encoder.token_vectors,
                    say=_note,
                )
            )
        finally:
            await ledger.close()

    return asyncio.run(run())


async def _status(ledger: Ledger) -> dict[str, Any]:
    async with ledger.transaction() as tx:
        known = await tx.generations.known()
        backlogs = {
            one.fingerprint: await tx.generations.backlog(one.fingerprint)
            for one in known
            if one.state in ("building", "grace")
        }
    return {
        "generations": [
            _told(one) | (asdict(backlogs[one.fingerprint]) if one.fingerprint in backlogs else {})
            for one in known
        ]
    }


def _told(held: HeldGeneration) -> dict[str, Any]:
    told: dict[str, Any] = {"fingerprint": held.fingerprint, "state": held.state}
    moments = {
        "started_at": held.started_at,
        "activated_at": held.activated_at,
        "retire_at": held.retire_at if held.state == "grace" else None,
    }
    told |= {name: moment.isoformat() for name, moment in moments.items() if moment}
    if held.state == "building":
        told |= {key: value for key, value in (held.progress or {}).items() if key != "owed_to"}
    return told


def _print(told: Mapping[str, Any]) -> None:
    for held in told.get("generations", [told]):
        typer.echo("  ".join(f"{key} {value}" for key, value in held.items()))


def _note(line: str) -> None:
    typer.echo(line, err=True)
