"""From strengths to partitions: one pipeline for the full data, its resamples, halves and the chance baseline."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from s2s_assets.rubrics.linkage import Labels, average_linkage
from s2s_assets.rubrics.residuals import (
    centre_rows,
    deviations,
    first_component,
    residuals,
    second_moments,
    shared_noise,
    similarities,
)
from s2s_assets.study import Floats


@dataclass(frozen=True)
class FullData:
    """The full data's matrix, its draws, and what follows from them."""

    strengths: Floats
    """(K, M) row-centred."""
    draws: Floats
    """(B, K, M) finite."""
    deviation: Floats
    """(B, K, M) draws less their mean, row-centred."""
    moments: Floats
    """T (K, M, K, M)."""
    u: Floats
    sigma: Floats
    v: Floats
    noise: Floats
    """N (K, K)."""


def full_data(strengths: Floats, draws: Floats) -> FullData:
    """Centre, find the first component, estimate the shared noise."""
    centred, deviation = centre_rows(strengths), deviations(draws)
    u, v = first_component(centred)
    sigma = np.asarray(np.linalg.svd(centred, compute_uv=False), np.float64)
    moments = second_moments(deviation)
    return FullData(centred, draws, deviation, moments, u, sigma, v, shared_noise(moments, u, v))


def partition_full(data: FullData, cuts: Collection[int]) -> tuple[Floats, dict[int, Labels]]:
    """Corrected similarities (K, K) of the full data, and labels (K,) for each number of clusters."""
    similarity = similarities(residuals(data.strengths, data.u, data.v), data.noise)
    labels = average_linkage(1 - similarity[None], cuts)
    return similarity, {k: found[0] for k, found in labels.items()}


def partition_with(strengths: Floats, noise: Floats, cuts: Collection[int]) -> dict[int, Labels]:
    """Labels (B, K) of matrices (B, K, M), each with its own first component and the noise given, (K, K) or (B, K, K)."""
    centred = centre_rows(strengths)
    u, v = first_component(centred)
    return average_linkage(1 - similarities(residuals(centred, u, v), noise), cuts)


def own_noise(strengths: Floats, moments: Floats) -> Floats:
    """N (B, K, K) for matrices (B, K, M), each projected with its own first component."""
    u, v = first_component(centre_rows(strengths))
    return shared_noise(moments, u, v)
