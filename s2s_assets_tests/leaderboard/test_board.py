"""The published rows: columns, order, rank ranges, missing values, what may not be published."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.leaderboard import BoardInputs, Facts, build_board, coverage, facts_of
from s2s_assets.leaderboard.board import headline, leaderboard_rows, pairwise_rows
from s2s_assets.leaderboard.columns import LEADERBOARD, PAIRWISE
from s2s_assets.study import ReleaseError, Study

CONTRACT_LEADERBOARD = [
    "rubric",
    "by",
    "slice_dimension",
    "slice_value",
    "variant",
    "entity",
    "display_name",
    "strength",
    "elo",
    "ci_low",
    "ci_high",
    "se_sandwich",
    "sandwich_low",
    "sandwich_high",
    "rank",
    "rank_low",
    "rank_high",
    "n_ratings",
    "n_raters",
    "n_prompts",
    "responses_ok",
    "responses_planned",
    "valid_resamples",
    "status",
    "bound",
    "ratings",
]
CONTRACT_PAIRWISE = [
    "rubric",
    "by",
    "slice_dimension",
    "slice_value",
    "variant",
    "a",
    "b",
    "n",
    "mean_score",
    "difference",
    "ci_low",
    "ci_high",
]

Make = Callable[..., BoardInputs]


def with_entities(inputs: BoardInputs, table: str, **changes: Any) -> BoardInputs:
    """The inputs with fields of the first fit's first entity replaced."""
    frame: pl.DataFrame = getattr(inputs, table)
    rows = frame.to_dicts()
    rows[0]["entities"][0] |= changes
    return dataclasses.replace(inputs, **{table: pl.DataFrame(rows, schema=frame.schema)})


def rows_of(inputs: BoardInputs) -> pl.DataFrame:
    return leaderboard_rows(inputs.facts, inputs.fits, inputs.cis, inputs.coverage)


def test_columns_are_the_contracts(full: Make) -> None:
    inputs = full()
    added = ["letters", "delta", "delta_low", "delta_high"]
    assert rows_of(inputs).columns == ["fit", *CONTRACT_LEADERBOARD, *added] == ["fit", *(c.name for c in LEADERBOARD)]
    pairs = pairwise_rows(inputs.facts, inputs.fits, inputs.cis)
    added = ["simultaneous_low", "simultaneous_high", "expected_score", "misfit"]
    assert pairs.columns == ["fit", *CONTRACT_PAIRWISE, *added] == ["fit", *(c.name for c in PAIRWISE)]


def test_first_rows_are_the_headline_by_rank(full: Make) -> None:
    rows = rows_of(full())
    lead = headline(rows, "all")
    assert rows.head(lead.height).equals(lead)
    assert lead["by"].unique().to_list() == ["model"]
    assert lead["rank"].to_list() == sorted(lead["rank"])


def test_order_does_not_depend_on_the_order_of_the_fits(full: Make) -> None:
    inputs = full()
    shuffled = dataclasses.replace(inputs, fits=inputs.fits.reverse(), cis=inputs.cis.sample(fraction=1, shuffle=True))
    assert rows_of(inputs).equals(rows_of(shuffled))


def test_headline_takes_the_studys_variant(full: Make) -> None:
    rows = rows_of(full())
    assert headline(rows, "cleaned")["variant"].unique().to_list() == ["cleaned"]
    assert headline(rows, "baseline")["variant"].unique().to_list() == ["all"]


def test_headline_without_a_board_by_model_or_of_the_whole(foreign: Make) -> None:
    assert headline(rows_of(foreign(["a", "b"])), "all")["by"].unique().to_list() == ["config"]
    sliced = rows_of(foreign(["a", "b"], rubric="clarity", dimension="level", value="L2"))
    assert headline(sliced, "all").height == 2


@given(rank=st.integers(1, 9), low=st.integers(1, 9), high=st.integers(1, 9))
def test_rank_range_always_holds_the_rank(rank: int, low: int, high: int) -> None:
    fits = pl.DataFrame([{"fit": "f", **_keys(), "status": "ok", "entities": [_point(rank=rank)]}])
    cis = pl.DataFrame([{"fit": "f", "entities": [_spread(rank_low=low, rank_high=high)]}])
    row = leaderboard_rows(Facts("t"), fits, cis).row(0, named=True)
    assert row["rank_low"] <= row["rank"] <= row["rank_high"]
    assert row["rank_low"] == min(low, rank)
    assert row["rank_high"] == max(high, rank)


def test_without_resamples_there_is_no_interval_and_no_rank_range(foreign: Make) -> None:
    inputs = with_entities(foreign(["a", "b"]), "cis", ci_low=None, ci_high=None, rank_low=None, rank_high=None)
    row = next(r for r in rows_of(inputs).iter_rows(named=True) if r["entity"] == "a")
    assert [row[k] for k in ("ci_low", "ci_high", "rank_low", "rank_high")] == [None] * 4
    assert row["sandwich_low"] is not None


