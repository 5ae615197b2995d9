"""The table of recordings: measured, checked, judged, one selected a script; what is bad is a row and stops nothing."""

import polars as pl
import pytest

from s2s_assets.prompts import RECORDED_PROMPTS, prompts_without_take, record_prompts
from s2s_assets.study import AudioError, QaLimits


@pytest.fixture
def study(script, recording, take):
    """Scripts, recordings, and a reader of their files."""
    scripts = [
        script("p2", acoustic="far_field", tags=frozenset({"b", "a"})),
        script("p1"),
        script("p3"),
        script("p4"),
    ]
    recordings = [
        recording("p2-b"),
        recording("p2-a", speaker="eve"),
        recording("p1-a", verdict="reject", verdict_reason="a cough", verdict_by="ann"),
        recording("p1-b"),
        recording("p1-c", file="deep/p1-c.OGA"),
        recording("p3-a"),
    ]
    audio = {
        "p2-a.wav": take(noise_dbfs=-35),
        "p2-b.wav": take(noise_dbfs=-30),
        "p1-a.wav": take(),
        "p1-b.wav": take(drive=20),
        "deep/p1-c.OGA": take(),
        "p3-a.wav": b"",
    }
    return scripts, recordings, audio


def record(study, blobs):
    scripts, recordings, audio = study
    return record_prompts(scripts, recordings, audio.get, QaLimits(), blobs.put)


def test_rows_are_sorted_typed_and_hold_what_the_files_say(study, blobs):
    frame = record(study, blobs)
    assert frame.schema == RECORDED_PROMPTS
    assert frame["recording"].to_list() == ["p1-a", "p1-b", "p1-c", "p2-a", "p2-b", "p3-a"]
    row = frame.row(3, named=True)
    assert (row["prompt"], row["text"], row["acoustic"], row["tags"]) == ("p2", "Say p2.", "far_field", ["a", "b"])
    assert (row["speaker"], row["file"], row["status"], row["qa"]) == ("eve", "p2-a.wav", "ok", "pass")
    assert row["noise_floor_dbfs"] == pytest.approx(-35, abs=2)
    assert row["speech_level_dbfs"] == pytest.approx(-20, abs=1)


def test_one_take_a_script_is_selected(study, blobs):
    frame = record(study, blobs)
    assert frame.filter("selected")["recording"].to_list() == ["p1-c", "p2-a"]
    assert frame["selection_reason"].str.len_chars().min() > 0


def test_the_bytes_as_delivered_are_stored_under_their_own_suffix(study, blobs):
    frame = record(study, blobs)
    _, _, audio = study
    for file, reference in frame.select("file", "source_blob").iter_rows():
        assert blobs[reference] == audio[file]
    assert frame.filter(recording="p1-c")["source_blob"].item().endswith(".oga")


def test_a_refused_recording_is_a_row_with_its_reason_and_no_measures(study, blobs):
    row = record(study, blobs).filter(recording="p3-a").row(0, named=True)
    assert (row["status"], row["reason"], row["qa"]) == ("refused", "p3-a.wav: an empty file", None)
    assert (row["loudness_lufs"], row["duration_s"], row["pcm_sha256"], row["selected"]) == (None, None, None, False)


def test_a_missing_file_and_a_file_that_cannot_be_read_are_rows(script, recording, take, blobs):
    def read(file):
        if file == "p-b.wav":
            raise AudioError("not a regular file")
        return take() if file == "p-c.wav" else None

    takes = [recording("p-a"), recording("p-b"), recording("p-c")]
    frame = record_prompts([script("p")], takes, read, QaLimits(), blobs.put)
    assert frame["reason"].to_list() == ["p-a.wav: the file is missing", "not a regular file", None]
    assert frame["source_blob"].is_null().to_list() == [True, True, False]
    assert frame["selected"].to_list() == [False, False, True]


def test_scripts_without_a_take_are_listed_with_the_reason(study, blobs):
    scripts, _, _ = study
    missing = prompts_without_take(scripts, record(study, blobs))
    assert list(missing) == ["p3", "p4"]
    assert missing["p3"].startswith("p3-a refused: p3-a.wav: an empty file")
    assert missing["p4"] == "no recording"


def test_a_study_without_recordings_gives_an_empty_table_of_the_right_types(script, blobs):
    frame = record_prompts([script("p")], [], lambda file: None, QaLimits(), blobs.put)
    assert (frame.height, frame.schema) == (0, RECORDED_PROMPTS)
    assert prompts_without_take([script("p")], frame) == {"p": "no recording"}


def test_the_order_of_the_tables_does_not_matter(study, blobs):
    scripts, recordings, audio = study
    other = record((scripts[::-1], recordings[::-1], audio), blobs)
    assert other.equals(record(study, blobs))


def test_rows_are_sorted_by_prompt_whatever_the_recordings_are_called(script, recording, take, blobs):
    takes = [recording("a", prompt="z"), recording("b", prompt="y"), recording("c", prompt="z")]
    frame = record_prompts([script("z"), script("y")], takes, lambda file: take(), QaLimits(), blobs.put)
    assert frame["recording"].to_list() == ["b", "a", "c"]


def test_no_column_holds_nan(study, blobs):
    frame = record(study, blobs)
    floats = frame.select(pl.col(pl.Float64).is_nan().any())
    assert not any(floats.row(0))
