"""Usage times price: by hand for each provider's words, and unknown rather than free."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.responses import Outcome
from s2s_assets.responses.costs import Tariff, cost_of, total
from s2s_assets.responses.metering import Meters, read_usage
from s2s_assets.responses.prices import price_table
from s2s_assets.responses.records import Timings
from s2s_assets.study import Price, Provider
from s2s_assets_tests.responses.conftest import make_config

REALTIME = make_config(provider="openai", settings={"model": "gpt-realtime-2.1"})
CASCADE = make_config(adapter="cascade", settings={}, base_url_env=None)
OPENAI = {
    "total_tokens": 253,
    "input_tokens": 132,
    "output_tokens": 121,
    "input_token_details": {
        "text_tokens": 119,
        "audio_tokens": 13,
        "image_tokens": 0,
        "cached_tokens": 64,
        "cached_tokens_details": {"text_tokens": 60, "audio_tokens": 4, "image_tokens": 0},
    },
    "output_token_details": {"text_tokens": 30, "audio_tokens": 91, "reasoning_tokens": 17},
}
XAI = {"input_tokens": 50, "output_tokens": 20, "output_audio_seconds": 3.5, "billable_audio_seconds": 9.0}
GEMINI = {
    "promptTokenCount": 626,
    "responseTokenCount": 173,
    "thoughtsTokenCount": 40,
    "totalTokenCount": 799,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 411}, {"modality": "AUDIO", "tokenCount": 188}],
    "responseTokensDetails": [{"modality": "AUDIO", "tokenCount": 173}],
}
RESPONSES = {
    "input_tokens": 40,
    "input_tokens_details": {"cached_tokens": 8},
    "output_tokens": 30,
    "output_tokens_details": {"reasoning_tokens": 12},
}
NOVA = {
    "details": {
        "total": {
            "input": {"speechTokens": 60, "textTokens": 20},
            "output": {"speechTokens": 90, "textTokens": 30},
        }
    }
}


@pytest.mark.parametrize(
    ("usage", "meters"),
    [
        (OPENAI, Meters(59, 60, 9, 4, 30, 91)),
        (XAI, Meters(50, 0, 0, 0, 20, 0, audio_s=9.0)),
        (GEMINI, Meters(text_in=438, audio_in=188, text_out=40, audio_out=173)),
        (RESPONSES, Meters(32, 8, 0, 0, 30, 0)),
        (NOVA, Meters(text_in=20, audio_in=60, text_out=30, audio_out=90)),
        (
            {"prompt_tokens": 7, "completion_tokens": 5, "completion_tokens_details": {"audio_tokens": 3}},
            Meters(7, 0, 0, 0, 2, 3),
        ),
        ({"seconds": 6.2}, Meters(audio_in_s=6.2)),
        ({"characters": 120}, Meters(characters=120)),
        ({"note": "tokens"}, Meters()),
        ({"input_tokens": -1, "output_tokens": True}, Meters()),
        ({}, Meters()),
        (None, Meters()),
    ],
)
def test_usage_in_each_providers_words(usage: Mapping[str, Any] | None, meters: Meters) -> None:
    assert read_usage(usage) == meters


def test_what_is_no_amount_is_none() -> None:
    for odd in (-1, True, "7", None, [7], 1e300, 10**400):
        assert read_usage({"input_tokens": odd, "output_tokens": 1, "seconds": odd, "characters": odd}) == Meters()


def test_the_price_of_a_realtime_answer_by_hand() -> None:
    price = price_table().price("openai", "gpt-realtime-2.1")
    assert price is not None
    by_hand = (59 * 4 + 60 * 0.4 + 9 * 32 + 4 * 0.4 + 30 * 24 + 91 * 64) / 1e6
    assert cost_of(price, read_usage(OPENAI), 6, 4) == pytest.approx(by_hand)


def test_every_price_says_where_and_when_it_was_found() -> None:
    for (provider, model), price in price_table().prices.items():
        assert price.source, f"{provider} {model}"
        assert price.as_of, f"{provider} {model}"


def test_conversations_of_a_minute_each_way_by_hand() -> None:
    """Audio of 60 s in and 60 s out, at the list prices of the models that are billed so."""
    gemini, grok = (
        price_table().price(*key)
        for key in (("google", "gemini-3.1-flash-live-preview"), ("xai", "grok-voice-think-fast-2.0"))
    )
    assert gemini is not None
    assert grok is not None
    spoken = Meters(text_in=100, audio_in=60 * 32, text_out=10, audio_out=60 * 25)
    assert cost_of(gemini, spoken, 60, 60) == pytest.approx((100 * 0.75 + 1920 * 3 + 10 * 4.5 + 1500 * 12) / 1e6)
    assert cost_of(grok, Meters(), 60, 60) == pytest.approx(2 * 0.08)


def test_a_model_whose_price_was_not_found_has_none() -> None:
    assert price_table().price("dashscope", "qwen3-omni-flash-realtime") is None


def test_time_is_billed_as_told_or_else_by_duration() -> None:
    price = Price(audio_hour=3)
    assert cost_of(price, read_usage(XAI), 6, 4) == pytest.approx(9 * 3 / 3600)
    assert cost_of(price, Meters(), 6, 4) == pytest.approx(10 * 3 / 3600)


@pytest.mark.parametrize(
    ("price", "usage"),
    [
        (Price(), OPENAI),
        (Price(text_in_mtok=4, text_out_mtok=24, audio_in_mtok=32), OPENAI),
        (Price(text_in_mtok=4, text_out_mtok=24), {}),
        (Price(characters_1000=1), {"seconds": 3}),
    ],
)
def test_what_is_not_known_whole_is_not_known(price: Price, usage: Mapping[str, Any]) -> None:
    assert cost_of(price, read_usage(usage), 6, 4) is None


@given(tokens=st.integers(0, 10**6), cached=st.integers(0, 10**6), audio=st.integers(0, 10**6))
def test_tokens_are_counted_once_whatever_the_details_say(tokens: int, cached: int, audio: int) -> None:
    details = {"audio_tokens": audio, "cached_tokens": cached}
    m = read_usage({"input_tokens": tokens, "output_tokens": 0, "input_tokens_details": details})
    parts = (m.text_in, m.text_in_cached, m.audio_in, m.audio_in_cached)
    assert all(part is not None and part >= 0 for part in parts)
    assert sum(part or 0 for part in parts) == tokens


def _outcome(usage: Mapping[str, Any] | None, **more: Any) -> Outcome:
    timings = Timings(connected=1.0, input_sent=2.0)
    fields = {"status": "ok", "timings": timings, "pcm": bytes(48_000 * 4), **more}
    return Outcome(
        rate_hz=24_000,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        adapter="a",
        adapter_version="1",
        usage=usage,
        **fields,
    )


def test_a_cascade_costs_the_sum_of_its_stages() -> None:
    tariff = Tariff.of(CASCADE, price_table())
    usage = {"stt": {"seconds": 6.0}, "llm": RESPONSES, "tts": {"characters": 100}}
    charges = tariff.charges(_outcome(usage), 6.0, 15.0)
    by_hand = {
        "stt": 6 * 0.22 / 3600,
        "llm": (32 * 2.5 + 8 * 0.25 + 30 * 15) / 1e6,
        "tts": 100 * 0.05 / 1000,
    }
    assert {c["stage"]: c["cost_usd"] for c in charges} == pytest.approx(by_hand)
    assert [(c["provider"], c["model"]) for c in charges] == [
        ("elevenlabs", "scribe_v2"),
        ("openai", "gpt-5.6-terra"),
        ("elevenlabs", "eleven_flash_v2_5"),
    ]
    assert total(charges) == pytest.approx(sum(by_hand.values()))


def test_a_stage_that_failed_is_of_unknown_cost_and_one_not_reached_of_none() -> None:
    tariff = Tariff.of(CASCADE, price_table())
    failed = _outcome({"stt": {"seconds": 6.0}}, status="provider_error", stage="llm")
    charges = tariff.charges(failed, 6.0, 15.0)
    assert [(c["stage"], c["cost_usd"] is None) for c in charges] == [("stt", False), ("llm", True)]
    assert total(charges) is None


def test_nothing_reached_costs_nothing() -> None:
    tariff = Tariff.of(REALTIME, price_table())
    charges = tariff.charges(_outcome(None, timings=Timings(), status="provider_error", pcm=b""), 6.0, 15.0)
    assert (charges, total(charges)) == ([], 0.0)


def test_an_unknown_model_has_no_price() -> None:
    tariff = Tariff.of(make_config(provider="openai", settings={"model": "gpt-realtime-9"}), price_table())
    (charge,) = tariff.charges(_outcome(OPENAI), 6.0, 15.0)
    assert (charge["cost_usd"], charge["estimate_usd"]) == (None, None)


def test_an_estimate_is_near_what_it_costs() -> None:
    tariff = Tariff.of(REALTIME, price_table())
    (guess,) = tariff.estimate(6.0, 4.0).values()
    assert guess == pytest.approx((8 * 4 + 60 * 32 + 15 * 24 + 80 * 64) / 1e6, rel=0.05)


def test_a_studys_prices_stand_in_the_place_of_the_tables() -> None:
    own = {"openai": Provider(prices={"gpt-realtime-2": Price(audio_hour=1)})}
    table, usual = price_table(own), price_table()
    assert table.price("openai", "gpt-realtime-2") == Price(audio_hour=1)
    assert table.price("openai", "gpt-realtime-2.1") == usual.price("openai", "gpt-realtime-2.1")
    assert table.version.startswith(f"{usual.version}+")
    assert price_table({"openai": Provider(concurrency=3)}).version == usual.version


def test_every_price_says_where_and_when_it_is_from() -> None:
    for key, price in price_table().prices.items():
        assert price.source, key
        assert price.as_of is not None, key
        assert set(price.model_dump(exclude_none=True)) > {"source", "as_of"}, key
