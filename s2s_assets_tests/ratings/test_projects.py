"""Work goes to another tool and its votes come back, signed by what was heard."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest
import yaml
from sqlalchemy import select

from s2s_assets.ratings import RatingsStore, Settled, forget, import_votes, snapshot, write_project
from s2s_assets.ratings.foreign import ORIGINS, Origin
from s2s_assets.ratings.hit_answers import hit_answers
from s2s_assets.ratings.project import LABELS, TOOLS, Projected, Tool
from s2s_assets.ratings.schema import rater
from s2s_assets.study import RatingsError, StudyFolder, load_study

STUDY = """\
study: study
title: Speech & lab
rubrics:
  - {id: reasoning, group: content, gate: needs_reasoning, question: "Which <thinks> & reasons better?"}
  - {id: overall, group: overall, question: "Which response is better?"}
tags: [needs_reasoning]
models:
  - {id: m0, name: M Zero, family: M, provider: lab, adapter: openai_realtime, voices: [{id: v}]}
"""
RUBRICS = ("reasoning", "overall")
PROMPTS = (
    "prompt,text,category,level,tags\np0,say so,facts,L1,needs_reasoning\np1,say so,facts,L1,\np2,say so,facts,L1,\n"
)


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite: nothing here is special to a database."""
    return f"sqlite:///{tmp_path / 'ratings.sqlite'}"


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    place = tmp_path / "study"
    (place / "recordings").mkdir(parents=True)
    (place / "study.yaml").write_text(STUDY)
    (place / "prompts.csv").write_text(PROMPTS)
    (place / "recordings" / "recordings.csv").write_text("recording,prompt,file\n")
    return load_study(place)


@pytest.fixture
def project(planned: RatingsStore, folder: StudyFolder, tmp_path: Path) -> Callable[[Tool], tuple[Path, Projected]]:
    def write(tool: Tool) -> tuple[Path, Projected]:
        def clip(blob: str) -> Path:
            path = tmp_path / f"heard-{abs(sum(map(ord, blob)))}-{len(blob)}.flac"
            path.write_bytes(blob.encode())
            return path

        out = tmp_path / tool
        return out, write_project(planned, folder, tool, out, clip, "https://media.example/audio/")

    return write


def tasks_in(tool: Tool, place: Path) -> list[dict[str, str]]:
    if tool == "label-studio":
        return [task["data"] for task in json.loads((place / "tasks.json").read_text())]
    if tool == "potato":
        return [json.loads(line) for line in (place / "data" / "tasks.jsonl").read_text().splitlines()]
    return pl.read_csv(place / "tasks.csv").to_dicts()


@pytest.mark.parametrize("tool", TOOLS)
def test_a_project_has_every_free_slot_once_and_names_no_config(tool: Tool, project) -> None:
    out, done = project(tool)
    assert (done.tasks, done.projects) == (36, 2)
    tasks = [task for number in ("1", "2") for task in tasks_in(tool, out / number)]
    assert len({task["task"] for task in tasks}) == 36
    first = tasks[0]
    assert all(
        first[f"{role}_audio"].startswith("https://media.example/audio/") for role in ("prompt", "first", "second")
    )
    written = {path: path.read_bytes() for path in out.rglob("*") if path.is_file() and path.parent.name != "audio"}
    assert not [
        path for path, data in written.items() if b"m0|" in data or b"|v|" in data or b'"r-' in data or b",r-" in data
    ]
    named = {task[f"{role}_audio"].rpartition("/")[2] for task in tasks for role in ("prompt", "first", "second")}
    assert named == {path.name for path in (out / "audio").iterdir()}
    with pytest.raises(RatingsError, match="there is something in it"):
        project(tool)


def test_label_studios_form_asks_the_questions_of_the_prompts(project) -> None:
    out, _ = project("label-studio")
    forms = [ET.parse(out / number / "config.xml").getroot() for number in ("1", "2")]
    asked = [[choices.get("name") for choices in form.iter("Choices")] for form in forms]
    assert sorted(asked) == [["overall"], ["reasoning", "overall"]]
    assert {len(list(form.iter("Audio"))) for form in forms} == {3}
    (choices, *_) = forms[0].iter("Choices")
    assert {choice.get("alias"): choice.get("value") for choice in choices} == {str(v): s for v, s in LABELS.items()}
    heads = [head.get("value") for form in forms for head in form.iter("Header")]
    assert "Which <thinks> & reasons better?" in heads


