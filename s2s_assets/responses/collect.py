"""Collects a config's responses: every prompt that has no stored success is exchanged, and nothing else.

On one machine a config is collected once at a time; a second collection waits and finds what the first has stored.

Resumable by construction. The response id is known before anything is sent; a finished attempt is stored before the
next one of its prompt begins; what is stored is read first. So a kill loses at most the exchanges in flight, and a run
of a finished config sends nothing. A failed prompt is tried anew by the next run.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from s2s_assets.audio import decode
from s2s_assets.responses.attempts import keep_attempt, stored_attempts
from s2s_assets.responses.limits import ProviderLimits, one_collection
from s2s_assets.responses.providers import adapter
from s2s_assets.responses.records import Outcome, Prompt, Request
from s2s_assets.responses.request import PerStage, resolve
from s2s_assets.responses.retry import Backoff, attempts
from s2s_assets.responses.table import Wanted, wanted
from s2s_assets.storage import StudyStore
from s2s_assets.study import Config, Exchange, Settings


@dataclass(frozen=True)
class CollectResult:
    """Counts of one collection."""

    planned: int
    """Responses that the study asks of this config."""
    reused: int
    """Responses that had a stored success."""
    sent: int
    """Exchanges that were sent: attempts, not prompts."""
    answered: int
    """Responses that are there now, reused ones included."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Status → prompts that ended in it."""


async def collect(
    config: Config,
    prompts: pl.DataFrame,
    store: StudyStore,
    exchange: Exchange,
    *,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    base_url: PerStage = None,
    backoff: Backoff | None = None,
    progress: Callable[[CollectResult], None] | None = None,
) -> CollectResult:
    """Exchange every prompt that has no stored success yet.

    Args:
        config: model, voice and thinking level.
        prompts: table `normalized_audio`.
        store: where prompts are read and attempts are kept.
        exchange: pace, timeouts, attempts and concurrency of the study.
        home: state folder that holds the providers' limits, by default that of the settings.
        environ: where keys and addresses are looked up, by default the process's environment.
        base_url: replaces the provider's address; by stage in a cascade.
        backoff: waits between attempts, by default those of `Backoff` with the study's number of attempts.
        progress: called with the counts so far whenever a prompt is finished.

    Raises:
        StudyError: something is to be sent, and the adapter or a setting is unknown or a variable is not set; nothing
            has been sent then.
        StoreError: a store that does not take or give an object.
    """
    home = home or Settings.from_environment().home
    async with one_collection(home).slot(str(config.key)):
        plan = {w.response_id: w for w in wanted(config, prompts)}
        stored = await asyncio.to_thread(stored_attempts, store, config)
        answered = {i for i, records in stored.items() if any(r["status"] == "ok" for r in records)}
        missing = [w for i, w in plan.items() if i not in answered]
        reused = len(plan) - len(missing)
        counts = CollectResult(planned=len(plan), reused=reused, sent=0, answered=reused)
        if not missing:
            return counts
        job = _Collection(
            config=config,
            request=resolve(config, exchange, environ, base_url),
            store=store,
            backoff=backoff or Backoff(attempts=exchange.attempts),
            limits=ProviderLimits(home, exchange.concurrency),
            progress=progress,
            before=counts,
        )
        await job.run(missing, min(exchange.concurrency, len(missing)))
        return job.result()


@dataclass
class _Collection:
    """A collection under way."""

    config: Config
    request: Request
    store: StudyStore
    backoff: Backoff
    limits: ProviderLimits
    progress: Callable[[CollectResult], None] | None
    before: CollectResult
    sent: int = 0
    ends: Counter[str] = field(default_factory=Counter)

    def result(self) -> CollectResult:
        failures = {status: n for status, n in sorted(self.ends.items()) if status != "ok"}
        answered = self.before.answered + self.ends["ok"]
        return replace(self.before, sent=self.sent, answered=answered, failures=failures)

    async def run(self, missing: list[Wanted], workers: int) -> None:
        """Work through the missing responses, so many at once; the first error of the store ends all."""
        queue = iter(missing)
        tasks = [asyncio.create_task(self._work(queue)) for _ in range(workers)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self, queue: Iterator[Wanted]) -> None:
        for want in queue:
            prompt = await asyncio.to_thread(load_prompt, self.store, want, adapter(self.request.adapter).input_rate_hz)
            ends = await attempts(
                self.request,
                prompt,
                self.backoff,
                want.response_id,
                self.limits,
                keep=lambda outcome, want=want: self._keep(want, outcome),  # type: ignore[misc]
            )
            self.ends[ends[-1].status] += 1
            if self.progress is not None:
                self.progress(self.result())

    async def _keep(self, want: Wanted, outcome: Outcome) -> None:
        self.sent += 1
        identity = {"prompt": want.prompt, "prompt_pcm_sha256": want.pcm_sha256, "repeat": want.repeat}
        await asyncio.to_thread(keep_attempt, self.store, self.config, want.response_id, identity, outcome)


def load_prompt(store: StudyStore, want: Wanted, rate_hz: int) -> Prompt:
    """A prompt's normalized audio as one channel of 16-bit samples at a protocol's rate.

    Raises:
        StoreError: the audio is not in the store.
    """
    return Prompt.of(decode(store.get_blob(want.audio_blob), want.prompt), rate_hz)
