"""Charts as SVG text: no script, no network, colours from the page's style sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 860
LABELS = 170
RIGHT = 70
ROW = 30
TOP = 26
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """One row: values from 0 to 1 by series; `floor` is a mark that they should pass."""

    label: str
    values: Mapping[str, float]
    floor: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One value from 0 to 1 with its standard error; `note` stands at its end."""

    label: str
    value: float
    error: float
    note: str = ""


def dot_rows(rows: Sequence[Dots], *, series: Sequence[str], title: str) -> str:
    """A row for each set, a dot for each stage, and a bar where the floor is."""
    height = TOP + ROW * len(rows) + 8
    parts = [_grid(height)]
    for at, row in enumerate(rows):
        y = TOP + ROW * at + ROW / 2
        parts.append(_label(row.label, y))
        values = [row.values[name] for name in series if name in row.values]
        if values:
            low, high = _x(min(values)), _x(max(values))
            parts.append(f'<line class="span" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>')
        if row.floor is not None:
            x = _x(row.floor)
            parts.append(
                f'<line class="floor" x1="{x}" x2="{x}" y1="{y - 11}" y2="{y + 11}">'
                f"<title>floor {row.floor:.3f}</title></line>"
            )
        parts += [
            _dot(name, at, row.values[name], y, last=name == series[-1])
            for at, name in enumerate(series)
            if name in row.values
        ]
        if series[-1] in row.values:
            parts.append(_value(f"{row.values[series[-1]]:.3f}", y))
    return _svg(parts, height=height, title=title)


def bars(rows: Sequence[Bar], *, title: str) -> str:
    height = TOP + ROW * len(rows) + 8
    parts = [_grid(height)]
    for at, row in enumerate(rows):
        y = TOP + ROW * at + ROW / 2
        left, end = _x(0), _x(row.value)
        low, high = _x(max(0.0, row.value - row.error)), _x(min(1.0, row.value + row.error))
        parts += [
            _label(row.label, y),
            _bar(row, left=left, end=end, y=y),
            f'<line class="error" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>',
            _value(f"{row.value:.3f}", y),
        ]
    return _svg(parts, height=height, title=title)


def histogram(values: Sequence[float], *, title: str, bins: int = 10) -> str:
    """How many questions have a value in each tenth from 0 to 1; the last one holds 1 too."""
    counts = [0] * bins
    for value in values:
        counts[min(int(value * bins), bins - 1)] += 1
    most = max(counts, default=0) or 1
    width, height, base = 230, 92, 74
    step = width / bins
    parts = [
        f'<rect class="bar" x="{at * step + 1:.1f}" y="{base - 64 * count / most:.1f}" '
        f'width="{step - 2:.1f}" height="{64 * count / most:.1f}"><title>{count} questions, '
        f"{at / bins:.1f} to {(at + 1) / bins:.1f}</title></rect>"
        for at, count in enumerate(counts)
    ]
    parts += [
        f'<line class="axis" x1="0" x2="{width}" y1="{base}" y2="{base}"/>',
        f'<text class="tick" x="0" y="{height - 4}">0</text>',
        f'<text class="tick" x="{width}" y="{height - 4}" text-anchor="end">1</text>',
    ]
    body = "".join(parts)
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="{escape(title)}">{body}</svg>'
    )


def _grid(height: float) -> str:
    return "".join(
        f'<line class="grid" x1="{_x(tick)}" x2="{_x(tick)}" y1="{TOP - 6}" y2="{height - 6}"/>'
        f'<text class="tick" x="{_x(tick)}" y="{TOP - 12}" text-anchor="middle">{tick:.1f}</text>'
        for tick in _TICKS
    )


def _label(text: str, y: float) -> str:
    return (
        f'<text class="label" x="{LABELS - 12}" y="{y + 4}" text-anchor="end">{escape(text)}</text>'
    )


def _bar(row: Bar, *, left: float, end: float, y: float) -> str:
    return (
        f'<rect class="bar" x="{left}" y="{y - 8}" width="{max(end - left, 0.5):.1f}" '
        f'height="16" rx="2"><title>{row.value:.3f} ± {row.error:.3f} {escape(row.note)}'
        "</title></rect>"
    )


def _value(text: str, y: float) -> str:
    return f'<text class="value" x="{WIDTH - RIGHT + 12}" y="{y + 4}">{text}</text>'


def _dot(name: str, at: int, value: float, y: float, *, last: bool) -> str:
    return (
        f'<circle class="dot series-{at}" cx="{_x(value)}" cy="{y}" r="{6.5 if last else 4.5}">'
        f"<title>{escape(name)} {value:.3f}</title></circle>"
    )


def _x(value: float) -> float:
    return round(LABELS + (WIDTH - LABELS - RIGHT) * value, 1)


def _svg(parts: Sequence[str], *, height: float, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )
