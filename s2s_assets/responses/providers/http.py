"""What protocols over HTTP have in common: one request an answer, on a connection of its own, read as it comes.

Two deadlines: to the first byte of the answer (connecting and thinking together), and between two pieces of its body.
A status other than 200 is a failure by what the body says; a body that breaks off is a truncated answer where audio had
come. A protocol of several stages names the one that failed.
"""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx

from s2s_assets.responses.deadline import Deadline
from s2s_assets.responses.providers.addresses import is_loopback, join
from s2s_assets.responses.providers.failures import FINAL_CODES, connection_error, http_error, json_object
from s2s_assets.responses.recorder import Recorder
from s2s_assets.responses.records import ExchangeError, Request, Status

_OK = 200
FILES = (b"RIFF", b"fLaC", b"OggS", b"ID3")
"""How files of sound begin, and hardly any samples."""
_MP3 = tuple(b"\xff" + bytes([second]) for second in (0xFB, 0xFA, 0xF3, 0xF2, 0xE3, 0xE2))
"""How a frame of MP3 begins; samples may, so what the answer is called counts too."""


@dataclass(frozen=True)
class Answer:
    """A body that is being read; each piece has its own deadline."""

    response: httpx.Response
    deadline: Deadline
    idle_timeout_s: float
    stage: str | None

    @property
    def kind(self) -> str:
        """What the answer is called."""
        kind: str = self.response.headers.get("content-type", "")
        return kind

    async def json(self) -> dict[str, Any]:
        """The whole body as a JSON object."""
        return json_object(await self.response.aread(), "the answer", self.stage)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes, headerless PCM.

        Raises:
            ExchangeError: `not_audio` for a page or a document, `not_pcm` for an audio file; their bytes would be noise.
        """
        kind = self.kind
        if kind.startswith(("text/", "application/json")):
            raise ExchangeError("invalid_audio", "not_audio", f"the audio came as {kind}", stage=self.stage)
        begun = False
        async for piece in self.response.aiter_raw():
            self.deadline.expect("next_event", self.idle_timeout_s)
            if not begun and (piece.startswith(FILES) or (kind.startswith("audio/mpeg") and piece.startswith(_MP3))):
                raise ExchangeError("invalid_audio", "not_pcm", f"an audio file ({kind}) came as PCM", stage=self.stage)
            begun = True
            yield piece

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """The JSON objects of a stream of server-sent events; one alone where a document came instead, as gateways do."""
        if self.kind.startswith(("application/json", "text/html")):
            yield await self.json()
            return
        async for line in self._lines():
            data = line.removeprefix(b"data:").strip() if line.startswith(b"data:") else b""
            if data and data != b"[DONE]":
                # a comment, by which a connection is kept open, is no sign of life of the model
                self.deadline.expect("next_event", self.idle_timeout_s)
                yield json_object(data, "an event", self.stage)

    async def _lines(self) -> AsyncIterator[bytes]:
        """Lines as they come. Only line feeds end them: in JSON, U+2028 and its like may stand as they are."""
        begun: list[bytes] = []
        async for piece in self.response.aiter_bytes():
            *whole, rest = piece.split(b"\n")
            for end in whole:
                yield b"".join([*begun, end])
                begun = []
            begun.append(rest)
        yield b"".join(begun)


class HttpStage:
    """Requests of one stage of an exchange.

    Args:
        request: addresses, keys and terms.
        recorder: what the milestones are noted in.
        stage: whose address, key and slot are used.
        key_header: header of the key; with `Authorization` it goes as a bearer token.
        named: whether failures name the stage.
        carries_prompt: whether this stage's requests carry the prompt, and so its milestones.
    """

    def __init__(
        self,
        request: Request,
        recorder: Recorder,
        stage: str,
        *,
        key_header: str = "Authorization",
        named: bool = True,
        carries_prompt: bool = False,
    ) -> None:
        self.stage = stage
        self.name = stage if named else None
        self._request = request
        self._recorder = recorder
        self._key_header = key_header
        self._carries_prompt = carries_prompt

    def url(self, path: str) -> str:
        """Address of a path."""
        return join(self._request.addresses[self.stage], path)

    def charge(self, usage: Any) -> None:
        """Keep what the stage's requests used, under its name, whatever becomes of the exchange."""
        self._recorder.usage = {**(self._recorder.usage or {}), self.stage: usage}

    async def probe(self, path: str = "/v1/models") -> None:
        """Read something small: whether the key, or what is asked for, is unknown to the provider.

        All else says nothing of exchanges: a key may be good for speech and not for this, a server may not have it.

        Raises:
            ExchangeError: what an exchange would have met.
        """
        try:
            async with self._open("GET", path):
                return
        except ExchangeError as failure:
            if failure.code == "http_401" or failure.code in FINAL_CODES:
                raise

    def post(self, path: str, **content: Any) -> AbstractAsyncContextManager[Answer]:
        """An open answer with status 200; `content` is httpx's `json`, `data`, `files`, `params`.

        Raises:
            ExchangeError: refused, unreachable, too late, or broken off.
        """
        return self._open("POST", path, **content)

    @asynccontextmanager
    async def _open(self, method: str, path: str, **content: Any) -> AsyncIterator[Answer]:
        terms, url = self._request.terms, self.url(path)
        timeout = httpx.Timeout(None, connect=terms.connect_timeout_s)
        extensions = {"trace": self._trace} if self._carries_prompt else {}
        try:
            async with (
                self._recorder.slot(self.stage),
                Deadline(self.name) as deadline,
                httpx.AsyncClient(timeout=timeout, verify=_tls(), trust_env=not is_loopback(url)) as client,
            ):
                deadline.expect("first_event", terms.connect_timeout_s + terms.first_event_timeout_s)
                call = client.stream(method, url, headers=self._key(), extensions=extensions, **content)
                async with call as response:
                    if response.status_code != _OK:
                        body = await response.aread()
                        raise http_error(response.status_code, response.headers, body, self.name)
                    yield Answer(response, deadline, terms.idle_timeout_s, self.name)
        except httpx.ConnectTimeout:
            message = f"no connection within {terms.connect_timeout_s:g} s"
            raise ExchangeError("timeout", "connection_timeout", message, retryable=True, stage=self.name) from None
        except (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise connection_error(error, url, self.name) from None
        except httpx.HTTPError as error:
            raise self._broken(error) from None

    def _key(self) -> dict[str, str]:
        key = self._request.keys.get(self.stage)
        if not key:
            return {}
        return {self._key_header: f"Bearer {key}" if self._key_header == "Authorization" else key}

    async def _trace(self, event: str, _: Mapping[str, Any]) -> None:
        if event in {"connection.connect_tcp.complete", "connection.start_tls.complete"}:
            self._recorder.mark("connected")
        elif event.endswith("send_request_body.complete"):
            self._recorder.mark("input_sent")

    def _broken(self, error: httpx.HTTPError) -> ExchangeError:
        status: Status = "truncated" if self._recorder.final else "provider_error"
        message = f"the answer broke off: {type(error).__name__}: {error}"
        return ExchangeError(status, "broken_off", message, retryable=True, stage=self.name)


@cache
def _tls() -> ssl.SSLContext:
    """The trusted certificates, read once: that takes longer than a request to a near server."""
    return ssl.create_default_context()
