""" "Materialize all" of the UI: a backfill of every asset, run by Dagster's own backfill daemon in this process."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster._core.execution.asset_backfill import AssetBackfillData
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.test_utils import create_test_daemon_workspace_context
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import ModuleTarget
from dagster._daemon.backfill import execute_backfill_iteration

from s2s_assets_tests.e2e.conftest import embedded_settings
from s2s_assets_tests.e2e.flow import Flow, Speaker, running, write_study

pytestmark = pytest.mark.e2e
LAUNCHER = {"module": "s2s_assets_tests.e2e.launcher", "class": "ThreadRunLauncher"}
DIRECT = {"module": "dagster._core.run_coordinator", "class": "DefaultRunCoordinator"}


@pytest.fixture
def flow(environment: Path, speaker: Speaker) -> Iterator[Flow]:
    """A study of three models whose runs are launched in this process, one after another."""
    settings = embedded_settings(environment) | {"run_launcher": LAUNCHER, "run_coordinator": DIRECT}
    (environment / "dagster.yaml").write_text(yaml.safe_dump(settings))
    with (
        dg.DagsterInstance.from_config(str(environment)) as instance,
        running(environment, instance, ["red", "green", "blue"], speaker) as flow,
    ):
        yield flow


@pytest.fixture
def workspace(flow: Flow) -> Iterator[WorkspaceProcessContext]:
    target = ModuleTarget("s2s_assets.definitions", attribute=None, working_directory=None, location_name="s2s_assets")
    with create_test_daemon_workspace_context(target, flow.instance) as workspace:
        yield workspace


def materialize_all(workspace: WorkspaceProcessContext, instance: dg.DagsterInstance, name: str) -> PartitionBackfill:
    graph = workspace.create_request_context().asset_graph
    backfill = PartitionBackfill.from_asset_partitions(
        backfill_id=name,
        asset_graph=graph,
        partition_names=None,
        asset_selection=list(graph.materializable_asset_keys),
        backfill_timestamp=time.time(),
        tags={},
        dynamic_partitions_store=instance,
        all_partitions=True,
        title=None,
        description=None,
        run_config=None,
    )
    instance.add_backfill(backfill)
    for _ in range(20):
        errors = [error for error in execute_backfill_iteration(workspace, logging.getLogger("backfill")) if error]
        assert not errors, errors
        done = instance.get_backfill(name)
        assert done is not None
        if done.status != BulkActionStatus.REQUESTED:
            return done
    pytest.fail("the backfill does not end")


def data_of(workspace: WorkspaceProcessContext, backfill: PartitionBackfill) -> AssetBackfillData:
    return backfill.get_asset_backfill_data(workspace.create_request_context().asset_graph)


def test_materialize_all_ends_in_a_board_whatever_keys_are_left_over(flow, workspace):
    """A retired model keeps its key, and a key may be no config at all: neither holds up the rest."""
    write_study(flow.root / "study", ["red", "green", "blue"], collect="manual")
    flow.driver.tick("registry_to_responses")
    flow.instance.add_dynamic_partitions("s2s_config", ["other|x|none"])
    first = materialize_all(workspace, flow.instance, "first")
    assert first.status == BulkActionStatus.COMPLETED_FAILED  # nobody has rated yet
    failed = data_of(workspace, first).failed_and_downstream_subset.asset_keys
    assert {key.to_user_string() for key in failed} == {
        "bt_fits",
        "bootstrap_cis",
        "rubric_clusters",
        "leaderboard",
        "release",
    }
    flow.vote()
    retire(flow.root / "study" / "study.yaml", "blue")
    asked, heads = flow.speaker.asked.total(), flow.store.heads("response_audio")
    assert asked == 6 * 4
    second = materialize_all(workspace, flow.instance, "second")
    assert second.status == BulkActionStatus.COMPLETED_SUCCESS
    assert flow.speaker.asked.total() == asked
    assert flow.store.heads("response_audio") == heads
    assert "other|x|none" not in heads
    assert flow.store.head("leaderboard", None) is not None
    assert flow.metadata("release")["result"].startswith("nothing made: nothing is published without run config")
    assert not (flow.root / "home" / "releases" / "index.json").exists()


def test_materialize_all_with_a_dead_partition_ends_before_the_plan(flow, workspace):
    flow.driver.tick("registry_to_responses")
    flow.speaker.dead.add("blue")
    backfill = materialize_all(workspace, flow.instance, "dead")
    assert backfill.status == BulkActionStatus.COMPLETED_FAILED
    assert flow.store.head("pairing_plan", None) is None
    without = {"without": ["blue|ann|none", "blue|bob|none"]}
    write_study(flow.root / "study", ["red", "green", "blue"], pairing=without)
    flow.driver.run_job("plan")
    assert flow.store.head("rating_tasks", None) is not None


def retire(file: Path, model: str) -> None:
    document = yaml.safe_load(file.read_text())
    for entry in document["models"]:
        if entry["id"] == model:
            entry["retired"] = "2026-01-01"
    file.write_text(yaml.safe_dump(document))
