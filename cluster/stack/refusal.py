"""The last start failed for good: why, and of which parts? Kept until someone asks for a start."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cluster.stack.spec import ServiceSpec


def remember(path: Path, specs: Sequence[ServiceSpec], reason: str) -> None:
    """On a full disk nothing is kept, and the next command tries again."""
    with suppress(OSError):
        path.write_text(json.dumps([_digests(specs), reason]), encoding="utf-8")


def remembered(path: Path, specs: Sequence[ServiceSpec]) -> str | None:
    """Why a start of these very parts failed; `None` when none did, or they differ since."""
    try:
        digests, reason = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return str(reason) if digests == _digests(specs) else None


def forget(path: Path) -> None:
    path.unlink(missing_ok=True)


def _digests(specs: Sequence[ServiceSpec]) -> list[str]:
    return sorted(spec.digest for spec in specs)
