"""The commands that need a whole study around them: materialize, and the check that holds edits against answers."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from s2s_assets.cli import main
from s2s_assets_tests.e2e.flow import write_study

pytestmark = pytest.mark.e2e
MODELS = ["red", "green", "blue"]


@pytest.fixture
def at_home(flow, monkeypatch):
    """The flow's instance as the one that commands open."""
    monkeypatch.setenv("DAGSTER_HOME", str(flow.root))
    monkeypatch.chdir(flow.root)
    return flow


def run(*args: str):
    return CliRunner().invoke(main, list(args), catch_exceptions=False)


def check(folder: Path) -> dict:
    return json.loads(run("study", "check", str(folder), "--json").stdout)


def test_materialize_goes_from_recordings_to_the_plan_and_says_what_is_missing(at_home):
    result = run("materialize")
    assert result.exit_code == 1
    assert "no answers to fit" in result.stderr
    assert at_home.speaker.asked.total() == 6 * 4
    at_home.vote()
    result = run("materialize")
    assert result.exit_code == 0
    assert at_home.speaker.asked.total() == 6 * 4
    assert (at_home.root / "home" / "draft" / "index.html").is_file()


def test_materialize_goes_on_past_a_dead_config_and_names_what_the_plan_waits_for(at_home):
    at_home.speaker.dead.add("blue")
    result = run("materialize")
    assert result.exit_code == 1
    assert "4 of 6 configs have their responses" in result.stderr
    assert "waits for 2 of 6 configs: blue|ann|none, blue|bob|none" in result.stderr


def test_materialize_without_recordings_says_so_once_a_config(at_home, capfd):
    listed = at_home.root / "study" / "recordings.csv"
    listed.write_text(listed.read_text().splitlines()[0] + "\n")
    result = run("materialize")
    said = result.stderr + capfd.readouterr().err
    assert result.exit_code == 1
    assert said.count("no script has a recording") == 6
    assert "Stack Trace" not in said
    assert "dagster._core" not in said


def test_an_unforeseen_error_says_where_it_was(at_home, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault of the program")

    monkeypatch.setattr("s2s_assets.prompts.assets.run_stage", broken)
    result = run("materialize")
    assert result.exit_code == 1
    assert "a fault of the program" in result.stderr
    assert "in broken" in result.stderr


def test_materialize_of_one_partition_sends_only_that(at_home):
    run("materialize")
    at_home.speaker.asked.clear()
    write_study(at_home.root / "study", [*MODELS, "gold"])
    assert run("materialize", "--partition", "gold|ann|none").exit_code == 0
    assert at_home.speaker.asked == {("gold", "ann"): 4}


def test_materialize_of_one_partition_of_a_fresh_study_makes_its_prompts(at_home):
    result = run("materialize", "--partition", "red|bob|none")
    assert result.exit_code == 0, result.stderr
    assert at_home.speaker.asked == {("red", "bob"): 4}
    assert at_home.frame("responses", "red|bob|none").height == 4


def test_materialize_refuses_a_partition_that_is_not_the_studys(at_home):
    result = run("materialize", "--partition", "silver|ann|none")
    assert result.exit_code == 2
    assert "silver|ann|none" in result.stderr


@pytest.mark.parametrize(
    ("setting", "value", "status", "message"),
    [
        ("S2S_STORE", "ftp://nowhere", 2, "expected file:PATH or s3://BUCKET/PREFIX"),
        ("S2S_STORE", "file:study/study.yaml", 1, "the folder must be writable"),
        ("S2S_DATABASE_URL", "mysql://nowhere", 2, "expected sqlite:///PATH"),
        ("S2S_DATABASE_URL", "postgresql://ada@127.0.0.1:1/none", 1, "Connection refused"),
    ],
)
def test_materialize_opens_its_state_before_it_runs_anything(at_home, monkeypatch, setting, value, status, message):
    monkeypatch.setenv(setting, value)
    result = run("materialize")
    assert result.exit_code == status
    assert message in " ".join(result.stderr.split())
    assert not at_home.instance.get_runs()


def test_materialize_refuses_state_of_another_study(at_home):
    run("materialize")
    runs = len(at_home.instance.get_runs())
    write_study(at_home.root / "study", MODELS, study="another")
    result = run("materialize")
    assert result.exit_code == 2
    assert "belongs to study" in result.stderr
    assert len(at_home.instance.get_runs()) == runs


def test_materialize_outside_a_checkout_says_where_to_run_it(flow, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    result = run("materialize")
    assert result.exit_code == 2
    assert "no dagster.yaml" in result.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_edits_of_what_has_answers_are_refused_with_the_remedy(flow):
    folder = flow.root / "study"
    flow.to_plan()
    assert check(folder)["ok"]
    write_study(folder, MODELS, default_instruction="You are terse")
    assert check(folder)["ok"]
    write_study(folder, MODELS)
    flow.vote()
    assert check(folder)["ok"]
    write_study(folder, MODELS, default_instruction="You are terse")
    report = check(folder)
    assert not report["ok"]
    assert {e["key"] for e in report["errors"]} == {f"models.{n}" for n in range(3)}
    assert all("new id" in e["message"] for e in report["errors"])
    write_study(folder, MODELS)
    shutil.copy(folder / "recordings" / "p1.wav", folder / "recordings" / "p0.wav")
    [error] = check(folder)["errors"]
    assert error["file"] == "recordings.csv"
    assert "new prompt id" in error["message"]


def test_a_database_of_another_study_only_warns_the_check(flow):
    flow.to_plan()
    flow.vote()
    write_study(flow.root / "study", MODELS, study="another")
    result = run("study", "check", str(flow.root / "study"), "--json")
    assert result.exit_code == 0
    assert "not held against answers" in result.stderr
