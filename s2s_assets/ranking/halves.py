"""Strengths from two disjoint halves of the raters, many times over.

Raters are ordered by their number of ratings and taken two by two; a coin sends one of each two to the first half and
the other to the second, so that halves carry like loads. Raters are split, never their ratings. A half is a resample in
which its raters have weight 1 and the others 0, so it is counted and fitted as the bootstrap's resamples are.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from s2s_assets.ranking.bootstrap import resample
from s2s_assets.ranking.coding import code_ratings
from s2s_assets.ranking.counts import select
from s2s_assets.ranking.draws import Draws
from s2s_assets.ranking.fits import prepare
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
    values = np.full((len(specs), len(entities), 2 * splits), np.nan)
    for row, spec in enumerate(specs):
        selection = select(coded, spec)
        boards = prepare(spec, selection, coded, families or {})
        for board, drawn in zip(boards, resample(selection, boards, draws), strict=True):
            known = [k for k, entity in enumerate(board.problem.entities) if entity in place]
            values[row, [place[board.problem.entities[k]] for k in known]] = drawn[known]
    return values.reshape(len(specs), len(entities), 2, splits).transpose(3, 2, 0, 1)


def _halves(load: Ints, n_prompts: int, splits: int, seed: int) -> Draws:
    """Weights 0 and 1 of each rater: the first halves of all splits, then the second."""
    coin = generator(seed, "split half").integers(2, size=((len(load) + 1) // 2, splits), dtype=np.uint16)
    first = np.empty((len(load), splits), np.uint16)
    by_load = np.argsort(-load, kind="stable")
    first[by_load] = np.stack([coin, 1 - coin], axis=1).reshape(-1, splits)[: len(load)]
    return Draws(np.concatenate([first, 1 - first], axis=1), np.ones((n_prompts, 2 * splits), np.uint16))
