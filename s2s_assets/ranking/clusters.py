"""The ratings' score vectors (gradients of their log-likelihoods), summed within raters, prompts and both.

A unit is one rater on one prompt. All that is cluster-robust is made of these sums: the two-way sandwich, misfits,
what the removal of a rater or prompt would do, and the parts of the variance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from s2s_assets.ranking.likelihood import cell_scores
from s2s_assets.ranking.ordinal import Maximum
from s2s_assets.ranking.problems import Problem
from s2s_assets.study import Floats, Ints


@dataclass(frozen=True)
class Clusters:
    """One way of clustering the ratings."""

    number: Ints
    """(G,) numbers of the clusters that have ratings, ascending."""
    counts: csr_array
    """(G, cells) ratings."""
    sums: Floats
    """(G, E + T) sums of score vectors."""

    @property
    def factor(self) -> float:
        """G / (G - 1), the correction for few clusters; 1 for a single one."""
        return len(self.number) / max(len(self.number) - 1, 1)

    @property
    def uneven_factor(self) -> float:
        """1 / (1 + Σ w² - 2 Σ w³ / Σ w²), w = n_g / N: what an effect of each cluster loses to the fit, whatever the loads.

        With effects e_g of variance 1, Σ n_g² (e_g - Σ_h w_h e_h)² has the inverse of this times Σ n_g² as its mean;
        equal loads give G / (G - 1).
        """
        share = self.sizes / self.sizes.sum()
        square = float((share**2).sum())
        kept = 1.0 + square - 2.0 * float((share**3).sum()) / square
        return 1.0 / kept if kept > 0 else 1.0

    @cached_property
    def meat(self) -> Floats:
        """(E + T, E + T): G / (G - 1) · Σ_g u_g u_g'."""
        return np.asarray(self.factor * self.sums.T @ self.sums, np.float64)

    @property
    def sizes(self) -> Ints:
        """(G,) ratings of each cluster."""
        return np.asarray(self.counts.sum(axis=1), np.int64)


@dataclass(frozen=True)
class ClusteredScores:
    """A fit's scores in all three clusterings."""

    by_cell: csr_array
    """(cells, E + T) score vector of one rating."""
    raters: Clusters
    prompts: Clusters
    units: Clusters

    @classmethod
    def of(cls, problem: Problem, maximum: Maximum) -> "ClusteredScores":
        """Sum the scores of a problem's ratings at the maximum."""
        scores = cell_scores(maximum.terms, maximum.strengths, maximum.thresholds)
        rater, prompt = problem.rater, problem.prompt
        unit = rater * (int(prompt.max()) + 1) + prompt
        return cls(scores, *(_cluster(of, problem.cell, scores) for of in (rater, prompt, unit)))

    def meat(self) -> Floats:
        """(E + T, E + T): S_rater + S_prompt - S_rater∩prompt."""
        return self.raters.meat + self.prompts.meat - self.units.meat

    def uneven_meat(self) -> Floats:
        """The same with the factors of uneven loads."""
        parts = [sign * c.uneven_factor / c.factor * c.meat for sign, c in self.signed()]
        return np.asarray(sum(parts), np.float64)

    def signed(self) -> Iterator[tuple[int, Clusters]]:
        """The clusterings with the sign that each has in the two-way sum."""
        return zip((1, 1, -1), (self.raters, self.prompts, self.units), strict=True)


def _cluster(cluster: Ints, cell: Ints, scores: csr_array) -> Clusters:
    cells = scores.shape[0]
    key, ratings = np.unique(cluster * cells + cell, return_counts=True)
    owner = key // cells
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    limits = np.append(first, len(owner))
    counts = csr_array((ratings.astype(np.float64), key % cells, limits), shape=(len(first), cells))
    return Clusters(owner[first], counts, counts @ scores.toarray())
