"""`s2s budget` as a person or a program calls it."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from click.testing import CliRunner, Result

from s2s_assets.cli import main
from s2s_assets_tests.calibration.planned import planned_study

ASSUMED = "raters=0.35,prompts=0.5,entities=8"
DESIGN = {"raters", "prompts", "reached", "reason", "efficient", "fewest", "at"}
POINT = {"ratings_per_pair", "ratings", "ratings_per_rater", "half_width", "entity", "half_width_bootstrap", "power"}


@pytest.fixture(scope="module")
def study() -> pl.DataFrame:
    return planned_study(1, entities=6, raters=24, prompts=40, ratings_per_pair=2)


@pytest.fixture
def pilot(study: pl.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "pilot.csv"
    study.drop("rubric").write_csv(path)
    return path


def call(*arguments: str | Path | float) -> Result:
    return CliRunner().invoke(main, ["budget", *map(str, arguments)])


def document(*arguments: str | Path | float) -> dict[str, Any]:
    done = call(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout, parse_constant=pytest.fail)
    return found


def refused(*arguments: str | Path | float) -> str:
    done = call(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    return " ".join(done.stderr.split())


def test_document_of_a_pilot(pilot: Path) -> None:
    found = document(pilot, "--within", 30)
    assert found["method_version"] == "budget-1"
    assert (found["file"], found["rubric"], found["by"], found["assumed"]) == ("pilot.csv", "overall", "config", None)
    assert found["input"]["used"] == 480
    pilot_size = {
        k: found["pilot"][k] for k in ("raters", "prompts", "ratings", "ratings_per_pair", "pairs_per_prompt")
    }
    assert pilot_size == {"raters": 24, "prompts": 40, "ratings": 480, "ratings_per_pair": 2.0, "pairs_per_prompt": 6.0}
    assert found["pilot"]["half_width_foretold"] == pytest.approx(found["pilot"]["half_width"], rel=0.15)
    assert set(found["effects"]) == {"raters", "prompts", "items", "units", "noise"}
    assert found["goals"]["within"] == 30
    sizes = [(d["raters"], d["prompts"]) for d in found["designs"]]
    assert sizes == [(r, p) for r in (24, 48, 96) for p in (40, 80, 160)]
    for design in found["designs"]:
        assert set(design) == DESIGN | POINT
        assert design["reached"] == (design["ratings"] is not None) == (design["reason"] is None)
        assert [p["ratings_per_pair"] for p in design["at"]] == [1, 2, 4]
        assert all(set(p) == POINT for p in design["at"])
        if design["reached"]:
            assert design["half_width"] <= 30 < design["half_width_bootstrap"]


def test_the_pilot_s_interval_is_that_of_the_ranking(pilot: Path) -> None:
    ranked = json.loads(CliRunner().invoke(main, ["rank", str(pilot), "--resamples", "0", "--json"]).stdout)
    widths = {e["entity"]: (e["sandwich_high"] - e["sandwich_low"]) / 2 for e in ranked["fits"][0]["entities"]}
    found = document(pilot)["pilot"]
    assert found["half_width"] == pytest.approx(max(widths.values()))
    assert found["entity"] == max(widths, key=lambda e: widths[e])


def test_the_file_is_read_as_for_ranking(pilot: Path, study: pl.DataFrame, tmp_path: Path) -> None:
    labels = {-3: "A", -2: "B", -1: "C", 0: "D", 1: "E", 2: "F", 3: "G"}
    foreign = study.rename({"rater": "worker"}).with_columns(pl.col("score").replace_strict(labels))
    foreign.write_ndjson(tmp_path / "foreign.jsonl")
    scores = ",".join(f"{label}={score}" for score, label in labels.items())
    found = document(tmp_path / "foreign.jsonl", "--columns", "rater=worker", "--scores", scores)
    assert found["designs"] == document(pilot)["designs"]
    study.with_columns(clarity=pl.col("score")).drop("score", "rubric").write_csv(tmp_path / "wide.csv")
    wide = document(tmp_path / "wide.csv", "--layout", "wide")
    assert (wide["rubric"], wide["designs"]) == ("clarity", found["designs"])


def test_designs_are_tried_as_asked(pilot: Path) -> None:
    asked = ("--raters", "60,30", "--prompts", "100", "--ratings-per-pair", "1,40", "--pairs-per-prompt", 9)
    found = document(pilot, *asked, "--within", 40, "--ratings-per-rater", 60)
    assert [(d["raters"], d["prompts"]) for d in found["designs"]] == [(30, 100), (60, 100)]
    assert found["pairs_per_prompt"] == 9
    assert found["designs"][0]["at"][1] is None  # 30 raters do not give 40 ratings of a pair
    assert found["designs"][1]["at"][1]["ratings"] == 100 * 9 * 40
    assert found["goals"]["ratings_per_rater"] == 60
    for design in found["designs"]:
        assert not design["reached"] or design["ratings_per_rater"] <= 60
    for count in ("--raters", "--prompts"):
        assert "whole numbers" in refused(pilot, count, "20,many")
        assert "at least" in refused(pilot, count, "1")
    assert "6 entities make 15 pairs" in refused(pilot, "--pairs-per-prompt", 16)
    for option in ("--within", "--difference", "--pairs-per-prompt", "--ratings-per-rater"):
        assert "not a finite number" in refused(pilot, option, "nan")
        assert "not a finite number" in refused(pilot, option, "inf")


def test_uneven_raters_can_be_planned_even(study: pl.DataFrame, tmp_path: Path) -> None:
    busy = pl.concat([study, *(study.filter(pl.col("rater") < "r006") for _ in range(3))])
    busy.with_row_index("rating_id").write_csv(tmp_path / "busy.csv")
    uneven, even = document(tmp_path / "busy.csv"), document(tmp_path / "busy.csv", "--even")
    assert uneven["pilot"]["effective_raters"] < 20
    assert (even["effective_share_of_raters"], even["pilot"]) == (1.0, uneven["pilot"])
    for one, other in zip(uneven["designs"], even["designs"], strict=True):
        assert other["at"][0]["half_width"] < one["at"][0]["half_width"]
    assert "equally busy ones" in call(tmp_path / "busy.csv").stdout


def test_a_pair_is_decided_by_its_observed_difference(pilot: Path) -> None:
    found = document(pilot, "--pair", "m1", "m4")
    ranked = json.loads(CliRunner().invoke(main, ["rank", str(pilot), "--resamples", "0", "--json"]).stdout)
    elo = {e["entity"]: e["elo"] for e in ranked["fits"][0]["entities"]}
    goals = found["goals"]
    assert goals["difference"] == pytest.approx(abs(elo["m1"] - elo["m4"]))
    assert (goals["pair"], goals["observed"], goals["power"], goals["simultaneous"]) == (["m1", "m4"], True, 0.8, False)
    reached = [d for d in found["designs"] if d["reached"]]
    assert reached
    assert all(d["power"] >= 0.8 for d in reached)
    named = document(pilot, "--pair", "m1", "m4", "--difference", 40, "--power", 0.6, "--simultaneous")
    assert (named["goals"]["difference"], named["goals"]["observed"], named["goals"]["simultaneous"]) == (
        40,
        False,
        True,
    )
    assert "observed" in call(pilot, "--pair", "m1", "m4").stdout
    assert "no 'm9'" in refused(pilot, "--pair", "m1", "m9")
    assert "two different names" in refused(pilot, "--pair", "m1", "m1")


def test_assumptions_in_place_of_a_pilot() -> None:
    found = document("--assume", f"{ASSUMED},thresholds=0.5/1.5,spread=0.4", "--within", 20, "--difference", 60)
    assert (found["pilot"], found["file"], found["input"]) == (None, None, None)
    assert found["assumed"] == {
        "rater_sd": 0.35,
        "prompt_sd": 0.5,
        "entities": 8,
        "thresholds": [0.5, 1.5],
        "strengths_sd": 0.4,
    }
    assert found["pairs_per_prompt"] == 8
    reached = [d for d in found["designs"] if d["reached"]]
    assert reached
    assert all(d["half_width"] <= 20 and d["power"] >= 0.8 for d in reached)
    for wrong in ("raters=0.3", f"{ASSUMED},colour=1", "raters=x,prompts=1,entities=3", f"{ASSUMED},entities=9"):
        assert "expected raters=SD" in refused("--assume", wrong)
    assert "entities" in refused("--assume", "raters=0.3,prompts=0.5,entities=1")
    assert "--pair names entities of a pilot" in refused("--assume", ASSUMED, "--pair", "m1", "m2")


def test_one_of_file_and_assumptions(pilot: Path) -> None:
    assert "not both" in refused()
    assert "not both" in refused(pilot, "--assume", ASSUMED)


def test_what_tells_nothing_names_the_way_out(study: pl.DataFrame, tmp_path: Path) -> None:
    study.filter(pl.col("prompt") == "p000").write_csv(tmp_path / "one.csv")
    said = refused(tmp_path / "one.csv")
    assert "one.csv: all ratings are of one prompt" in said
    assert "--assume" in said
    assert "no rubric 'clarity'; choose one of overall" in refused(tmp_path / "one.csv", "--rubric", "clarity")
    two = pl.concat([study.with_columns(rubric=pl.lit(r)) for r in ("pace", "tone")])
    two.write_csv(tmp_path / "two.csv")
    assert "choose one of pace, tone" in refused(tmp_path / "two.csv")
    assert document(tmp_path / "two.csv", "--rubric", "tone")["rubric"] == "tone"


def test_tables_and_words(pilot: Path) -> None:
    done = call(pilot, "--within", 30, "--pair", "m1", "m4")
    assert done.exit_code == 0
    assert "overall by config: a pilot of 480 ratings, 24 raters, 40 prompts, 6 pairs a prompt" in done.stdout
    assert "asked: every 95 % interval within ±30 Elo; m1 against m4" in done.stdout
    assert "not reachable: " in done.stdout
    assert re.search(r"\* fewest ratings\s*$", done.stdout, re.MULTILINE)
    assert "nothing asked" in call(pilot).stdout


def test_files(pilot: Path, tmp_path: Path) -> None:
    out = tmp_path / "plan"
    found = document(pilot, "--within", 30, "--pair", "m1", "m4", "--out", out)
    names = {f"budget.{kind}" for kind in ("csv", "json", "parquet")}
    names |= {f"{chart}.{kind}" for chart in ("half-width", "power") for kind in ("svg", "png")}
    assert {path.name for path in out.iterdir()} == names
    rows = pl.read_parquet(out / "budget.parquet")
    assert json.loads((out / "budget.json").read_text()) == rows.to_dicts()
    assert pl.read_csv(out / "budget.csv").height == rows.height
    needed = rows.filter("needed").select("raters", "prompts", "ratings").rows()
    assert needed == [(d["raters"], d["prompts"], d["ratings"]) for d in found["designs"] if d["reached"]]
    missed = rows.filter(pl.col("ratings").is_null())
    assert missed["reason"].to_list() == [d["reason"] for d in found["designs"] if not d["reached"]]
    for chart in ("half-width", "power"):
        drawn = (out / f"{chart}.svg").read_text()
        assert len(list(ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}circle"))) == len(needed)
        assert "24 raters × 40 prompts" in drawn
        assert (out / f"{chart}.png").read_bytes().startswith(b"\x89PNG")
    assert "cannot be written" in refused(pilot, "--out", pilot / "below")
