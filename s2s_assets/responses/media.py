"""What raters hear: every answer in one form, matched in loudness.

    final audio as decoded → one channel → 24 kHz → gain to the target under the true-peak ceiling → FLAC, 24 bit

All configs get the same treatment, whatever their provider's rate. Nothing is trimmed: how an answer begins and ends is
part of it. An answer that cannot be measured (shorter than 0.4 s, below -70 LUFS) is refused with the reason; the rest
goes on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from s2s_assets.audio import METHOD_VERSION as AUDIO_METHOD_VERSION
from s2s_assets.audio import Normalized, decode, encode_flac, mono, normalize, pcm_sha256, resample
from s2s_assets.responses.schema import RESPONSE_AUDIO
from s2s_assets.storage import StudyStore
from s2s_assets.study import AudioError, AudioTarget

METHOD_VERSION = f"media-1+{AUDIO_METHOD_VERSION}"
"""Changes whenever the same response would come out as other samples."""
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
    frame = pl.DataFrame(rows, schema=RESPONSE_AUDIO, orient="row")
    return MediaResult(frame, len(rows) - reused, reused, int((frame["status"] == "refused").sum()))


def _row(answer: Mapping[str, Any], target: AudioTarget, store: StudyStore) -> dict[str, Any]:
    row = dict.fromkeys(RESPONSE_AUDIO) | {name: answer[name] for name in ("response_id", "prompt", "config")}
    try:
        matched = _matched(store.get_blob(answer["audio_blob"]), answer["prompt"], target)
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
        "warnings": list(matched.warnings),
    }


def _matched(audio: bytes, name: str, target: AudioTarget) -> Normalized:
    clip = resample(mono(decode(audio, name)), MEDIA_RATE_HZ)
    return normalize(clip, target.target_lufs, target.ceiling_dbtp, trim=False)
