"""Nova Sonic: every scenario of its emulator, what it is asked for, how its turn ends, and what it needs."""

import asyncio
import base64
import dataclasses
import json
import sys
from typing import Any

import pytest

from s2s_assets.responses import Outcome, Prompt, exchange, resolve
from s2s_assets.responses.preflight import preflight
from s2s_assets.responses.providers import adapter, nova_sonic
from s2s_assets.responses.providers.conversation import Progress
from s2s_assets.responses.providers.nova_sonic import NovaSonic
from s2s_assets.responses.recorder import Recorder
from s2s_assets.responses.records import ExchangeError, Request, Terms
from s2s_assets.responses.trial import timeline
from s2s_assets.study import Exchange, StudyError
from s2s_assets_tests.emulators.nova import NovaEmulator
from s2s_assets_tests.emulators.sdk import needs_sdk
from s2s_assets_tests.emulators.voices import COMMENTARY, FINAL, HEARD, item
from s2s_assets_tests.responses.conftest import KEY, make_config
from s2s_assets_tests.responses.parties import NOVA

PROMPT = NOVA.prompt()
FIRST = item(None, FINAL, PROMPT.pcm).pcm
BOTH = FIRST + item(None, "And some more.", PROMPT.pcm).pcm
BOTH_WORDS = f"{FINAL} And some more."
QUICK = Terms(pace=0, connect_timeout_s=20, first_event_timeout_s=20, idle_timeout_s=20, grace_s=10)
IMPATIENT = dataclasses.replace(QUICK, first_event_timeout_s=0.3, idle_timeout_s=0.3)

ANSWERED: dict[str, tuple[bytes, str]] = {
    "plain": (FIRST, FINAL),
    "odd_chunks": (FIRST, FINAL),
    "unknown_events": (FIRST, FINAL),
    "sentences": (BOTH, BOTH_WORDS),
    "no_final_text": (BOTH, BOTH_WORDS),
    "other_final_text": (FIRST, FINAL),
    "no_completion_end": (FIRST, FINAL),
    "completes_by_itself": (BOTH, BOTH_WORDS),
    "late_audio": (FIRST, FINAL),
}
"""Scenario → final audio and transcript."""
FAILED: dict[str, tuple[str, str, bool]] = {
    "interrupted_for_good": ("truncated", "interrupted", True),
    "no_audio": ("empty_audio", "no_audio", False),
    "silence": ("silent_audio", "silent", False),
    "half_a_sample": ("invalid_audio", "odd_bytes", False),
    "not_base64": ("invalid_audio", "not_base64", False),
    "not_json": ("provider_error", "malformed_event", False),
    "bad_checksum": ("provider_error", "malformed_event", False),
    "odd_envelope": ("provider_error", "malformed_event", False),
    "odd_shape": ("runner_error", "AttributeError", False),
    "ends_amid": ("truncated", "stream_closed", True),
    "resets_amid": ("truncated", "stream_closed", True),
    "drops_amid": ("truncated", "stream_closed", True),
    "close_before_audio": ("provider_error", "stream_closed", True),
    "drops_unanswered": ("provider_error", "stream_closed", True),
    "ends_early": ("provider_error", "stream_closed", True),
    "never_answers": ("timeout", "first_event_timeout", True),
    "never_responds": ("timeout", "first_event_timeout", True),
    "stalls": ("timeout", "next_event_timeout", True),
    "rate_limited": ("rate_limited", "throttling", True),
    "rate_limited_amid": ("rate_limited", "throttling", True),
    "model_timeout": ("timeout", "model_timeout", True),
    "session_limit": ("truncated", "model_timeout", True),
    "server_failure": ("provider_error", "internal_server", True),
    "stream_error": ("provider_error", "model_stream_error", True),
    "unavailable": ("provider_error", "service_unavailable", True),
    "unnamed_error": ("provider_error", "internal_failure", True),
    "invalid": ("provider_error", "validation", False),
    "later_exception": ("provider_error", "model_busy", False),
    "echoes_key": ("provider_error", "validation", False),
    "http_400": ("provider_error", "validation", False),
    "http_400_quota": ("provider_error", "service_quota_exceeded", False),
    "http_401": ("provider_error", "unrecognized_client", False),
    "http_403": ("provider_error", "access_denied", False),
    "http_404": ("provider_error", "resource_not_found", False),
    "http_429": ("rate_limited", "throttling", True),
    "http_429_busy": ("provider_error", "model_not_ready", True),
    "http_500": ("provider_error", "internal_server", True),
    "http_502": ("provider_error", "stream_closed", True),
    "http_503": ("provider_error", "service_unavailable", True),
}


