"""Residual profiles: what a rubric says about the entities beyond general quality; and the noise that rubrics share.

For a matrix X of strengths, rubric × entity, with rows centred to mean 0 and largest singular triple (σ1, u, v):

    R = X - σ1 u v' = (I - uu') X (I - vv'),          residual profiles, free of the sign of u and v
    N(u, v) = mean over draws of P(E) P(E)',          P(E) = (I - uu') E (I - vv')

where E is a draw's deviation from the mean draw. Both sides are projected: the halo common to all rubrics is already
gone with u, and leaving it in the noise would count it twice. N depends on the draws only through their second moments
T[k,m,l,n] = mean E[k,m] E[l,n], so it is cheap for any number of pairs u, v.
"""

import numpy as np

from s2s_assets.study import Floats

_SQUARINGS = 8
_OFF = 1e-12
"""Share of an eigenvalue by which its vector's image may be off."""
_ROUNDING = 1e-12
"""Share of the largest strength below which a residual is a rounding error."""


def centre_rows(strengths: Floats) -> Floats:
    """Strengths (…, K, M) less their mean over the entities."""
    centred: Floats = strengths - strengths.mean(axis=-1, keepdims=True)
    return centred


def first_component(centred: Floats) -> tuple[Floats, Floats]:
    """Singular vectors u (…, K) and v (…, M) of the largest singular value of row-centred strengths; v = 0 of zeros."""
    u = dominant(centred @ np.swapaxes(centred, -1, -2))
    pulled = (u[..., None, :] @ centred)[..., 0, :]
    length = np.linalg.norm(pulled, axis=-1, keepdims=True)
    return u, pulled / np.maximum(length, np.finfo(float).tiny)


def dominant(gram: Floats) -> Floats:
    """Eigenvectors (…, K) of the largest eigenvalues of positive semidefinite matrices (…, K, K).

    All columns of a high power are along it; a few squarings take a quarter of the time of all eigenvectors. Those that
    did not get there, the next eigenvalue being too near, are LAPACK's.
    """
    matrices = gram.reshape(-1, *gram.shape[-2:])
    power = matrices
    for _ in range(_SQUARINGS):
        trace = np.einsum("bkk->b", power)
        power = power / np.where(trace > 0, trace, 1.0)[:, None, None]
        power = power @ power
    longest = np.einsum("bkk->bk", power).argmax(axis=1)
    u = power[np.arange(len(power)), longest]
    u /= np.maximum(np.linalg.norm(u, axis=1, keepdims=True), np.finfo(float).tiny)
    image = (matrices @ u[..., None])[..., 0]
    value = (u * image).sum(axis=1)
    far = ~(np.linalg.norm(image - value[:, None] * u, axis=1) < _OFF * value)
    if far.any():
        u[far] = np.linalg.eigh(matrices[far]).eigenvectors[..., -1]
    return np.asarray(u.reshape(gram.shape[:-1]), np.float64)


def residuals(centred: Floats, u: Floats, v: Floats) -> Floats:
    """Matrices (…, K, M) with u taken out of their columns and v out of their rows; rounding errors are zeros."""
    without_u = centred - u[..., :, None] * (u[..., None, :] @ centred)
    without_both = without_u - (without_u @ v[..., :, None]) * v[..., None, :]
    rounding = _ROUNDING * np.abs(centred).max(axis=(-1, -2), keepdims=True)
    return np.where(np.abs(without_both) <= rounding, 0.0, without_both)


def deviations(draws: Floats) -> Floats:
    """Row-centred draws (B, K, M) less their mean."""
    centred = centre_rows(draws)
    deviation: Floats = centred - centred.mean(axis=0)
    return deviation


def second_moments(deviation: Floats) -> Floats:
    """T (K, M, K, M) of deviations (B, K, M)."""
    n, k, m = deviation.shape
    flat = deviation.reshape(n, k * m)
    moments: Floats = (flat.T @ flat / n).reshape(k, m, k, m)
    return moments


def shared_noise(moments: Floats, u: Floats, v: Floats) -> Floats:
    """N (…, K, K) for each u (…, K) and v (…, M)."""
    k, m = moments.shape[:2]
    by_entity = moments.transpose(0, 2, 1, 3).reshape(k * k, m * m)
    kept = np.eye(m) - v[..., :, None] * v[..., None, :]
    inner = (kept.reshape(*kept.shape[:-2], m * m) @ by_entity.T).reshape(*kept.shape[:-2], k, k)
    aside = np.eye(k) - u[..., :, None] * u[..., None, :]
    return aside @ inner @ aside


def similarities(residual: Floats, noise: Floats) -> Floats:
    """(RR' - N)[k, l] / (|R_k| |R_l|), shape (…, K, K), of residuals (…, K, M); 0 where a residual profile is zero.

    The norms are those of R itself. Dividing by the corrected ones would turn pure noise into equal similarities.
    """
    gram = residual @ np.swapaxes(residual, -1, -2)
    square = np.einsum("...kk->...k", gram)
    scale = np.sqrt(square[..., :, None] * square[..., None, :])
    nothing = scale <= np.finfo(float).tiny
    found: Floats = np.where(nothing, 0.0, (gram - noise) / np.where(nothing, 1.0, scale))
    return found
