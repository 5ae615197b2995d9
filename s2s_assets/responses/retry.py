"""Repeats an exchange that failed in a way that may pass, and keeps every attempt.

Before attempt n + 1 it waits min(cap, base · 2^(n-1)) · u seconds, u uniform in [0.5, 1.5) from a seed of the
response's own, and at least as long as the provider asked for (bounded by `max_wait_s`). The latency that counts is
that of the successful attempt: attempts share no clock.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from s2s_assets.responses.exchange import exchange
from s2s_assets.responses.limits import ProviderLimits
from s2s_assets.responses.records import Outcome, Prompt, Request
from s2s_assets.study import generator


@dataclass(frozen=True)
class Backoff:
    """How often and how patiently an exchange is repeated."""

    attempts: int = 3
    base_s: float = 1.0
    cap_s: float = 30.0
    max_wait_s: float = 120.0
    """A provider that asks for more than this is not waited for that long."""

    def wait_s(self, name: str, attempt: int, retry_after_s: float | None) -> float:
        """Seconds to wait after an attempt (1…) of a response failed."""
        spread = float(generator("retry", name, attempt).uniform(0.5, 1.5))
        own = min(self.cap_s, self.base_s * 2.0 ** (attempt - 1)) * spread
        return max(own, min(retry_after_s or 0.0, self.max_wait_s))


async def attempts(
    request: Request,
    prompt: Prompt,
    backoff: Backoff,
    name: str,
    limits: ProviderLimits | None = None,
    keep: Callable[[Outcome], Awaitable[None]] | None = None,
    may_repeat: Callable[[], bool] | None = None,
) -> tuple[Outcome, ...]:
    """Every attempt, in order; the last one is the result.

    Args:
        request: what to send and where.
        prompt: samples at the adapter's rate.
        backoff: how often and how patiently.
        name: whose random waits these are, such as a response id.
        limits: slots of the providers.
        keep: called with each attempt the moment it ends, before any wait.
        may_repeat: asked before each repetition, after its wait; where it says no, the last attempt stands.
    """
    done: list[Outcome] = []
    while True:
        outcome = await exchange(request, prompt, limits)
        done.append(outcome)
        if keep is not None:
            await keep(outcome)
        if outcome.ok or not outcome.retryable or len(done) >= backoff.attempts:
            return tuple(done)
        await asyncio.sleep(backoff.wait_s(name, len(done), outcome.retry_after_s))
        if may_repeat is not None and not may_repeat():
            return tuple(done)
