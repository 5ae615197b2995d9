"""Verdicts in the ratings database change what `recorded_prompts` selects, and ask for it by themselves."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
import yaml

from s2s_assets.definitions import defs
from s2s_assets.orchestration import WANTED_TAG, Driver, StudyResource
from s2s_assets.prompts import assets, read_recording, select_takes
from s2s_assets.prompts.sensors import PAUSE
from s2s_assets.ratings import RatingsStore, import_ratings, judge, read_ratings
from s2s_assets.study import RecordingVerdict

MODEL = {"id": "m", "name": "M", "family": "m", "provider": "m", "adapter": "openai_realtime", "voices": [{"id": "v"}]}


@pytest.fixture
def driver(tmp_path: Path, monkeypatch, take) -> Driver:
    """A study of one script with two takes, of which the first has the lower noise."""
    folder = tmp_path / "study"
    (folder / "recordings").mkdir(parents=True)
    study = {"study": "lab", "title": "Lab", "categories": [{"id": "facts"}], "models": [MODEL]}
    study["rubrics"] = [{"id": "overall", "group": "last", "question": "Which is better?"}]
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    (folder / "prompts.csv").write_text("prompt,category,level\np,facts,L1\n")
    (folder / "recordings.csv").write_text("recording,prompt,file\np-a,p,a.wav\np-b,p,b.wav\n")
    (folder / "recordings" / "a.wav").write_bytes(take(noise_dbfs=-70))
    (folder / "recordings" / "b.wav").write_bytes(take(noise_dbfs=-60))
    monkeypatch.setenv("S2S_STUDY", str(folder))
    monkeypatch.setenv("S2S_HOME", str(tmp_path / "home"))
    return Driver(defs, dg.DagsterInstance.ephemeral())


def table(asset: str):
    resource = StudyResource()
    store = resource.store(resource.folder().study)
    return store.read_table(asset, None, store.head(asset, None)).frame


def taken(asset: str = "recorded_prompts") -> list[str]:
    frame = table(asset)
    return (frame.filter("selected") if "selected" in frame.columns else frame)["recording"].to_list()


def say(recording: str, verdict: str | None, age: timedelta = 2 * PAUSE, **more) -> None:
    """A verdict about a recording of the table in force."""
    recorded, resource = table("recorded_prompts"), StudyResource()
    blob = recorded.filter(recording=recording)["source_blob"].item()
    told = {"prompt": "p", "recording": recording, "source_blob": blob, "verdict": verdict, "author": "ann"}
    told |= {"reasons": ("noise",), "created_at": datetime.now(UTC) - age} | more
    judge(RatingsStore(resource.engine(), "lab"), recorded, RecordingVerdict(**told))


@pytest.fixture
def answer(tmp_path: Path) -> Callable[[], None]:
    """Brings in an answer about the prompt."""

    def bring() -> None:
        told = "prompt,rater,config_a,config_b,response_a,response_b,score\np,zoe,m|v|none,m|w|none,r1,r2,1\n"
        (tmp_path / "answer.csv").write_text(told)
        database = RatingsStore(StudyResource().engine(), "lab")
        assert import_ratings(database, read_ratings(tmp_path / "answer.csv"), datetime.now(UTC)).inserted == 1

    return bring


def once_before(does: Callable, happens: Callable[[], None]) -> Callable:
    """A step that does what it does; when it is first taken, something happens before it."""
    due = [happens]

    def step(*args):
        while due:
            due.pop()()
        return does(*args)

    return step


def last(driver: Driver, asset: str) -> dg.AssetMaterialization:
    event = driver.instance.get_latest_materialization_event(dg.AssetKey(asset))
    assert event is not None
    assert event.asset_materialization is not None
    return event.asset_materialization


def test_a_verdict_changes_the_selection_and_the_data_version(driver) -> None:
    driver.run_job("prepare")
    assert taken() == taken("normalized_audio") == ["p-a"]
    before = last(driver, "recorded_prompts").tags["dagster/data_version"]
    driver.run_job("prepare")
    assert last(driver, "recorded_prompts").metadata["result"].value.startswith("reused")
    say("p-b", "accept", selected=True, comment="the better voice")
    driver.run_job("prepare")
    assert taken() == taken("normalized_audio") == ["p-b"]
    assert last(driver, "recorded_prompts").tags["dagster/data_version"] != before
    row = table("recorded_prompts").filter("selected").row(0, named=True)
    assert (row["verdict"], row["verdict_reason"], row["verdict_by"]) == (
        "accept",
        "noise or hum: the better voice",
        "ann",
    )
    assert row["selection_reason"].startswith("selected by ann, passes the automated check")
    say("p-b", None)
    driver.run_job("prepare")
    assert taken() == ["p-a"]
    assert last(driver, "recorded_prompts").tags["dagster/data_version"] == before


def test_without_a_usable_take_the_prompt_is_left_out_and_the_check_says_so(driver) -> None:
    driver.run_job("prepare")
    say("p-a", "reject")
    say("p-b", "rerecord")
    result = driver.run_job("prepare")
    assert taken() == taken("normalized_audio") == []
    checks = {c.check_name: c.passed for c in result.get_asset_check_evaluations()}
    assert checks["every_script_has_a_take"] is False
    reasons = table("recorded_prompts")["selection_reason"].to_list()
    assert reasons[0].startswith("rejected by ann: noise or hum")
    assert reasons[1].startswith("to be recorded again by ann: noise or hum")


def test_verdicts_ask_for_the_prompts_once_the_reviewer_pauses(driver) -> None:
    assert driver.tick("verdicts_to_prompts") == []
    driver.run_job("prepare")
    assert driver.tick("verdicts_to_prompts") == []
    say("p-b", "accept", selected=True)
    (request,) = driver.tick("verdicts_to_prompts")
    assert request.job_name == "prepare"
    seen = last(driver, "recording_verdicts").tags["dagster/data_version"]
    driver.run_job("prepare", tags=request.tags)
    assert driver.tick("verdicts_to_prompts") == []
    assert taken("normalized_audio") == ["p-b"]
    say("p-b", "reject", age=timedelta(0))
    assert driver.tick("verdicts_to_prompts") == []
    assert last(driver, "recording_verdicts").tags["dagster/data_version"] == seen


def test_a_verdict_that_comes_in_before_a_run_has_ended_asks_for_another(driver, monkeypatch) -> None:
    driver.run_job("prepare")
    say("p-b", "accept", selected=True)
    (request,) = driver.tick("verdicts_to_prompts")
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(assets, "select_takes", once_before(select_takes, lambda: say("p-b", "reject")))
        driver.run_job("prepare", tags=request.tags)
    assert taken() == taken("normalized_audio") == ["p-b"], "the verdicts that it has read"
    (again,) = driver.tick("verdicts_to_prompts")
    assert again.tags[WANTED_TAG] != request.tags[WANTED_TAG]
    driver.run_job("prepare", tags=again.tags)
    assert taken() == taken("normalized_audio") == ["p-a"]
    assert driver.tick("verdicts_to_prompts") == []


def test_a_run_that_did_not_normalize_is_asked_for_again(driver) -> None:
    driver.run_job("prepare")
    say("p-b", "accept", selected=True)
    driver.run_job("prepare", selection=["recorded_prompts"])
    assert taken() == ["p-b"]
    assert [request.job_name for request in driver.tick("verdicts_to_prompts")] == ["prepare"]


def test_an_answer_that_comes_in_before_a_verdict_is_taken_in_keeps_the_take(driver, answer) -> None:
    driver.run_job("prepare")
    say("p-b", "accept", selected=True)
    answer()
    for request in driver.tick("verdicts_to_prompts"):
        driver.run_job(request.job_name, tags=request.tags)
    assert taken() == taken("normalized_audio") == ["p-a"]
    assert driver.tick("verdicts_to_prompts") == []


def test_an_answer_that_comes_in_while_recordings_are_measured_keeps_the_take(driver, answer, monkeypatch) -> None:
    driver.run_job("prepare")
    say("p-b", "accept", selected=True)
    monkeypatch.setattr(assets, "read_recording", once_before(read_recording, answer))
    driver.run_job("prepare")
    assert taken() == taken("normalized_audio") == ["p-a"]
    assert driver.tick("verdicts_to_prompts") == []


def test_a_new_file_under_an_old_name_has_no_verdict_yet(driver, take) -> None:
    driver.run_job("prepare")
    say("p-a", "reject")
    driver.run_job("prepare")
    assert taken() == ["p-b"]
    (StudyResource().folder().recordings_dir / "a.wav").write_bytes(take(noise_dbfs=-75))
    driver.run_job("prepare")
    assert taken() == ["p-a"]
