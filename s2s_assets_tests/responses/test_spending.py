"""A budget ends a collection cleanly, every attempt counts, and nothing is paid twice."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

from s2s_assets.responses import CollectResult, build_responses, collect
from s2s_assets.responses.spending import Ledger, Purse
from s2s_assets.storage import StudyStore
from s2s_assets.study import Config, Exchange, Price, Provider, StudyError
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.responses.conftest import KEY, make_config
from s2s_assets_tests.responses.test_collect import AT_ONCE, TERMS

Prompts = Callable[[StudyStore, int], pl.DataFrame]
ONE = TERMS.model_copy(update={"concurrency": 1, "attempts": 1})
HOUR = Price(audio_hour=3600, audio_in_tokens_s=0, audio_out_tokens_s=0)
"""A dollar a second: a prompt of 0.5 s and an answer of 0.8 s cost 1.30."""


def _collect(
    config: Config,
    frame: pl.DataFrame,
    store: StudyStore,
    home: Path,
    providers: Mapping[str, Provider],
    scenarios: str | list[str] = "plain",
    exchange: Exchange = ONE,
) -> tuple[CollectResult, int]:
    async def run() -> tuple[CollectResult, int]:
        async with OpenAIEmulator(scenarios) as emulator:
            environ = {"S2S_TEST_URL": emulator.url, "S2S_TEST_KEY": KEY}
            done = await collect(
                config, frame, store, exchange, providers=providers, home=home, environ=environ, backoff=AT_ONCE
            )
            return done, len(emulator.seen)

    return asyncio.run(run())


def _budget(usd: float) -> dict[str, Provider]:
    return {"test": Provider(budget_usd=usd, prices={"test-model": HOUR})}


def test_a_budget_stops_and_a_higher_one_goes_on(
    config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    # a first answer is expected to last 15 s, so the first budget leaves room for that
    frame = prompts(directory_store, 20)
    first, sent = _collect(config, frame, directory_store, tmp_path, _budget(17))
    assert first.stopped is not None
    assert "budget of test is used up" in first.stopped
    assert first.spent_usd == pytest.approx(1.3 * sent)
    assert 17 - 1.3 <= first.spent_usd <= 17
    table = build_responses(config, frame, directory_store)
    assert (table["status"] == "ok").sum() == sent
    assert table["cost_usd"].drop_nulls().to_list() == pytest.approx([1.3] * sent)
    stopped, more = _collect(config, frame, directory_store, tmp_path, _budget(17))
    assert (more, stopped.reused) == (0, sent)
    rest, more = _collect(config, frame, directory_store, tmp_path, _budget(100))
    assert (rest.stopped, rest.answered, more) == (None, 20, 20 - sent)


def test_a_repetition_must_fit_the_budget_too(
    config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    patient = ONE.model_copy(update={"attempts": 3})
    frame = prompts(directory_store, 2)
    done, sent = _collect(config, frame, directory_store, tmp_path, _budget(17), "rate_limited", patient)
    assert (sent, done.failures) == (1, {"rate_limited": 1})
    assert "budget of test is used up" in str(done.stopped)
    done, sent = _collect(config, frame, directory_store, tmp_path, _budget(1000), "rate_limited", patient)
    assert (sent, done.stopped) == (6, None)


def test_attempts_that_failed_and_other_configs_count(
    config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    frame = prompts(directory_store, 4)
    _collect(config, frame, directory_store, tmp_path, _budget(1000), ["incomplete", "no_audio", "plain"])
    ledger = Ledger(directory_store)
    ledger.read()
    # an answer cut short has its audio, one without audio its prompt
    assert ledger.spent_usd["test"] == pytest.approx(3 * 1.3 + 0.5)
    ledger.read()
    assert ledger.spent_usd["test"] == pytest.approx(3 * 1.3 + 0.5)
    other = make_config(id="other")
    done, sent = _collect(other, frame, directory_store, tmp_path, _budget(5))
    assert (sent, done.answered) == (0, 0)
    assert done.stopped is not None


def test_unknown_costs_count_with_their_estimate_once_the_prompt_was_sent(directory_store: StudyStore) -> None:
    ledger = Ledger(directory_store)
    charge = {"provider": "p", "cost_usd": None, "estimate_usd": 2.0}
    ledger.add("a", {"timings_ms": {"input_sent": 5.0}, "charges": [charge]})
    ledger.add("b", {"timings_ms": {"input_sent": None}, "charges": [charge]})
    ledger.add("c", {"timings_ms": {}})
    assert ledger.spent_usd["p"] == 2.0
    purse = Purse({"p": 5.0}, ledger, {"p": 1.0})
    assert purse.refusal(under_way=1) is None
    assert "2.00 of 5.00 USD are spent, and 4 exchanges at about 1.000 USD would pass it" in str(purse.refusal(3))
    assert purse.refusal(under_way=2) is None


def test_a_budget_without_a_price_is_refused_before_anything_is_sent(
    config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    with pytest.raises(StudyError, match=r"budget_usd cannot be held.*'test-model'.*Nothing was sent"):
        _collect(config, prompts(directory_store, 1), directory_store, tmp_path, {"test": Provider(budget_usd=1)})


def test_a_spent_quota_ends_it_after_a_few(
    config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    done, sent = _collect(config, prompts(directory_store, 12), directory_store, tmp_path, {}, "quota_spent")
    assert sent == 5
    assert done.failures == {"provider_error": 5}
    assert "5 prompts in a row ended in insufficient_quota" in str(done.stopped)
