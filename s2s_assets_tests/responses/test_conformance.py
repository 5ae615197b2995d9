"""What every adapter must do, over every adapter and the emulator of its protocol (`parties`)."""

import asyncio
import json
import logging
import ssl

import pytest

from s2s_assets.responses import Outcome, exchange
from s2s_assets.responses.providers import ADAPTERS
from s2s_assets.responses.providers.base import StageSpec
from s2s_assets.study import StudyError, canonical_json
from s2s_assets_tests.emulators.tls import certificate
from s2s_assets_tests.emulators.voices import COMMENTARY, FINAL, item
from s2s_assets_tests.responses.conftest import KEY
from s2s_assets_tests.responses.parties import PARTIES, Party, each, samples

ANSWERED = ("plain", "odd_chunks", "big_delta", "unknown_events")
FAILED: dict[str, tuple[str, str | None, bool]] = {
    "no_audio": ("empty_audio", "no_audio", False),
    "silence": ("silent_audio", "silent", False),
    "half_a_sample": ("invalid_audio", "odd_bytes", False),
    "not_base64": ("invalid_audio", "not_base64", False),
    "not_json": ("provider_error", "malformed_event", False),
    "close_mid_audio": ("truncated", None, True),
    "close_before_audio": ("provider_error", None, True),
    "incomplete": ("truncated", None, False),
    "content_filter": ("refused", "content_filter", False),
    "rate_limited": ("rate_limited", "rate_limit_exceeded", True),
    "http_401": ("provider_error", "invalid_api_key", False),
    "http_429": ("rate_limited", "rate_limit_exceeded", True),
    "http_503": ("provider_error", "service_unavailable", True),
    "never_configured": ("timeout", "configuration_timeout", True),
    "never_answers": ("timeout", "first_event_timeout", True),
    "stalls": ("timeout", "next_event_timeout", True),
}
"""Scenario → status, code (None: it depends on the protocol), whether a repetition may help."""
parties = pytest.mark.parametrize("party", each())


def cases(*scenarios: str) -> list[object]:
    """Every party with every scenario that its protocol has."""
    return [
        pytest.param(party, scenario, id=f"{party.adapter}-{scenario}", marks=party.marks)
        for party in PARTIES
        for scenario in scenarios
        if scenario not in party.cannot
    ]


def test_every_scenario_is_played_or_cannot_be() -> None:
    for party in PARTIES:
        known = party.emulator.names()  # type: ignore[attr-defined]
        for scenario in (*ANSWERED, *FAILED, "commentary_and_final", "echoes_key"):
            played = party.plays.get(scenario, scenario) in known
            assert played != (scenario in party.cannot), f"{party.adapter}: {scenario}"
        assert all(party.cannot.values())


@pytest.mark.parametrize(("party", "scenario"), cases(*ANSWERED))
def test_answers_are_kept_byte_for_byte(party: Party, scenario: str) -> None:
    outcome, emulator = party.turn(scenario)
    assert (outcome.status, outcome.origin, outcome.code, outcome.stage) == ("ok", None, None, None), outcome.message
    (heard,) = emulator.prompts
    assert samples(heard) == party.prompt().pcm
    if scenario == "big_delta":
        assert len(outcome.pcm) > 2**20
    else:
        assert outcome.pcm == party.answer(heard)
    assert outcome.provisional == ()
    assert outcome.output_transcript == FINAL
    assert outcome.usage
    assert (outcome.model_reported is None) == ("model_reported" in party.cannot)
    assert outcome.rate_hz == 24_000


@pytest.mark.parametrize(("party", "scenario"), cases(*FAILED))
def test_no_failure_is_an_answer(party: Party, scenario: str) -> None:
    status, code, retryable = FAILED[scenario]
    outcome, _ = party.turn(scenario, terms=party.terms(code))
    found = (outcome.status, outcome.retryable, outcome.origin)
    assert found == (status, retryable, "provider"), f"{outcome.code}: {outcome.message}"
    assert outcome.message
    assert outcome.code
    assert party.codes.get(scenario, code) in {None, outcome.code}
    assert (outcome.stage is not None) == (party.adapter == "cascade" and outcome.status not in NOT_OF_A_STAGE)


OTHER_SIDE = ("websockets.server", "hpack", "botocore.auth")
"""What the other side of a connection logs."""
NOT_OF_A_STAGE = {"empty_audio", "silent_audio", "invalid_audio"}
"""What is found out only once all stages are through."""


@pytest.mark.parametrize(("party", "scenario"), cases("commentary_and_final"))
def test_commentary_is_kept_apart(party: Party, scenario: str) -> None:
    outcome, emulator = party.turn(scenario)
    assert outcome.ok
    assert outcome.output_transcript == FINAL
    assert outcome.pcm == party.answer(emulator.prompts[0])
    spoken = () if party.adapter == "cascade" else (item("commentary", COMMENTARY, party.prompt().pcm).pcm,)
    assert outcome.provisional == spoken


@pytest.mark.parametrize(("party", "scenario"), cases("close_mid_audio"))
def test_what_had_come_before_a_failure_is_kept(party: Party, scenario: str) -> None:
    outcome, _ = party.turn(scenario)
    assert outcome.pcm
    assert outcome.timings.first_audio is not None
    assert outcome.timings.done is None


