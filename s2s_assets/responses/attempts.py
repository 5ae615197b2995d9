"""Finished attempts in the store: one write-once record each, written the moment an attempt ends.

`records/attempts/<model>/<voice>/<thinking>/<response id>/<number>.json`. A record names its blobs, and the blobs are
stored before the record: a record that exists is whole. Audio is kept as received (`raw_blob`, PCM) whatever the
status, so that a failure can be looked into, and as decoded (`audio_blob`, FLAC) only where it is an answer.
"""

import gzip
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from s2s_assets.audio import encode_flac_pcm16, pcm16_sha256
from s2s_assets.responses.records import Outcome
from s2s_assets.responses.speech import stalls
from s2s_assets.storage import StudyStore
from s2s_assets.study import Config, canonical_json, digest

KIND = "attempts"
ARRIVALS = "audio.arrivals"
"""Type of the event log's first line: `pieces` holds the milliseconds and bytes of each piece of final audio."""


def stored_attempts(store: StudyStore, config: Config) -> dict[str, list[dict[str, Any]]]:
    """Response id → records of its attempts, in the order in which they were made.

    Raises:
        StoreError: a record that cannot be read.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for _, record in store.records(KIND, f"{config.key.path}/"):
        found.setdefault(record["response_id"], []).append(record)
    return found


def keep_attempt(
    store: StudyStore, config: Config, response_id: str, more: Mapping[str, Any], outcome: Outcome
) -> tuple[str, dict[str, Any]]:
    """Store an attempt's blobs, then its record under the next free number.

    Args:
        store: the study's store.
        config: whose attempt it is.
        response_id: identity of the response.
        more: what else is known of it: `prompt`, `prompt_pcm_sha256`, `repeat`, and what it cost.
        outcome: what the attempt came to.

    Returns:
        Name and content of the record.
    """
    record = {
        "response_id": response_id,
        "config": str(config.key),
        "settings_sha256": digest(config.settings),
        **_facts(outcome),
        **more,
        **_blobs(store, outcome),
    }
    number = 1
    while True:
        name, numbered = f"{config.key.path}/{response_id}/{number:04d}", {**record, "attempt": number}
        if store.put_record(KIND, name, numbered):
            return name, numbered
        number += 1


def _facts(outcome: Outcome) -> dict[str, Any]:
    dry = stalls(outcome.arrivals, outcome.rate_hz)
    return {
        "status": outcome.status,
        "origin": outcome.origin,
        "code": outcome.code,
        "message": outcome.message,
        "retryable": outcome.retryable,
        "retry_after_s": outcome.retry_after_s,
        "stage": outcome.stage,
        "sample_rate_hz": outcome.rate_hz,
        "thinking": outcome.thinking,
        "input_transcript": outcome.input_transcript,
        "output_transcript": outcome.output_transcript,
        "usage": outcome.usage,
        "model_reported": outcome.model_reported,
        "timings_ms": asdict(outcome.timings),
        "stalls": None if dry is None else dry.count,
        "stalled_s": None if dry is None else round(dry.seconds, 3),
        "started_at": outcome.started_at.isoformat(),
        "adapter": outcome.adapter,
        "adapter_version": outcome.adapter_version,
    }


def _blobs(store: StudyStore, outcome: Outcome) -> dict[str, Any]:
    pcm, rate_hz = outcome.pcm, outcome.rate_hz
    return {
        "audio_blob": store.put_blob(encode_flac_pcm16(pcm, rate_hz), "flac") if outcome.ok else None,
        "pcm_sha256": pcm16_sha256(pcm) if outcome.ok else None,
        "duration_s": outcome.duration_s,
        "raw_blob": store.put_blob(pcm, "pcm") if pcm else None,
        "provisional_blobs": [store.put_blob(pcm, "pcm") for pcm in outcome.provisional],
        "events_blob": store.put_blob(event_log(outcome), "gz"),
        "request_blob": store.put_blob(canonical_json(outcome.snapshot).encode(), "json"),
    }


def event_log(outcome: Outcome) -> bytes:
    """The events as gzip JSON lines, before them when the pieces of final audio came; the same bytes for the same events."""
    pieces = {"type": ARRIVALS, "pieces": [list(piece) for piece in outcome.arrivals]}
    first = [canonical_json({"at_ms": 0.0, "dir": "-", "event": pieces})] if outcome.arrivals else []
    lines = "".join(line + "\n" for line in (*first, *outcome.log))
    return gzip.compress(lines.encode(), mtime=0)
