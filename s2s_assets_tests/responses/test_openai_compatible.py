"""A server of one's own: the forms and names that a config may choose; its scenarios are in `test_realtime_family`."""

import asyncio
from typing import Any

import pytest

from s2s_assets.responses import Outcome, exchange
from s2s_assets.responses.providers.openai_compatible import OpenAICompatible
from s2s_assets.responses.recorder import Recorder
from s2s_assets_tests.emulators.dashscope import DashScopeEmulator
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.emulators.voices import FINAL, item
from s2s_assets_tests.responses.parties import COMPATIBLE, PATIENT


def _turn(emulator: Any, terms: Any = PATIENT, **settings: Any) -> tuple[Outcome, Any]:
    async def play() -> tuple[Outcome, Any]:
        async with emulator as server:
            return await exchange(COMPATIBLE.request(server.url, terms, **settings), COMPATIBLE.prompt()), server

    return asyncio.run(play())


@pytest.mark.parametrize("scenario", ["plain", "old_names", "both_names"])
def test_speech_is_heard_once_under_either_name(scenario: str) -> None:
    outcome, _ = _turn(OpenAIEmulator(scenario))
    assert outcome.pcm == item(None, FINAL, COMPATIBLE.prompt().pcm).pcm


def test_no_audio_stands_in_the_log_under_the_name_that_is_not_listened_to() -> None:
    request = COMPATIBLE.request("ws://127.0.0.1:9")
    protocol = OpenAICompatible(request, Recorder(request))
    delta = {"response_id": "r", "item_id": "i", "output_index": 0, "delta": "AAAA"}
    protocol.receive({"type": "response.created", "response": {"id": "r"}})
    protocol.receive({"type": "response.output_audio.delta", **delta})
    bodies = [protocol.body({"type": f"{name}.delta", **delta}) for name in OpenAICompatible.speech_events]
    assert bodies == ["delta", "delta"]
    assert protocol.body({"type": "response.output_audio_transcript.delta", "delta": "word"}) is None


def test_the_flat_form_at_another_path() -> None:
    outcome, server = _turn(DashScopeEmulator(), form="flat", path="/api-ws/v1/realtime")
    assert outcome.ok, outcome.message
    assert server.prompts == [COMPATIBLE.prompt().pcm]
    session = outcome.snapshot["configuration"]["session"]
    assert session["turn_detection"] is None
    assert "audio" not in session


@pytest.mark.parametrize("form", ["nested", "flat"])
def test_turn_detection_that_stays_on_is_not_tolerated(form: str) -> None:
    nested = form == "nested"
    path = "/v1/realtime" if nested else "/api-ws/v1/realtime"
    emulator = OpenAIEmulator("keeps_vad") if nested else DashScopeEmulator("keeps_vad")
    outcome, _ = _turn(emulator, form=form, path=path)
    assert (outcome.status, outcome.code) == ("provider_error", "session_mismatch")
    assert "turn_detection" in (outcome.message or "")


def test_a_server_that_answers_the_commit_is_asked_for_nothing_more() -> None:
    outcome, server = _turn(OpenAIEmulator(), COMPATIBLE.terms("first_event_timeout"), create_response=False)
    assert server.kinds[0][-1] == "input_audio_buffer.commit"
    assert outcome.code == "first_event_timeout"


def test_the_rate_of_the_answer_is_the_study_s_to_say() -> None:
    outcome, _ = _turn(OpenAIEmulator(), output_rate_hz=16_000)
    assert (outcome.status, outcome.rate_hz) == ("ok", 16_000)
