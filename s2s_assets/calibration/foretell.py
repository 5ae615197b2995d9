"""What a study of some size would have, foretold from the parts of a pilot's variance.

**Variance.** The strengths of a study with R raters, P prompts, K pairs on each and m ratings of each pair have

    V = ρ_R A_R + ρ_P A_P + ρ_I A_I + ρ_U A_U + ρ_0 A_0,
    ρ_R = c_R / R,  ρ_P = c_P / P,  ρ_I = 1 / (P K),  ρ_U = (1 + ν) / N,  ρ_0 = 1 / N,  N = P K m,

with the parts A per rating of `ranking.variance_components` (what a rater, a prompt, a pair on a prompt, a rater on a prompt,
and chance add), from a pilot or from assumptions. c_R = R Σ n_r² / N² >= 1 says how unevenly raters are busy, c_P the
same of prompts; both stay as in the pilot, so R / c_R is the effective number of raters. ν, the other ratings that a
rater gives on the same prompt, is what handing out at random gives, (c_R N / R - 1) (K - 1) / (P K - 1), and what the
pilot had beyond it. More ratings of a pair shrink the last two parts; what raters, prompts and pairs on prompts add is
left in the end. A rater rates a pair once, so m <= R, and m = R is the most that R raters and P prompts can tell.

**Interval.** Half-width = t · se with the 0.975 quantile of t on min(R, P) - 1 degrees, as the sandwich has it; "every
interval" is that of the entity with the largest se. The bootstrap's is wider: product weights of raters and prompts
count whatever lies within a unit three times, so V + 2 V_unit with V_unit = ((A_0 + A_I) + (1 + ν) (A_R + A_P + A_U)) /
N, times 1.96.

Exact to first order, and with the pilot's chance in it. What raters or prompts add has a relative standard error of
about √(2 / (G - 1)) for one entity with G of them, less for the mean of many; the worst of many entities is taken as
wider than it is rather than narrower.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import stdtrit

from s2s_assets.ranking import ELO_PER_STRENGTH, Sandwich, VarianceComponents, simultaneous
from s2s_assets.study import Floats

PARTS = ("raters", "prompts", "items", "units", "noise")
_NORMAL = 1.959963984540054


@dataclass(frozen=True)
class Plan:
    """A study's size."""

    raters: int
    prompts: int
    ratings_per_pair: float
    """Of each pair on a prompt; whole, but in a pilot."""


@dataclass(frozen=True)
class Foretold:
    """What a study of some size would have."""

    covariance: Floats
    """(E, E) of the centred strengths, in squared logits."""
    within_units: Floats
    """(E, E) V_unit."""
    degrees: int
    """Raters or prompts, whichever are fewer, less one."""
    degrees_together: int
    """The same of their effective numbers: what claims about all pairs rest on."""

    @property
    def quantile(self) -> float:
        """Of t, two-sided 5 %."""
        return float(stdtrit(self.degrees, 0.975))

    @property
    def half_widths(self) -> Floats:
        """(E,) of the sandwich's 95 % intervals, in Elo."""
        return ELO_PER_STRENGTH * self.quantile * np.sqrt(np.diag(self.covariance))

    @property
    def bootstrap_half_widths(self) -> Floats:
        """(E,) of the bootstrap's."""
        return ELO_PER_STRENGTH * _NORMAL * np.sqrt(np.diag(self.covariance + 2.0 * self.within_units))

    @property
    def differences(self) -> Floats:
        """(E, E) standard errors of differences, in Elo."""
        variances = np.diag(self.covariance)
        squared = variances[:, None] + variances - 2.0 * self.covariance
        return ELO_PER_STRENGTH * np.sqrt(np.maximum(squared, 0.0))

    @cached_property
    def simultaneous_quantile(self) -> float:
        """Of the largest |t| over all pairs."""
        se = np.sqrt(np.diag(self.covariance))
        found = simultaneous(Sandwich(se, self.quantile, None, self.covariance, self.degrees_together))
        return self.quantile if found is None else max(found.quantile, self.quantile)


def foretell(components: VarianceComponents, plan: Plan, parts: Sequence[str] = PARTS) -> Foretold:
    """The variance of a study, or what some parts alone leave of it.

    Args:
        components: of a pilot, or assumed.
        plan: the study's size.
        parts: those that count.
    """
    shares = components.arrangement.shares(plan.raters, plan.prompts, plan.ratings_per_pair)
    covariance = sum((getattr(shares, part) * getattr(components, part) for part in parts), np.zeros(()))
    both = components.raters + components.prompts + components.units
    within = shares.noise * (components.noise + components.items) + shares.units * both
    effective = max(round(1.0 / max(shares.raters, shares.prompts)), 2)
    return Foretold(np.asarray(covariance, np.float64), within, min(plan.raters, plan.prompts) - 1, effective - 1)
