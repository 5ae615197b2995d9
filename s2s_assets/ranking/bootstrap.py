"""The clustered bootstrap of boards, and what is read off its draws.

Draws are those of `draws.py`, the same for every board. Boards of one selection (rubric, slice, variant) are counted
once, on pairs of configs, and pooled afterwards. Differences come from the two strengths of one resample, rank ranges
from all strengths of one resample: overlapping intervals of two entities are no test of their difference.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from s2s_assets.ranking.coding import code_ratings
from s2s_assets.ranking.draws import Draws, draw
from s2s_assets.ranking.elo import ELO_PER_STRENGTH, to_elo
from s2s_assets.ranking.engines import agreement, engine_refits
from s2s_assets.ranking.fits import Prepared, by_selection, entity_order, entity_ranks, none_if_nan, prepare
from s2s_assets.ranking.intervals import bound_of, finite_ends, percentile_ends
from s2s_assets.ranking.kernel import Counter, blocks, suited_block
from s2s_assets.ranking.planes import SCORE_VALUES, by_score
from s2s_assets.ranking.problems import Problem
from s2s_assets.ranking.ranks import rank_ranges
from s2s_assets.ranking.records import BoardFit, BoardIntervals, EntityInterval, PairInterval
from s2s_assets.ranking.refit import Refit, Refitter
from s2s_assets.ranking.sandwich import Sandwich, sandwich
from s2s_assets.ranking.selection import Selection, select
from s2s_assets.study import Floats, InputError, one_blas_thread

Progress = Callable[[int], None]
_ORDINAL = "ordinal"


@one_blas_thread
def bootstrap_boards(
    ratings: pl.DataFrame,
    fits: Sequence[BoardFit],
    families: Mapping[str, str] | None = None,
    dropped_raters: frozenset[str] = frozenset(),
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
    engines: bool = False,
) -> tuple[BoardIntervals, ...]:
    """Intervals, differences, rank ranges, sandwich and draws of fits made from the same ratings.

    Args:
        ratings: the table that the fits were made from.
        fits: as `fit_boards` returned them.
        families: model → family.
        dropped_raters: raters left out of the `cleaned` variant.
        resamples: number of resamples; 0 gives the sandwich alone.
        seed: of both streams.
        engines: also resample the other engines, for the interval of their agreement with the ordinal fit.
        progress: called with the number of resamples done since the last call, once a selection and block.

    Returns:
        One record a fit, in their order.

    Raises:
        InputError: as `fit_boards`, or fits that were made from other ratings.
        FitError: a resample that did not converge.
    """
    coded = code_ratings(ratings, dropped_raters)
    draws = draw(len(coded.raters), len(coded.prompts), resamples, seed)
    done: dict[str, BoardIntervals] = {}
    for specs in by_selection(fit.spec for fit in fits):
        selection = select(coded, specs[0])
        boards = [board for spec in specs for board in prepare(spec, selection, coded, families or {})]
        refits = [{_ORDINAL: _refit(b), **(engine_refits(b.problem) if engines and resamples else {})} for b in boards]
        drawn = refit_all(selection, [board.problem for board in boards], refits, draws, progress=progress)
        for board, values in zip(boards, drawn, strict=True):
            done[board.fit] = summarise(board, values.pop(_ORDINAL), values)
    unknown = [fit.fit for fit in fits if fit.fit not in done]
    if unknown:
        raise InputError(f"fits {', '.join(unknown)} were not made from these ratings; fit the boards again")
    return tuple(done[fit.fit] for fit in fits)


def resample(
    selection: Selection,
    boards: Sequence[Prepared],
    draws: Draws,
    progress: Progress | None = None,
    block: int | None = None,
) -> list[Floats]:
    """Strengths (E, resamples) of each board of one selection, by resample; see `refit.py` for ±inf and NaN."""
    refits = [{_ORDINAL: _refit(board)} for board in boards]
    found = refit_all(selection, [board.problem for board in boards], refits, draws, progress, block)
    return [values[_ORDINAL] for values in found]


def _refit(board: Prepared) -> Refit:
    return Refitter.of(board.problem, board.ordinal).refit


def refit_all(
    selection: Selection,
    problems: Sequence[Problem],
    refits: Sequence[Mapping[str, Refit]],
    draws: Draws,
    progress: Progress | None = None,
    block: int | None = None,
) -> list[dict[str, Floats]]:
    """Strengths (E, resamples) of each problem by each of its refits."""
    counter = Counter.of(selection, draws)
    shapes = [(len(problem.entities), draws.resamples) for problem in problems]
    values = [{name: np.full(shape, np.nan) for name in by} for shape, by in zip(shapes, refits, strict=True)]
    most = max((len(problem.entities) for problem in problems), default=1)
    for at in blocks(draws.resamples, block or suited_block(most)):
        counts = counter.count(at)
        for problem, by_engine, drawn in zip(problems, refits, values, strict=True):
            own = problem.folded(counts)
            for name, refit in by_engine.items():
                drawn[name][:, at] = refit(own)
        if progress is not None:
            progress(counts.shape[1])
    return values


def summarise(board: Prepared, draws: Floats, others: Mapping[str, Floats]) -> BoardIntervals:
    """Everything that is read off the draws (E, resamples) of a board, by engine, entities in the fit's order."""
    ordinal = board.ordinal
    order = entity_order(ordinal)
    robust = sandwich(board.problem, ordinal)
    return BoardIntervals(
        fit=board.fit,
        resamples=draws.shape[1],
        reason=robust.reason,
        entities=_entities(board, draws, robust),
        pairs=_pairs(board.problem, ordinal.strengths, draws, undefined=ordinal.status == "undefined"),
        draws=draws[order],
        agreement=tuple(agreement(engine, draws, other) for engine, other in others.items()),
    )


