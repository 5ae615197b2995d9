"""The cascade baseline: speech to text, text to text, text to speech, each over HTTP at its own provider.

1. ElevenLabs Scribe v2, `POST /v1/speech-to-text`: the prompt as a WAV file in a multipart form → `text`.
2. OpenAI Responses, `POST /v1/responses`, streamed: the reply is the text of final-answer and phase-less messages;
   commentary is kept out, a response that is not `completed` is a failure. The effort is always set: it is the
   config's thinking level, unless `llm.reasoning.effort` says otherwise.
3. ElevenLabs Flash v2.5, `POST /v1/text-to-speech/VOICE/stream?output_format=pcm_24000`: headerless PCM, whose chunks
   may end in the middle of a sample. A body that breaks off is a truncated answer.

The first stage that fails ends the exchange and is named in it. Each stage holds a slot of its own provider.

Settings (study.yaml): `stt`, `llm`, `tts`, each with `model`, optionally `provider` (for the limits) and any field of
its endpoint, sent as it is.
"""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, ClassVar
from urllib.parse import quote

import httpx

from s2s_assets.responses.deadline import Deadline
from s2s_assets.responses.providers.addresses import is_loopback, join
from s2s_assets.responses.providers.base import Adapter, StageSpec
from s2s_assets.responses.providers.failures import (
    classify,
    connection_error,
    error_object,
    http_error,
    json_object,
)
from s2s_assets.responses.providers.text import reply_of
from s2s_assets.responses.records import ExchangeError, Prompt, Status

_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "stt": {"model": "scribe_v2", "tag_audio_events": False, "timestamps_granularity": "none"},
    "llm": {"model": "gpt-5.6-terra"},
    "tts": {"model": "eleven_flash_v2_5"},
}
_TERMINAL = ("response.completed", "response.failed", "response.incomplete")
_OK = 200


