"""xAI's Grok voice on loopback.

What differs from the family: the commit alone asks for the reply, and nothing at all follows where no speech was heard;
a `response.create` beside the commit is answered before the speech has joined, one after the answer not at all; audio
sent before the session is configured is lost; pings; interim transcripts, some of them late; `status_details` is a
string and usage stands beside the response; parts are of type `audio`; without a model the service takes its own.
"""

import asyncio
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from websockets.http11 import Request

from s2s_assets.demo.answers import RATE_HZ, Answer, Session, SpokenItem
from s2s_assets.demo.realtime_conversation import Conversation
from s2s_assets.demo.realtime_events import RequestError, message_object, usage_object
from s2s_assets.demo.realtime_session import apply_update
from s2s_assets_tests.emulators import voices
from s2s_assets_tests.emulators.realtime import RealtimeEmulator
from s2s_assets_tests.emulators.realtime_scenarios import WAYS, Scenario, in_dialect

DEFAULT_MODEL = "grok-voice-think-fast-1.0"
_ANY: Mapping[str, Any] = {}
_WAY = {"format": _ANY, "transport": _ANY, "transcription": _ANY, "speed": _ANY}
KEYS: Mapping[str, Any] = {
    **dict.fromkeys(("voice", "turn_detection", "instructions", "tools", "tool_choice", "max_output_tokens"), _ANY),
    **dict.fromkeys(("modalities", "replace", "resumption", "parallel_tool_calls", "type"), _ANY),
    "reasoning": {"effort": _ANY},
    "audio": {"input": _WAY, "output": _WAY},
}
_TRANSCRIPT = "conversation.item.input_audio_transcription"
_JOINING_S = 0.005
_LOUD = 300


