"""Slices by any attribute: of the row, or what both answers share."""

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest

from s2s_assets.ranking import fit_boards, rank, slice_values, sliceable, standard_boards
from s2s_assets.ranking.attributes import Kinds, attribute_values, with_attribute
from s2s_assets.study import Board, ConfigKeyError, InputError, Study
from s2s_assets_tests.ranking.cases import CONFIG_BOARD, frame_of, simulated

KEYS = [f"{m}|{v}|{t}" for m in ("aria", "bolt", "coda") for v in ("f1", "m1") for t in ("low", "high")]
VOICES = {f"{m}|{v}": {"f1": "female", "m1": "male"}[v] for m in ("aria", "bolt", "coda") for v in ("f1", "m1")}
FAMILIES = {"aria": "A", "bolt": "A", "coda": "C"}


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Ratings of 12 configs: `aria` is ahead with the voice f1 and behind with m1."""
    strengths = [{"aria": 0.9, "bolt": 0.0, "coda": -0.3}[k.split("|")[0]] * (1 if "|f1|" in k else -1) for k in KEYS]
    rows = [(r, p, KEYS[int(a[1:])], KEYS[int(b[1:])], y) for r, p, a, b, y in simulated(3000, strengths)]
    bands = ["18-29", "30-49", ""]
    return frame_of(rows).with_columns(age_band=pl.Series([bands[k % 3] for k in range(3000)]))


def fits_of(frame: pl.DataFrame, name: str, **options: Any) -> dict[str, dict[str, Any]]:
    found = rank(frame, slice=name, resamples=0, **options).to_json()
    return {f["slice"]["value"]: f for f in found["fits"]}


def test_a_slice_by_a_column_is_a_fit_of_its_rows(frame: pl.DataFrame) -> None:
    found = fits_of(frame, "age_band", by="model")
    assert list(found) == ["18-29", "30-49"]
    alone = rank(frame.filter(pl.col("age_band") == "30-49"), by="model", resamples=0).to_json()["fits"][0]
    assert found["30-49"]["log_likelihood"] == alone["log_likelihood"]
    assert [e["strength"] for e in found["30-49"]["entities"]] == [e["strength"] for e in alone["entities"]]
    assert rank(frame, slice="age_band", resamples=0).to_json()["slicing"]["n_outside"] == 1000


@pytest.mark.parametrize(("name", "part"), [("voice", 1), ("thinking", 2)])
def test_a_slice_by_what_answers_share_holds_the_ratings_of_both(frame: pl.DataFrame, name: str, part: int) -> None:
    found = rank(frame, slice=name, by="model", resamples=0)
    sides = [pl.col(c).str.split("|").list.get(part) for c in ("config_a", "config_b")]
    for fit in found.fits:
        both = frame.filter((sides[0] == fit.spec.slice_value) & (sides[1] == fit.spec.slice_value))
        (alone,) = rank(both, by="model", resamples=0).fits
        assert (fit.entities, fit.n_ratings, fit.n_within) == (alone.entities, alone.n_ratings, alone.n_within)
    assert found.slicing is not None
    assert found.slicing.shared
    assert found.slicing.n_outside == frame.filter(sides[0] != sides[1]).height > 0


def test_voices_are_told_by_their_kind_where_it_is_given(frame: pl.DataFrame) -> None:
    renamed = frame.with_columns(pl.col("config_a", "config_b").str.replace(r"^bolt\|f1", "bolt|clara"))
    by_name = fits_of(renamed, "voice", by="model")
    assert sorted(e["entity"] for e in by_name["f1"]["entities"]) == ["aria", "coda"]
    kinds = VOICES | {"bolt|clara": "female"}
    assert fits_of(renamed, "voice", by="model", voices=kinds)["female"]["n_ratings"] > by_name["f1"]["n_ratings"]
    with pytest.raises(InputError, match=r"voice 'bolt\|clara' has no kind"):
        rank(renamed, slice="voice", voices=VOICES)


def test_families_are_slices_of_their_own_models(frame: pl.DataFrame) -> None:
    found = rank(frame, slice="family", by="model", families=FAMILIES, resamples=0)
    assert [sorted(e.entity for e in fit.entities) for fit in found.fits] == [["aria", "bolt"]]
    assert found.slicing is not None
    reasons = {s.value: s.reason for s in found.slicing.slices}
    assert reasons == {"A": None, "C": "not ranked: each of its ratings compares one model with itself"}
    with pytest.raises(InputError, match="model 'aria' has no family"):
        rank(frame, slice="family", by="model")


def test_a_column_of_the_name_goes_before_the_keys(frame: pl.DataFrame) -> None:
    told = rank(frame.with_columns(voice=pl.lit("slow")), slice="voice", resamples=0)
    assert [fit.spec.slice_value for fit in told.fits] == ["slow"]
    assert told.slicing is not None
    assert (told.slicing.shared, told.slicing.n_outside) == (False, 0)


def test_names_that_are_no_keys_share_nothing() -> None:
    with pytest.raises(ConfigKeyError, match="'m0'"):
        rank(frame_of(simulated(50, [0.5, -0.5])), slice="voice")


def test_every_rating_is_in_one_slice_or_counted_outside(frame: pl.DataFrame) -> None:
    two = pl.concat([frame, frame.head(700).with_columns(rubric=pl.lit("clarity"))])
    for name in ("age_band", "voice", "thinking", "rubric_note"):
        found = rank(two.with_columns(rubric_note=pl.lit(None)), slice=name, by="model", resamples=0).slicing
        assert found is not None
        assert sum(s.n_ratings for s in found.slices) + found.n_outside == two.height
    alone = rank(two, slice="voice", by="model", resamples=0, rubrics=["clarity"]).slicing
    assert alone is not None
    assert sum(s.n_ratings for s in alone.slices) + alone.n_outside == 700


def test_small_slices_are_ranked_as_preliminary(frame: pl.DataFrame) -> None:
    level = pl.Series(["L1"] * 20 + ["L2"] * 200 + ["L3"] * 2780)
    few = frame.with_columns(level=level, rater=pl.when(level == "L2").then(pl.lit("only")).otherwise("rater"))
    found = rank(few, slice="level", by="model", resamples=0).to_json()
    reasons = {s["value"]: s["reason"] for s in found["slicing"]["slices"]}
    assert reasons["L1"] is not None
    assert "ratings by" in reasons["L1"]
    assert "by 1 rater, where a slice needs 30 by 3" in str(reasons["L2"])
    assert reasons["L3"] is None
    assert reasons["L1"] in {f["slice"]["value"]: f["reason"] for f in found["fits"]}["L1"]


def test_slices_of_voices_are_compared_with_the_whole_and_with_one_another(frame: pl.DataFrame) -> None:
    found = rank(frame, slice="voice", by="model", resamples=80)
    tests = [i.diagnostics.slice_test for i in found.intervals if i.diagnostics]
    assert len(tests) == 2
    assert tests[0] == tests[1]
    assert tests[0] is not None
    assert tests[0].p < 0.001
    for fit, sign in zip(found.fits, (1, -1), strict=True):
        delta = {e.entity: e for e in next(i for i in found.intervals if i.fit == fit.fit).entities}["aria"]
        assert delta.delta_low is not None
        assert delta.delta_high is not None
        assert sign * (delta.delta or 0) > 0
        assert sign * (delta.delta_low if sign > 0 else delta.delta_high) > 0


@pytest.mark.parametrize(
    ("name", "column", "message"),
    [
        ("rater", None, "says what a rating is"),
        ("excluded_by", None, "says what a rating is"),
        ("all", pl.lit("x"), "rename the column"),
        ("left", pl.lit("x"), "rename the column"),
        ("colour", None, r"no column 'colour' to slice by; they have age_band, voice, thinking, family"),
        ("age", pl.int_range(pl.len()), "3,000 values look like ids or numbers"),
        ("tags", pl.concat_list(pl.lit("x")), "expected texts or numbers"),
    ],
)
def test_what_is_no_attribute_is_refused(frame: pl.DataFrame, name: str, column: Any, message: str) -> None:
    given = frame if column is None else frame.with_columns(column.alias(name))
    with pytest.raises(InputError, match=message):
        rank(given, slice=name)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10, 9, None, 2], ("2", "9", "10")),
        (["10", " 9", "", "  ", None], ("9", "10")),
        (["b", "10", "a"], ("10", "a", "b")),
        ([True, False, None], ("false", "true")),
        ([1.5, float("nan"), 0.5], ("0.5", "1.5", "NaN")),
        ([dt.date(2026, 7, 2), dt.date(2026, 7, 1)], ("2026-07-01", "2026-07-02")),
        ([None, None], ()),
    ],
)
def test_values_are_texts_in_a_sensible_order(values: list[Any], expected: tuple[str, ...]) -> None:
    frame = pl.DataFrame({"config_a": ["x"] * len(values), "config_b": ["y"] * len(values), "wave": values})
    assert attribute_values(with_attribute(frame, "wave", Kinds({})), "wave") == expected


def study(boards: tuple[Board, ...]) -> Study:
    voices = [{"id": "f1", "gender": "female"}, {"id": "m1", "gender": "male"}, {"id": "x1"}]
    models = [
        {
            "id": m,
            "name": m,
            "family": f,
            "provider": "p",
            "adapter": "a",
            "voices": voices,
            "thinking": ["low", "high"],
        }
        for m, f in FAMILIES.items()
    ]
    rubrics = [{"id": "overall", "group": "g", "question": "Which?"}]
    return Study.model_validate({"study": "s", "title": "S", "models": models, "rubrics": rubrics, "boards": boards})


def test_a_studys_own_boards_are_sliced_by_what_answers_share(frame: pl.DataFrame) -> None:
    own = study((Board(slice="voice"), Board(slice="family"), Board(by="config", slice="thinking")))
    marked = pl.Series([None, "someone"] * 1500)
    ratings = sliceable(frame.with_columns(excluded_by=marked), own)
    assert ratings.height == 1500
    values = slice_values(ratings)
    assert values == {"voice": ("female", "male"), "thinking": ("high", "low"), "family": ("A", "C")}
    specs = [s for s in standard_boards(["overall"], values, own.boards) if s.slice_dimension != "all"]
    assert [(s.by, s.slice_dimension, s.slice_value) for s in specs] == [
        *(("model", "voice", v) for v in ("female", "male")),
        *(("model", "family", v) for v in ("A", "C")),
        *(("config", "thinking", v) for v in ("high", "low")),
    ]
    fits = fit_boards(ratings, specs, own.families)
    assert {f.spec.slice_value for f in fits} == {"female", "male", "A", "high", "low"}


def test_a_studys_voices_of_no_gender_are_in_no_slice(frame: pl.DataFrame) -> None:
    unspecified = frame.with_columns(
        pl.col("config_a", "config_b").str.replace("|f1|", "|x1|", literal=True), excluded_by=pl.lit(None, pl.String)
    )
    assert slice_values(sliceable(unspecified, study((Board(slice="voice"),))))["voice"] == ("male",)


def test_slicing_leaves_the_draws_alone(frame: pl.DataFrame) -> None:
    """A voice's slice has the resamples that a file with the voice as a column has."""
    column = frame.with_columns(
        pl.when(
            pl.col("config_a").str.contains("|f1|", literal=True)
            == pl.col("config_b").str.contains("|f1|", literal=True)
        )
        .then(pl.when(pl.col("config_a").str.contains("|f1|", literal=True)).then(pl.lit("f1")).otherwise(pl.lit("m1")))
        .alias("kind")
    )
    shared, told = rank(frame, slice="voice", resamples=20), rank(column, slice="kind", resamples=20)
    for left, right in zip(shared.intervals, told.intervals, strict=True):
        np.testing.assert_array_equal(left.draws, right.draws)
    assert CONFIG_BOARD not in {fit.spec for fit in shared.fits}
