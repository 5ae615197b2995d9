"""The server side of the OpenAI Realtime protocol: connections taken or refused, each served by a `Conversation`.

An upgrade at another path is answered with 404, one without a bearer token with 401, one without a model with 400.
"""

import json
from http import HTTPStatus
from typing import Self
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from s2s_assets.demo.answers import Answerer
from s2s_assets.demo.realtime_conversation import Conversation


class RealtimeServer:
    """Serves an answerer on a loopback port; an async context manager.

    Args:
        answer: what the models say.
        host: address to listen on.
        port: port to listen on; 0 takes a free one.
        conversation: class of a connection.
    """

    path = "/v1/realtime"

    def __init__(
        self,
        answer: Answerer,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        conversation: type[Conversation] = Conversation,
    ) -> None:
        self._answer = answer
        self._host = host
        self._port = port
        self._conversation = conversation
        self._server: Server | None = None

    @property
    def url(self) -> str:
        """Base URL of the server, once it listens."""
        assert self._server is not None
        host, port = next(iter(self._server.sockets)).getsockname()[:2]
        return f"ws://{host}:{port}"

    async def __aenter__(self) -> Self:
        self._server = await serve(
            self._serve, self._host, self._port, process_request=self.refuse, max_size=None, compression=None
        )
        return self

    async def __aexit__(self, *exception: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    def refuse(self, connection: ServerConnection, request: Request) -> Response | None:
        """An HTTP answer to an upgrade that is not served: another path, no key, no model."""
        if urlsplit(request.path).path != self.path:
            return refusal(connection, 404, "not_found", f"There is nothing at {urlsplit(request.path).path}.")
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or not key.strip():
            return refusal(connection, 401, "invalid_api_key", "You didn't provide an API key.")
        if not self.model_of(request):
            return refusal(connection, 400, "missing_model", "You must provide a model parameter.")
        return None

    def model_of(self, request: Request) -> str:
        """The model that an address names; empty where it names none."""
        return parse_qs(urlsplit(request.path).query).get("model", [""])[0]

    async def _serve(self, socket: ServerConnection) -> None:
        assert socket.request is not None
        await self._conversation(self._answer, socket, self.model_of(socket.request)).run()


def refusal(connection: ServerConnection, status: int, code: str, message: str) -> Response:
    """An HTTP error with the service's JSON body."""
    error = {"error": {"type": "invalid_request_error", "code": code, "message": message, "param": None}}
    response = connection.respond(HTTPStatus(status), json.dumps(error))
    del response.headers["Content-Type"]
    response.headers["Content-Type"] = "application/json"
    return response
