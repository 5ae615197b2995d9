"""Amazon Nova Sonic: speech both ways at once over a stream of Bedrock (`providers.bedrock`).

Turn: `sessionStart`, `promptStart`, the instruction as a content of its own, none of which is acknowledged → a content of
speech → frames. Nothing says that the turn is over: the service hears it from silence, which is sent frame by frame, at
the pace of the prompt, until the answer is over (at pace 0 the first two seconds of it at once, the rest in real time). An
answer is contents of text and audio. Text is `SPECULATIVE` (what will be said, ahead of its audio) or `FINAL` (what was
said); the transcript is the final text once as much of it has come as was planned, else the plan. The audio that ends as
`END_TURN` is the last: no other end of a content says so. Then the contents, the prompt and the session are closed, and
`completionEnd` is waited for, for the last of the usage.

In a pause of the prompt the service may begin to answer. When the speaker goes on, what it says then is `INTERRUPTED`, or
over before it could be and followed by another answer: it is kept as provisional, and the answer is what follows. If an
interruption is all that follows, the answer was cut; if nothing does for 5 × `grace_s`, the prompt's end was no speech.

A session lasts eight minutes, of which one turn takes a small part; `ModelTimeoutException` is a time-out, or a cut answer
where audio had come. Every other failure is what `providers.bedrock` says.

Keys: `AWS_ACCESS_KEY_ID` (or the `key_env` of study.yaml), `AWS_SECRET_ACCESS_KEY` and, for temporary keys,
`AWS_SESSION_TOKEN`; a `key_env` of `NOVA_AWS_ACCESS_KEY_ID` has the other two begin with `NOVA_` too. Settings (study.yaml): `model`; `region`, by default the base URL's, else us-east-1; `session`, merged
into `sessionStart` as sent, whose inference settings are otherwise those of Amazon's examples.
"""

import asyncio
import base64
import itertools
import json
import re
import sys
import uuid
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, ClassVar
from urllib.parse import urlsplit

from s2s_assets.responses.deadline import Deadline
from s2s_assets.responses.providers.base import StageSpec
from s2s_assets.responses.providers.conversation import STAGE, Channel, ClosedError, ConversationAdapter, Progress
from s2s_assets.responses.providers.failures import decoded
from s2s_assets.responses.providers.sessions import merged
from s2s_assets.responses.recorder import Item, Recorder
from s2s_assets.responses.records import ExchangeError, Request, Status

Event = Mapping[str, Any]
_DEFAULT_URL = "https://bedrock-runtime.us-east-1.amazonaws.com"
_HOST = re.compile(r"bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")
_SECRET_KEY, _SESSION_TOKEN = "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
_PYTHON, _TRANSPORT = (3, 12), "s2s_assets.responses.providers.bedrock"
_AT_ONCE_S = 2.0
_LOOK_S = 2.0
_UNCONNECTED = frozenset({"connection_timeout", "connection_failed"})
_PROMPT, _INSTRUCTION, _SPEECH = (str(uuid.uuid5(uuid.NAMESPACE_URL, n)) for n in ("prompt", "instruction", "speech"))
_INFERENCE = {"maxTokens": 1024, "topP": 0.9, "temperature": 0.7}
_TEXT = {"mediaType": "text/plain"}
_PCM = {"mediaType": "audio/lpcm", "sampleSizeBits": 16, "channelCount": 1, "encoding": "base64", "audioType": "SPEECH"}


