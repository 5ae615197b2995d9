"""How often rubrics seem to form clusters where there are none, and how often planted ones are found.

Each simulated study of twelve rubrics is clustered as a study's rubrics are: a fit a rubric, common resamples, residual
profiles with the shared noise taken off, average linkage into two (`rubrics.cluster_rubrics`). A partition is
*reproduced* by the rule that the rubrics' room has for it (`Partition.reproduced`): at least half of the resamples give
exactly this partition, and more than in 95 % of data sets that hold the first component and noise only.

On one axis plus noise, shared in blocks of 7 and 5 or not, nothing should be reproduced. With planted profiles for 7 and 5
rubrics the planted partition should be found (reproduced, and the planted one), and agree with it by the adjusted Rand
index.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from s2s_assets.calibration.estimates import Estimate, mean_of, share_of
from s2s_assets.calibration.simulate import Design, simulate
from s2s_assets.ranking import FitSpec, bootstrap_boards, fit_boards
from s2s_assets.rubrics import Partition, adjusted_rand_index, cluster_rubrics, profiles
from s2s_assets.study import Bools, Floats


@dataclass(frozen=True)
class ClusterObserved:
    """The partitions of R studies; NaN and False where there is none."""

    reliability: Floats
    chance: Floats
    """Mean reliability of structureless data."""
    chance_high: Floats
    """Its 95 % quantile."""
    agreement: Floats
    """Adjusted Rand index with the groups of the design."""
    reproduced: Bools


@dataclass(frozen=True)
class ClusterStudy:
    """What the clustering makes of one design."""

    design: Design
    noise_only: bool
    replications: int
    undefined: int
    """Studies without a partition."""
    reliability: Estimate | None
    chance: Estimate | None
    chance_high: Estimate | None
    above_chance: Estimate
    """Share of studies whose reliability is above chance's 95 % quantile."""
    reproduced: Estimate
    """Share of studies whose partition is reproduced."""
    found: Estimate
    """Share of studies whose partition is reproduced and the one of the design's groups."""
    agreement: Estimate | None


def observe_clusters(design: Design, numbers: Sequence[int], resamples: int) -> ClusterObserved:
    """Simulate studies of these numbers, and cluster the rubrics of each."""
    specs = [FitSpec(rubric, "config") for rubric in design.rubrics]
    found = []
    for number in numbers:
        ratings = simulate(design, "study", number)
        fits = fit_boards(ratings, specs)
        drawn = bootstrap_boards(ratings, fits, resamples=resamples, seed=number)
        _, strengths, draws = profiles(fits, drawn, specs)
        found.append(_read(cluster_rubrics(strengths, draws, design.rubrics, seed=number).reported, design))
    reliability, chance, chance_high, agreement, reproduced = np.array(found, np.float64).reshape(len(found), 5).T
    return ClusterObserved(reliability, chance, chance_high, agreement, reproduced == 1)


def _read(partition: Partition | None, design: Design) -> tuple[float | None, ...]:
    if partition is None or len(partition.labels) < len(design.rubrics):
        return None, None, None, None, 0.0
    agreement = adjusted_rand_index(np.array(partition.labels), np.array(design.groups))
    return (
        partition.reliability,
        partition.chance,
        partition.chance_high,
        agreement,
        float(partition.reproduced),
    )


def summarise_clusters(design: Design, observed: ClusterObserved) -> ClusterStudy:
    """Shares and means over the studies of a design."""
    return ClusterStudy(
        design=design,
        noise_only=design.profile_sd == 0,
        replications=len(observed.reliability),
        undefined=int(np.isnan(observed.reliability).sum()),
        reliability=mean_of(observed.reliability),
        chance=mean_of(observed.chance),
        chance_high=mean_of(observed.chance_high),
        above_chance=share_of(observed.reliability > observed.chance_high),
        reproduced=share_of(observed.reproduced),
        found=share_of(observed.reproduced & (observed.agreement == 1)),
        agreement=mean_of(observed.agreement),
    )
