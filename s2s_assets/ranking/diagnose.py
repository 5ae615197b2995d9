"""What is to be known about boards beyond ranking and resampling: which parts it has is said in their modules.

Fits and intervals come in as they were made; the same intervals come back with letters, simultaneous intervals, expected
scores, differences of slices to the whole, and a record of diagnostics. Nothing is resampled and no number changes.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from s2s_assets.ranking.clusters import ClusteredScores
from s2s_assets.ranking.coding import CodedRatings, code_ratings
from s2s_assets.ranking.crosschecks import order_differences
from s2s_assets.ranking.diagnostic_records import Diagnostics, SliceTest
from s2s_assets.ranking.elo import ELO_PER_STRENGTH
from s2s_assets.ranking.fits import Prepared, by_selection, entity_order, none_if_nan, prepare
from s2s_assets.ranking.influence import heaviest, influential
from s2s_assets.ranking.misfits import (
    PairFits,
    expected_counts,
    largest_misfits,
    misfit_share,
    pair_fits,
    score_fits,
)
from s2s_assets.ranking.records import BoardFit, BoardIntervals, EntityInterval, PairInterval
from s2s_assets.ranking.sandwich import sandwich, strength_rows
from s2s_assets.ranking.selection import select
from s2s_assets.ranking.sides import flexible_thresholds, order_effect, sided
from s2s_assets.ranking.simultaneous import Simultaneous, compact_letters, simultaneous, told_apart
from s2s_assets.ranking.slices import Delta, SliceScores, differences, slice_test
from s2s_assets.ranking.spec import FitSpec
from s2s_assets.ranking.variance_shares import variance_shares
from s2s_assets.study import InputError, one_blas_thread

DIAGNOSTICS_VERSION = "diagnostics-2"
"""Changes whenever the same fits would be given other diagnostics; the ranking's own numbers do not depend on it."""
Pair = tuple[str, str]


@dataclass(frozen=True)
class _Findings:
    """What is found of one fit: additions to its records, and what comparing slices takes."""

    letters: Mapping[str, str]
    ends: Mapping[Pair, tuple[float | None, float | None]]
    """Ends of simultaneous intervals."""
    misfits: Mapping[Pair, tuple[float, float | None]]
    """Expected score and misfit."""
    diagnostics: Diagnostics
    slice: SliceScores | None


@one_blas_thread
def diagnose_boards(
    ratings: pl.DataFrame,
    fits: Sequence[BoardFit],
    intervals: Sequence[BoardIntervals],
    families: Mapping[str, str] | None = None,
    dropped_raters: frozenset[str] = frozenset(),
) -> tuple[BoardIntervals, ...]:
    """The intervals, completed.

    Args:
        ratings: the table that the fits were made from.
        fits: as `fit_boards` returned them; a slice is compared with the board of all ratings where that is among them.
        intervals: as `bootstrap_boards` returned them for these fits.
        families: model → family.
        dropped_raters: raters left out of the `cleaned` variant.

    Raises:
        InputError: fits that were made from other ratings.
        FitError: a fit with flexible thresholds or order effect that did not converge.
    """
    coded = code_ratings(ratings, dropped_raters)
    by_fit = {fit.fit: fit for fit in fits}
    seen: dict[str, _Findings] = {}
    for specs in by_selection(fit.spec for fit in fits):
        selection = select(coded, specs[0])
        for spec in specs:
            for board in prepare(spec, selection, coded, families or {}):
                if board.fit in by_fit:
                    seen[board.fit] = _findings(board, by_fit[board.fit], coded)
    unknown = sorted(by_fit.keys() - seen.keys())
    if unknown:
        raise InputError(f"fits {', '.join(unknown)} were not made from these ratings; fit the boards again")
    tests = _slice_tests(fits, seen)
    boards = {fit.fit: (fit, found) for fit, found in zip(fits, intervals, strict=True)}
    return tuple(
        _completed(boards[fit.fit], boards.get(whole_of(fit.spec).fit), seen[fit.fit], tests.get(_attribute(fit.spec)))
        for fit in fits
    )


def whole_of(spec: FitSpec) -> FitSpec:
    """The board of all ratings that a slice is a part of."""
    return replace(spec, slice_dimension="all", slice_value="all", min_ratings=1)


def within_models(fit: BoardFit, intervals: BoardIntervals) -> tuple[PairInterval, ...]:
    """On a board by voice or thinking level: the pairs of one model's own voices or levels."""
    if fit.spec.by not in {"voice", "thinking"}:
        return ()
    return tuple(p for p in intervals.pairs if p.a.partition("|")[0] == p.b.partition("|")[0])


