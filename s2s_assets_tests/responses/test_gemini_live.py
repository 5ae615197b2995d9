"""The Gemini Live adapter against every scenario of the emulator."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from s2s_assets.responses import Outcome, Prompt, Request, exchange
from s2s_assets_tests.emulators.gemini import GeminiEmulator
from s2s_assets_tests.emulators.gemini_conversation import THOUGHT
from s2s_assets_tests.emulators.voices import FINAL, HEARD, item, speech
from s2s_assets_tests.responses.conftest import IMPATIENT, KEY, QUICK

Turn = Callable[..., tuple[Outcome, GeminiEmulator]]
PROMPT = Prompt(speech("prompt", 1.25), 16_000)
ANSWER = item("final_answer", FINAL, PROMPT.pcm).pcm
IN_HASTE = replace(QUICK, grace_s=0.05)
WITH_TRANSCRIPT = {"setup": {"inputAudioTranscription": {}}}

ANSWERED = [
    "plain",
    "text_frames",
    "snake_case",
    "thoughts",
    "all_at_once",
    "odd_chunks",
    "unknown_events",
    "transcript_late",
    "usage_late",
    "no_usage",
    "only_turn_complete",
    "late_audio",
    "go_away",
    "never_turn_complete",
    "close_after_generation",
    "other_rate",
    "no_rate",
    "odd_values",
    "odd_at_last",
]
WITHOUT_USAGE = {"no_usage", "never_turn_complete", "close_after_generation"}
FAILED: dict[str, tuple[str, str, bool]] = {
    "go_away_close": ("truncated", "closed_1001", True),
    "interrupted": ("truncated", "interrupted", True),
    "no_audio": ("empty_audio", "no_audio", False),
    "only_transcript": ("empty_audio", "no_audio", False),
    "silence": ("silent_audio", "silent", False),
    "half_a_sample": ("invalid_audio", "odd_bytes", False),
    "content_filter": ("refused", "response_rejected", False),
    "rejected_at_last": ("refused", "generated_audio_safety", False),
    "needs_more_input": ("empty_audio", "no_audio", False),
    "close_1000": ("provider_error", "closed_1000", True),
    "close_1007": ("provider_error", "closed_1007", False),
    "close_1008": ("provider_error", "closed_1008", False),
    "close_before_audio": ("provider_error", "closed_1011", True),
    "rate_limited": ("rate_limited", "closed_1011", True),
    "close_1011": ("truncated", "closed_1011", True),
    "bad_key": ("provider_error", "closed_1007", False),
    "echoes_key": ("provider_error", "closed_1008", False),
    "never_configured": ("timeout", "configuration_timeout", True),
    "never_answers": ("timeout", "first_event_timeout", True),
    "stalls": ("timeout", "next_event_timeout", True),
    "answers_early": ("provider_error", "closed_1007", False),
    "answers_in_a_pause": ("provider_error", "answered_early", False),
    "impossible_rate": ("invalid_audio", "unexpected_format", False),
    "mixed_rates": ("invalid_audio", "unexpected_format", False),
    "compressed": ("invalid_audio", "unexpected_format", False),
    "not_json": ("provider_error", "malformed_event", False),
    "not_base64": ("invalid_audio", "not_base64", False),
    "odd_shape": ("runner_error", "AttributeError", False),
    "http_401": ("provider_error", "unauthenticated", False),
    "http_403": ("provider_error", "permission_denied", False),
    "http_404": ("provider_error", "not_found", False),
    "http_429": ("rate_limited", "resource_exhausted", True),
    "http_503": ("provider_error", "unavailable", True),
}


def a_request(url: str, **changes: Any) -> Request:
    settings = {"model": "gemini-3.1-flash-live-preview", **changes.pop("settings", {})}
    fields: dict[str, Any] = {
        "config": "gemini-3.1-flash-live|Kore|high",
        "adapter": "gemini_live",
        "instruction": "You are a helpful voice assistant",
        "voice": "Kore",
        "thinking": "high",
        "providers": {"realtime": "google"},
        "keys": {"realtime": KEY},
        "terms": IN_HASTE,
    }
    return Request(**{**fields, "settings": settings, "addresses": {"realtime": url}, **changes})


@pytest.fixture
def turn() -> Turn:
    """Plays one scenario to one exchange."""

    def play(scenario: str, prompt: Prompt = PROMPT, **changes: Any) -> tuple[Outcome, GeminiEmulator]:
        async def run() -> tuple[Outcome, GeminiEmulator]:
            async with GeminiEmulator(scenario) as emulator:
                return await exchange(a_request(emulator.url, **changes), prompt), emulator

        return asyncio.run(run())

    return play


def terms_for(scenario: str) -> dict[str, Any]:
    if scenario == "answers_in_a_pause":
        return {"terms": replace(QUICK, pace=1.0)}
    return {"terms": IMPATIENT} if FAILED.get(scenario, ("",))[0] == "timeout" else {}


def test_every_scenario_has_an_expectation() -> None:
    assert {*ANSWERED, *FAILED, "big_delta"} == {*GeminiEmulator.names()}


@pytest.mark.parametrize("scenario", ANSWERED)
def test_answers_are_kept_byte_for_byte(scenario: str, turn: Turn) -> None:
    outcome, emulator = turn(scenario, settings=WITH_TRANSCRIPT)
    assert (outcome.status, outcome.origin, outcome.code, outcome.message) == ("ok", None, None, None)
    assert outcome.pcm == ANSWER
    assert outcome.rate_hz == (12_000 if scenario == "other_rate" else 24_000)
    assert (outcome.output_transcript, outcome.input_transcript) == (FINAL, HEARD)
    assert outcome.provisional == ()
    assert (outcome.usage is None) == (scenario in WITHOUT_USAGE)
    assert emulator.prompts == [PROMPT.pcm]


@pytest.mark.parametrize("scenario", FAILED)
def test_no_failure_is_an_answer(scenario: str, turn: Turn) -> None:
    status, code, retryable = FAILED[scenario]
    outcome, emulator = turn(scenario, **terms_for(scenario))
    assert (outcome.status, outcome.code, outcome.retryable) == (status, code, retryable), outcome.message
    assert outcome.origin == ("runner" if status == "runner_error" else "provider")
    assert outcome.message
    assert outcome.stage is None
    assert emulator.connections == 1


def test_a_message_above_one_mebibyte(turn: Turn) -> None:
    outcome, _ = turn("big_delta")
    assert len(outcome.pcm) > 2**20
    assert outcome.pcm == item("final_answer", FINAL, PROMPT.pcm, seconds=30).pcm


def test_thoughts_are_kept_apart_from_what_is_said(turn: Turn) -> None:
    outcome, _ = turn("thoughts", thinking="none")
    assert outcome.thinking == f"{THOUGHT}More."
    assert outcome.output_transcript == FINAL
    assert turn("plain")[0].thinking == THOUGHT
    assert turn("plain", thinking="none")[0].thinking is None


def test_usage_is_kept_as_the_provider_counts(turn: Turn) -> None:
    usage = turn("plain")[0].usage
    assert usage is not None
    assert usage["totalTokenCount"] == usage["promptTokenCount"] + usage["responseTokenCount"]
    assert usage["thoughtsTokenCount"] == 31
    assert turn("usage_late")[0].usage == usage


def test_what_the_server_is_asked_for(turn: Turn) -> None:
    outcome, emulator = turn("plain", settings={"setup": {"generationConfig": {"temperature": 0.5}}})
    (seen,) = emulator.seen
    assert (seen.session.model, seen.session.voice) == ("gemini-3.1-flash-live-preview", "Kore")
    assert seen.session.instructions == "You are a helpful voice assistant"
    setup = outcome.snapshot["configuration"]["setup"]
    assert setup["generationConfig"]["temperature"] == 0.5
    assert setup["generationConfig"]["responseModalities"] == ["AUDIO"]
    assert setup["realtimeInputConfig"]["automaticActivityDetection"] == {"disabled": True}
    sent = [event["event"] for event in outcome.events if event["dir"] == ">"]
    kinds = [next(iter(message.get("realtimeInput", message))) for message in sent]
    assert kinds == ["setup", "activityStart", *["audio"] * (len(kinds) - 3), "activityEnd"]
    assert outcome.input_transcript is None


@pytest.mark.parametrize(
    ("model", "thinking", "sent", "status"),
    [
        ("gemini-3.1-flash-live-preview", "minimal", {"thinkingLevel": "MINIMAL"}, "ok"),
        ("models/gemini-3.1-flash-live-preview", "high", {"thinkingLevel": "HIGH"}, "ok"),
        ("gemini-2.5-flash-native-audio-preview-12-2025", "0", {"thinkingBudget": 0}, "ok"),
        ("gemini-2.5-flash-native-audio-preview-12-2025", "24576", {"thinkingBudget": 24576}, "ok"),
        ("gemini-2.5-flash-native-audio-preview-12-2025", "none", None, "ok"),
        ("gemini-2.5-flash-native-audio-preview-12-2025", "high", {"thinkingLevel": "HIGH"}, "provider_error"),
        ("gemini-3.1-flash-live-preview", "extreme", {"thinkingLevel": "EXTREME"}, "provider_error"),
    ],
)
def test_thinking_levels_and_budgets(
    turn: Turn, model: str, thinking: str, sent: dict[str, Any] | None, status: str
) -> None:
    outcome, _ = turn("plain", settings={"model": model}, thinking=thinking)
    generation = outcome.snapshot["configuration"]["setup"]["generationConfig"]
    assert generation.get("thinkingConfig") == (sent and {**sent, "includeThoughts": True})
    assert outcome.status == status


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"voice": "Marin"}, "closed_1007"),
        ({"settings": {"setup": {"turnDetection": None}}}, "closed_1007"),
        ({"settings": {"setup": {"generationConfig": {"responseModalities": ["TEXT"]}}}}, "closed_1007"),
        ({"settings": {"model": "gemini-2.5-pro"}}, "closed_1008"),
    ],
)
def test_a_setup_that_is_refused_costs_nothing(turn: Turn, changes: dict[str, Any], code: str) -> None:
    outcome, emulator = turn("plain", **changes)
    assert (outcome.status, outcome.code, outcome.retryable) == ("provider_error", code, False)
    assert emulator.kinds == [["setup"]]
    assert emulator.seen == []


def test_without_a_key_the_upgrade_is_refused(turn: Turn) -> None:
    outcome, _ = turn("plain", keys={})
    assert (outcome.status, outcome.code) == ("provider_error", "permission_denied")


def test_an_answer_is_over_when_it_is_generated(turn: Turn) -> None:
    """The turn's end is held back as for playback; it is no part of the latency."""
    timings = turn("never_turn_complete")[0].timings
    reached = [timings.connected, timings.configured, timings.input_sent, timings.first_event]
    reached += [timings.first_audio, timings.last_audio, timings.done]
    assert None not in reached
    assert reached == sorted(reached)  # type: ignore[type-var]
    assert timings.done is not None
    assert timings.last_audio is not None
    assert timings.done - timings.last_audio < len(ANSWER) / 48


def test_events_hold_no_audio_and_a_failure_keeps_what_had_come(turn: Turn) -> None:
    outcome, _ = turn("go_away_close")
    assert ANSWER.startswith(outcome.pcm)
    assert outcome.pcm
    text = json.dumps(outcome.events)
    assert "goAway" in text
    assert len(text) < len(PROMPT.pcm)


def test_short_pieces_of_audio_are_kept_out_of_the_events_too(turn: Turn) -> None:
    prompt = Prompt(PROMPT.pcm[: 16 * 200 + 64], PROMPT.rate_hz)
    outcome, _ = turn("odd_chunks", prompt)
    blobs = [
        e["event"]["realtimeInput"]["audio"] for e in outcome.events if "audio" in e["event"].get("realtimeInput", {})
    ]
    assert [blob["data"] for blob in blobs][-1] == "[88 characters of base64]"
    assert all(blob["mimeType"] == "audio/pcm;rate=16000" for blob in blobs)


@pytest.mark.parametrize("scenario", GeminiEmulator.names())
def test_a_planted_key_is_nowhere(scenario: str, turn: Turn) -> None:
    outcome, _ = turn(scenario, **terms_for(scenario))
    assert KEY not in repr(outcome)
