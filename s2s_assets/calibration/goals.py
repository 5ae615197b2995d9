"""What a study is to reach: intervals within some width, or a difference decided with some power.

**Power.** For a true difference δ of two entities with standard error se, the two-sided test at 5 % decides with
probability P(|T| > q), T noncentral t with noncentrality δ / se on the same degrees; q is the quantile of t, or for all
pairs together that of the largest |t| (`ranking.simultaneous`, whose degrees are those of effective numbers). Of the
pilot's own pair δ is the *observed* difference, which is no better known than its interval and, where the pair was
chosen for it, too large. Without a pair, δ is asked of the two entities that are hardest to tell apart.
"""

import math
from dataclasses import dataclass
from typing import Protocol

from scipy.special import nctdtr

from s2s_assets.calibration.foretell import Foretold


class Goal(Protocol):
    """What a study is to reach."""

    def value(self, found: Foretold) -> float:
        """How far it gets."""

    def reached(self, found: Foretold) -> bool:
        """Whether that is enough."""

    def left(self, found: Foretold) -> str:
        """In words, where it is not."""


@dataclass(frozen=True)
class Within:
    """Every 95 % interval within ± so many Elo."""

    elo: float

    def value(self, found: Foretold) -> float:
        """The widest half-width, in Elo."""
        return float(found.half_widths.max())

    def reached(self, found: Foretold) -> bool:
        """Whether all are within."""
        return self.value(found) <= self.elo

    def left(self, found: Foretold) -> str:
        """The widest."""
        return f"leave ±{self.value(found):.3g}"


@dataclass(frozen=True)
class Decided:
    """A true difference is decided with given power, by a two-sided test at 5 %."""

    difference: float
    """Elo, above 0."""
    power: float = 0.8
    pair: tuple[int, int] | None = None
    """Numbers of two entities; None: those hardest to tell apart."""
    simultaneous: bool = False
    """One error rate for all pairs together."""

    def value(self, found: Foretold) -> float:
        """The power."""
        se = float(found.differences.max() if self.pair is None else found.differences[self.pair])
        if se == 0:
            return 1.0
        if self.simultaneous:
            return power_of(self.difference / se, found.simultaneous_quantile, found.degrees_together)
        return power_of(self.difference / se, found.quantile, found.degrees)

    def reached(self, found: Foretold) -> bool:
        """Whether it is enough."""
        return self.value(found) >= self.power

    def left(self, found: Foretold) -> str:
        """The power that there is."""
        return f"leave a power of {self.value(found):.3g}"


def power_of(noncentrality: float, quantile: float, degrees: int) -> float:
    """P(|T| > quantile), T noncentral t."""
    below, above = nctdtr(degrees, noncentrality, [-quantile, quantile])
    power = float(below + 1.0 - above)
    return power if math.isfinite(power) else 1.0  # so far out that its series gives up
