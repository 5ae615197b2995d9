"""A small HTTP/2 server on loopback, over TLS, whose handler reads a request and answers it at the same time.

Protocol by `h2`; here are the socket, the flow control of what is sent, and a stream's two ends.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset, WindowUpdated
from h2.exceptions import ProtocolError


class Stream:
    """One request, open at both ends."""

    def __init__(self, connection: "Connection", number: int, headers: Mapping[str, str]) -> None:
        self.headers = headers
        self._connection = connection
        self._number = number
        self._received: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def receive(self) -> bytes | None:
        """The next piece of the request's body; None at its end."""
        return await self._received.get()

    def deliver(self, data: bytes | None) -> None:
        """Take a piece of the body from the connection."""
        self._received.put_nowait(data)

    async def respond(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status and the headers of the answer."""
        fields = [(":status", str(status)), *headers.items()]
        self._connection.protocol.send_headers(self._number, fields)
        await self._connection.flush()

    async def send(self, data: bytes) -> None:
        """Send a piece of the answer's body as the client's window opens."""
        while data:
            room = await self._connection.room(self._number)
            piece, data = data[:room], data[room:]
            self._connection.protocol.send_data(self._number, piece)
            await self._connection.flush()

    async def end(self) -> None:
        """The answer is over."""
        self._connection.protocol.end_stream(self._number)
        await self._connection.flush()

    async def reset(self) -> None:
        """Break the stream off."""
        self._connection.protocol.reset_stream(self._number, ErrorCodes.INTERNAL_ERROR)
        await self._connection.flush()

    def drop(self) -> None:
        """Break the whole connection off."""
        self._connection.drop()


Handler = Callable[[Stream], Awaitable[None]]


class Connection:
    """One client's connection."""

    def __init__(self, handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.protocol = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.writer = writer
        self._handler = handler
        self._reader = reader
        self._streams: dict[int, Stream] = {}
        self._window = asyncio.Event()

    async def run(self) -> None:
        self.protocol.initiate_connection()
        await self.flush()
        handlers: list[asyncio.Task[None]] = []
        try:
            while data := await self._reader.read(2**16):
                for event in self.protocol.receive_data(data):
                    if isinstance(event, RequestReceived):
                        handlers.append(asyncio.create_task(self._serve(self._opened(event))))
                    else:
                        self._take(event)
                await self.flush()
        except (ConnectionError, ssl.SSLError, ProtocolError):
            pass
        finally:
            for stream in self._streams.values():
                stream.deliver(None)
            for task in handlers:
                task.cancel()
            done = await asyncio.gather(*handlers, return_exceptions=True)
            self.writer.close()
            for failure in done:
                if isinstance(failure, Exception):
                    raise failure

    async def _serve(self, stream: Stream) -> None:
        # a client that has left is no failure
        with suppress(ConnectionError, ssl.SSLError, ProtocolError):
            await self._handler(stream)

    def _opened(self, event: RequestReceived) -> Stream:
        headers = {str(name): str(value) for name, value in event.headers}
        self._streams[event.stream_id] = Stream(self, event.stream_id, headers)
        return self._streams[event.stream_id]

    def _take(self, event: Event) -> None:
        match event:
            case DataReceived():
                self._streams[event.stream_id].deliver(event.data)
                self.protocol.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case StreamEnded() | StreamReset():
                self._streams[event.stream_id].deliver(None)
            case WindowUpdated():
                self._window.set()

    async def room(self, number: int) -> int:
        """Bytes that may be sent now, at least one."""
        while not (window := self.protocol.local_flow_control_window(number)):
            self._window.clear()
            await self._window.wait()
        return min(window, self.protocol.max_outbound_frame_size)

    def drop(self) -> None:
        self.writer.transport.abort()

    async def flush(self) -> None:
        """Send what the protocol has ready."""
        self.writer.write(self.protocol.data_to_send())
        await self.writer.drain()


class Http2Server:
    """Serves while it is entered; a handler's failure is the server's, when it is left."""

    def __init__(self, handler: Handler, certificate: Path, port: int = 0) -> None:
        self._handler = handler
        self._port = port
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(certificate)
        self._tls.set_alpn_protocols(["h2"])
        self._connections: dict[asyncio.Task[None], Connection] = {}

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port, ssl=self._tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for connection in self._connections.values():
            connection.drop()
        await asyncio.gather(*self._connections)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = Connection(self._handler, reader, writer)
        try:
            await self._connections[task].run()
        finally:
            del self._connections[task]