def test_every_scenario_has_an_expectation() -> None:
    assert {*ANSWERED, *FAILED, "big_delta", "interrupted"} == {*NovaEmulator.names()}


@needs_sdk
@pytest.mark.parametrize("scenario", ANSWERED)
def test_answers_are_kept_byte_for_byte(scenario: str) -> None:
    # what does not come is not waited for long
    terms = dataclasses.replace(QUICK, grace_s=0.1) if scenario == "no_final_text" else QUICK
    outcome, emulator = NOVA.turn(scenario, terms=terms)
    assert (outcome.status, outcome.message) == ("ok", None)
    assert (outcome.pcm, outcome.output_transcript) == ANSWERED[scenario]
    assert outcome.input_transcript == HEARD
    assert emulator.prompts == [PROMPT.pcm]


@needs_sdk
@pytest.mark.parametrize("scenario", FAILED)
def test_no_failure_is_an_answer(scenario: str) -> None:
    status, code, retryable = FAILED[scenario]
    outcome, emulator = NOVA.turn(scenario, terms=IMPATIENT if status == "timeout" else QUICK)
    assert (outcome.status, outcome.code, outcome.retryable) == (status, code, retryable), outcome.message
    assert outcome.origin == ("runner" if status == "runner_error" else "provider")
    assert outcome.message
    assert "\n" not in outcome.message
    assert outcome.stage is None
    assert emulator.connections == 1


@needs_sdk
def test_what_is_said_in_a_pause_and_taken_back_is_no_answer() -> None:
    outcome, _ = NOVA.turn("interrupted", terms=QUICK)
    assert outcome.ok
    assert (outcome.pcm, outcome.output_transcript) == (FIRST, FINAL)
    assert outcome.provisional == (item(None, COMMENTARY, b"").pcm,)
    assert outcome.input_transcript == "What was said."
    assert sum(size for _, size in outcome.arrivals) == len(FIRST)
    planned = next(e["at_ms"] for e in outcome.events if FINAL in json.dumps(e["event"]))
    assert planned <= (outcome.timings.first_event or 0) <= (outcome.timings.first_audio or 0)


def _started(*events: dict[str, Any]) -> tuple[NovaSonic, list[Progress]]:
    """An adapter that has heard some events, `{}` among them for the end of the prompt, and what they meant."""
    request = NOVA.request("https://x", dataclasses.replace(QUICK, grace_s=0.01))
    protocol = NovaSonic(request, Recorder(request))
    meant = []
    for event in events:
        if event:
            meant.append(protocol.receive({"event": event}))
        else:
            protocol.recorder.mark("input_sent")
    return protocol, meant


def _said(number: str, words: str, reason: str = "END_TURN") -> list[dict[str, Any]]:
    sound = {"content": base64.b64encode(words.encode() * 2).decode(), "contentId": f"a{number}"}
    return [*_written(number, words, "SPECULATIVE"), {"audioOutput": sound}, _ended(f"a{number}", "AUDIO", reason)]


def _written(number: str, words: str, stage: str, role: str = "ASSISTANT") -> list[dict[str, Any]]:
    where = {"contentId": f"{stage} {number}", "role": role}
    fields = json.dumps({"generationStage": stage})
    start = {"contentStart": {**where, "type": "TEXT", "additionalModelFields": fields}}
    return [start, {"textOutput": {**where, "content": words}}, _ended(where["contentId"], "TEXT", "PARTIAL_TURN")]


