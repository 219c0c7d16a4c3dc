"""Which edition is higher? Version texts -> keys that sort by code point."""

from __future__ import annotations


def version_key(version: str) -> str:
    """A key so that `a` is older than `b` exactly when `version_key(a) < version_key(b)`."""
    raise NotImplementedError
