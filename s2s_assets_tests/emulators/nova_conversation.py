"""One session of Amazon Nova Sonic.

`sessionStart` comes first, then `promptStart`, then the contents; what is out of order, or unknown to the service, ends
the stream with a `validationException`, but for speech outside a content, after which the session hears nothing any more.
Nothing ends a turn but silence. The answer comes sentence by sentence: what will be said (`SPECULATIVE`), its audio, and
when all audio has come, what was said (`FINAL`). The completion ends with the prompt, after the last word on usage.
"""

import asyncio
import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from s2s_assets.demo.answers import RATE_HZ, Answer, Answerer, Session, SpokenItem
from s2s_assets_tests.emulators.event_stream import message
from s2s_assets_tests.emulators.http2 import Stream

VOICES = frozenset({"matthew", "tiffany", "amy", "olivia", "ambre", "florian", "beatrice", "lorenzo", "lupe", "carlos"})
PAUSE_S = 0.4
"""Silence that ends a turn."""
_CHUNK = 9600
_RATES = frozenset({8_000, 16_000, 24_000})


class ServiceError(Exception):
    """An exception of the service, sent in the stream, which it ends."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class NovaConversation:
    """One session; the methods are the hooks by which a scenario misbehaves."""

    chunk = _CHUNK

    def __init__(self, answer: Answerer, stream: Stream, model: str, access_key: str) -> None:
        self.answer = answer
        self.stream = stream
        self.model = model
        self.access_key = access_key
        self.kinds: list[str] = []
        self.session: Mapping[str, Any] | None = None
        self.prompt: Mapping[str, Any] | None = None
        self.instruction = ""
        self.frames: list[bytes] = []
        self.rate_hz: int | None = None
        self.stuck = False
        self.over = False
        self.answering: asyncio.Task[None] | None = None
        self._numbers = iter(range(10**6))

    async def begin(self) -> None:
        """The response's headers, before any event."""
        headers = {"content-type": "application/vnd.amazon.eventstream", "x-amzn-requestid": "5f1c"}
        await self.stream.respond(200, headers)

    async def take(self, payload: bytes) -> None:
        """One event of the client's; after an exception of the service nothing is heard."""
        try:
            ((kind, body),) = json.loads(payload)["event"].items()
            self.kinds.append(kind)
            await self.handle(kind, body)
        except ServiceError as error:
            await self.fail(error)

    async def fail(self, error: ServiceError) -> None:
        body = json.dumps({"message": str(error)}).encode()
        headers = {":message-type": "exception", ":exception-type": error.kind, ":content-type": "application/json"}
        await self.stream.send(message(headers, body))
        await self.end()

    async def end(self) -> None:
        self.over = True
        await self.stream.end()

    async def handle(self, kind: str, body: Mapping[str, Any]) -> None:
        match kind:
            case "sessionStart" if self.session is None:
                if not {"maxTokens", "topP", "temperature"} <= (body.get("inferenceConfiguration") or {}).keys():
                    raise ServiceError("validationException", "inferenceConfiguration is required.")
                self.session = body
            case "promptStart" if self.session is not None:
                self.prompt = checked_prompt(body)
            case "contentStart" | "textInput" | "contentEnd" | "audioInput" if self.prompt is not None:
                if body.get("promptName") != self.prompt["promptName"]:
                    raise ServiceError("validationException", "Unknown promptName.")
                await self.content(kind, body)
            case "promptEnd" if self.prompt is not None:
                await self.complete()
            case "sessionEnd" if self.session is not None:
                await self.end()
            case _:
                raise ServiceError("validationException", f"Unexpected event {kind}.")

    async def content(self, kind: str, body: Mapping[str, Any]) -> None:
        if kind == "contentStart" and body["type"] == "AUDIO":
            if not self.instruction:
                raise ServiceError("validationException", "A SYSTEM content is required before audio.")
            self.rate_hz = body["audioInputConfiguration"]["sampleRateHertz"]
            if self.rate_hz not in _RATES or body["audioInputConfiguration"]["mediaType"] != "audio/lpcm":
                raise ServiceError("validationException", "Unsupported audio input.")
        elif kind == "textInput":
            self.instruction += body["content"]
        elif kind == "audioInput":
            self.stuck = self.stuck or self.rate_hz is None
            if not self.stuck:
                await self.hear(base64.b64decode(body["content"], validate=True))

    async def hear(self, pcm: bytes) -> None:
        """Take a frame; the turn is over once the last of them are silent for long enough."""
        if self.answering is None and (self.frames or any(pcm)):
            self.frames.append(pcm)
            if self.silent_s() >= PAUSE_S:
                self.start(await self.answer(self.speech(), self.asked()))

    def silent_frames(self) -> int:
        return next((n for n, frame in enumerate(reversed(self.frames)) if any(frame)), len(self.frames))

    def silent_s(self) -> float:
        assert self.rate_hz is not None
        return sum(map(len, self.frames[len(self.frames) - self.silent_frames() :])) / 2 / self.rate_hz

    def speech(self) -> bytes:
        """What was said before the silence."""
        return b"".join(self.frames[: len(self.frames) - self.silent_frames()])

    def asked(self) -> Session:
        assert self.prompt is not None
        return Session(self.model, self.prompt["audioOutputConfiguration"]["voiceId"], self.instruction, None)

    def start(self, answer: Answer) -> None:
        self.answering = asyncio.create_task(self._answer(answer))

    async def _answer(self, answer: Answer) -> None:
        try:
            await self.respond(answer)
        except ServiceError as error:
            await self.fail(error)

    async def send(self, kind: str, **fields: Any) -> None:
        assert self.prompt is not None
        names = {"sessionId": "s-1", "promptName": self.prompt["promptName"], "completionId": "c-1"}
        await self.send_payload(json.dumps({"event": {kind: {**names, **fields}}}).encode())

    async def send_payload(self, payload: bytes) -> None:
        """An event whose bytes are given."""
        headers = {":message-type": "event", ":event-type": "chunk", ":content-type": "application/json"}
        await self.stream.send(message(headers, json.dumps({"bytes": base64.b64encode(payload).decode()}).encode()))

    async def respond(self, answer: Answer) -> None:
        """One answer, from the transcript of the prompt to the text of what was said."""
        await self.usage({"speechTokens": 31, "textTokens": 12}, {"speechTokens": 0, "textTokens": 0})
        await self.send("completionStart")
        await self.text("USER", "FINAL", answer.input_transcript or "")
        await self.speak(answer)
        await self.finish(answer)

    async def speak(self, answer: Answer) -> None:
        for item in answer.items:
            await self.text("ASSISTANT", "SPECULATIVE", item.text)
            await self.sound(item, "END_TURN" if item is answer.items[-1] else "PARTIAL_TURN")

    async def finish(self, answer: Answer) -> None:
        for item in answer.items:
            # the service ends the first of them as it ends a turn
            await self.text("ASSISTANT", "FINAL", item.text, "END_TURN" if item is answer.items[0] else "PARTIAL_TURN")

    async def text(self, role: str, stage: str, words: str, reason: str = "PARTIAL_TURN") -> None:
        number = str(next(self._numbers))
        fields = json.dumps({"generationStage": stage})
        await self.send("contentStart", contentId=number, type="TEXT", role=role, additionalModelFields=fields)
        await self.send("textOutput", contentId=number, role=role, content=words)
        await self.send("contentEnd", contentId=number, type="TEXT", stopReason=reason)

    async def sound(self, item: SpokenItem, reason: str) -> None:
        number = str(next(self._numbers))
        pcm = {"mediaType": "audio/lpcm", "sampleRateHertz": RATE_HZ, "sampleSizeBits": 16, "encoding": "base64"}
        await self.send("contentStart", contentId=number, type="AUDIO", role="ASSISTANT", audioOutputConfiguration=pcm)
        for piece in self.pieces(item.pcm):
            await self.send("audioOutput", contentId=number, role="ASSISTANT", content=piece)
        await self.send("contentEnd", contentId=number, type="AUDIO", stopReason=reason)

    def pieces(self, pcm: bytes) -> Iterator[str]:
        for at in range(0, len(pcm), self.chunk):
            yield base64.b64encode(pcm[at : at + self.chunk]).decode()

    async def usage(self, given: Mapping[str, int], said: Mapping[str, int]) -> None:
        total = {"input": dict(given), "output": dict(said)}
        counts = {"totalInputTokens": sum(given.values()), "totalOutputTokens": sum(said.values())}
        details = {"delta": total, "total": total}
        await self.send("usageEvent", details=details, **counts, totalTokens=sum(counts.values()))

    async def complete(self) -> None:
        """The prompt has ended, and with it the completion."""
        await self.usage({"speechTokens": 60, "textTokens": 20}, {"speechTokens": 90, "textTokens": 30})
        await self.send("completionEnd", stopReason="END_TURN")


def checked_prompt(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """A `promptStart` that the service takes.

    Raises:
        ServiceError: it does not.
    """
    audio = body.get("audioOutputConfiguration", {})
    if audio.get("voiceId") not in VOICES:
        raise ServiceError("validationException", f"Voice {audio.get('voiceId')} is not available.")
    wanted = {"mediaType": "audio/lpcm", "sampleSizeBits": 16, "channelCount": 1, "encoding": "base64"}
    if {k: audio.get(k) for k in wanted} != wanted or audio.get("sampleRateHertz") not in _RATES:
        raise ServiceError("validationException", "Unsupported audio output.")
    return body
