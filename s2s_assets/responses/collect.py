"""Collects a config's responses: every prompt that has no stored success is exchanged, and nothing else.

On one machine a config is collected once at a time; a second collection waits and finds what the first has stored.

Resumable by construction. The response id is known before anything is sent; a finished attempt is stored before the
next one of its prompt begins; what is stored is read first. So a kill loses at most the exchanges in flight, and a run
of a finished config sends nothing. A failed prompt is tried anew by the next run.

A collection stops early, with a reason and with all that it has, where a budget is used up or the tally sees no hope
(`tally.py`).
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from s2s_assets.responses.attempts import keep_attempt, stored_attempts
from s2s_assets.responses.collecting import collecting, write_progress
from s2s_assets.responses.costs import Tariff, total
from s2s_assets.responses.expected import expected_answer_s, mean_prompt_s
from s2s_assets.responses.limits import ProviderLimits
from s2s_assets.responses.loading import PromptCache
from s2s_assets.responses.preflight import preflight
from s2s_assets.responses.prices import price_table
from s2s_assets.responses.providers import adapter
from s2s_assets.responses.records import Outcome, Request
from s2s_assets.responses.request import PerStage, resolve
from s2s_assets.responses.retry import Backoff, attempts
from s2s_assets.responses.spending import Purse, open_purse
from s2s_assets.responses.table import Wanted, wanted
from s2s_assets.responses.tally import CollectResult, Tally, progress_of
from s2s_assets.storage import StudyStore
from s2s_assets.study import Config, Exchange, Provider, Settings

_WRITE_EVERY_S = 1.0
_LOOK_EVERY_S = 30.0
"""How often spending of partitions that run at the same time is taken up."""


async def collect(
    config: Config,
    prompts: pl.DataFrame,
    store: StudyStore,
    exchange: Exchange,
    *,
    providers: Mapping[str, Provider] | None = None,
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
        providers: limits, budgets and prices of the study.
        home: state folder that holds the providers' limits, by default that of the settings.
        environ: where keys and addresses are looked up, by default the process's environment.
        base_url: replaces the provider's address; by stage in a cascade.
        backoff: waits between attempts, by default those of `Backoff` with the study's number of attempts.
        progress: called with the counts so far whenever a prompt is finished.

    Raises:
        StudyError: something is to be sent, and the adapter or a setting is unknown, a variable is not set, a budget has
            no price to hold it by, or the provider refuses; nothing has been sent then.
        StoreError: a store that does not take or give an object.
    """
    home, providers = home or Settings.from_environment().home, providers or {}
    async with collecting(home, str(config.key)) as folder:
        plan = {w.response_id: w for w in await asyncio.to_thread(wanted, config, prompts, store)}
        stored = await asyncio.to_thread(stored_attempts, store, config)
        answered = {i for i, records in stored.items() if any(r["status"] == "ok" for r in records)}
        missing = [w for i, w in plan.items() if i not in answered]
        reused = len(plan) - len(missing)
        counts = CollectResult(planned=len(plan), reused=reused, sent=0, answered=reused)
        if not missing:
            return counts
        request = resolve(config, exchange, environ, base_url)
        tariff, answer_s = Tariff.of(config, price_table(providers)), expected_answer_s(stored)
        prompt_s = mean_prompt_s(prompts, missing)
        with closing(ProviderLimits(home, exchange.concurrency, providers)) as limits:
            job = _Collection(
                config=config,
                request=request,
                store=store,
                backoff=backoff or Backoff(attempts=exchange.attempts),
                limits=limits,
                tariff=tariff,
                answer_s=answer_s,
                purse=await asyncio.to_thread(open_purse, store, config, tariff, providers, prompt_s, answer_s),
                cache=PromptCache(home, store, adapter(request.adapter).input_rate_hz),
                folder=folder,
                progress=progress,
                tally=Tally(counts),
            )
            await job.run(missing, probing=exchange.preflight)
        return job.tally.result()


@dataclass
class _Collection:
    """A collection under way."""

    config: Config
    request: Request
    store: StudyStore
    backoff: Backoff
    limits: ProviderLimits
    tariff: Tariff
    answer_s: float
    purse: Purse | None
    cache: PromptCache
    folder: Path
    progress: Callable[[CollectResult], None] | None
    tally: Tally
    under_way: int = 0
    """Prompts whose exchanges have begun and not ended."""
    written: float = 0.0
    """When the counts were last written (`time.monotonic`)."""
    looked: float = field(default_factory=time.monotonic)
    """When others' spending was last taken up."""

    async def run(self, missing: list[Wanted], *, probing: bool) -> None:
        """Work through the missing responses, as many at once as any provider takes; an error of the store ends all."""
        if probing:
            await preflight(self.request, self.limits)
        most = max(self.limits.limit(provider).concurrency for provider in self.request.providers.values())
        queue = iter(missing)
        self._tell()
        tasks = [asyncio.create_task(self._work(queue)) for _ in range(min(most, len(missing)))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self, queue: Iterator[Wanted]) -> None:
        while (want := self._next(queue)) is not None:
            self.under_way += 1
            try:
                self.tally.end(await self._exchange(want))
                self._tell()
            finally:
                self.under_way -= 1

    def _next(self, queue: Iterator[Wanted]) -> Wanted | None:
        return next(queue, None) if self._may_send(self.under_way) else None

    def _may_send(self, others: int) -> bool:
        """Whether one more exchange may begin beside so many others."""
        if self.tally.stopped is None and self.purse is not None:
            self.tally.stopped = self.purse.refusal(others)
        return self.tally.stopped is None

    async def _exchange(self, want: Wanted) -> Outcome:
        prompt = await asyncio.to_thread(self.cache.load, want)

        async def keep(outcome: Outcome) -> None:
            await self._keep(want, prompt.duration_s, outcome)

        ends = await attempts(self.request, prompt, self.backoff, want.response_id, self.limits, keep, self._may_repeat)
        return ends[-1]

    def _may_repeat(self) -> bool:
        return self._may_send(self.under_way - 1)

    def _tell(self) -> None:
        """Show the counts so far, to other processes now and then."""
        counts, now = self.tally.result(), time.monotonic()
        if now - self.written >= _WRITE_EVERY_S:
            self.written = now
            # a disk that is busy must not hold up the exchanges
            asyncio.get_running_loop().run_in_executor(None, write_progress, self.folder, progress_of(counts))
        if self.progress is not None and counts.done:
            self.progress(counts)

    async def _keep(self, want: Wanted, prompt_s: float, outcome: Outcome) -> None:
        charges = self.tariff.charges(outcome, prompt_s, self.answer_s)
        cost = total(charges)
        self.tally.attempt(cost)
        more = {
            "prompt": want.prompt,
            "prompt_pcm_sha256": want.pcm_sha256,
            "repeat": want.repeat,
            "cost_usd": cost,
            "charges": charges,
            "price_table": self.tariff.version,
        }
        name, record = await asyncio.to_thread(keep_attempt, self.store, self.config, want.response_id, more, outcome)
        if self.purse is not None:
            self.purse.charge(name, record)
            await self._look()

    async def _look(self) -> None:
        """Take up now and then what other partitions have spent."""
        now = time.monotonic()
        if self.purse is not None and now - self.looked >= _LOOK_EVERY_S:
            self.looked = now
            await asyncio.to_thread(self.purse.ledger.read)
