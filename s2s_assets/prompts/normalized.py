"""Table `normalized_audio`: the selected recordings, trimmed and brought to one loudness, and only what is new computed.

What normalization makes of a recording is decided by its *recipe*: the hash of the source's bytes, the target and the
method's version. A row whose recipe is in the previous table is taken from there; its labels come from the script as it
is now. So one new prompt normalizes one prompt, a relabelled one none, and a changed target all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from s2s_assets.audio import METHOD_VERSION, decode, encode_flac, normalize
from s2s_assets.prompts.schema import AUDIO, LABELS, NORMALIZED_AUDIO
from s2s_assets.study import AudioError, AudioTarget, digest


@dataclass(frozen=True)
class NormalizedPrompts:
    """Table `normalized_audio`, and how many of its rows were computed and how many taken from the previous one."""

    frame: pl.DataFrame
    computed: int
    reused: int


def normalize_prompts(
    recorded: pl.DataFrame,
    target: AudioTarget,
    get_blob: Callable[[str], bytes],
    put_blob: Callable[[bytes, str], str],
    previous: pl.DataFrame | None = None,
) -> NormalizedPrompts:
    """Normalize the selected recordings.

    Args:
        recorded: Table `recorded_prompts`.
        target: Loudness, ceiling, and whether silent ends are trimmed.
        get_blob: Blob reference → bytes.
        put_blob: Stores bytes under a suffix and returns their reference.
        previous: An earlier table `normalized_audio` of the same store, whose audio is still there.

    Returns:
        One row a selected recording, sorted by prompt; one that cannot be normalized is a row with its reason.
    """
    known = _audio_by_recipe(previous)
    rows, reused = [], 0
    for source in recorded.filter(pl.col("selected")).sort("prompt").iter_rows(named=True):
        recipe = _recipe(source["source_blob"], target)
        reused += recipe in known
        if recipe not in known:
            known[recipe] = {"recipe": recipe} | _normalized(
                source["source_blob"], source["file"], target, get_blob, put_blob
            )
        rows.append({label: source[label] for label in LABELS} | known[recipe])
    return NormalizedPrompts(pl.DataFrame(rows, schema=NORMALIZED_AUDIO), len(rows) - reused, reused)


def _audio_by_recipe(previous: pl.DataFrame | None) -> dict[str, dict[str, Any]]:
    if previous is None:
        return {}
    return {row["recipe"]: row for row in previous.select(list(AUDIO)).iter_rows(named=True)}


def _recipe(source_blob: str, target: AudioTarget) -> str:
    return digest({"source": source_blob, "target": target.model_dump(), "method": METHOD_VERSION})


def _normalized(
    source_blob: str,
    file: str,
    target: AudioTarget,
    get_blob: Callable[[str], bytes],
    put_blob: Callable[[bytes, str], str],
) -> dict[str, Any]:
    """The audio columns of one recording, without its recipe."""
    nothing: dict[str, Any] = dict.fromkeys(AUDIO.keys() - {"recipe"}) | {"warnings": []}
    try:
        clip = decode(get_blob(source_blob), file)
        result = normalize(clip, target.target_lufs, target.ceiling_dbtp, target.trim)
    except AudioError as error:
        return nothing | {"status": "refused", "reason": str(error)}
    before, after = result.before, result.after
    return nothing | {
        "status": "ok",
        "audio_blob": put_blob(encode_flac(result.clip), "flac"),
        "pcm_sha256": after.pcm_sha256,
        "duration_s": after.duration_s,
        "sample_rate_hz": after.sample_rate_hz,
        "channels": after.channels,
        "gain_db": result.gain_db,
        "trimmed_start_s": result.trimmed_start_s,
        "trimmed_end_s": result.trimmed_end_s,
        "loudness_lufs": after.loudness_lufs,
        "true_peak_dbtp": after.true_peak_dbtp,
        "source_loudness_lufs": before.loudness_lufs,
        "source_true_peak_dbtp": before.true_peak_dbtp,
        "warnings": list(result.warnings),
    }
