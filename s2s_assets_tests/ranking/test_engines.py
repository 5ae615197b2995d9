"""Resampled cross-checks against a fit of each resample by itself, and the interval of their agreement."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from s2s_assets.ranking import BoardFit, bootstrap_boards, fit_boards
from s2s_assets.ranking.crosschecks import rank_correlations
from s2s_assets.ranking.draws import Draws, draw
from s2s_assets.ranking.engines import engine_refits
from s2s_assets.ranking.kernel import Counter
from s2s_assets_tests.ranking.cases import CONFIG_BOARD, Row, frame_of, parts, reference_rows, simulated


def repeated(rows: list[Row], draws: Draws, b: int) -> BoardFit:
    """Resample b as rows with a fit of its own: its largest component."""
    raters, prompts = sorted({r[0] for r in rows}), sorted({r[1] for r in rows})
    times = [draws.raters[raters.index(r[0]), b] * draws.prompts[prompts.index(r[1]), b] for r in rows]
    fits = fit_boards(frame_of([row for row, n in zip(rows, times, strict=True) for _ in range(n)]), [CONFIG_BOARD])
    return max(fits, key=lambda f: (len(f.entities), f.n_ratings))


@pytest.mark.parametrize("name", ["six", "sparse8", "hard_unused_pm2"])
@pytest.mark.parametrize("engine", ["massey", "partial_margin_bt"])
def test_engines_equal_fits_of_each_resample(name: str, engine: str) -> None:
    rows = reference_rows(name)
    coded, selection, (problem,) = parts(rows)
    draws = draw(len(coded.raters), len(coded.prompts), 25, seed=0)
    counts = problem.folded(Counter.of(selection, draws).count(slice(0, 25)))
    found = engine_refits(problem)[engine](counts)
    for b in range(25):
        expected = {e.entity: getattr(e, engine) for e in repeated(rows, draws, b).entities}
        expected = {e: value for e, value in expected.items() if value is not None}
        values = dict(zip(problem.entities, found[:, b].tolist(), strict=True))
        assert {e for e, value in values.items() if np.isfinite(value)} == set(expected)
        own = np.array([values[e] for e in expected])
        np.testing.assert_allclose(
            own - own.mean(), list(expected.values()) - np.mean(list(expected.values())), atol=1e-8
        )
    np.testing.assert_array_equal(found[:, [3]], engine_refits(problem)[engine](counts[:, :, [3]]))


def test_agreement_holds_the_middle_of_the_resamples() -> None:
    rows = simulated(900, [0.3, 0.1, 0.0, -0.1, -0.3], rater_sd=0.3, prompt_sd=0.4)
    frame = frame_of(rows)
    (fit,) = fit_boards(frame, [CONFIG_BOARD])
    (found,) = bootstrap_boards(frame, [fit], resamples=60, engines=True)
    (without,) = bootstrap_boards(frame, [fit], resamples=60)
    np.testing.assert_array_equal(found.draws, without.draws)
    assert without.agreement == ()
    draws = draw(20, 40, 60, seed=0)
    each = [[getattr(repeated(rows, draws, b), f"spearman_{a.engine}") for b in range(60)] for a in found.agreement]
    for agreement, correlations in zip(found.agreement, each, strict=True):
        assert agreement.valid_resamples == 60
        ends = np.quantile(correlations, [0.025, 0.975])
        np.testing.assert_allclose([agreement.spearman_low, agreement.spearman_high], ends, atol=1e-9)


def test_rank_correlations_are_spearmans_over_what_both_have() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 5, (2, 8, 30)).astype(float)
    x[0, :10], y[1, 5:15], x[2, 20] = np.nan, np.inf, -np.inf
    x[:, 29] = 1.0
    for b, value in enumerate(rank_correlations(x, y)[:29]):
        both = np.isfinite(x[:, b]) & np.isfinite(y[:, b])
        assert value == pytest.approx(spearmanr(x[both, b], y[both, b]).statistic)
    assert np.isnan(rank_correlations(x, y)[29])
