"""The ratings' score vectors (gradients of their log-likelihoods), summed within raters, prompts and both.

A unit is one rater on one prompt. All that is cluster-robust is made of these sums: the two-way sandwich, misfits,
what the removal of a rater or prompt would do, and the parts of the variance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from s2s_assets.ranking.counts import Problem
from s2s_assets.ranking.likelihood import Terms, cell_scores
from s2s_assets.ranking.ordinal import Maximum
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
    def of(cls, problem: Problem, terms: Terms, maximum: Maximum) -> "ClusteredScores":
        """Sum the scores of a problem's ratings at the maximum of its terms."""
        scores = cell_scores(terms, maximum.strengths, maximum.thresholds)
        rater, prompt = problem.rater, problem.prompt
        unit = rater * (int(prompt.max()) + 1) + prompt
        return cls(scores, *(_cluster(of, problem.cell, scores) for of in (rater, prompt, unit)))

    def meat(self) -> Floats:
        """(E + T, E + T): S_rater + S_prompt - S_rater∩prompt."""
        return self.raters.meat + self.prompts.meat - self.units.meat

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
