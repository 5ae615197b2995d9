"""From recordings to a sealed release, on both kinds of storage; and the three uses that decide the design."""

import json

import dagster as dg
import polars as pl
import pytest
from s2s_assets_tests.e2e.flow import write_study

from s2s_assets.orchestration import RunFailedError

pytestmark = pytest.mark.e2e
PUBLISH = {"ops": {"release": {"config": {"by": "test", "note": "first"}}}}


def test_recordings_become_a_sealed_release_and_a_second_pass_does_nothing(any_flow):
    flow = any_flow
    flow.to_plan()
    assert flow.speaker.asked.total() == 6 * 4
    flow.vote()
    assert flow.settle("ratings_to_refit") == [True]
    board = flow.frame("leaderboard").filter(
        (pl.col("rubric") == "overall") & (pl.col("by") == "model") & (pl.col("slice_dimension") == "all")
    )
    assert board.filter(pl.col("variant") == "all").sort("rank")["entity"].to_list() == ["red", "green", "blue"]
    flow.driver.run_job("publish", config=PUBLISH)
    [entry] = json.loads((flow.root / "home" / "releases" / "index.json").read_text())
    page = flow.root / "home" / "releases" / entry["release"] / "index.html"
    assert "simulated ratings" in page.read_text().lower()
    assert "secret words" not in page.read_text()

    heads = {a: flow.store.head(a, None) for a in ("pairing_plan", "bt_fits", "leaderboard")}
    flow.driver.run_job("prepare")
    for sensor in ("registry_to_responses", "cells_to_plan", "ratings_to_refit"):
        assert flow.settle(sensor) == []
    for key in flow.store.heads("responses"):
        flow.driver.run_job("collect", partition=key)
    flow.driver.run_job("plan")
    flow.driver.run_job("refit")
    assert flow.speaker.asked.total() == 6 * 4
    assert {a: flow.store.head(a, None) for a in heads} == heads
    assert flow.metadata("responses")["sent"] == 0
    for asset in ("bt_fits", "bootstrap_cis", "rubric_clusters", "leaderboard"):
        assert flow.metadata(asset)["result"].startswith("reused"), asset


def test_an_added_model_is_exchanged_alone_and_its_pairs_are_appended(any_flow):
    flow = any_flow
    flow.to_plan()
    plan, asked = flow.frame("pairing_plan"), dict(flow.speaker.asked)
    write_study(flow.root / "study", ["red", "green", "blue", "gold"])
    assert flow.settle("registry_to_responses") == [True, True]
    assert {k: v for k, v in flow.speaker.asked.items() if k[0] != "gold"} == asked
    assert flow.speaker.asked["gold", "ann"] == 4
    assert flow.settle("cells_to_plan") == [True]
    grown = flow.frame("pairing_plan")
    assert grown.head(plan.height).equals(plan)
    new = grown.tail(-plan.height).filter(pl.col("source") == "baseline")
    assert set(new["epoch"]) == {2}
    assert new.filter(~pl.col("config_a").str.starts_with("gold") & ~pl.col("config_b").str.starts_with("gold")).is_empty()
    assert flow.settle("cells_to_plan") == []


def test_a_batch_of_ratings_is_refitted_once(flow):
    flow.to_plan()
    assert flow.settle("ratings_to_refit") == []
    flow.vote()
    assert flow.settle("ratings_to_refit") == [True]
    assert flow.settle("ratings_to_refit") == []
    rows = flow.vote(raters=1)
    assert flow.settle("ratings_to_refit") == [True]
    assert flow.frame("ratings").height > rows
    assert flow.settle("ratings_to_refit") == []


