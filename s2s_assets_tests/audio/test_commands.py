"""`s2s audio` as the contract has it."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
from click.testing import CliRunner

from s2s_assets.cli import main

MEASURES = [
    *("duration_s", "sample_rate_hz", "channels", "loudness_lufs", "true_peak_dbtp", "sample_peak_dbfs"),
    *("leading_silence_s", "trailing_silence_s", "clipped_share", "noise_floor_dbfs", "speech_level_dbfs"),
    "pcm_sha256",
]
KEYS = ["file", "status", "reason", *MEASURES, "warnings"]
ADDED = ["output", "gain_db", "trimmed_start_s", "trimmed_end_s", "after"]


def call(*arguments):
    return CliRunner().invoke(main, ["audio", *map(str, arguments)], catch_exceptions=False)


def rows(*arguments):
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def files(tmp_path: Path, wav, babble, tone) -> Path:
    """A folder with good and bad files, two of them of one name."""
    folder = tmp_path / "in"
    for sub in ("a", "b"):
        (folder / sub).mkdir(parents=True)
    (folder / "good.wav").write_bytes(wav(babble(1)))
    (folder / "silent.wav").write_bytes(wav(np.zeros((24000, 1))))
    (folder / "short.wav").write_bytes(wav(tone(-20, 0.1)))
    (folder / "empty.wav").write_bytes(b"")
    (folder / "lying.wav").write_bytes(wav(babble(1), size=0))
    for sub, seed in (("a", 3), ("b", 4)):
        (folder / sub / "same.wav").write_bytes(wav(babble(1, seed=seed)))
    sf.write(folder / "b" / "same.flac", babble(1, seed=5), 24000)
    return folder


def test_measure_has_a_row_a_file_in_the_order_given(files):
    paths = [files / n for n in ("silent.wav", "good.wav", "gone.wav", "empty.wav", "short.wav", "lying.wav", "a")]
    found = rows("measure", *paths)
    assert [row["file"] for row in found] == [str(p) for p in paths]
    assert [row["status"] for row in found] == ["refused", "ok", *["refused"] * 3, "ok", "refused"]
    assert all(list(row) == KEYS for row in found)
    refused = [row for row in found if row["status"] == "refused"]
    assert len({row["reason"] for row in refused}) == len(refused)
    assert all(row[key] is None for row in refused for key in MEASURES)
    assert found[1]["pcm_sha256"] == found[5]["pcm_sha256"]
    assert found[5]["warnings"] == ["header_size"]


def test_normalize_adds_its_keys_to_every_row(files, tmp_path):
    good, bad = rows("normalize", files / "good.wav", files / "empty.wav", "--out", tmp_path / "out")
    assert list(good) == list(bad) == KEYS + ADDED
    assert all(bad[key] is None for key in MEASURES + ADDED)
    assert list(good["after"]) == [*MEASURES, "warnings"]
    samples, rate_hz = sf.read(good["output"], always_2d=True)
    assert len(samples) / rate_hz == good["after"]["duration_s"]
    assert sf.info(good["output"]).subtype == "PCM_24"


def test_inputs_of_one_name_get_an_output_each_with_the_same_names_again(files, tmp_path):
    same = [files / "a" / "same.wav", files / "b" / "same.wav", files / "b" / "same.flac"]
    first = rows("normalize", *same, "--out", tmp_path / "one")
    second = rows("normalize", *same, "--out", tmp_path / "two")
    assert [Path(row["output"]).name for row in first] == ["same.flac", "same-2.flac", "same-3.flac"]
    for a, b in zip(first, second, strict=True):
        assert Path(a["output"]).name == Path(b["output"]).name
        assert Path(a["output"]).read_bytes() == Path(b["output"]).read_bytes()


def test_a_name_that_looks_numbered_already_is_not_taken_twice(files, tmp_path):
    (files / "same-2.wav").write_bytes((files / "good.wav").read_bytes())
    paths = [files / "same-2.wav", files / "a" / "same.wav", files / "b" / "same.wav"]
    outputs = [row["output"] for row in rows("normalize", *paths, "--out", tmp_path / "out")]
    assert len(set(outputs)) == 3


@pytest.mark.parametrize("reach", ["same folder", "link in the folder", "folder through a link"])
def test_a_source_is_never_overwritten(files, tmp_path, reach):
    sources = [files / "b" / "same.flac", files / "b" / "same.wav"]
    out = files / "b"
    if reach == "link in the folder":
        out = tmp_path / "out"
        out.mkdir()
        os.link(sources[0], out / "same.flac")
    elif reach == "folder through a link":
        out = tmp_path / "link"
        out.symlink_to(files / "b")
    before = [hashlib.sha256(path.read_bytes()).digest() for path in sources]
    found = rows("normalize", *sources, "--out", out)
    assert [hashlib.sha256(path.read_bytes()).digest() for path in sources] == before
    assert [Path(row["output"]).name for row in found] == ["same-2.flac", "same-3.flac"]


def test_wav_output_target_ceiling_and_no_trim_are_options(files, tmp_path, wav, babble):
    padded = np.concatenate([np.zeros((24000, 1)), babble(1)])
    (files / "padded.wav").write_bytes(wav(padded))
    options = [
        "--target-lufs",
        "-16",
        "--ceiling-dbtp",
        "-3",
        "--no-trim",
        "--format",
        "wav",
        "--out",
        tmp_path / "out",
    ]
    (row,) = rows("normalize", files / "padded.wav", *options)
    assert row["output"].endswith("padded.wav")
    assert (row["trimmed_start_s"], row["after"]["duration_s"]) == (0, 2.0)
    assert row["after"]["true_peak_dbtp"] <= -3 + 1e-3
    assert row["after"]["loudness_lufs"] == pytest.approx(-16, abs=0.05) or "ceiling_limited" in row["warnings"]


def test_two_dashes_end_the_options(files, monkeypatch):
    monkeypatch.chdir(files)
    Path("--json").write_bytes(Path("good.wav").read_bytes())
    (row,) = json.loads(call("measure", "--json", "--", "--json").stdout)
    assert (row["file"], row["status"]) == ("--json", "ok")


@pytest.mark.parametrize(
    "options",
    [
        ["--target-lufs", "nan"],
        ["--target-lufs", "3"],
        ["--ceiling-dbtp", "1"],
        ["--ceiling-dbtp", "-inf"],
        ["--format", "mp3"],
    ],
)
def test_a_target_that_makes_no_sense_is_a_wrong_call(files, tmp_path, options):
    result = call("normalize", files / "good.wav", "--out", tmp_path / "out", *options, "--json")
    assert result.exit_code == 2
    assert not result.stdout
    assert result.stderr.strip()


def test_no_file_at_all_and_an_output_folder_that_is_a_file_are_wrong_calls(files):
    assert call("measure").exit_code == 2
    result = call("normalize", files / "good.wav", "--out", files / "good.wav")
    assert result.exit_code == 2
    assert "--out" in result.stderr


def test_a_name_that_is_not_utf_8_is_a_row(files):
    path = os.fsencode(files) + b"/\xff\xfe.wav"
    Path(os.fsdecode(path)).write_bytes((files / "good.wav").read_bytes())
    (row,) = rows("measure", os.fsdecode(path))
    assert row["status"] == "ok"


def test_people_get_a_table_and_the_notes_below_it(files):
    result = call("measure", files / "good.wav", files / "silent.wav", files / "lying.wav")
    assert result.exit_code == 0
    assert "LUFS" in result.stdout
    assert f"{files / 'silent.wav'}: silent" in result.stdout.replace("\n", "")
    assert "header_size" in result.stdout


def test_a_long_name_stands_whole_in_a_narrow_table(files, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    name = files / f"take [final] of {'a-contributor-' * 6}.wav"
    (files / "good.wav").rename(name)
    assert str(name) in call("measure", name).stdout


def test_nothing_but_outputs_is_left_in_the_folder(files, tmp_path):
    rows("normalize", files / "good.wav", files / "empty.wav", "--out", tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["good.flac"]
