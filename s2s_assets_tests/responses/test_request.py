"""From a config to a request: addresses, keys, settings."""

from pathlib import Path
from typing import Any

import pytest

from s2s_assets.responses import resolve
from s2s_assets.responses.providers import ADAPTERS, adapter
from s2s_assets.responses.recorder import Recorder
from s2s_assets.study import Exchange, StudyError, canonical_json, load_study
from s2s_assets_tests.responses.conftest import make_config

ROOT = Path(__file__).resolve().parents[2]
ENVIRON = {
    "S2S_TEST_KEY": "secret-key",
    "S2S_TEST_URL": "ws://127.0.0.1:1",
    "HEARING": "http://127.0.0.1:1",
    "SPEAKING": "http://127.0.0.1:2",
}


def _resolve(environ: dict[str, str] | None = None, base_url: Any = None, **model: Any) -> Any:
    return resolve(make_config(**model), Exchange(pace=2.5), ENVIRON if environ is None else environ, base_url)


def test_what_a_request_holds() -> None:
    request = _resolve()
    assert request.addresses == {"realtime": "ws://127.0.0.1:1"}
    assert request.keys == {"realtime": "secret-key"}
    assert request.providers == {"realtime": "test"}
    assert (request.voice, request.thinking, request.terms.pace) == ("marin", "none", 2.5)


def test_addresses_by_precedence() -> None:
    assert _resolve(base_url="ws://given").addresses == {"realtime": "ws://given"}
    assert _resolve(base_url="ws://given", environ={"S2S_TEST_KEY": "k"}).addresses == {"realtime": "ws://given"}
    assert _resolve(base_url_env=None).addresses == {"realtime": "wss://api.openai.com"}
    assert _resolve(base_url_env="NONE", base_url="ws://fixed").addresses == {"realtime": "ws://fixed"}


def test_a_server_of_one_s_own_is_reached_with_tls_or_without() -> None:
    for url in ("http://gpu:8091", "https://gpu"):
        request = _resolve(adapter="vllm_omni", base_url_env=None, key_env=None, base_url=url)
        assert (request.addresses, request.keys) == ({"chat": url}, {})
    assert _resolve(adapter="vllm_omni", base_url_env=None).addresses == {"chat": "http://127.0.0.1:8091"}


def test_a_cascade_has_an_address_a_key_and_a_provider_by_stage() -> None:
    stages = {"stt": "HEARING", "tts": "SPEAKING"}
    keys = {"stt": "S2S_TEST_KEY", "llm": "S2S_TEST_KEY"}
    settings = {"tts": {"provider": "house"}}
    request = _resolve(adapter="cascade", base_url_env=stages, key_env=keys, settings=settings)
    assert request.addresses == {
        "stt": "http://127.0.0.1:1",
        "llm": "https://api.openai.com",
        "tts": "http://127.0.0.1:2",
    }
    assert request.keys == {"stt": "secret-key", "llm": "secret-key"}
    assert request.providers == {"stt": "test", "llm": "openai", "tts": "house"}


@pytest.mark.parametrize(
    ("model", "base_url", "message"),
    [
        ({"key_env": "ABSENT"}, None, "ABSENT"),
        ({"base_url_env": "NOWHERE"}, None, "NOWHERE"),
        ({"adapter": "telegraph"}, None, "expected one of cascade, .*openai_realtime"),
        ({"settings": {"modle": "x"}}, None, "modle"),
        ({"adapter": "cascade", "settings": {}, "key_env": {"asr": "S2S_TEST_KEY"}}, None, "asr"),
        ({"adapter": "cascade", "settings": {}}, {"speech": "http://x"}, "speech"),
        (
            {"adapter": "cascade", "settings": {}, "base_url_env": None},
            {"tts": "ws://x"},
            "'ws://x' of stage tts: expected https://HOST or http://HOST",
        ),
        ({}, "http://x", "'http://x' of stage realtime: expected wss://HOST or ws://HOST"),
        ({}, "localhost:8701", "'localhost:8701'"),
        ({}, "ws://", "'ws://'"),
        (
            {"adapter": "openai_compatible", "base_url_env": None},
            None,
            "no base_url for stage realtime: expected wss://HOST",
        ),
        ({"adapter": "openai_compatible", "settings": {"form": "old"}}, None, "form is 'old', expected nested or flat"),
        (
            {"adapter": "openai_compatible", "settings": {"output_rate_hz": 0}},
            None,
            "output_rate_hz is 0, expected a whole",
        ),
        ({"settings": {"model": "m", "session": None}}, None, "settings.session is None, expected a mapping"),
        ({}, "ws://x:port", "'ws://x:port'"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_name(model: dict[str, Any], base_url: Any, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        _resolve(base_url=base_url, **model)


def test_every_config_of_the_public_study_can_be_sent() -> None:
    study = load_study(ROOT / "studies" / "dai-s2s-st").study
    names = [
        v for m in study.models for v in ([m.key_env] if isinstance(m.key_env, str) else (m.key_env or {}).values())
    ]
    keys = {name: f"key-of-{name}" for name in [*names, "AWS_SECRET_ACCESS_KEY"]}
    # on Python 3.11 Amazon's SDK is not to be had
    can_be_sent = [c for c in study.configs if not ADAPTERS[c.model.adapter].missing()]
    assert {c.model.id for c in study.configs if c not in can_be_sent} <= {"nova-2-sonic"}
    sent = []
    for config in can_be_sent:
        request = resolve(config, Exchange(), keys)
        protocol = adapter(request.adapter)(request, Recorder(request))
        shown = canonical_json(protocol.snapshot())
        assert config.instruction.split()[-1] in shown
        assert not any(key in shown for key in keys.values())
        sent.append((config.key.thinking, shown))
    assert len(sent) == len(can_be_sent)
    assert sum('"effort":"xhigh"' in shown for _, shown in sent) == 4
    grok = [(level, shown) for level, shown in sent if "grok" in shown]
    assert all(f'"effort":"{level}"' in shown for level, shown in grok)
    assert {level for level, _ in grok} == {"none", "high"}
