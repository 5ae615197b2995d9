"""Why a cross-check agrees less than expected.

A Spearman correlation falls for two reasons that mean quite different things. Many close entities: the pairs that an
engine turns round are not told apart in the first place, so their order is nobody's finding. Or an engine turns round
pairs that are told apart (`simultaneous.py`): then the ranking hangs on the engine, and those pairs are named.
"""

from collections.abc import Callable, Mapping, Sequence

from s2s_assets.ranking.crosschecks import ENGINES, EXPECTED_SPEARMAN, order_differences
from s2s_assets.ranking.diagnostic_records import OrderDifference
from s2s_assets.ranking.records import BoardFit, BoardIntervals
from s2s_assets.study import plural

_NAMED = 3
"""Pairs that are named."""
Ends = tuple[float | None, float | None]


def cross_check_reason(fit: BoardFit, intervals: BoardIntervals) -> str | None:
    """Why an engine's Spearman is below what is expected; None where none is."""
    found = {"massey": fit.spearman_massey, "partial_margin_bt": fit.spearman_partial_margin_bt}
    together = {(p.a, p.b): (p.simultaneous_low, p.simultaneous_high) for p in intervals.pairs}
    return disagreement(found, order_differences(fit), together)


def disagreement(
    spearman: Mapping[str, float | None],
    turned: Sequence[OrderDifference],
    together: Mapping[tuple[str, str], Ends],
    name: Callable[[str], str] = str,
) -> str | None:
    """The reason in words.

    Args:
        spearman: engine → its correlation with the ordinal fit.
        turned: the pairs that engines turn round.
        together: pair (a before b by name) → ends of its simultaneous interval in Elo, None without one.
        name: of an entity, for people.

    Returns:
        None where no engine is below `EXPECTED_SPEARMAN`.
    """
    low = {engine: value for engine, value in spearman.items() if value is not None and value < EXPECTED_SPEARMAN}
    if not low:
        return None
    said = ", ".join(f"{value:.3f} ({ENGINES[engine]})" for engine, value in low.items())
    pairs: dict[tuple[str, str], list[OrderDifference]] = {}
    for one in turned:
        if one.engine in low:
            pairs.setdefault((one.ahead, one.behind), []).append(one)
    return f"Spearman {said}, below {EXPECTED_SPEARMAN}: {_why(pairs, together, name)}"


def _why(
    pairs: Mapping[tuple[str, str], list[OrderDifference]],
    together: Mapping[tuple[str, str], Ends],
    name: Callable[[str], str],
) -> str:
    if not pairs:
        return "no pair is turned round, entities that are level for one engine are not for the other"
    if all(low is None or high is None for low, high in together.values()):
        return (
            f"{_counted(pairs)} turned round, {_within(pairs)}; whether any is told apart is not known, as there are no "
            "simultaneous intervals"
        )
    firm = {pair: found for pair, found in pairs.items() if _apart(*together.get(_by_name(pair), (None, None)))}
    close = {pair: found for pair, found in pairs.items() if pair not in firm}
    if not firm:
        return f"close entities: {_counted(close)} turned round, {_within(close)} and not told apart"
    named = [
        f"{name(ahead)} – {name(behind)} ({found[0].difference:.0f} Elo, {' and '.join(ENGINES[d.engine] for d in found)})"
        for (ahead, behind), found in list(firm.items())[:_NAMED]
    ]
    more = " …" if len(firm) > _NAMED else ""
    rest = f"; {_counted(close)} besides, {_within(close)} and not told apart" if close else ""
    return f"engines disagree about {plural(len(firm), 'pair')} told apart: {', '.join(named)}{more}{rest}"


def _counted(pairs: Mapping[tuple[str, str], object]) -> str:
    return plural(len(pairs), "pair")


def _within(pairs: Mapping[tuple[str, str], list[OrderDifference]]) -> str:
    largest = max(found[0].difference for found in pairs.values())
    return f"{'all ' if len(pairs) > 1 else ''}within {largest:.0f} Elo" if largest >= 1 else "less than 1 Elo apart"


def _by_name(pair: tuple[str, str]) -> tuple[str, str]:
    return pair if pair[0] < pair[1] else (pair[1], pair[0])


def _apart(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and (low > 0 or high < 0)
