"""The vendors' own clients against the emulators, so that these are no mirror of our adapters.

What is sent and expected here is the client's: `openai` for Realtime, Responses and chat completions (vLLM-Omni's API),
`elevenlabs` for both speech services, `dashscope` for Qwen. xAI's SDK has no client for its voice protocol.
"""

import asyncio
import base64
import io
import json
import threading
import wave
from typing import Any

import pytest
from dashscope.audio.qwen_omni import MultiModality, OmniRealtimeCallback, OmniRealtimeConversation
from elevenlabs.client import AsyncElevenLabs
from elevenlabs.core import ApiError
from openai import AsyncOpenAI, AuthenticationError, RateLimitError
from openai.types.realtime import RealtimeServerEvent
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from s2s_assets_tests.emulators.dashscope import DashScopeEmulator
from s2s_assets_tests.emulators.elevenlabs import ElevenLabsEmulator
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.emulators.openai_responses import ResponsesEmulator
from s2s_assets_tests.emulators.vllm_omni import VllmOmniEmulator
from s2s_assets_tests.emulators.voices import COMMENTARY, FINAL, HEARD, item, speech

PROMPT = speech("spoken", 0.5)


def openai_client(url: str) -> AsyncOpenAI:
    """OpenAI's client for a server on loopback, over HTTP and websockets."""
    address = url.replace("ws://", "http://")
    return AsyncOpenAI(
        api_key="any",
        base_url=f"{address}/v1",
        websocket_base_url=f"{address.replace('http://', 'ws://')}/v1",
        max_retries=0,
    )


def wav(pcm: bytes, rate_hz: int = 24_000) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setparams((1, 2, rate_hz, 0, "NONE", ""))
        out.writeframes(pcm)
    return file.getvalue()


async def realtime_events(scenario: str) -> list[Any]:
    """A manual turn as OpenAI's client sends it; its events, typed by the client, up to the answer's end."""
    async with OpenAIEmulator(scenario) as server:
        async with openai_client(server.url).realtime.connect(model="gpt-realtime-2.1") as connection:
            events = [await connection.recv()]
            pcm: Any = {"type": "audio/pcm", "rate": 24_000}
            heard: Any = {"format": pcm, "turn_detection": None, "transcription": {"model": "whisper-1"}}
            session: Any = {"type": "realtime", "instructions": "Be brief.", "audio": {"input": heard}}
            await connection.session.update(session=session)
            await connection.input_audio_buffer.append(audio=base64.b64encode(PROMPT).decode())
            await connection.input_audio_buffer.commit()
            await connection.response.create()
            async for event in connection:
                events.append(event)
                if event.type in {"response.done", "error"}:
                    break
        assert [turn.prompt for turn in server.seen] == [PROMPT]
    return events


def test_openai_realtime() -> None:
    events = asyncio.run(realtime_events("plain"))
    assert events[0].type == "session.created"
    audio = b"".join(base64.b64decode(e.delta) for e in events if e.type == "response.output_audio.delta")
    assert audio == item("final_answer", FINAL, PROMPT).pcm
    heard = [e for e in events if e.type == "conversation.item.input_audio_transcription.completed"]
    assert [e.transcript for e in heard] == [HEARD]
    assert events[-1].response.status == "completed"
    assert events[-1].response.usage.total_tokens > 0
    known: TypeAdapter[Any] = TypeAdapter(RealtimeServerEvent)
    for event in events:
        assert known.validate_python(event.to_dict()).type == event.type


def test_openai_realtime_failures_and_phases() -> None:
    failed = asyncio.run(realtime_events("rate_limited"))[-1]
    assert failed.response.status == "failed"
    assert failed.response.status_details.error.code == "rate_limit_exceeded"
    phases = [
        e.item.model_extra.get("phase") if e.item.model_extra else getattr(e.item, "phase", None)
        for e in asyncio.run(realtime_events("commentary_and_final"))
        if e.type == "response.output_item.added"
    ]
    assert phases == ["commentary", "final_answer"]


def test_openai_responses() -> None:
    async def run(scenario: str) -> tuple[list[Any], Any]:
        async with ResponsesEmulator(scenario) as server:
            client = openai_client(server.url)
            ask: Any = {"model": "gpt-5.6-terra", "input": HEARD, "reasoning": {"effort": "low"}, "store": False}
            stream = await client.responses.create(**ask, stream=True)
            events = [event async for event in stream]
            return events, await client.responses.create(**ask)

    events, whole = asyncio.run(run("commentary_and_final"))
    assert events[-1].type == "response.completed"
    assert [e.sequence_number for e in events] == list(range(len(events)))
    known: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    for event in events:
        assert known.validate_python(event.to_dict()).type == event.type
    spoken = [i.content[0].text for i in whole.output if i.type == "message" and i.phase == "final_answer"]
    assert spoken == [FINAL]
    # the shortcut that adapters must not use: it says the commentary too
    assert COMMENTARY in whole.output_text
    assert FINAL in whole.output_text
    assert asyncio.run(run("llm_incomplete"))[0][-1].response.incomplete_details.reason == "max_output_tokens"


