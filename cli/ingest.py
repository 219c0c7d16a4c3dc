"""Bring material in: ingest, runs."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
