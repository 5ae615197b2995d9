"""The table `responses` of a config, built from the records of its finished attempts.

One row a prompt that has normalized audio. Of a response's attempts the first success is the row; without one, the last
failure. A prompt without any attempt is a row too, with the status `runner_error` and the code `not_attempted`: what
is missing counts.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from s2s_assets.responses.attempts import stored_attempts
from s2s_assets.responses.recollection import superseded
from s2s_assets.responses.schema import RESPONSES
from s2s_assets.storage import StudyStore
from s2s_assets.study import Config, canonical_json, digest

_NOT_ATTEMPTED: Mapping[str, Any] = {
    "status": "runner_error",
    "origin": "runner",
    "code": "not_attempted",
    "message": "no attempt has ended; collect this config again",
    "retryable": True,
    "timings_ms": {},
}


@dataclass(frozen=True)
class Wanted:
    """A response that the study asks for: identity and the prompt's audio."""

    response_id: str
    prompt: str
    pcm_sha256: str
    audio_blob: str
    repeat: int = 0


def wanted(config: Config, prompts: pl.DataFrame, store: StudyStore) -> list[Wanted]:
    """The responses of a config to all prompts with normalized audio, sorted by prompt.

    A response that is to be collected anew is not wanted any more; its next repeat is.

    Args:
        config: model, voice and thinking level.
        prompts: table `normalized_audio`; refused rows are left out.
        store: where it stands which responses are to be collected anew.

    Raises:
        StoreError: a record that cannot be read.
    """
    replaced = superseded(store, config)
    rows = prompts.filter(pl.col("status") == "ok").sort("prompt").iter_rows(named=True)
    return [_wanted(config, row, replaced) for row in rows]


def _wanted(config: Config, row: Mapping[str, Any], replaced: Collection[str]) -> Wanted:
    repeat = 0
    while (response_id := config.response_id(row["pcm_sha256"], repeat)) in replaced:
        repeat += 1
    return Wanted(response_id, row["prompt"], row["pcm_sha256"], row["audio_blob"], repeat)


def wanted_responses(config: Config, prompts: pl.DataFrame, store: StudyStore) -> str:
    """A hash that changes whenever another response is wanted.

    It depends on the config's settings, the prompts, their audio, and what is to be collected anew.
    """
    return digest([[w.prompt, w.response_id] for w in wanted(config, prompts, store)])


def build_responses(config: Config, prompts: pl.DataFrame, store: StudyStore) -> pl.DataFrame:
    """The table `responses` of a config.

    Args:
        config: model, voice and thinking level.
        prompts: table `normalized_audio`.
        store: where the attempts are.

    Raises:
        StoreError: a record that cannot be read.
    """
    attempts = stored_attempts(store, config)
    rows = [_row(config, w, attempts.get(w.response_id, [])) for w in wanted(config, prompts, store)]
    return pl.DataFrame(rows, schema=RESPONSES, orient="row")


def _row(config: Config, want: Wanted, attempts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    successes = [n for n, a in enumerate(attempts) if a["status"] == "ok"]
    position = successes[0] if successes else len(attempts) - 1
    record = attempts[position] if attempts else _NOT_ATTEMPTED
    row = {name: record.get(name) for name in RESPONSES}
    usage, started = record.get("usage"), record.get("started_at")
    return {
        **row,
        "response_id": want.response_id,
        "prompt": want.prompt,
        "config": str(config.key),
        "repeat": want.repeat,
        "attempts": position + 1,
        "provisional_blobs": record.get("provisional_blobs", []),
        "usage": None if usage is None else canonical_json(usage),
        "started_at": None if started is None else datetime.fromisoformat(started),
        **{f"{name}_ms": offset for name, offset in record["timings_ms"].items()},
    }
