"""A ranking as tables and words for the terminal."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.table import Table

from s2s_assets.leaderboard.diagnosis import sentences
from s2s_assets.leaderboard.numbers import MINUS, fixed, lettered, signed
from s2s_assets.ranking import (
    BoardFit,
    BoardIntervals,
    EntityFit,
    EntityInterval,
    RankResult,
    Slicing,
    cross_check_reason,
    preliminary,
    within_models,
)
from s2s_assets.study import plural
from s2s_assets.study.console import people, whole

_NAMED = 8
"""Entities up to which those who beat others are named; above, ranks stand for them."""
_SAID = 20
"""Slices without a table that are named."""


def show(result: RankResult) -> None:
    """Print a table a fit, with what is known beside it; slices with too few ratings are named only."""
    if result.slicing is not None:
        _show_slicing(result.slicing)
    shown = [(f, i) for f, i in zip(result.fits, result.intervals, strict=True) if preliminary(f) is None]
    for fit, intervals in shown:
        _show_fit(fit, intervals)
    if any(e.letters for _, intervals in shown for e in intervals.entities):
        people.print(
            "names without a letter in common are told apart, all pairs of a table together (see docs/method.md)"
        )


def _show_slicing(slicing: Slicing) -> None:
    if slicing.n_outside:
        why = f"compare two values of {slicing.dimension}" if slicing.shared else f"have no {slicing.dimension}"
        people.print(f"{plural(slicing.n_outside, 'rating')} in no slice: they {why}")
    untold = [s for s in slicing.slices if s.reason]
    for one in untold[:_SAID]:
        people.print(f"{one.rubric}, {slicing.dimension} {one.value}, no table: {one.reason}")
    if len(untold) > _SAID:
        people.print(f"… and {len(untold) - _SAID} more slices; --json lists all")
    if slicing.n_outside or untold:
        people.print()


def _show_fit(fit: BoardFit, intervals: BoardIntervals) -> None:
    people.print(_heading(fit))
    for reason in filter(None, (fit.reason, intervals.reason)):
        people.print(f"  note: {reason}")
    people.print(_table(fit, intervals))
    for line in who_beats_whom(fit, intervals):
        people.print(line)
    for pair in within_models(fit, intervals):
        people.print(
            f"  {pair.a} against {pair.b}: {signed(pair.difference)} Elo ({_range(pair.ci_low, pair.ci_high)})"
        )
    disagreement = cross_check_reason(fit, intervals)
    if disagreement:
        people.print(f"  warning: {disagreement}")
    said = sentences(intervals.diagnostics) if intervals.diagnostics else []
    if said:
        people.print("  diagnostics:")
    for sentence in said:
        people.print(f"  - {sentence}")
    people.print()


def _heading(fit: BoardFit) -> str:
    where = "" if fit.spec.slice_dimension == "all" else f", {fit.spec.slice_dimension} {fit.spec.slice_value}"
    status = "" if fit.status == "ok" else f" [{fit.status}]"
    counts = ", ".join(
        plural(n, noun) for n, noun in ((fit.n_ratings, "rating"), (fit.n_raters, "rater"), (fit.n_prompts, "prompt"))
    )
    within = f"; {fit.n_within:,} within one entity left out" if fit.n_within else ""
    return f"{fit.spec.rubric} by {fit.spec.by}{where}{status}: {counts}; 95 % intervals{within}"


def _table(fit: BoardFit, intervals: BoardIntervals) -> Table:
    """Ranks, intervals and letters; a slice has its difference to the whole in place of the sandwich."""
    sliced = any(i.delta is not None for i in intervals.entities)
    table = Table(box=None)
    for title in (
        "rank",
        "range",
        "letters",
        "Elo",
        "bootstrap",
        "Δ to the whole" if sliced else "sandwich",
        "ratings",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("entity", no_wrap=True)
    for entity, interval in zip(fit.entities, intervals.entities, strict=True):
        table.add_row(*_cells(entity, interval, sliced))
    return whole(table)


def _cells(entity: EntityFit, interval: EntityInterval, sliced: bool) -> tuple[str, ...]:
    bound = entity.bound or interval.bound
    return (
        str(entity.rank),
        _range(interval.rank_low, interval.rank_high),
        lettered(interval.letters) if interval.letters else "",
        (bound or "") if entity.elo is None else fixed(entity.elo),
        _range(interval.ci_low, interval.ci_high, bound),
        _delta(interval) if sliced else _range(interval.sandwich_low, interval.sandwich_high),
        str(entity.n_ratings),
        entity.entity,
    )


def _delta(interval: EntityInterval) -> str:
    """Difference to the whole with its interval, where it has one."""
    if interval.delta is None:
        return ""
    ends = _range(interval.delta_low, interval.delta_high)
    return f"{signed(interval.delta)} ({ends})" if ends else signed(interval.delta)


def _range(low: float | None, high: float | None, bound: str | None = None) -> str:
    """Both ends, an infinite one as such; nothing where there is no interval."""
    if low is None and high is None:
        return ""
    left = fixed(low) if low is not None else f"{MINUS}∞" if bound in {"below", "both"} else ""
    right = fixed(high) if high is not None else "∞" if bound in {"above", "both"} else ""
    return f"{left} – {right}"


def who_beats_whom(fit: BoardFit, intervals: BoardIntervals, width: int = 110) -> list[str]:
    """Lines that say who is ahead of whom by the simultaneous intervals, those of one record together.

    Args:
        fit: a fit.
        intervals: its intervals, diagnosed.
        width: of a line.

    Returns:
        Nothing where no two entities have a simultaneous interval. Few entities are named, of many the ranks are given.
    """
    known = [p for p in intervals.pairs if p.simultaneous_low is not None and p.simultaneous_high is not None]
    if not known:
        return []
    won = {(p.a, p.b) for p in known if p.simultaneous_low is not None and p.simultaneous_low > 0}
    won |= {(p.b, p.a) for p in known if p.simultaneous_high is not None and p.simultaneous_high < 0}
    if not won:
        return ["  nobody is told apart from anybody"]
    order = [e.entity for e in fit.entities]
    ranks = [e.rank for e in fit.entities]
    named = len(order) <= _NAMED or len(set(ranks)) < len(ranks)
    beaten = [tuple(k for k, loser in enumerate(order) if (winner, loser) in won) for winner in order]

    def listed(places: Sequence[int]) -> str:
        return ", ".join(order[k] for k in places) if named else ", ".join(_runs([ranks[k] for k in places]))

    records: dict[tuple[int, ...], list[int]] = {}
    for winner, losers in enumerate(beaten):
        if losers:
            records.setdefault(losers, []).append(winner)
    said = [
        f"{listed(winners)} {'beats' if len(winners) == 1 else 'beat'} {listed(losers)}"
        for losers, winners in records.items()
    ]
    text = f"{'' if named else 'by rank: '}{'; '.join(said)}"
    return textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_long_words=False)


def _runs(numbers: Sequence[int]) -> Iterator[str]:
    """Ascending numbers, three or more neighbours as a range."""
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        yield from [f"{members[0]}–{members[-1]}"] if len(members) > 2 else map(str, members)
