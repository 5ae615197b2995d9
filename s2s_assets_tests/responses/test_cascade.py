"""The cascade adapter against every scenario of the emulator."""

import asyncio
import io
import wave
from collections.abc import Callable

import pytest

from s2s_assets.responses import Outcome, Prompt, Request, exchange
from s2s_assets_tests.emulators.cascade import CascadeEmulator
from s2s_assets_tests.emulators.voices import COMMENTARY, FINAL, HEARD, speech
from s2s_assets_tests.responses.conftest import KEY
from s2s_assets_tests.responses.parties import CASCADE

Turn = Callable[..., tuple[Outcome, CascadeEmulator]]

FAILED: dict[str, tuple[str, str, str, bool]] = {
    "stt_401": ("provider_error", "invalid_api_key", "stt", False),
    "stt_422": ("provider_error", "http_422", "stt", False),
    "stt_429": ("rate_limited", "rate_limit_exceeded", "stt", True),
    "stt_503": ("provider_error", "service_unavailable", "stt", True),
    "stt_not_json": ("provider_error", "malformed_event", "stt", False),
    "stt_echoes_key": ("provider_error", "invalid_api_key", "stt", False),
    "stt_hears_nothing": ("provider_error", "no_transcript", "stt", False),
    "stt_never_answers": ("timeout", "first_event_timeout", "stt", True),
    "commentary_only": ("empty_audio", "commentary_only", "llm", False),
    "llm_401": ("provider_error", "invalid_api_key", "llm", False),
    "llm_quota": ("provider_error", "insufficient_quota", "llm", False),
    "llm_not_json": ("provider_error", "malformed_event", "llm", False),
    "llm_429": ("rate_limited", "rate_limit_exceeded", "llm", True),
    "llm_stalls": ("timeout", "next_event_timeout", "llm", True),
    "llm_error_event": ("provider_error", "server_error", "llm", True),
    "llm_no_end": ("provider_error", "no_end", "llm", True),
    "llm_error_no_stream": ("provider_error", "invalid_prompt", "llm", False),
    "llm_refusal": ("refused", "refusal", "llm", False),
    "llm_incomplete": ("truncated", "max_output_tokens", "llm", False),
    "llm_filtered": ("refused", "content_filter", "llm", False),
    "llm_failed": ("provider_error", "server_error", "llm", True),
    "tts_busy": ("rate_limited", "system_busy", "tts", True),
    "tts_concurrent": ("rate_limited", "too_many_concurrent_requests", "tts", True),
    "tts_cut": ("truncated", "broken_off", "tts", True),
    "tts_cut_at_once": ("provider_error", "broken_off", "tts", True),
    "llm_404": ("provider_error", "model_not_found", "llm", False),
    "tts_page": ("invalid_audio", "not_audio", "tts", False),
    "tts_mp3": ("invalid_audio", "not_pcm", "tts", False),
    "tts_tagged_mp3": ("invalid_audio", "not_pcm", "tts", False),
    "tts_422": ("provider_error", "voice_not_found", "tts", False),
    "tts_stalls": ("timeout", "next_event_timeout", "tts", True),
}
ANSWERED = [
    "plain",
    "commentary_and_final",
    "no_phase",
    "thinking",
    "llm_unknown",
    "llm_no_stream",
    "tts_long",
    "narrow_key",
]
UNHEARD = {
    "tts_empty": ("empty_audio", "no_audio"),
    "tts_silent": ("silent_audio", "silent"),
    "tts_odd": ("invalid_audio", "odd_bytes"),
}
"""What is found out once all stages are through."""


def test_every_scenario_has_an_expectation() -> None:
    assert {*FAILED, *ANSWERED, *UNHEARD} == set(CascadeEmulator.names())


@pytest.mark.parametrize("scenario", ANSWERED)
def test_answers_are_kept_byte_for_byte(scenario: str, cascade_turn: Turn) -> None:
    outcome, emulator = cascade_turn(scenario)
    assert (outcome.status, outcome.stage) == ("ok", None)
    assert outcome.pcm == (speech("long", 30) if scenario == "tts_long" else speech(f"21m00:{FINAL}"))
    assert (outcome.input_transcript, outcome.output_transcript) == (HEARD, FINAL)
    assert outcome.thinking == ("I weigh it." if scenario == "thinking" else None)
    assert [s["text"] for s in emulator.speeches] == [FINAL]
    assert COMMENTARY not in str(emulator.speeches)