def _ended(content: str, kind: str, reason: str) -> dict[str, Any]:
    return {"contentEnd": {"contentId": content, "type": kind, "stopReason": reason}}


SPEAKS_ON = [{}, *_written("2", "and what now?", "FINAL", "USER")]


@pytest.mark.parametrize(
    "events",
    [
        [*_said("1", "early"), *_written("1", "early", "FINAL"), *SPEAKS_ON, *_said("2", "whole")],
        [*_said("1", "early"), {}, *_said("2", "whole")],
        [*_said("1", "early")[:-1], {}, _ended("a1", "AUDIO", "END_TURN"), *SPEAKS_ON, *_said("2", "whole")],
        [*_said("1", "early"), *SPEAKS_ON, *_written("1", "early", "FINAL"), *_said("2", "whole")],
        [*_said("1", "early"), {}, _ended("a1", "AUDIO", "INTERRUPTED"), *_said("2", "whole")],
    ],
    ids=["spoken on", "answered anew", "over late", "last words late", "interrupted late"],
)
def test_an_answer_to_a_part_of_the_prompt_gives_way_to_the_next(events: list[dict[str, Any]]) -> None:
    protocol, meant = _started(*events)
    recorder = protocol.recorder
    assert (recorder.final, recorder.provisional) == (b"whole" * 2, (b"early" * 2,))
    assert recorder.output_transcript == "whole"
    assert [progress for progress in meant if progress is Progress.OVER] == meant[-1:]
    assert sum(size for _, size in recorder.arrivals) == len(recorder.final)


def test_a_conversation_that_ends_before_the_prompt_is_no_answer() -> None:
    protocol, _ = _started(*_said("1", "early"))
    with pytest.raises(ExchangeError, match="before the whole prompt") as early:
        protocol.receive({"event": {"completionEnd": {}}})
    assert (early.value.status, early.value.code) == ("provider_error", "answered_early")


def test_an_answer_before_the_prompt_s_end_stands_where_nothing_follows() -> None:
    class Silent:
        async def recv(self) -> bytes:
            await asyncio.Event().wait()
            raise AssertionError

    protocol, meant = _started(*_said("1", "early"))
    assert Progress.OVER not in meant
    waiting = asyncio.wait_for(protocol.next(Silent()), 0.2)  # type: ignore[arg-type]
    with pytest.raises(TimeoutError):
        asyncio.run(waiting)
    protocol.recorder.mark("input_sent")
    assert protocol.receive(asyncio.run(protocol.next(Silent()))) is Progress.OVER  # type: ignore[arg-type]
    assert (protocol.recorder.final, protocol.recorder.provisional) == (b"early" * 2, ())


@needs_sdk
def test_the_last_word_on_usage_comes_with_the_end_of_the_prompt() -> None:
    usage = NOVA.turn(terms=QUICK)[0].usage
    assert usage is not None
    assert usage["details"]["total"]["output"] == {"speechTokens": 90, "textTokens": 30}
    early = NOVA.turn("no_completion_end", terms=QUICK)[0].usage
    assert early is not None
    assert early["details"]["total"]["output"] == {"speechTokens": 0, "textTokens": 0}


@needs_sdk
def test_what_the_service_is_asked_for() -> None:
    changes = {"inferenceConfiguration": {"temperature": 0.2}, "turnDetectionConfiguration": {"sensitivity": "LOW"}}
    outcome, emulator = NOVA.turn(terms=QUICK, session=changes)
    (seen,), (headers,) = emulator.seen, emulator.requests
    assert (seen.session.model, seen.session.voice) == ("amazon.nova-2-sonic-v1:0", "tiffany")
    assert seen.session.instructions == "You are a helpful voice assistant"
    assert "/eu-north-1/bedrock/aws4_request" in headers["authorization"]
    assert headers["x-amz-security-token"] == KEY
    asked = outcome.snapshot
    assert (asked["url"], asked["region"]) == (f"https://{headers[':authority']}", "eu-north-1")
    assert asked["configuration"][0] == {
        "event": {
            "sessionStart": {
                "inferenceConfiguration": {"maxTokens": 1024, "topP": 0.9, "temperature": 0.2},
                "turnDetectionConfiguration": {"sensitivity": "LOW"},
            }
        }
    }
    assert asked["configuration"][1]["event"]["promptStart"]["audioOutputConfiguration"]["sampleRateHertz"] == 24_000


