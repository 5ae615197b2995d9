"""Columns of the tables `responses` and `response_audio`; their meaning is in docs/tables.md."""

import polars as pl

UTC_TIME = pl.Datetime("us", "UTC")

RESPONSES = pl.Schema(
    {
        "response_id": pl.String(),
        "prompt": pl.String(),
        "config": pl.String(),
        "repeat": pl.Int64(),
        "status": pl.String(),
        "origin": pl.String(),
        "code": pl.String(),
        "message": pl.String(),
        "retryable": pl.Boolean(),
        "stage": pl.String(),
        "attempts": pl.Int64(),
        "audio_blob": pl.String(),
        "raw_blob": pl.String(),
        "pcm_sha256": pl.String(),
        "duration_s": pl.Float64(),
        "sample_rate_hz": pl.Int64(),
        "provisional_blobs": pl.List(pl.String()),
        "thinking": pl.String(),
        "input_transcript": pl.String(),
        "output_transcript": pl.String(),
        "usage": pl.String(),
        "cost_usd": pl.Float64(),
        "model_reported": pl.String(),
        "connected_ms": pl.Float64(),
        "configured_ms": pl.Float64(),
        "input_sent_ms": pl.Float64(),
        "first_event_ms": pl.Float64(),
        "first_audio_ms": pl.Float64(),
        "last_audio_ms": pl.Float64(),
        "done_ms": pl.Float64(),
        "stalls": pl.Int64(),
        "stalled_s": pl.Float64(),
        "started_at": UTC_TIME,
        "events_blob": pl.String(),
        "request_blob": pl.String(),
        "adapter": pl.String(),
        "adapter_version": pl.String(),
    }
)

RESPONSE_AUDIO = pl.Schema(
    {
        "response_id": pl.String(),
        "prompt": pl.String(),
        "config": pl.String(),
        "status": pl.String(),
        "reason": pl.String(),
        "media_blob": pl.String(),
        "pcm_sha256": pl.String(),
        "duration_s": pl.Float64(),
        "sample_rate_hz": pl.Int64(),
        "gain_db": pl.Float64(),
        "loudness_lufs": pl.Float64(),
        "true_peak_dbtp": pl.Float64(),
        "source_loudness_lufs": pl.Float64(),
        "sample_peak_dbfs": pl.Float64(),
        "clipped_share": pl.Float64(),
        "leading_silence_s": pl.Float64(),
        "trailing_silence_s": pl.Float64(),
        "longest_pause_s": pl.Float64(),
        "delay_ms": pl.Float64(),
        "perceived_delay_ms": pl.Float64(),
        "stalls": pl.Int64(),
        "stalled_s": pl.Float64(),
        "words": pl.Int64(),
        "words_per_s": pl.Float64(),
        "warnings": pl.List(pl.String()),
    }
)
