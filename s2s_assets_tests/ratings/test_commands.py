"""`s2s ratings` as a program sees it: one JSON document, three exit codes."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from s2s_assets.audio import Clip, encode_flac
from s2s_assets.cli import main
from s2s_assets.ratings import RatingsStore, upsert_tasks
from s2s_assets.ratings.app_schema import recording_verdict
from s2s_assets.storage import StudyStore, open_engine, open_store
from s2s_assets.study import Settings, load_study

DEMO = Path(__file__).resolve().parents[2] / "studies" / "demo"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "study"
    folder.mkdir()
    for name in ("study.yaml", "prompts.csv", "recordings.csv"):
        if (DEMO / name).exists():
            shutil.copy(DEMO / name, folder / name)
    return {"S2S_STUDY": str(folder), "S2S_HOME": str(tmp_path / "home")}


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    path.write_text("item,worker,config_a,config_b,score\np,r,demo-clear|annie|high,demo-robot|f4|none,left\n")
    return path


def run(environment: dict[str, str], *words: str | Path) -> Result:
    return CliRunner().invoke(main, ["ratings", *map(str, words)], env=environment)


def test_import_export_and_status_speak_json(environment, answers, tmp_path) -> None:
    words = ("import", answers, "--columns", "prompt=item,rater=worker", "--scores", "left=2,tie=0,right=-2", "--json")
    first = run(environment, *words)
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout) == {"read": 1, "inserted": 1, "already": 0, "conflicts": 0, "rejected": []}
    assert json.loads(run(environment, *words).stdout)["inserted"] == 0
    out = tmp_path / "out.jsonl"
    assert json.loads(run(environment, "export", out, "--json").stdout) == {"file": str(out), "rows": 1}
    assert json.loads(out.read_text())["score"] == 2
    assert json.loads(run(environment, "status", "--json").stdout) == {
        "pairs": 0, "slots": 0, "done": 0, "leased": 0, "raters": 1, "answers": 1
    }  # fmt: skip


def test_people_get_words(environment, answers) -> None:
    done = run(environment, "import", answers, "--columns", "prompt=item,rater=worker", "--scores", "left=2")
    assert "1 inserted" in done.stdout
    assert done.stderr == ""
    assert "1 answers" in run(environment, "status").stdout


def test_rejected_rows_are_told_apart_from_the_result(environment, answers) -> None:
    answers.write_text(answers.read_text() + "p,,demo-clear|annie|high,demo-robot|f4|none,left\n")
    done = run(environment, "import", answers, "--columns", "prompt=item,rater=worker", "--scores", "left=2")
    assert "1 inserted" in done.stdout
    assert "rater is empty" not in done.stdout
    assert "row 3: rater is empty" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("import", "missing.csv"),
        ("import", "answers.csv", "--scores", "left=9"),
        ("import", "answers.csv", "--columns", "rater"),
        ("export", "out.xlsx"),
        ("export", "answers.csv/out.csv"),
        ("export", "folder.csv"),
        ("export", f"{'long' * 80}.csv"),
        ("exclude", "rater", "nobody", "--by", "ada", "--reason", "noise"),
        ("withdraw", "nothing", "--by", "ada", "--reason", "noise"),
        ("exclude", "rater", "r", "--by", "ada"),
        ("exclude", "rater", "\udcff", "--by", "ada", "--reason", "noise"),
    ],
)
def test_a_wrong_call_ends_in_two(environment, answers, words, monkeypatch) -> None:
    monkeypatch.chdir(answers.parent)
    Path("folder.csv").mkdir()
    done = run(environment, *words)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr


def test_another_studys_database_is_refused(environment, tmp_path) -> None:
    url = f"sqlite:///{tmp_path / 'other.sqlite'}"
    RatingsStore(open_engine(url), "other")
    done = run(environment | {"S2S_DATABASE_URL": url}, "status", "--json")
    assert done.exit_code == 2
    assert "holds study 'other', not 'demo'" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("url", "status", "reason"),
    [
        ("sqlite:///answers.csv", 1, "cannot be opened (file is not a database)"),
        ("sqlite:///.", 1, "cannot be opened (unable to open database file)"),
        ("sqlite:///answers.csv/x.sqlite", 2, "no folder for the ratings database"),
        ("postgresql://ada:hush@127.0.0.1:1/none", 1, "Connection refused"),
    ],
)
def test_a_database_that_cannot_be_opened_is_one_message(
    environment, answers, monkeypatch, url: str, status: int, reason: str
) -> None:
    monkeypatch.chdir(answers.parent)
    done = run(environment | {"S2S_DATABASE_URL": url}, "status", "--json")
    assert (done.exit_code, done.stdout) == (status, "")
    assert reason in done.stderr
    assert "hush" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_study_is_not_called_ok_while_its_answers_cannot_be_looked_up(environment) -> None:
    unreachable = {"S2S_DATABASE_URL": "postgresql://ada:hush@127.0.0.1:1/none"}
    done = CliRunner().invoke(
        main, ["study", "check", environment["S2S_STUDY"], "--json"], env=environment | unreachable
    )
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Connection refused" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_exclusions_are_signed_and_can_be_lifted(environment, answers, plan_of, media_of) -> None:
    run(environment, "import", answers, "--columns", "prompt=item,rater=worker", "--scores", "left=2")
    signed = ("--by", "ada", "--reason", "clicks through", "--json")
    for word, changed in (("exclude", True), ("exclude", False), ("restore", True), ("restore", False)):
        told = json.loads(run(environment, word, "rater", "r", *signed).stdout)
        assert told == {"scope": "rater", "target": "r", "changed": changed}
    store = RatingsStore(open_engine(f"sqlite:///{environment['S2S_HOME']}/ratings.sqlite"), "demo")
    plan = plan_of(prompts=1)
    upsert_tasks(store, plan, media_of(plan))
    assert json.loads(run(environment, "withdraw", "r-0-1", *signed).stdout)["changed"] is True
    assert json.loads(run(environment, "status", "--json").stdout)["pairs"] == 3


def test_an_admin_link_opens_and_is_ended(environment) -> None:
    environment["S2S_RATER_URL"] = "https://rate.example.org"
    made = [run(environment, "admin").stdout.strip(), json.loads(run(environment, "admin", "--json").stdout)["url"]]
    assert all(one.startswith("https://rate.example.org/admin/open/") for one in made)
    assert made[0] != made[1]
    assert run(environment, "admin", "--url", "http://here:1").stdout.startswith("http://here:1/admin/open/")
    assert json.loads(run(environment, "admin", "--end", "--json").stdout) == {"closed": 3}
    assert "0 admin links closed" in run(environment, "admin", "--end").stdout


def test_a_rater_is_forgotten_and_a_list_reconciled(environment, answers, tmp_path) -> None:
    words = ("--columns", "prompt=item,rater=worker", "--scores", "left=2")
    run(environment, "import", answers, *words)
    decision = ("--by", "ada", "--reason", "asked by mail", "--json")
    assert json.loads(run(environment, "forget", "r", *decision).stdout) == {
        "name": "forgotten-1", "answers": 1, "tasks": 0, "sittings": 0
    }  # fmt: skip
    again = run(environment, "forget", "r", *decision)
    assert again.exit_code == 2
    assert "no rater has this name" in again.stderr
    listed = tmp_path / "prolific.csv"
    listed.write_text("Submission id,Participant id,Status,Completion code\ns,p,AWAITING REVIEW,CODE\n")
    told = json.loads(run(environment, "reconcile", listed, "--json").stdout)
    assert told["counts"] == {"full": 0, "screened": 0, "review": 0, "nothing": 1}
    assert "nobody came with this submission's id" in run(environment, "reconcile", listed).stdout


def test_a_project_is_written_from_what_the_store_holds(environment, plan_of, media_of, tmp_path) -> None:
    refused = run(environment, "project", "label-studio", "--out", tmp_path / "project")
    assert refused.exit_code == 2
    assert "no slot is free" in refused.stderr
    home = Path(environment["S2S_HOME"])
    store = StudyStore(open_store(f"file:{home / 'store'}"), load_study(Path(environment["S2S_STUDY"])).study.study)
    sound = encode_flac(Clip(np.full((2400, 1), 0.1), 24_000), 24)
    heard = media_of(plan_of(prompts=1, configs=2)).with_columns(blob=pl.lit(store.put_blob(sound, "flac")))
    database = RatingsStore(open_engine(f"sqlite:///{home / 'ratings.sqlite'}"), store.study)
    upsert_tasks(database, plan_of(prompts=1, configs=2), heard)
    done = run(environment, "project", "potato", "--out", tmp_path / "project", "--json")
    assert json.loads(done.stdout) == {"out": str(tmp_path / "project"), "tasks": 2, "projects": 1, "clips": 1}
    votes = tmp_path / "votes.csv"
    votes.write_text("instance_id,user_id,overall\npair-0-0-1.0,ada,B is better\n")
    brought = json.loads(run(environment, "import", votes, "--from", "potato", "--json").stdout)
    assert brought["inserted"] == 1


def test_verdicts_about_recordings_are_listed(environment) -> None:
    run(environment, "status")
    folder = load_study(Path(environment["S2S_STUDY"]))
    store = RatingsStore(open_engine(Settings.from_environment(environment).database_url), folder.study.study)
    told = {"prompt": "p", "recording": "p-a", "source_blob": "b.wav", "reasons": ["noise"], "author": "[ann]"}
    for minute, verdict in enumerate(("reject", "accept")):
        at = datetime(2026, 3, 1, 9, minute, tzinfo=UTC)
        row = told | {"verdict": verdict, "selected": verdict == "accept", "comment": "x", "created_at": at}
        with store.writing() as connection:
            connection.execute(recording_verdict.insert().values(row))
    assert run(environment, "verdicts").stdout.splitlines() == [
        "2026-03-01 09:00  p-a  reject by [ann]: noise or hum: x  not in force",
        "2026-03-01 09:01  p-a  selected by [ann]: noise or hum: x",
    ]
    rows = json.loads(run(environment, "verdicts", "--json").stdout)
    assert [(r["verdict"], r["in_force"], r["created_at"]) for r in rows] == [
        ("reject", False, "2026-03-01T09:00:00Z"),
        ("accept", True, "2026-03-01T09:01:00Z"),
    ]
