import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from s2s_assets.rubrics.residuals import (
    centre_rows,
    deviations,
    dominant,
    first_component,
    residuals,
    second_moments,
    shared_noise,
    similarities,
)

matrices = arrays(float, (5, 4), elements=st.floats(-5, 5).map(lambda x: round(x, 3)))


def split(strengths):
    centred = centre_rows(strengths)
    u, v = first_component(centred)
    sigma = np.linalg.svd(centred, compute_uv=False)
    return centred, u, sigma, v


@given(matrices)
@settings(deadline=None)
def test_the_residual_is_the_matrix_less_its_first_component(strengths):
    centred, u, sigma, v = split(strengths)
    assert residuals(centred, u, v) == pytest.approx(centred - sigma[0] * np.outer(u, v), abs=1e-9)
    assert residuals(centred, -u, -v) == pytest.approx(residuals(centred, u, v), abs=1e-9)


def test_rank_one_leaves_nothing():
    centred, u, _, v = split(np.outer([1.0, 2, 3, 4], [1.0, -2, 0, 5]))
    assert residuals(centred, u, v) == pytest.approx(np.zeros((4, 4)), abs=1e-12)


def test_the_shared_noise_equals_the_plain_mean_of_projected_products():
    rng = np.random.default_rng(0)
    _, u, _, v = split(rng.normal(size=(5, 4)))
    deviation = deviations(rng.normal(size=(40, 5, 4)))
    plain = np.zeros((5, 5))
    for one in deviation:
        projected = (np.eye(5) - np.outer(u, u)) @ one @ (np.eye(4) - np.outer(v, v))
        plain += projected @ projected.T / 40
    moments = second_moments(deviation)
    assert shared_noise(moments, u, v) == pytest.approx(plain)
    both = shared_noise(moments, np.stack([u, u]), np.stack([v, v]))
    assert both == pytest.approx(np.stack([plain, plain]))


def test_projecting_the_noise_on_one_side_only_would_be_more():
    rng = np.random.default_rng(1)
    _, u, _, v = split(np.outer(rng.uniform(1, 2, 5), rng.normal(size=4)) + 0.01 * rng.normal(size=(5, 4)))
    halo = rng.normal(size=(200, 1, 4)) + 0.1 * rng.normal(size=(200, 5, 4))
    deviation = deviations(halo)
    one_side = deviation @ (np.eye(4) - np.outer(v, v))
    more = np.einsum("bkm,blm->kl", one_side, one_side) / 200
    assert np.trace(shared_noise(second_moments(deviation), u, v)) < 0.2 * np.trace(more)


@given(matrices, st.floats(0.1, 50))
@settings(deadline=None)
def test_similarities_do_not_depend_on_the_scale(strengths, scale):
    strengths = strengths + np.random.default_rng(2).normal(size=(5, 4))
    deviation = 0.1 * np.random.default_rng(3).normal(size=(30, 5, 4))

    def found(factor):
        centred, u, _, v = split(factor * strengths)
        return similarities(residuals(centred, u, v), shared_noise(second_moments(factor * deviation), u, v))

    assert found(scale) == pytest.approx(found(1.0), abs=1e-6)


def test_similarities_use_the_norms_before_the_correction():
    residual = np.array([[3.0, 0.0], [0.0, 4.0], [3.0, 4.0]])
    noise = np.full((3, 3), 1.0)
    found = similarities(residual, noise)
    assert found[0, 0] == pytest.approx(8 / 9)
    assert found[0, 2] == pytest.approx((9 - 1) / 15)
    assert found[0, 1] == pytest.approx(-1 / 12)


def test_a_profile_of_zero_is_like_nothing():
    assert similarities(np.array([[0.0, 0.0], [1.0, 0.0]]), np.ones((2, 2)))[0].tolist() == [0.0, 0.0]


def test_dominant_eigenvectors_are_lapacks_whatever_lies_beside_them():
    rng = np.random.default_rng(3)
    basis = np.linalg.qr(rng.normal(size=(40, 6, 6))).Q
    values = np.sort(rng.uniform(0, 1, (40, 6)))
    values[::2, -2] = values[::2, -1] * (1 - np.geomspace(1e-6, 1, 20))  # also very near ones
    gram = (basis * values[:, None, :]) @ basis.transpose(0, 2, 1)
    for found, expected in zip(dominant(gram), basis[:, :, -1], strict=True):
        assert abs(found @ expected) == pytest.approx(1.0, abs=1e-8)
        assert np.linalg.norm(found) == pytest.approx(1.0)
    assert np.linalg.norm(dominant(np.zeros((3, 3)))) == pytest.approx(1.0)
