"""The Gemini Live emulator, met by Google's own client and by a bare one: it is no mirror of our adapter."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from s2s_assets_tests.emulators.gemini import GeminiEmulator
from s2s_assets_tests.emulators.gemini_conversation import THOUGHT
from s2s_assets_tests.emulators.tls import tls_front
from s2s_assets_tests.emulators.voices import FINAL, HEARD, item, speech

PROMPT = speech("spoken", 0.5)
ANSWER = item("final_answer", FINAL, PROMPT).pcm
MODEL = "gemini-3.1-flash-live-preview"
PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
SETUP: dict[str, Any] = {
    "model": f"models/{MODEL}",
    "generationConfig": {"responseModalities": ["AUDIO"]},
    "realtimeInputConfig": {"automaticActivityDetection": {"disabled": True}},
}


async def ask_with_googles_client(emulator: GeminiEmulator, folder: Path, **config: Any) -> list[Any]:
    """One manual turn; the messages of the answer."""
    async with tls_front(emulator.url, folder) as (url, trust):
        options = types.HttpOptions(base_url=url, api_version="v1beta", async_client_args={"ssl": trust})
        client = genai.Client(api_key="any", http_options=options)
        manual = types.RealtimeInputConfig(automatic_activity_detection=types.AutomaticActivityDetection(disabled=True))
        setup = types.LiveConnectConfig(response_modalities=["AUDIO"], realtime_input_config=manual, **config)
        async with client.aio.live.connect(model=MODEL, config=setup) as session:
            await session.send_realtime_input(activity_start=types.ActivityStart())
            for at in range(0, len(PROMPT), 3200):
                blob = types.Blob(data=PROMPT[at : at + 3200], mime_type="audio/pcm;rate=16000")
                await session.send_realtime_input(audio=blob)
            await session.send_realtime_input(activity_end=types.ActivityEnd())
            return [message async for message in session.receive()]


def heard_by_googles_client(scenario: str, folder: Path, **config: Any) -> tuple[list[Any], GeminiEmulator]:
    async def run() -> tuple[list[Any], GeminiEmulator]:
        async with GeminiEmulator(scenario) as emulator:
            return await ask_with_googles_client(emulator, folder, **config), emulator

    return asyncio.run(asyncio.wait_for(run(), 30))


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("scenario", ["plain", "text_frames", "unknown_events", "go_away"])
def test_googles_client_gets_an_answer(scenario: str, tmp_path: Path) -> None:
    voice = types.VoiceConfig(prebuilt_voice_config=types.PrebuiltVoiceConfig(voice_name="Kore"))
    messages, emulator = heard_by_googles_client(
        scenario,
        tmp_path,
        speech_config=types.SpeechConfig(voice_config=voice),
        system_instruction="Be brief.",
        thinking_config=types.ThinkingConfig(thinking_level="HIGH", include_thoughts=True),
        input_audio_transcription=types.AudioTranscriptionConfig(),
        output_audio_transcription=types.AudioTranscriptionConfig(),
    )
    (seen,) = emulator.seen
    assert seen.prompt == PROMPT
    assert (seen.session.model, seen.session.voice, seen.session.effort) == (MODEL, "Kore", "HIGH")
    assert seen.session.instructions == "Be brief."
    content = [m.server_content for m in messages if m.server_content]
    parts = [part for c in content if c.model_turn for part in c.model_turn.parts]
    assert b"".join(p.inline_data.data for p in parts if p.inline_data) == ANSWER
    thoughts = [p.text for p in parts if p.thought]
    assert thoughts == ([] if scenario == "go_away" else [THOUGHT])
    assert "".join(c.output_transcription.text for c in content if c.output_transcription).strip() == FINAL
    assert "".join(c.input_transcription.text for c in content if c.input_transcription).strip() == HEARD
    assert [c.generation_complete for c in content if c.generation_complete] == [True]
    assert content[-1].turn_complete
    usage = messages[-1].usage_metadata
    assert usage.total_token_count == usage.prompt_token_count + usage.response_token_count
    assert any(m.go_away for m in messages) == (scenario == "go_away")


@pytest.mark.parametrize(("scenario", "code"), [("bad_key", 1007), ("close_1008", 1008), ("rate_limited", 1011)])
def test_googles_client_sees_closes(scenario: str, code: int, tmp_path: Path) -> None:
    with pytest.raises(errors.APIError) as failure:
        heard_by_googles_client(scenario, tmp_path)
    assert failure.value.code == code


def with_client(talk: Callable[[ClientConnection], Awaitable[None]], scenario: str = "plain") -> None:
    async def run() -> None:
        async with GeminiEmulator(scenario) as server, connect(f"{server.url}{PATH}?key=any", proxy=None) as ws:
            await talk(ws)

    asyncio.run(asyncio.wait_for(run(), 30))


async def say(ws: ClientConnection, message: dict[str, Any]) -> None:
    await ws.send(json.dumps(message))


async def hear(ws: ClientConnection) -> dict[str, Any]:
    data = await ws.recv()
    assert isinstance(data, bytes)
    return dict(json.loads(data))


def blob(pcm: bytes, mime: str = "audio/pcm;rate=16000") -> dict[str, Any]:
    return {"realtime_input": {"audio": {"data": base64.urlsafe_b64encode(pcm).decode(), "mime_type": mime}}}


def test_only_what_is_said_within_an_activity_is_heard() -> None:
    async def talk(ws: ClientConnection) -> None:
        await say(ws, {"setup": SETUP})
        assert await hear(ws) == {"setupComplete": {}}
        await say(ws, blob(speech("too early")))
        await say(ws, {"realtimeInput": {"activityEnd": {}}})
        await say(ws, {"realtimeInput": {"activityStart": {}}})
        await say(ws, blob(PROMPT))
        await say(ws, {"realtimeInput": {"activityEnd": {}}})
        messages = [await hear(ws)]
        while not messages[-1].get("serverContent", {}).get("turnComplete"):
            messages.append(await hear(ws))
        contents = [m["serverContent"] for m in messages if "serverContent" in m]
        assert not [c for c in contents if "outputTranscription" in c], "nobody asked for it"
        parts = [p for c in contents for p in c.get("modelTurn", {}).get("parts", ())]
        assert b"".join(base64.b64decode(p["inlineData"]["data"]) for p in parts) == ANSWER
        usage = messages[-1]["usageMetadata"]
        assert usage["thoughtsTokenCount"] > 0
        assert usage["totalTokenCount"] == usage["promptTokenCount"] + usage["responseTokenCount"]

    with_client(talk)


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([{"realtimeInput": {"activityStart": {}}}], 1007),
        ([{"setup": SETUP}, {"setup": SETUP}], 1007),
        ([{"setup": {**SETUP, "turnDetection": {}}}], 1007),
        ([{"setup": {**SETUP, "generationConfig": {"responseModalities": ["TEXT"]}}}], 1007),
        ([{"setup": {**SETUP, "model": "models/gemini-2.5-pro"}}], 1008),
        ([{"setup": SETUP}, {"realtimeInput": {"activityStart": {}}}, blob(PROMPT, "audio/wav")], 1007),
        ([{"setup": SETUP}, {"realtimeInput": {"mediaChunks": []}}], 1007),
    ],
)
def test_what_is_wrong_closes_the_connection(messages: list[dict[str, Any]], code: int) -> None:
    async def talk(ws: ClientConnection) -> None:
        for message in messages:
            await say(ws, message)
        await ws.wait_closed()
        assert ws.close_code == code

    with_client(talk)


def test_no_key_no_service() -> None:
    async def run() -> None:
        async with GeminiEmulator() as server:
            with pytest.raises(InvalidStatus) as refused:
                await connect(f"{server.url}{PATH}", proxy=None)
            assert refused.value.response.status_code == 403
            assert json.loads(refused.value.response.body)["error"]["status"] == "PERMISSION_DENIED"

    asyncio.run(run())
