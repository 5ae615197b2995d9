"""What the stated intervals are worth, by studies simulated from a known truth; what a study of another size would have."""

from s2s_assets.calibration.budget import Choice, budget
from s2s_assets.calibration.foretell import Foretold, Plan, foretell
from s2s_assets.calibration.goals import Decided, Within
from s2s_assets.calibration.simulate import Design, population, simulate

__all__ = [
    "Choice",
    "Decided",
    "Design",
    "Foretold",
    "Plan",
    "Within",
    "budget",
    "foretell",
    "population",
    "simulate",
]
