import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.rubrics import adjusted_rand_index
from s2s_assets.rubrics.agreement import moved_share

labellings = st.lists(st.integers(0, 3), min_size=2, max_size=9)


def by_pairs(a, b):
    """The same index by going through all pairs (Hubert & Arabie's four counts)."""
    kinds = {(x, y): 0 for x in (0, 1) for y in (0, 1)}
    for i, j in itertools.combinations(range(len(a)), 2):
        kinds[int(a[i] == a[j]), int(b[i] == b[j])] += 1
    both, one, other, none = kinds[1, 1], kinds[1, 0], kinds[0, 1], kinds[0, 0]
    below = (both + one) * (one + none) + (both + other) * (other + none)
    return 2 * (both * none - one * other) / below if below else None


@given(st.tuples(labellings, labellings).map(lambda ab: tuple(np.array(x[: min(map(len, ab))]) for x in ab)))
def test_the_index_equals_the_count_over_pairs(ab):
    plain, found = by_pairs(*ab), adjusted_rand_index(*ab)
    assert (found is None) == (plain is None)
    assert found is None or found == pytest.approx(plain)


@pytest.mark.parametrize(
    ("a", "b", "index"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], 1.0),
        ([0, 0, 1, 1], [0, 1, 0, 1], -0.5),
        ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], 8 / 33),
        ([0, 0, 1, 1], [0, 0, 0, 0], 0.0),
    ],
)
def test_known_values(a, b, index):
    assert adjusted_rand_index(np.array(a), np.array(b)) == pytest.approx(index)


def test_one_cluster_against_one_cluster_is_undefined():
    assert adjusted_rand_index(np.zeros(5, int), np.zeros(5, int)) is None
    assert adjusted_rand_index(np.arange(5), np.arange(5)) is None


def test_moved_counts_after_the_best_naming():
    reference = np.array([0, 0, 0, 1, 1])
    same_but_renamed, one_moved, none = [1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [-1] * 5
    found = moved_share(np.array([same_but_renamed, one_moved, none]), reference)
    assert found.tolist() == [0, 0, 0.5, 0, 0]


def test_without_partitions_nothing_is_known():
    assert np.isnan(moved_share(np.full((3, 4), -1), np.array([0, 0, 1, 1]))).all()
