"""Speech-to-speech models served by vLLM-Omni: chat completions over HTTP (`vllm serve MODEL --omni`).

`POST /v1/chat/completions` with the instruction as the system message and the prompt as one WAV part of the user's. What
comes back, streamed or not, is put together from all choices: text and audio may come as two choices of one index, and
audio stands in `delta.content` of chunks whose `modality` is `audio` (each chunk a file of its own where the format is
WAV), in `delta.audio.data`, or in `message.audio.data`. Empty chunks are normal. An answer is over when its choices
have a `finish_reason`; it is truncated where one of them is `length`. A whole document or an error may come where a stream
was asked for. Plain vLLM serves text alone, which ends as `empty_audio`.

Settings (study.yaml): `model`; `stream` (default true: chunks of `pcm16`, which show when audio came; false: one WAV);
`body` (merged into the request: sampling, `audio`, …). The voice is the model's speaker. The default address is vLLM's
own on this machine; `key_env` is needed only where the server wants a key.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from s2s_assets.audio import decode, mono, pcm16
from s2s_assets.responses.providers.base import Adapter, StageSpec
from s2s_assets.responses.providers.failures import classify, decoded, error_object, possible_rate_hz
from s2s_assets.responses.providers.http import FILES, Answer, HttpStage
from s2s_assets.responses.providers.sessions import merged
from s2s_assets.responses.recorder import Recorder
from s2s_assets.responses.records import ExchangeError, Prompt, Request
from s2s_assets.study import AudioError

PATH = "/v1/chat/completions"
_STAGE = "chat"
_BARE = ("pcm16", "pcm", "wav")
"""Formats under which servers send samples without a header; a body of another format must be a file."""
_SILENT = "no audio was produced"
Message = Mapping[str, Any]


class VllmOmni(Adapter):
    """One exchange over chat completions with audio out."""

    name: ClassVar[str] = "vllm_omni"
    version: ClassVar[str] = "3"
    input_rate_hz: ClassVar[int] = 16_000
    stages: ClassVar[Mapping[str, StageSpec]] = {_STAGE: StageSpec("http://127.0.0.1:8091")}
    setting_names: ClassVar[frozenset[str]] = frozenset({"model", "stream", "body"})

    def __init__(self, request: Request, recorder: Recorder) -> None:
        super().__init__(request, recorder)
        self._http = HttpStage(request, recorder, _STAGE, named=False, carries_prompt=True)
        self._rate_hz: int | None = None
        asked = self._body("").get("audio")
        self._bare = not isinstance(asked, Mapping) or asked.get("format", "wav") in _BARE
        self._finish: str | None = None

    @property
    def output_rate_hz(self) -> int:
        """What the answer's WAV says; without one 24 kHz."""
        return self._rate_hz or super().output_rate_hz

    def snapshot(self) -> dict[str, Any]:
        """Address and body, the prompt as its length."""
        return {"url": self._http.url(PATH), "body": self._body("[the prompt]"), "input_rate_hz": self.input_rate_hz}

    def _body(self, audio: str) -> dict[str, Any]:
        stream = bool(self.request.settings.get("stream", True))
        part = {"type": "input_audio", "input_audio": {"data": audio, "format": "wav"}}
        body: dict[str, Any] = {
            "model": self.request.settings.get("model"),
            "messages": [
                {"role": "system", "content": self.request.instruction},
                {"role": "user", "content": [part]},
            ],
            "modalities": ["text", "audio"],
            "audio": {"format": "pcm16" if stream else "wav"},
            "speaker": self.request.voice.lower(),
            "stream": stream,
        }
        if stream:
            body["stream_options"] = {"include_usage": True}
        merged_body: dict[str, Any] = merged(body, self.request.settings.get("body", {}))
        return merged_body

    async def run(self, prompt: Prompt) -> None:
        """One request."""
        body = self._body(base64.b64encode(prompt.wav()).decode())
        self.recorder.log(">", {"type": "chat.request", **self._body(f"[{prompt.duration_s:.3f} s of audio]")})
        async with self._http.post(PATH, json=body) as answer:
            await (self._streamed(answer) if body["stream"] else self._whole(answer))
        if self._finish is None:
            raise ExchangeError("provider_error", "no_end", "the answer ended without a finish_reason", retryable=True)
        if self._finish != "stop":
            kind, _ = classify(self._finish)
            kind = "truncated" if kind == "provider_error" else kind
            raise ExchangeError(kind, self._finish, f"the answer ended with finish_reason {self._finish!r}")
        self.recorder.mark("done")

    async def probe(self) -> None:
        """Have the key looked at, where there is one."""
        await self._http.probe()

    async def _streamed(self, answer: Answer) -> None:
        async for chunk in answer.events():
            self._note(chunk)
            for choice in chunk.get("choices") or ():
                message = choice.get("delta") or choice.get("message") or {}
                self._take(choice, message, is_audio=chunk.get("modality") == "audio")

    async def _whole(self, answer: Answer) -> None:
        document = await answer.json()
        self._note(document)
        for choice in document.get("choices") or ():
            self._take(choice, choice.get("message") or {}, is_audio=False)

    def _note(self, document: Message) -> None:
        """Log a document and keep what it says of itself; an error in its place ends the exchange."""
        self.recorder.log("<", document, "content" if document.get("modality") == "audio" else "data")
        self.recorder.mark("first_event")
        if document.get("error") or document.get("object") == "error":
            raise _failure(document)
        self.recorder.usage = document.get("usage") or self.recorder.usage
        self.recorder.model_reported = document.get("model") or self.recorder.model_reported

    def _take(self, choice: Message, message: Message, *, is_audio: bool) -> None:
        item = self.recorder.item("answer")
        # words and audio may each have an end, and either may be cut
        if self._finish in {None, "stop"}:
            self._finish = choice.get("finish_reason") or self._finish
        for text in _texts(message, is_audio=is_audio):
            item.pieces.append(text)
        for body in _bodies(message, is_audio=is_audio):
            self.recorder.audio(item, self._pcm(decoded(body)))

    def _pcm(self, data: bytes) -> bytes:
        """Samples of a body: raw PCM as it is, a file decoded."""
        if self._bare and not data.startswith(FILES):
            return data
        try:
            clip = decode(data, "the answer's audio")
        except AudioError as error:
            raise ExchangeError("invalid_audio", "undecodable", str(error)) from None
        if self._rate_hz not in {None, clip.rate_hz}:
            message = f"a piece of {clip.rate_hz} Hz after one of {self._rate_hz} Hz"
            raise ExchangeError("invalid_audio", "unexpected_format", message)
        self._rate_hz = possible_rate_hz(clip.rate_hz)
        return pcm16(mono(clip).samples)


def _texts(message: Message, *, is_audio: bool) -> Iterator[str]:
    content, audio = message.get("content"), message.get("audio")
    if isinstance(content, str) and not is_audio:
        yield content
    if isinstance(audio, Mapping) and audio.get("transcript"):
        yield str(audio["transcript"])


def _bodies(message: Message, *, is_audio: bool) -> Iterator[str]:
    content, audio = message.get("content"), message.get("audio")
    if is_audio and content:
        yield str(content)
    if isinstance(audio, Mapping) and audio.get("data"):
        yield str(audio["data"])


def _failure(document: Message) -> ExchangeError:
    """An error body; one that says that the talker was silent is the model's doing."""
    error = error_object(document.get("error") or document)
    if _SILENT in error.message:
        return ExchangeError("empty_audio", "no_audio", error.message)
    return error
