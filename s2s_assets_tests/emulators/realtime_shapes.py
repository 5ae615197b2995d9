"""Shapes that the events of servers with OpenAI's realtime vocabulary are known to take, harmless and malformed ones.

Each class overrides hooks of `Conversation` and calls the next one, so that it can stand on another server's dialect.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from s2s_assets.demo.answers import Answer, SpokenItem
from s2s_assets.demo.realtime_conversation import Conversation
from s2s_assets.demo.realtime_events import new_name
from s2s_assets_tests.emulators import voices


class TranscriptLate(Conversation):
    """The input transcript comes after `response.done`."""

    async def transcribe(self, transcript: str | None) -> None:
        pass

    async def finish(self, response: str, answer: Answer) -> None:
        await super().finish(response, answer)
        await super().transcribe(answer.input_transcript)


class TranscriptFailed(Conversation):
    """The side recognition fails in the middle of the answer, which goes on."""

    async def transcribe(self, transcript: str | None) -> None:
        error = {"type": "server_error", "code": "transcription_failed", "message": "no words"}
        kind = "conversation.item.input_audio_transcription.failed"
        await self.send(kind, item_id=self.prompt_item, content_index=0, error=error)


class Interleaved(Conversation):
    """The second item is announced before the first one ends; audio of both comes alternately, the second first."""

    async def speak(self, response: str, answer: Answer) -> None:
        ladders = [list(self.ladder(response, n, item)) for n, item in enumerate(answer.items)]
        for steps in itertools.zip_longest(*reversed(ladders)):
            for step in steps:
                if step is not None:
                    await self.send(step[0], **step[1])


class OddChunks(Conversation):
    """Deltas that end in the middle of a sample."""

    def chunks(self, pcm: bytes) -> Iterator[bytes]:
        return (pcm[at : at + 4801] for at in range(0, len(pcm), 4801))


class OneBigDelta(Conversation):
    """All audio in one message of more than 1 MiB."""

    chunk_ms = 60_000


class UnknownEvents(Conversation):
    """Event types that no one has heard of, everywhere."""

    async def send(self, kind: str, **fields: Any) -> None:
        await super().send("telemetry.sample", detail={"after": kind})
        await super().send(kind, **fields)


class KeepsVad(Conversation):
    """Acknowledges the session, but with turn detection still on."""

    async def send(self, kind: str, **fields: Any) -> None:
        if kind == "session.updated":
            fields = {"session": _with_detection(fields["session"])}
        await super().send(kind, **fields)


def _with_detection(session: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: {"type": "server_vad"}
        if key == "turn_detection"
        else _with_detection(value)
        if isinstance(value, Mapping)
        else value
        for key, value in session.items()
    }


class SparseEcho(Conversation):
    """The echoed session lacks most of what was asked for."""

    async def send(self, kind: str, **fields: Any) -> None:
        if kind == "session.updated":
            fields = {"session": {k: v for k, v in fields["session"].items() if k in {"id", "model", "instructions"}}}
        await super().send(kind, **fields)


class OtherSession(Conversation):
    """The echoed session has an instruction that was not asked for."""

    async def send(self, kind: str, **fields: Any) -> None:
        if kind == "session.updated":
            fields = {"session": {**fields["session"], "instructions": "You are a pirate."}}
        await super().send(kind, **fields)


class NotJson(Conversation):
    async def speak(self, response: str, answer: Answer) -> None:
        await self.socket.send("<html>bad gateway</html>")
        await super().speak(response, answer)


class NotBase64(Conversation):
    def deltas(self, part: Any, item: SpokenItem) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "response.output_audio.delta", {**part, "delta": "this is no base64!"}


class OddShape(Conversation):
    """An event of a known type without the fields that it always has."""

    async def finish(self, response: str, answer: Answer) -> None:
        await self.send("response.output_item.done", response_id=response, output_index=0, item=None)
        await super().finish(response, answer)


class OddValues(Conversation):
    """Numbers and text that JSON's readers take and its writers refuse."""

    async def speak(self, response: str, answer: Answer) -> None:
        await self.socket.send('{"type": "telemetry", "event_id": "e", "load": NaN, "most": -Infinity}')
        await self.socket.send('{"type": "telemetry", "event_id": "e", "text": "half \\ud83d a pair"}')
        await super().speak(response, answer)


class LateAudio(Conversation):
    """The last piece of audio comes after the event that says that there is no more."""

    def ladder(self, response: str, index: int, item: SpokenItem) -> Iterator[tuple[str, dict[str, Any]]]:
        steps = list(super().ladder(response, index, item))
        last = max(n for n, (kind, _) in enumerate(steps) if kind == "response.output_audio.delta")
        yield from (*steps[:last], *steps[last + 1 :], steps[last])


class OtherResponse(Conversation):
    """Events of a response that nobody asked for, between those of the answer."""

    async def speak(self, response: str, answer: Answer) -> None:
        stray = SpokenItem(None, "Left over from before.", voices.speech("stray"))
        stray_steps = list(self.ladder(new_name("resp"), 0, stray))
        steps = [step for n, item in enumerate(answer.items) for step in self.ladder(response, n, item)]
        for pair in itertools.zip_longest(stray_steps, steps):
            for kind, fields in filter(None, pair):
                await self.send(kind, **fields)
