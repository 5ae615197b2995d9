"""How far the engines agree from resample to resample.

Massey and partial-margin Bradley-Terry (`crosschecks.py`) are fitted to the counts of the same resamples as the ordinal
fit, and each resample has a rank correlation of its own between either and the ordinal strengths. The interval holds the
middle 95 % of them: whether a correlation below what is expected lies within what other raters and prompts would give.

Massey of all resamples is one batch of least squares, partial-margin Bradley-Terry the refit (`refit.py`) of partial
wins. Entities that a resample lost, or that either engine separates, do not count in its correlation.
"""

from dataclasses import dataclass, replace

import numpy as np

from s2s_assets.ranking.cholesky import factor, solve
from s2s_assets.ranking.crosschecks import margins, partial_wins, rank_correlations
from s2s_assets.ranking.intervals import finite_ends, percentile_ends
from s2s_assets.ranking.likelihood import laplacian
from s2s_assets.ranking.ordinal import fit_counts
from s2s_assets.ranking.problems import Problem
from s2s_assets.ranking.records import EngineAgreement
from s2s_assets.ranking.refit import Refit, Refitter, largest_component
from s2s_assets.study import Floats


@dataclass(frozen=True)
class MasseyRefitter:
    """Massey of many resamples at once."""

    problem: Problem

    def refit(self, counts: Floats) -> Floats:
        """Least-squares strengths (E, B) of resampled counts (planes, P, B), mean 0; NaN without a value."""
        if counts.shape[2] == 1:  # numpy adds up a single column in another order
            return self.refit(np.repeat(counts, 2, axis=2))[:, :1]
        kept, present = largest_component(self.problem, counts)
        matrices = laplacian(self.problem.pairs, kept.sum(axis=0), len(present))
        diagonal = np.einsum("kkb->kb", matrices)
        diagonal += diagonal == 0  # an entity without ratings
        matrices += present * present[:, None]  # the shift of all others
        factor(matrices)
        return np.where(present, solve(matrices, self.problem.incidence @ margins(kept)), np.nan)


def engine_refits(problem: Problem) -> dict[str, Refit]:
    """Refits by Massey and by partial-margin Bradley-Terry."""
    wins = partial_wins(problem.counts)
    fractional = Refitter.of(replace(problem, counts=wins), fit_counts(problem, wins))
    return {
        "massey": MasseyRefitter(problem).refit,
        "partial_margin_bt": lambda counts: fractional.refit(partial_wins(counts)),
    }


def agreement(engine: str, ordinal: Floats, other: Floats) -> EngineAgreement:
    """Of draws (E, B) by the ordinal fit and by another engine."""
    ends, valid = percentile_ends(rank_correlations(ordinal, other)[None])
    return EngineAgreement(engine, *finite_ends(ends[0]), int(valid[0]))