class NovaSonic(ConversationAdapter):
    """One exchange with Nova Sonic."""

    name: ClassVar[str] = "nova_sonic"
    version: ClassVar[str] = "1"
    input_rate_hz: ClassVar[int] = 16_000
    stages: ClassVar[Mapping[str, StageSpec]] = {
        STAGE: StageSpec(_DEFAULT_URL, key_env="AWS_ACCESS_KEY_ID", secrets={_SECRET_KEY: True, _SESSION_TOKEN: False})
    }
    setting_names: ClassVar[frozenset[str]] = frozenset({"model", "region", "session"})

    def __init__(self, request: Request, recorder: Recorder) -> None:
        super().__init__(request, recorder)
        self._contents: dict[object, Event] = {}
        self._planned: list[str] = []
        self._said: list[str] = []
        self._taken_back = 0
        self._early = self._early_end = False
        self._leaving = self._completed = False

    @classmethod
    def missing(cls) -> str | None:
        """Python 3.12, or Amazon's SDK."""
        needed = ".".join(map(str, _PYTHON))
        if sys.version_info[:2] < _PYTHON:
            have = ".".join(map(str, sys.version_info[:2]))
            return f"Amazon's SDK needs Python {needed}, and this is {have}: set up with Python {needed}"
        try:
            # here, since it takes half a second, which is no part of a first exchange
            import_module(_TRANSPORT)
        except ImportError:
            return "Amazon's SDK is not installed: install the extra `nova` (make setup, or pip install 's2s-assets[nova]')"
        return None

    @property
    def region(self) -> str:
        """Where the model is asked for, and what requests are signed for."""
        found = _HOST.match(urlsplit(self.request.addresses[STAGE]).hostname or "")
        return str(self.request.settings.get("region") or (found[1] if found else "us-east-1"))

    def url(self) -> str:
        """The endpoint: the region's own, unless another one is given."""
        given = self.request.addresses[STAGE]
        return f"https://bedrock-runtime.{self.region}.amazonaws.com" if given == _DEFAULT_URL else given

    def opening(self) -> tuple[dict[str, Any], ...]:
        """All that is said before the speech."""
        session = merged({"inferenceConfiguration": _INFERENCE}, self.request.settings.get("session", {}))
        spoken = {**_PCM, "sampleRateHertz": 24_000, "voiceId": self.request.voice}
        return (
            {"event": {"sessionStart": session}},
            _event("promptStart", textOutputConfiguration=_TEXT, audioOutputConfiguration=spoken),
            _content(
                "Start", _INSTRUCTION, type="TEXT", role="SYSTEM", interactive=False, textInputConfiguration=_TEXT
            ),
            _event("textInput", contentName=_INSTRUCTION, content=self.request.instruction),
            _content("End", _INSTRUCTION),
        )

    def snapshot(self) -> dict[str, Any]:
        """Address, model, configuration and terms."""
        terms = self.request.terms
        return {
            "url": self.url(),
            "region": self.region,
            "model": self.request.settings.get("model"),
            "configuration": [*self.opening(), *self.start_of_turn()],
            "input_rate_hz": self.input_rate_hz,
            "pace": terms.pace,
            "frame_ms": terms.frame_ms,
        }

    async def connect(self) -> Channel:
        """A signed request on a connection of its own."""
        from s2s_assets.responses.providers.bedrock import distrust, open_stream

        keys = self.request.keys
        signed = (keys[STAGE], keys[_SECRET_KEY], keys.get(_SESSION_TOKEN))
        timeout_s = self.request.terms.connect_timeout_s
        try:
            async with Deadline() as deadline:
                deadline.expect("connection", timeout_s)
                return await open_stream(self.url(), self.region, str(self.request.settings.get("model")), *signed)
        except ExchangeError as failure:
            asked = failure.code in _UNCONNECTED
            raise (await distrust(self.url(), min(timeout_s, _LOOK_S)) if asked else None) or failure from None

    async def configure(self, channel: Channel) -> None:
        """Say it; that it was heard is not said."""
        for message in self.opening():
            await self.send(channel, message)

    async def probe(self) -> None:
        """Open a session, and see for a moment whether it is refused."""
        async with self._session() as channel:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.request.terms.grace_s):
                    while True:
                        await self.next(channel)

    def start_of_turn(self) -> tuple[dict[str, Any], ...]:
        """The content of speech, which stays open until the end."""
        heard = {**_PCM, "sampleRateHertz": self.input_rate_hz}
        return (_content("Start", _SPEECH, type="AUDIO", role="USER", interactive=True, audioInputConfiguration=heard),)

    def frame(self, pcm: bytes) -> tuple[dict[str, Any], str]:
        """One `audioInput`."""
        return _event("audioInput", contentName=_SPEECH, content=base64.b64encode(pcm).decode()), "content"

    def end_of_turn(self) -> tuple[dict[str, Any], ...]:
        """Nothing: silence follows."""
        return ()

    async def after_turn(self, channel: Channel) -> None:
        """Silence."""
        terms, loop = self.request.terms, asyncio.get_running_loop()
        silence = bytes(self.input_rate_hz * terms.frame_ms // 1000 * 2)
        started = loop.time()
        for number in itertools.count(1):
            silent_s = number * terms.frame_ms / 1000
            due_s = silent_s / terms.pace if terms.pace else silent_s - _AT_ONCE_S
            await asyncio.sleep(max(0.0, started + due_s - loop.time()))
            await self.send(channel, *self.frame(silence))

    def body(self, event: Event) -> str | None:
        """The content of an `audioOutput`."""
        return "content" if "audioOutput" in (event.get("event") or {}) else None

    def receive(self, event: Event) -> Progress:
        """Record an event."""
        inner: dict[str, Any] = event.get("event") or {}
        nothing: Event = {}
        kind, said = next(iter(inner.items()), ("", nothing))
        match kind:
            case "usageEvent":
                self.recorder.usage = said
            case "contentStart":
                self._contents[said.get("contentId")] = said
                if self._early_end and not ("FINAL" in _stage(said) and said.get("role") == "ASSISTANT"):
                    self._take_back()
            case "textOutput":
                return self._text(said, self._contents.get(said.get("contentId"), said))
            case "audioOutput" if not self.recorder.reached("done"):
                self._early = self._early or not self.recorder.reached("input_sent")
                self.recorder.audio(self._item(), decoded(said.get("content")))
                return Progress.ANSWER
            case "contentEnd":
                return self._content_ended(said)
            case "completionEnd":
                return self._over()
            case "nothingFollowed":
                return Progress.OVER
        return Progress.ASIDE

    def _item(self) -> Item:
        """The answer, anew each time that it is taken back."""
        return self.recorder.item(f"answer {self._taken_back}")

    def _take_back(self) -> None:
        self.recorder.take_back(self._item())
        self._taken_back += 1
        self._planned, self._said = [], []
        self._early = self._early_end = False

    def _text(self, said: Event, content: Event) -> Progress:
        words = str(said.get("content", "")).strip()
        if content.get("role") == "USER":
            self.recorder.input_transcript = f"{self.recorder.input_transcript or ''} {words}".strip()
            return Progress.ASIDE
        planned = "SPECULATIVE" in _stage(content)
        if _tells_of_interruption(words) or (self._taken_back and not planned and not self._planned):
            # the last words of what was taken back come after it
            return Progress.ASIDE
        (self._planned if planned else self._said).append(words)
        self._item().transcript = " ".join(self._said if len(self._said) >= len(self._planned) else self._planned)
        return Progress.ANSWER

    def _content_ended(self, said: Event) -> Progress:
        content, reason = self._contents.get(said.get("contentId"), said), said.get("stopReason")
        if reason == "INTERRUPTED" and not self.recorder.reached("done"):
            self._take_back()
        ended = reason == "END_TURN" and said.get("type", content.get("type")) == "AUDIO"
        self._early_end = self._early_end or (ended and self._early)
        return Progress.OVER if ended and not self._early else Progress.ASIDE

    def _over(self) -> Progress:
        self._completed = True
        if not self.recorder.reached("input_sent"):
            message = "the service ended the conversation before the whole prompt had been sent"
            raise ExchangeError("provider_error", "answered_early", message)
        if self._taken_back and not self.recorder.final:
            raise ExchangeError("truncated", "interrupted", "the service interrupted its answer", retryable=True)
        return Progress.OVER

    def patience_s(self) -> float:
        """For the rest of the final text; then, with all closed, for the end of the completion."""
        told = self._completed or (not self._leaving and self._said and len(self._said) >= len(self._planned))
        return 0.0 if told else self.request.terms.grace_s

    async def _linger(self, channel: Channel) -> None:
        await super()._linger(channel)
        self._leaving = True
        with suppress(ClosedError, ExchangeError):
            for message in _FAREWELL:
                await self.send(channel, message)
        await super()._linger(channel)

    async def next(self, channel: Channel) -> Event:
        """Wait for an event; what breaks an answer off has cut it."""
        try:
            while self._early_end and not self.recorder.reached("done"):
                with suppress(TimeoutError):
                    async with asyncio.timeout(5 * self.request.terms.grace_s):
                        return await super().next(channel)
                if self.recorder.reached("input_sent"):
                    return {"event": {"nothingFollowed": {}}}
            return await super().next(channel)
        except ExchangeError as error:
            if error.retryable and error.status != "rate_limited" and self.recorder.final:
                error.status = "truncated"
            raise

    def closed(self, code: int, reason: str) -> ExchangeError:
        """An end before the answer's."""
        status: Status = "truncated" if self.recorder.final else "provider_error"
        return ExchangeError(
            status, "stream_closed", f"the stream closed before the answer was over: {reason}", retryable=True
        )


def _event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"event": {kind: {"promptName": _PROMPT, **fields}}}


def _content(end: str, name: str, **fields: Any) -> dict[str, Any]:
    return _event(f"content{end}", contentName=name, **fields)


_FAREWELL: tuple[Event, ...] = (_content("End", _SPEECH), _event("promptEnd"), {"event": {"sessionEnd": {}}})


def _stage(content: Event) -> str:
    """`SPECULATIVE` or `FINAL` is in it: JSON within the JSON."""
    return str(content.get("additionalModelFields"))


def _tells_of_interruption(text: str) -> bool:
    """Whether a text is the service's mark of an interruption, `{ "interrupted" : true }`, and not words."""
    try:
        document = json.loads(text)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("interrupted") is True
