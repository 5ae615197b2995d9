import dataclasses
import json

import numpy as np
import pytest

from s2s_assets.rubrics import adjusted_rand_index, cluster_rubrics
from s2s_assets.rubrics.reliability import same_partition


def uncorrected(strengths, names):
    """The partition that no correction for noise would give."""
    nothing = strengths + 1e-9 * np.random.default_rng(0).normal(size=(3, *strengths.shape))
    return np.array(cluster_rubrics(strengths, nothing, names).reported.labels)


def ari(labels, truth):
    return adjusted_rand_index(np.array(labels), np.array(truth.labels))


def test_true_clusters_are_found_and_trusted(plant, truth):
    strengths, draws, halves = plant(2, signal=0.5)
    found = cluster_rubrics(strengths, draws, truth.names, halves=halves)
    two = found.reported
    assert (found.status, found.reason, found.k) == ("ok", None, 2)
    assert two.labels == truth.labels
    assert two.sizes == (7, 5)
    assert two.clusters == (tuple(truth.names[:7]), tuple(truth.names[7:]))
    assert two.reliability > 0.95
    assert two.chance_high < 0.2
    assert two.split_half.mean > 0.9
    assert max(two.moved) < 0.05
    assert [p.k for p in found.partitions] == [2, 3]
    assert found.pc1_share > 0.9
    assert found.gap > 5
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("seed", range(2))
def test_one_axis_and_noise_are_not_clusters(plant, truth, seed):
    strengths, draws, halves = plant(seed)
    two = cluster_rubrics(strengths, draws, truth.names, halves=halves).reported
    assert two.reliability < 0.2
    assert abs(two.split_half.mean) < 0.3


def test_noise_shared_in_blocks_is_taken_off(plant, truth):
    """Without the correction it would pass for clusters, in the chance baseline too."""
    strengths, draws, halves = plant(0, noise=0.05, block_noise=0.15)
    assert ari(uncorrected(strengths, truth.names), truth) > 0.8
    two = cluster_rubrics(strengths, draws, truth.names, halves=halves).reported
    assert ari(two.labels, truth) < 0.7
    assert two.reliability < 0.2
    assert two.split_half.mean < 0.4


def test_noise_shared_by_all_rubrics_goes_with_the_first_component(plant, truth):
    strengths, draws, _ = plant(2, signal=0.5, halo_noise=0.3)
    two = cluster_rubrics(strengths, draws, truth.names).reported
    assert two.labels == truth.labels
    assert two.reliability > 0.8


def test_true_clusters_under_noise_shared_in_blocks(plant, truth):
    strengths, draws, _ = plant(2, signal=0.5, noise=0.05, block_noise=0.15)
    two = cluster_rubrics(strengths, draws, truth.names).reported
    assert two.labels == truth.labels
    assert two.reliability > two.chance_high


def test_the_scale_and_the_zero_of_strengths_do_not_matter(plant, truth):
    strengths, draws, halves = plant(3, signal=0.3)
    found = cluster_rubrics(strengths, draws, truth.names, halves=halves)
    shift = np.random.default_rng(0).normal(size=(12, 1))
    other = cluster_rubrics(7 * strengths + shift, 7 * draws + shift, truth.names, halves=7 * halves + shift)
    assert other.reported == found.reported
    assert np.array(other.similarity) == pytest.approx(np.array(found.similarity))


def test_the_order_of_rubrics_does_not_matter(plant, truth):
    strengths, draws, halves = plant(3, signal=0.3)
    order = np.random.default_rng(1).permutation(12)
    names = [truth.names[k] for k in order]
    found = cluster_rubrics(strengths, draws, truth.names, halves=halves).reported
    other = cluster_rubrics(strengths[order], draws[:, order], names, halves=halves[:, :, order]).reported
    assert {frozenset(c) for c in other.clusters} == {frozenset(c) for c in found.clusters}
    assert other.reliability == found.reliability
    assert other.split_half.mean == pytest.approx(found.split_half.mean)
    assert [other.moved[list(order).index(k)] for k in range(12)] == pytest.approx(list(found.moved))


