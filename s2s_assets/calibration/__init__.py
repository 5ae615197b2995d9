"""What the stated intervals are worth: studies simulated from a known truth, and what the method makes of them."""

from s2s_assets.calibration.simulate import Design, population, simulate

__all__ = ["Design", "population", "simulate"]