def _entities(board: Prepared, draws: Floats, robust: Sandwich) -> tuple[EntityInterval, ...]:
    ordinal, resamples = board.ordinal, draws.shape[1]
    ends, valid = percentile_ends(draws)
    ends[np.isnan(ordinal.strengths) | (ordinal.status == "undefined")] = np.nan
    ends = to_elo(ends)
    ranges = rank_ranges(draws, entity_ranks(ordinal)) if resamples else None
    elo, se = to_elo(ordinal.strengths), ELO_PER_STRENGTH * robust.se
    low, high = elo - robust.quantile * se, elo + robust.quantile * se
    records = []
    for e in entity_order(ordinal):
        ci_low, ci_high = finite_ends(ends[e])
        records.append(
            EntityInterval(
                entity=board.problem.entities[e],
                ci_low=ci_low,
                ci_high=ci_high,
                rank_low=int(ranges[0][e]) if ranges else None,
                rank_high=int(ranges[1][e]) if ranges else None,
                se_sandwich=none_if_nan(float(se[e])),
                sandwich_low=none_if_nan(float(low[e])),
                sandwich_high=none_if_nan(float(high[e])),
                valid_resamples=int(valid[e]),
                bound=bound_of(ends[e]),
            )
        )
    return tuple(records)


def _pairs(problem: Problem, strengths: Floats, draws: Floats, *, undefined: bool) -> tuple[PairInterval, ...]:
    """Every two entities, by name; those never compared have no mean score."""
    a, b = np.triu_indices(len(problem.entities), 1)
    difference = ELO_PER_STRENGTH * (strengths[a] - strengths[b])
    with np.errstate(invalid="ignore"):  # ∞ - ∞: no value
        ends, _ = percentile_ends(ELO_PER_STRENGTH * (draws[a] - draws[b]))
    ends[np.isnan(difference) | undefined] = np.nan
    scored = by_score(problem.counts)
    n, total = scored.sum(axis=0), SCORE_VALUES @ scored
    rated = {(int(i), int(j)): k for k, (i, j) in enumerate(problem.pairs)}
    records = []
    for row, (i, j) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        k = rated.get((i, j))
        ci_low, ci_high = finite_ends(ends[row])
        records.append(
            PairInterval(
                a=problem.entities[i],
                b=problem.entities[j],
                n=0 if k is None else int(n[k]),
                mean_score=None if k is None else float(total[k] / n[k]),
                difference=none_if_nan(float(difference[row])),
                ci_low=ci_low,
                ci_high=ci_high,
            )
        )
    return tuple(records)
