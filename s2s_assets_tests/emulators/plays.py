"""What emulators over HTTP share: which scenario is played, and bodies that misbehave."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.responses import Response


class Plays:
    """One scenario a prompt, the last of the list over and over."""

    begins = "stt"
    """Stage whose request begins the next scenario."""
    scenario: str

    def set_scenarios(self, scenarios: str | Sequence[str]) -> None:
        names = [scenarios] if isinstance(scenarios, str) else list(scenarios)
        self._plays = itertools.chain(names, itertools.repeat(names[-1]))
        self.scenario = names[0]

    def enter(self, stage: str) -> None:
        """A request of a stage has come."""
        if stage == self.begins:
            self.scenario = next(self._plays)


class Broken(Response):
    """Promises a whole body and ends in the middle of it; the server then closes the connection."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = bytes(self.body)
        promised = str(max(len(body), 1)).encode()
        headers = [(b"content-type", b"application/octet-stream"), (b"content-length", promised)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        half = len(body) // 2
        for at in range(0, half, 4801):
            await send({"type": "http.response.body", "body": body[at : min(at + 4801, half)], "more_body": True})


async def stalling(start: bytes) -> AsyncIterator[bytes]:
    """A body that begins and does not go on."""
    yield start
    await asyncio.Event().wait()


async def commented(start: bytes, rest: bytes) -> AsyncIterator[bytes]:
    """A stream of events that for a second says nothing but comments, which keep it open, and then goes on."""
    yield start
    for _ in range(100):
        await asyncio.sleep(0.01)
        yield b": ping\n\n"
    yield rest
