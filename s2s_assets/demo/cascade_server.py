"""The server side of a cascade: ElevenLabs speech to text, OpenAI Responses, ElevenLabs streamed speech.

One application serves all three stages at their own paths, so one address does for all of them:

- `POST /v1/speech-to-text`: multipart form with `model_id` and `file` → `{"text", …}`;
- `POST /v1/responses`: JSON → a response, or with `stream` its server-sent events, a reasoning item among them;
- `POST /v1/text-to-speech/VOICE/stream?output_format=pcm_24000`: JSON → chunked PCM, cut at odd bytes too.

A request without a key is refused with 401, one that fails validation with 422, as the services do. Methods of
`CascadeServer` are the hooks by which a test's emulator misbehaves.
"""

import asyncio
import json
import re
import secrets
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from s2s_assets.demo.answers import CascadeServices

_CHUNKS = (4095, 1, 8191, 777, 2, 12289)
"""Sizes of the pieces of a body, over and over: pieces that end inside a sample are the rule."""


class CascadeServer:
    """Serves the three stages on a loopback port; an async context manager.

    Args:
        services: what recognises, replies and speaks.
        host: address to listen on.
        port: port to listen on; 0 takes a free one.
    """

    def __init__(self, services: CascadeServices, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.services = services
        self._address = (host, port)
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._socket: socket.socket | None = None

    @property
    def url(self) -> str:
        """Base URL of all three stages, once it listens."""
        assert self._socket is not None
        host, port = self._socket.getsockname()[:2]
        return f"http://{host}:{port}"

    @property
    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/v1/speech-to-text", self.transcription, methods=["POST"]),
                Route("/v1/responses", self.response, methods=["POST"]),
                Route("/v1/text-to-speech/{voice}/stream", self.speech, methods=["POST"]),
            ]
        )

    async def __aenter__(self) -> Self:
        self._socket = socket.create_server(self._address)
        config = uvicorn.Config(self.app, lifespan="off", log_level="warning", access_log=False)
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        return self

    async def __aexit__(self, *exception: object) -> None:
        assert self._server is not None
        assert self._task is not None
        self._server.should_exit = self._server.force_exit = True
        await self._task

    async def transcription(self, request: Request) -> Response:
        """Speech to text."""
        if not request.headers.get("xi-api-key"):
            return elevenlabs_error(401, "invalid_api_key", "Invalid API key")
        fields = form_fields(await request.body(), request.headers.get("content-type", ""))
        if "model_id" not in fields or not fields.get("file"):
            return elevenlabs_error(422, "validation_error", "model_id and file are needed")
        text = await self.services.transcribe(fields["file"])
        return JSONResponse(
            {
                "language_code": "eng",
                "language_probability": 0.98,
                "text": text,
                "words": [{"text": word, "type": "word"} for word in text.split()],
                "transcription_id": secrets.token_hex(8),
            }
        )

    async def response(self, request: Request) -> Response:
        """Text to text."""
        if not request.headers.get("authorization", "").startswith("Bearer "):
            return openai_error(401, "invalid_api_key", "Incorrect API key provided.")
        body = await request.json()
        effort = (body.get("reasoning") or {}).get("effort")
        text = await self.services.reply(str(body.get("input", "")), str(body.get("instructions") or ""), effort)
        events = self.response_events(body, text)
        if not body.get("stream"):
            return JSONResponse(events[-1]["response"])
        stream = (f"event: {e['type']}\ndata: {json.dumps(e, ensure_ascii=False)}\n\n" for e in events)
        return StreamingResponse(stream, media_type="text/event-stream")

    def output(self, text: str) -> list[dict[str, Any]]:
        """Output items of a reply."""
        return [{"id": new_id("rs"), "type": "reasoning", "summary": []}, text_message(text, "final_answer")]

    def response_events(self, body: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
        """Events of a streamed reply; the last one holds the whole response."""
        response: dict[str, Any] = {
            "id": new_id("resp"),
            "object": "response",
            "model": body.get("model"),
            "error": None,
            "output": [],
        }
        output = self.output(text)
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            {"type": "response.in_progress", "response": {**response, "status": "in_progress"}},
        ]
        for index, item in enumerate(output):
            opened = {**item, "status": "in_progress", **({"content": []} if "content" in item else {})}
            events.append({"type": "response.output_item.added", "output_index": index, "item": opened})
            events.extend(_text_events(index, item))
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": self.completed(response, body, output)})
        return [{**event, "sequence_number": number} for number, event in enumerate(events)]

    def completed(
        self, response: Mapping[str, Any], body: Mapping[str, Any], output: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """The whole response."""
        words_in, words_out = len(str(body.get("input")).split()), len(json.dumps(output).split())
        usage = {
            "input_tokens": words_in,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": words_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": words_in + words_out,
        }
        return {**response, "status": "completed", "incomplete_details": None, "output": output, "usage": usage}

    async def speech(self, request: Request) -> Response:
        """Text to speech."""
        if not request.headers.get("xi-api-key"):
            return elevenlabs_error(401, "invalid_api_key", "Invalid API key")
        body = await request.json()
        if not body.get("text") or request.query_params.get("output_format") != "pcm_24000":
            return elevenlabs_error(422, "validation_error", "text and output_format=pcm_24000 are needed")
        pcm = await self.services.speak(body["text"], request.path_params["voice"])
        return StreamingResponse(self.pieces(pcm), media_type="audio/pcm")

    async def pieces(self, pcm: bytes) -> AsyncIterator[bytes]:
        """The body in pieces."""
        for piece in cut(pcm):
            yield piece
            await asyncio.sleep(0)


class _Server(uvicorn.Server):
    """A server inside a program that handles its own signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the program's signal handlers alone."""
        yield


def cut(pcm: bytes) -> Iterator[bytes]:
    """Pieces of uneven size."""
    at = number = 0
    while at < len(pcm):
        size = _CHUNKS[number % len(_CHUNKS)]
        yield pcm[at : at + size]
        at, number = at + size, number + 1


def text_message(text: str, phase: str | None) -> dict[str, Any]:
    """A message of the assistant."""
    content = [{"type": "output_text", "annotations": [], "logprobs": [], "text": text}]
    message = {"id": new_id("msg"), "type": "message", "status": "completed", "role": "assistant", "content": content}
    return message if phase is None else {**message, "phase": phase}


def _text_events(index: int, item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The events between an item's beginning and end: its words."""
    for part in item.get("content", ()):
        where = {"item_id": item["id"], "output_index": index, "content_index": 0}
        yield {"type": "response.content_part.added", **where, "part": {**part, "text": ""}}
        for word in re.findall(r"\S+\s*", part.get("text", "")):
            yield {"type": "response.output_text.delta", **where, "delta": word, "obfuscation": secrets.token_hex(6)}
        yield {"type": "response.output_text.done", **where, "text": part.get("text", "")}
        yield {"type": "response.content_part.done", **where, "part": part}


def elevenlabs_error(status: int, code: str, message: str) -> JSONResponse:
    """An error body of the speech services."""
    return JSONResponse({"detail": {"status": code, "message": message}}, status)


def openai_error(status: int, code: str, message: str) -> JSONResponse:
    """An error body of the text service."""
    return JSONResponse({"error": {"type": "invalid_request_error", "code": code, "message": message}}, status)


def new_id(kind: str) -> str:
    """A name as the text service makes them."""
    return f"{kind}_{secrets.token_hex(12)}"


def form_fields(body: bytes, content_type: str) -> dict[str, Any]:
    """Fields of a multipart form: text as text, `file` as bytes; empty where it is no such form."""
    found = re.search(r'multipart/form-data;.*boundary="?([^";]+)', content_type)
    if not found:
        return {}
    fields: dict[str, Any] = {}
    for part in body.split(b"--" + found[1].encode())[1:-1]:
        head, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]+)"', head)
        if name:
            value = content.removesuffix(b"\r\n")
            fields[name[1].decode()] = value if b"filename=" in head else value.decode()
    return fields
