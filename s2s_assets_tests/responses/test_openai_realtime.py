"""The OpenAI Realtime adapter: phases, what it asks for, how a prompt is sent; its scenarios are in `test_realtime_family`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.responses import Outcome, Prompt
from s2s_assets.responses.providers.conversation import schedule
from s2s_assets.responses.providers.openai_realtime import OpenAIRealtime
from s2s_assets.responses.recorder import Recorder
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.emulators.voices import COMMENTARY, FINAL, HEARD, item
from s2s_assets_tests.responses.conftest import QUICK
from s2s_assets_tests.responses.parties import OPENAI

Turn = Callable[..., tuple[Outcome, OpenAIEmulator]]


def test_commentary_is_kept_apart(openai_turn: Turn, prompt: Prompt) -> None:
    for scenario in ("commentary_and_final", "interleaved_commentary"):
        outcome, _ = openai_turn(scenario)
        assert outcome.ok
        assert outcome.provisional == (item("commentary", COMMENTARY, prompt.pcm).pcm,)
        assert outcome.pcm == item("final_answer", FINAL, prompt.pcm).pcm
        assert outcome.output_transcript == FINAL


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


@pytest.mark.parametrize("effort", ["minimal", "low", "medium", "high", "xhigh"])
def test_the_thinking_level_is_the_effort(effort: str, openai_turn: Turn) -> None:
    outcome, emulator = openai_turn("plain", thinking=effort)
    assert outcome.ok
    assert emulator.seen[0].session.effort == effort


@pytest.mark.parametrize("scenario", ["plain", "limits_first"])
def test_what_is_left_of_the_limits_is_kept_whenever_it_comes(scenario: str, openai_turn: Turn) -> None:
    outcome, _ = openai_turn(scenario)
    (limits,) = [e["event"]["rate_limits"] for e in outcome.events if e["event"]["type"] == "rate_limits.updated"]
    assert limits[0]["name"] == "tokens"


def test_a_late_transcript_does_not_move_the_end(openai_turn: Turn) -> None:
    outcome, _ = openai_turn("transcript_late", transcription="gpt-4o-mini-transcribe")
    assert outcome.input_transcript == HEARD
    late = next(e for e in outcome.events if e["event"]["type"].endswith("transcription.completed"))
    assert late["at_ms"] >= (outcome.timings.done or 0)


def test_no_effort_is_sent_for_a_model_without_thinking_levels(openai_turn: Turn) -> None:
    outcome, _ = openai_turn("plain", thinking="none")
    assert "reasoning" not in outcome.snapshot["configuration"]["session"]


def test_a_failure_keeps_what_had_come(openai_turn: Turn, prompt: Prompt) -> None:
    outcome, _ = openai_turn("close_1001")
    whole = item("final_answer", FINAL, prompt.pcm).pcm
    assert outcome.pcm
    assert whole.startswith(outcome.pcm)
    assert outcome.timings.done is None
    assert "60 minutes" in (outcome.message or "")


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


@pytest.mark.parametrize("taken_out", [{"audio": None}, {"audio": {"input": None}}], ids=["audio", "input"])
def test_a_study_may_take_parts_of_the_session_out(taken_out: dict[str, Any]) -> None:
    request = OPENAI.request("ws://127.0.0.1:9", session=taken_out)
    assert OpenAIRealtime(request, Recorder(request)).patience_s() <= 0.25, "no transcript was asked for"
