"""What each provider is asked at once and in a minute, over all processes of this machine.

Each provider has a folder, `HOME/limits/PROVIDER`, with a queue (`tickets`) and what has been learnt of it (`pacing`). A stage of a cascade queues at its own provider.

In each process one request of a provider queues at a time, and the others wait behind it in the order in which they
came; so processes take turns whatever they have to send, and each request waits for a bounded number of others.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from s2s_assets.responses.pacing import Limit, Pace
from s2s_assets.responses.tickets import HeldQueue, Queue, Ticket, safe_name
from s2s_assets.study import Provider

_POLL_S = 0.02
_RETRY_S = 0.002
"""The state file is held for some hundred microseconds."""
_LONGEST_SLEEP_S = 1.0
"""A wait that others may change is looked at again after this."""


class ProviderLimits:
    """Bounds requests by provider; belongs to one event loop.

    Args:
        home: state folder of this machine (`S2S_HOME`).
        concurrency: requests at once for a provider that is not named otherwise.
        providers: what the study says of providers.
    """

    def __init__(self, home: Path, concurrency: int, providers: Mapping[str, Provider] | None = None) -> None:
        self._home = home / "limits"
        self._concurrency = concurrency
        self._providers = providers or {}
        self._lines: dict[str, _Line] = {}

    def limit(self, provider: str) -> Limit:
        """The limit of a provider, before what has been learnt."""
        given = self._providers.get(provider, Provider())
        return Limit(given.concurrency or self._concurrency, given.requests_per_minute)

    @asynccontextmanager
    async def slot(self, provider: str) -> AsyncIterator[float]:
        """Run one request; waits for its turn, and yields when it came (`time.monotonic`)."""
        line = self._line(provider)
        ticket = await line.enter()
        try:
            yield time.monotonic()
        finally:
            line.leave(ticket)

    async def succeeded(self, provider: str) -> None:
        """A request was served: a little more may be asked."""
        line = self._line(provider)
        await line.change(lambda pace: pace.succeeded(line.limit))

    async def throttled(self, provider: str, began: float, retry_after_s: float | None = None) -> None:
        """The provider had too many requests when this one, begun at `began`, came: ask half as much, after its wait."""
        await self._line(provider).change(lambda pace: pace.throttled(began, time.monotonic(), retry_after_s))

    async def pace(self, provider: str) -> Pace:
        """What has been learnt of a provider."""
        return await self._line(provider).change(lambda pace: pace)

    def close(self) -> None:
        """Leave all queues; no request may be running or waiting then."""
        for line in self._lines.values():
            line.close()
        self._lines.clear()

    def _line(self, provider: str) -> "_Line":
        if provider not in self._lines:
            self._lines[provider] = _Line(Queue(self._home / safe_name(provider)), self.limit(provider))
        return self._lines[provider]


class _Line:
    """One provider's requests of this process."""

    def __init__(self, queue: Queue, limit: Limit) -> None:
        self.limit = limit
        self._queue = queue
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()
        self._left: list[Ticket] = []
        """Of requests that have ended and still stand in the queue."""

    async def enter(self) -> Ticket:
        """Wait for this request's turn."""
        async with self._turn:
            ticket, wait_s = self._try(None)
            try:
                while wait_s > 0:
                    await self._pause(wait_s)
                    ticket, wait_s = self._try(ticket)
            finally:
                if ticket is not None and wait_s > 0:
                    self.leave(ticket)
            assert ticket is not None
            return ticket

    def _try(self, ticket: Ticket | None) -> tuple[Ticket | None, float]:
        """Begin, at a new place in the queue where there is none yet; the place, and 0 or seconds to wait before the next try."""
        with self._queue.held() as held:
            if held is None:
                return ticket, _RETRY_S
            self._forget(held)
            ticket = held.enter() if ticket is None else ticket
            return ticket, self._begin(held, ticket)

    def leave(self, ticket: Ticket) -> None:
        """End a request."""
        self._left.append(ticket)
        self._settle()
        self._freed.set()

    def close(self) -> None:
        """Leave the queue."""
        self._queue.close()

    def _settle(self) -> None:
        """Take ended requests out of the queue: now, or where it is held at this moment, as soon as it is not."""
        if self._queue.closed:
            return
        with self._queue.held() as held:
            if held is not None:
                self._forget(held)
            else:
                asyncio.get_running_loop().call_later(_RETRY_S, self._settle)

    async def change(self, learn: Callable[[Pace], Pace]) -> Pace:
        """Learn something of the provider, for every process."""
        while True:
            with self._queue.held() as held:
                if held is not None:
                    self._forget(held)
                    pace = learn(Pace.of(held.pace))
                    held.pace = pace.fields()
                    return pace
            await asyncio.sleep(_RETRY_S)

    def _forget(self, held: HeldQueue) -> None:
        """Take the tickets of requests that have ended out of the queue."""
        while self._left:
            held.leave(self._left.pop())

    def _begin(self, held: HeldQueue, ticket: Ticket) -> float:
        """0 where the request begins now, else seconds after which to look again."""
        pace, now = Pace.of(held.pace), time.monotonic()
        if held.before(ticket) >= pace.at_once(self.limit):
            return _POLL_S
        wait_s = pace.wait_s(self.limit, now)
        if wait_s > 0:
            return min(wait_s, _LONGEST_SLEEP_S)
        held.pace = pace.begun(self.limit, now).fields()
        return 0.0

    async def _pause(self, seconds: float) -> None:
        """Sleep, unless a request of this process ends before."""
        self._freed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._freed.wait()
        except TimeoutError:
            return
