"""The command line: one file per group of commands, put together here."""

from __future__ import annotations

import sys

import typer

from cli import (
    ask,
    backup,
    demo,
    evaluate,
    forget,
    indexer,
    ingest,
    keys,
    migrate,
    outbox,
    purge,
    reembed,
    repair,
    stack,
    verify,
)
from cluster.errors import PalimpsestError


def build() -> typer.Typer:
    app = typer.Typer(
        name="palimpsest",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Cited, valid, diverse context for AI agents.",
    )
    for group in (
        demo,
        stack,
        migrate,
        indexer,
        ingest,
        ask,
        verify,
        keys,
        outbox,
        repair,
        reembed,
        backup,
        evaluate,
        forget,
        purge,
    ):
        group.register(app)
    return app


def main() -> None:
    """Errors that the system raises on purpose are told in one line each, exit status 1."""
    try:
        build()()
    except PalimpsestError as error:
        for line in str(error).splitlines():
            sys.stderr.write(f"error: {line}\n")
        raise SystemExit(1) from None
