"""Columns of the two tables of this room; an empty table has them too."""

import polars as pl

LABELS: dict[str, pl.DataType] = {
    "prompt": pl.String(),
    "recording": pl.String(),
    "text": pl.String(),
    "category": pl.String(),
    "level": pl.String(),
    "acoustic": pl.String(),
    "tags": pl.List(pl.String()),
    "split": pl.String(),
}
"""What a recording's script says of it."""

MEASURES: dict[str, pl.DataType] = {
    "duration_s": pl.Float64(),
    "sample_rate_hz": pl.Int64(),
    "channels": pl.Int64(),
    "loudness_lufs": pl.Float64(),
    "true_peak_dbtp": pl.Float64(),
    "sample_peak_dbfs": pl.Float64(),
    "leading_silence_s": pl.Float64(),
    "trailing_silence_s": pl.Float64(),
    "clipped_share": pl.Float64(),
    "noise_floor_dbfs": pl.Float64(),
    "speech_level_dbfs": pl.Float64(),
    "pcm_sha256": pl.String(),
    "warnings": pl.List(pl.String()),
}

RECORDED_PROMPTS = pl.Schema(
    {
        **LABELS,
        "speaker": pl.String(),
        "file": pl.String(),
        "source_blob": pl.String(),
        "status": pl.String(),
        "reason": pl.String(),
        **MEASURES,
        "qa": pl.String(),
        "qa_reasons": pl.List(pl.String()),
        "verdict": pl.String(),
        "verdict_reason": pl.String(),
        "verdict_by": pl.String(),
        "selected": pl.Boolean(),
        "selection_reason": pl.String(),
    }
)

AUDIO: dict[str, pl.DataType] = {
    "status": pl.String(),
    "reason": pl.String(),
    "audio_blob": pl.String(),
    "pcm_sha256": pl.String(),
    "duration_s": pl.Float64(),
    "sample_rate_hz": pl.Int64(),
    "channels": pl.Int64(),
    "gain_db": pl.Float64(),
    "trimmed_start_s": pl.Float64(),
    "trimmed_end_s": pl.Float64(),
    "loudness_lufs": pl.Float64(),
    "true_peak_dbtp": pl.Float64(),
    "source_loudness_lufs": pl.Float64(),
    "source_true_peak_dbtp": pl.Float64(),
    "warnings": pl.List(pl.String()),
    "recipe": pl.String(),
}
"""What normalization made of a recording; decided by `recipe` alone."""

NORMALIZED_AUDIO = pl.Schema({**LABELS, **AUDIO})
