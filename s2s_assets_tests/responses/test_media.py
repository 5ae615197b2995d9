"""What raters hear: one form for all, one loudness, and nothing refused silently."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from s2s_assets.audio import decode, encode_flac, from_pcm16, measure, pcm16, pcm_sha256
from s2s_assets.responses import RESPONSE_AUDIO, RESPONSES, response_audio
from s2s_assets.storage import StudyStore
from s2s_assets.study import AudioTarget

TARGET = AudioTarget()


def _answer(
    store: StudyStore, prompt: str, samples: np.ndarray, rate_hz: int = 24_000, **changes: Any
) -> dict[str, Any]:
    clip = from_pcm16(pcm16(samples.reshape(-1, 1)), rate_hz)
    blob = store.put_blob(encode_flac(clip, 16), "flac")
    row = {"response_id": f"id-{prompt}", "prompt": prompt, "config": "m|v|none", "status": "ok", "audio_blob": blob}
    return {**row, **changes}


def _table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame([{name: row.get(name) for name in RESPONSES} for row in rows], schema=RESPONSES, orient="row")


def _voice(seconds: float, level: float, rate_hz: int = 24_000) -> np.ndarray:
    t = np.arange(round(seconds * rate_hz)) / rate_hz
    return level * np.sin(2 * np.pi * 220 * t) * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * t))


@pytest.fixture
def answers(directory_store: StudyStore) -> pl.DataFrame:
    return _table(
        [
            _answer(directory_store, "loud", _voice(2, 0.9)),
            _answer(directory_store, "quiet", _voice(2, 0.02)),
            _answer(directory_store, "other_rate", _voice(2, 0.3, 16_000), 16_000),
            _answer(directory_store, "short", _voice(0.2, 0.5)),
            _answer(directory_store, "failed", _voice(1, 0.5), status="truncated", audio_blob=None),
        ]
    )


def test_all_answers_sound_alike_in_form_and_level(answers: pl.DataFrame, directory_store: StudyStore) -> None:
    result = response_audio(answers, TARGET, directory_store)
    assert result.frame.schema == RESPONSE_AUDIO
    assert result.frame["prompt"].to_list() == ["loud", "other_rate", "quiet", "short"]
    for row in result.frame.filter(pl.col("status") == "ok").iter_rows(named=True):
        clip = decode(directory_store.get_blob(row["media_blob"]), row["prompt"])
        assert (clip.rate_hz, clip.channels) == (24_000, 1)
        assert clip.duration_s == pytest.approx(2)
        assert pcm_sha256(clip) == row["pcm_sha256"]
        measured = measure(clip)
        assert measured.loudness_lufs == pytest.approx(TARGET.target_lufs, abs=0.5)
        assert measured.true_peak_dbtp is not None
        assert measured.true_peak_dbtp <= TARGET.ceiling_dbtp + 0.01


def test_what_cannot_be_measured_is_refused_by_name(answers: pl.DataFrame, directory_store: StudyStore) -> None:
    result = response_audio(answers, TARGET, directory_store)
    assert (result.made, result.reused, result.refused) == (4, 0, 1)
    (refused,) = result.frame.filter(pl.col("status") == "refused").iter_rows(named=True)
    assert refused["prompt"] == "short"
    assert refused["reason"]
    assert refused["media_blob"] is None


def test_silence_around_an_answer_stays(directory_store: StudyStore) -> None:
    padded = np.concatenate([np.zeros(24_000), _voice(1, 0.3), np.zeros(24_000)])
    frame = response_audio(_table([_answer(directory_store, "p", padded)]), TARGET, directory_store).frame
    assert frame["duration_s"].to_list() == [pytest.approx(3)]


def test_how_an_answer_came_and_was_spoken(directory_store: StudyStore) -> None:
    voice = _voice(1, 0.3)
    padded = np.concatenate([np.zeros(12_000), voice, np.zeros(9_600), voice, np.zeros(6_000)])
    said = {"output_transcript": "one two three four five six", "input_sent_ms": 700.0, "first_audio_ms": 1000.0}
    heard = {"stalls": 2, "stalled_s": 0.4}
    rows = [
        _answer(directory_store, "plain", padded, **said, **heard),
        _answer(directory_store, "slower_rate", padded[::3], 8_000, **said),
        _answer(directory_store, "untold", padded),
        _answer(directory_store, "loud", np.clip(_voice(1, 1.5), -1, 1), output_transcript="so " * 30),
    ]
    frame = response_audio(_table(rows), TARGET, directory_store).frame
    loud, plain, slower, untold = frame.iter_rows(named=True)
    assert (plain["stalls"], plain["stalled_s"], plain["words"]) == (2, 0.4, 6)
    assert plain["leading_silence_s"] == pytest.approx(0.5, abs=0.011)
    assert plain["trailing_silence_s"] == pytest.approx(0.25, abs=0.011)
    assert plain["longest_pause_s"] == pytest.approx(0.4, abs=0.021)
    assert plain["delay_ms"] == 300
    assert plain["perceived_delay_ms"] == pytest.approx(300 + 1000 * plain["leading_silence_s"])
    assert plain["words_per_s"] == pytest.approx(6 / 2.4, rel=0.02)
    assert plain["clipped_share"] == 0
    assert slower["longest_pause_s"] == pytest.approx(0.4, abs=0.021)
    assert slower["duration_s"] == pytest.approx(plain["duration_s"])
    for name in ("delay_ms", "perceived_delay_ms", "stalls", "stalled_s", "words", "words_per_s"):
        assert untold[name] is None, name
    assert loud["clipped_share"] > 0.1
    assert loud["sample_peak_dbfs"] == pytest.approx(0, abs=0.01)
    assert "many_words" in loud["warnings"]
    assert "many_words" not in plain["warnings"]


def test_outliers_are_told_anew_among_all_answers(directory_store: StudyStore) -> None:
    usual = [_answer(directory_store, f"p{n:02d}", _voice(2, 0.3), output_transcript="so " * 6) for n in range(25)]
    odd = _answer(directory_store, "p99", _voice(2, 0.3), output_transcript="so " * 11)
    alone = response_audio(_table([odd]), TARGET, directory_store).frame
    assert alone["warnings"].to_list() == [[]]
    together = response_audio(_table([*usual, odd]), TARGET, directory_store, alone)
    assert together.reused == 1
    assert together.frame["warnings"].to_list() == [[]] * 25 + [["many_words"]]
    again = response_audio(_table([odd]), TARGET, directory_store, together.frame)
    assert again.frame["warnings"].to_list() == [[]]


def test_only_new_answers_are_made(
    answers: pl.DataFrame, directory_store: StudyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    previous = response_audio(answers.head(2), TARGET, directory_store).frame
    read: list[str] = []
    get: Callable[[str], bytes] = directory_store.get_blob
    monkeypatch.setattr(directory_store, "get_blob", lambda ref: read.append(ref) or get(ref))
    result = response_audio(answers, TARGET, directory_store, previous)
    assert (result.made, result.reused) == (2, 2)
    assert len(read) == 2
    assert result.frame.equals(response_audio(answers, TARGET, directory_store).frame)


def test_a_config_without_answers_has_an_empty_table(directory_store: StudyStore) -> None:
    result = response_audio(_table([]), TARGET, directory_store)
    assert result.frame.schema == RESPONSE_AUDIO
    assert result.frame.is_empty()
