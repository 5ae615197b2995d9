"""Charts as SVG text, drawn by hand: a forest plot and a heat map.

The same SVG stands in the page, in a file of its own and under the PNGs; `svg.py` has what they are drawn with.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from s2s_assets.drawing import (
    ABOVE,
    BELOW,
    MARK,
    MUTED,
    RULE,
    clip,
    drawing,
    round_axis,
    text,
    width_of,
)
from s2s_assets.leaderboard.numbers import fixed, interval, signed


@dataclass(frozen=True)
class ForestRow:
    """A line of a forest plot; Elo points; None where there is no value or no bound."""

    label: str
    elo: float | None
    low: float | None = None
    high: float | None = None
    bound: str | None = None
    """`above` or `below` for an entity without a value that is beyond the rest by an unbounded amount."""

    @property
    def printed(self) -> str:
        """Value and interval, or why there is none."""
        if self.elo is not None:
            return f"{fixed(self.elo)} ({interval(self.low, self.high)})"
        return f"{self.bound}, unbounded" if self.bound else "no value"


@dataclass(frozen=True)
class Matrix:
    """What a heat map shows: values centred on 0, rows × columns, None for an empty cell."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    """Printed in the cells."""
    firm: tuple[tuple[bool, ...], ...] = ()
    """Cells printed bold; empty: none."""


def forest(rows: Sequence[ForestRow], title: str, width: int = 760) -> str:
    """A forest plot: a point and an interval a row, in the order given, on one axis of Elo.

    Args:
        rows: what to draw; a row without a value keeps its line.
        title: drawn above and said first in the label.
        width: of the drawing, in its own units.
    """
    names = [clip(r.label, 36) for r in rows]
    left = 24 + max((width_of(n) for n in names), default=0)
    right = 130
    low, high, step = axis([v for r in rows for v in (r.elo, r.low, r.high) if v is not None])

    def x(value: float) -> float:
        return round(left + (width - left - right) * (value - low) / (high - low), 1)

    top, pitch = 52, 26
    bottom = top + pitch * len(rows)
    parts = [text(12, 22, clip(title, 90), size=14, weight=600), *_grid(low, high, step, x, top - 8, bottom)]
    for i, (row, name) in enumerate(zip(rows, names, strict=True)):
        y = top + pitch * i + pitch / 2
        parts += [text(left - 12, y + 4, name, anchor="end"), *_interval(row, x, y, low, high)]
        parts.append(text(width - right + 12, y + 4, row.printed, css="muted", fill=MUTED, size=11))
    parts.append(text((left + width - right) / 2, bottom + 32, "Elo, 95 % interval", "middle", "muted", MUTED, 11))
    said = "; ".join(f"{clip(r.label, 60)} {r.printed}" for r in rows)
    return drawing(width, bottom + 44, f"{title}. Elo and 95 % interval: {said}", parts)


def heatmap(matrix: Matrix, title: str, cell: int = 62, pitch: int = 30, note: str = "") -> str:
    """A heat map around 0: blue above, orange below, the value printed in every cell.

    Args:
        matrix: values and their texts; colour strength is |value| over the largest.
        title: drawn above and said first in the label.
        cell: width of a cell in the drawing's units.
        pitch: its height.
        note: drawn below.
    """
    names, heads = [clip(n, 36) for n in matrix.rows], [clip(n, 32) for n in matrix.columns]
    left = 24 + max((width_of(n) for n in names), default=0)
    lean = 0.72 * max((width_of(n) for n in heads), default=0)
    top = 52 + lean
    peak = max((abs(v) for row in matrix.values for v in row if v is not None), default=0) or 1
    parts = [text(12, 22, clip(title, 90), size=14, weight=600)]
    for j, head in enumerate(heads):
        at = (round(left + cell * j + cell / 2, 1), round(top - 8, 1))
        parts.append(text(*at, head, turn=-45))
    for i, name in enumerate(names):
        y = top + pitch * i
        parts.append(text(left - 12, y + pitch / 2 + 4, name, anchor="end"))
        for j, value in enumerate(matrix.values[i]):
            firm = bool(matrix.firm) and matrix.firm[i][j]
            parts += _cell(left + cell * j, y, cell, pitch, value, peak, matrix.texts[i][j], firm)
    width = max(
        left + cell * len(heads) + 0.72 * lean + 24, width_of(clip(title, 90), 14) + 24, width_of(note, 11) + 24
    )
    bottom = top + pitch * len(names) + 16
    if note:
        parts.append(text(12, bottom + 8, note, css="muted", fill=MUTED, size=11))
        bottom += 20
    return drawing(math.ceil(width), math.ceil(bottom), _said(matrix, title), parts)


def axis(values: Sequence[float], ticks: int = 6) -> tuple[float, float, float]:
    """Ends and step of an axis that holds the values and 1000."""
    return round_axis(min([*values, 990.0]), max([*values, 1010.0]), ticks)


def _grid(low: float, high: float, step: float, x: Callable[[float], float], top: float, bottom: float) -> list[str]:
    parts = []
    for i in range(round((high - low) / step) + 1):
        value = low + i * step
        dash = ' stroke-dasharray="4 3"' if value == 1000 else ""
        stroke, css = (MUTED, "axis") if value == 1000 else (RULE, "rule")
        parts.append(f'<path class="{css}" stroke="{stroke}"{dash} d="M{x(value)} {top}V{bottom}"/>')
        parts.append(text(x(value), bottom + 16, fixed(value), "middle", "muted", MUTED, 11))
    return parts


def _interval(row: ForestRow, x: Callable[[float], float], y: float, low: float, high: float) -> list[str]:
    """The interval's line, an arrow where an end has no bound, and the point."""
    if row.elo is None:
        return []
    parts = []
    if row.low is not None or row.high is not None:
        start, end = x(low if row.low is None else row.low), x(high if row.high is None else row.high)
        caps = f"M{start} {y - 4}v8" if row.low is not None else f"M{start + 5} {y - 4}l-5 4l5 4"
        caps += f"M{end} {y - 4}v8" if row.high is not None else f"M{end - 5} {y - 4}l5 4l-5 4"
        parts.append(
            f'<path class="mark" stroke="{MARK}" stroke-width="1.6" fill="none" d="M{start} {y}H{end}{caps}"/>'
        )
    parts.append(f'<circle class="dot" fill="{MARK}" cx="{x(row.elo)}" cy="{y}" r="4.2"/>')
    return parts


