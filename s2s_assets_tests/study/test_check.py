"""The checker, the freeze rule, the template and the two studies that ship."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from s2s_assets.study import Finding, digest, load_study, sha256_hex
from s2s_assets.study.check import check_study
from s2s_assets.study.commands import study as command
from s2s_assets.study.freeze import FreezeReader, Frozen, Take, frozen_edits

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return Path(shutil.copytree(STUDIES / "demo", tmp_path / "demo"))


def edit(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))


def frozen_demo() -> Frozen:
    folder = load_study(STUDIES / "demo")
    by_id = {r.recording: r for r in folder.recordings}
    take = by_id["demo-02-a"]
    return Frozen(
        settings={str(c.key): digest(c.settings) for c in folder.study.configs},
        takes={"demo-02": Take(take.recording, sha256_hex(folder.path_of(take).read_bytes()))},
    )


def test_shipped_demo_is_complete() -> None:
    report = check_study(STUDIES / "demo")
    assert report.ok
    counts = report.balance
    assert (counts["prompts"], counts["configs"], counts["families"]) == (12, 13, 6)
    assert (counts["scripts_without_recording"], counts["recordings_without_file"]) == (0, 0)
    assert min(counts["tags"].values()) > 0
    assert load_study(STUDIES / "demo").study.analysis.simulated


def test_shipped_dai_study_has_the_shape_of_the_method() -> None:
    report = check_study(STUDIES / "dai-s2s-st")
    assert report.ok
    counts = report.balance
    assert (counts["prompts"], counts["configs"], counts["families"]) == (819, 19, 6)
    assert {n for cells in counts["category_level"].values() for n in cells.values()} == {14}
    assert len(counts["category_level"]) == 11
    assert (counts["rubrics"], counts["gated_rubrics"]) == (12, 3)
    assert list(counts["rubric_groups"]) == ["content", "humanness", "technical", "overall"]
    study = load_study(STUDIES / "dai-s2s-st").study
    assert all(m.note for m in study.models)
    assert study.model_copy().default_instruction == "You are a helpful voice assistant"
    assert [m.id for m in study.models if m.instruction] == ["qwen3-omni"]
    assert {len(m.voices) for m in study.models if m.adapter != "cascade"} == {2}


@pytest.mark.parametrize(("removed", "told"), [(2, False), (3, True), (14, True)])
def test_a_thin_cell_of_the_prompt_table_is_told(tmp_path: Path, removed: int, told: bool) -> None:
    folder = Path(shutil.copytree(STUDIES / "dai-s2s-st", tmp_path / "dai"))
    gone = {f"advice-L2-{n:02}" for n in range(1, removed + 1)}
    rows = (folder / "prompts.csv").read_text().splitlines(keepends=True)
    (folder / "prompts.csv").write_text("".join(row for row in rows if row.split(",", 1)[0] not in gone))
    report = check_study(folder)
    assert report.balance["category_level"]["advice"]["L2"] == 14 - removed
    assert any(f.key == "category" and f"from {14 - removed} to 14" in f.message for f in report.warnings) == told


def test_a_trap_that_is_not_there_is_told_with_path_line_and_key(demo: Path) -> None:
    assert check_study(demo).warnings == check_study(STUDIES / "demo").warnings
    (demo / "traps" / "choose_b.flac").unlink()
    (told,) = [f for f in check_study(demo).warnings if f.key.startswith("sessions")]
    line = (demo / "study.yaml").read_text().splitlines().index("    - {file: traps/choose_b.flac, answer: 3}") + 1
    assert (told.file, told.line, told.key) == ("study.yaml", line, "sessions.traps.1.file")
    assert str(demo / "traps" / "choose_b.flac") in told.message
    assert "the rating app does not start" in told.message


@pytest.mark.parametrize("file", ["../choose_a.flac", "/etc/choose_a.flac"])
def test_a_trap_outside_the_study_is_refused(demo: Path, file: str) -> None:
    edit(demo, "study.yaml", "traps/choose_a.flac", file)
    report = check_study(demo)
    assert not report.ok
    assert [(f.key, f.message.partition(";")[0]) for f in report.errors] == [
        ("sessions.traps.0.file", f"{file!r} leaves the study folder")
    ]


def test_a_gold_question_that_is_none_is_told(demo: Path) -> None:
    edit(demo, "study.yaml", "  tasks: 8\n", "  tasks: 8\n  gold_rubric: audio_qualty\n")
    (told,) = [f for f in check_study(demo).warnings if f.key == "sessions.gold_rubric"]
    assert "'audio_qualty' is no rubric" in told.message
    assert "audio_quality" in told.message


def test_missing_and_unbalanced_things_are_warnings(demo: Path) -> None:
    (demo / "recordings" / "asterisk_en" / "tt-weasels.flac").unlink()
    (demo / "recordings" / "stray.wav").write_bytes(b"")
    edit(
        demo,
        "recordings.csv",
        "demo-01-a,demo-01,asterisk_en/tt-somethingwrong.flac,allison,accept,,demo-reviewer\n",
        "",
    )
    edit(demo, "recordings.csv", ",recorded in a quiet room; this script belongs to the degraded set,", ",,")
    edit(demo, "prompts.csv", "has_instruction", "")
    edit(demo, "study.yaml", "{id: alex, gender: male,", "{id: alex, gender: female,")
    (demo / "prompts.csv").write_text((demo / "prompts.csv").read_text().replace("has_emotion", ""))
    report = check_study(demo)
    assert report.ok, report.errors
    told = {(f.file, f.key, f.line) for f in report.warnings}
    line = {r.recording: r.line for r in load_study(demo).recordings}
    assert {
        ("recordings.csv", "file", line["demo-02-a"]),
        ("recordings.csv", "file", None),
        ("recordings.csv", "verdict_reason", line["demo-11-a"]),
        ("prompts.csv", "prompt", 2),
    } <= told
    messages = [f.message for f in report.warnings]
    assert any("recordings/stray.wav" in m for m in messages)
    assert any("'emotional_response' is never asked" in m for m in messages)
    assert any("lacks a male voice" in m for m in messages)


def test_limits_of_a_provider_that_no_model_has_are_told(demo: Path) -> None:
    edit(demo, "study.yaml", "refit:", "providers: {demo: {concurrency: 2}, opnai: {budget_usd: 5}}\nrefit:")
    report = check_study(demo)
    assert report.ok
    (warning,) = [w for w in report.warnings if "provider" in w.message]
    assert (warning.key, "'opnai'" in warning.message) == ("providers.opnai", True)


@pytest.mark.parametrize(
    ("providers", "key"),
    [
        ("{demo: {budget_usd: -1}}", "providers.demo.budget_usd"),
        ("{demo: {concurrency: 0}}", "providers.demo.concurrency"),
        ("{demo: {requests_per_minute: 0}}", "providers.demo.requests_per_minute"),
        ("{demo: {request_per_minute: 9}}", "providers.demo.request_per_minute"),
        ("{demo: {prices: {m: {audio_hour: free}}}}", "providers.demo.prices.m.audio_hour"),
    ],
)
def test_a_wrong_limit_is_told_where_it_stands(demo: Path, providers: str, key: str) -> None:
    edit(demo, "study.yaml", "refit:", f"providers: {providers}\nrefit:")
    report = check_study(demo)
    assert [e.key for e in report.errors] == [key]


def test_nothing_is_frozen_in_an_unchanged_folder(demo: Path) -> None:
    assert frozen_edits(load_study(demo), frozen_demo()) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "where", "remedy"),
    [
        ("study.yaml", "{model: demo-phone,", "{model: demo-other,", "models.1", "give the changed model a new id"),
        ("study.yaml", "id: demo-hasty\n", "id: demo-fast\n", "models", "retired: DATE"),
        (
            "study.yaml",
            "language: en\n",
            "default_instruction: Be brief\n",
            "models.0",
            "give the changed model a new id",
        ),
        ("recordings.csv", "demo-02-a,demo-02", "demo-02-z,demo-02", "recording", "new prompt id"),
        ("recordings.csv", "demo-02-a,demo-02", "demo-02-a,demo-03", "recording", "new prompt id"),
        ("recordings.csv", "tt-weasels.flac,allison,,", "tt-weasels.flac,allison,reject,", "verdict", "new prompt id"),
        ("recordings.csv", "tt-weasels.flac", "tt-monkeysintro.flac", "file", "new prompt id"),
        ("prompts.csv", "demo-02,", "demo-99,", "prompt", "put its row back"),
    ],
)
def test_an_edit_of_what_has_answers_is_refused_with_a_remedy(
    demo: Path, file: str, old: str, new: str, where: str, remedy: str
) -> None:
    edit(demo, file, old, new)
    if file == "prompts.csv":
        (demo / "recordings.csv").write_text((demo / "recordings.csv").read_text().replace(",demo-02,", ",demo-99,"))
    report = check_study(demo, FreezeReader(lambda _: frozen_demo()))
    assert not report.ok
    assert [f for f in report.errors if f.key == where and remedy in f.message], report.errors


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("study.yaml", "title: Demo study", "title: The demo study"),
        ("study.yaml", "name: Demo Phone", "name: Demo Telephone"),
        ("study.yaml", "family: demo-phone\n", "family: demo-phone\n    retired: 2026-10-01\n"),
        ("study.yaml", "slots: 2", "slots: 3"),
        ("prompts.csv", "Weasels have", "Some weasels have"),
    ],
)
def test_an_edit_that_sends_nothing_else_is_free(demo: Path, file: str, old: str, new: str) -> None:
    edit(demo, file, old, new)
    assert check_study(demo, FreezeReader(lambda _: frozen_demo())).ok


def test_without_a_ratings_database_nothing_is_frozen(demo: Path) -> None:
    edit(demo, "study.yaml", "{model: demo-phone,", "{model: demo-other,")
    assert check_study(demo, FreezeReader(lambda _: None)).ok


def test_command_prints_one_document_and_ends_in_two_when_not_ok(demo: Path) -> None:
    good = CliRunner().invoke(command, ["check", str(demo), "--json"])
    assert good.exit_code == 0
    document = json.loads(good.stdout)
    assert (document["ok"], document["errors"]) == (True, [])
    assert "demo-clear|annie|minimal" in document["balance"]["config_keys"]
    edit(demo, "prompts.csv", "L2", "L7")
    bad = CliRunner().invoke(command, ["check", str(demo), "--json"])
    assert bad.exit_code == 2
    assert [(e["file"], e["line"], e["key"]) for e in json.loads(bad.stdout)["errors"]] == [("prompts.csv", 2, "level")]
    for_people = CliRunner().invoke(command, ["check", str(demo)])
    assert for_people.exit_code == 2
    assert "not ok, 1 error, 1 warning" in for_people.stdout
    assert "prompts.csv:2: level" in for_people.stderr


def test_people_find_the_balance_on_standard_output(demo: Path) -> None:
    shown = CliRunner().invoke(command, ["check", str(demo)], env={"COLUMNS": "50"})
    assert "Clean prompts by category and level" in shown.stdout
    assert "demo-clear|annie|mini" in shown.stdout
    assert "…" not in shown.stdout
    assert "Clean prompts by category and level" not in shown.stderr


def test_many_findings_of_a_kind_are_counted_for_people(demo: Path) -> None:
    rows = "".join(f"x{n},hi,nowhere,L1,clean,,public\n" for n in range(40))
    (demo / "prompts.csv").write_text((demo / "prompts.csv").read_text() + rows)
    shown = CliRunner().invoke(command, ["check", str(demo)]).stderr
    assert "and 28 more" in shown


def test_new_study_passes_its_check_and_refuses_a_full_folder(tmp_path: Path) -> None:
    folder = tmp_path / "Our study 1"
    made = CliRunner().invoke(command, ["new", str(folder), "--json"])
    assert made.exit_code == 0
    assert "study.yaml" in json.loads(made.stdout)["files"]
    assert check_study(folder).ok
    assert load_study(folder).study.study == "Our-study-1"
    again = CliRunner().invoke(command, ["new", str(folder)])
    assert again.exit_code == 2
    assert "not an empty folder" in again.stderr


def test_a_finding_reads_as_a_place() -> None:
    assert str(Finding("study.yaml", 3, "models.0", "wrong")) == "study.yaml:3: models.0: wrong"
    assert str(Finding("prompts.csv", None, "", "missing")) == "prompts.csv: missing"
