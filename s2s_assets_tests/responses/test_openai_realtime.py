"""The OpenAI Realtime adapter against every scenario of the emulator."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.responses import Outcome, Prompt, Request, exchange
from s2s_assets.responses.providers.websocket import schedule
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.emulators.voices import COMMENTARY, FINAL, HEARD, item
from s2s_assets_tests.responses.conftest import IMPATIENT, KEY, QUICK

Turn = Callable[..., tuple[Outcome, OpenAIEmulator]]

ANSWERED = [
    "plain",
    "no_phase",
    "transcript_late",
    "transcript_failed",
    "odd_chunks",
    "unknown_events",
    "limits_first",
    "sparse_echo",
    "error_aside",
    "odd_values",
    "late_audio",
    "other_response",
    "no_limits",
    "both_names",
]
FAILED: dict[str, tuple[str, str, bool]] = {
    "commentary_only": ("empty_audio", "commentary_only", False),
    "commentary_and_function_call": ("empty_audio", "commentary_only", False),
    "no_audio": ("empty_audio", "no_audio", False),
    "old_names": ("empty_audio", "no_audio", False),
    "silence": ("silent_audio", "silent", False),
    "half_a_sample": ("invalid_audio", "odd_bytes", False),
    "rate_limited": ("rate_limited", "rate_limit_exceeded", True),
    "server_failure": ("provider_error", "server_error", True),
    "quota_spent": ("provider_error", "insufficient_quota", False),
    "incomplete": ("truncated", "max_output_tokens", False),
    "content_filter": ("refused", "content_filter", False),
    "cancelled": ("provider_error", "turn_detected", True),
    "close_1001": ("truncated", "closed_1001", True),
    "close_1011": ("truncated", "closed_1011", True),
    "close_1000": ("truncated", "closed_1000", True),
    "close_before_audio": ("provider_error", "closed_1001", True),
    "keeps_vad": ("provider_error", "session_mismatch", False),
    "other_session": ("provider_error", "session_mismatch", False),
    "refuses_session": ("provider_error", "unknown_parameter", False),
    "never_configured": ("timeout", "configuration_timeout", True),
    "never_answers": ("timeout", "first_event_timeout", True),
    "stalls": ("timeout", "next_event_timeout", True),
    "error_first": ("provider_error", "server_error", True),
    "model_gone": ("provider_error", "model_not_found", False),
    "error_then_close": ("provider_error", "session_expired", False),
    "answers_early": ("provider_error", "invalid_value", False),
    "not_json": ("provider_error", "malformed_event", False),
    "not_base64": ("invalid_audio", "not_base64", False),
    "odd_shape": ("runner_error", "AttributeError", False),
    "echoes_key": ("provider_error", "[redacted]", False),
    "http_401": ("provider_error", "invalid_api_key", False),
    "http_403": ("provider_error", "unsupported_country_region_territory", False),
    "http_404": ("provider_error", "model_not_found", False),
    "http_429": ("rate_limited", "rate_limit_exceeded", True),
    "http_429_quota": ("provider_error", "insufficient_quota", False),
    "http_503": ("provider_error", "service_unavailable", True),
}
ITEMS = ["commentary_and_final", "interleaved", "interleaved_commentary", "two_items", "big_delta"]


def test_every_scenario_has_an_expectation() -> None:
    assert {*ANSWERED, *FAILED, *ITEMS} == set(OpenAIEmulator.names())


@pytest.mark.parametrize("scenario", ANSWERED)
def test_answers_are_kept_byte_for_byte(scenario: str, openai_turn: Turn, prompt: Prompt) -> None:
    outcome, emulator = openai_turn(scenario, transcription="gpt-4o-mini-transcribe")
    assert (outcome.status, outcome.origin, outcome.code, outcome.message) == ("ok", None, None, None)
    phase = None if scenario == "no_phase" else "final_answer"
    assert outcome.pcm == item(phase, FINAL, prompt.pcm).pcm
    assert outcome.provisional == ()
    assert outcome.output_transcript == FINAL
    assert outcome.input_transcript == (None if scenario == "transcript_failed" else HEARD)
    assert outcome.model_reported == "gpt-realtime-2.1"
    assert outcome.usage is not None
    assert outcome.usage["total_tokens"] > 0
    assert [seen.prompt for seen in emulator.seen] == [prompt.pcm]


@pytest.mark.parametrize("scenario", FAILED)
def test_no_failure_is_an_answer(scenario: str, openai_turn: Turn) -> None:
    status, code, retryable = FAILED[scenario]
    terms = {"terms": IMPATIENT} if status == "timeout" else {}
    outcome, emulator = openai_turn(scenario, **terms)
    assert (outcome.status, outcome.code, outcome.retryable) == (status, code, retryable), outcome.message
    assert outcome.origin == ("runner" if status == "runner_error" else "provider")
    assert outcome.message
    assert outcome.stage is None
    assert emulator.connections == 1


def test_commentary_is_kept_apart(openai_turn: Turn, prompt: Prompt) -> None:
    for scenario in ("commentary_and_final", "interleaved_commentary"):
        outcome, _ = openai_turn(scenario)
        assert outcome.ok
        assert outcome.provisional == (item("commentary", COMMENTARY, prompt.pcm).pcm,)
        assert outcome.pcm == item("final_answer", FINAL, prompt.pcm).pcm
        assert outcome.output_transcript == FINAL


@pytest.mark.parametrize("scenario", ["two_items", "interleaved"])
def test_items_are_joined_in_the_provider_s_order(scenario: str, openai_turn: Turn, prompt: Prompt) -> None:
    outcome, _ = openai_turn(scenario)
    first, second = item("final_answer", FINAL, prompt.pcm), item(None, "And some more.", prompt.pcm)
    assert outcome.pcm == first.pcm + second.pcm
    assert outcome.output_transcript == f"{FINAL} And some more."


def test_a_message_above_one_mebibyte(openai_turn: Turn, prompt: Prompt) -> None:
    outcome, _ = openai_turn("big_delta")
    assert len(outcome.pcm) > 2**20
    assert outcome.pcm == item("final_answer", FINAL, prompt.pcm, seconds=30).pcm


def test_what_the_server_is_asked_for(openai_turn: Turn) -> None:
    outcome, emulator = openai_turn("plain", session={"audio": {"output": {"speed": 1.25}}})
    (seen,) = emulator.seen
    assert (seen.session.model, seen.session.voice, seen.session.effort) == ("gpt-realtime-2.1", "marin", "high")
    assert seen.session.instructions == "You are a helpful voice assistant"
    session = outcome.snapshot["configuration"]["session"]
    assert session["audio"]["input"]["turn_detection"] is None
    assert session["audio"]["output"] == {
        "format": {"type": "audio/pcm", "rate": 24000},
        "voice": "marin",
        "speed": 1.25,
    }


def test_no_effort_is_sent_for_a_model_without_thinking_levels(openai_turn: Turn) -> None:
    outcome, _ = openai_turn("plain", thinking="none")
    assert "reasoning" not in outcome.snapshot["configuration"]["session"]


def test_nothing_is_committed_to_a_session_that_is_not_what_was_asked_for(openai_turn: Turn) -> None:
    for scenario in ("keeps_vad", "refuses_session"):
        outcome, emulator = openai_turn(scenario)
        assert [e["event"]["type"] for e in outcome.events if e["dir"] == ">"] == ["session.update"]
        assert emulator.seen == []


def test_events_are_in_order_and_hold_no_audio(openai_turn: Turn, prompt: Prompt) -> None:
    outcome, _ = openai_turn("commentary_and_final")
    kinds = [e["event"]["type"] for e in outcome.events]
    order = ["session.created", "session.updated", "input_audio_buffer.append", "input_audio_buffer.commit"]
    order += ["response.create", "response.created", "response.output_audio.delta", "response.done"]
    assert sorted(order, key=kinds.index) == order
    assert [e["at_ms"] for e in outcome.events] == sorted(e["at_ms"] for e in outcome.events)
    text = json.dumps(outcome.events)
    assert max(len(word) for word in text.replace('"', " ").split()) < 200
    assert len(text) < len(prompt.pcm)


def test_milestones_are_in_order(openai_turn: Turn) -> None:
    timings = openai_turn("plain")[0].timings
    reached = [timings.connected, timings.configured, timings.input_sent, timings.first_event]
    reached += [timings.first_audio, timings.last_audio, timings.done]
    assert None not in reached
    assert reached == sorted(reached)  # type: ignore[type-var]


def test_a_failure_keeps_what_had_come(openai_turn: Turn, prompt: Prompt) -> None:
    outcome, _ = openai_turn("close_1001")
    whole = item("final_answer", FINAL, prompt.pcm).pcm
    assert outcome.pcm
    assert whole.startswith(outcome.pcm)
    assert outcome.timings.done is None
    assert "60 minutes" in (outcome.message or "")


def test_waiting_times_that_the_provider_names(openai_turn: Turn) -> None:
    assert openai_turn("rate_limited")[0].retry_after_s == 0.02
    assert openai_turn("http_429")[0].retry_after_s == 0.02


@given(samples=st.integers(1, 60_000), frame_ms=st.integers(20, 100), pace=st.sampled_from([0.0, 0.5, 1.0, 4.0]))
def test_frames_are_the_prompt_and_leave_when_they_are_spoken(samples: int, frame_ms: int, pace: float) -> None:
    prompt = Prompt(bytes(range(256)) * (samples // 128) + b"ab" * (samples % 128), 24_000)
    frames = list(schedule(prompt, frame_ms, pace))
    assert b"".join(pcm for _, pcm in frames) == prompt.pcm
    assert all(len(pcm) == 48 * frame_ms for _, pcm in frames[:-1])
    assert frames[-1][0] == (pytest.approx(prompt.duration_s / pace) if pace else 0)
    steps = [due_s for due_s, _ in frames]
    assert steps == sorted(steps)


def test_a_paced_prompt_takes_its_time(openai_turn: Turn, prompt: Prompt) -> None:
    timings = openai_turn("plain", terms=replace(QUICK, pace=20))[0].timings
    assert timings.input_sent is not None
    assert timings.configured is not None
    assert timings.input_sent - timings.configured >= prompt.duration_s / 20 * 1000


def test_without_a_key_the_upgrade_is_refused(openai_turn: Turn) -> None:
    outcome, _ = openai_turn("plain", key="")
    assert (outcome.status, outcome.code) == ("provider_error", "invalid_api_key")


def test_nobody_listens(realtime_request: Callable[..., Request], prompt: Prompt) -> None:
    outcome = asyncio.run(exchange(realtime_request("ws://127.0.0.1:9"), prompt))
    assert (outcome.status, outcome.code, outcome.retryable) == ("provider_error", "connection_failed", True)


@pytest.mark.parametrize("scenario", OpenAIEmulator.names())
def test_a_planted_key_is_nowhere(scenario: str, openai_turn: Turn) -> None:
    terms = {"terms": IMPATIENT} if FAILED.get(scenario, ("",))[0] == "timeout" else {}
    outcome, _ = openai_turn(scenario, **terms)
    assert KEY not in repr(outcome)


def test_a_request_does_not_show_its_keys(realtime_request: Callable[..., Request]) -> None:
    assert KEY not in repr(realtime_request("ws://127.0.0.1:9"))