def _cell(
    left: float, top: float, width: float, height: float, value: float | None, peak: float, words: str, firm: bool
) -> list[str]:
    """A cell of a heat map: its ground by sign and size, its text in the middle."""
    css, colour = ("above", ABOVE) if (value or 0) >= 0 else ("below", BELOW)
    strength = 0 if value is None else round(0.08 + 0.5 * abs(value) / peak, 2) if value else 0
    ground = (
        f'<rect class="{css}" fill="{colour}" fill-opacity="{strength}" x="{left:.1f}" y="{top:.1f}" '
        f'width="{width - 2}" height="{height - 2}" rx="3"/>'
    )
    middle = text(left + width / 2 - 1, top + height / 2 + 3, words, "middle", size=11, weight=700 if firm else 400)
    return [ground, middle] if words else [ground]


def _said(matrix: Matrix, title: str, limit: int = 60) -> str:
    """A heat map's label: its cells up to a limit, else its range."""
    cells = [
        (clip(r, 40), clip(c, 40), v)
        for r, row in zip(matrix.rows, matrix.values, strict=True)
        for c, v in zip(matrix.columns, row, strict=True)
        if v is not None
    ]
    if len(cells) <= limit:
        return f"{title}: " + "; ".join(f"{r} / {c} {signed(v)}" for r, c, v in cells)
    high, low = max(cells, key=lambda c: c[2]), min(cells, key=lambda c: c[2])
    return (
        f"{title}: {len(cells)} cells from {signed(low[2])} ({low[0]} / {low[1]}) "
        f"to {signed(high[2])} ({high[0]} / {high[1]})"
    )