@needs_sdk
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"model": "amazon.nova-pro-v1:0"}, "validation"),
        ({"session": {"inferenceConfiguration": None}}, "validation"),
    ],
)
def test_what_the_service_does_not_take_costs_nothing(changes: dict[str, Any], code: str) -> None:
    outcome, emulator = NOVA.turn(terms=QUICK, **changes)
    assert (outcome.status, outcome.code, outcome.retryable) == ("provider_error", code, False)
    assert emulator.seen == []


def _exchanged(request: Request, prompt: Prompt = PROMPT, scenario: str = "plain") -> tuple[Outcome, NovaEmulator]:
    async def run() -> tuple[Outcome, NovaEmulator]:
        async with NovaEmulator(scenario) as emulator:
            address = {"realtime": emulator.url}
            return await exchange(dataclasses.replace(request, addresses=address), prompt), emulator

    return asyncio.run(run())


@needs_sdk
def test_a_wrong_secret_is_refused() -> None:
    request = NOVA.request("https://x", QUICK)
    outcome, emulator = _exchanged(dataclasses.replace(request, keys={**request.keys, "AWS_SECRET_ACCESS_KEY": "no"}))
    assert (outcome.status, outcome.code, outcome.retryable) == ("provider_error", "invalid_signature", False)
    assert emulator.requests == []


@needs_sdk
def test_permanent_keys_have_no_token() -> None:
    request = NOVA.request("https://x", QUICK)
    keys = {name: key for name, key in request.keys.items() if name != "AWS_SESSION_TOKEN"}
    outcome, emulator = _exchanged(dataclasses.replace(request, keys=keys))
    assert outcome.ok
    assert "x-amz-security-token" not in emulator.requests[0]


@needs_sdk
@pytest.mark.parametrize("terms", [QUICK, dataclasses.replace(QUICK, pace=10.0, frame_ms=20)])
def test_silence_goes_on_until_the_answer_is_over(terms: Terms) -> None:
    outcome, emulator = _exchanged(NOVA.request("https://x", terms))
    assert outcome.ok
    assert emulator.prompts == [PROMPT.pcm]
    sent = [e for e in outcome.events if e["dir"] == ">" and "audioInput" in e["event"]["event"]]
    after = [e for e in sent if e["at_ms"] > (outcome.timings.input_sent or 0)]
    assert len(after) * terms.frame_ms >= 400, "the end of a turn is heard from silence"
    assert after[-1]["at_ms"] <= (outcome.timings.done or 0) + 1000


@needs_sdk
def test_a_timeline_names_the_events() -> None:
    said = "\n".join(timeline(NOVA.turn(terms=QUICK)[0]))
    assert ">  audioInput  ×" in said
    assert "<  completionEnd" in said


@needs_sdk
@pytest.mark.parametrize("scenario", ["http_400", "http_401", "http_403", "http_404"])
def test_a_definite_refusal_ends_the_collection_before_a_prompt_is_sent(scenario: str) -> None:
    async def probed() -> None:
        async with NovaEmulator(scenario) as emulator:
            await preflight(NOVA.request(emulator.url, QUICK))

    with pytest.raises(StudyError, match=r"refuses it.*No prompt was sent") as refused:
        asyncio.run(probed())
    assert KEY not in str(refused.value)


@needs_sdk
def test_a_voice_that_is_not_there_is_found_before_a_prompt_is_sent() -> None:
    async def probed(voice: str, grace_s: float) -> list[list[str]]:
        terms = dataclasses.replace(QUICK, grace_s=grace_s)
        async with NovaEmulator() as emulator:
            await preflight(dataclasses.replace(NOVA.request(emulator.url, terms), voice=voice))
            return emulator.kinds

    assert asyncio.run(probed("matthew", 0.5)) == [
        ["sessionStart", "promptStart", "contentStart", "textInput", "contentEnd"]
    ]
    with pytest.raises(StudyError, match="Voice marin is not available"):
        asyncio.run(probed("marin", 10))


