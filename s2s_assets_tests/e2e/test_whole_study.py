"""From recordings to a sealed release, on both kinds of storage; and the three uses that decide the design."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import dagster as dg
import polars as pl
import pytest

from s2s_assets.orchestration import WANTED_TAG, RunFailedError, StudyResource, TableIOManager
from s2s_assets.ratings import withdraw
from s2s_assets_tests.e2e.flow import write_study

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
    for asset in ("responses", "pairing_plan", "rating_tasks", "ratings"):
        assert flow.metadata(asset)["result"].startswith("unchanged"), asset


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
    assert new.filter(
        ~pl.col("config_a").str.starts_with("gold") & ~pl.col("config_b").str.starts_with("gold")
    ).is_empty()
    assert flow.settle("cells_to_plan") == []


def test_a_settled_batch_is_the_data_version_of_the_ratings_log(flow):
    flow.to_plan()
    flow.vote()
    [first] = flow.driver.tick("ratings_to_refit")
    event = flow.instance.get_latest_materialization_event(dg.AssetKey("ratings_log"))
    assert event.asset_materialization.tags["dagster/data_version"] == first.tags[WANTED_TAG]
    flow.vote(raters=1)
    [second] = flow.driver.tick("ratings_to_refit")
    event = flow.instance.get_latest_materialization_event(dg.AssetKey("ratings_log"))
    assert event.asset_materialization.tags["dagster/data_version"] == second.tags[WANTED_TAG] != first.tags[WANTED_TAG]


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


@pytest.mark.parametrize(
    "step", ["ratings", "rater_quality", "bt_fits", "bootstrap_cis", "rubric_clusters", "leaderboard"]
)
def test_a_batch_that_lands_during_a_refit_is_picked_up_after_it(flow, step, monkeypatch):
    """The batch lands as a step loads its first input, before it computes anything."""
    flow.to_plan()
    first = flow.vote()
    late: list[int] = []
    load = TableIOManager.load_input

    def land_then_load(self, context):
        if not late and context.step_context.step.key == step:
            late.append(flow.vote(raters=1))
        return load(self, context)

    monkeypatch.setattr(TableIOManager, "load_input", land_then_load)
    [request] = flow.driver.tick("ratings_to_refit")
    assert flow.launch(request)
    assert flow.frame("ratings").height == first + (late[0] if step == "ratings" else 0)
    assert flow.settle("ratings_to_refit") == ([] if step == "ratings" else [True])
    assert flow.frame("ratings").height == first + late[0]
    assert flow.settle("ratings_to_refit") == []


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
    flow.vote(always="red")
    assert flow.settle("ratings_to_refit") == [False, False]
    assert flow.settle("ratings_to_refit") == []
    assert flow.store.head("leaderboard", None) is None
    flow.vote()
    assert flow.settle("ratings_to_refit") == [True]


def test_epoch_one_waits_for_every_config_and_names_it(flow):
    flow.speaker.dead.add("blue")
    flow.driver.run_job("prepare")
    assert False in flow.settle("registry_to_responses")
    assert flow.settle("cells_to_plan") == []
    with pytest.raises(RunFailedError, match=r"waits for 2 of 6 configs: blue\|ann\|none, blue\|bob\|none"):
        flow.driver.run_job("plan")
    write_study(flow.root / "study", ["red", "green", "blue"], pairing={"without": ["blue|ann|none", "blue|bob|none"]})
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
    assert flow.store.heads("responses") == {}


def test_a_killed_partition_sends_only_what_is_missing(any_flow):
    flow, key = any_flow, "red|ann|none"
    flow.driver.run_job("prepare")
    flow.driver.tick("registry_to_responses")
    flow.speaker.hold_after = 2
    command = [sys.executable, "-m", "dagster", "asset", "materialize", "-m", "s2s_assets.definitions"]
    process = subprocess.Popen(
        [*command, "--select", "responses", "--partition", key], env=os.environ | {"DAGSTER_HOME": str(flow.root)}
    )
    assert flow.speaker.held.wait(timeout=120)
    process.kill()
    process.wait(timeout=30)
    flow.speaker.hold_after = None
    sent, stored = flow.speaker.asked.total(), flow.stored_answers(key)
    assert 1 <= stored < 4
    assert sent <= stored + flow.folder.study.exchange.concurrency
    flow.driver.run_job("collect", partition=key)
    assert flow.speaker.asked.total() == sent + 4 - stored
    assert flow.frame("responses", key)["status"].to_list() == ["ok"] * 4


def test_a_withdrawn_response_is_healed_by_an_epoch_and_excluded_by_a_refit(flow):
    flow.to_plan()
    flow.vote()
    assert flow.settle("ratings_to_refit") == [True]
    plan, before = flow.frame("pairing_plan"), flow.frame("ratings")
    pairs = plan.unique("pair")
    heard = pl.concat([pairs["response_a"], pairs["response_b"]]).value_counts(sort=True)
    response = heard.filter(pl.col("count") == 2)["response_a"].min()  # in the middle of its prompt's path
    withdraw(flow.database, response, "an engineer", "wrong language", datetime.now(UTC) - timedelta(seconds=60))
    assert flow.settle("cells_to_plan") == [True]
    grown = flow.frame("pairing_plan")
    assert grown.head(plan.height).equals(plan)
    healed = grown.filter(pl.col("source") == "healed")
    assert healed.height
    assert response not in set(healed["response_a"]) | set(healed["response_b"])
    assert flow.settle("ratings_to_refit") == [True]
    after = flow.frame("ratings")
    assert after.height == before.height
    hit = after.filter(pl.col("excluded_by") == "an engineer")
    assert hit.height
    assert set(hit["excluded_reason"]) == {"wrong language"}


def test_a_release_is_refused_while_a_blocking_check_is_red(flow):
    flow.to_plan()
    flow.vote()
    assert flow.settle("ratings_to_refit") == [True]
    flow.speaker.dead.add("gold")
    write_study(flow.root / "study", ["red", "green", "blue", "gold"])
    assert False in flow.settle("registry_to_responses")
    with pytest.raises(RunFailedError, match=r"responses \[gold\|ann\|none\]: coverage"):
        flow.driver.run_job("publish", config=PUBLISH)
    assert not (flow.root / "home" / "releases" / "index.json").exists()


def test_a_dagster_home_of_another_study_is_refused(flow):
    flow.driver.run_job("prepare")
    write_study(flow.root / "study", ["red", "green"], study="another")
    with pytest.raises(RunFailedError, match="belongs to study 'flow'"):
        flow.driver.run_job("prepare")


def test_keys_and_private_words_are_nowhere_in_the_event_log(flow):
    flow.to_plan()
    flow.vote()
    assert flow.settle("ratings_to_refit") == [True]
    logs = "".join(str(entry) for run in flow.instance.get_runs() for entry in flow.instance.all_logs(run.run_id))
    assert "sk-flow-1234567890abcdef" not in logs
    assert "secret words" not in logs


def test_every_asset_of_a_finished_study_is_seen_materialized(flow):
    flow.to_plan()
    flow.accept("p0-a")
    assert flow.settle("verdicts_to_prompts") == [True]
    flow.vote()
    assert flow.settle("ratings_to_refit") == [True]
    flow.driver.run_job("publish", config=PUBLISH)
    for spec in flow.driver.definitions.resolve_all_asset_specs():
        assert flow.instance.get_latest_materialization_event(spec.key) is not None, spec.key
        if spec.key not in (dg.AssetKey("ratings_log"), dg.AssetKey("recording_verdicts")):
            columns = flow.metadata(spec.key.to_user_string())["dagster/column_schema"].columns
            assert [c.name for c in columns if not c.description] == [], spec.key
        assert spec.description
        assert spec.owners
        assert spec.kinds
    done = flow.instance.get_materialized_partitions(dg.AssetKey("response_audio"))
    assert done == {str(c.key) for c in StudyResource().folder().study.configs}
