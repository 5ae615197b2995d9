"""ElevenLabs' speech services on loopback, with a scenario for each way in which they are known to fail.

What is not a scenario's own is the demo's server: a multipart form for recognition, speech in pieces of odd sizes.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from s2s_assets.demo.elevenlabs_server import ElevenLabsServer, elevenlabs_error, form_fields
from s2s_assets_tests.emulators.plays import Broken, Plays, stalling
from s2s_assets_tests.emulators.voices import HEARD, speech

SCENARIOS = (
    *("plain", "stt_401", "stt_422", "stt_429", "stt_503", "stt_hears_nothing", "stt_never_answers", "stt_not_json"),
    *("stt_echoes_key", "tts_busy", "tts_concurrent", "tts_cut", "tts_cut_at_once", "tts_empty", "tts_silent"),
    *("tts_odd", "tts_422", "tts_stalls", "tts_long", "tts_page", "tts_mp3", "tts_tagged_mp3", "narrow_key"),
)

REFUSED = {
    "tts_busy": (429, "system_busy", "busy"),
    "tts_422": (422, "voice_not_found", "no such voice"),
}
BODIES = {
    "tts_empty": b"",
    "tts_silent": bytes(48_000),
    "tts_odd": speech("odd")[:-1],
    "tts_long": speech("long", 30),
}


class Speech:
    """Fixed words, speech that depends on text and voice."""

    async def transcribe(self, wav: bytes) -> str:
        return HEARD

    async def speak(self, text: str, voice_id: str) -> bytes:
        return speech(f"{voice_id}:{text}")


class ElevenLabsEmulator(Plays, ElevenLabsServer):
    """`uploads` and `speeches` hold what the two services were sent."""

    def __init__(self, scenarios: str | Sequence[str] = "plain", *, port: int = 0) -> None:
        ElevenLabsServer.__init__(self, Speech(), port=port)
        self.set_scenarios(scenarios)
        self.uploads: list[dict[str, Any]] = []
        self.speeches: list[dict[str, Any]] = []

    @classmethod
    def names(cls) -> list[str]:
        """Every scenario."""
        return list(SCENARIOS)

    def routes(self) -> Sequence[Route]:
        """The two services, and the list of models that any key may read but a narrow one."""
        return (*ElevenLabsServer.routes(self), Route("/v1/models", self.models, methods=["GET"]))

    async def models(self, request: Request) -> Response:
        if self.scenario in {"stt_401", "stt_echoes_key"}:
            return elevenlabs_error(401, "invalid_api_key", f"Invalid API key {request.headers.get('xi-api-key')}")
        if self.scenario == "narrow_key":
            return elevenlabs_error(401, "missing_permissions", "The API key is missing the permission models_read.")
        return JSONResponse([{"model_id": "eleven_flash_v2_5", "can_do_text_to_speech": True}])

    async def transcription(self, request: Request) -> Response:
        self.enter("stt")
        self.uploads.append(form_fields(await request.body(), request.headers.get("content-type", "")))
        key = request.headers.get("xi-api-key")
        match self.scenario:
            case "stt_401" | "stt_echoes_key":
                return elevenlabs_error(401, "invalid_api_key", f"Invalid API key {key}")
            case "stt_422":
                return JSONResponse({"detail": [{"loc": ["body", "file"], "msg": "field required"}]}, 422)
            case "stt_429":
                answer = elevenlabs_error(429, "rate_limit_exceeded", "slow down")
                answer.headers["Retry-After"] = "0.02"
                return answer
            case "stt_503":
                return elevenlabs_error(503, "service_unavailable", "down")
            case "stt_hears_nothing":
                return JSONResponse({"text": " ", "words": []})
            case "stt_not_json":
                return Response("<html>bad gateway</html>")
            case "stt_never_answers":
                await asyncio.Event().wait()
        return await super().transcription(request)

    async def speech(self, request: Request) -> Response:
        self.enter("tts")
        self.speeches.append({"voice": request.path_params["voice"], **await request.json()})
        if self.scenario in REFUSED:
            return elevenlabs_error(*REFUSED[self.scenario])
        if self.scenario == "tts_concurrent":
            answer = elevenlabs_error(429, "too_many_concurrent_requests", "Too many concurrent requests.")
            answer.headers.update({"current-concurrent-requests": "5", "maximum-concurrent-requests": "5"})
            return answer
        if self.scenario in BODIES:
            return Response(BODIES[self.scenario], media_type="audio/pcm")
        match self.scenario:
            case "tts_cut":
                return Broken(speech("cut"))
            case "tts_cut_at_once":
                return Broken(b"")
            case "tts_page":
                return Response("<html>bad gateway</html>" * 999, media_type="text/html")
            case "tts_mp3":
                return Response(b"\xff\xfb\x90\xc4" + bytes(range(256)) * 99, media_type="audio/mpeg")
            case "tts_tagged_mp3":
                return Response(b"ID3\x04" + bytes(range(256)) * 99, media_type="application/octet-stream")
            case "tts_stalls":
                return StreamingResponse(stalling(speech("start")[:4801]), media_type="audio/pcm")
        return await super().speech(request)
