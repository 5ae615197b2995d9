"""Simulated studies: their shape, what is planted in them, and their seeds."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from s2s_assets.calibration import Design, population, simulate
from s2s_assets.calibration.simulate import _logistic
from s2s_assets.ranking import FitSpec, fit_boards, rank
from s2s_assets.study import InputError

SMALL = Design("small", entities=5, raters=12, prompts=30, ratings=1000)
RUBRICS = ("p", "q", "r", "s")


def loads(frame: pl.DataFrame, column: str) -> list[int]:
    return sorted(frame.group_by(column).len()["len"].to_list())


def test_loads_and_pairs_are_even() -> None:
    frame = simulate(SMALL)
    assert frame.columns == ["prompt", "rater", "rubric", "config_a", "config_b", "score"]
    assert frame.height == 1000
    assert set(loads(frame, "rater")) == {83, 84}
    assert set(loads(frame, "prompt")) == {33, 34}
    pair = pl.concat_list("config_a", "config_b").list.sort().list.join(" ")
    assert loads(frame.with_columns(pair=pair), "pair") == [100] * 10
    first = (frame["config_a"] < frame["config_b"]).mean()
    assert 0.4 < first < 0.6
    assert set(frame["score"].unique()) == set(range(-3, 4))
    assert sorted(frame["config_a"].unique()) == list(SMALL.entity_names)


def test_uneven_raters_and_units_of_several_pairs() -> None:
    uneven = loads(simulate(replace(SMALL, load_sd=1.0)), "rater")
    assert uneven[-1] > 3 * uneven[len(uneven) // 2]
    units = simulate(replace(SMALL, pairs_per_unit=4))
    runs = units.select(pl.struct("rater", "prompt").rle_id()).to_series()
    assert runs.n_unique() <= 250
    assert set(loads(units, "rater")) <= set(range(80, 89))


def test_the_same_names_give_the_same_study_and_others_another() -> None:
    one = simulate(SMALL, "study", 3)
    assert one.equals(simulate(SMALL, "study", 3))
    for other in (simulate(SMALL, "study", 4), simulate(replace(SMALL, name="other"), "study", 3)):
        assert not one.equals(other)


def test_what_rows_are_called_does_not_matter() -> None:
    """Rows in another order, raters and prompts under other names: the same strengths."""
    frame = simulate(SMALL, 1)
    renamed = frame.with_columns(pl.col("rater").str.reverse(), pl.lit("x").add(pl.col("prompt")).alias("prompt"))
    fits = [fit_boards(f, [FitSpec(by="config")])[0] for f in (frame, renamed.sample(fraction=1, shuffle=True, seed=1))]
    assert [e.entity for e in fits[0].entities] == [e.entity for e in fits[1].entities]
    assert [e.strength for e in fits[0].entities] == pytest.approx([e.strength for e in fits[1].entities])


def test_planted_strengths_and_thresholds_are_found_where_there_are_no_effects() -> None:
    design = Design("exact", 4, 50, 50, 60_000, rater_sd=0.0, prompt_sd=0.0, strengths=(1.0, -0.5, 0.3, 0.2))
    (fit,) = rank(simulate(design), resamples=0).fits
    found = {e.entity: e.strength for e in fit.entities}
    assert [found[name] for name in design.entity_names] == pytest.approx(design.planted.tolist(), abs=0.04)
    assert fit.thresholds == pytest.approx(design.thresholds, abs=0.05)


def test_entities_ascend_and_effects_narrow_the_scale() -> None:
    design = replace(SMALL, ratings=20_000, raters=500, prompts=500, rater_sd=1.0, prompt_sd=1.0)
    (fit,) = rank(simulate(design), resamples=0).fits
    assert [e.entity for e in fit.entities] == list(reversed(design.entity_names))
    spread = np.std([e.strength for e in fit.entities if e.strength is not None])
    assert 0.5 < spread / design.planted.std() < 0.9


def test_effects_are_a_rater_s_and_a_prompt_s() -> None:
    """Of the same pair and rater, scores go together only as far as the rater has effects; prompts likewise."""
    two = Design("two", 2, 300, 300, 30_000, strengths=(0.0, 0.0))

    def agreement(design: Design, by: str) -> float:
        frame = simulate(design)
        facing = pl.when(pl.col("config_a") == "m1").then("score").otherwise(-pl.col("score"))
        means = frame.with_columns(facing=facing).group_by(by).agg(pl.col("facing").mean())["facing"]
        return float(means.to_numpy().var() / (frame["score"].to_numpy().var() / 100))

    raters, prompts = replace(two, rater_sd=0.5, prompt_sd=0.0), replace(two, rater_sd=0.0, prompt_sd=0.5)
    assert agreement(raters, "rater") > 5
    assert agreement(prompts, "prompt") > 5
    assert 0.7 < agreement(raters, "prompt") < 1.3
    assert 0.7 < agreement(prompts, "rater") < 1.3


def test_noise_is_logistic_and_shared_as_stated() -> None:
    values = _logistic(np.random.default_rng(1).standard_normal(200_000))
    assert np.quantile(values, [0.1, 0.5, 0.9]) == pytest.approx(np.log([1 / 9, 1, 9]), abs=0.03)
    assert expit(values).mean() == pytest.approx(0.5, abs=0.01)
    design = Design("blocks", 2, 50, 50, 20_000, 0.0, 0.0, rubrics=RUBRICS, groups=(0, 0, 1, 1), halo=0.2, block=0.6)
    equal = replace(design, strengths=(0.0, 0.0))
    scores = np.array([g["score"].to_numpy() for g in simulate(equal).partition_by("rubric", maintain_order=True)])
    together = np.corrcoef(scores)
    assert together[0, 1] == pytest.approx(together[2, 3], abs=0.03)
    assert together[0, 1] > 0.7
    assert 0.1 < together[0, 2] < 0.25
    assert abs(np.corrcoef(scores[0], np.roll(scores[0], 1))[0, 1]) < 0.03


def test_rubrics_follow_their_loading_and_their_group() -> None:
    design = Design(
        "profiles", 6, 50, 50, 20_000, 0.0, 0.0, rubrics=RUBRICS, groups=(0, 0, 1, 1), loadings=(1, 2, 1, 1)
    )
    specs = [FitSpec(r, "config") for r in RUBRICS]

    def strengths(of: Design) -> np.ndarray:
        fits = fit_boards(simulate(of), specs)
        return np.array([[e.strength for e in sorted(f.entities, key=lambda e: e.entity)] for f in fits], float)

    plain = strengths(design)
    assert plain[1] == pytest.approx(2 * plain[0], abs=0.2)
    apart = strengths(replace(design, strengths_sd=0.0, profile_sd=1.0))
    assert apart[0] == pytest.approx(apart[1], abs=0.15)
    assert np.abs(apart[0] - apart[2]).max() > 0.5


def test_a_population_is_a_hundred_times_as_large() -> None:
    large = population(SMALL)
    assert (large.raters, large.prompts, large.ratings) == (1200, 3000, 100_000)
    assert (large.entities, large.rater_sd, large.name) == (5, SMALL.rater_sd, "small")


@pytest.mark.parametrize(
    "wrong",
    [{"entities": 1}, {"ratings": 0}, {"strengths": (1.0,)}, {"groups": (0, 1)}, {"halo": 0.6, "block": 0.5}],
)
def test_what_cannot_be_simulated_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="design small"):
        replace(SMALL, **wrong)  # type: ignore[arg-type]
