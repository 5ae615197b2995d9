"""Normalized prompts, and that only what is new is computed."""

import polars as pl
import pytest

from s2s_assets.audio import decode, pcm_sha256
from s2s_assets.prompts import NORMALIZED_AUDIO, normalize_prompts, record_prompts
from s2s_assets.storage import StudyStore
from s2s_assets.study import AudioTarget, QaLimits

TARGET = AudioTarget()


@pytest.fixture
def recorded(script, recording, take, blobs):
    """Makes the table of recordings of a study with n prompts, each of another level."""

    def make(n, **labels):
        scripts = [script(f"p{i}", **labels) for i in range(n)]
        takes = [recording(f"p{i}-a") for i in range(n)]
        audio = {f"p{i}-a.wav": take(level_dbfs=-20 - i) for i in range(n)}
        return record_prompts(scripts, takes, audio.get, QaLimits(), blobs.put)

    return make


def run(recorded, blobs, previous=None, target=TARGET):
    return normalize_prompts(recorded, target, blobs.__getitem__, blobs.put, previous)


def test_every_selected_take_is_brought_to_the_target(recorded, blobs):
    result = run(recorded(3), blobs)
    frame = result.frame
    assert frame.schema == NORMALIZED_AUDIO
    assert (result.computed, result.reused) == (3, 0)
    assert frame["loudness_lufs"].to_list() == pytest.approx([-23.0] * 3, abs=0.01)
    assert frame["gain_db"].diff().drop_nulls().to_list() == pytest.approx([1.0, 1.0], abs=0.05)
    for row in frame.iter_rows(named=True):
        clip = decode(blobs[row["audio_blob"]], row["prompt"])
        assert row["audio_blob"].endswith(".flac")
        assert (pcm_sha256(clip), clip.duration_s) == (row["pcm_sha256"], row["duration_s"])


def test_nothing_new_computes_nothing_and_gives_the_same_table(recorded, blobs):
    first = run(recorded(3), blobs)
    puts = blobs.puts
    again = normalize_prompts(recorded(3), TARGET, lambda ref: pytest.fail("a blob was read"), blobs.put, first.frame)
    assert (again.computed, again.reused) == (0, 3)
    assert again.frame.equals(first.frame)
    assert blobs.puts == puts + 3  # of record_prompts alone


def test_one_prompt_more_normalizes_one_prompt(recorded, blobs):
    first = run(recorded(3), blobs)
    more = run(recorded(4), blobs, first.frame)
    assert (more.computed, more.reused) == (1, 3)
    assert more.frame.head(3).equals(first.frame)
    assert more.frame.equals(run(recorded(4), blobs).frame)


def test_a_relabelled_script_keeps_its_audio(recorded, blobs):
    first = run(recorded(2), blobs)
    relabelled = run(recorded(2, level="L5"), blobs, first.frame)
    assert (relabelled.computed, relabelled.frame["level"].to_list()) == (0, ["L5", "L5"])
    assert relabelled.frame["pcm_sha256"].equals(first.frame["pcm_sha256"])


@pytest.mark.parametrize(
    "target", [AudioTarget(target_lufs=-20), AudioTarget(ceiling_dbtp=-3), AudioTarget(trim=False)]
)
def test_another_target_computes_all_again(recorded, blobs, target):
    first = run(recorded(2), blobs)
    assert run(recorded(2), blobs, first.frame, target).computed == 2


def test_a_prompt_that_is_no_longer_selected_leaves_the_table(recorded, blobs):
    first = run(recorded(2), blobs)
    table = recorded(2).with_columns(selected=pl.col("prompt") == "p1")
    assert run(table, blobs, first.frame).frame["prompt"].to_list() == ["p1"]


def test_what_cannot_be_normalized_is_a_row_with_its_reason_and_stays_one(recorded, blobs):
    table = recorded(2)
    blobs[table["source_blob"][0]] = b"damaged"
    first = run(table, blobs)
    row = first.frame.row(0, named=True)
    assert (row["status"], row["audio_blob"], row["gain_db"]) == ("refused", None, None)
    assert "p0-a.wav" in row["reason"]
    assert first.frame["status"].to_list() == ["refused", "ok"]
    assert run(table, blobs, first.frame).computed == 0


def test_no_recordings_give_an_empty_table_of_the_right_types(recorded, blobs):
    result = run(recorded(0), blobs)
    assert (result.frame.height, result.frame.schema, result.computed, result.reused) == (0, NORMALIZED_AUDIO, 0, 0)
    assert run(recorded(1), blobs, result.frame).computed == 1


def test_it_works_on_a_real_store(script, recording, take, directory_store: StudyStore):
    table = record_prompts([script("p")], [recording("p-a")], lambda file: take(), QaLimits(), directory_store.put_blob)
    first = normalize_prompts(table, TARGET, directory_store.get_blob, directory_store.put_blob)
    stored = directory_store.write_table("normalized_audio", None, first.frame)
    read = directory_store.read_table("normalized_audio", None, stored.version).frame
    again = normalize_prompts(table, TARGET, directory_store.get_blob, directory_store.put_blob, read)
    assert again.reused == 1
    assert directory_store.write_table("normalized_audio", None, again.frame).version == stored.version