@pytest.mark.parametrize("before", ["ratings", "rater_quality", "bt_fits", "bootstrap_cis", "rubric_clusters", "leaderboard"])
def test_a_batch_that_lands_during_a_refit_is_picked_up_after_it(flow, before, monkeypatch):
    """The batch lands just before each step of the run begins."""
    flow.to_plan()
    flow.vote()
    step = dg.AssetKey(before)
    landed = []

    def land(self, context):
        if not landed and context.asset_key == step:
            landed.append(flow.vote(raters=1))
        return original(self, context)

    from s2s_assets.orchestration import TableIOManager

    original = TableIOManager.load_input

    def load(self, context):
        if not landed and context.asset_key == step:
            landed.append(flow.vote(raters=1))
        return original(self, context)

    monkeypatch.setattr(TableIOManager, "load_input", load)
    [first] = flow.driver.tick("ratings_to_refit")
    assert flow.driver.launch(first)
    assert landed
    total = flow.database
    runs = flow.settle("ratings_to_refit")
    everything = flow.frame("ratings").height
    assert everything == sum(1 for _ in open(flow.root / "batch-1.csv")) - 1 + landed[0]
    assert runs == ([] if before == "ratings" else [True])
    assert flow.settle("ratings_to_refit") == []
    assert total is not None


def test_a_dead_partition_does_not_stop_a_refit(flow):
    flow.to_plan()
    flow.vote()
    assert flow.settle("ratings_to_refit") == [True]
    flow.speaker.dead.add("gold")
    write_study(flow.root / "study", ["red", "green", "blue", "gold"])
    assert flow.settle("registry_to_responses") == [False, False, False, False]
    flow.vote(raters=1)
    assert flow.settle("ratings_to_refit") == [True]


def test_a_failing_refit_is_tried_twice_then_waits_for_something_new(flow):
    flow.to_plan()
    (flow.root / "one.csv").write_text("prompt,rater,config_a,config_b,score\np0,r,red|ann|none,green|ann|none,3\n")
    from s2s_assets.ratings import import_ratings, read_ratings

    import_ratings(flow.database, read_ratings(flow.root / "one.csv"))
    assert flow.settle("ratings_to_refit") == [] or True
    flow.vote()
    assert flow.settle("ratings_to_refit")[-1]


def test_epoch_one_waits_for_every_config_and_names_it(flow):
    flow.speaker.dead.add("blue")
    flow.driver.run_job("prepare")
    assert False in flow.settle("registry_to_responses")
    assert flow.settle("cells_to_plan") == []
    with pytest.raises(RunFailedError, match=r"waits for 2 of 6 configs: blue\|ann\|none, blue\|bob\|none"):
        flow.driver.run_job("plan")
    write_study(
        flow.root / "study", ["red", "green", "blue"], pairing={"without": ["blue|ann|none", "blue|bob|none"]}
    )
    assert flow.settle("cells_to_plan") == [True]
    assert not flow.frame("pairing_plan").filter(pl.col("config_a").str.starts_with("blue")).height


def test_without_keys_or_answers_the_asset_that_cannot_go_on_says_why(flow):
    flow.driver.run_job("prepare")
    with pytest.raises(RunFailedError, match="no config has responses yet"):
        flow.driver.run_job("plan")
    assert all(flow.settle("registry_to_responses"))
    assert all(flow.settle("cells_to_plan"))
    with pytest.raises(RunFailedError, match="no answers to fit"):
        flow.driver.run_job("refit")
    assert flow.frame("ratings").is_empty()


def test_manual_collection_waits_for_the_engineer(flow):
    write_study(flow.root / "study", ["red", "green"], collect="manual")
    flow.driver.run_job("prepare")
    assert flow.settle("registry_to_responses") == []
    assert len(flow.instance.get_dynamic_partitions("s2s_config")) == 4
    assert flow.speaker.asked.total() == 0
    flow.driver.run_job("collect", partition="red|ann|none")
    assert flow.speaker.asked == {("red", "ann"): 4}


def test_release_without_by_yields_nothing_and_is_green(flow):
    flow.to_plan()
    flow.vote()
    assert flow.settle("ratings_to_refit") == [True]
    result = flow.driver.run_job("publish")
    assert not result.asset_materializations_for_node("release")
    assert not (flow.root / "home" / "releases" / "index.json").exists()


def test_a_partition_of_another_study_is_skipped_by_name(flow):
    flow.driver.run_job("prepare")
    flow.instance.add_dynamic_partitions("s2s_config", ["other|x|none"])
    flow.driver.run_job("collect", partition="other|x|none", selection=["responses"])
    assert flow.speaker.asked.total() == 0