def test_potatos_settings_ask_the_same(project) -> None:
    out, _ = project("potato")
    settings = [yaml.safe_load((out / number / "config.yaml").read_text()) for number in ("1", "2")]
    assert sorted([s["name"] for s in one["annotation_schemes"]] for one in settings) == [
        ["overall"], ["reasoning", "overall"]
    ]  # fmt: skip
    assert settings[0]["annotation_schemes"][0]["labels"][0] == {"name": "A is much better"}
    assert [field["key"] for field in settings[0]["instance_display"]["fields"]] == [
        "prompt_audio", "first_audio", "second_audio"
    ]  # fmt: skip


def a_file(origin: Origin, folder: Path, votes: list[tuple[str, str, str, str]]) -> Path:
    """Votes (task, who, rubric, label) as the tool writes them."""
    path = folder / f"votes.{'json' if origin == 'label-studio' else 'csv'}"
    if origin == "label-studio":
        tasks = [
            {
                "id": k, "data": {"task": task},
                "annotations": [
                    {
                        "id": 100 + k, "completed_by": {"id": 7, "email": who}, "was_cancelled": False, "lead_time": 12.5,
                        "created_at": "2026-03-01T09:30:00.000000Z",
                        "result": [
                            {"from_name": rubric, "to_name": "second", "type": "choices", "value": {"choices": [label]}}
                        ],
                    },
                    {"id": 900 + k, "completed_by": 8, "was_cancelled": True, "result": []},
                ],
            }
            for k, (task, who, rubric, label) in enumerate(votes)
        ]  # fmt: skip
        path.write_text(json.dumps(tasks))
        return path
    rows: list[dict[str, Any]] = []
    for k, (task, who, rubric, label) in enumerate(votes):
        if origin == "potato":
            rows.append({"instance_id": task, "user_id": who, rubric: label})
            continue
        hit = {"HITId": "h", "AssignmentId": f"a{k}", "WorkerId": who, "AssignmentStatus": "Approved"}
        hit |= {"SubmitTime": "Sun Mar 01 01:30:00 PST 2026", "WorkTimeInSeconds": "40"}
        asked = (
            {"Input.task": task, f"Answer.{rubric}": label}
            if origin == "mturk"
            else {"Input.Q1": task, "Answer.Q1": label}
        )
        rows.append(hit | asked | {"Answer.comment": "fine"})
    pl.DataFrame(rows).write_csv(path)
    return path


@pytest.mark.parametrize("origin", ORIGINS)
def test_votes_come_back_signed_by_the_slots_order_and_only_once(origin: Origin, planned, clock, tmp_path) -> None:
    votes = [
        ("pair-0-0-1.0", "ada@example", "overall", "A is better"),
        ("pair-0-0-1.1", "ada@example", "overall", "2"),
        ("pair-1-2-3.0", "ada@example", "overall", "About the same"),
        ("pair-9-9-9.0", "ada@example", "overall", "3"),
    ]
    path = a_file(origin, tmp_path, votes)
    done = import_votes(planned, path, origin, clock(), RUBRICS)
    assert (done.inserted, done.already) == (3, 0)
    assert [r.reason for r in done.rejected] == (
        [] if origin == "p808" and done.read == 3 else ["task 'pair-9-9-9.0' is none of this study's plan"]
    )
    again = import_votes(planned, path, origin, clock.wind(minutes=1), RUBRICS)
    assert (again.inserted, again.already, again.conflicts) == (0, 3, 0)
    frame = snapshot(planned, Settled("", clock(), 0), []).frame.sort("pair", "first")
    assert frame.select("pair", "first", "score", "screen_value", "rubric", "source").rows() == [
        ("pair-0-0-1", "a", 2, -2, "overall", "baseline"),
        ("pair-0-0-1", "b", 2, 2, "overall", "baseline"),
        ("pair-1-2-3", "a", 0, 0, "overall", "baseline"),
    ]
    if origin != "potato":
        assert {when.isoformat() for when in frame["submitted_at"]} == {"2026-03-01T09:30:00+00:00"}
    times = {"label-studio": {12_500}, "mturk": {40_000}}
    assert set(frame["elapsed_ms"]) == times.get(origin, {None})


