"""`rank`: the document, against a stored one and against the rules of the file."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from s2s_assets.ranking import METHOD_VERSION, rank
from s2s_assets.study import InputError
from s2s_assets_tests.ranking.cases import frame_of, reference_rows, simulated

GOLDEN = Path(__file__).parents[1] / "data" / "rank_six.json"
FIT_KEYS = {
    *("rubric", "by", "slice", "status", "reason", "n_ratings", "n_raters", "n_prompts", "n_within", "thresholds"),
    *("merged_scores", "log_likelihood", "components", "ridge", "entities", "pairs", "cross_checks"),
    *("within_model", "diagnostics"),
}
ENTITY_KEYS = {
    *("entity", "strength", "elo", "ci_low", "ci_high", "se_sandwich", "sandwich_low", "sandwich_high", "rank"),
    *("rank_low", "rank_high", "n_ratings", "n_raters", "n_prompts", "valid_resamples", "bound"),
    *("letters", "delta", "delta_low", "delta_high"),
}
PAIR_KEYS = {
    *("a", "b", "n", "mean_score", "difference", "ci_low", "ci_high"),
    *("simultaneous_low", "simultaneous_high", "expected_score", "misfit"),
}


def rounded(value: Any) -> Any:
    """Floats to eight decimals: what every machine agrees on."""
    if isinstance(value, float):
        return round(value, 8) + 0.0
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return [rounded(v) for v in value] if isinstance(value, list) else value


def document(name: str, **options: Any) -> dict[str, Any]:
    return rank(frame_of(reference_rows(name)), **options).to_json()


def test_document_is_the_stored_one() -> None:
    """Numbers for a fixed seed never change without a new METHOD_VERSION; write the file anew then."""
    found = rounded(document("six", resamples=200, seed=7))
    assert found == json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("name", ["six", "hard_single_plus3", "hard_disconnected", "hard_all_ties", "hard_only_pm3"])
def test_documents_have_every_key_and_no_nan(name: str) -> None:
    found = document(name, resamples=30)
    json.dumps(found, allow_nan=False)
    assert list(found) == ["method_version", "seed", "resamples", "input", "fits", "slicing"]
    assert found["method_version"] == METHOD_VERSION
    for fit in found["fits"]:
        assert set(fit) == FIT_KEYS
        assert [e["rank"] for e in fit["entities"]] == sorted(e["rank"] for e in fit["entities"])
        for e in fit["entities"]:
            assert set(e) == ENTITY_KEYS
            assert e["rank_low"] <= e["rank"] <= e["rank_high"]
        assert set(fit["pairs"][0]) == PAIR_KEYS
        assert set(fit["cross_checks"]) == {"massey", "partial_margin_bt", "spearman", "spearman_intervals", "reason"}


def test_ridge_is_given_only_where_it_is_needed() -> None:
    assert document("six", resamples=0)["fits"][0]["ridge"] is None
    ridge = document("hard_single_plus3", resamples=0)["fits"][0]["ridge"]
    assert ridge["lambda"] == 0.1
    assert set(ridge["strengths"]) == {f"m{k}" for k in range(1, 7)}


def test_rubrics_are_ranked_apart_overall_first() -> None:
    rows = simulated(400, [0.5, 0.0, -0.5])
    frame = pl.concat([frame_of(rows[:200], "clarity"), frame_of(rows[200:])])
    found = rank(frame, resamples=0).to_json()["fits"]
    assert [f["rubric"] for f in found] == ["overall", "clarity"]
    assert [f["rubric"] for f in rank(frame, rubrics=["clarity"], resamples=0).to_json()["fits"]] == ["clarity"]
    with pytest.raises(InputError, match=r"rubric warmth: no such rubric .* clarity, overall"):
        rank(frame, rubrics=["warmth"])


def test_the_choice_of_rubrics_leaves_the_draws_alone() -> None:
    rows = simulated(600, [0.5, 0.0, -0.5])
    frame = pl.concat([frame_of(rows[:200], "clarity"), frame_of(rows[200:])])
    both, one = rank(frame, resamples=50).to_json(), rank(frame, rubrics=["clarity"], resamples=50).to_json()
    assert both["fits"][1] == one["fits"][0]


def test_slices_are_one_fit_a_value() -> None:
    rows = simulated(400, [0.5, 0.0, -0.5])
    frame = frame_of(rows).with_columns(level=pl.Series(["L2" if k % 2 else "L1" for k in range(400)]))
    found = rank(frame, slice="level", resamples=0).to_json()["fits"]
    assert [f["slice"] for f in found] == [{"dimension": "level", "value": v} for v in ("L1", "L2")]
    with pytest.raises(InputError, match="no column 'acoustic'"):
        rank(frame, slice="acoustic")


def test_a_frame_without_rubrics_is_overall() -> None:
    frame = frame_of(simulated(100, [0.5, 0.0, -0.5])).drop("rubric")
    assert rank(frame, resamples=0).to_json()["fits"][0]["rubric"] == "overall"


def test_wrong_frames_are_refused() -> None:
    frame = frame_of(simulated(100, [0.5, 0.0, -0.5]))
    with pytest.raises(InputError, match="lack the column score"):
        rank(frame.drop("score"))
    for wrong in (pl.lit(4), pl.lit(0.5), pl.lit(None)):
        with pytest.raises(InputError, match="an integer from -3 to 3"):
            rank(frame.with_columns(score=wrong))
    with pytest.raises(InputError, match="expected a rater"):
        rank(frame.with_columns(rater=pl.lit(None)))
    for none in (frame.clear(), frame.with_columns(excluded_by=pl.lit("someone"))):
        with pytest.raises(InputError, match="no ratings to rank"):
            rank(none)
    with pytest.raises(InputError, match="ratings without a rubric"):
        rank(frame.with_columns(rubric=pl.when(pl.int_range(pl.len()) > 0).then(pl.lit("warmth"))))
    with pytest.raises(InputError, match="resamples: -1"):
        rank(frame, resamples=-1)


def test_names_may_be_numbers() -> None:
    rows = simulated(100, [0.5, 0.0, -0.5])
    named = rank(frame_of(rows), resamples=10).to_json()["fits"][0]
    digits = pl.col("rater", "prompt").str.slice(1).cast(pl.Int64)
    numbered = rank(frame_of(rows).with_columns(digits), resamples=0).to_json()["fits"][0]
    assert [e["strength"] for e in numbered["entities"]] == [e["strength"] for e in named["entities"]]


def test_importing_the_ranking_does_not_import_dagster() -> None:
    code = "import s2s_assets.ranking, sys; sys.exit('dagster' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
