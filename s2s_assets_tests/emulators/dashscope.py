"""DashScope's realtime websocket on loopback: the family's older event names and flat session, and its own rules.

Audio must go with text; the prompt comes at 16 kHz; both `commit` and `response.create` are needed; `session.finish` is
answered by `session.finished`. What Alibaba's own client sends is accepted: formats by older names, and nulls.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from s2s_assets.demo.answers import Answer, Session, SpokenItem
from s2s_assets.demo.realtime_conversation import Conversation
from s2s_assets.demo.realtime_events import RequestError, new_name
from s2s_assets.demo.realtime_session import apply_update
from s2s_assets_tests.emulators import voices
from s2s_assets_tests.emulators.realtime import RealtimeEmulator
from s2s_assets_tests.emulators.realtime_scenarios import WAYS, Scenario, in_dialect

_ANY: Mapping[str, Any] = {}
KEYS: Mapping[str, Any] = dict.fromkeys(
    (
        *("modalities", "voice", "instructions", "input_audio_format", "output_audio_format", "turn_detection"),
        *("input_audio_transcription", "sample_rate", "audio", "smooth_output", "enable_search", "search_options"),
        *("temperature", "top_p", "top_k", "max_tokens", "repetition_penalty", "presence_penalty", "seed", "tools"),
    ),
    _ANY,
)
_RENAMED = {
    "response.output_audio": "response.audio",
    "conversation.item.added": "conversation.item.created",
}
_UNKNOWN_HERE = {"rate_limits.updated", "conversation.item.done"}
_NOT_SHOWN = {"obfuscation"}


class DashScopeConversation(Conversation):
    """A connection in DashScope's words."""

    input_rate_hz = 16_000

    def new_session(self, model: str) -> dict[str, Any]:
        return {
            "id": new_name("sess"),
            "object": "realtime.session",
            "model": model,
            "modalities": ["text", "audio"],
            "voice": "Cherry",
            "instructions": "",
            "input_audio_format": "pcm16",
            "output_audio_format": "pcm24",
            "input_audio_transcription": {"model": "gummy-realtime-v1"},
            "turn_detection": {"type": "server_vad", "threshold": 0.5, "silence_duration_ms": 800},
        }

    def changed_session(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        if sorted(changes.get("modalities") or self.session["modalities"]) not in (["audio", "text"], ["text"]):
            raise RequestError("invalid_value", "modalities must be [text] or [text, audio]", "session.modalities")
        return apply_update(self.session, changes, KEYS)

    async def send(self, kind: str, **fields: Any) -> None:
        if kind in _UNKNOWN_HERE:
            return
        for new, old in _RENAMED.items():
            kind = kind.replace(new, old)
        await super().send(kind, **{k: v for k, v in fields.items() if k not in _NOT_SHOWN})

    async def handle(self, message: Mapping[str, Any], tasks: asyncio.TaskGroup) -> None:
        if message.get("type") == "session.finish":
            self.kinds.append("session.finish")
            await self.send("session.finished")
            await self.socket.close(1000)
        else:
            await super().handle(message, tasks)

    def wants_transcript(self) -> bool:
        return self.session["input_audio_transcription"] is not None

    def asked(self) -> Session:
        return Session(self.session["model"], self.session["voice"], self.session["instructions"], None)

    def ladder(self, response: str, index: int, item: SpokenItem) -> Iterator[tuple[str, dict[str, Any]]]:
        """No phases here."""
        yield from super().ladder(response, index, SpokenItem(None, item.text, item.pcm))

    def completed(self, response: str, answer: Answer) -> dict[str, Any]:
        items = tuple(SpokenItem(None, item.text, item.pcm) for item in answer.items)
        return super().completed(response, Answer(items, answer.input_transcript))

    def response_object(self, response: str, status: str, **fields: Any) -> dict[str, Any]:
        base = {"id": response, "object": "realtime.response", "output": [], "status": status, "status_details": None}
        return {**base, "modalities": ["text", "audio"], "voice": self.session["voice"], "usage": None, **fields}


class IdleClose(DashScopeConversation):
    """Closes a connection on which nothing has happened for a while, in the middle of an answer too."""

    async def speak(self, response: str, answer: Answer) -> None:
        await self.socket.close(1007, "Idle timeout: no input for 180 seconds.")


class OldFormats(DashScopeConversation):
    """Echoes the formats by their older names, and the voice in lower case."""

    async def send(self, kind: str, **fields: Any) -> None:
        if kind == "session.updated":
            names = {"input_audio_format": "pcm16", "output_audio_format": "pcm24"}
            voice = self.session["voice"].lower()
            fields = {"session": {**fields["session"], **names, "voice": voice, "modalities": ["audio", "text"]}}
        await super().send(kind, **fields)


class PlainError(DashScopeConversation):
    """An `error` event whose code and message are not wrapped in an object."""

    async def respond(self, response: str) -> None:
        await self.send("error", code="InvalidParameter", message="The voice is not supported.")


class DashScopeEmulator(RealtimeEmulator):
    """`WAYS` in DashScope's words, and what only this service does."""

    path = "/api-ws/v1/realtime"
    scenarios: ClassVar[Mapping[str, Scenario]] = in_dialect(DashScopeConversation, WAYS) | {
        "idle_close": (IdleClose, voices.plain),
        "old_formats": (OldFormats, voices.plain),
        "plain_error": (PlainError, voices.plain),
    }
