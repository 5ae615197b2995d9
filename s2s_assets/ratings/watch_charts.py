"""The admin pages' charts: votes over time, scores, the order effect by rubric, and raters against each other."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

import polars as pl

from s2s_assets.drawing import BELOW, INK, MARK, MUTED, RULE, clip, drawing, round_axis, text, width_of
from s2s_assets.ratings.measures import ALL

_LEFT, _TOP, _HEIGHT = 56.0, 52.0, 200.0
_BOTTOM = _TOP + _HEIGHT
_HOURLY = timedelta(days=3)
_MOST_BARS = 120
_SCORES = range(-3, 4)
Axis = tuple[float, float, float]
At = Callable[[float], float]


def votes_chart(ratings: pl.DataFrame, width: int = 760) -> str:
    """Votes (a rater's answers to one pair) an hour, or a day where they span more than three, in UTC.

    Args:
        ratings: The table of that name; answers without a time are left out.
        width: In the drawing's units.
    """
    votes = ratings.drop_nulls("submitted_at").group_by("rater", "pair").agg(pl.col("submitted_at").max())
    times = votes["submitted_at"]
    first, last = times.min(), times.max()
    hourly = isinstance(first, datetime) and isinstance(last, datetime) and last - first <= _HOURLY
    unit, shown = ("1h", "%d %b %H:%M") if hourly else ("1d", "%d %b %Y")
    counted = votes.select(at=pl.col("submitted_at").dt.truncate(unit)).group_by("at").agg(n=pl.len()).sort("at")
    if counted.height:
        counted = counted.upsample("at", every=unit).with_columns(pl.col("n").fill_null(0)).tail(_MOST_BARS)
    bars = [(at.strftime(shown), float(n)) for at, n in counted.iter_rows()]
    return _bars(bars, f"Votes {'an hour' if hourly else 'a day'}", "votes", "UTC", width)


def scores_chart(ratings: pl.DataFrame, rubric: str = ALL, width: int = 760) -> str:
    """How often each score was given, from the first heard (-3) to the second (+3), of the answers that count.

    Args:
        ratings: The table of that name; answers without an order are left out.
        rubric: One rubric, or `all`.
        width: In the drawing's units.
    """
    counted = ratings.filter(pl.col("excluded_by").is_null() & pl.col("screen_value").is_not_null())
    if rubric != ALL:
        counted = counted.filter(pl.col("rubric") == rubric)
    numbers = dict(counted.group_by("screen_value").len().iter_rows())
    bars = [(f"{score:+d}" if score else "0", float(numbers.get(score, 0))) for score in _SCORES]
    title = "Scores, all questions" if rubric == ALL else f"Scores, {rubric}"
    return _bars(bars, title, "answers", "first heard is better (−3) … second heard is better (+3)", width)


def order_chart(quality: pl.DataFrame, width: int = 760) -> str:
    """Mean screen score by rubric with its interval; above 0 the second heard is preferred.

    Args:
        quality: The table `rater_quality`.
        width: In the drawing's units.
    """
    rows = quality.filter(
        (pl.col("measure") == "order_effect") & (pl.col("scope") == "rubric") & pl.col("value").is_not_null()
    )
    names = [clip(name, 28) for name in rows["name"]]
    left = 24 + max((width_of(name) for name in names), default=60.0)
    ends = [v for c in ("value", "low", "high") for v in rows[c].drop_nulls()]
    axis = round_axis(min([-0.5, *ends]), max([0.5, *ends]))
    at, bottom = _scale(axis, left, width - 90), _TOP + 26 * max(1, len(names))
    parts = [text(12, 22, "Order effect", size=14, weight=600), *_ticks_below(axis, at, bottom)]
    parts.append(f'<path class="axis" stroke="{INK}" d="M{at(0):.1f} {_TOP - 8}V{bottom}"/>')
    said = []
    for k, (name, row) in enumerate(zip(names, rows.iter_rows(named=True), strict=True)):
        y = _TOP + 26 * k + 10
        told = f"{row['value']:+.2f}"
        parts.append(text(left - 12, y + 4, name, "end"))
        if row["low"] is not None:
            told += f" ({row['low']:+.2f} to {row['high']:+.2f})"
            parts.append(
                f'<path class="mark-line" stroke="{MARK}" stroke-width="2" d="M{at(row["low"]):.1f} {y}H{at(row["high"]):.1f}"/>'
            )
        parts.append(f'<circle class="mark" fill="{MARK}" cx="{at(row["value"]):.1f}" cy="{y}" r="4.5"/>')
        parts.append(text(width - 12, y + 4, f"{row['value']:+.2f}", "end", "muted", MUTED, 11))
        said.append(f"{name} {told}")
    parts.append(
        text(
            (left + width - 90) / 2,
            bottom + 36,
            "first heard preferred … second heard preferred",
            "middle",
            "muted",
            MUTED,
            11,
        )
    )
    return drawing(width, bottom + 48, f"Order effect by rubric: {'; '.join(said) or 'none yet'}", parts)


def raters_chart(quality: pl.DataFrame, width: int = 760) -> str:
    """Every rater by order effect and agreement with the others; those whom a rule drops are named where there is room.

    Args:
        quality: The table `rater_quality`.
        width: In the drawing's units.
    """
    of_raters = quality.filter(pl.col("scope") == "rater")
    dropped = set(of_raters.filter(pl.col("effect") == "drop")["name"])
    both = (
        of_raters.filter(pl.col("measure").is_in(["order_effect", "rest_r"]) & pl.col("value").is_not_null())
        .pivot("measure", index="name", values="value", aggregate_function="first")
        .sort("name")
    )
    points = []
    if {"order_effect", "rest_r"} <= set(both.columns):
        points = list(both.drop_nulls().select("name", "order_effect", "rest_r").iter_rows())
    xs, ys = [p[1] for p in points], [p[2] for p in points]
    x_axis, y_axis = round_axis(min([-1.0, *xs]), max([1.0, *xs])), round_axis(min([-0.2, *ys]), 1.0)
    at_x, at_y = _scale(x_axis, _LEFT, width - 24), _scale(y_axis, _BOTTOM + 60, _TOP)
    parts = [text(12, 22, "Raters", size=14, weight=600)]
    parts.append(text(12, _TOP - 12, "correlation with the others' scores", css="muted", fill=MUTED, size=11))
    parts += [*_rules(y_axis, at_y, _LEFT, width - 24, ".1f"), *_ticks_below(x_axis, at_x, _BOTTOM + 60)]
    parts.append(f'<path class="axis" stroke="{INK}" stroke-dasharray="4 3" d="M{at_x(0):.1f} {_TOP}V{_BOTTOM + 60}"/>')
    for name, x, y in points:
        css, colour = ("below", BELOW) if name in dropped else ("mark", MARK)
        parts.append(
            f'<circle class="{css}" fill="{colour}" fill-opacity="0.75" cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="4.5"/>'
        )
    parts += _names([(clip(name, 24), at_x(x), at_y(y)) for name, x, y in points if name in dropped], width)
    parts.append(
        text(
            (_LEFT + width) / 2,
            _BOTTOM + 96,
            "order effect: mean score towards the second heard",
            "middle",
            "muted",
            MUTED,
            11,
        )
    )
    out = ", ".join(clip(name, 24) for name, *_ in points if name in dropped) or "none"
    label = f"{len(points)} raters by order effect and correlation with the others. Dropped by a rule: {out}"
    return drawing(width, _BOTTOM + 108, label, parts)


def _names(points: Iterable[tuple[str, float, float]], width: int) -> Iterator[str]:
    """Names beside their points, without those that would lie on another name."""
    taken: list[tuple[float, float, float]] = []
    for name, x, y in points:
        long, to_left = width_of(name, 11), x > width * 0.75
        start = x - 8 - long if to_left else x + 8
        if all(abs(y - line) >= 11 or start + long < left or start > right for left, right, line in taken):
            taken.append((start, start + long, y))
            side, at = ("end", x - 8) if to_left else ("start", x + 8)
            yield text(round(at, 1), round(y + 4, 1), name, side, size=11)


def _bars(bars: Sequence[tuple[str, float]], title: str, y_unit: str, x_unit: str, width: int) -> str:
    axis = round_axis(0.0, max([4.0, *(value for _, value in bars)]), ticks=4)
    at_y, right = _scale(axis, _BOTTOM, _TOP), width - 24
    step = (right - _LEFT) / max(1, len(bars))
    parts = [
        text(12, 22, clip(title, 60), size=14, weight=600),
        text(12, _TOP - 12, y_unit, css="muted", fill=MUTED, size=11),
        *_rules(axis, at_y, _LEFT, right, ",.0f"),
    ]
    widest = max((width_of(name, 11) for name, _ in bars), default=1.0)
    every = max(1, -(-int(widest + 12) // max(1, int(step))))
    for k, (name, value) in enumerate(bars):
        x, y = _LEFT + step * k, at_y(value)
        wide = min(step * 0.78, 64.0)
        middle = x + step / 2
        parts.append(
            f'<rect class="mark" fill="{MARK}" x="{middle - wide / 2:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{_BOTTOM - y:.1f}"/>'
        )
        if k % every == 0 and middle + width_of(name, 11) / 2 < width:
            parts.append(text(round(middle, 1), _BOTTOM + 18, name, "middle", "muted", MUTED, 11))
        if len(bars) <= 12 and value:
            parts.append(text(round(middle, 1), round(y - 5, 1), f"{value:,.0f}", "middle", size=11))
    parts.append(text((_LEFT + right) / 2, _BOTTOM + 38, x_unit, "middle", "muted", MUTED, 11))
    said = ", ".join(f"{name}: {value:,.0f}" for name, value in bars) or "none yet"
    return drawing(width, _BOTTOM + 50, f"{title}. {said}", parts)


def _scale(axis: Axis, start: float, end: float) -> At:
    low, high, _ = axis
    return lambda value: start + (end - start) * (value - low) / (high - low)


def _marks(axis: Axis) -> list[float]:
    low, high, step = axis
    return [low + step * k for k in range(round((high - low) / step) + 1)]


def _rules(axis: Axis, at: At, left: float, right: float, form: str) -> list[str]:
    parts = []
    for value in _marks(axis):
        y = round(at(value), 1)
        parts.append(f'<path class="rule" stroke="{RULE}" d="M{left} {y}H{right}"/>')
        parts.append(text(left - 8, y + 4, format(value + 0.0, form), "end", "muted", MUTED, 11))
    return parts


def _ticks_below(axis: Axis, at: At, bottom: float) -> list[str]:
    parts = []
    for value in _marks(axis):
        x = round(at(value), 1)
        parts.append(f'<path class="rule" stroke="{RULE}" d="M{x} {_TOP - 8}V{bottom + 4}"/>')
        parts.append(text(x, bottom + 18, f"{round(value, 6) + 0.0:.1f}", "middle", "muted", MUTED, 11))
    return parts
