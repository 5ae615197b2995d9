"""What websocket protocols with JSON events have in common: connect, configure, send and read at the same time.

One fresh connection an exchange, no limit on a message's size or on the number of unread ones: an answer is held whole
anyway, and a full queue would keep the end of a failed one from being read. The configuration is acknowledged and
verified before any audio goes out. Audio goes out in frames, each when its last sample would have been spoken at the
given pace, while a reader already takes events. Three deadlines are kept apart: connection and configuration; end of
turn to first sign of an answer; idle time between events *of the answer* (a ping is none). A socket that closes before
the answer is over is a failure, whatever the close code.
"""

import asyncio
import json
import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from enum import Enum, auto
from typing import Any, ClassVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from s2s_assets.responses.deadline import Deadline
from s2s_assets.responses.providers.addresses import is_loopback
from s2s_assets.responses.providers.base import Adapter, StageSpec
from s2s_assets.responses.providers.failures import connection_error, http_error, json_object
from s2s_assets.responses.records import ExchangeError, Prompt

STAGE = "realtime"
_WIRE = logging.getLogger(f"{__name__}.wire")
# one level lower the library writes every header of the upgrade, the key among them
_WIRE.setLevel(logging.INFO)


class Progress(Enum):
    """What an event means for the turn."""

    ASIDE = auto()
    """Nothing: acknowledgements, pings, rate limits, transcripts of the prompt."""
    ANSWER = auto()
    """A sign of the answer."""
    OVER = auto()
    """The answer has ended."""


