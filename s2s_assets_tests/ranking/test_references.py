"""The fits against R: ordinal::clm (symmetric2), lm, glm and an independent ridge optimizer."""

import math
from typing import Any

import numpy as np
import pytest

from s2s_assets.ranking import BoardFit, fit_boards
from s2s_assets_tests.ranking.cases import CONFIG_BOARD, frame_of, reference_rows, references

REFS = references()
FINITE = [
    n for n in REFS if n not in {"hard_all_ties", "hard_disconnected"} and "separation" not in n and "plus3" not in n
]
WEIGHTED = [(name, k) for name, ref in REFS.items() for k in range(len(ref.get("weighted", [])))]


def fits_of(name: str, weights: dict[str, Any] | None = None) -> tuple[BoardFit, ...]:
    return fit_boards(frame_of(reference_rows(name, weights)), [CONFIG_BOARD])


def by_name(fit: BoardFit, value: str) -> dict[str, Any]:
    return {e.entity: getattr(e, value) for e in fit.entities}


def in_order(fit: BoardFit, value: str) -> np.ndarray:
    found = by_name(fit, value)
    return np.array([found[f"m{k + 1}"] for k in range(len(found))], float)


def check_finite(fit: BoardFit, ref: dict[str, Any]) -> None:
    clm = ref.get("clm_symmetric2")
    assert fit.status == "ok"
    np.testing.assert_allclose(in_order(fit, "massey"), ref["massey"]["r"], atol=1e-8)
    np.testing.assert_allclose(in_order(fit, "partial_margin_bt"), ref["bt_partial_margin"]["s"], atol=1e-8)
    if clm is None:  # binary: clm has no symmetric2 there, and the model is plain Bradley-Terry
        np.testing.assert_allclose(in_order(fit, "strength"), ref["bt_partial_margin"]["s"], atol=1e-8)
        return
    np.testing.assert_allclose(in_order(fit, "strength"), clm["s"], atol=1e-8)
    np.testing.assert_allclose(fit.thresholds, np.atleast_1d(clm["t"]), atol=1e-8)
    assert fit.log_likelihood == pytest.approx(clm["logLik"], abs=1e-8)


@pytest.mark.parametrize("name", FINITE)
def test_finite_sets_equal_r(name: str) -> None:
    (fit,) = fits_of(name)
    check_finite(fit, REFS[name])
    assert fit.ridge_lambda is None
    assert not any(e.bound for e in fit.entities)
    scores = {abs(int(s)) for s in np.atleast_1d(REFS[name]["scores_used"])}
    assert fit.merged_scores == tuple(k for k in range(4) if k not in scores)


@pytest.mark.parametrize(("name", "k"), WEIGHTED)
def test_product_weights_equal_r(name: str, k: int) -> None:
    weights = REFS[name]["weighted"][k]
    (fit,) = fits_of(name, weights)
    check_finite(fit, weights)


@pytest.mark.parametrize("name", ["hard_separation_always_plus3", "hard_single_plus3"])
def test_entity_that_only_got_plus_three_is_above_by_an_unbounded_amount(name: str) -> None:
    (fit,) = fits_of(name)
    clm = REFS[name]["clm_symmetric2"]
    assert fit.status == "separated"
    assert by_name(fit, "bound") == {f"m{k}": "above" if k == 6 else None for k in range(1, 7)}
    assert by_name(fit, "strength")["m6"] is None
    assert by_name(fit, "elo")["m6"] is None
    assert by_name(fit, "rank")["m6"] == 1
    rest = np.array(clm["s"][:5])
    np.testing.assert_allclose(in_order(fit, "strength")[:5], rest - rest.mean(), atol=1e-8)
    np.testing.assert_allclose(fit.thresholds, clm["t"], atol=1e-8)
    assert fit.log_likelihood == pytest.approx(clm["logLik"], abs=1e-8)
    assert by_name(fit, "partial_margin_bt")["m6"] is None
    assert fit.reason is not None
    assert "{m6} above {m1, m2, m3, m4, m5}" in fit.reason


@pytest.mark.parametrize("name", ["hard_separation_always_plus3", "hard_single_plus3", "hard_threshold_separation"])
def test_ridge_fallback_equals_the_reference(name: str) -> None:
    (fit,) = fits_of(name)
    want = next(r for r in REFS[name]["ridge"] if math.isclose(r["lambda"], fit.ridge_lambda or 0))
    np.testing.assert_allclose(in_order(fit, "ridge"), want["s"], atol=1e-3 if "threshold" in name else 1e-5)


def test_separation_through_the_thresholds_alone_is_found() -> None:
    (fit,) = fits_of("hard_threshold_separation")
    assert fit.status == "separated"
    assert by_name(fit, "bound") == {"m1": None, "m2": None, "m3": None, "m4": "below", "m5": "below"}
    assert fit.thresholds[0] is not None
    assert fit.thresholds[1:] == (None, None)


def test_disconnected_groups_have_a_fit_each() -> None:
    fits = fits_of("hard_disconnected")
    assert [f.status for f in fits] == ["disconnected", "disconnected"]
    assert [sorted(by_name(f, "rank")) for f in fits] == [["m1", "m2", "m3"], ["m4", "m5"]]
    assert all(f.components == (("m1", "m2", "m3"), ("m4", "m5")) for f in fits)
    assert fits[0].thresholds != fits[1].thresholds
    assert [f.fit for f in fits] == [f"{CONFIG_BOARD.fit}/0", f"{CONFIG_BOARD.fit}/1"]


def test_all_ties_are_undefined_and_say_so() -> None:
    (fit,) = fits_of("hard_all_ties")
    assert fit.status == "undefined"
    assert fit.reason
    assert set(by_name(fit, "strength").values()) == {0.0}
    assert set(by_name(fit, "rank").values()) == {1}
    assert fit.thresholds == ()
    assert fit.merged_scores == (1, 2, 3)
    assert fit.spearman_massey is None