@pytest.mark.parametrize("scenario", FAILED)
def test_the_stage_that_failed_is_named(scenario: str, cascade_turn: Turn) -> None:
    status, code, stage, retryable = FAILED[scenario]
    outcome, emulator = cascade_turn(scenario, terms=CASCADE.terms(code))
    found = (outcome.status, outcome.code, outcome.stage, outcome.retryable)
    assert found == (status, code, stage, retryable), outcome.message
    assert outcome.origin == "provider"
    reached = {"stt": (1, 0, 0), "llm": (1, 1, 0), "tts": (1, 1, 1)}[stage]
    assert (len(emulator.uploads), len(emulator.questions), len(emulator.speeches)) == reached


@pytest.mark.parametrize("scenario", UNHEARD)
def test_speech_that_nobody_hears_is_no_answer(scenario: str, cascade_turn: Turn) -> None:
    outcome, _ = cascade_turn(scenario)
    assert (outcome.status, outcome.code) == UNHEARD[scenario]
    assert (outcome.stage, outcome.retryable) == (None, False)


def test_what_each_stage_is_sent(cascade_turn: Turn, prompt: Prompt) -> None:
    settings = {"stt": {"model": "scribe_v2", "diarize": True}, "tts": {"voice_settings": {"stability": 0.5}}}
    outcome, emulator = cascade_turn("plain", **settings)
    (form,), (question,), (speech_body,) = emulator.uploads, emulator.questions, emulator.speeches
    with wave.open(io.BytesIO(form.pop("file"))) as wav:
        assert (wav.getframerate(), wav.getnchannels(), wav.readframes(wav.getnframes())) == (24_000, 1, prompt.pcm)
    assert form == {
        "model_id": "scribe_v2",
        "tag_audio_events": "false",
        "timestamps_granularity": "none",
        "diarize": "true",
    }
    assert question["input"] == HEARD
    assert question["instructions"] == "You are a helpful voice assistant"
    assert (question["model"], question["reasoning"], question["store"]) == ("gpt-5.6-terra", {"effort": "none"}, False)
    assert speech_body == {
        "voice": "21m00",
        "text": FINAL,
        "model_id": "eleven_flash_v2_5",
        "voice_settings": {"stability": 0.5},
    }
    assert outcome.usage is not None
    assert outcome.usage["stt"] == {"seconds": prompt.duration_s}
    assert outcome.usage["tts"] == {"characters": len(FINAL)}
    assert outcome.usage["llm"]["output_tokens"] > 0
    assert outcome.model_reported == "gpt-5.6-terra"


def test_milestones_are_in_order(cascade_turn: Turn) -> None:
    timings = cascade_turn("plain")[0].timings
    reached = [timings.connected, timings.input_sent, timings.first_event, timings.first_audio, timings.last_audio]
    assert None not in [*reached, timings.done]
    assert [*reached, timings.done] == sorted([*reached, timings.done])  # type: ignore[type-var]
    assert timings.configured is None


def test_a_cut_answer_keeps_what_had_come(cascade_turn: Turn) -> None:
    outcome, _ = cascade_turn("tts_cut")
    assert outcome.pcm
    assert speech("cut").startswith(outcome.pcm)


def test_nobody_listens(cascade_request: Callable[..., Request], prompt: Prompt) -> None:
    outcome = asyncio.run(exchange(cascade_request("http://127.0.0.1:9"), prompt))
    assert (outcome.status, outcome.code, outcome.stage) == ("provider_error", "connection_failed", "stt")


@pytest.mark.parametrize("scenario", ["plain", "stt_echoes_key", "llm_401", "tts_cut"])
def test_a_planted_key_is_nowhere(scenario: str, cascade_turn: Turn) -> None:
    assert KEY not in repr(cascade_turn(scenario)[0])


@pytest.mark.parametrize(
    ("scenario", "stages"), [("llm_incomplete", {"stt", "llm"}), ("tts_cut", {"stt", "llm", "tts"})]
)
def test_what_failed_is_charged_for_all_the_same(scenario: str, stages: set[str], cascade_turn: Turn) -> None:
    usage = cascade_turn(scenario)[0].usage
    assert usage is not None
    assert set(usage) == stages
