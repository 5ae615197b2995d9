"""A dot chart: one or several values with intervals a row, on one axis, beside what they should be."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from s2s_assets.drawing import BELOW, MARK, MUTED, RULE, clip, drawing, round_axis, text, width_of
from s2s_assets.leaderboard.numbers import fixed, interval

_COLOURS = (("mark", MARK), ("below", BELOW), ("muted", MUTED))
_PITCH, _GAP = 17, 9
"""Height of a dot's line, and between rows."""


@dataclass(frozen=True)
class Dot:
    """A value and an interval about it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class DotRow:
    """A line of a dot chart: a dot for each series, None where it has none."""

    label: str
    dots: tuple[Dot | None, ...]


def dot_chart(
    rows: Sequence[DotRow],
    series: Sequence[str],
    title: str,
    unit: str,
    band: tuple[float, float] | None = None,
    decimals: int = 1,
    width: int = 760,
) -> str:
    """Draw values row by row.

    Args:
        rows: in the order given.
        series: names of a row's dots, at most three; each has a colour and a form of its own.
        title: drawn above and said first in the label.
        unit: drawn below the axis.
        band: where values should lie, shaded.
        decimals: of the printed numbers.
        width: of the drawing, in its own units.
    """
    names = [clip(r.label, 40) for r in rows]
    left = 24 + max((width_of(n) for n in names), default=0)
    right = 150
    ends = [v for r in rows for d in r.dots if d is not None for v in (d.low, d.high)]
    ends += [v for v in band or () if math.isfinite(v)]
    low, high, step = round_axis(min(ends, default=0.0), max([*ends, min(ends, default=0.0) + 1e-6]))

    def x(value: float) -> float:
        return round(left + (width - left - right) * (min(max(value, low), high) - low) / (high - low), 1)

    top, pitch = 66, _PITCH * len(series) + _GAP
    bottom = top + pitch * len(rows)
    parts = [text(12, 22, clip(title, 90), size=14, weight=600), *_legend(series)]
    if band is not None:
        parts.append(_band(x(band[0]), x(band[1]), top - 8, bottom))
    parts += _ticks(low, high, step, x, top - 8, bottom)
    for i, (row, name) in enumerate(zip(rows, names, strict=True)):
        y = top + pitch * i
        parts.append(text(left - 12, y + (pitch - _GAP) / 2 + 4, name, anchor="end"))
        for k, dot in enumerate(row.dots):
            at = y + _PITCH * (k + 0.5)
            parts += _dot(dot, k, x, at)
            parts.append(text(width - right + 12, at + 4, _printed(dot, decimals), css="muted", fill=MUTED, size=11))
    parts.append(text((left + width - right) / 2, bottom + 32, unit, "middle", "muted", MUTED, 11))
    return drawing(width, bottom + 44, f"{title}. {unit}: {_said(rows, series, decimals)}", parts)


def _said(rows: Sequence[DotRow], series: Sequence[str], decimals: int) -> str:
    return "; ".join(
        f"{clip(row.label, 60)}, {name} {_printed(dot, decimals)}"
        for row in rows
        for name, dot in zip(series, row.dots, strict=True)
    )


def _printed(dot: Dot | None, decimals: int) -> str:
    return "no value" if dot is None else f"{fixed(dot.value, decimals)} ({interval(dot.low, dot.high, decimals)})"


def _legend(series: Sequence[str]) -> list[str]:
    parts, at = [], 18.0
    for k, name in enumerate(series):
        parts += [_mark(k, at, 40), text(at + 10, 44, name, css="muted", fill=MUTED, size=11)]
        at += width_of(name, 11) + 34
    return parts


def _band(start: float, end: float, top: float, bottom: float) -> str:
    return f'<rect class="rule" fill="{RULE}" fill-opacity="0.55" x="{start}" y="{top}" width="{round(end - start, 1)}" height="{bottom - top}"/>'


def _ticks(low: float, high: float, step: float, x: Callable[[float], float], top: float, bottom: float) -> list[str]:
    decimals = max(0, -math.floor(math.log10(step)))
    parts = []
    for i in range(round((high - low) / step) + 1):
        at = x(low + i * step)
        parts.append(f'<path class="rule" stroke="{RULE}" d="M{at} {top}V{bottom}"/>')
        parts.append(text(at, bottom + 16, fixed(low + i * step, decimals), "middle", "muted", MUTED, 11))
    return parts


def _dot(dot: Dot | None, number: int, x: Callable[[float], float], y: float) -> list[str]:
    if dot is None:
        return []
    css, colour = _COLOURS[number]
    line = f'<path class="{css}" stroke="{colour}" stroke-width="1.6" fill="none" d="M{x(dot.low)} {y}H{x(dot.high)}"/>'
    return [line, _mark(number, x(dot.value), y)]


def _mark(number: int, x: float, y: float) -> str:
    """A disc, a square, a diamond: series are told apart without colour."""
    css, colour = _COLOURS[number]
    if number == 0:
        return f'<circle class="{css}" fill="{colour}" cx="{x}" cy="{y}" r="4.2"/>'
    shape = f"M{x - 4:.1f} {y - 4}h8v8h-8z" if number == 1 else f"M{x} {y - 5}l5 5l-5 5l-5 -5z"
    return f'<path class="{css}" fill="{colour}" d="{shape}"/>'
