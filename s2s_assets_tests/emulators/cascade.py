"""A cascade's three services on loopback, with a scenario for each way in which they are known to fail."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from s2s_assets.demo.cascade_server import (
    CascadeServer,
    cut,
    elevenlabs_error,
    form_fields,
    new_id,
    openai_error,
    text_message,
)
from s2s_assets_tests.emulators.voices import COMMENTARY, FINAL, HEARD, speech


class Stages:
    """What the stages say: fixed words, speech that depends on text and voice."""

    async def transcribe(self, wav: bytes) -> str:
        return HEARD

    async def reply(self, text: str, instructions: str, effort: str | None) -> str:
        return FINAL

    async def speak(self, text: str, voice_id: str) -> bytes:
        return speech(f"{voice_id}:{text}")


class CascadeEmulator(CascadeServer):
    """Plays one scenario a prompt, the last of its list over and over.

    `uploads`, `questions` and `speeches` hold what each stage was sent.
    """

    def __init__(self, scenarios: str | Sequence[str] = "plain", *, port: int = 0) -> None:
        super().__init__(Stages(), port=port)
        names = [scenarios] if isinstance(scenarios, str) else list(scenarios)
        self._plays = itertools.chain(names, itertools.repeat(names[-1]))
        self.scenario = names[0]
        self.uploads: list[dict[str, Any]] = []
        self.questions: list[dict[str, Any]] = []
        self.speeches: list[dict[str, Any]] = []

    async def transcription(self, request: Request) -> Response:
        self.scenario = next(self._plays)
        self.uploads.append(form_fields(await request.body(), request.headers.get("content-type", "")))
        key = request.headers.get("xi-api-key")
        match self.scenario:
            case "stt_401":
                return elevenlabs_error(401, "invalid_api_key", f"Invalid API key {key}")
            case "stt_503":
                return elevenlabs_error(503, "service_unavailable", "down")
            case "stt_422":
                return JSONResponse({"detail": [{"loc": ["body", "file"], "msg": "field required"}]}, 422)
            case "stt_hears_nothing":
                return JSONResponse({"text": " ", "words": []})
            case "stt_never_answers":
                await asyncio.Event().wait()
        return await super().transcription(request)

    async def response(self, request: Request) -> Response:
        self.questions.append(await request.json())
        if self.scenario == "llm_429":
            answer = openai_error(429, "rate_limit_exceeded", "slow down")
            answer.headers["Retry-After"] = "0.02"
            return answer
        if self.scenario == "llm_stalls":
            return StreamingResponse(self._stalling(), media_type="text/event-stream")
        if self.scenario == "llm_error_event":
            return _stream(
                'data: {"type":"error","error":{"type":"server_error","code":"server_error","message":"oh"}}\n\n'
            )
        if self.scenario == "llm_no_end":
            return _stream('data: {"type":"response.created","response":{}}\n\n')
        return await super().response(request)

    async def _stalling(self) -> AsyncIterator[bytes]:
        yield b'data: {"type":"response.created","response":{}}\n\n'
        await asyncio.Event().wait()

    def output(self, text: str) -> list[dict[str, Any]]:
        match self.scenario:
            case "commentary_and_final":
                return [text_message(COMMENTARY, "commentary"), text_message(text, "final_answer")]
            case "commentary_only":
                return [text_message(COMMENTARY, "commentary")]
            case "no_phase":
                return [text_message(text, None)]
            case "thinking":
                summary = [{"type": "summary_text", "text": "I weigh it."}]
                return [{"id": new_id("rs"), "type": "reasoning", "summary": summary}, text_message(text, None)]
            case "llm_refusal":
                refusal = text_message("", "final_answer")
                return [{**refusal, "content": [{"type": "refusal", "refusal": "I cannot help with that."}]}]
        return super().output(text)

    def response_events(self, body: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
        events = super().response_events(body, text)
        last = events[-1]["response"]
        match self.scenario:
            case "llm_incomplete":
                events[-1] = {"type": "response.incomplete", "response": _ended(last, "max_output_tokens")}
            case "llm_filtered":
                events[-1] = {"type": "response.incomplete", "response": _ended(last, "content_filter")}
            case "llm_failed":
                error = {"code": "server_error", "message": "The model failed."}
                events[-1] = {"type": "response.failed", "response": {**last, "status": "failed", "error": error}}
        return events

    async def speech(self, request: Request) -> Response:
        self.speeches.append({"voice": request.path_params["voice"], **await request.json()})
        match self.scenario:
            case "tts_busy":
                return elevenlabs_error(429, "system_busy", "busy")
            case "tts_concurrent":
                return elevenlabs_error(429, "too_many_concurrent_requests", "Too many concurrent requests.")
            case "tts_cut":
                return _Broken(speech("cut"))
            case "tts_empty":
                return Response(b"", media_type="audio/pcm")
            case "tts_422":
                return elevenlabs_error(422, "voice_not_found", "no such voice")
            case "tts_stalls":
                return StreamingResponse(self._silent(), media_type="audio/pcm")
        return await super().speech(request)

    async def _silent(self) -> AsyncIterator[bytes]:
        yield speech("start")[:4801]
        await asyncio.Event().wait()


class _Broken(Response):
    """Promises a whole body and ends in the middle of it."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        pcm = self.body
        headers = [(b"content-type", b"audio/pcm"), (b"content-length", str(len(pcm)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for piece in itertools.islice(cut(bytes(pcm)), 3):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        raise ConnectionResetError


def _stream(text: str) -> Response:
    return Response(text, media_type="text/event-stream")


def _ended(response: Mapping[str, Any], reason: str) -> dict[str, Any]:
    return {**response, "status": "incomplete", "incomplete_details": {"reason": reason}, "output": []}
