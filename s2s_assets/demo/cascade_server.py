"""The server side of a cascade: both servers' endpoints on one port, so that one address does for all three stages."""

from collections.abc import Sequence

from starlette.routing import Route

from s2s_assets.demo.answers import CascadeServices
from s2s_assets.demo.elevenlabs_server import ElevenLabsServer
from s2s_assets.demo.http_server import HttpServer
from s2s_assets.demo.responses_server import ResponsesServer


class CascadeServer(ElevenLabsServer, ResponsesServer):
    """Serves the three stages on a loopback port; an async context manager.

    Args:
        services: what recognises, replies and speaks.
        host: address to listen on.
        port: port to listen on; 0 takes a free one.
    """

    def __init__(self, services: CascadeServices, *, host: str = "127.0.0.1", port: int = 0) -> None:
        HttpServer.__init__(self, host=host, port=port)
        self.speech_services = services
        self.text_services = services

    def routes(self) -> Sequence[Route]:
        """Every stage's endpoint."""
        return (*ElevenLabsServer.routes(self), *ResponsesServer.routes(self))
