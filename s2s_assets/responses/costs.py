"""What an exchange cost: its usage times its price, stage by stage.

    cost = Σ tokens · price / 10⁶ + seconds of conversation · price / 3600 + seconds heard · price / 3600
           + characters spoken · price / 1000

A sum holds only if it is whole: an amount above zero without a price, or a price whose amount nobody tells, makes the
cost unknown (None), never 0. Where a provider bills time and does not say how much, the prompt's and the answer's
durations stand in, if there is an answer. A cascade costs the sum of the stages that it reached.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from s2s_assets.responses.metering import Meters, read_usage
from s2s_assets.responses.prices import PriceTable
from s2s_assets.responses.providers import adapter
from s2s_assets.responses.records import Outcome
from s2s_assets.responses.request import stage_providers
from s2s_assets.study import Config, Price

_HOUR_S, _MTOK, _THOUSAND = 3600, 1e6, 1000
TEXT_TOKENS_A_CHARACTER = 0.25
CHARACTERS_A_SECOND = 15.0
"""Of English speech."""


def cost_of(price: Price, meters: Meters, prompt_s: float, answer_s: float) -> float | None:
    """US dollars of one request; None where that is not known.

    Args:
        price: the model's price.
        meters: what its usage tells.
        prompt_s: the prompt's duration.
        answer_s: duration of the audio that came.
    """
    terms = [*_token_terms(price, meters), *_time_terms(price, meters, prompt_s, answer_s)]
    known = [term for term in terms if term is not None]
    return sum(known) if known and len(known) == len(terms) else None


def _token_terms(price: Price, meters: Meters) -> list[float | None]:
    rows = (
        (meters.text_in, price.text_in_mtok),
        (meters.text_in_cached, _or(price.text_in_cached_mtok, price.text_in_mtok)),
        (meters.audio_in, price.audio_in_mtok),
        (meters.audio_in_cached, _or(price.audio_in_cached_mtok, price.audio_in_mtok)),
        (meters.text_out, price.text_out_mtok),
        (meters.audio_out, price.audio_out_mtok),
    )
    if all(rate is None for _, rate in rows):
        return []
    return [_term(amount, rate, _MTOK) for amount, rate in rows if amount != 0]


def _time_terms(price: Price, meters: Meters, prompt_s: float, answer_s: float) -> list[float | None]:
    rows = (
        (_or(meters.audio_s, prompt_s + answer_s), price.audio_hour, _HOUR_S),
        (_or(meters.audio_in_s, prompt_s), price.audio_in_hour, _HOUR_S),
        (meters.characters, price.characters_1000, _THOUSAND),
    )
    return [_term(amount, rate, unit) for amount, rate, unit in rows if rate is not None]


def _or(value: float | None, otherwise: float | None) -> float | None:
    return otherwise if value is None else value


def _term(amount: float | None, rate: float | None, unit: float) -> float | None:
    return None if amount is None or rate is None else amount * rate / unit


@dataclass(frozen=True)
class Tariff:
    """The prices of one config's stages."""

    version: str
    providers: Mapping[str, str]
    """Stage → provider."""
    models: Mapping[str, str]
    """Stage → model."""
    prices: Mapping[str, Price | None]
    """Stage → price, None where it is not known."""
    instruction_tokens: float

    @classmethod
    def of(cls, config: Config, table: PriceTable) -> Self:
        """The tariff of a config.

        Raises:
            StudyError: the adapter is unknown.
        """
        providers, stages = stage_providers(config), adapter(config.model.adapter).stages
        models = {s: _model(config.model.settings, s, spec.model) for s, spec in stages.items()}
        return cls(
            version=table.version,
            providers=providers,
            models=models,
            prices={s: table.price(providers[s], models[s]) for s in stages},
            instruction_tokens=len(config.instruction) * TEXT_TOKENS_A_CHARACTER,
        )

    def costs(self, outcome: Outcome, prompt_s: float) -> dict[str, float | None]:
        """Stage → US dollars, of the stages that an attempt reached; None where that is not known."""
        answer_s = len(outcome.pcm) / 2 / outcome.rate_hz
        usage = outcome.usage or {}
        if len(self.prices) == 1:
            (stage,) = self.prices
            reached = {stage: read_usage(usage)} if outcome.timings.connected is not None else {}
        else:
            reached = {s: read_usage(usage[s]) for s in self.prices if isinstance(usage.get(s), Mapping)}
            if outcome.stage is not None and outcome.timings.connected is not None:
                reached.setdefault(outcome.stage, Meters())
        return {stage: self._cost(stage, meters, prompt_s, answer_s) for stage, meters in reached.items()}

    def _cost(self, stage: str, meters: Meters, prompt_s: float, answer_s: float) -> float | None:
        price = self.prices[stage]
        # a failure without usage and without audio may or may not be billed
        if price is None or (meters == Meters() and not answer_s):
            return None
        return cost_of(price, meters, prompt_s, answer_s)

    def estimate(self, prompt_s: float, answer_s: float) -> dict[str, float | None]:
        """Stage → about how many US dollars an exchange will cost; None where that cannot be said."""
        return {stage: self._guess(price, prompt_s, answer_s) for stage, price in self.prices.items()}

    def _guess(self, price: Price | None, prompt_s: float, answer_s: float) -> float | None:
        if price is None:
            return None
        heard, said = (prompt_s * CHARACTERS_A_SECOND, answer_s * CHARACTERS_A_SECOND)
        speaks = price.audio_out_mtok is not None
        tokens = price.text_in_mtok is not None
        if speaks and (price.audio_in_tokens_s is None or price.audio_out_tokens_s is None):
            return None
        meters = Meters(
            text_in=round(self.instruction_tokens + (0 if speaks else heard * TEXT_TOKENS_A_CHARACTER))
            if tokens
            else None,
            audio_in=round(prompt_s * (price.audio_in_tokens_s or 0)) if tokens else None,
            text_out=round(said * TEXT_TOKENS_A_CHARACTER) if tokens else None,
            audio_out=round(answer_s * (price.audio_out_tokens_s or 0)) if tokens else None,
            characters=round(said),
        )
        return cost_of(price, meters, prompt_s, answer_s)

    def charges(self, outcome: Outcome, prompt_s: float, answer_s: float) -> list[dict[str, Any]]:
        """What an attempt is kept with: a row a stage that it reached.

        Args:
            outcome: what came of it.
            prompt_s: the prompt's duration.
            answer_s: an answer's duration as it was expected.
        """
        estimates = self.estimate(prompt_s, answer_s)
        return [
            {
                "stage": stage,
                "provider": self.providers[stage],
                "model": self.models[stage],
                "cost_usd": cost,
                "estimate_usd": estimates[stage],
            }
            for stage, cost in self.costs(outcome, prompt_s).items()
        ]


def total(charges: Sequence[Mapping[str, Any]]) -> float | None:
    """The sum over an attempt's charges; None where one is not known, 0 where no stage was reached."""
    values = [charge["cost_usd"] for charge in charges]
    known = [value for value in values if value is not None]
    return float(sum(known)) if len(known) == len(values) else None


def _model(settings: Mapping[str, Any], stage: str, usual: str | None) -> str:
    """The provider's model id of a stage: the stage's setting, else the model's, else the protocol's usual one."""
    inner = settings.get(stage)
    named = inner.get("model") if isinstance(inner, Mapping) else settings.get("model")
    return str(named or usual or "")
