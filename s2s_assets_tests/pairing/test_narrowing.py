"""The greedy design over entities, against a slow plain twin."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2s_assets.pairing.narrowing import POWER, narrow
from s2s_assets.study import InputError, generator


def known(n, seed):
    """Covariance of centred strengths and information of a vote, both without ties."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n, 3 * n)) * rng.uniform(0.3, 1.5, (n, 1))
    centring = np.eye(n) - 1 / n
    told = np.triu(rng.uniform(0.05, 0.4, (n, n)), 1)
    return centring @ (roots @ roots.T / (30 * n)) @ centring, told + told.T


def twin(covariance, information, capacity, votes, pairs):
    """Every choice tried by inverting the information matrix, one after another."""
    n, left, chosen = len(covariance), capacity.copy(), []
    precision = np.linalg.pinv(covariance, hermitian=True)
    for _ in range(pairs):
        tried = []
        for i, j in itertools.combinations(range(n), 2):
            if left[i, j] > 0 and information[i, j] > 0:
                x = np.zeros(n)
                x[i], x[j] = 1, -1
                after = precision + votes * information[i, j] * np.outer(x, x)
                variances = np.diag(np.linalg.pinv(after, hermitian=True))
                counted = [e for e in range(n) if (left[e] * information[e]).any()]
                tried.append((sum(variances[e] ** POWER for e in counted), i, j, after))
        if not tried:
            break
        _, i, j, precision = min(tried, key=lambda t: t[0])
        left[[i, j], [j, i]] -= 1
        chosen.append((i, j))
    return chosen, np.linalg.pinv(precision, hermitian=True)


def choose(covariance, information, capacity, votes=2, pairs=10, seed=0):
    return narrow(covariance, information, capacity, votes=votes, pairs=pairs, rng=generator("test", seed))


def often(n, most):
    return np.full((n, n), most) - most * np.eye(n, dtype=np.int64)


@pytest.mark.parametrize(("n", "most", "votes"), [(3, 9, 1), (5, 2, 2), (7, 1, 3)])
def test_each_choice_is_the_one_that_the_twin_finds(n, most, votes):
    covariance, told = known(n, seed=n)
    found = choose(covariance, told, often(n, most), votes, pairs=15)
    chosen, after = twin(covariance, told, often(n, most), votes, pairs=15)
    assert [tuple(ends) for ends in found.ends.tolist()] == chosen
    assert np.allclose(found.covariance, after, atol=1e-12)


@pytest.mark.parametrize("wide", [1.0, 4.0, 25.0, 1e6])
def test_what_cannot_be_asked_about_leaves_the_choice_among_the_others_as_it_is(wide):
    covariance, told = known(6, seed=1)
    alone = choose(covariance, told, often(6, 3), pairs=12)
    beside = np.zeros((3, 7, 7))
    beside[:, :6, :6] = covariance, told, often(6, 3)
    beside[0, 6, 6], beside[1, 6, :6], beside[1, :6, 6] = wide, 0.1, 0.1
    found = choose(beside[0], beside[1], beside[2].astype(np.int64), pairs=12)
    assert found.ends.tolist() == alone.ends.tolist()


def test_the_widest_is_asked_about_first_and_against_who_is_close_and_well_known():
    told = often(4, 1) * 0.3
    told[0, 3] = told[3, 0] = 0.05  # far above 3: a vote against it tells little
    variances = np.array([1.0, 0.04, 0.2, 0.01])
    found = choose(np.diag(variances), told, often(4, 5), pairs=1)
    assert found.ends.tolist() == [[0, 1]]


@given(n=st.integers(2, 6), seed=st.integers(0, 10_000), pairs=st.integers(0, 25), most=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_no_more_than_wanted_or_allowed_and_no_variance_grows(n, seed, pairs, most):
    covariance, told = known(n, seed)
    told[0, 1] = told[1, 0] = 0.0
    capacity = np.triu(np.random.default_rng(seed).integers(0, most + 1, (n, n)), 1)
    capacity = capacity + capacity.T
    found = choose(covariance, told, capacity, pairs=pairs)
    asked = np.zeros((n, n), np.int64)
    np.add.at(asked, tuple(found.ends.T), 1)
    possible = int(np.triu(capacity * (told > 0), 1).sum())
    assert len(found.ends) == min(pairs, possible)
    assert (asked <= np.triu(capacity, 1)).all()
    assert asked[0, 1] == 0, "a vote that tells nothing is not asked for"
    assert (np.diag(found.covariance) <= np.diag(covariance) + 1e-12).all()
    assert np.allclose(found.covariance.sum(axis=0), 0, atol=1e-9), "still centred on the same entities"


@given(n=st.integers(3, 6), seed=st.integers(0, 10_000), data=st.data())
@settings(max_examples=40, deadline=None)
def test_other_numbers_for_the_entities_give_the_same_pairs(n, seed, data):
    covariance, told = known(n, seed)
    order = np.array(data.draw(st.permutations(range(n))))
    turned = choose(covariance[np.ix_(order, order)], told[np.ix_(order, order)], often(n, 3), pairs=8, seed=1)
    straight = choose(covariance, told, often(n, 3), pairs=8)
    assert np.sort(order[turned.ends], axis=1).tolist() == straight.ends.tolist()


def test_ties_fall_by_the_generator_and_by_nothing_else():
    covariance, told = np.eye(6) - 1 / 6, often(6, 1) * 0.2
    first = [tuple(choose(covariance, told, often(6, 1), pairs=1, seed=s).ends[0]) for s in range(40)]
    again = [tuple(choose(covariance, told, often(6, 1), pairs=1, seed=s).ends[0]) for s in range(40)]
    assert first == again
    assert len(set(first)) > 8


def test_where_all_is_known_nothing_is_asked():
    assert choose(np.zeros((3, 3)), often(3, 1) * 0.2, often(3, 4)).ends.shape == (0, 2)
    assert choose(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros((0, 0), np.int64)).ends.shape == (0, 2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"information": np.ones((2, 2))}, "one square shape"),
        ({"covariance": np.full((3, 3), np.nan)}, "finite numbers"),
        ({"covariance": -np.eye(3)}, "0 or more"),
        ({"information": -np.ones((3, 3))}, "0 or more"),
        ({"votes": 0}, "0 votes a pair"),
        ({"pairs": -1}, "-1 pairs"),
    ],
    ids=["shape", "nan", "variance", "information", "votes", "pairs"],
)
def test_what_cannot_be_is_refused_with_what_was_expected(change, said):
    given = {"covariance": np.eye(3), "information": np.ones((3, 3)), "capacity": often(3, 2), "votes": 2, "pairs": 3}
    given |= change
    with pytest.raises(InputError, match=said):
        narrow(**given, rng=generator("test"))
