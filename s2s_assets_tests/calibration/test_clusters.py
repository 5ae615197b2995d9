"""A small calibration of the clustering, and its measures."""

import numpy as np
import pytest

from s2s_assets.calibration.clusters import ClusterObserved, observe_clusters, summarise_clusters
from s2s_assets.calibration.designs import CLUSTERS

NOISE, PLANTED = CLUSTERS[1], CLUSTERS[2]


def test_noise_shared_in_blocks_is_not_reproduced_and_planted_clusters_are() -> None:
    noise, planted = (summarise_clusters(d, observe_clusters(d, range(3), resamples=60)) for d in (NOISE, PLANTED))
    assert noise.noise_only
    assert not planted.noise_only
    assert noise.reproduced.value == 0
    assert planted.found.value == planted.reproduced.value == 1
    assert noise.reliability is not None
    assert planted.reliability is not None
    assert noise.reliability.value < 0.3 < planted.reliability.value
    assert planted.agreement is not None
    assert planted.agreement.value == 1


def test_measures_by_hand() -> None:
    """Found: reproduced and as planted. The last study has no partition."""
    observed = ClusterObserved(
        reliability=np.array([0.9, 0.8, 0.2, np.nan]),
        chance=np.array([0.1, 0.1, 0.1, np.nan]),
        chance_high=np.array([0.2, 0.2, 0.3, np.nan]),
        agreement=np.array([1.0, 0.5, 1.0, np.nan]),
        reproduced=np.array([True, True, False, False]),
    )
    found = summarise_clusters(PLANTED, observed)
    assert (found.replications, found.undefined) == (4, 1)
    assert found.reproduced.value == 2 / 4
    assert found.found.value == 1 / 4
    assert found.above_chance.value == 2 / 4
    assert found.reliability is not None
    assert found.reliability.value == pytest.approx(1.9 / 3)
    assert found.agreement is not None
    assert found.agreement.value == pytest.approx(2.5 / 3)
