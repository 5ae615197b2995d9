"""Reads what a provider says of usage, in whatever words, as amounts that have a price.

Known are the forms of OpenAI and those who speak like it (`input_tokens` or `prompt_tokens`, with `…_details`), of
Gemini (`promptTokenCount`, details by modality), of Nova (`details.total`), and the plain `seconds` and `characters` of
recognisers and synthesisers. Text is what is not audio: details need not add up to the count. Cached tokens that are not
told apart count as text as far as there is text. Thinking is text that goes out; Gemini counts it beside its total.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Usage = Mapping[str, Any]
_MOST = 1e12
"""More than this is no amount of one exchange."""


@dataclass(frozen=True)
class Meters:
    """Amounts of one request; None where the usage does not tell."""

    text_in: int | None = None
    """Tokens, cached ones left out, as for audio."""
    text_in_cached: int = 0
    audio_in: int | None = None
    audio_in_cached: int = 0
    text_out: int | None = None
    audio_out: int | None = None
    audio_s: float | None = None
    """Seconds of conversation that the provider bills."""
    audio_in_s: float | None = None
    """Seconds that were recognised."""
    characters: int | None = None
    """Characters that were spoken."""


def read_usage(usage: Usage | None) -> Meters:
    """The amounts in a provider's usage; empty where there is none or its form is not known."""
    if not usage:
        return Meters()
    tokens = _google(usage) if "promptTokenCount" in usage else _nova(usage) if "details" in usage else _openai(usage)
    return Meters(
        **tokens,
        audio_s=_number(usage.get("billable_audio_seconds")),
        audio_in_s=_number(usage.get("seconds")),
        characters=_count(usage.get("characters")),
    )


def _openai(usage: Usage) -> dict[str, int]:
    total_in = _first(usage, "input_tokens", "prompt_tokens")
    total_out = _first(usage, "output_tokens", "completion_tokens")
    if total_in is None or total_out is None:
        return {}
    given = _details(usage, "input_token_details", "input_tokens_details", "prompt_tokens_details")
    said = _details(usage, "output_token_details", "output_tokens_details", "completion_tokens_details")
    audio_in = min(_tokens(given, "audio"), total_in)
    audio_out = min(_tokens(said, "audio"), total_out)
    cached = _count(given.get("cached_tokens")) or 0
    by_kind = _details(given, "cached_tokens_details")
    text_in = total_in - audio_in
    text_cached = min(_tokens(by_kind, "text") if by_kind else cached, text_in)
    audio_cached = min(_tokens(by_kind, "audio") if by_kind else cached - text_cached, audio_in)
    return {
        "text_in": text_in - text_cached,
        "text_in_cached": text_cached,
        "audio_in": audio_in - audio_cached,
        "audio_in_cached": audio_cached,
        "text_out": total_out - audio_out,
        "audio_out": audio_out,
    }


def _google(usage: Usage) -> dict[str, int]:
    total_in, total_out = _count(usage.get("promptTokenCount")) or 0, _count(usage.get("responseTokenCount")) or 0
    audio_in = min(_of_modality(usage.get("promptTokensDetails")), total_in)
    audio_out = min(_of_modality(usage.get("responseTokensDetails")), total_out)
    thoughts = _count(usage.get("thoughtsTokenCount")) or 0
    return {
        "text_in": total_in - audio_in,
        "audio_in": audio_in,
        "text_out": total_out - audio_out + thoughts,
        "audio_out": audio_out,
    }


def _nova(usage: Usage) -> dict[str, int]:
    total = _details(_details(usage, "details"), "total")
    given, said = _details(total, "input"), _details(total, "output")
    if not given and not said:
        return {}
    amounts = {
        "text_in": given.get("textTokens"),
        "audio_in": given.get("speechTokens"),
        "text_out": said.get("textTokens"),
        "audio_out": said.get("speechTokens"),
    }
    return {name: _count(value) or 0 for name, value in amounts.items()}


def _of_modality(details: Any, modality: str = "AUDIO") -> int:
    rows = details if isinstance(details, list | tuple) else ()
    counts = [_count(r.get("tokenCount")) for r in rows if isinstance(r, Mapping) and r.get("modality") == modality]
    return sum(c for c in counts if c is not None)


def _details(usage: Usage, *names: str) -> Usage:
    return next((usage[n] for n in names if isinstance(usage.get(n), Mapping)), {})


def _tokens(details: Usage, kind: str) -> int:
    return _first(details, f"{kind}_tokens", kind) or 0


def _first(usage: Usage, *names: str) -> int | None:
    return next((c for n in names if (c := _count(usage.get(n))) is not None), None)


def _count(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _number(value: Any) -> float | None:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and 0 <= value <= _MOST else None