def test_the_same_seed_gives_the_same_baseline(plant, truth):
    strengths, draws, _ = plant(0, resamples=80)
    one, again, other = (cluster_rubrics(strengths, draws, truth.names, seed=s).reported for s in (1, 1, 2))
    assert one == again
    assert one.chance != other.chance


@pytest.mark.parametrize(
    ("reliability", "chance_high", "reproduced"),
    [
        (0.9, 0.2, True),
        (0.5, 0.49, True),
        (0.49, 0.0, False),
        (0.9, 0.9, False),
        (0.6, 0.95, False),
        (None, 0.1, False),
    ],
)
def test_reproduced_is_most_resamples_and_more_than_chance(plant, truth, reliability, chance_high, reproduced):
    strengths, draws, _ = plant(2, signal=0.5, resamples=20)
    two = cluster_rubrics(strengths, draws, truth.names).reported
    assert two.reproduced
    assert dataclasses.replace(two, reliability=reliability, chance_high=chance_high).reproduced == reproduced


def test_a_tie_at_the_cut_is_never_reproduced():
    assert not same_partition(np.full((4, 3), -1), np.full(3, -1)).any()


@pytest.mark.parametrize("quality", [[0.0] * 6, [1.0, 2, 3, 4, 5, 6.5]])
def test_one_axis_without_noise_is_undefined(truth, quality):
    strengths = np.outer(np.linspace(1, 2, 12), quality)
    equal = cluster_rubrics(strengths, np.stack([strengths] * 20), truth.names)
    assert equal.status == "undefined"
    assert "tie" in equal.reason
    assert equal.reported is None
    assert equal.partitions[0].reliability is None
    assert equal.partitions[0].chance == 0.0
    json.dumps(equal.to_dict(), allow_nan=False)


@pytest.mark.parametrize(("rubrics", "entities"), [(2, 6), (6, 2), (0, 0)])
def test_too_few_rubrics_or_entities_are_undefined(rubrics, entities):
    names = [f"r{k}" for k in range(rubrics)]
    found = cluster_rubrics(np.ones((rubrics, entities)), np.ones((10, rubrics, entities)), names)
    assert found.status == "undefined"
    assert "at least 3 of each" in found.reason


def test_without_resamples_it_is_undefined(plant, truth):
    strengths, draws, _ = plant(0)
    found = cluster_rubrics(strengths, draws[:0], truth.names)
    assert found.status == "undefined"
    assert "0 resamples" in found.reason


def test_rubrics_without_strengths_are_left_out_by_name(plant, truth):
    strengths, draws, halves = plant(2, signal=0.5)
    strengths[3, 1] = np.nan
    draws[:40, 8, 0] = np.inf
    draws[0, 0, 0] = np.nan
    found = cluster_rubrics(strengths, draws, truth.names, halves=halves)
    assert [out.rubric for out in found.left_out] == ["r03", "r08"]
    assert "87 %" in found.left_out[1].reason
    assert (found.resamples, found.resamples_used) == (300, 299)
    assert found.reported.labels == tuple(label for k, label in enumerate(truth.labels) if k not in (3, 8))


def test_splits_that_lost_an_entity_are_dropped_and_counted(plant, truth):
    strengths, draws, halves = plant(2, signal=0.5)
    halves[:7, 1, 4, 2] = np.nan
    half = cluster_rubrics(strengths, draws, truth.names, halves=halves).reported.split_half
    assert (half.splits, half.used, half.dropped) == (60, 53, 7)
    assert half.low <= half.mean <= half.high
    none = cluster_rubrics(strengths, draws, truth.names).reported.split_half
    assert (none.mean, none.splits, none.used) == (None, 0, 0)
