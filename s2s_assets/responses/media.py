"""What raters hear: every answer in one form, matched in loudness.

    final audio as decoded → one channel → 24 kHz → gain to the target under the true-peak ceiling → FLAC, 24 bit

All configs get the same treatment, whatever their provider's rate. Nothing is trimmed: how an answer begins and ends is
part of it. An answer that cannot be measured (shorter than 0.4 s, below -70 LUFS) is refused with the reason; the rest
goes on.

Beside it stands how the answer came and was spoken (`speech`): peak and clipping as received, silence at the ends and
the longest pause, delays, stalls and speaking rate, with a warning where words and sound hardly belong together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from s2s_assets.audio import METHOD_VERSION as AUDIO_METHOD_VERSION
from s2s_assets.audio import (
    Measures,
    decode,
    encode_flac,
    longest_pause_s,
    measure,
    mono,
    normalize,
    pcm_sha256,
    resample,
)
from s2s_assets.responses.schema import RESPONSE_AUDIO
from s2s_assets.responses.speech import FEW_WORDS, MANY_WORDS, rate_outliers, speaking_rate, words_of
from s2s_assets.storage import StudyStore
from s2s_assets.study import AudioError, AudioTarget

METHOD_VERSION = f"media-3+{AUDIO_METHOD_VERSION}"
"""Changes whenever the same response would come out as other samples or other measures."""
MEDIA_RATE_HZ = 24_000


@dataclass(frozen=True)
class MediaResult:
    """The table `response_audio` and how it came about."""

    frame: pl.DataFrame
    made: int
    reused: int
    refused: int


def response_audio(
    responses: pl.DataFrame, target: AudioTarget, store: StudyStore, previous: pl.DataFrame | None = None
) -> MediaResult:
    """The table `response_audio` of a config.

    Args:
        responses: table `responses`; rows that are not `ok` have nothing to hear and are left out.
        target: loudness and ceiling; `trim` is not used.
        store: where audio is read and written.
        previous: an earlier table made with the same target and METHOD_VERSION; its rows are taken over.

    Raises:
        StoreError: an answer's audio is not in the store.
    """
    known = {} if previous is None else {row["response_id"]: row for row in previous.iter_rows(named=True)}
    answers = responses.filter(pl.col("status") == "ok").sort("prompt").iter_rows(named=True)
    rows: list[dict[str, Any]] = []
    reused = 0
    for answer in answers:
        old = known.get(answer["response_id"])
        reused += old is not None
        rows.append(_row(answer, target, store) if old is None else {**old, "prompt": answer["prompt"]})
    frame = pl.DataFrame(_flagged(rows), schema=RESPONSE_AUDIO, orient="row")
    return MediaResult(frame, len(rows) - reused, reused, int((frame["status"] == "refused").sum()))


def _row(answer: Mapping[str, Any], target: AudioTarget, store: StudyStore) -> dict[str, Any]:
    row = dict.fromkeys(RESPONSE_AUDIO) | {name: answer[name] for name in ("response_id", "prompt", "config")}
    try:
        source = decode(store.get_blob(answer["audio_blob"]), answer["prompt"])
        heard = resample(mono(source), MEDIA_RATE_HZ)
        matched = normalize(heard, target.target_lufs, target.ceiling_dbtp, trim=False)
        received = matched.before if heard is source else measure(source)
    except AudioError as error:
        return {**row, "status": "refused", "reason": str(error), "warnings": []}
    return {
        **row,
        "status": "ok",
        "media_blob": store.put_blob(encode_flac(matched.clip, 24), "flac"),
        "pcm_sha256": pcm_sha256(matched.clip),
        "duration_s": matched.clip.duration_s,
        "sample_rate_hz": matched.clip.rate_hz,
        "gain_db": matched.gain_db,
        "loudness_lufs": matched.after.loudness_lufs,
        "true_peak_dbtp": matched.after.true_peak_dbtp,
        "source_loudness_lufs": matched.before.loudness_lufs,
        "sample_peak_dbfs": received.sample_peak_dbfs,
        "clipped_share": received.clipped_share,
        **_speech(answer, received),
        "longest_pause_s": longest_pause_s(source.samples, source.rate_hz),
        "warnings": list(matched.warnings),
    }


def _speech(answer: Mapping[str, Any], received: Measures) -> dict[str, Any]:
    """How the answer was spoken, by its transcript and timings."""
    words = words_of(answer["output_transcript"])
    lead_s, trail_s = received.leading_silence_s, received.trailing_silence_s
    first_ms, ended_ms = answer["first_audio_ms"], answer["input_sent_ms"]
    delay_ms = None if first_ms is None or ended_ms is None else first_ms - ended_ms
    return {
        "leading_silence_s": lead_s,
        "trailing_silence_s": trail_s,
        "delay_ms": delay_ms,
        "perceived_delay_ms": None if delay_ms is None else delay_ms + 1000 * lead_s,
        "stalls": answer["stalls"],
        "stalled_s": answer["stalled_s"],
        "words": words,
        "words_per_s": speaking_rate(words, received.duration_s, lead_s + trail_s),
    }


def _flagged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with outliers of the speaking rate among their warnings; those of an earlier table are told anew."""
    codes = rate_outliers([row["words_per_s"] for row in rows])
    kept = [[w for w in row["warnings"] if w not in {MANY_WORDS, FEW_WORDS}] for row in rows]
    return [
        {**row, "warnings": [*warnings, *([code] if code else [])]}
        for row, warnings, code in zip(rows, kept, codes, strict=True)
    ]
