"""The Realtime server, met by a bare websocket client: what the protocol promises beyond what our adapter does."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from s2s_assets.demo.realtime_conversation import LARGEST_APPEND, Conversation
from s2s_assets.demo.realtime_server import RealtimeServer
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.emulators.voices import FINAL, HEARD, item, plain, speech

PROMPT = speech("spoken", 0.5)
Event = dict[str, Any]


def with_client(talk: Callable[[ClientConnection], Awaitable[None]], conversation: type = Conversation) -> None:
    async def run() -> None:
        async with RealtimeServer(plain, conversation=conversation) as server:
            headers = {"Authorization": "Bearer any"}
            async with connect(
                f"{server.url}/v1/realtime?model=m", additional_headers=headers, proxy=None, max_size=None
            ) as ws:
                created = json.loads(await ws.recv())
                assert created["type"] == "session.created"
                assert created["session"]["audio"]["input"]["turn_detection"]["type"] == "server_vad"
                await talk(ws)

    asyncio.run(asyncio.wait_for(run(), 30))


async def say(ws: ClientConnection, kind: str, **fields: Any) -> None:
    await ws.send(json.dumps({"type": kind, **fields}))


async def hear(ws: ClientConnection) -> Event:
    event = json.loads(await ws.recv())
    assert event["event_id"]
    return dict(event)


async def until(ws: ClientConnection, kind: str) -> list[Event]:
    events = [await hear(ws)]
    while events[-1]["type"] != kind:
        events.append(await hear(ws))
    return events


def append(pcm: bytes) -> dict[str, str]:
    return {"audio": base64.b64encode(pcm).decode()}


def test_an_answer_needs_commit_and_create() -> None:
    async def talk(ws: ClientConnection) -> None:
        await say(ws, "session.update", session={"audio": {"input": {"transcription": {"model": "x"}}}})
        updated = await hear(ws)
        assert updated["session"]["audio"]["input"]["transcription"] == {"model": "x"}
        assert updated["session"]["audio"]["input"]["format"] == {"type": "audio/pcm", "rate": 24000}
        await say(ws, "input_audio_buffer.append", **append(PROMPT))
        await say(ws, "input_audio_buffer.commit")
        heard = [await hear(ws) for _ in range(3)]
        assert [e["type"] for e in heard] == [
            "input_audio_buffer.committed",
            "conversation.item.added",
            "conversation.item.done",
        ]
        await say(ws, "response.create")
        events = await until(ws, "rate_limits.updated")
        kinds = list(dict.fromkeys(e["type"] for e in events))
        assert kinds == [
            "response.created",
            "conversation.item.input_audio_transcription.delta",
            "conversation.item.input_audio_transcription.completed",
            "response.output_item.added",
            "conversation.item.added",
            "response.content_part.added",
            "response.output_audio_transcript.delta",
            "response.output_audio.delta",
            "response.output_audio.done",
            "response.output_audio_transcript.done",
            "response.content_part.done",
            "conversation.item.done",
            "response.output_item.done",
            "response.done",
            "rate_limits.updated",
        ]
        audio = b"".join(base64.b64decode(e["delta"]) for e in events if e["type"] == "response.output_audio.delta")
        assert audio == item("final_answer", FINAL, PROMPT).pcm
        words = [e for e in events if e["type"] == "response.output_audio_transcript.delta"]
        assert "".join(e["delta"] for e in words) == FINAL
        assert all(e["obfuscation"] for e in words)
        assert next(e for e in events if e["type"].endswith(".completed"))["transcript"] == HEARD
        done = events[-2]["response"]
        assert (done["status"], done["output"][0]["phase"]) == ("completed", "final_answer")

    with_client(talk)


def test_an_unknown_key_rejects_the_whole_update() -> None:
    async def talk(ws: ClientConnection) -> None:
        changes = {"instructions": "mine", "audio": {"input": {"turn_detection": None, "vad": 1}}}
        await say(ws, "session.update", session=changes, event_id="mine-1")
        error = (await hear(ws))["error"]
        assert (error["code"], error["param"]) == ("unknown_parameter", "session.audio.input.vad")
        assert error["event_id"] == "mine-1"
        await say(ws, "session.update", session={"output_modalities": ["audio"]})
        session = (await hear(ws))["session"]
        assert session["instructions"] != "mine"
        assert session["audio"]["input"]["turn_detection"] is not None

    with_client(talk)


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        ("input_audio_buffer.commit", {}, "input_audio_buffer_commit_empty"),
        ("input_audio_buffer.append", {"audio": "no base64!"}, "invalid_value"),
        ("input_audio_buffer.append", append(bytes(LARGEST_APPEND + 2)), "string_above_max_length"),
        ("response.cancel", {}, "response_cancel_not_active"),
        ("session.upgrade", {}, "invalid_value"),
        ("conversation.item.create", {"item": {"content": [{"type": "input_text"}]}}, "invalid_value"),
    ],
)
def test_a_wrong_message_is_answered_by_an_error(kind: str, fields: dict[str, Any], code: str) -> None:
    async def talk(ws: ClientConnection) -> None:
        await say(ws, kind, **fields)
        assert (await hear(ws))["error"]["code"] == code
        await say(ws, "input_audio_buffer.clear")
        assert (await hear(ws))["type"] == "input_audio_buffer.cleared"

    with_client(talk)


def test_what_is_no_json_is_answered_too() -> None:
    async def talk(ws: ClientConnection) -> None:
        for text in ("{", "[]", "7"):
            await ws.send(text)
            assert (await hear(ws))["error"]["code"] == "invalid_json"

    with_client(talk)


def test_a_hundred_milliseconds_are_enough_and_less_is_not() -> None:
    async def talk(ws: ClientConnection) -> None:
        await say(ws, "input_audio_buffer.append", **append(PROMPT[:4798]))
        await say(ws, "input_audio_buffer.commit")
        assert "99.96ms" in (await hear(ws))["error"]["message"]
        await say(ws, "input_audio_buffer.append", **append(PROMPT[4798:4800]))
        await say(ws, "input_audio_buffer.commit")
        assert (await hear(ws))["type"] == "input_audio_buffer.committed"

    with_client(talk)


class Slow(Conversation):
    """Begins an answer and does not end it."""

    async def speak(self, response: str, answer: Any) -> None:
        await asyncio.Event().wait()


def test_one_answer_at_a_time_and_it_can_be_cancelled() -> None:
    async def talk(ws: ClientConnection) -> None:
        await say(ws, "conversation.item.create", item={"content": [{"type": "input_audio", **append(PROMPT)}]})
        await until(ws, "conversation.item.done")
        await say(ws, "response.create")
        await until(ws, "response.created")
        await say(ws, "response.create")
        assert (await hear(ws))["error"]["code"] == "conversation_already_has_active_response"
        await say(ws, "response.cancel")
        done = (await hear(ws))["response"]
        assert (done["status"], done["status_details"]["reason"]) == ("cancelled", "client_cancelled")

    with_client(talk, Slow)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/realtime?model=m", {}, 401),
        ("/v1/realtime?model=m", {"Authorization": "Bearer "}, 401),
        ("/v1/realtime?model=m", {"Authorization": "Basic x"}, 401),
        ("/v1/realtime", {"Authorization": "Bearer x"}, 400),
    ],
)
def test_upgrades_that_are_refused(path: str, headers: dict[str, str], status: int) -> None:
    async def run() -> None:
        async with OpenAIEmulator() as server:
            with pytest.raises(InvalidStatus) as refused:
                await connect(server.url + path, additional_headers=headers, proxy=None)
            assert refused.value.response.status_code == status
            assert json.loads(refused.value.response.body)["error"]["message"]

    asyncio.run(run())
