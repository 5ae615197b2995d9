"""The studies that are simulated.

A design is judged by the bars if it has at least 30 raters, at least 100 prompts, and effects of either: there intervals
should hold. Smaller designs, and those without effects, are reported: they show where intervals stop to hold, and what
caution costs where there is nothing to be cautious about.
"""

import numpy as np

from s2s_assets.calibration.simulate import Design

LEAST_RATERS, LEAST_PROMPTS = 30, 100

COVERAGE = (
    Design("study in full", entities=19, raters=100, prompts=819, ratings=31_122),
    Design("smaller study", entities=12, raters=100, prompts=300, ratings=12_000),
    Design("weak effects", entities=8, raters=60, prompts=200, ratings=6000, rater_sd=0.2, prompt_sd=0.25),
    Design("strong effects", entities=6, raters=40, prompts=150, ratings=4000, rater_sd=0.7, prompt_sd=1.0),
    Design("three pairs a unit", entities=8, raters=40, prompts=120, ratings=6000, pairs_per_unit=3),
    Design("uneven raters", entities=8, raters=60, prompts=200, ratings=6000, load_sd=1.0),
    Design("smallest judged", entities=6, raters=30, prompts=100, ratings=3000),
    Design("19 equal names", entities=19, raters=100, prompts=819, ratings=31_122, strengths_sd=0.0),
    Design("12 equal names", entities=12, raters=30, prompts=100, ratings=3000, strengths_sd=0.0),
    Design(
        "uneven raters and equal names", entities=8, raters=60, prompts=200, ratings=6000, strengths_sd=0.0, load_sd=1.0
    ),
    Design("10 raters", entities=6, raters=10, prompts=100, ratings=2000),
    Design("4 prompts", entities=6, raters=40, prompts=4, ratings=2000),
    Design("no effects", entities=8, raters=60, prompts=200, ratings=6000, rater_sd=0.0, prompt_sd=0.0),
)
"""For intervals and claims about pairs."""

_RUBRICS = tuple(f"q{k:02d}" for k in range(1, 13))
_GROUPS = (0,) * 7 + (1,) * 5
_LOADINGS = tuple(np.linspace(0.8, 1.2, len(_RUBRICS)).round(3).tolist())


def _twelve(name: str, *, halo: float, block: float, profile_sd: float) -> Design:
    """Twelve rubrics, 7 and 5 of a group, on the same 4,000 pairs."""
    return Design(
        name,
        entities=6,
        raters=40,
        prompts=150,
        ratings=4000,
        rubrics=_RUBRICS,
        groups=_GROUPS,
        loadings=_LOADINGS,
        halo=halo,
        block=block,
        profile_sd=profile_sd,
    )


CLUSTERS = (
    _twelve("one axis", halo=0.4, block=0.0, profile_sd=0.0),
    _twelve("one axis, noise in blocks 7 + 5", halo=0.2, block=0.5, profile_sd=0.0),
    _twelve("clusters 7 + 5", halo=0.4, block=0.0, profile_sd=0.3),
    _twelve("weak clusters 7 + 5", halo=0.4, block=0.0, profile_sd=0.2),
    _twelve("clusters and noise in blocks 7 + 5", halo=0.2, block=0.5, profile_sd=0.3),
)
"""For the clustering of rubrics."""


def judged(design: Design) -> bool:
    """Whether the bars on intervals and claims are for this design."""
    effects = max(design.rater_sd, design.prompt_sd) > 0
    return design.raters >= LEAST_RATERS and design.prompts >= LEAST_PROMPTS and effects


def null(design: Design) -> bool:
    """Whether all entities are equal."""
    return not design.planted.any()