class WebsocketAdapter(Adapter):
    """An adapter that only says what its messages are."""

    default_url: ClassVar[str]
    stages: ClassVar[Mapping[str, StageSpec]]

    def __init_subclass__(cls) -> None:
        if "default_url" in vars(cls):
            cls.stages = {STAGE: StageSpec(cls.default_url)}

    @abstractmethod
    def url(self) -> str:
        """Where to connect, without secrets."""

    @abstractmethod
    def headers(self) -> dict[str, str]:
        """Headers of the upgrade, the key among them."""

    @abstractmethod
    def configuration(self) -> dict[str, Any]:
        """The first message."""

    @abstractmethod
    def acknowledged(self, event: Mapping[str, Any]) -> bool:
        """Whether an event acknowledges the configuration.

        Raises:
            ExchangeError: the provider refused it, or shows another one than was asked for.
        """

    def start_of_turn(self) -> Sequence[dict[str, Any]]:
        """Messages before the first frame."""
        return ()

    @abstractmethod
    def frame(self, pcm: bytes) -> tuple[dict[str, Any], str]:
        """The message of a frame, and the key whose value is its audio (for the log)."""

    @abstractmethod
    def end_of_turn(self) -> Sequence[dict[str, Any]]:
        """Messages after the last frame."""

    @abstractmethod
    def receive(self, event: Mapping[str, Any]) -> Progress:
        """Record one event.

        Raises:
            ExchangeError: the provider failed or refused.
        """

    def body(self, event: Mapping[str, Any]) -> str | None:
        """Key of an event whose value is audio in base64 (for the log)."""
        return None

    def patience_s(self) -> float:
        """How long after the answer's end something that belongs to the exchange may still come; 0: nothing may."""
        return 0.0

    def closed(self, code: int, reason: str) -> ExchangeError:
        """The failure that an early close is: part of an answer where audio had come."""
        return ExchangeError(
            "truncated" if self.recorder.final else "provider_error",
            f"closed_{code}",
            f"the connection closed before the answer was over: {code} {reason}".rstrip(),
            retryable=True,
        )

    def snapshot(self) -> dict[str, Any]:
        """Address, configuration and terms."""
        terms = self.request.terms
        return {
            "url": self.url(),
            "headers": sorted(self.headers()),
            "configuration": self.configuration(),
            "input_rate_hz": self.input_rate_hz,
            "pace": terms.pace,
            "frame_ms": terms.frame_ms,
        }

    async def run(self, prompt: Prompt) -> None:
        """One turn over one connection."""
        async with self._session() as socket:
            await self._converse(socket, prompt)

    async def probe(self) -> None:
        """Connect, have the configuration acknowledged, and leave: no audio goes out, no answer is asked for."""
        async with self._session():
            return

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[ClientConnection]:
        """A connection whose configuration is acknowledged."""
        async with self.recorder.slot(STAGE):
            socket = await self._connect()
            try:
                await self._configure(socket)
                yield socket
            except ConnectionClosed as closed:
                raise self._closed(closed) from None
            finally:
                await socket.close()

    async def _connect(self) -> ClientConnection:
        address = self.url()
        try:
            async with Deadline() as deadline:
                deadline.expect("connection", self.request.terms.connect_timeout_s)
                socket = await connect(
                    address,
                    additional_headers=self.headers(),
                    max_size=None,
                    max_queue=None,
                    open_timeout=None,
                    close_timeout=1,
                    proxy=None if is_loopback(address) else True,
                    logger=_WIRE,
                )
        except InvalidStatus as refused:
            response = refused.response
            raise http_error(response.status_code, response.headers, bytes(response.body or b"")) from None
        except (OSError, EOFError, InvalidHandshake, InvalidURI) as error:
            raise connection_error(error, address) from None
        self.recorder.mark("connected")
        return socket

    async def _configure(self, socket: ClientConnection) -> None:
        async with Deadline() as deadline:
            deadline.expect("configuration", self.request.terms.connect_timeout_s)
            await self._send(socket, self.configuration())
            while not self.acknowledged(await self._next(socket)):
                pass
        self.recorder.mark("configured")

    async def _converse(self, socket: ClientConnection, prompt: Prompt) -> None:
        try:
            async with Deadline() as deadline, asyncio.TaskGroup() as tasks:
                writer = tasks.create_task(self._write(socket, prompt, deadline))
                await self._read(socket, deadline)
                writer.cancel()
        except BaseExceptionGroup as group:
            raise _first(group) from None
        await self._linger(socket)

    async def _write(self, socket: ClientConnection, prompt: Prompt, deadline: Deadline) -> None:
        # a closed socket is the reader's to report: the provider's last words may still be unread
        with suppress(ConnectionClosed):
            await self._send_turn(socket, prompt)
            self.recorder.mark("input_sent")
            terms = self.request.terms
            if self.recorder.reached("first_event"):
                deadline.expect("next_event", terms.idle_timeout_s)
            else:
                deadline.expect("first_event", terms.first_event_timeout_s)

    async def _send_turn(self, socket: ClientConnection, prompt: Prompt) -> None:
        terms = self.request.terms
        loop = asyncio.get_running_loop()
        for message in self.start_of_turn():
            await self._send(socket, message)
        started = loop.time()
        for due_s, pcm in schedule(prompt, terms.frame_ms, terms.pace):
            await asyncio.sleep(started + due_s - loop.time() if due_s else 0)
            await self._send(socket, *self.frame(pcm))
        for message in self.end_of_turn():
            await self._send(socket, message)

    async def _read(self, socket: ClientConnection, deadline: Deadline) -> None:
        while True:
            progress = self.receive(await self._next(socket))
            if progress is Progress.ASIDE:
                continue
            self.recorder.mark("first_event")
            if progress is Progress.OVER:
                return self.recorder.mark("done")
            if self.recorder.reached("input_sent"):
                deadline.expect("next_event", self.request.terms.idle_timeout_s)

    async def _linger(self, socket: ClientConnection) -> None:
        """Read on for what may come late; a close or the end of the patience is no failure."""
        ended = asyncio.get_running_loop().time()
        with suppress(TimeoutError, ConnectionClosed, ExchangeError):
            while (wait_s := self.patience_s()) > 0:
                async with asyncio.timeout_at(ended + wait_s):
                    self.receive(await self._next(socket))

    async def _send(self, socket: ClientConnection, message: Mapping[str, Any], body: str | None = None) -> None:
        self.recorder.log(">", message, body)
        async with Deadline() as deadline:
            deadline.expect("writing", self.request.terms.idle_timeout_s)
            await socket.send(json.dumps(message, ensure_ascii=False))
        await _let_others()

    async def _next(self, socket: ClientConnection) -> Mapping[str, Any]:
        await _let_others()
        event = json_object(await socket.recv(), "an event")
        self.recorder.log("<", event, self.body(event))
        return event

    def _closed(self, closed: ConnectionClosed) -> ExchangeError:
        frame = closed.rcvd
        code, reason = (frame.code, frame.reason) if frame else (1006, "without a close frame")
        self.recorder.log("-", {"type": "closed", "code": code, "reason": reason})
        return self.closed(code, reason)


async def _let_others() -> None:
    """One message a turn of the loop: neither a send nor a read waits while there is room or more to read.

    Without it an exchange does all that it can at once, and many that answer at the same time hold up each other's frames.
    """
    await asyncio.sleep(0)


def schedule(prompt: Prompt, frame_ms: int, pace: float) -> Iterator[tuple[float, bytes]]:
    """Frames and when each is due, in seconds: when its last sample has been spoken at `pace`; at pace 0 all at once."""
    step = prompt.rate_hz * frame_ms // 1000 * 2
    for at in range(0, len(prompt.pcm), step):
        frame = prompt.pcm[at : at + step]
        spoken_s = (at + len(frame)) / 2 / prompt.rate_hz
        yield (spoken_s / pace if pace else 0.0), frame


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one exception that matters of those of reader and writer: a failure before a mere close."""
    flat: list[BaseException] = []
    pending: list[BaseException] = [group]
    while pending:
        error = pending.pop(0)
        if isinstance(error, BaseExceptionGroup):
            pending.extend(error.exceptions)
        else:
            flat.append(error)
    return next((e for e in flat if isinstance(e, ExchangeError)), flat[0])
