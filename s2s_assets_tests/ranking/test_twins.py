"""The other engines and the sandwich against their plain twins on the rows."""

import math

import numpy as np
import pytest

from s2s_assets.ranking import fit_boards
from s2s_assets.ranking.ordinal import fit_ordinal
from s2s_assets.ranking.sandwich import sandwich
from s2s_assets_tests.ranking import twin
from s2s_assets_tests.ranking.cases import CONFIG_BOARD, frame_of, parts, simulated


@pytest.mark.parametrize("seed", range(3))
def test_engines_equal_their_twins(seed: int) -> None:
    rows = simulated(200, [0.9, 0.2, 0.0, -1.1], seed=seed)
    (fit,) = fit_boards(frame_of(rows), [CONFIG_BOARD])
    assert {e.entity: e.massey for e in fit.entities} == pytest.approx(twin.massey(rows), abs=1e-9)
    found = {e.entity: e.partial_margin_bt for e in fit.entities}
    assert found == pytest.approx(twin.partial_margin_bt(rows), abs=1e-5)


@pytest.mark.parametrize("ties", [True, False], ids=["all scores", "no ties, no largest"])
def test_sandwich_equals_a_loop_over_the_rows(ties: bool) -> None:
    rows = simulated(160, [0.8, 0.1, -0.9], raters=8, prompts=12, rater_sd=0.5, prompt_sd=0.5, seed=2)
    rows = rows if ties else [r for r in rows if abs(r[4]) in {1, 2}]
    _, _, (problem,) = parts(rows)
    fit = fit_ordinal(problem)
    strengths = dict(zip(problem.entities, fit.strengths.tolist(), strict=True))
    plain = twin.sandwich(rows, strengths, fit.thresholds.tolist())
    assert np.linalg.eigvalsh(plain).min() > -1e-9, "nothing is clipped here"
    found = sandwich(problem, fit)
    assert found.covariance is not None
    np.testing.assert_allclose(found.covariance, plain, atol=1e-6)
    np.testing.assert_allclose(found.se, [math.sqrt(v) for v in np.diag(plain)], rtol=1e-5)
