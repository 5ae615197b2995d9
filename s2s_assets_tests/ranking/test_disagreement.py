"""Why a cross-check is low: close entities, or engines that disagree about pairs told apart."""

import polars as pl

from s2s_assets.ranking import cross_check_reason, disagreement, rank
from s2s_assets.ranking.diagnostic_records import OrderDifference
from s2s_assets_tests.ranking.cases import frame_of, reference_rows, simulated

CLOSE = OrderDifference("massey", "c", "b", 4.2)
FAR = OrderDifference("massey", "a", "d", 80.4)
LOW = {"massey": 0.95, "partial_margin_bt": None}
TOGETHER = {("a", "d"): (30.0, 130.8), ("b", "c"): (-40.0, 31.6)}


def test_agreement_as_expected_needs_no_reason() -> None:
    assert disagreement({"massey": 0.99, "partial_margin_bt": None}, [CLOSE, FAR], TOGETHER) is None


def test_close_entities_are_said_with_their_distance() -> None:
    said = disagreement(LOW, [CLOSE], TOGETHER)
    assert said == (
        "Spearman 0.950 (Massey), below 0.99: close entities: 1 pair turned round, within 4 Elo and not told apart"
    )


def test_pairs_told_apart_are_named_as_a_disagreement() -> None:
    also = OrderDifference("partial_margin_bt", "a", "d", 80.4)
    both = {"massey": 0.95, "partial_margin_bt": 0.9}
    said = disagreement(both, [FAR, also, CLOSE], TOGETHER, name=str.upper)
    assert said is not None
    assert "engines disagree about 1 pair told apart: A – D (80 Elo, Massey and partial-margin BT)" in said
    assert "; 1 pair besides, within 4 Elo and not told apart" in said


def test_the_side_of_a_pair_does_not_matter() -> None:
    behind = OrderDifference("massey", "d", "a", 80.4)
    assert "1 pair told apart: d – a" in str(disagreement(LOW, [behind], {("a", "d"): (-130.8, -30.0)}))


def test_engines_that_agree_enough_are_not_counted() -> None:
    also = OrderDifference("partial_margin_bt", "a", "d", 80.4)
    said = disagreement(LOW | {"partial_margin_bt": 0.995}, [also, CLOSE], TOGETHER)
    assert said is not None
    assert "1 pair turned round" in said
    assert "partial" not in said


def test_without_simultaneous_intervals_it_is_not_known() -> None:
    said = disagreement(LOW, [FAR, CLOSE], {("a", "d"): (None, None)})
    assert said is not None
    assert "2 pairs turned round, all within 80 Elo; whether any is told apart is not known" in said


def test_level_entities_turn_no_pair_round() -> None:
    assert "no pair is turned round" in str(disagreement(LOW, [], TOGETHER))


def test_close_entities_of_real_fits() -> None:
    frame = frame_of(simulated(900, [0.01 * k for k in range(12)], raters=30, prompts=60))
    result = rank(frame, resamples=0)
    (fit,), (intervals,) = result.fits, result.intervals
    said = cross_check_reason(fit, intervals)
    assert said is not None
    assert "close entities" in said
    assert result.to_json()["fits"][0]["cross_checks"]["reason"] == said


def test_one_rater_leaves_it_unknown() -> None:
    rows = simulated(900, [0.01 * k for k in range(12)], raters=30, prompts=60)
    frame = frame_of(rows).with_columns(rater=pl.lit("only"))
    reason = rank(frame, resamples=0).to_json()["fits"][0]["cross_checks"]["reason"]
    assert "there are no simultaneous intervals" in reason


def test_fits_that_agree_have_none() -> None:
    assert rank(frame_of(reference_rows("six")), resamples=0).to_json()["fits"][0]["cross_checks"]["reason"] is None
