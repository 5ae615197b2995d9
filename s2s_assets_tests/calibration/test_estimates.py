"""Monte-Carlo errors, against the spread over many simulations of the simulation."""

import numpy as np
import pytest

from s2s_assets.calibration.estimates import error_ratio, mean_of, share_of


def test_the_error_of_a_mean_is_its_spread() -> None:
    """Values of one replication go together; the error is that of their means, and skips replications without."""
    values = np.array([1.0, 2.0, np.nan, 3.0, 6.0])
    found = mean_of(values)
    assert found is not None
    assert found.value == 3.0
    assert found.error == pytest.approx(np.std([1, 2, 3, 6], ddof=1) / 2)
    assert mean_of(np.array([np.nan, 1.0])) is None


def test_the_error_of_a_share_is_never_zero() -> None:
    rng = np.random.default_rng(0)
    drawn = [share_of(rng.random(400) < 0.05) for _ in range(500)]
    assert np.std([d.value for d in drawn]) == pytest.approx(np.mean([d.error for d in drawn]), rel=0.1)
    none = share_of(np.zeros(100, bool))
    assert (none.value, none.error) == (0.0, pytest.approx(0.0135, abs=0.001))


def test_the_ratio_of_errors_and_its_own_error() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([1.0, 2.0, 3.0])
    drawn = [error_ratio(10 + truth * rng.normal(size=(150, 3)), np.tile(1.2 * truth, (150, 1))) for _ in range(200)]
    values = [d.value for d in drawn if d is not None]
    assert np.mean(values) == pytest.approx(1.2, rel=0.01)
    assert np.mean([d.error for d in drawn if d is not None]) == pytest.approx(np.std(values), rel=0.1)


def test_the_ratio_by_hand_leaves_out_what_has_no_error() -> None:
    estimates = np.array([[1.0], [2.0], [4.0], [9.0]])
    errors = np.array([[1.0], [2.0], [2.0], [np.nan]])
    found = error_ratio(estimates, errors)
    assert found is not None
    assert found.value == pytest.approx(np.sqrt(3.0) / np.std([1, 2, 4], ddof=1))
    leave_one_out = [
        np.sqrt(np.mean(np.delete([1.0, 4.0, 4.0], k))) / np.std(np.delete([1, 2, 4], k), ddof=1) for k in range(3)
    ]
    assert found.error == pytest.approx(np.std(leave_one_out) * np.sqrt(2))
    assert error_ratio(estimates[:2], errors[:2]) is None
