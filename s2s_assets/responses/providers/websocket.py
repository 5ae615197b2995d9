"""What protocols over a websocket have in common: one fresh connection an exchange, and what its failures mean.

There is no limit on a message's size or on the number of unread ones: an answer is held whole anyway, and a full queue
would keep the end of a failed one from being read. The conversation itself is `providers.conversation`'s.
"""

import logging
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from s2s_assets.responses.deadline import Deadline
from s2s_assets.responses.providers.addresses import is_loopback
from s2s_assets.responses.providers.base import StageSpec
from s2s_assets.responses.providers.conversation import STAGE, Channel, ClosedError, ConversationAdapter, Progress
from s2s_assets.responses.providers.failures import connection_error, http_error
from s2s_assets.responses.records import ExchangeError

_WIRE = logging.getLogger(f"{__name__}.wire")
# one level lower the library writes every header of the upgrade, the key among them
_WIRE.setLevel(logging.INFO)


class WebsocketAdapter(ConversationAdapter):
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

    async def configure(self, channel: Channel) -> None:
        """Send the configuration and wait until it is acknowledged."""
        await self.send(channel, self.configuration())
        while not self.acknowledged(await self.next(channel)):
            pass

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

    async def connect(self) -> Channel:
        """An open websocket."""
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
        return _Websocket(socket)


class _Websocket(Channel):
    """A websocket as a channel."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, text: str) -> None:
        try:
            await self._socket.send(text)
        except ConnectionClosed as closed:
            raise _closed(closed) from None

    async def recv(self) -> bytes | str:
        try:
            return await self._socket.recv()
        except ConnectionClosed as closed:
            raise _closed(closed) from None

    async def close(self) -> None:
        await self._socket.close()


def _closed(closed: ConnectionClosed) -> ClosedError:
    frame = closed.rcvd
    return ClosedError(frame.code, frame.reason) if frame else ClosedError(1006, "without a close frame")


__all__ = ["STAGE", "Progress", "WebsocketAdapter"]
