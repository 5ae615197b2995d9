"""What is said of a fit beside its ranking, on the page and in the terminal."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from s2s_assets.cli import main
from s2s_assets.leaderboard.diagnosis import (
    figures_table,
    misfit_table,
    order_table,
    score_table,
    sentences,
    slice_note,
)
from s2s_assets.leaderboard.layout import Table
from s2s_assets.leaderboard.numbers import lettered
from s2s_assets.leaderboard.page_tables import decided, turn
from s2s_assets.leaderboard.ranking_files import write_ranking
from s2s_assets.ranking import Diagnostics, rank
from s2s_assets_tests.ranking.cases import frame_of, simulated

KEYS = ("ant|alto|low", "ant|bass|low", "bee|alto|low", "cow|alto|low")


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Ratings of four configs with sides and levels; prompts belong to one level."""
    rows = simulated(900, [0.6, 0.1, -0.1, -0.6], raters=20, prompts=40, rater_sd=0.3, prompt_sd=0.3, seed=11)
    named = [(f"rater-{r}", f"prompt-{p}", KEYS[int(a[1])], KEYS[int(b[1])], y) for r, p, a, b, y in rows]
    heard = np.random.default_rng(1).choice(["a", "b"], len(rows))
    level = pl.when(pl.col("prompt").str.slice(-1).cast(pl.Int64) % 2 == 0).then(pl.lit("L1")).otherwise(pl.lit("L2"))
    return frame_of(named).with_columns(first=pl.Series(heard), level=level)


@pytest.fixture(scope="module")
def found(frame: pl.DataFrame) -> Diagnostics:
    diagnostics = rank(frame, slice="level", resamples=0).intervals[0].diagnostics
    assert diagnostics is not None
    return diagnostics


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_figures_hold_every_diagnostic_and_no_name_of_a_rater_or_prompt(found: Diagnostics) -> None:
    table = figures_table(found, "Figures", str)
    printed = [row[0] for row in texts(table)]
    assert printed == [
        "Order effect, Elo",
        "Symmetric thresholds",
        "Pairs that do not fit",
        *("Uncertainty from raters", "Uncertainty from prompts", "Uncertainty from noise"),
        "Simultaneous half-width",
        *("Busiest rater", "Most influential rater", "Busiest prompt", "Most influential prompt"),
    ]
    assert "rater-" not in str(table)
    assert "prompt-" not in str(table)


def test_tables_print_what_the_record_holds(found: Diagnostics) -> None:
    assert [row[0] for row in texts(score_table(found, "Scores"))] == ["0", "±1", "±2", "±3"]
    misfits = texts(misfit_table(found, "Misfits", str.upper))
    assert misfits[0][0] == found.misfits[0].a.upper()
    assert len(misfits) == len(found.misfits)
    assert len(order_table(found, "Order", str).rows) == len(found.order_differences)


def test_nothing_known_is_nothing_said() -> None:
    assert figures_table(Diagnostics(), "Figures", str).rows == ()
    assert sentences(Diagnostics()) == []
    assert slice_note(None) == slice_note(Diagnostics()) == ""


def test_sentences_name_raters_and_prompts(found: Diagnostics) -> None:
    said = "\n".join(sentences(found))
    assert found.influential_raters[0].name in said
    assert found.heaviest_prompt is not None
    assert found.heaviest_prompt.name in said
    assert "heard first gains" in said
    assert "between 2 slices" in said


def test_an_order_effect_without_an_interval_says_so(found: Diagnostics) -> None:
    assert found.order_effect is not None
    without = replace(found, order_effect=replace(found.order_effect, low=None, high=None))
    assert "Elo (no interval)" in sentences(without)[0]


def test_the_page_has_letters_diagnostics_and_differences_to_the_whole(frame: pl.DataFrame, tmp_path: Path) -> None:
    page = write_ranking(rank(frame, slice="level", resamples=40), tmp_path / "slices").read_text("utf-8")
    assert "Δ to the whole" in page
    assert "between 2 slices" in page
    whole = write_ranking(rank(frame, by="voice", resamples=40), tmp_path / "voices").read_text("utf-8")
    assert ">Letters</button>" in whole
    assert 'id="diagnostics"' in whole
    assert "rater-" not in whole
    assert "prompt-" not in whole


def test_the_tables_have_letters_and_differences(frame: pl.DataFrame, tmp_path: Path) -> None:
    write_ranking(rank(frame, slice="level", resamples=40), tmp_path)
    rows = pl.read_parquet(tmp_path / "leaderboard.parquet")
    assert rows["letters"].null_count() == rows["delta"].null_count() == rows["delta_low"].null_count() == 0
    pairs = pl.read_parquet(tmp_path / "pairwise.parquet")
    assert (pairs["simultaneous_low"] < pairs["difference"]).all()


def test_the_terminal_shows_letters_pairs_of_one_model_and_diagnostics(frame: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    frame.write_csv(path)
    by_voice = CliRunner().invoke(main, ["rank", str(path), "--by", "voice", "--resamples", "40"]).stdout
    assert "letters" in by_voice
    assert "ant|alto against ant|bass: +" in by_voice
    assert "diagnostics:" in by_voice
    sliced = CliRunner().invoke(main, ["rank", str(path), "--slice", "level", "--resamples", "40"]).stdout
    assert "Δ to the whole" in sliced


@pytest.mark.parametrize(
    ("letters", "shown"),
    [(None, "–"), ("a", "a"), ("bcd", "bcd"), ("bcde", "b–e"), ("acdefh", "ac–fh"), ("yzAB", "yzAB")],
)
def test_many_letters_are_shown_as_a_range(letters: str | None, shown: str) -> None:
    assert lettered(letters) == shown


PAIR = {
    "a": "ant",
    "b": "bee",
    "n": 30,
    "mean_score": 0.5,
    "difference": 40.0,
    "ci_low": -5.0,
    "ci_high": 90.0,
    "simultaneous_low": 1.0,
    "simultaneous_high": 79.0,
    "expected_score": 0.4,
    "misfit": 1.5,
}


def test_a_pair_is_told_apart_by_the_simultaneous_interval_where_there_is_one() -> None:
    assert decided(PAIR)
    assert not decided({**PAIR, "simultaneous_low": -1.0})
    without = {**PAIR, "simultaneous_low": None, "simultaneous_high": None}
    assert not decided(without)
    assert decided({**without, "ci_low": 5.0})


def test_a_pair_turned_round_twice_is_itself() -> None:
    turned = turn(PAIR)
    assert (turned["a"], turned["difference"], turned["misfit"]) == ("bee", -40.0, -1.5)
    assert (turned["simultaneous_low"], turned["simultaneous_high"]) == (-79.0, -1.0)
    assert turn(turned) == PAIR
