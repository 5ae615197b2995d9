"""A vLLM-Omni server on loopback: chat completions with audio out, streamed or not, and its known oddities.

Needs no key. A stream has text chunks, then audio chunks whose base64 stands in `delta.content` with the top-level
`modality` `audio`, each in the format that was asked for (a WAV each, or bare PCM), an empty one among them;
`finish_reason` comes with the last chunk of the last modality. Two choices of one index are in a stream words that end
with a `finish_reason` of their own, before the audio: older builds do so. An error within a stream is an event of it.
"""

import base64
import io
import json
import wave
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from s2s_assets.demo.answers import RATE_HZ
from s2s_assets.demo.http_server import HttpServer
from s2s_assets_tests.emulators.plays import Broken, Plays, commented, stalling
from s2s_assets_tests.emulators.voices import FINAL, speech

SPEAKERS = ("ethan", "chelsie", "aiden")
SCENARIOS = (
    *("plain", "one_choice", "two_choices", "wav_chunks", "other_rate", "audio_object", "long", "odd_chunks"),
    *("unknown_fields", "text_only", "silence", "half_a_sample", "no_audio_error", "error_in_stream", "error_in_body"),
    *("no_stream", "error_no_stream", "page_no_stream", "not_json", "not_base64", "not_audio", "no_end", "length"),
    *("words_cut", "content_filter", "http_400", "http_429", "http_503"),
    *("needs_key", "echoes_key", "never_answers", "stalls", "stalls_with_pings", "cut", "cut_at_once"),
)
_BODIES = {
    "text_only": b"",
    "silence": bytes(2 * RATE_HZ),
    "half_a_sample": speech("half")[:-1],
    "long": speech("long", 30),
}
_HTTP = {"http_400": 400, "http_429": 429, "http_503": 503, "needs_key": 401, "echoes_key": 401}


class VllmOmniEmulator(Plays, HttpServer):
    """`prompts` holds the WAV of each request, `bodies` the rest."""

    begins = "chat"

    def __init__(self, scenarios: str | Sequence[str] = "plain", *, port: int = 0) -> None:
        HttpServer.__init__(self, port=port)
        self.set_scenarios(scenarios)
        self.prompts: list[bytes] = []
        self.bodies: list[Mapping[str, Any]] = []

    @classmethod
    def names(cls) -> list[str]:
        """Every scenario."""
        return list(SCENARIOS)

    def routes(self) -> Sequence[Route]:
        return (Route("/v1/chat/completions", self.chat, methods=["POST"]),)

    async def chat(self, request: Request) -> Response:
        self.enter("chat")
        body = await request.json()
        self.bodies.append(body)
        if self.scenario in _HTTP:
            return refusal(_HTTP[self.scenario], f"refused {request.headers.get('authorization')}")
        if str(body.get("speaker", body.get("voice", "ethan"))).lower() not in SPEAKERS:
            return refusal(400, f"Invalid speaker. Supported: {', '.join(SPEAKERS)}")
        prompt = prompt_of(body)
        self.prompts.append(prompt)
        if self.scenario in {"never_answers", "stalls", "stalls_with_pings"} or self.scenario.startswith("cut"):
            return self._broken(body, prompt)
        if body.get("stream") and not self.scenario.endswith("no_stream"):
            return StreamingResponse(self._stream(body, prompt), media_type="text/event-stream")
        return self._whole(body, prompt)

    def _broken(self, body: Mapping[str, Any], prompt: bytes) -> Response:
        events = self._events(body, prompt)
        match self.scenario:
            case "never_answers":
                return StreamingResponse(stalling(b""), media_type="text/event-stream")
            case "stalls":
                return StreamingResponse(stalling("".join(events[:4]).encode()), media_type="text/event-stream")
            case "stalls_with_pings":
                start, rest = ("".join(part).encode() for part in (events[:4], events[4:]))
                return StreamingResponse(commented(start, rest), media_type="text/event-stream")
            case "cut_at_once":
                return Broken(b"")
        return Broken("".join(events).encode())

    async def _stream(self, body: Mapping[str, Any], prompt: bytes) -> AsyncIterator[str]:
        for event in self._events(body, prompt):
            yield event

    def _events(self, body: Mapping[str, Any], prompt: bytes) -> list[str]:
        """The whole stream."""
        pcm, base = self.pcm(prompt), {"id": "chatcmpl-1", "model": body.get("model"), "created": 1785273853}
        base["object"] = "chat.completion.chunk"
        match self.scenario:
            case "error_in_stream":
                return failing("The engine died.", "InternalServerError", 500)
            case "error_in_body":
                return failing("bad request", "BadRequestError", 400)
            case "no_audio_error":
                return failing(SILENT, "BadRequestError", 400)
            case "not_json":
                return ["data: <html>bad gateway</html>\n\n"]
        chunks = [{**base, "modality": "text", "choices": [choice({"content": word})]} for word in words(FINAL)]
        chunks[-1]["choices"][0]["finish_reason"] = self._words_finish()
        chunks += [{**base, "modality": "audio", "choices": [choice(d)]} for d in self._deltas(body, pcm)]
        if self.scenario != "no_end":
            chunks[-1]["choices"][0]["finish_reason"] = self._finish()
        chunks.append({**base, "choices": [], "usage": usage(prompt, pcm)})
        if self.scenario == "unknown_fields":
            note = "line\u2028separators\x85that end no line"
            chunks = [
                {**chunk, "metrics": {"x": 1, "note": note}, "choices": [*chunk["choices"], choice({})]}
                for chunk in chunks
            ]
            chunks[-2]["choices"][0]["finish_reason"] = "stop"
        return [*map(data, chunks), "data: [DONE]\n\n"]

    def _deltas(self, body: Mapping[str, Any], pcm: bytes) -> Iterator[dict[str, Any]]:
        wav = self.scenario in {"wav_chunks", "other_rate"} or (body.get("audio") or {}).get("format") == "wav"
        for number, chunk in enumerate(self._chunks(pcm)):
            if number == 1:
                yield {"content": ""}
            sound = NOT_AUDIO if self.scenario == "not_audio" else wav_file(chunk, self.rate_hz) if wav else chunk
            text = base64.b64encode(sound).decode()
            if self.scenario == "not_base64":
                text = "this is no base64!"
            yield {"audio": {"data": text}} if self.scenario == "audio_object" else {"content": text}

    def _chunks(self, pcm: bytes) -> Iterator[bytes]:
        step = 4801 if self.scenario == "odd_chunks" else len(pcm) if self.scenario == "long" else 9600
        return (pcm[at : at + step] for at in range(0, len(pcm), step))

    def _whole(self, body: Mapping[str, Any], prompt: bytes) -> Response:
        pcm = self.pcm(prompt)
        if self.scenario in {"error_in_body", "error_no_stream"}:
            return JSONResponse({"object": "error", "message": "bad request", "type": "BadRequestError", "code": 400})
        if self.scenario in {"not_json", "page_no_stream"}:
            return Response("<html>bad gateway</html>", media_type="text/html")
        sound = NOT_AUDIO if self.scenario == "not_audio" else wav_file(pcm, self.rate_hz)
        audio = {"id": "audio-1", "data": base64.b64encode(sound).decode(), "expires_at": 1785277453, "transcript": ""}
        text = {"role": "assistant", "content": FINAL}
        if self.scenario == "text_only":
            messages: list[dict[str, Any]] = [text]
        elif self.scenario in {"two_choices", "words_cut"}:
            messages = [text, {"role": "assistant", "content": None, "audio": audio}]
        else:
            messages = [{**text, "audio": audio}]
        finish = None if self.scenario == "no_end" else self._finish()
        choices = [{"index": 0, "message": message, "finish_reason": finish} for message in messages]
        choices[0]["finish_reason"] = self._words_finish() or finish
        return JSONResponse({"model": body.get("model"), "choices": choices, "usage": usage(prompt, pcm)})

    def _finish(self) -> str:
        return self.scenario if self.scenario in {"length", "content_filter"} else "stop"

    def _words_finish(self) -> str | None:
        """How the words end, where that is said apart from the audio's end."""
        return {"two_choices": "stop", "words_cut": "length"}.get(self.scenario)

    @property
    def rate_hz(self) -> int:
        """Sampling rate of the answer."""
        return 16_000 if self.scenario == "other_rate" else RATE_HZ

    def pcm(self, prompt: bytes) -> bytes:
        """The answer's samples: they depend on the prompt's alone."""
        return _BODIES.get(self.scenario, speech(prompt))