class XaiConversation(Conversation):
    """A connection in xAI's words."""

    configured = False
    answered = False

    def new_session(self, model: str) -> dict[str, Any]:
        return {
            "id": uuid.uuid4().hex,
            "object": "realtime.session",
            "instructions": "",
            "voice": "xai_ara",
            "modalities": ["audio"],
            "turn_detection": {"type": None},
            "tools": [],
            "model": model or DEFAULT_MODEL,
        }

    def changed_session(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        return apply_update(self.session, changes, KEYS)

    async def open(self) -> None:
        await super().open()
        await self.send(
            "conversation.created", conversation={"id": str(uuid.uuid4()), "object": "realtime.conversation"}
        )
        await self.ping()

    async def send(self, kind: str, **fields: Any) -> None:
        if kind != "rate_limits.updated":
            await super().send(kind, **{"previous_item_id": None, **fields})

    async def ping(self) -> None:
        await self.send("ping", timestamp=1790645006955)

    async def update(self, changes: Mapping[str, Any]) -> None:
        """The echo leaves out voice and turn detection, and calls the formats of the older fields unspecified."""
        try:
            self.session = self.changed_session(changes)
        except KeyError as unknown:
            raise RequestError("unknown_parameter", f"Unknown parameter: '{unknown.args[0]}'.") from None
        self.configured = True
        shown = {k: v for k, v in self.session.items() if k not in {"voice", "turn_detection"}}
        await self.send(
            "session.updated",
            session={**shown, "input_audio_format": "not specified", "enable_noise_suppression": False},
        )

    def append(self, audio: Any) -> None:
        super().append(audio)
        if not self.configured:
            self.buffer.clear()

    async def handle(self, message: Mapping[str, Any], tasks: asyncio.TaskGroup) -> None:
        match message.get("type"):
            case "input_audio_buffer.commit":
                self.kinds.append("input_audio_buffer.commit")
                if has_speech(bytes(self.buffer)):
                    await self.send("input_audio_buffer.speech_started", audio_start_ms=321)
                    await self.send("input_audio_buffer.speech_stopped", audio_end_ms=410)
                    await self.commit()
                    self.create_response(tasks)
                self.buffer.clear()
            case "response.create":
                self.kinds.append("response.create")
                if not self.answered:
                    self.prompt = b""
                    if self.responding is None:
                        self.create_response(tasks)
            case "response.cancel":
                raise RequestError("unsupported", "response.cancel is not supported")
            case _:
                await super().handle(message, tasks)

    def asked(self) -> Session:
        effort = (self.session.get("reasoning") or {}).get("effort", "high")
        return Session(self.session["model"], self.session["voice"], self.session["instructions"], effort)

    async def respond(self, response: str) -> None:
        await asyncio.sleep(_JOINING_S)
        answer = await self.answer(self.prompt, self.asked())
        heard = answer.input_transcript or ""
        await self.told("completed", heard, "completed")
        await self.send("response.created", response=self.response_object(response, "in_progress"))
        await self.transcribe(heard)
        await self.speak(response, answer)
        self.answered = True
        await self.finish(response, answer)

    async def told(self, kind: str, words: str, status: str | None) -> None:
        """A transcript of the prompt, interim or not."""
        where = {"item_id": self.prompt_item, "content_index": 0, "transcript": words}
        await self.send(f"{_TRANSCRIPT}.{kind}", **where, **({"status": status} if status else {}))

    async def transcribe(self, transcript: str | None) -> None:
        """Interim transcripts that come after the final one; they are sent unasked."""
        start = (transcript or "").rpartition(" ")[0]
        await self.told("updated", start, None)
        await self.told("completed", start, "in_progress")

    def ladder(self, response: str, index: int, item: SpokenItem) -> Iterator[tuple[str, dict[str, Any]]]:
        heard = 0
        for kind, fields in super().ladder(response, index, SpokenItem(None, item.text, item.pcm)):
            heard += kind == "response.output_audio.delta"
            yield kind, {**fields, **_extras(kind, fields, first=heard == 1)}

    async def finish(self, response: str, answer: Answer) -> None:
        usage = {**usage_object(self.prompt, answer), "output_audio_seconds": 0.8, "billable_audio_seconds": 8}
        await self.send("response.done", response=self.completed(response, answer), response_id=response, usage=usage)

    def completed(self, response: str, answer: Answer) -> dict[str, Any]:
        output = [
            {
                **message_object(f"item_{response[5:]}_{n}", SpokenItem(None, item.text, b""), "completed"),
                "content": [{"type": "audio", "transcript": item.text}],
            }
            for n, item in enumerate(answer.items)
        ]
        return self.response_object(response, "completed", output=output)

    def response_object(self, response: str, status: str, **fields: Any) -> dict[str, Any]:
        base = {"id": response, "object": "realtime.response", "output": [], "status": status}
        return {**base, "status_details": "unimplemented", "usage": {}, **fields}


def _extras(kind: str, fields: Mapping[str, Any], *, first: bool) -> dict[str, Any]:
    """What this service adds to an event, or leaves out of it."""
    if kind == "response.output_item.added":
        return {"item": {**{k: v for k, v in fields["item"].items() if k != "content"}, "replayed": False}}
    if kind == "response.output_audio.delta":
        milliseconds = len(fields["delta"]) * 3 // 4 * 1000 // (2 * RATE_HZ)
        added = {"rid": str(uuid.uuid4()), "audio_duration_ms": milliseconds, "ts": 1790645008060}
        return {**added, "latency": "0.70"} if first else added
    return {}


class Dropped(XaiConversation):
    """Stops in the middle of a reply, without a `response.done`; only pings go on."""

    async def speak(self, response: str, answer: Answer) -> None:
        for kind, fields in list(self.ladder(response, 0, answer.items[0]))[:5]:
            await self.send(kind, **fields)
        while True:
            await asyncio.sleep(0.01)
            await self.ping()


class Replaced(XaiConversation):
    """Leaves a reply unfinished for another one."""

    async def speak(self, response: str, answer: Answer) -> None:
        for kind, fields in list(self.ladder(response, 0, answer.items[0]))[:5]:
            await self.send(kind, **fields)
        await self.send("response.created", response=self.response_object(str(uuid.uuid4()), "in_progress"))


class Pings(XaiConversation):
    """Pings before every event, however busy it is."""

    async def send(self, kind: str, **fields: Any) -> None:
        if kind != "ping":
            await super().send("ping", timestamp=1790645006955)
        await super().send(kind, **fields)


class OldGreeting(XaiConversation):
    """Greets with `conversation.created`, as the service did at first."""

    async def open(self) -> None:
        await self.send(
            "conversation.created", conversation={"id": str(uuid.uuid4()), "object": "realtime.conversation"}
        )


class Deaf(XaiConversation):
    """Hears no speech in anything."""

    async def handle(self, message: Mapping[str, Any], tasks: asyncio.TaskGroup) -> None:
        if message.get("type") == "input_audio_buffer.commit":
            self.buffer.clear()
        await super().handle(message, tasks)


class OtherModel(XaiConversation):
    """Takes a model of its own, as where it does not know the one of the address."""

    def new_session(self, model: str) -> dict[str, Any]:
        return super().new_session(DEFAULT_MODEL)


class EchoesVoice(XaiConversation):
    """Shows voice and turn detection in words of its own."""

    async def send(self, kind: str, **fields: Any) -> None:
        if kind == "session.updated":
            own = {"voice": f"xai_{self.session['voice'].upper()}", "turn_detection": None}
            fields = {"session": {**fields["session"], **own}}
        await super().send(kind, **fields)


class KeepsVad(XaiConversation):
    """Acknowledges the session, but with turn detection still on."""

    async def send(self, kind: str, **fields: Any) -> None:
        if kind == "session.updated":
            fields = {"session": {**fields["session"], "turn_detection": {"type": "server_vad", "threshold": 0.85}}}
        await super().send(kind, **fields)


def has_speech(pcm: bytes) -> bool:
    """Whether anything is louder than a whisper."""
    return bool(pcm) and int(np.abs(np.frombuffer(pcm, "<i2").astype(int)).max()) > _LOUD


class XaiEmulator(RealtimeEmulator):
    """`WAYS` in xAI's words, and what only this service does."""

    scenarios: ClassVar[Mapping[str, Scenario]] = in_dialect(
        XaiConversation, {k: v for k, v in WAYS.items() if not k.startswith("transcript_") and k != "keeps_vad"}
    ) | {
        "reply_dropped": (Dropped, voices.plain),
        "reply_replaced": (Replaced, voices.plain),
        "pings": (Pings, voices.plain),
        "old_greeting": (OldGreeting, voices.plain),
        "no_speech": (Deaf, voices.plain),
        "other_model": (OtherModel, voices.plain),
        "keeps_vad": (KeepsVad, voices.plain),
        "echoes_voice": (EchoesVoice, voices.plain),
    }

    def model_of(self, request: Request) -> str:
        """The model of the address; without one the service takes its own and does not complain."""
        return super().model_of(request) or DEFAULT_MODEL
