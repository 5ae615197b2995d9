"""Amazon Nova Sonic on loopback: HTTP/2 over TLS, signed requests and signed event streams.

The secret of an access key is the key itself. The certificate is made anew by each process; clients are told to trust it
by `AWS_CA_BUNDLE`.
"""

import base64
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self
from urllib.parse import unquote

from s2s_assets.demo.answers import Answer, Session
from s2s_assets_tests.emulators.event_stream import SignatureError, Signatures, SignedMessages
from s2s_assets_tests.emulators.http2 import Http2Server, Stream
from s2s_assets_tests.emulators.nova_conversation import ServiceError
from s2s_assets_tests.emulators.nova_scenarios import SCENARIOS
from s2s_assets_tests.emulators.realtime import Seen
from s2s_assets_tests.emulators.tls import certificate

REFUSALS: dict[str, tuple[int, str, str]] = {
    "http_400": (400, "ValidationException", "The provided model identifier is invalid."),
    "http_400_quota": (400, "ServiceQuotaExceededException", "Your request exceeds the service quota."),
    "http_401": (403, "UnrecognizedClientException", "The security token included in the request is invalid."),
    "http_403": (403, "AccessDeniedException", "You don't have access to the model with the specified model ID."),
    "http_404": (404, "ResourceNotFoundException", "Could not resolve the foundation model."),
    "http_429": (429, "ThrottlingException", "Too many requests, please wait before trying again."),
    "http_429_busy": (429, "ModelNotReadyException", "The model is not ready for inference."),
    "http_500": (500, "InternalServerException", "The system encountered an unexpected error."),
    "http_502": (502, "", "<html>bad gateway</html>"),
    "http_503": (503, "ServiceUnavailableException", "The service cannot handle the request."),
}
_PATH = re.compile(r"/model/([^/]+)/invoke-with-bidirectional-stream")
_MODEL = re.compile(r"amazon\.nova(-2)?-sonic-v1:0")


class NovaEmulator:
    """Plays one scenario a request; after the last of its list, that one over and over.

    `seen` has the turns, `kinds` the events of each session, `requests` the headers of those that are signed as they
    must be; `connections` counts all.
    """

    def __init__(self, scenarios: str | Sequence[str] = "plain", *, port: int = 0) -> None:
        names = [scenarios] if isinstance(scenarios, str) else list(scenarios)
        self._plays = itertools.chain(names, itertools.repeat(names[-1]))
        self._server = Http2Server(self._serve, certificate(), port)
        self.seen: list[Seen] = []
        self.kinds: list[list[str]] = []
        self.requests: list[Mapping[str, str]] = []
        self.connections = 0

    @classmethod
    def names(cls) -> list[str]:
        return [*SCENARIOS, *REFUSALS]

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def prompts(self) -> list[bytes]:
        """The audio of each turn."""
        return [turn.prompt for turn in self.seen]

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.__aexit__(kind, error, trace)

    async def _serve(self, stream: Stream) -> None:
        self.connections += 1
        scenario = next(self._plays)
        path = _PATH.fullmatch(stream.headers[":path"].removesuffix("?"))
        model = unquote(path[1]) if path else ""
        try:
            signatures = Signatures(f"{self.url}{stream.headers[':path']}", stream.headers)
        except SignatureError as error:
            await refuse(stream, 403, "InvalidSignatureException", str(error))
            return
        self.requests.append(stream.headers)
        if scenario in REFUSALS:
            status, name, words = REFUSALS[scenario]
            await refuse(stream, status, name, f"{words} {signatures.access_key}" if name else words)
        elif _MODEL.fullmatch(model):
            await self._talk(stream, scenario, model, signatures)
        else:
            await refuse(stream, *REFUSALS["http_400"])

    async def _talk(self, stream: Stream, scenario: str, model: str, signatures: Signatures) -> None:
        kind, answer = SCENARIOS[scenario]

        async def remembered(pcm: bytes, session: Session) -> Answer:
            self.seen.append(Seen(pcm, session))
            return await answer(pcm, session)

        talk = kind(remembered, stream, model, signatures.access_key)
        self.kinds.append(talk.kinds)
        await talk.begin()
        messages = SignedMessages(signatures)
        try:
            while not talk.over and (data := await stream.receive()):
                for _, payload in messages.feed(data):
                    await talk.take(base64.b64decode(json.loads(payload)["bytes"]))
        except SignatureError as error:
            await talk.fail(ServiceError("validationException", str(error)))
        finally:
            if talk.answering is not None:
                talk.answering.cancel()


async def refuse(stream: Stream, status: int, name: str, words: str) -> None:
    """An answer that is no stream."""
    body = json.dumps({"message": words}) if name else words
    headers = {"content-type": "application/json", "content-length": str(len(body.encode()))}
    await stream.respond(status, {**headers, **({"x-amzn-errortype": f"{name}:http://aws/"} if name else {})})
    await stream.send(body.encode())
    await stream.end()
