"""Which raters and prompts a resample holds, and how often.

Every resample draws as many raters as there are, with replacement, and independently as many prompts; a rating counts
(multiplicity of its rater) × (multiplicity of its prompt) times. This is Owen's (2007) pigeonhole bootstrap. It is
mildly conservative, since the pure noise of a rating enters three times; sampling ratings one by one instead would
ignore that a rater's ratings, and a prompt's, go together, and give intervals about half as wide as the truth.

One random stream draws raters and one draws prompts, each seeded from SHA-256 of (seed, factor), over the names of all
counting ratings in sorted order. So every rubric, engine and slice sees the same draws, whatever the order of rows.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from s2s_assets.study import generator

Multiplicities = npt.NDArray[np.uint16]

_DRAWN_TOGETHER = 100_000
"""Numbers drawn at a time; the stream does not depend on it."""


@dataclass(frozen=True)
class Draws:
    """How often each rater and prompt is drawn."""

    raters: Multiplicities
    """(raters, resamples)."""
    prompts: Multiplicities

    @property
    def resamples(self) -> int:
        """Number of resamples."""
        return int(self.raters.shape[1])


def draw(n_raters: int, n_prompts: int, resamples: int, seed: int) -> Draws:
    """Draw both factors; the first resamples are the same whatever their number."""
    return Draws(
        _multiplicities(n_raters, resamples, seed, "rater"), _multiplicities(n_prompts, resamples, seed, "prompt")
    )


def _multiplicities(size: int, resamples: int, seed: int, factor: str) -> Multiplicities:
    stream = generator(seed, factor)
    together = max(_DRAWN_TOGETHER // size, 1)
    drawn = np.empty((size, resamples), np.uint16)
    for start in range(0, resamples, together):
        n = min(together, resamples - start)
        numbers = stream.integers(size, size=(n, size)) + size * np.arange(n)[:, None]
        drawn[:, start : start + n] = np.bincount(numbers.ravel(), minlength=n * size).reshape(n, size).T
    return drawn