@parties
def test_the_event_log_is_in_order_and_holds_no_audio(party: Party) -> None:
    outcome, _ = party.turn()
    times = [e["at_ms"] for e in outcome.events]
    assert times == sorted(times)
    assert {e["dir"] for e in outcome.events} == {">", "<"}
    text = canonical_json(list(outcome.events))
    assert max(len(word) for word in text.replace('"', " ").split()) < 200
    assert len(text) < len(party.prompt().pcm)


@parties
def test_milestones_are_in_order(party: Party) -> None:
    t = party.turn()[0].timings
    reached = [t.connected, t.configured, t.input_sent, t.first_event, t.first_audio, t.last_audio, t.done]
    there = [at for at in reached if at is not None]
    assert len(there) == (7 if party.is_conversation else 6)
    assert there == sorted(there)


@pytest.mark.parametrize("party", each(p for p in PARTIES if p.is_websocket))
def test_the_turn_is_sent_once_and_nothing_after_it(party: Party) -> None:
    outcome, emulator = party.turn()
    sent = [e for e in outcome.events if e["dir"] == ">"]
    kinds = [str(e["event"].get("type", next(iter(e["event"])))) for e in sent]
    assert kinds == emulator.kinds[0]
    assert sent[-1]["at_ms"] <= (outcome.timings.input_sent or 0)
    configured = next(n for n, e in enumerate(outcome.events) if e["at_ms"] >= (outcome.timings.configured or 0))
    assert [e["dir"] for e in outcome.events[:configured]].count(">") == 1, "audio before the configuration holds"


@pytest.mark.parametrize(("party", "scenario"), cases("echoes_key", "http_401", "plain"))
def test_a_key_that_is_echoed_is_nowhere(party: Party, scenario: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        outcome, _ = party.turn(scenario)
    assert outcome.ok == (scenario == "plain")
    ours = [r for r in caplog.records if not r.name.startswith(OTHER_SIDE)]
    assert ours
    assert not [r for r in ours if KEY in r.getMessage()]
    assert KEY not in json.dumps(outcome.snapshot)
    assert KEY not in repr(party.request("ws://127.0.0.1:9"))


async def _with_a_server_that_says_nothing(party: Party) -> Outcome:
    connections: list[asyncio.StreamWriter] = []

    async def ignore(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        await reader.read()

    async with await asyncio.start_server(ignore, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        # over HTTP a connection is there once TCP is; with TLS the server would have to speak first
        scheme = "ws" if party.is_websocket else "https"
        request = party.request(f"{scheme}://{host}:{port}", party.terms("connection_timeout"))
        outcome = await exchange(request, party.prompt())
        for writer in connections:
            writer.transport.abort()
        return outcome


@parties
def test_a_connection_that_is_not_answered(party: Party) -> None:
    outcome = asyncio.run(_with_a_server_that_says_nothing(party))
    assert (outcome.status, outcome.code, outcome.retryable) == ("timeout", "connection_timeout", True)


async def _with_a_server_that_nobody_vouches_for(party: Party) -> Outcome:
    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise AssertionError

    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(certificate())
    server = await asyncio.start_server(never, "127.0.0.1", 0, ssl=served)
    try:
        host, port = server.sockets[0].getsockname()
        scheme = "wss" if party.is_websocket else "https"
        # Amazon's SDK does not say in time what is wrong; the others do at once
        terms = party.terms("connection_timeout" if party.adapter == "nova_sonic" else None)
        return await exchange(party.request(f"{scheme}://{host}:{port}", terms), party.prompt())
    finally:
        # not waited for: Amazon's SDK keeps its end open for up to half a minute
        server.close()


@parties
def test_a_certificate_that_nobody_vouches_for(party: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_CA_BUNDLE")
    outcome = asyncio.run(_with_a_server_that_nobody_vouches_for(party))
    assert (outcome.status, outcome.code, outcome.retryable) == ("provider_error", "untrusted_certificate", False)
    assert "the certificate of 127.0.0.1:" in str(outcome.message)
    assert "self-signed certificate" in str(outcome.message)


@parties
def test_nobody_listens(party: Party) -> None:
    scheme = "ws" if party.is_websocket else "http"
    outcome = asyncio.run(exchange(party.request(f"{scheme}://127.0.0.1:9"), party.prompt()))
    assert (outcome.status, outcome.code, outcome.retryable) == ("provider_error", "connection_failed", True)


@parties
def test_a_setting_that_would_be_ignored_is_refused(party: Party) -> None:
    kind = ADAPTERS[party.adapter]
    kind.check("m", party.settings)
    with pytest.raises(StudyError, match="modle"):
        kind.check("m", {**party.settings, "modle": "x"})


@parties
def test_what_an_adapter_says_of_itself(party: Party) -> None:
    kind = ADAPTERS[party.adapter]
    assert kind.name == party.adapter
    assert kind.version
    assert 8_000 <= kind.input_rate_hz <= 48_000
    assert all(isinstance(stage, StageSpec) for stage in kind.stages.values())
    assert kind.__module__.endswith(party.adapter)
