"""What the stated uncertainty is worth, by simulation with a known truth: raters and prompts as crossed clusters."""

import numpy as np
import pytest

from s2s_assets.ranking import ELO_PER_STRENGTH, bootstrap_boards, fit_boards
from s2s_assets_tests.ranking.cases import CONFIG_BOARD, frame_of, simulated

REPLICATIONS = 80


@pytest.fixture(scope="module")
def studies() -> dict[str, np.ndarray]:
    """By replication: estimates (R, E) of strengths, and their standard errors by sandwich and bootstrap."""
    found: dict[str, list[list[float]]] = {"estimate": [], "sandwich": [], "bootstrap": []}
    for k in range(REPLICATIONS):
        rows = simulated(
            2000, [0.6, 0.2, -0.2, -0.6], raters=30, prompts=60, rater_sd=0.4, prompt_sd=0.5, seed=1000 + k
        )
        frame = frame_of(rows)
        fits = fit_boards(frame, [CONFIG_BOARD])
        (intervals,) = bootstrap_boards(frame, fits, resamples=60, seed=k)
        by_name = sorted(
            zip(fits[0].entities, intervals.entities, intervals.draws, strict=True), key=lambda x: x[0].entity
        )
        found["estimate"].append([e.strength or 0.0 for e, _, _ in by_name])
        found["sandwich"].append([(i.se_sandwich or 0.0) / ELO_PER_STRENGTH for _, i, _ in by_name])
        found["bootstrap"].append([float(np.nanstd(draws)) for *_, draws in by_name])
    return {name: np.array(values) for name, values in found.items()}


def test_sandwich_equals_the_spread_of_the_estimates(studies: dict[str, np.ndarray]) -> None:
    truth = studies["estimate"].std(axis=0, ddof=1)
    ratio = np.sqrt((studies["sandwich"] ** 2).mean(axis=0)) / truth
    assert 0.85 < ratio.mean() < 1.15  # the mean ratio has a Monte-Carlo error of about 0.05


def test_product_weights_are_mildly_conservative(studies: dict[str, np.ndarray]) -> None:
    truth = studies["estimate"].std(axis=0, ddof=1)
    ratio = np.sqrt((studies["bootstrap"] ** 2).mean(axis=0)) / truth
    assert 1.05 < ratio.mean() < 1.75


def test_sandwich_intervals_cover(studies: dict[str, np.ndarray]) -> None:
    """Of the strengths that a large study finds; the latent scale is attenuated by effects that are not modelled."""
    large = simulated(150_000, [0.6, 0.2, -0.2, -0.6], raters=3000, prompts=3000, rater_sd=0.4, prompt_sd=0.5, seed=7)
    (fit,) = fit_boards(frame_of(large), [CONFIG_BOARD])
    pseudo_true = np.array([e.strength for e in sorted(fit.entities, key=lambda e: e.entity)], float)
    off = np.abs(studies["estimate"] - pseudo_true) / studies["sandwich"]
    assert 0.90 < (off < 2.045).mean() <= 0.99  # t quantile for 29 degrees; error about 0.015
