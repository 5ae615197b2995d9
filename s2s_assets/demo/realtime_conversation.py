"""One connection of the OpenAI Realtime protocol's server side, manual turns only.

What a client meets: `session.created` at once, with server turn detection on and instructions of the server's own;
`session.update` merged deeply, and refused as a whole for an unknown key; audio buffered until `commit` (at least 100 ms,
an append at most 15 MiB); no answer before `response.create`, and one answer at a time; the whole ladder of events of an
answer, each with an `event_id`; `rate_limits.updated` after it.

The methods of `Conversation` are the hooks by which a test's emulator misbehaves, or speaks another dialect.
"""

import asyncio
import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from s2s_assets.demo.answers import RATE_HZ, Answer, Answerer, Session, SpokenItem
from s2s_assets.demo.realtime_events import (
    RATE_LIMITS,
    RequestError,
    filler,
    message_object,
    new_name,
    usage_object,
)
from s2s_assets.demo.realtime_session import apply_update, default_session

LARGEST_APPEND = 15 * 2**20
_SHORTEST_COMMIT_MS = 100


class Conversation:
    """One connection: a session, a buffer, at most one answer under way."""

    chunk_ms = 200
    """Audio in one delta."""
    input_rate_hz = RATE_HZ

    def __init__(self, answer: Answerer, socket: ServerConnection, model: str) -> None:
        self.answer = answer
        self.socket = socket
        self.session = self.new_session(model)
        self.buffer = bytearray()
        self.prompt = b""
        self.prompt_item: str | None = None
        self.kinds: list[str] = []
        """Types of the client's messages so far."""
        self.responding: asyncio.Task[None] | None = None

    def new_session(self, model: str) -> dict[str, Any]:
        """The session before any update."""
        return default_session(new_name("sess"), model)

    def changed_session(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The session after an update.

        Raises:
            KeyError: a key that the service does not know, as a dotted path.
        """
        return apply_update(self.session, changes)

    async def run(self) -> None:
        """Serve the connection until the client leaves."""
        try:
            async with asyncio.TaskGroup() as tasks:
                await self.open()
                async for data in self.socket:
                    await self.take(data, tasks)
                if self.responding is not None:
                    self.responding.cancel()
        except* ConnectionClosed:
            pass

    async def open(self) -> None:
        """Greet the client."""
        await self.send("session.created", session=self.session)

    async def send(self, kind: str, **fields: Any) -> None:
        """One server event."""
        event = {"type": kind, "event_id": new_name("event"), **fields}
        await self.socket.send(json.dumps(event, ensure_ascii=False))

    async def take(self, data: str | bytes, tasks: asyncio.TaskGroup) -> None:
        """Act on one client message; what is wrong with it is answered by `error`."""
        message: Any = None
        try:
            message = json.loads(data)
            await self.handle(message, tasks)
        except RequestError as error:
            await self.complain(error, message.get("event_id"))
        except (ValueError, TypeError, AttributeError) as error:
            await self.complain(RequestError("invalid_json", f"not a client event: {error}"), None)

    async def complain(self, error: RequestError, event_id: str | None) -> None:
        """An `error` event."""
        detail = {"type": "invalid_request_error", "code": error.code, "message": error.message, "param": error.param}
        await self.send("error", error={**detail, "event_id": event_id})

    async def handle(self, message: Mapping[str, Any], tasks: asyncio.TaskGroup) -> None:
        """Dispatch a client event.

        Raises:
            RequestError: the event is unknown, malformed or out of place.
        """
        self.kinds.append(str(message.get("type")))
        match message.get("type"):
            case "session.update":
                await self.update(message.get("session") or {})
            case "input_audio_buffer.append":
                self.append(message.get("audio"))
            case "input_audio_buffer.clear":
                self.buffer.clear()
                await self.send("input_audio_buffer.cleared")
            case "input_audio_buffer.commit":
                await self.commit()
            case "conversation.item.create":
                await self.create_item(message.get("item") or {})
            case "response.create":
                self.create_response(tasks)
            case "response.cancel":
                self.cancel()
            case kind:
                raise RequestError("invalid_value", f"Invalid value: {kind!r} is no client event.", "type")

    async def update(self, changes: Mapping[str, Any]) -> None:
        """Merge a `session.update`, or refuse all of it."""
        try:
            self.session = self.changed_session(changes)
        except KeyError as unknown:
            raise RequestError(
                "unknown_parameter", f"Unknown parameter: '{unknown.args[0]}'.", unknown.args[0]
            ) from None
        await self.send("session.updated", session=self.session)

    def append(self, audio: Any) -> None:
        """Buffer audio."""
        try:
            pcm = base64.b64decode(audio, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise RequestError("invalid_value", "audio is no base64", "audio") from None
        if len(pcm) > LARGEST_APPEND:
            raise RequestError("string_above_max_length", "audio is above 15 MiB", "audio")
        self.buffer += pcm

    async def commit(self) -> None:
        """Make the buffer a message of the user."""
        length_ms = len(self.buffer) / 2 / self.input_rate_hz * 1000
        if length_ms < _SHORTEST_COMMIT_MS:
            raise RequestError(
                "input_audio_buffer_commit_empty",
                f"Error committing input audio buffer: buffer too small. Expected at least {_SHORTEST_COMMIT_MS}ms of "
                f"audio, but buffer only has {length_ms:.2f}ms of audio.",
            )
        self.prompt = bytes(self.buffer)
        self.buffer.clear()
        self.prompt_item = new_name("item")
        await self.send("input_audio_buffer.committed", previous_item_id=None, item_id=self.prompt_item)
        await self._add_prompt()

    async def create_item(self, item: Mapping[str, Any]) -> None:
        """A message of the user with all its audio at once."""
        parts = [part for part in item.get("content") or () if part.get("type") == "input_audio"]
        if not parts:
            raise RequestError("invalid_value", "only messages with input_audio are served here", "item.content")
        self.append(parts[0].get("audio"))
        self.prompt = bytes(self.buffer)
        self.buffer.clear()
        self.prompt_item = str(item.get("id") or new_name("item"))
        await self._add_prompt()

    async def _add_prompt(self) -> None:
        content = [{"type": "input_audio", "transcript": None}]
        item = {"id": self.prompt_item, "type": "message", "status": "completed", "role": "user", "content": content}
        for kind in ("conversation.item.added", "conversation.item.done"):
            await self.send(kind, previous_item_id=None, item=item)

    def create_response(self, tasks: asyncio.TaskGroup) -> None:
        """Begin an answer."""
        if self.responding is not None and not self.responding.done():
            raise RequestError(
                "conversation_already_has_active_response", "Conversation already has an active response in progress."
            )
        self.responding = tasks.create_task(self.respond(new_name("resp")))

    def cancel(self) -> None:
        """Stop the answer under way."""
        if self.responding is None or not self.responding.cancel():
            raise RequestError("response_cancel_not_active", "Cancellation failed: no active response found.")

    async def respond(self, response: str) -> None:
        """One answer, from `response.created` to `rate_limits.updated`."""
        await self.send("response.created", response=self.response_object(response, "in_progress"))
        try:
            answer = await self.answer(self.prompt, self.asked())
            await self.transcribe(answer.input_transcript)
            await self.speak(response, answer)
            await self.finish(response, answer)
        except asyncio.CancelledError:
            details = {"type": "cancelled", "reason": "client_cancelled"}
            cancelled = self.response_object(response, "cancelled", status_details=details)
            await self.send("response.done", response=cancelled)
            raise

    def asked(self) -> Session:
        """What the client asked for, in the answerer's words."""
        reasoning = self.session.get("reasoning") or {}
        voice = self.session["audio"]["output"]["voice"]
        return Session(self.session["model"], voice, self.session["instructions"], reasoning.get("effort"))

    def wants_transcript(self) -> bool:
        """Whether the client asked for the input transcript."""
        return bool(self.session["audio"]["input"]["transcription"])

    async def transcribe(self, transcript: str | None) -> None:
        """The input transcript, for a client that asked for it."""
        if transcript is None or not self.wants_transcript():
            return
        where = {"item_id": self.prompt_item, "content_index": 0}
        kind = "conversation.item.input_audio_transcription"
        await self.send(f"{kind}.delta", **where, delta=transcript, obfuscation=filler())
        usage = {"type": "duration", "seconds": round(len(self.prompt) / 2 / self.input_rate_hz)}
        await self.send(f"{kind}.completed", **where, transcript=transcript, usage=usage)

    async def speak(self, response: str, answer: Answer) -> None:
        """All items of an answer, one after another."""
        for index, item in enumerate(answer.items):
            for kind, fields in self.ladder(response, index, item):
                await self.send(kind, **fields)

    def ladder(self, response: str, index: int, item: SpokenItem) -> Iterator[tuple[str, dict[str, Any]]]:
        """The events of one spoken message, in the order in which the service sends them."""
        name = f"item_{response[5:]}_{index}"
        base = {"response_id": response, "item_id": name, "output_index": index}
        part = {**base, "content_index": 0}
        opened = message_object(name, item, "in_progress")
        yield "response.output_item.added", {"response_id": response, "output_index": index, "item": opened}
        yield "conversation.item.added", {"previous_item_id": self.prompt_item, "item": opened}
        yield "response.content_part.added", {**part, "part": {"type": "audio", "transcript": ""}}
        yield from self.deltas(part, item)
        yield "response.output_audio.done", part
        yield "response.output_audio_transcript.done", {**part, "transcript": item.text}
        yield "response.content_part.done", {**part, "part": {"type": "audio", "transcript": item.text}}
        closed = message_object(name, item, "completed")
        yield "conversation.item.done", {"previous_item_id": None, "item": closed}
        yield "response.output_item.done", {"response_id": response, "output_index": index, "item": closed}

    def deltas(self, part: Mapping[str, Any], item: SpokenItem) -> Iterator[tuple[str, dict[str, Any]]]:
        """Words and audio of a message, a word before each chunk of audio as long as there are words."""
        words = [word if n == 0 else f" {word}" for n, word in enumerate(item.text.split())]
        for chunk in self.chunks(item.pcm):
            if words:
                yield (
                    "response.output_audio_transcript.delta",
                    {**part, "delta": words.pop(0), "obfuscation": filler()},
                )
            yield "response.output_audio.delta", {**part, "delta": base64.b64encode(chunk).decode()}
        for word in words:
            yield "response.output_audio_transcript.delta", {**part, "delta": word, "obfuscation": filler()}

    def chunks(self, pcm: bytes) -> Iterator[bytes]:
        """The audio in pieces."""
        step = RATE_HZ * self.chunk_ms // 1000 * 2
        return (pcm[at : at + step] for at in range(0, len(pcm), step))

    async def finish(self, response: str, answer: Answer) -> None:
        """The end of a whole answer."""
        await self.send("response.done", response=self.completed(response, answer))
        await self.send("rate_limits.updated", rate_limits=RATE_LIMITS)

    def completed(self, response: str, answer: Answer) -> dict[str, Any]:
        """The response object of a whole answer."""
        output = [
            message_object(f"item_{response[5:]}_{index}", item, "completed") for index, item in enumerate(answer.items)
        ]
        usage = usage_object(self.prompt, answer)
        return self.response_object(response, "completed", output=output, usage=usage)

    def response_object(self, response: str, status: str, **fields: Any) -> dict[str, Any]:
        """A response as events show it."""
        output = {"format": {"type": "audio/pcm", "rate": RATE_HZ}, "voice": self.session["audio"]["output"]["voice"]}
        return {
            "object": "realtime.response",
            "id": response,
            "status": status,
            "status_details": None,
            "output": [],
            "conversation_id": f"conv_{self.session['id'][5:]}",
            "output_modalities": ["audio"],
            "max_output_tokens": self.session["max_output_tokens"],
            "audio": {"output": output},
            "usage": None,
            "metadata": None,
            **fields,
        }