def test_a_fit_without_intervals_is_still_a_board(foreign: Make) -> None:
    inputs = foreign(["a", "b"])
    row = rows_of(dataclasses.replace(inputs, cis=inputs.cis.clear())).row(0, named=True)
    assert row["elo"] is not None
    assert row["ci_low"] is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_nothing_that_is_not_a_number_is_published(foreign: Make, bad: float) -> None:
    inputs = with_entities(foreign(["a", "b"]), "cis", ci_low=bad, se_sandwich=bad)
    rows = rows_of(inputs)
    assert rows.filter(pl.col("entity") == "a")["ci_low"].to_list() == [None]
    reals = rows.select(pl.col(pl.Float64))
    assert all(v is None or math.isfinite(v) for column in reals for v in column)


def test_unbounded_strength_keeps_its_bound(foreign: Make) -> None:
    inputs = with_entities(foreign(["a", "b"]), "fits", strength=None, elo=None, bound="above")
    row = rows_of(inputs).filter(pl.col("entity") == "a").row(0, named=True)
    assert (row["elo"], row["bound"]) == (None, "above")


def test_twins_share_their_rank(foreign: Make) -> None:
    rows = rows_of(foreign(["zeta", "alpha", "mid"], strengths=[0.2, 0.2, -0.4]))
    assert rows.select("entity", "rank").rows() == [("alpha", 1), ("zeta", 1), ("mid", 3)]


def test_coverage_is_summed_over_the_configs_of_an_entity(full: Make) -> None:
    rows = rows_of(full())
    whole = rows.filter(
        (pl.col("rubric") == "overall") & (pl.col("slice_dimension") == "all") & (pl.col("variant") == "all")
    )
    found = {(r["by"], r["entity"]): (r["responses_ok"], r["responses_planned"]) for r in whole.iter_rows(named=True)}
    assert found["model", "bolt"] == (44, 48)
    assert found["config", "bolt|f1|low"] == (11, 12)
    assert found["family", "Delta"] == (72, 72)
    assert found["voice", "bolt|m1"] == (22, 24)
    far = rows.filter((pl.col("slice_value") == "far_field") & (pl.col("entity") == "bolt")).row(0, named=True)
    assert (far["responses_ok"], far["responses_planned"]) == (8, 8)


def test_a_config_that_never_answered_counts_as_planned() -> None:
    prompts = pl.DataFrame(
        {"prompt": ["p1", "p2"], "category": ["c", "c"], "level": ["L1", "L1"], "acoustic": ["clean"] * 2}
    )
    answered = pl.DataFrame({"config": ["m|v|none"], "prompt": ["p1"], "status": ["ok"]})
    table = coverage(["m|v|none", "m|w|none"], answered, prompts).filter(pl.col("slice_dimension") == "all")
    assert table.select("config", "responses_ok", "responses_planned").rows() == [
        ("m|v|none", 1, 2),
        ("m|w|none", 0, 2),
    ]


@pytest.mark.parametrize(("column", "value"), [("rubric", "secret"), ("slice_value", "secret"), ("by", "prompt")])
def test_what_is_not_of_the_study_is_not_published(full: Make, column: str, value: str) -> None:
    inputs = full()
    odd = inputs.fits.with_columns(pl.lit(value).alias(column)).head(1).with_columns(slice_dimension=pl.lit("category"))
    with pytest.raises(ReleaseError, match=value):
        rows_of(dataclasses.replace(inputs, fits=odd))


def test_an_unknown_entity_is_not_published(full: Make) -> None:
    with pytest.raises(ReleaseError, match="config 'what is my pin'"):
        build_board(with_entities(full(), "fits", entity="what is my pin"))


def test_names_are_the_studys(study: Study) -> None:
    facts = facts_of(study)
    assert facts.name("config", "aria|f1|high") == "Aria · f1 · high"
    assert facts.name("config", "delta|f1|none") == "Delta · f1"
    assert facts.name("model", "delta") == "Delta"
    assert facts.name("model", "not of the study") == "not of the study"


def test_a_family_is_retired_with_its_last_model(study: Study) -> None:
    gone = [m.model_copy(update={"retired": "2026-01-01"}) if m.id in ("aria", "delta") else m for m in study.models]
    retired = facts_of(study.model_copy(update={"models": tuple(gone)})).retired
    assert retired == {"aria", "Aria", "delta"}


def test_an_empty_board_is_refused(foreign: Make) -> None:
    inputs = foreign(["a", "b"])
    with pytest.raises(ReleaseError, match="empty"):
        build_board(dataclasses.replace(inputs, fits=inputs.fits.clear(), cis=inputs.cis.clear()))


def _keys() -> dict[str, str]:
    return {"rubric": "overall", "by": "config", "slice_dimension": "all", "slice_value": "all", "variant": "all"}


def _point(**more: Any) -> dict[str, Any]:
    counts = {"n_ratings": 3, "n_raters": 2, "n_prompts": 2}
    return {"entity": "a", "strength": 0.0, "elo": 1000.0, "rank": 1, "bound": None, **counts, **more}


def _spread(**more: Any) -> dict[str, Any]:
    ends = dict.fromkeys(("ci_low", "ci_high", "se_sandwich", "sandwich_low", "sandwich_high"), 1.0)
    beside = dict.fromkeys(("letters", "delta", "delta_low", "delta_high"))
    return {"entity": "a", **ends, "rank_low": 1, "rank_high": 1, "valid_resamples": 9, "bound": None, **beside, **more}
