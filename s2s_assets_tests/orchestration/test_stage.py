"""A stage is computed once for the same inputs; a blocking check stops it before anything is stored."""

import dagster as dg
import pytest

from s2s_assets.orchestration import Driver, RunFailedError, StudyResource
from s2s_assets.study import ConfigKeyError, StudyError


@pytest.fixture
def driver(toy, instance):
    return Driver(toy.definitions, instance)


def head(asset, partition=None):
    study = StudyResource()
    return study.store(study.folder().study).head(asset, partition)


def results(instance, asset):
    event = instance.get_latest_materialization_event(dg.AssetKey(asset))
    return event.asset_materialization.metadata["result"].value


def test_fan_in_is_a_dict_of_the_partitions_that_exist(driver, toy):
    driver.run_job("fill", partition="red|bob|none")
    driver.run_job("sum")
    assert toy.seen == {"red|bob|none": 1}
    driver.run_job("fill", partition="red|ann|none")
    driver.run_job("sum")
    assert toy.seen == {"red|ann|none": 1, "red|bob|none": 1}


def test_fan_in_of_nothing_is_an_empty_dict(driver, toy):
    driver.run_job("sum")
    assert toy.seen == {}


def test_second_materialization_computes_nothing_and_says_so(driver, toy, instance):
    driver.run_job("fill", partition="red|ann|none")
    driver.run_job("sum")
    calls, versions = list(toy.calls), (head("total"), head("double"))
    driver.run_job("fill", partition="red|ann|none")
    driver.run_job("sum")
    assert toy.calls == calls
    assert (head("total"), head("double")) == versions
    assert results(instance, "total").startswith("reused")


def test_changed_setting_computes_anew(driver, toy, instance):
    driver.run_job("fill", partition="red|ann|none")
    driver.run_job("sum")
    toy.value = 5
    driver.run_job("fill", partition="red|ann|none")
    driver.run_job("sum")
    assert toy.seen == {"red|ann|none": 5}
    assert results(instance, "total") == "computed"


def test_blocking_check_stores_nothing_and_keeps_the_old_table(driver, toy, instance):
    driver.run_job("fill", partition="red|ann|none")
    driver.run_job("sum")
    before = head("total")
    toy.value = 1000
    driver.run_job("fill", partition="red|ann|none")
    with pytest.raises(RunFailedError, match="small: sum below 100"):
        driver.run_job("sum")
    assert head("total") == before
    assert head("double") is not None
    key = dg.AssetCheckKey(dg.AssetKey("total"), "small")
    [record] = instance.event_log_storage.get_latest_asset_check_execution_by_key([key]).values()
    assert record.status.value == "FAILED"


def test_a_reason_of_our_own_is_told_without_its_class(driver, toy):
    def complain(_):
        raise StudyError("the key is not set")

    toy.after_step = complain
    with pytest.raises(RunFailedError, match=r"failed: the key is not set$"):
        driver.run_job("fill", partition="red|ann|none")


def test_a_run_reads_its_own_snapshot_even_when_head_moves_meanwhile(driver, toy):
    driver.run_job("fill", partition="red|ann|none")
    study = StudyResource()

    def overtake(step):
        if step == "double starts":
            store = study.store(study.folder().study)
            other = store.write_table("total", None, toy.compute("other", 50))
            store.set_head("total", None, other.version)

    driver.run_job("sum")
    toy.value, toy.after_step = 3, overtake
    driver.run_job("fill", partition="red|ann|none")
    driver.run_job("sum")
    store = study.store(study.folder().study)
    assert store.read_table("double", None, head("double")).frame["n"].item() == 6


def test_partition_key_that_is_no_config_key_is_refused(toy, instance):
    instance.add_dynamic_partitions("s2s_config", ["../../x"])
    with pytest.raises((RunFailedError, ConfigKeyError)):
        Driver(toy.definitions, instance).run_job("fill", partition="../../x")