@pytest.mark.parametrize(("scenario", "error"), [("llm_429", RateLimitError), ("llm_401", AuthenticationError)])
def test_openai_responses_refusals(scenario: str, error: type[Exception]) -> None:
    async def run() -> None:
        async with ResponsesEmulator(scenario) as server:
            with pytest.raises(error):
                await openai_client(server.url).responses.create(model="m", input="x")

    asyncio.run(run())


def test_openai_client_at_vllm_omni() -> None:
    async def run(scenario: str) -> tuple[Any, list[Any]]:
        async with VllmOmniEmulator(scenario) as server:
            client = openai_client(server.url)
            sound = base64.b64encode(wav(PROMPT)).decode()
            part = {"type": "input_audio", "input_audio": {"data": sound, "format": "wav"}}
            messages: Any = [{"role": "user", "content": [part]}]
            ask: Any = {"model": "m", "messages": messages, "modalities": ["text", "audio"]}
            whole = await client.chat.completions.create(**ask)
            stream = await client.chat.completions.create(
                **ask, stream=True, extra_body={"audio": {"format": "pcm16"}, "speaker": "aiden"}
            )
            return whole, [chunk async for chunk in stream]

    for scenario in ("one_choice", "two_choices"):
        whole, chunks = asyncio.run(run(scenario))
        audio = next(c.message.audio for c in whole.choices if c.message.audio)
        with wave.open(io.BytesIO(base64.b64decode(audio.data))) as file:
            assert file.readframes(file.getnframes()) == speech(wav(PROMPT))
        sounds = [c for c in chunks if c.model_extra.get("modality") == "audio"]
        assert b"".join(base64.b64decode(c.choices[0].delta.content) for c in sounds) == speech(wav(PROMPT))
        assert chunks[-1].usage.total_tokens > 0


def test_elevenlabs() -> None:
    async def run() -> tuple[Any, bytes, ElevenLabsEmulator]:
        async with ElevenLabsEmulator() as server:
            client = AsyncElevenLabs(api_key="any", base_url=server.url)
            heard = await client.speech_to_text.convert(
                model_id="scribe_v2", file=("prompt.wav", wav(PROMPT), "audio/wav"), tag_audio_events=False
            )
            pieces = client.text_to_speech.stream(
                "21m00", text=FINAL, model_id="eleven_flash_v2_5", output_format="pcm_24000"
            )
            return heard, b"".join([piece async for piece in pieces]), server

    heard, pcm, server = asyncio.run(run())
    assert heard.text == HEARD
    assert heard.language_code == "eng"
    assert pcm == speech(f"21m00:{FINAL}")
    assert server.uploads[0]["file"] == wav(PROMPT)
    assert server.uploads[0]["tag_audio_events"] == "false"
    assert server.speeches[0]["model_id"] == "eleven_flash_v2_5"


@pytest.mark.parametrize(("scenario", "status"), [("tts_concurrent", 429), ("tts_422", 422)])
def test_elevenlabs_refusals(scenario: str, status: int) -> None:
    async def run() -> None:
        async with ElevenLabsEmulator(scenario) as server:
            client = AsyncElevenLabs(api_key="any", base_url=server.url)
            pieces = client.text_to_speech.stream("21m00", text="Hi.", output_format="pcm_24000")
            with pytest.raises(ApiError) as refused:
                _ = [piece async for piece in pieces]
            assert refused.value.status_code == status

    asyncio.run(run())


class Listener(OmniRealtimeCallback):
    """Collects what DashScope's client hears."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.configured = threading.Event()
        self.over = threading.Event()

    def on_event(self, message: Any) -> None:
        event = json.loads(message) if isinstance(message, str) else dict(message)
        self.events.append(event)
        if event["type"] == "session.updated":
            self.configured.set()
        if event["type"] in {"response.done", "error"}:
            self.over.set()


def dashscope_turn(url: str) -> list[dict[str, Any]]:
    """A manual turn as Alibaba's client sends it, and its polite end."""
    listener = Listener()
    client = OmniRealtimeConversation(
        model="qwen3-omni-flash-realtime", callback=listener, url=f"{url}/api-ws/v1/realtime", api_key="any"
    )
    client.connect()
    client.update_session(
        output_modalities=[MultiModality.TEXT, MultiModality.AUDIO], voice="Cherry", enable_turn_detection=False
    )
    assert listener.configured.wait(10)
    client.append_audio(base64.b64encode(PROMPT).decode())
    client.commit()
    client.create_response()
    assert listener.over.wait(10)
    client.end_session(timeout=5)
    client.close()
    return listener.events


def test_dashscope() -> None:
    async def run() -> tuple[list[dict[str, Any]], DashScopeEmulator]:
        async with DashScopeEmulator() as server:
            return await asyncio.to_thread(dashscope_turn, server.url), server

    events, server = asyncio.run(run())
    assert server.prompts == [PROMPT]
    audio = b"".join(base64.b64decode(e["delta"]) for e in events if e["type"] == "response.audio.delta")
    assert audio == item(None, FINAL, PROMPT).pcm
    assert events[-1]["type"] == "session.finished"
    assert server.kinds[0][-1] == "session.finish"
