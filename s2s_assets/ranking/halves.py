"""Strengths from two disjoint halves of the raters, many times over.

Raters are ordered by their number of ratings and taken two by two; a coin sends one of each two to the first half and
the other to the second, so that halves carry like loads. Raters are split, never their ratings. A half is a resample in
which its raters have weight 1 and the others 0, so it is counted and fitted as the bootstrap's resamples are; the second
half's counts are all counts less the first's.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from s2s_assets.ranking.bootstrap import refit_all
from s2s_assets.ranking.coding import code_ratings
from s2s_assets.ranking.draws import Draws
from s2s_assets.ranking.fits import Prepared, prepare
from s2s_assets.ranking.likelihood import as_batch
from s2s_assets.ranking.refit import Refit, Refitter
from s2s_assets.ranking.selection import select
from s2s_assets.ranking.spec import FitSpec
from s2s_assets.study import Floats, Ints, generator, one_blas_thread


@one_blas_thread
def split_half_strengths(
    ratings: pl.DataFrame,
    specs: Sequence[FitSpec],
    entities: Sequence[str],
    families: Mapping[str, str] | None = None,
    dropped_raters: frozenset[str] = frozenset(),
    splits: int = 500,
    seed: int = 0,
) -> Floats:
    """Strengths (splits, 2, specs, entities) in both halves of the raters; the same halves for every board.

    Args:
        ratings: a `ratings` table; answers with an exclusion do not count.
        specs: the boards.
        entities: names of the entities to report, in this order.
        families: model → family, for boards by family.
        dropped_raters: raters left out of the `cleaned` variant.
        splits: number of ways to halve the raters.
        seed: of the coins.

    Returns:
        NaN where an entity has no ratings in the half (or is cut off from the rest), ±inf where it is separated.

    Raises:
        InputError: as `fit_boards`.
        FitError: a half that did not converge.
    """
    coded = code_ratings(ratings, dropped_raters)
    load = np.bincount(coded.rater, minlength=len(coded.raters))
    draws = _halves(load, len(coded.prompts), splits, seed)
    place = {entity: k for k, entity in enumerate(entities)}
    values = np.full((splits, 2, len(specs), len(entities)), np.nan)
    for row, spec in enumerate(specs):
        selection = select(coded, spec)
        boards = prepare(spec, selection, coded, families or {})
        drawn = refit_all(selection, [board.problem for board in boards], [_refits(board) for board in boards], draws)
        for board, halves in zip(boards, drawn, strict=True):
            known = [k for k, entity in enumerate(board.problem.entities) if entity in place]
            columns = [place[board.problem.entities[k]] for k in known]
            for half, strengths in enumerate(halves.values()):
                values[:, half, row, columns] = strengths[known].T
    return values


def _refits(board: Prepared) -> dict[str, Refit]:
    """Of both halves, from the counts of the first."""
    refit, counts = Refitter.of(board.problem, board.ordinal).refit, as_batch(board.problem.counts)
    return {"first": refit, "second": lambda first: refit(counts - first)}


def _halves(load: Ints, n_prompts: int, splits: int, seed: int) -> Draws:
    """Weights 1 of the raters in the first half of each split, 0 of the others."""
    coin = generator(seed, "split half").integers(2, size=((len(load) + 1) // 2, splits), dtype=np.uint16)
    first = np.empty((len(load), splits), np.uint16)
    by_load = np.argsort(-load, kind="stable")
    first[by_load] = np.stack([coin, 1 - coin], axis=1).reshape(-1, splits)[: len(load)]
    return Draws(first, np.ones((n_prompts, splits), np.uint16))
