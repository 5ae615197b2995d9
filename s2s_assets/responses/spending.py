"""What has been spent at each provider, by the stored attempts, and whether one more exchange fits the budget.

Every attempt counts, failed ones too, of every config, and a repetition must fit like a first one. One of unknown cost
counts with its estimate once its prompt was on its way. An exchange fits if what is spent, with what those under way are
expected to cost and its own expected cost, stays within the budget; it is expected to cost what this config's exchanges
have cost on average so far, at first its estimate. So a budget is passed by no more than the exchanges under way differ
from that, here and in partitions that run at the same time.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from s2s_assets.responses.attempts import KIND
from s2s_assets.responses.costs import Tariff
from s2s_assets.storage import StudyStore
from s2s_assets.study import Config, Provider, StudyError, plural


class Ledger:
    """Spending by provider; reads each stored attempt once."""

    def __init__(self, store: StudyStore) -> None:
        self._store = store
        self._seen: set[str] = set()
        self.spent_usd: defaultdict[str, float] = defaultdict(float)
        self.unknown: Counter[str] = Counter()
        """Provider → attempts whose prompt was on its way, and of whose cost not even an estimate is known."""

    def read(self) -> None:
        """Take up the attempts that were stored since the last time.

        Raises:
            StoreError: a record that cannot be read.
        """
        new = [name for name in self._store.record_names(KIND) if name not in self._seen]
        for name, record in self._store.records_of(KIND, new):
            self.add(name, record)

    def add(self, name: str, record: Mapping[str, Any]) -> None:
        """Take up one attempt."""
        if name not in self._seen:
            self._seen.add(name)
            for provider, usd in charged(record).items():
                self.spent_usd[provider] += usd
            self.unknown.update(_uncharged(record))


def charged(record: Mapping[str, Any]) -> dict[str, float]:
    """Provider → US dollars that an attempt counts with."""
    sent = _was_sent(record)
    spent: defaultdict[str, float] = defaultdict(float)
    for charge in record.get("charges", ()):
        cost, estimate = charge["cost_usd"], charge["estimate_usd"]
        spent[charge["provider"]] += cost if cost is not None else (estimate or 0.0) if sent else 0.0
    return dict(spent)


def _uncharged(record: Mapping[str, Any]) -> set[str]:
    """Providers that may have charged for an attempt what nobody knows."""
    charges = record.get("charges", ()) if _was_sent(record) else ()
    return {c["provider"] for c in charges if c["cost_usd"] is None and c["estimate_usd"] is None}


def _was_sent(record: Mapping[str, Any]) -> bool:
    return record["timings_ms"].get("input_sent") is not None


@dataclass
class Purse:
    """The budgets that one config's exchanges count against."""

    budgets: Mapping[str, float]
    """Provider → US dollars; only those that have a budget."""
    ledger: Ledger
    expected: dict[str, float]
    """Provider → US dollars that an exchange is expected to cost."""
    _own: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    _exchanges: int = 0

    def charge(self, name: str, record: Mapping[str, Any]) -> None:
        """Count one attempt of this config that has just been stored."""
        self.ledger.add(name, record)
        self._exchanges += 1
        for provider, usd in charged(record).items():
            self._own[provider] += usd
        self.expected.update({p: self._own[p] / self._exchanges for p in self.budgets if self._own[p]})

    def refusal(self, under_way: int) -> str | None:
        """Why no further exchange may begin while so many are under way; None where one may."""
        for provider, budget in self.budgets.items():
            spent, each = self.ledger.spent_usd[provider], self.expected[provider]
            if spent + (under_way + 1) * each > budget:
                return (
                    f"the budget of {provider} is used up: {spent:.2f} of {budget:.2f} USD are spent, and "
                    f"{plural(under_way + 1, 'exchange')} at about {each:.3f} USD would pass it; raise "
                    f"providers.{provider}.budget_usd to go on"
                )
        return None


def open_purse(
    store: StudyStore,
    config: Config,
    tariff: Tariff,
    providers: Mapping[str, Provider],
    prompt_s: float,
    answer_s: float,
) -> Purse | None:
    """The purse of a config; None where none of its providers has a budget.

    Args:
        store: where attempts are read.
        config: whose exchanges are to be paid.
        tariff: its prices.
        providers: what the study says of providers.
        prompt_s: mean duration of the prompts.
        answer_s: expected duration of an answer.

    Raises:
        StudyError: a budget without a price to hold it by.
        StoreError: a record that cannot be read.
    """
    named = set(tariff.providers.values())
    budgets = {n: p.budget_usd for n, p in providers.items() if n in named and p.budget_usd is not None}
    if not budgets:
        return None
    expected: dict[str, float] = dict.fromkeys(budgets, 0.0)
    for stage, guess in tariff.estimate(prompt_s, answer_s).items():
        provider = tariff.providers[stage]
        if provider in budgets and tariff.prices[stage] is None:
            raise StudyError(
                f"config {config.key}: providers.{provider}.budget_usd cannot be held: no price is known for the model "
                f"{tariff.models[stage]!r}; give it in providers.{provider}.prices. Nothing was sent"
            )
        if provider in budgets:
            expected[provider] += guess or 0.0
    ledger = Ledger(store)
    ledger.read()
    return Purse(budgets, ledger, expected)
