"""A session as asked for, and what a server's echo of it says: plain mappings, compared key by key."""

import re
from collections.abc import Iterator, Mapping
from typing import Any


def merged(base: Any, extra: Any) -> Any:
    """`extra` laid over `base`, mapping by mapping."""
    if not isinstance(base, Mapping) or not isinstance(extra, Mapping):
        return extra
    return {**base, **{k: merged(base.get(k), v) for k, v in extra.items()}}


def camel_case(value: Any) -> Any:
    """JSON-like data with its keys in camelCase."""
    if isinstance(value, Mapping):
        return {re.sub(r"_([a-z])", lambda m: m[1].upper(), key): camel_case(inner) for key, inner in value.items()}
    return [camel_case(inner) for inner in value] if isinstance(value, list) else value


def differences(asked: Any, shown: Any, where: str = "session") -> Iterator[str]:
    """Where an echo has another value than was asked for.

    A key that is absent from the echo says nothing: servers leave out what they do not show. A list's order says
    nothing either.
    """
    if isinstance(asked, Mapping) and isinstance(shown, Mapping):
        for key in asked.keys() & shown.keys():
            yield from differences(asked[key], shown[key], f"{where}.{key}")
    elif _unordered(asked) != _unordered(shown):
        yield f"{where} is {str(shown)[:80]!r}, asked for {str(asked)[:80]!r}"


def _unordered(value: Any) -> Any:
    return sorted(value, key=repr) if isinstance(value, list) else value


def wants_input_transcript(session: Mapping[str, Any]) -> bool:
    """Whether a session, in either form, asks for the transcript of the prompt."""
    heard = (session.get("audio") or {}).get("input") or {}
    return bool(session.get("input_audio_transcription") or heard.get("transcription"))