SILENT = "Audio generation completed but no audio was produced."
NOT_AUDIO = b"RIFF of no kind"


def prompt_of(body: Mapping[str, Any]) -> bytes:
    """The WAV of the one audio part of the user's message."""
    parts = [part for m in body["messages"] if m["role"] == "user" for part in m["content"]]
    sounds = [part["input_audio"]["data"] for part in parts if part["type"] == "input_audio"]
    sounds += [part["audio_url"]["url"].partition("base64,")[2] for part in parts if part["type"] == "audio_url"]
    (sound,) = sounds
    return base64.b64decode(sound, validate=True)


def wav_file(pcm: bytes, rate_hz: int) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setparams((1, 2, rate_hz, 0, "NONE", ""))
        out.writeframes(pcm)
    return file.getvalue()


def choice(delta: Mapping[str, Any]) -> dict[str, Any]:
    return {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}


def words(text: str) -> list[str]:
    return [word if n == 0 else f" {word}" for n, word in enumerate(text.split())]


def usage(prompt: bytes, pcm: bytes) -> dict[str, int]:
    heard, spoken = len(prompt) // 1280, len(pcm) // 3840
    return {"prompt_tokens": heard, "completion_tokens": spoken, "total_tokens": heard + spoken}


def failing(message: str, kind: str, code: int) -> list[str]:
    """A stream that has come to nothing; its status was 200 before that was known."""
    return [data({"error": {"message": message, "type": kind, "param": None, "code": code}}), "data: [DONE]\n\n"]


def data(document: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(document, ensure_ascii=False)}\n\n"


def refusal(status: int, message: str) -> Response:
    kinds = {401: "invalid_api_key", 429: "rate_limit_exceeded", 503: "service_unavailable"}
    error = {"message": message, "type": "BadRequestError", "code": kinds.get(status, status)}
    return JSONResponse({"error": error}, status, {"Retry-After": "0.02"} if status == 429 else None)
