"""The server side of ElevenLabs' speech services.

- `POST /v1/speech-to-text`: multipart form with `model_id` and `file` → `{"text", …}`;
- `POST /v1/text-to-speech/VOICE/stream?output_format=pcm_24000`: JSON → chunked PCM, cut at odd bytes too.

A request without a key is refused with 401, one that fails validation with 422, as the services do. Methods of
`ElevenLabsServer` are the hooks by which a test's emulator misbehaves.
"""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from s2s_assets.demo.answers import SpeechServices
from s2s_assets.demo.http_server import HttpServer

_CHUNKS = (4095, 1, 8191, 777, 2, 12289)
"""Sizes of the pieces of a body, over and over: pieces that end inside a sample are the rule."""


class ElevenLabsServer(HttpServer):
    """Serves recognition and speech on a loopback port; an async context manager.

    Args:
        speech_services: what recognises and speaks.
        host: address to listen on.
        port: port to listen on; 0 takes a free one.
    """

    def __init__(self, speech_services: SpeechServices, *, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host=host, port=port)
        self.speech_services = speech_services

    def routes(self) -> Sequence[Route]:
        """Both services."""
        return (
            Route("/v1/speech-to-text", self.transcription, methods=["POST"]),
            Route("/v1/text-to-speech/{voice}/stream", self.speech, methods=["POST"]),
        )

    async def transcription(self, request: Request) -> Response:
        """Speech to text."""
        if not request.headers.get("xi-api-key"):
            return elevenlabs_error(401, "invalid_api_key", "Invalid API key")
        fields = form_fields(await request.body(), request.headers.get("content-type", ""))
        if "model_id" not in fields or not fields.get("file"):
            return elevenlabs_error(422, "validation_error", "model_id and file are needed")
        text = await self.speech_services.transcribe(fields["file"])
        return JSONResponse(
            {
                "language_code": "eng",
                "language_probability": 0.98,
                "text": text,
                "words": [{"text": word, "type": "word"} for word in text.split()],
                "transcription_id": secrets.token_hex(8),
            }
        )

    async def speech(self, request: Request) -> Response:
        """Text to speech."""
        if not request.headers.get("xi-api-key"):
            return elevenlabs_error(401, "invalid_api_key", "Invalid API key")
        body = await request.json()
        if not body.get("text") or request.query_params.get("output_format") != "pcm_24000":
            return elevenlabs_error(422, "validation_error", "text and output_format=pcm_24000 are needed")
        pcm = await self.speech_services.speak(body["text"], request.path_params["voice"])
        return StreamingResponse(self.pieces(pcm), media_type="audio/pcm")

    async def pieces(self, pcm: bytes) -> AsyncIterator[bytes]:
        """The body in pieces."""
        for piece in cut(pcm):
            yield piece
            await asyncio.sleep(0)


def cut(pcm: bytes) -> Iterator[bytes]:
    """Pieces of uneven size."""
    at = number = 0
    while at < len(pcm):
        size = _CHUNKS[number % len(_CHUNKS)]
        yield pcm[at : at + size]
        at, number = at + size, number + 1


def elevenlabs_error(status: int, code: str, message: str) -> JSONResponse:
    """An error body of the speech services."""
    return JSONResponse({"detail": {"status": code, "message": message}}, status)


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
