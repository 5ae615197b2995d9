"""What protocols with JSON messages both ways have in common, whatever carries them: configure, send and read at once.

The configuration holds before any audio goes out. Audio goes out in frames, each when its last sample would have been
spoken at the given pace, while a reader already takes events. Three deadlines are kept apart: connection and
configuration; end of turn to first sign of an answer; idle time between events *of the answer* (a ping is none). A
channel that closes before the answer is over is a failure, whatever is said of it; so is an answer that begins before the
whole prompt has been sent, where the turn's end is said: it answers a part of the prompt.
"""

import asyncio
import json
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from enum import Enum, auto
from typing import Any, Protocol

from s2s_assets.responses.deadline import Deadline
from s2s_assets.responses.providers.base import ODD_EVENT, Adapter
from s2s_assets.responses.providers.failures import json_object
from s2s_assets.responses.records import ExchangeError, Prompt

STAGE = "realtime"


class Progress(Enum):
    """What an event means for the turn."""

    ASIDE = auto()
    """Nothing: acknowledgements, pings, rate limits, transcripts of the prompt."""
    ANSWER = auto()
    """A sign of the answer."""
    OVER = auto()
    """The answer has ended."""


class ClosedError(Exception):
    """A channel has closed; what the other side said of it."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        self.code, self.reason = code, reason


class Channel(Protocol):
    """What carries the messages of one exchange; sending and receiving raise `ClosedError` once it has closed."""

    async def send(self, text: str) -> None:
        """Send one message."""
        ...

    async def recv(self) -> bytes | str:
        """Wait for one message."""
        ...

    async def close(self) -> None:
        """Leave."""
        ...


class ConversationAdapter(Adapter):
    """An adapter that says what its messages are and what carries them."""

    _spoken = False
    """Whether the whole prompt is on its way."""

    @abstractmethod
    async def connect(self) -> Channel:
        """A fresh channel, with nothing sent on it yet.

        Raises:
            ExchangeError: there is none to be had.
        """

    @abstractmethod
    async def configure(self, channel: Channel) -> None:
        """Say what is asked for, and see that it holds, as far as the protocol tells.

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

    async def after_turn(self, channel: Channel) -> None:
        """What goes on being sent until the answer is over; it is cancelled then."""
        return

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

    @abstractmethod
    def closed(self, code: int, reason: str) -> ExchangeError:
        """The failure that an early close is."""

    async def run(self, prompt: Prompt) -> None:
        """One turn over one channel."""
        async with self._session() as channel:
            await self._converse(channel, prompt)

    async def probe(self) -> None:
        """Connect, have the configuration acknowledged, and leave: no audio goes out, no answer is asked for."""
        async with self._session():
            return

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[Channel]:
        """A channel whose configuration holds."""
        async with self.recorder.slot(STAGE):
            channel = await self.connect()
            self.recorder.mark("connected")
            try:
                async with Deadline() as deadline:
                    deadline.expect("configuration", self.request.terms.connect_timeout_s)
                    await self.configure(channel)
                self.recorder.mark("configured")
                yield channel
            except ClosedError as closed:
                self.recorder.log("-", {"type": "closed", "code": closed.code, "reason": closed.reason})
                raise self.closed(closed.code, closed.reason) from None
            finally:
                await channel.close()

    async def _converse(self, channel: Channel, prompt: Prompt) -> None:
        # frames are due from here on, also where a busy loop is late to begin with them
        begun = asyncio.get_running_loop().time()
        try:
            async with Deadline() as deadline, asyncio.TaskGroup() as tasks:
                writer = tasks.create_task(self._write(channel, prompt, deadline, begun))
                await self._read(channel, deadline)
                writer.cancel()
        except BaseExceptionGroup as group:
            raise _first(group) from None
        await self._linger(channel)

    async def _write(self, channel: Channel, prompt: Prompt, deadline: Deadline, begun: float) -> None:
        terms = self.request.terms
        try:
            await self._send_turn(channel, prompt, begun)
            self.recorder.mark("input_sent")
            if self.recorder.reached("first_event"):
                deadline.expect("next_event", terms.idle_timeout_s)
            else:
                deadline.expect("first_event", terms.first_event_timeout_s)
            await self.after_turn(channel)
        except ClosedError:
            # the reader's to report: the provider's last words may still be unread
            deadline.expect("close", terms.idle_timeout_s)

    async def _send_turn(self, channel: Channel, prompt: Prompt, begun: float) -> None:
        terms = self.request.terms
        loop = asyncio.get_running_loop()
        for message in self.start_of_turn():
            await self.send(channel, message)
        for due_s, pcm in schedule(prompt, terms.frame_ms, terms.pace):
            await asyncio.sleep(begun + due_s - loop.time() if due_s else 0)
            await self.send(channel, *self.frame(pcm))
        self._spoken = True
        for message in self.end_of_turn():
            await self.send(channel, message)

    async def _read(self, channel: Channel, deadline: Deadline) -> None:
        while True:
            progress = self.receive(await self.next(channel))
            if progress is Progress.ASIDE:
                continue
            if not self._spoken and self.end_of_turn():
                message = "the service began to answer before the whole prompt had been sent, without the turn's end"
                raise ExchangeError("provider_error", "answered_early", message)
            self.recorder.mark("first_event")
            if progress is Progress.OVER:
                return self.recorder.mark("done")
            if self.recorder.reached("input_sent"):
                deadline.expect("next_event", self.request.terms.idle_timeout_s)

    async def _linger(self, channel: Channel) -> None:
        """Read on for what may come late; a close, an odd event or the end of the patience is no failure."""
        ended = asyncio.get_running_loop().time()
        with suppress(TimeoutError, ClosedError, ExchangeError):
            while (wait_s := self.patience_s()) > 0:
                async with asyncio.timeout_at(ended + wait_s):
                    with suppress(*ODD_EVENT):
                        self.receive(await self.next(channel))

    async def send(self, channel: Channel, message: Mapping[str, Any], body: str | None = None) -> None:
        """Log and send a message; `body` is the key whose value is audio."""
        self.recorder.log(">", message, body)
        async with Deadline() as deadline:
            deadline.expect("writing", self.request.terms.idle_timeout_s)
            await channel.send(json.dumps(message, ensure_ascii=False))
        await _let_others()

    async def next(self, channel: Channel) -> Mapping[str, Any]:
        """Wait for an event, and log it."""
        await _let_others()
        event = json_object(await channel.recv(), "an event")
        self.recorder.log("<", event, self.body(event))
        return event


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