class Cascade(Adapter):
    """One exchange through three stages."""

    name: ClassVar[str] = "cascade"
    version: ClassVar[str] = "1"
    input_rate_hz: ClassVar[int] = 24_000
    stages: ClassVar[Mapping[str, StageSpec]] = {
        "stt": StageSpec("https://api.elevenlabs.io", "elevenlabs"),
        "llm": StageSpec("https://api.openai.com", "openai"),
        "tts": StageSpec("https://api.elevenlabs.io", "elevenlabs"),
    }
    setting_names: ClassVar[frozenset[str]] = frozenset(stages)

    def snapshot(self) -> dict[str, Any]:
        """Addresses and bodies, without what the stage before decides."""
        return {
            "urls": {stage: self._url(stage) for stage in self.stages},
            "stt": self._form(),
            "llm": self._question(),
            "tts": self._speech(),
            "input_rate_hz": self.input_rate_hz,
        }

    async def run(self, prompt: Prompt) -> None:
        """The three stages, one after another."""
        heard = await self._transcribe(prompt)
        self.recorder.input_transcript = heard
        reply = await self._reply(heard)
        answer = self.recorder.item("answer")
        answer.transcript = reply
        await self._speak(reply)
        self.recorder.mark("done")

    def _settings(self, stage: str) -> dict[str, Any]:
        given = {**_DEFAULTS[stage], **self.request.settings.get(stage, {})}
        given.pop("provider", None)
        return given

    def _url(self, stage: str) -> str:
        voice = quote(self.request.voice, safe="")
        path = {"stt": "/v1/speech-to-text", "llm": "/v1/responses", "tts": f"/v1/text-to-speech/{voice}/stream"}[stage]
        return join(self.request.addresses[stage], path)

    def _form(self) -> dict[str, str]:
        """Fields of the recognition form; booleans go as words."""
        settings = self._settings("stt")
        fields = {"model_id": settings.pop("model"), **settings}
        return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in fields.items()}

    def _question(self) -> dict[str, Any]:
        settings = self._settings("llm")
        effort = {"effort": self.request.thinking, **settings.pop("reasoning", {})}
        fixed = {"instructions": self.request.instruction, "reasoning": effort, "store": False, "stream": True}
        return {**settings, **fixed}

    def _speech(self) -> dict[str, Any]:
        settings = self._settings("tts")
        return {"model_id": settings.pop("model"), **settings}

    async def _transcribe(self, prompt: Prompt) -> str:
        files = {"file": ("prompt.wav", prompt.wav(), "audio/wav")}
        self.recorder.log(">", {"type": "stt.request", "fields": self._form(), "seconds": prompt.duration_s})
        async with self._post("stt", {"data": self._form(), "files": files}) as (answer, _):
            document = json_object(await answer.aread(), "the stt answer", "stt")
        self.recorder.log("<", {"type": "stt.answer", **document})
        self.recorder.mark("first_event")
        self._use("stt", {"seconds": document.get("audio_duration_secs", prompt.duration_s)})
        text = str(document.get("text") or "").strip()
        if not text:
            raise ExchangeError("provider_error", "no_transcript", "the recogniser heard no words", stage="stt")
        return text

    async def _reply(self, heard: str) -> str:
        body = {**self._question(), "input": heard}
        self.recorder.log(">", {"type": "llm.request", **body})
        items: dict[int, dict[str, Any]] = {}
        response: dict[str, Any] | None = None
        async with self._post("llm", {"json": body}) as (answer, deadline):
            async for event in self._events(answer, deadline):
                if event.get("type") == "response.output_item.done":
                    items[int(event.get("output_index", len(items)))] = event["item"]
                if event.get("type") == "error":
                    raise error_object(event.get("error") or event, "llm")
                if event.get("type") in _TERMINAL:
                    response = event["response"]
        if response is None:
            raise ExchangeError(
                "provider_error",
                "no_end",
                "the reply's stream ended without its last event",
                retryable=True,
                stage="llm",
            )
        return self._finished(response, [items[n] for n in sorted(items)])

    async def _events(self, answer: httpx.Response, deadline: Deadline) -> AsyncIterator[dict[str, Any]]:
        """The JSON events of a stream of server-sent events."""
        async for line in answer.aiter_lines():
            deadline.expect("next_event", self.request.terms.idle_timeout_s)
            if line.startswith("data:") and line != "data: [DONE]":
                event = json_object(line.removeprefix("data:"), "an event of the llm answer", "llm")
                self.recorder.log("<", event)
                yield event

    def _finished(self, response: dict[str, Any], items: list[dict[str, Any]]) -> str:
        """The words to speak of a response that completed."""
        self._use("llm", response.get("usage"))
        self.recorder.model_reported = response.get("model")
        status = response.get("status")
        if status == "failed":
            raise error_object(response.get("error"), "llm")
        if status != "completed":
            reason = str((response.get("incomplete_details") or {}).get("reason") or status)
            kind, _ = classify(reason)
            raise ExchangeError(
                "truncated" if kind == "provider_error" else kind,
                reason,
                f"the reply is {status}: {reason}",
                stage="llm",
            )
        text, thinking = reply_of(response.get("output") or items)
        self.recorder.thinking.extend(thinking)
        return text

    async def _speak(self, reply: str) -> None:
        body = {**self._speech(), "text": reply}
        self.recorder.log(">", {"type": "tts.request", **body})
        item = self.recorder.item("answer")
        async with self._post("tts", {"json": body, "params": {"output_format": "pcm_24000"}}) as (answer, deadline):
            async for chunk in answer.aiter_raw():
                deadline.expect("next_event", self.request.terms.idle_timeout_s)
                self.recorder.log("<", {"type": "tts.chunk", "bytes": len(chunk)})
                self.recorder.audio(item, chunk)
        self._use("tts", {"characters": len(reply)})

    def _use(self, stage: str, usage: Any) -> None:
        self.recorder.usage = {**(self.recorder.usage or {}), stage: usage}

    @asynccontextmanager
    async def _post(self, stage: str, content: dict[str, Any]) -> AsyncIterator[tuple[httpx.Response, Deadline]]:
        """An open answer with status 200, on a connection of its own.

        Raises:
            ExchangeError: refused, unreachable, too late, or broken off.
        """
        terms, url = self.request.terms, self._url(stage)
        timeout = httpx.Timeout(None, connect=terms.connect_timeout_s)
        try:
            async with (
                self.recorder.slot(stage),
                Deadline(stage) as deadline,
                httpx.AsyncClient(timeout=timeout, verify=_tls(), trust_env=not is_loopback(url)) as client,
            ):
                deadline.expect("first_event", terms.connect_timeout_s + terms.first_event_timeout_s)
                extensions = {"trace": self._trace} if stage == "stt" else {}
                call = client.stream("POST", url, headers=self._key(stage), extensions=extensions, **content)
                async with call as answer:
                    if answer.status_code != _OK:
                        raise http_error(answer.status_code, answer.headers, await answer.aread(), stage)
                    yield answer, deadline
        except httpx.ConnectTimeout:
            raise ExchangeError(
                "timeout", "connection_timeout", f"no connection to {stage}", retryable=True, stage=stage
            ) from None
        except (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise connection_error(error, url, stage) from None
        except httpx.HTTPError as error:
            raise self._broken(error, stage) from None

    def _key(self, stage: str) -> dict[str, str]:
        key = self.request.keys.get(stage)
        if not key:
            return {}
        return {"Authorization": f"Bearer {key}"} if stage == "llm" else {"xi-api-key": key}

    async def _trace(self, event: str, _: Mapping[str, Any]) -> None:
        """Milestones of the first stage, which carries the prompt."""
        if event in {"connection.connect_tcp.complete", "connection.start_tls.complete"}:
            self.recorder.mark("connected")
        elif event.endswith("send_request_body.complete"):
            self.recorder.mark("input_sent")

    def _broken(self, error: httpx.HTTPError, stage: str) -> ExchangeError:
        status: Status = "truncated" if self.recorder.final else "provider_error"
        message = f"the {stage} answer broke off: {type(error).__name__}: {error}"
        return ExchangeError(status, "broken_off", message, retryable=True, stage=stage)


@cache
def _tls() -> ssl.SSLContext:
    """The trusted certificates, read once: that takes longer than a request to a near server."""
    return ssl.create_default_context()