def test_who_voted_has_a_name_of_no_meaning_and_can_be_forgotten_by_the_tools_id(planned, clock, tmp_path) -> None:
    path = a_file("mturk", tmp_path, [("pair-0-0-1.0", "A1WORKER", "overall", "1")])
    import_votes(planned, path, "mturk", clock(), RUBRICS)
    with planned.reading() as connection:
        (row,) = connection.execute(select(*rater.c["name", "provider", "external_id"])).all()
    assert row.name != row.external_id == "A1WORKER"
    assert row.provider == "mturk"
    assert forget(planned, "A1WORKER", "ada", "asked", clock()).answers == 1


def test_votes_that_are_none_are_told_by_row(planned, clock, tmp_path) -> None:
    path = tmp_path / "batch.csv"
    path.write_text(
        "AssignmentId,WorkerId,AssignmentStatus,Input.task,Answer.overall\n"
        "a1,w,Approved,pair-0-0-1.0,1\na1,w,Approved,pair-0-0-1.0,1\na1,w,Approved,pair-0-0-1.0,2\n"
        "a2,w,Rejected,pair-0-0-2.0,3\na3,,Approved,pair-0-0-3.0,3\n"
    )
    done = import_votes(planned, path, "mturk", clock(), RUBRICS)
    assert (done.inserted, done.already, done.conflicts) == (1, 1, 1)
    assert [(r.row, r.reason.partition(" has ")[0]) for r in done.rejected] == [
        (4, done.rejected[0].reason.partition(" has ")[0]), (6, "nobody is named who voted")
    ]  # fmt: skip


@pytest.mark.parametrize("origin", ["label-studio", "potato", "mturk"])
def test_what_a_form_asks_beside_the_studys_questions_is_no_answer(origin: Origin, planned, clock, tmp_path) -> None:
    votes = [("pair-0-0-1.0", "ada", "overall", "1"), ("pair-0-0-1.1", "ada", "age_group", "3")]
    done = import_votes(planned, a_file(origin, tmp_path, votes), origin, clock(), RUBRICS)
    assert done.inserted == 1
    assert [r.reason for r in done.rejected] == ["'age_group' is none of this study's questions"]


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("Answer.overall.A is better", "true"),
        ("Answer.overall.-2", "TRUE"),
        ("Answer.taskAnswers", '[{"overall": {"-1": false, "-2": true}, "comment": "=1+1", "seen": true}]'),
        ("Answer.taskAnswers", '[{"overall": "A is better"}]'),
    ],
)
def test_a_hits_answers_are_found_in_every_form_of_the_batch(column: str, cell: str, planned, clock, tmp_path) -> None:
    path = tmp_path / "batch.csv"
    columns = ("AssignmentId", "WorkerId", "Input.task", "Answer.overall.0", "Answer.comment")
    pl.DataFrame([("a1", "w", "pair-0-0-1.0", "false", "fine", cell)], (*columns, column), orient="row").write_csv(path)
    assert import_votes(planned, path, "mturk", clock(), RUBRICS).inserted == 1
    frame = snapshot(planned, Settled("", clock(), 0), []).frame
    assert frame["screen_value"].to_list() == [-2]


@pytest.mark.parametrize("cell", ["[1", "7", '[["overall"]]', '[{"overall": {"-2": "true"}}]', "null", ""])
def test_a_document_of_another_shape_holds_no_answers(cell: str) -> None:
    assert hit_answers({"Answer.taskAnswers": cell}) == {}


@pytest.mark.parametrize(
    ("origin", "content", "told"),
    [
        ("label-studio", "{}", "expected Label Studio's JSON export"),
        ("label-studio", "[{]", "not JSON"),
        ("potato", "a,b\n1,2\n", "no column instance_id, user_id"),
        ("mturk", "AssignmentId,WorkerId\n1,2\n", "no column Input.task"),
        ("p808", "AssignmentId,WorkerId\n1,2\n", "no votes"),
    ],
)
def test_a_file_of_another_kind_is_refused(origin: Origin, content: str, told: str, planned, clock, tmp_path) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(RatingsError, match=told):
        import_votes(planned, path, origin, clock(), RUBRICS)
