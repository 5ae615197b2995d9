"""What is left to send, how long it will take and about what it will cost, before anything is sent.

An exchange takes its prompt's duration at the study's pace and the wait until its answer is over. A provider's exchanges
run side by side up to its limit, and no faster than its rate; providers run side by side. Before there is normalized audio
the prompts are the selected recordings as they are. Costs are what the config's
stored answers cost on average, else the price table's for an answer of 15 s; where no price is known, none is given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import polars as pl

from s2s_assets.responses.attempts import stored_attempts
from s2s_assets.responses.costs import Tariff
from s2s_assets.responses.expected import expected_answer_s, expected_costs, expected_wait_s, mean_prompt_s
from s2s_assets.responses.prices import price_table
from s2s_assets.responses.spending import Ledger
from s2s_assets.responses.table import wanted
from s2s_assets.storage import StudyStore
from s2s_assets.study import Config, Provider, Study, StudyError

PromptsFrom: TypeAlias = Literal["normalized_audio", "recorded_prompts"]


@dataclass(frozen=True)
class ConfigEstimate:
    """What a config still needs."""

    config: str
    exchanges: int
    prompt_s: float
    """Mean duration of the prompts to be sent."""
    answer_s: float
    exchange_s: float
    """Duration of an exchange."""
    costs: dict[str, float | None]
    """Provider → US dollars, None where a price is not known."""
    unpriced: tuple[str, ...]
    """Models without a price."""
    problem: str | None = None
    """Why nothing can be said."""

    @property
    def cost_usd(self) -> float | None:
        """The sum over providers; None where one is not known; 0 where nothing is left to send."""
        return _sum(list(self.costs.values())) if self.exchanges else 0.0


@dataclass(frozen=True)
class ProviderEstimate:
    """What a provider will be asked."""

    provider: str
    exchanges: int
    duration_s: float
    cost_usd: float | None
    spent_usd: float
    unknown_costs: int
    """Attempts that are not in it: nothing is known of what they cost."""
    budget_usd: float | None


@dataclass(frozen=True)
class Estimate:
    """What a study's responses still need."""

    price_table: str
    prompts: int
    prompts_from: PromptsFrom
    """The table that says what they are: `normalized_audio`, or `recorded_prompts` before there is one."""
    configs: tuple[ConfigEstimate, ...]
    providers: tuple[ProviderEstimate, ...]

    def document(self) -> dict[str, Any]:
        """The estimate as `s2s responses estimate --json` prints it."""
        configs = [{**c.__dict__, "unpriced": list(c.unpriced), "cost_usd": c.cost_usd} for c in self.configs]
        return {
            "price_table": self.price_table,
            "prompts": self.prompts,
            "prompts_from": self.prompts_from,
            "exchanges": sum(c.exchanges for c in self.configs),
            "duration_s": max((p.duration_s for p in self.providers), default=0.0),
            "cost_usd": _sum([c.cost_usd for c in self.configs if c.exchanges]),
            "configs": configs,
            "providers": [p.__dict__ for p in self.providers],
        }


def estimate(
    study: Study,
    configs: Sequence[Config],
    prompts: pl.DataFrame,
    store: StudyStore,
    prompts_from: PromptsFrom = "normalized_audio",
) -> Estimate:
    """Estimate the exchanges that some configs of a study still need.

    Args:
        study: pace, limits, budgets and prices.
        configs: those that are asked about.
        prompts: table `normalized_audio`, or what `expected_prompts` makes of `recorded_prompts`.
        store: where attempts are.
        prompts_from: which of them.

    Raises:
        StoreError: a record that cannot be read.
    """
    table, ledger = price_table(study.providers), Ledger(store)
    ledger.read()
    rows = [_config(study, config, prompts, store) for config in configs]
    names = sorted({name for row in rows for name in row.costs})
    asked = [_provider(name, rows, study, ledger) for name in names]
    known = int((prompts["status"] == "ok").sum())
    return Estimate(table.version, known, prompts_from, tuple(rows), tuple(asked))


def _config(study: Study, config: Config, prompts: pl.DataFrame, store: StudyStore) -> ConfigEstimate:
    stored = stored_attempts(store, config)
    answered = {i for i, records in stored.items() if any(r["status"] == "ok" for r in records)}
    missing = list({w.response_id: w for w in wanted(config, prompts, store) if w.response_id not in answered}.values())
    prompt_s, answer_s, pace = mean_prompt_s(prompts, missing), expected_answer_s(stored), study.exchange.pace
    exchange_s = (prompt_s / pace if pace else 0.0) + expected_wait_s(stored)
    base = (str(config.key), len(missing), prompt_s, answer_s, exchange_s)
    try:
        tariff = Tariff.of(config, price_table(study.providers))
    except StudyError as error:
        return ConfigEstimate(*base, {config.model.provider: None}, (), str(error))
    by_provider: dict[str, list[float | None]] = {}
    for stage, cost in expected_costs(stored, tariff, prompt_s).items():
        by_provider.setdefault(tariff.providers[stage], []).append(None if cost is None else cost * len(missing))
    unpriced = sorted({tariff.models[stage] for stage, price in tariff.prices.items() if price is None})
    return ConfigEstimate(*base, {name: _sum(costs) for name, costs in by_provider.items()}, tuple(unpriced))


def _provider(name: str, rows: Sequence[ConfigEstimate], study: Study, ledger: Ledger) -> ProviderEstimate:
    given, own = study.providers.get(name, Provider()), [row for row in rows if name in row.costs and row.exchanges]
    exchanges = sum(row.exchanges for row in own)
    side_by_side_s = sum(row.exchanges * row.exchange_s for row in own) / (
        given.concurrency or study.exchange.concurrency
    )
    at_rate_s = 60 * exchanges / given.requests_per_minute if given.requests_per_minute else 0.0
    return ProviderEstimate(
        provider=name,
        exchanges=exchanges,
        duration_s=max(side_by_side_s, at_rate_s),
        cost_usd=_sum([row.costs[name] for row in own]),
        spent_usd=ledger.spent_usd[name],
        unknown_costs=ledger.unknown[name],
        budget_usd=given.budget_usd,
    )


def _sum(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) if len(known) == len(values) else None
