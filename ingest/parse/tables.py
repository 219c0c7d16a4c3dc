"""A grid of cells as a Markdown pipe table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PipeTable:
    """`header` are the first two lines of `text`: names and the rule under them."""

    text: str
    header: str


def pipe_table(rows: Sequence[Sequence[str]], *, header_rows: int = 1) -> PipeTable | None:
    """Ragged rows are filled up, columns and rows without any text dropped; several header
    rows are merged into one (`Year / 2024`). Without any text: `None`."""
    head, body = rows[:header_rows], rows[header_rows:]
    width = max((len(row) for row in rows), default=0)
    grid = [[_cell(row[i]) if i < len(row) else "" for i in range(width)] for row in rows]
    used = [i for i in range(width) if any(row[i] for row in grid)]
    if not used:
        return None
    names = [_merged([grid[r][i] for r in range(len(head))]) for i in used]
    lines = [_line(names), _line(["---"] * len(used))]
    header = "\n".join(lines)
    lines += [
        _line([row[i] for i in used]) for row in grid[len(head) : len(head) + len(body)] if any(row)
    ]
    return PipeTable("\n".join(lines), header)


def _cell(value: str) -> str:
    text = " ".join(value.split()) if not value.isspace() else ""
    return text.replace("|", "\\|") if "|" in text else text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _merged(names: Sequence[str]) -> str:
    return " / ".join(dict.fromkeys(name for name in names if name))
