"""A web application on a loopback port, inside a program that goes on with its own work."""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route


class HttpServer:
    """Serves the routes of its subclass; an async context manager.

    Args:
        host: address to listen on.
        port: port to listen on; 0 takes a free one.
    """

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._address = (host, port)
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._socket: socket.socket | None = None

    def routes(self) -> Sequence[Route]:
        """What is served."""
        return ()

    @property
    def url(self) -> str:
        """Base URL, once it listens."""
        assert self._socket is not None
        host, port = self._socket.getsockname()[:2]
        return f"http://{host}:{port}"

    async def __aenter__(self) -> Self:
        self._socket = socket.create_server(self._address)
        config = uvicorn.Config(
            Starlette(routes=list(self.routes())), lifespan="off", log_level="warning", access_log=False
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        return self

    async def __aexit__(self, *exception: object) -> None:
        assert self._server is not None
        assert self._task is not None
        self._server.should_exit = self._server.force_exit = True
        await self._task


class _Server(uvicorn.Server):
    """A server inside a program that handles its own signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the program's signal handlers alone."""
        yield
