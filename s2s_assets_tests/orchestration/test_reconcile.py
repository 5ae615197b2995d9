"""A level is asked for while it is not stored, once at a time, at most twice for the same wanted version."""

import dagster as dg
import pytest
from dagster import DagsterRunStatus
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin

from s2s_assets.orchestration import (
    LEVEL_TAG,
    WANTED_TAG,
    Driver,
    Level,
    StudyResource,
    is_being_made,
    is_settled,
    reconcile,
    settle,
)


def level(wanted="v1", stored=False, name="sum", partition=None):
    return Level(name=name, wanted=wanted, stored=stored, job="sum", asset="total", partition=partition)


ORIGIN = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("s2s_assets"), "__repository__")


def a_run(instance, status, tags=None, job="sum", selection=None):
    run = dg.DagsterRun(
        job_name=job,
        status=status,
        remote_job_origin=RemoteJobOrigin(ORIGIN, job),
        tags=tags or {},
        asset_selection=None if selection is None else frozenset(dg.AssetKey(a) for a in selection),
    )
    return instance.add_run(run)


def failed(instance, wanted):
    return a_run(instance, DagsterRunStatus.FAILURE, {LEVEL_TAG: "sum", WANTED_TAG: wanted})


def test_stored_level_asks_for_nothing(instance):
    assert reconcile(instance, level(stored=True)).request is None


def test_differing_level_asks_with_its_tags_and_no_run_key(instance):
    request = reconcile(instance, level()).request
    assert request.run_key is None
    assert request.tags == {LEVEL_TAG: "sum", WANTED_TAG: "v1"}


@pytest.mark.parametrize("status", [DagsterRunStatus.QUEUED, DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING])
def test_nothing_is_asked_while_a_run_is_under_way(instance, status):
    a_run(instance, status, {LEVEL_TAG: "sum", WANTED_TAG: "old"})
    assert reconcile(instance, level()).request is None


def test_a_run_started_by_hand_counts_as_under_way(instance):
    a_run(instance, DagsterRunStatus.STARTED, job="__ASSET_JOB", selection=["total", "double"])
    assert reconcile(instance, level()).request is None


def test_a_run_of_another_partition_or_asset_does_not(instance):
    a_run(instance, DagsterRunStatus.STARTED, {"dagster/partition": "red|bob|none"}, "fill", ["total"])
    a_run(instance, DagsterRunStatus.STARTED, job="__ASSET_JOB", selection=["other"])
    assert reconcile(instance, level(partition="red|ann|none")).request is not None


@pytest.mark.parametrize("status", [DagsterRunStatus.QUEUED, DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING])
def test_an_asset_is_being_made_until_its_run_is_at_its_end(instance, status):
    a_run(instance, DagsterRunStatus.SUCCESS, job="fill")
    a_run(instance, status, job="__ASSET_JOB", selection=["other"])
    assert not is_being_made(instance, "total", job="fill")
    a_run(instance, status, job="__ASSET_JOB", selection=["total"])
    assert is_being_made(instance, "total", job="fill")
    assert not is_being_made(instance, "double", job="fill")
    a_run(instance, status, job="fill")
    assert is_being_made(instance, "double", job="fill")


def test_a_failing_version_is_tried_twice_then_waits_for_something_new(instance):
    for _ in range(2):
        assert reconcile(instance, level("bad")).request is not None
        failed(instance, "bad")
    verdict = reconcile(instance, level("bad"))
    assert verdict.request is None
    assert "waits for something new" in verdict.reason
    assert reconcile(instance, level("good")).request is not None


def test_settled_holds_only_for_the_version_in_force(home, toy):
    study = StudyResource()
    store = study.store(study.folder().study)
    first, second = (store.write_table("total", None, toy.compute("x", n)) for n in (1, 2))
    assert not is_settled(store, "total", None, "w")
    settle(store, "total", None, "w", first.version)
    assert not is_settled(store, "total", None, "w")
    store.set_head("total", None, first.version)
    assert is_settled(store, "total", None, "w")
    store.set_head("total", None, second.version)
    assert not is_settled(store, "total", None, "w")
    settle(store, "total", None, "w", second.version)
    assert is_settled(store, "total", None, "w")


def test_driver_records_what_a_sensor_asks_for(home, instance):
    @dg.asset
    def board():
        return None

    @dg.sensor(job_name="all")
    def look(context: dg.SensorEvaluationContext):
        seen = int(context.cursor or 0)
        keys = dg.DynamicPartitionsDefinition(name="s2s_config").build_add_request([f"new|v{seen}|none"])
        event = dg.AssetMaterialization("outside", tags={"dagster/data_version": str(seen)})
        return dg.SensorResult(
            run_requests=[dg.RunRequest(job_name="all")],
            dynamic_partitions_requests=[keys],
            asset_events=[event],
            cursor=str(seen + 1),
        )

    jobs = [dg.define_asset_job("all", ["board"])]
    driver = Driver(dg.Definitions(assets=[board], jobs=jobs, sensors=[look]), instance)
    for n in range(2):
        assert [r.job_name for r in driver.tick("look")] == ["all"]
        assert f"new|v{n}|none" in instance.get_dynamic_partitions("s2s_config")
    event = instance.get_latest_materialization_event(dg.AssetKey("outside"))
    assert event.asset_materialization.tags["dagster/data_version"] == "1"
