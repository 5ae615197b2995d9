import itertools

import numpy as np
import pytest

from s2s_assets.pairing.hamiltonian import decompose, walk


@pytest.mark.parametrize("n", range(1, 61))
def test_the_members_use_every_pair_exactly_once(n):
    orders = decompose(n)
    assert orders.shape == (n // 2, n)
    edges = [frozenset(edge) for order in orders for edge in walk(order, closed=n % 2 == 1).tolist()]
    assert len(edges) == len(set(edges))
    assert set(edges) == {frozenset(pair) for pair in itertools.combinations(range(n), 2)}


@pytest.mark.parametrize("n", [2, 3, 4, 7, 19, 20])
def test_each_member_visits_every_config_once(n):
    assert (np.sort(decompose(n), axis=1) == np.arange(n)).all()


def test_a_walk_over_few_vertices_has_no_double_edge():
    assert walk(np.array([4]), closed=True).tolist() == []
    assert walk(np.array([4, 2]), closed=True).tolist() == [[4, 2]]
    assert walk(np.array([4, 2, 7]), closed=True).tolist() == [[4, 2], [2, 7], [7, 4]]
    assert walk(np.array([4, 2, 7]), closed=False).tolist() == [[4, 2], [2, 7]]


def test_no_vertices_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        decompose(0)
