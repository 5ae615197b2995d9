"""A small calibration, whose bounds a wrong sandwich or bootstrap would break; and the measures on made-up studies."""

from dataclasses import replace

import numpy as np
import pytest

from s2s_assets.calibration import Design
from s2s_assets.calibration.coverage import Coverage, Observed, large_study, observe, summarise
from s2s_assets.calibration.designs import COVERAGE, judged, null

SMALL = Design("small form", entities=6, raters=30, prompts=100, ratings=3000)
REPLICATIONS = 60


@pytest.fixture(scope="module")
def small() -> Coverage:
    return summarise(SMALL, observe(SMALL, range(REPLICATIONS), resamples=150), large_study(SMALL, range(4)))


def test_the_sandwich_covers_and_its_error_is_the_true_one(small: Coverage) -> None:
    """Errors of one name in 60 studies: 1.2 % of coverage, 0.04 of the ratio; the bounds are three to four of them."""
    assert small.failed == 0
    assert small.sandwich is not None
    assert small.sandwich_ratio is not None
    assert 0.91 <= small.sandwich.value <= 0.985
    assert 0.88 <= small.sandwich_ratio.value <= 1.13
    assert small.sandwich.error < 0.02
    assert small.truth_error is not None
    assert small.truth_error < 0.12


def test_the_bootstrap_is_on_the_safe_side_and_not_far_from_it(small: Coverage) -> None:
    assert small.bootstrap is not None
    assert small.bootstrap_ratio is not None
    assert small.sandwich_width is not None
    assert small.bootstrap_width is not None
    assert small.bootstrap.value >= 0.95
    assert 1.12 <= small.bootstrap_ratio.value <= 1.6
    assert 1.08 <= small.bootstrap_width.value / small.sandwich_width.value <= 1.4


def test_one_error_rate_for_all_pairs(small: Coverage) -> None:
    """5 % of 60 is 3 studies; a pairwise interval fails in one study of five."""
    assert small.simultaneous.missed is not None
    assert small.pairwise.missed is not None
    assert small.simultaneous.missed.value <= 0.15
    assert small.pairwise.missed.value > small.simultaneous.missed.value
    assert small.simultaneous.false.value == 0
    assert small.simultaneous.found is not None
    assert small.simultaneous.found.value > 0.6


def test_a_study_does_not_depend_on_those_before_it() -> None:
    all_at_once, alone = observe(SMALL, [0, 1, 2], resamples=20), observe(SMALL, [2], resamples=20)
    np.testing.assert_array_equal(all_at_once.ends[2:], alone.ends)
    np.testing.assert_array_equal(all_at_once.differences[2:], alone.differences)


def made_up() -> tuple[Design, Observed, np.ndarray]:
    """Two names 100 Elo apart in truth, in four studies; the last has no fit."""
    design = Design("two", 2, 30, 100, 10, strengths=(-0.3, 0.3))
    elo = np.array([[950.0, 1050.0], [940, 1060], [990, 1010], [np.nan, np.nan]])
    se = np.full((4, 2, 2), 10.0)
    half = np.array([30.0, 60.0])  # sandwich, bootstrap
    ends = np.stack([elo[:, :, None] - half, elo[:, :, None] + half], axis=-1)
    between = (elo[:, 0] - elo[:, 1])[:, None, None]
    width = np.array([90.0, 30.0])  # simultaneous, pairwise
    differences = np.stack([between - width, between + width], axis=-1)
    return design, Observed(elo, se, ends, differences), np.array([[949.0, 1051.0], [951.0, 1049.0]])


def test_measures_by_hand() -> None:
    found = summarise(*made_up())
    assert found.truth == (950.0, 1050.0)
    assert (found.replications, found.failed, found.judged) == (4, 1, True)
    assert found.sandwich is not None
    assert found.bootstrap is not None
    assert found.sandwich.value == pytest.approx(2 / 3)  # all but the third, which is 40 off
    assert found.sandwich.error == pytest.approx(1 / 3)
    assert found.bootstrap.value == 1.0
    assert found.sandwich_width is not None
    assert found.sandwich_width.value == pytest.approx(60.0)
    spread = np.std([950, 940, 990], ddof=1)
    assert found.truth_error == pytest.approx(np.std([949, 951], ddof=1) / spread / np.sqrt(2))
    assert found.bootstrap_ratio is not None
    assert found.bootstrap_ratio.value == pytest.approx(10 / spread)


def test_claims_by_hand() -> None:
    found = summarise(*made_up())
    assert found.simultaneous.missed is not None
    assert found.pairwise.missed is not None
    assert found.simultaneous.missed.value == 0  # -100±90, -120±90, -20±90 hold -100
    assert found.pairwise.missed.value == 1 / 4  # -20±30 does not
    assert found.simultaneous.found is not None
    assert found.simultaneous.found.value == 2 / 4
    assert found.overlap.found is not None
    assert found.overlap.found.value == 0  # 950+60 against 1050-60
    assert [c.false.value for c in (found.simultaneous, found.pairwise, found.overlap)] == [0, 0, 0]


def test_a_claim_the_wrong_way_round_or_between_equals_is_false() -> None:
    design, observed, large = made_up()
    for other in (replace(design, strengths=(0.3, -0.3)), replace(design, strengths=(0.0, 0.0))):
        found = summarise(other, observed, large)
        assert found.simultaneous.false.value == 2 / 4
        assert (found.truth == (1000.0, 1000.0)) == null(other)
    assert found.simultaneous.found is None
    assert found.truth_error == 0.0


def test_a_study_that_cannot_be_ranked_is_counted() -> None:
    """Two ratings of six names: components, so no intervals of one table."""
    sparse = replace(SMALL, name="sparse", ratings=2)
    found = summarise(sparse, observe(sparse, range(3), resamples=5), large_study(SMALL, range(2)))
    assert found.failed == found.replications == 3
    assert found.sandwich is None
    assert found.sandwich_ratio is None
    assert found.simultaneous.false.value == 0


def test_designs_have_names_of_their_own_and_enough_of_them_are_judged() -> None:
    assert len({d.name for d in COVERAGE}) == len(COVERAGE)
    with_order = [d for d in COVERAGE if judged(d) and not null(d)]
    assert len(with_order) >= 4
    assert any(null(d) for d in COVERAGE if judged(d))
    assert {d.name for d in COVERAGE if not judged(d)} == {"10 raters", "4 prompts", "no effects"}
