"""Adaptive votes through Dagster: from a fit to a round, from its votes to the next fit, and then no more."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from s2s_assets.ratings import RatingsStore, enrol, next_assignment, rounds, submit
from s2s_assets_tests.e2e.flow import QUALITY, RUBRICS, Flow, write_study

pytestmark = pytest.mark.e2e
ASKED = {"slots": 2, "adaptive": {"share": 0.2, "rounds": 2}}


def rate(flow: Flow, sitting: int, raters: int = 14) -> int:
    """People take and answer whatever they are given; how many tasks that was."""
    database: RatingsStore = flow.database
    rng, done = np.random.default_rng(sitting), 0
    when = datetime.now(UTC) - timedelta(minutes=30 - 10 * sitting)
    for k in range(raters):
        who = enrol(database, "panel", f"pid-{sitting}-{k}", when, name=f"rater-{sitting}-{k}")
        while task := next_assignment(database, who, f"{sitting}-{k}", rng, lambda: when):
            first, second = (task.config_a, task.config_b) if task.first == "a" else (task.config_b, task.config_a)
            gap = QUALITY[second.split("|")[0]] - QUALITY[first.split("|")[0]]
            scores = {r: int(np.clip(np.rint(gap + rng.logistic(0, 1.2)), -3, 3)) for r in RUBRICS}
            submit(database, task.nonce, scores, lambda: when)
            done += 1
    return done


def adaptive_answers(flow: Flow) -> pl.DataFrame:
    return flow.frame("ratings").filter((pl.col("source") == "adaptive") & (pl.col("rubric") == "overall"))


def test_a_fit_asks_for_votes_and_their_fit_for_the_rest_and_then_no_more(flow):
    analysis = {"resamples": 200, "simulated": True, "min_slice_ratings": 100_000}
    write_study(flow.root / "study", ["red", "green", "blue"], pairing=ASKED, analysis=analysis)
    flow.to_plan()
    plan = flow.frame("pairing_plan")
    assert flow.settle("fit_to_tasks") == []
    assert flow.metadata("rating_tasks")["adaptive/round"] == "no fit is stored yet"
    votes = rate(flow, 0)
    assert votes == plan.height == 40
    assert flow.settle("fit_to_tasks") == [], "there is no fit to go by"
    assert flow.settle("ratings_to_refit") == [True]

    assert flow.settle("fit_to_tasks") == [True]
    assert flow.metadata("rating_tasks")["adaptive/round"] == "round 1: 3 pairs"
    assert flow.settle("cells_to_plan") == [], "a round is no change of the plan"
    assert flow.settle("ratings_to_refit") == [], "nor one of the answers"
    assert rate(flow, 1) == 6
    assert flow.settle("fit_to_tasks") == [], "the fit does not have these votes yet"
    assert flow.settle("ratings_to_refit") == [True]
    assert adaptive_answers(flow).height == 6

    assert flow.settle("fit_to_tasks") == [True]
    assert rate(flow, 2) == 4
    assert flow.settle("ratings_to_refit") == [True]
    assert flow.settle("fit_to_tasks") == [], "a fifth of the votes is adaptive"
    assert [made.pairs for made in rounds(flow.store)] == [3, 2]
    assert adaptive_answers(flow).height == 10
    assert flow.frame("pairing_plan").equals(plan)

    board = flow.frame("leaderboard").filter((pl.col("rubric") == "overall") & (pl.col("by") == "model"))
    counts = {v: rows["n_ratings"].sum() // 2 for (v,), rows in board.group_by("variant")}
    assert counts["all"] - counts["baseline"] == 10
    draft = flow.root / "home" / "draft"
    assert "10 of 50 votes (20.0 %)" in (draft / "index.html").read_text()
    method = json.loads((draft / "methodology.json").read_text())
    assert (method["adaptive_votes"], method["votes"]) == (10, 50)
    assert flow.metadata("bt_fits")["result"] == "computed"
    flow.driver.run_job("plan")
    assert flow.metadata("rating_tasks")["result"].startswith("unchanged")
