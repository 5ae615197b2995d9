"""Grok voice: what it is asked for and how it is read; its scenarios are in `test_realtime_family`."""

import asyncio
import base64
import json
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from s2s_assets.responses import Prompt, exchange
from s2s_assets_tests.emulators.voices import FINAL, HEARD, item, speech
from s2s_assets_tests.emulators.xai import XaiEmulator
from s2s_assets_tests.responses.parties import XAI


@pytest.mark.parametrize("level", ["none", "high"])
def test_the_thinking_level_is_always_said(level: str) -> None:
    async def turn() -> None:
        async with XaiEmulator() as emulator:
            request = XAI.request(emulator.url)
            request = type(request)(**{**vars(request), "thinking": level})
            outcome = await exchange(request, XAI.prompt())
            assert outcome.ok
            assert outcome.snapshot["configuration"]["session"]["reasoning"] == {"effort": level}
            assert emulator.seen[0].session.effort == level

    asyncio.run(turn())


def test_what_the_server_is_asked_for() -> None:
    outcome, emulator = XAI.turn(transcription="grok-transcribe", session={"audio": {"output": {"speed": 0.9}}})
    pcm = {"type": "audio/pcm", "rate": 24_000}
    assert outcome.snapshot["configuration"]["session"] == {
        "instructions": "You are a helpful voice assistant",
        "voice": "ara",
        "turn_detection": {"type": None},
        "reasoning": {"effort": "high"},
        "audio": {
            "input": {"format": pcm, "transcription": {"model": "grok-transcribe"}},
            "output": {"format": pcm, "speed": 0.9},
        },
    }
    (seen,) = emulator.seen
    assert (seen.session.model, seen.session.voice) == ("grok-voice-think-fast-2.0", "ara")
    assert outcome.snapshot["url"].endswith("/v1/realtime?model=grok-voice-think-fast-2.0")


def test_the_commit_alone_asks_for_the_reply() -> None:
    _, emulator = XAI.turn()
    (kinds,) = emulator.kinds
    assert kinds[0] == "session.update"
    assert kinds[-1] == "input_audio_buffer.commit"
    assert set(kinds[1:-1]) == {"input_audio_buffer.append"}


def test_only_a_final_transcript_counts_and_usage_stands_beside_the_response() -> None:
    outcome, _ = XAI.turn()
    interim = [e["event"] for e in outcome.events if e["event"].get("status") == "in_progress"]
    assert interim[-1]["transcript"] != HEARD
    assert outcome.input_transcript == HEARD
    assert outcome.usage is not None
    assert outcome.usage["billable_audio_seconds"] == 8


def test_a_prompt_without_speech_is_not_tried_again() -> None:
    async def turn() -> None:
        async with XaiEmulator() as emulator:
            silence = Prompt(bytes(48_000), 24_000)
            outcome = await exchange(XAI.request(emulator.url, XAI.terms("no_speech_detected")), silence)
            assert (outcome.status, outcome.code, outcome.retryable) == ("timeout", "no_speech_detected", False)
            assert emulator.seen == []

    asyncio.run(turn())


def test_without_a_model_the_service_s_own_answer_is_refused() -> None:
    outcome, _ = XAI.turn(model="")
    assert (outcome.status, outcome.code) == ("provider_error", "model_mismatch")
    assert outcome.model_reported == "grok-voice-think-fast-1.0"


def talk(*messages: dict[str, Any], until: str) -> list[dict[str, Any]]:
    """Events up to the first of a type, of a bare client that sends some messages at once."""

    async def run() -> list[dict[str, Any]]:
        async with XaiEmulator() as server:
            headers = {"Authorization": "Bearer any"}
            url = f"{server.url}/v1/realtime?model=m"
            async with connect(url, additional_headers=headers, proxy=None, max_size=None) as socket:
                for message in messages:
                    await socket.send(json.dumps(message))
                return await _until(socket, until)

    return asyncio.run(asyncio.wait_for(run(), 20))


async def _until(socket: ClientConnection, kind: str) -> list[dict[str, Any]]:
    events = [json.loads(await socket.recv())]
    while events[-1]["type"] != kind:
        events.append(json.loads(await socket.recv()))
    return events


APPEND = {"type": "input_audio_buffer.append", "audio": base64.b64encode(speech("spoken", 0.5)).decode()}
COMMIT, CREATE = {"type": "input_audio_buffer.commit"}, {"type": "response.create"}
UPDATE = {"type": "session.update", "session": {"voice": "ara", "turn_detection": {"type": None}}}


def spoken(events: list[dict[str, Any]]) -> bytes:
    return b"".join(base64.b64decode(e["delta"]) for e in events if e["type"] == "response.output_audio.delta")


def test_the_emulator_answers_a_commit() -> None:
    events = talk(UPDATE, APPEND, COMMIT, until="response.done")
    assert spoken(events) == item(None, FINAL, speech("spoken", 0.5)).pcm
    assert events[-1]["response"]["status_details"] == "unimplemented"
    assert all("previous_item_id" in event for event in events)


def test_the_emulator_answers_a_create_beside_the_commit_before_the_speech_has_joined() -> None:
    events = talk(UPDATE, APPEND, COMMIT, CREATE, until="response.done")
    assert spoken(events) == item(None, FINAL, b"").pcm


def test_the_emulator_loses_audio_that_comes_before_the_configuration() -> None:
    events = talk(APPEND, UPDATE, COMMIT, {"type": "response.cancel"}, until="error")
    assert not [e for e in events if e["type"] == "input_audio_buffer.committed"]
