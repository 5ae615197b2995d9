"""Where the sampling variance of the strengths comes from: raters, prompts, or the noise of single answers.

A method of moments on the pieces of the two-way sandwich. A rating's score is taken as the sum of an effect of its
rater, an effect of its prompt and an effect of the unit (that rater on that prompt), independent of one another and
between clusters, with mean zero. S_rater∩prompt then estimates the noise alone, S_rater the noise and the raters,
S_prompt the noise and the prompts, so that

    V_noise = H⁻¹ S_rp H⁻¹,   V_raters = H⁻¹ (S_r - S_rp) H⁻¹,   V_prompts = H⁻¹ (S_p - S_rp) H⁻¹

add up to the sandwich. Shares are those of their traces over the centred strengths, a negative one (there is less
agreement within clusters than chance gives) counted as 0. They are of this design: more raters shrink the first and the
third, more prompts the second and the third. Taste that a rater has for one prompt counts as noise.
"""

import numpy as np

from s2s_assets.ranking.clusters import ClusteredScores
from s2s_assets.ranking.diagnostic_records import VarianceShares
from s2s_assets.study import Floats


def variance_shares(scores: ClusteredScores, rows: Floats) -> VarianceShares | None:
    """Shares of the variance of the centred strengths; None with one rater, one prompt or no variance.

    Args:
        scores: the fit's scores by cluster.
        rows: (E, E + T) as from `strength_rows`.
    """
    if min(len(scores.raters.number), len(scores.prompts.number)) < 2:
        return None
    traces = [float(np.einsum("ij,jk,ik->", rows, c.meat, rows)) for _, c in scores.signed()]
    raters, prompts, noise = max(traces[0] - traces[2], 0.0), max(traces[1] - traces[2], 0.0), traces[2]
    total = raters + prompts + noise
    return VarianceShares(raters / total, prompts / total, noise / total) if total > 0 else None
