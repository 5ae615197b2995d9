"""A line chart: curves over a logarithmic axis, with a level that they are held against."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from s2s_assets.drawing import BELOW, INK, MARK, MUTED, RULE, clip, drawing, round_axis, text, width_of
from s2s_assets.leaderboard.numbers import counted, fixed

_COLOURS = (("mark", MARK), ("below", BELOW), ("third", "#2a8a57"), ("muted", MUTED), ("fifth", "#8e44ad"))
_DASHES = ("", "7 4", "2 3", "10 3 2 3")
_TOP, _HEIGHT, _PITCH = 52, 300, 18


@dataclass(frozen=True)
class Line:
    """One curve."""

    label: str
    points: tuple[tuple[float, float], ...]
    """(x > 0, y), by x."""
    colour: int = 0
    """Curves of one colour have something in common."""
    dash: int = 0
    """So have curves of one dash."""
    dot: tuple[float, float] | None = None
    """A point on it that matters."""


def line_chart(
    lines: Sequence[Line],
    title: str,
    *,
    x_unit: str,
    y_unit: str,
    level: float | None = None,
    decimals: int = 0,
    width: int = 760,
) -> str:
    """Draw curves on axes from their least x and from y = 0.

    Args:
        lines: named at the right in the order given.
        title: drawn above and said first in the label.
        x_unit: drawn below the axis.
        y_unit: drawn above the axis.
        level: of y, drawn across.
        decimals: of y where it is printed.
        width: of the drawing, in its own units.
    """
    names = [clip(line.label, 30) for line in lines]
    right = width - 56 - max((width_of(n, 11) for n in names), default=0)
    left, bottom = 56.0, _TOP + max(_HEIGHT, _PITCH * len(lines))
    xs = [x for line in lines for x, _ in line.points]
    low, high = min(xs, default=1.0), max(xs, default=10.0)
    _, top, step = round_axis(0.0, max([y for line in lines for _, y in line.points] + [level or 0.0, 1e-9]))

    def at(x: float, y: float) -> tuple[float, float]:
        share = math.log(x / low) / math.log(max(high / low, 1.0001))
        return round(left + (right - left) * share, 1), round(bottom - (bottom - _TOP) * y / top, 1)

    parts = [
        text(12, 22, clip(title, 90), size=14, weight=600),
        text(12, _TOP - 10, y_unit, css="muted", fill=MUTED, size=11),
    ]
    parts += [*_across(top, step, left, right, at, low, decimals), *_along(low, high, bottom, at)]
    if level is not None:
        y = at(low, level)[1]
        parts.append(
            f'<path class="axis" stroke="{INK}" stroke-width="1.2" stroke-dasharray="4 3" d="M{left} {y}H{right}"/>'
        )
    for k, (line, name) in enumerate(zip(lines, names, strict=True)):
        parts += _curve(line, at)
        y = _TOP + _PITCH * k + 8
        parts += [
            _stroke(line, f"M{right + 10:.1f} {y}h28"),
            text(right + 44, y + 4, name, css="muted", fill=MUTED, size=11),
        ]
    parts.append(text((left + right) / 2, bottom + 34, x_unit, "middle", "muted", MUTED, 11))
    return drawing(width, bottom + 46, f"{title}. {y_unit} by {x_unit}: {_said(lines, decimals)}", parts)


At = Callable[[float, float], tuple[float, float]]


def _across(top: float, step: float, left: float, right: float, at: At, low: float, decimals: int) -> list[str]:
    """Rules of y with their values."""
    parts = []
    digits = max(decimals, 0, -math.floor(math.log10(step)))
    for i in range(round(top / step) + 1):
        y = at(low, i * step)[1]
        parts.append(f'<path class="rule" stroke="{RULE}" d="M{left} {y}H{right}"/>')
        parts.append(text(left - 8, y + 4, fixed(i * step, digits), "end", "muted", MUTED, 11))
    return parts


def _along(low: float, high: float, bottom: float, at: At) -> list[str]:
    """Ticks at 1, 2 and 5 times powers of ten, or at powers of ten where these would be many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(decades) < 5 else (1,)
    parts = []
    for value in (m * 10.0**d for d in decades for m in steps):
        if low <= value <= high:
            x = at(value, 0.0)[0]
            parts.append(f'<path class="rule" stroke="{RULE}" d="M{x} {bottom}v5"/>')
            parts.append(text(x, bottom + 18, counted(round(value)), "middle", "muted", MUTED, 11))
    return parts


def _curve(line: Line, at: At) -> list[str]:
    path = "M" + "L".join(f"{x} {y}" for x, y in (at(*point) for point in line.points))
    parts = [_stroke(line, path)] if line.points else []
    if line.dot is not None:
        css, colour = _COLOURS[line.colour % len(_COLOURS)]
        x, y = at(*line.dot)
        parts.append(f'<circle class="{css}" fill="{colour}" cx="{x}" cy="{y}" r="4.2"/>')
    return parts


def _stroke(line: Line, path: str) -> str:
    css, colour = _COLOURS[line.colour % len(_COLOURS)]
    dash = _DASHES[line.dash % len(_DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path class="{css}" stroke="{colour}" stroke-width="1.8" fill="none"{dashed} d="{path}"/>'


def _said(lines: Sequence[Line], decimals: int) -> str:
    ends = ((line.label, line.points[0], line.points[-1]) for line in lines if line.points)
    return "; ".join(
        f"{clip(name, 60)} from {fixed(a[1], decimals)} at {counted(round(a[0]))} to {fixed(b[1], decimals)} at "
        f"{counted(round(b[0]))}"
        for name, a, b in ends
    )
