"""The session object of the OpenAI Realtime protocol: its defaults, its keys, and how an update changes it."""

import time
from collections.abc import Mapping
from typing import Any

from s2s_assets.demo.answers import RATE_HZ

_FREE: Mapping[str, Any] = {}
"""Stands for a value whose inner keys are not checked."""
_KEYS: Mapping[str, Any] = {
    "type": _FREE,
    "model": _FREE,
    "output_modalities": _FREE,
    "instructions": _FREE,
    "reasoning": {"effort": _FREE},
    "max_output_tokens": _FREE,
    "audio": {
        "input": {"format": _FREE, "noise_reduction": _FREE, "transcription": _FREE, "turn_detection": _FREE},
        "output": {"format": _FREE, "voice": _FREE, "speed": _FREE},
    },
    "tools": _FREE,
    "tool_choice": _FREE,
    "parallel_tool_calls": _FREE,
    "tracing": _FREE,
    "truncation": _FREE,
    "prompt": _FREE,
    "include": _FREE,
}
_LIFETIME_S = 3600


def default_session(name: str, model: str) -> dict[str, Any]:
    """A new session as the service shows it: server turn detection on, instructions of its own."""
    pcm = {"type": "audio/pcm", "rate": RATE_HZ}
    detection = {
        "type": "server_vad",
        "threshold": 0.5,
        "prefix_padding_ms": 300,
        "silence_duration_ms": 500,
        "idle_timeout_ms": None,
        "create_response": True,
        "interrupt_response": True,
    }
    return {
        "type": "realtime",
        "object": "realtime.session",
        "id": name,
        "model": model,
        "output_modalities": ["audio"],
        "instructions": "You are a friendly assistant. Act like a human, but remember that you are none.",
        "tools": [],
        "tool_choice": "auto",
        "max_output_tokens": "inf",
        "tracing": None,
        "truncation": "auto",
        "prompt": None,
        "expires_at": int(time.time()) + _LIFETIME_S,
        "audio": {
            "input": {"format": pcm, "transcription": None, "noise_reduction": None, "turn_detection": detection},
            "output": {"format": pcm, "voice": "marin", "speed": 1.0},
        },
        "include": None,
    }


def apply_update(
    session: Mapping[str, Any], changes: Mapping[str, Any], keys: Mapping[str, Any] = _KEYS
) -> dict[str, Any]:
    """The session with an update merged deeply.

    Args:
        session: as it was.
        changes: the update.
        keys: those that the service knows, level by level; an empty mapping stands for any value.

    Raises:
        KeyError: a key that the service does not know, as a dotted path; nothing of the update holds then.
    """
    _check(changes, keys, "session")
    return _merge(session, changes)


def _check(changes: Mapping[str, Any], keys: Mapping[str, Any], where: str) -> None:
    for key, value in changes.items():
        if key not in keys:
            raise KeyError(f"{where}.{key}")
        if keys[key] and isinstance(value, Mapping):
            _check(value, keys[key], f"{where}.{key}")


def _merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged
