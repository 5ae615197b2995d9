"""One moving deadline for what an exchange waits for, with a name for what did not come."""

import asyncio
from types import TracebackType
from typing import Self

from s2s_assets.responses.records import ExchangeError


class Deadline:
    """A block that fails as a timeout when what it waits for does not come in time.

    Nothing is due until `expect` is called; each call replaces the one before. Any task of the loop may call it.
    """

    def __init__(self, stage: str | None = None) -> None:
        self._timeout = asyncio.timeout(None)
        self._stage = stage
        self._what = ""
        self._seconds = 0.0

    def expect(self, what: str, seconds: float) -> None:
        """From now on, `what` is due within so many seconds."""
        self._what, self._seconds = what, seconds
        self._timeout.reschedule(asyncio.get_running_loop().time() + seconds)

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the block.

        Raises:
            ExchangeError: status `timeout`, code `<what>_timeout`.
        """
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            raise ExchangeError(
                "timeout",
                f"{self._what}_timeout",
                f"waited {self._seconds:g} s for {self._what.replace('_', ' ')}",
                retryable=True,
                stage=self._stage,
            ) from None
