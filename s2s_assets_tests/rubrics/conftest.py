"""Strengths with planted clusters and shared noise, without ratings: fast enough to ask the method's questions."""

from types import SimpleNamespace

import numpy as np
import pytest

BLOCKS = np.array([0] * 7 + [1] * 5)


def planted(seed, *, signal=0.0, noise=0.1, block_noise=0.0, halo_noise=0.0, resamples=300, splits=60, m=6):
    """(strengths, draws, halves) of 12 rubrics in blocks of 7 and 5.

    Truth: one dominant axis, plus a profile for each block times `signal`. Errors: each rubric's own, one common to a
    block, one common to all. Draws carry a fresh error on top of the estimate's, halves twice the variance.
    """
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=m)
    truth = np.outer(rng.uniform(0.8, 1.2, 12), 3 * quality) + signal * rng.normal(size=(2, m))[BLOCKS]

    def errors(*shape):
        own = noise * rng.normal(size=(*shape, 12, m))
        return (
            own
            + block_noise * rng.normal(size=(*shape, 2, m))[..., BLOCKS, :]
            + halo_noise * rng.normal(size=(*shape, 1, m))
        )

    estimate = truth + errors()
    return estimate, estimate + errors(resamples), truth + np.sqrt(2) * errors(splits, 2)


@pytest.fixture(scope="session")
def plant():
    return planted


@pytest.fixture(scope="session")
def truth():
    return SimpleNamespace(labels=tuple(BLOCKS.tolist()), names=[f"r{k:02d}" for k in range(12)])
