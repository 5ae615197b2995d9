"""Collects a config's responses: every prompt that has no stored success is exchanged, and nothing else.

On one machine a config is collected once at a time; a second collection waits and finds what the first has stored.

Resumable by construction. The response id is known before anything is sent; a finished attempt is stored before the
next one of its prompt begins; what is stored is read first. So a kill loses at most the exchanges in flight, and a run
of a finished config sends nothing. A failed prompt is tried anew by the next run.

A collection stops early, with a reason and with all that it has, where a budget is used up, or where several prompts in
a row end in one failure that no repetition cures, such as a spent quota.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
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
from s2s_assets.responses.providers.failures import FINAL_CODES
from s2s_assets.responses.records import Outcome, Request
from s2s_assets.responses.request import PerStage, resolve
from s2s_assets.responses.retry import Backoff, attempts
from s2s_assets.responses.spending import Purse, open_purse
from s2s_assets.responses.table import Wanted, wanted
from s2s_assets.storage import StudyStore
from s2s_assets.study import Config, Exchange, Provider, Settings

_HOPELESS = 5
"""Prompts in a row that end in one final code, after which no further one is sent."""
_WRITE_EVERY_S = 1.0
_LOOK_EVERY_S = 30.0
"""How often spending of partitions that run at the same time is taken up."""


@dataclass(frozen=True)
class CollectResult:
    """Counts of one collection, or of one under way."""

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
    stopped: str | None = None
    """Why it stopped before the last prompt."""
    spent_usd: float | None = None
    """Cost of what was sent, as far as it is known; None where none of it is."""
    unknown_costs: int = field(default=0, compare=False)
    """Exchanges whose cost is not known."""
    elapsed_s: float = field(default=0.0, compare=False)

    @property
    def done(self) -> int:
        """Prompts that this collection has finished."""
        return self.answered - self.reused + sum(self.failures.values())

    @property
    def rate(self) -> float | None:
        """Prompts finished a second; None before the first."""
        return self.done / self.elapsed_s if self.done and self.elapsed_s else None

    @property
    def to_go_s(self) -> float | None:
        """About how long the rest will take."""
        left = self.planned - self.reused - self.done
        return None if self.rate is None else left / self.rate


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
                before=counts,
            )
            await job.run(missing, probing=exchange.preflight)
        return job.result()


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
    before: CollectResult
    sent: int = 0
    costs: list[float] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    stopped: str | None = None
    under_way: int = 0
    finals: tuple[str, int] = ("", 0)
    """The final code that the last prompts ended in, and how many did."""
    started: float = field(default_factory=time.monotonic)
    written: float = 0.0
    looked: float = field(default_factory=time.monotonic)

    def result(self) -> CollectResult:
        failures = {status: n for status, n in sorted(self.ends.items()) if status != "ok"}
        return replace(
            self.before,
            sent=self.sent,
            answered=self.before.answered + self.ends["ok"],
            failures=failures,
            stopped=self.stopped,
            spent_usd=sum(self.costs) if self.costs else None,
            unknown_costs=self.sent - len(self.costs),
            elapsed_s=time.monotonic() - self.started,
        )

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
                self._end(await self._exchange(want))
            finally:
                self.under_way -= 1

    def _next(self, queue: Iterator[Wanted]) -> Wanted | None:
        return next(queue, None) if self._may_send(self.under_way) else None

    def _may_send(self, others: int) -> bool:
        """Whether one more exchange may begin beside so many others."""
        if self.stopped is None and self.purse is not None:
            self.stopped = self.purse.refusal(others)
        return self.stopped is None

    async def _exchange(self, want: Wanted) -> Outcome:
        prompt = await asyncio.to_thread(self.cache.load, want)

        async def keep(outcome: Outcome) -> None:
            await self._keep(want, prompt.duration_s, outcome)

        ends = await attempts(self.request, prompt, self.backoff, want.response_id, self.limits, keep, self._may_repeat)
        return ends[-1]

    def _may_repeat(self) -> bool:
        return self._may_send(self.under_way - 1)

    def _end(self, last: Outcome) -> None:
        """Count a finished prompt, and see whether there is hope for the next."""
        self.ends[last.status] += 1
        code = last.code if last.code in FINAL_CODES else ""
        self.finals = (code, self.finals[1] + 1 if code == self.finals[0] else 1)
        if code and self.finals[1] >= _HOPELESS:
            self.stopped = f"{_HOPELESS} prompts in a row ended in {code}: {last.message}"
        self._tell()

    def _tell(self) -> None:
        counts, now = self.result(), time.monotonic()
        if now - self.written >= _WRITE_EVERY_S:
            self.written = now
            # a disk that is busy must not hold up the exchanges
            asyncio.get_running_loop().run_in_executor(None, write_progress, self.folder, progress_of(counts))
        if self.progress is not None and counts.done:
            self.progress(counts)

    async def _keep(self, want: Wanted, prompt_s: float, outcome: Outcome) -> None:
        self.sent += 1
        charges = self.tariff.charges(outcome, prompt_s, self.answer_s)
        cost = total(charges)
        if cost is not None:
            self.costs.append(cost)
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


def progress_of(counts: CollectResult) -> dict[str, object]:
    """Counts of a running collection, as others see them."""
    return {
        "pid": os.getpid(),
        "at": datetime.now(UTC).isoformat(),
        **asdict(counts),
        "done": counts.done,
        "rate": counts.rate,
        "to_go_s": counts.to_go_s,
    }
