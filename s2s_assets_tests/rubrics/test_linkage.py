import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from s2s_assets.rubrics.linkage import average_linkage, canonical


def distances(seed, n, sets=1):
    points = np.random.default_rng(seed).normal(size=(sets, n, n))
    matrix = points + points.transpose(0, 2, 1)
    matrix[:, range(n), range(n)] = 0
    return matrix


def scipy_labels(matrix, k):
    shifted = matrix - matrix.min() + 1
    np.fill_diagonal(shifted, 0)
    found = fcluster(linkage(squareform(shifted), "average"), k, "maxclust")
    return list(dict.fromkeys(found.tolist())), found.tolist()


@given(seed=st.integers(0, 10_000), n=st.integers(3, 12))
@settings(deadline=None, max_examples=60)
def test_labels_equal_scipys(seed, n):
    matrix = distances(seed, n)
    for k, labels in average_linkage(matrix, range(2, n)).items():
        order, found = scipy_labels(matrix[0], k)
        assert labels[0].tolist() == [order.index(label) for label in found]


def test_many_at_once_equal_one_by_one():
    matrix = distances(1, 8, sets=50)
    together = average_linkage(matrix, (2, 3))
    for b in range(50):
        alone = average_linkage(matrix[b : b + 1], (2, 3))
        assert all((together[k][b] == alone[k][0]).all() for k in (2, 3))


@given(seed=st.integers(0, 1000), shift=st.floats(-5, 5), scale=st.floats(0.1, 10))
@settings(deadline=None, max_examples=30)
def test_a_shift_or_scale_of_all_distances_changes_nothing(seed, shift, scale):
    matrix = distances(seed, 7)
    assert (average_linkage(scale * matrix + shift, (2,))[2] == average_linkage(matrix, (2,))[2]).all()


def test_equal_distances_are_no_partition():
    found = average_linkage(np.ones((1, 5, 5)), (2, 3))
    assert (found[2] == -1).all()
    assert (found[3] == -1).all()


def test_a_tie_matters_only_at_the_cut():
    points = np.array([0.0, 1, 10, 11, 50])
    matrix = np.abs(points[:, None] - points)[None]
    found = average_linkage(matrix, (2, 3, 4))
    assert found[2][0].tolist() == [0, 0, 0, 0, 1]
    assert found[3][0].tolist() == [0, 0, 1, 1, 2]
    assert found[4][0].tolist() == [-1] * 5


def test_rounding_in_one_triangle_does_not_change_the_labels():
    matrix = distances(4, 9, sets=30)
    rounded = matrix - np.tril(np.full((9, 9), 1e-15), -1)
    for k, labels in average_linkage(matrix, (2, 3, 4)).items():
        assert (average_linkage(rounded, (2, 3, 4))[k] == labels).all()


def test_no_matrices_give_no_labels():
    assert average_linkage(np.empty((0, 4, 4)), (2,))[2].shape == (0, 4)


def test_labels_are_numbered_by_first_appearance():
    assert canonical(np.array([[0, 1, 0, 1], [0, 0, 2, 2], [0, 1, 1, 3]])).tolist() == [
        [0, 1, 0, 1],
        [0, 0, 1, 1],
        [0, 1, 1, 2],
    ]


def test_the_input_is_left_as_it_is():
    matrix = distances(0, 5)
    before = matrix.copy()
    average_linkage(matrix, (2,))
    assert matrix == pytest.approx(before)