def _resolved(environ: dict[str, str], base_url: str | None = None, **settings: Any) -> NovaSonic:
    fields = {"adapter": "nova_sonic", "base_url_env": None, "key_env": None, "settings": settings}
    request = resolve(make_config(**fields), Exchange(), environ, base_url)
    return NovaSonic(request, Recorder(request))


KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}


@needs_sdk
@pytest.mark.parametrize(
    ("base_url", "settings", "url", "region"),
    [
        (None, {}, "https://bedrock-runtime.us-east-1.amazonaws.com", "us-east-1"),
        (None, {"region": "eu-north-1"}, "https://bedrock-runtime.eu-north-1.amazonaws.com", "eu-north-1"),
        ("https://bedrock-runtime-fips.us-west-2.amazonaws.com", {}, None, "us-west-2"),
        ("https://proxy.example.org", {"region": "ap-northeast-1"}, None, "ap-northeast-1"),
        ("https://proxy.example.org", {}, None, "us-east-1"),
    ],
)
def test_endpoint_and_region(base_url: str | None, settings: dict[str, Any], url: str | None, region: str) -> None:
    protocol = _resolved(KEYS, base_url, **settings)
    assert (protocol.url(), protocol.region) == (url or base_url, region)


@needs_sdk
@pytest.mark.parametrize("absent", KEYS)
def test_an_absent_key_is_named_before_anything_is_sent(absent: str) -> None:
    with pytest.raises(StudyError, match=f"{absent} .*is not set.*Nothing was sent"):
        _resolved({name: key for name, key in KEYS.items() if name != absent})
    assert _resolved(KEYS).request.keys == {"realtime": "id", "AWS_SECRET_ACCESS_KEY": "secret"}
    temporary = _resolved({**KEYS, "AWS_SESSION_TOKEN": "token"}).request
    assert temporary.keys["AWS_SESSION_TOKEN"] == "token"
    assert "secret" not in repr(temporary)
    assert "secret" not in json.dumps(_resolved(KEYS).snapshot())


@needs_sdk
def test_keys_of_its_own_stand_beside_those_of_the_store() -> None:
    theirs = {f"NOVA_{name}": f"nova's {key}" for name, key in {**KEYS, "AWS_SESSION_TOKEN": "token"}.items()}
    config = make_config(adapter="nova_sonic", base_url_env=None, key_env="NOVA_AWS_ACCESS_KEY_ID", settings={})
    keys = resolve(config, Exchange(), KEYS | theirs).keys
    secrets = {"AWS_SECRET_ACCESS_KEY": "nova's secret", "AWS_SESSION_TOKEN": "nova's token"}
    assert keys == {"realtime": "nova's id", **secrets}
    del theirs["NOVA_AWS_SECRET_ACCESS_KEY"]
    with pytest.raises(StudyError, match=r"NOVA_AWS_SECRET_ACCESS_KEY .*is not set"):
        resolve(config, Exchange(), KEYS | theirs)
    other = make_config(adapter="nova_sonic", base_url_env=None, key_env="MY_KEY", settings={})
    assert resolve(other, Exchange(), {**KEYS, "MY_KEY": "mine"}).keys["AWS_SECRET_ACCESS_KEY"] == "secret"


def test_without_python_3_12_it_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nova_sonic, "_PYTHON", (3, 99))
    have = ".".join(map(str, sys.version_info[:2]))
    with pytest.raises(StudyError, match=f"SDK needs Python 3.99, and this is {have}.*Nothing was sent"):
        adapter("nova_sonic")


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nova_sonic, "_PYTHON", (3, 11))
    monkeypatch.setattr(nova_sonic, "_TRANSPORT", "package_that_is_not_there")
    with pytest.raises(StudyError, match=r"install the extra `nova`.*s2s-assets\[nova\].*Nothing was sent"):
        adapter("nova_sonic")
