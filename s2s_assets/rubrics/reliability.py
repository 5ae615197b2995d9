"""How far to trust a partition: resamples, the chance baseline, halves of the raters. The method is in `clustering`."""

from collections.abc import Collection

import numpy as np

from s2s_assets.rubrics.agreement import adjusted_rand_index
from s2s_assets.rubrics.linkage import Labels
from s2s_assets.rubrics.pipeline import FullData, own_noise, partition_with
from s2s_assets.rubrics.records import Agreement
from s2s_assets.study import Bools, Floats

CHANCE_SETS = 200
"""Data sets without clusters."""
CHANCE_RESAMPLES = 200
"""Resamples of each of them."""
HALF_NOISE = 2.0
"""Variance of the estimates from half the raters over that from all."""


def same_partition(labels: Labels, reference: Labels) -> Bools:
    """Which of the partitions (…, K) are exactly the reference (…, K); one that is none (-1) never is."""
    same: Bools = np.logical_and((labels == reference).all(axis=-1), (labels >= 0).all(axis=-1))
    return same


def resample_labels(data: FullData, cuts: Collection[int]) -> dict[int, Labels]:
    """Labels (B, K) of every draw, corrected once with the full data's noise."""
    return partition_with(data.draws, data.noise, cuts)


def chance_reliability(data: FullData, cuts: Collection[int], rng: np.random.Generator) -> dict[int, Floats]:
    """Reliabilities of data sets that hold the first component and noise only, shape (CHANCE_SETS,)."""
    n = len(data.deviation)
    drawn = [rng.choice(n, 1 + min(CHANCE_RESAMPLES, n - 1), replace=False) for _ in range(CHANCE_SETS)]
    own, again = np.split(np.stack(drawn), [1], axis=1)
    observed = data.sigma[0] * np.outer(data.u, data.v) + data.deviation[own[:, 0]]
    noise = own_noise(observed, data.moments)
    references = partition_with(observed, noise, cuts)
    found = {k: np.empty(CHANCE_SETS) for k in cuts}
    for each in range(CHANCE_SETS):
        resampled = partition_with(observed[each] + data.deviation[again[each]], noise[each], cuts)
        for k in cuts:
            found[k][each] = same_partition(resampled[k], references[k][each]).mean()
    return found


def split_half_agreement(halves: Floats, moments: Floats, cuts: Collection[int]) -> dict[int, Agreement]:
    """Agreement between both halves over splits (S, 2, K, M); splits that lack a strength are dropped and counted."""
    whole = halves[np.isfinite(halves).all(axis=(1, 2, 3))]
    flat = whole.reshape(-1, *halves.shape[2:])
    labels = partition_with(flat, HALF_NOISE * own_noise(flat, moments), cuts)
    return {k: _agreement(found.reshape(len(whole), 2, halves.shape[2]), len(halves)) for k, found in labels.items()}


def _agreement(labels: Labels, splits: int) -> Agreement:
    indices = [adjusted_rand_index(a, b) for a, b in labels if a.min() >= 0 and b.min() >= 0]
    known = np.array([index for index in indices if index is not None])
    if len(known) == 0:
        return Agreement(None, None, None, None, splits, 0, splits)
    low, high = np.quantile(known, [0.025, 0.975])
    return Agreement(
        float(known.mean()), float(known.std()), float(low), float(high), splits, len(known), splits - len(known)
    )