def _findings(board: Prepared, fit: BoardFit, coded: CodedRatings) -> _Findings:
    """Everything about one fit that needs no other fit."""
    problem, ordinal = board.problem, board.ordinal
    differing = order_differences(fit)
    if ordinal.maximum is None:
        return _Findings({}, {}, {}, Diagnostics(order_differences=differing), None)
    scores = ClusteredScores.of(problem, ordinal.maximum)
    rows = strength_rows(ordinal)
    together = simultaneous(sandwich(problem, ordinal, scores, uneven_loads=True))
    letters, ends = _compared(board, together)
    plain = Diagnostics(
        heaviest_rater=heaviest(scores.raters, coded.raters),
        heaviest_prompt=heaviest(scores.prompts, coded.prompts),
        variance=variance_shares(scores, rows),
        max_t=None if together is None else together.quantile,
        order_differences=differing,
    )
    if ordinal.status != "ok":
        return _Findings(letters, ends, {}, plain, None)
    expected = expected_counts(problem, ordinal)
    by_pair = pair_fits(problem, ordinal, scores, expected)
    raters, rater = influential(scores.raters, rows, ordinal.strengths, problem.entities, coded.raters)
    prompts, prompt = influential(scores.prompts, rows, ordinal.strengths, problem.entities, coded.prompts)
    turned = sided(problem)
    full = replace(
        plain,
        scores=score_fits(problem, expected),
        misfits=largest_misfits(problem, by_pair),
        misfit_share=misfit_share(by_pair),
        order_effect=order_effect(turned) if coded.heard else None,
        flexible_thresholds=flexible_thresholds(turned, coded.heard),
        heaviest_rater=rater,
        heaviest_prompt=prompt,
        influential_raters=raters,
        influential_prompts=prompts,
    )
    spec = board.spec
    part = SliceScores(spec.slice_dimension, spec.slice_value, problem.entities, ordinal.strengths, rows, scores)
    comparable = spec.slice_dimension != "all" and board.component is None
    return _Findings(letters, ends, _misfits(board, by_pair), full, part if comparable else None)


def _compared(
    board: Prepared, together: Simultaneous | None
) -> tuple[dict[str, str], dict[Pair, tuple[float | None, float | None]]]:
    """Letters by entity and simultaneous intervals by pair, for entities with a standard error."""
    if together is None:
        return {}, {}
    entities, strengths, half = board.problem.entities, board.ordinal.strengths, together.half_widths()
    order = [int(e) for e in entity_order(board.ordinal) if not np.isnan(half[e]).all()]
    letters = compact_letters(order, told_apart(strengths, together))
    low, high = (ELO_PER_STRENGTH * (strengths[:, None] - strengths + sign * half) for sign in (-1, 1))
    ends = {
        (entities[a], entities[b]): (none_if_nan(float(low[a, b])), none_if_nan(float(high[a, b])))
        for a, b in itertools.combinations(range(len(entities)), 2)
    }
    return {entities[e]: text for e, text in letters.items()}, ends


def _misfits(board: Prepared, by_pair: PairFits) -> dict[Pair, tuple[float, float | None]]:
    """Expected score and misfit of every pair with ratings."""
    entities = board.problem.entities
    return {
        (entities[a], entities[b]): (float(by_pair.expected_score[p]), none_if_nan(float(by_pair.z[p])))
        for p, (a, b) in enumerate(board.problem.pairs.tolist())
    }


def _attribute(spec: FitSpec) -> tuple[FitSpec, str]:
    return whole_of(spec), spec.slice_dimension


def _slice_tests(
    fits: Sequence[BoardFit], seen: Mapping[str, _Findings]
) -> dict[tuple[FitSpec, str], SliceTest | None]:
    """One test for all slices of an attribute that have a finite fit."""
    groups: dict[tuple[FitSpec, str], list[SliceScores]] = {}
    for fit in fits:
        part = seen[fit.fit].slice
        if part is not None:
            groups.setdefault(_attribute(fit.spec), []).append(part)
    return {key: slice_test(parts) for key, parts in groups.items()}


def _completed(
    board: tuple[BoardFit, BoardIntervals],
    whole: tuple[BoardFit, BoardIntervals] | None,
    found: _Findings,
    test: SliceTest | None,
) -> BoardIntervals:
    fit, intervals = board
    deltas: Mapping[str, Delta] = {}
    if whole is not None and fit.spec.slice_dimension != "all" and fit.component is None:
        deltas = differences(board, whole)
    return replace(
        intervals,
        entities=tuple(_entity(e, found, deltas) for e in intervals.entities),
        pairs=tuple(_pair(p, found) for p in intervals.pairs),
        diagnostics=replace(found.diagnostics, slice_test=test),
    )


def _entity(entity: EntityInterval, found: _Findings, deltas: Mapping[str, Delta]) -> EntityInterval:
    delta = deltas.get(entity.entity, Delta(None, None, None))
    letters = found.letters.get(entity.entity)
    return replace(entity, letters=letters, delta=delta.point, delta_low=delta.low, delta_high=delta.high)


def _pair(pair: PairInterval, found: _Findings) -> PairInterval:
    low, high = found.ends.get((pair.a, pair.b), (None, None))
    expected, misfit = found.misfits.get((pair.a, pair.b), (None, None))
    return replace(pair, simultaneous_low=low, simultaneous_high=high, expected_score=expected, misfit=misfit)
