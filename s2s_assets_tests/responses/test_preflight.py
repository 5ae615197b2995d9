"""A probe ends a collection only where every prompt would meet the same refusal."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from s2s_assets.responses import CollectResult, Request
from s2s_assets.responses.preflight import preflight
from s2s_assets.storage import StudyStore
from s2s_assets.study import Config, StudyError
from s2s_assets_tests.emulators.cascade import CascadeEmulator
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.responses.conftest import IMPATIENT, KEY
from s2s_assets_tests.responses.parties import VLLM_OMNI
from s2s_assets_tests.responses.test_collect import TERMS, _run

PROBING = TERMS.model_copy(update={"preflight": True})


async def _probe(request: Callable[..., Request], scenario: str) -> OpenAIEmulator:
    async with OpenAIEmulator(scenario) as emulator:
        await preflight(request(emulator.url, terms=IMPATIENT))
        return emulator


@pytest.mark.parametrize(
    "scenario", ["http_401", "http_403", "http_404", "http_429_quota", "refuses_session", "keeps_vad"]
)
def test_a_definite_failure_is_told(scenario: str, realtime_request: Callable[..., Request]) -> None:
    with pytest.raises(
        StudyError, match=r"gpt-realtime-2.1\|marin\|high: openai refuses it: .*No prompt was sent"
    ) as told:
        asyncio.run(_probe(realtime_request, scenario))
    assert KEY not in str(told.value)
    assert told.value.__cause__ is None


@pytest.mark.parametrize("scenario", ["plain", "http_429", "http_503", "never_configured"])
def test_what_may_pass_goes_on_and_no_audio_is_sent(scenario: str, realtime_request: Callable[..., Request]) -> None:
    emulator = asyncio.run(_probe(realtime_request, scenario))
    assert emulator.connections == 1
    assert emulator.seen == []


def test_an_address_where_nobody_listens_decides_nothing(realtime_request: Callable[..., Request]) -> None:
    asyncio.run(preflight(realtime_request("ws://127.0.0.1:9", terms=IMPATIENT)))


async def _probe_cascade(request: Callable[..., Request], scenario: str) -> CascadeEmulator:
    async with CascadeEmulator(scenario) as emulator:
        await preflight(request(emulator.url))
        return emulator


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("stt_401", "elevenlabs refuses it at stage stt: invalid_api_key"),
        ("stt_echoes_key", "elevenlabs refuses it at stage stt: invalid_api_key"),
        ("llm_401", "openai refuses it at stage llm: invalid_api_key"),
        ("llm_404", "openai refuses it at stage llm: model_not_found"),
    ],
)
def test_a_stage_that_refuses_a_key_or_a_model_is_told(
    scenario: str, said: str, cascade_request: Callable[..., Request]
) -> None:
    with pytest.raises(StudyError, match=said) as told:
        asyncio.run(_probe_cascade(cascade_request, scenario))
    assert KEY not in str(told.value)


@pytest.mark.parametrize("scenario", ["plain", "narrow_key", "stt_503"])
def test_a_cascade_is_probed_without_a_prompt(scenario: str, cascade_request: Callable[..., Request]) -> None:
    emulator = asyncio.run(_probe_cascade(cascade_request, scenario))
    assert (emulator.uploads, emulator.questions, emulator.speeches) == ([], [], [])


def test_a_server_over_http_without_a_list_of_models_decides_nothing() -> None:
    async def run() -> int:
        async with VLLM_OMNI.emulator("plain") as emulator:
            await preflight(VLLM_OMNI.request(emulator.url))
            return len(emulator.prompts)

    assert asyncio.run(run()) == 0


def test_a_refused_config_sends_no_prompt(
    config: Config, prompts: Callable[[StudyStore, int], pl.DataFrame], directory_store: StudyStore, tmp_path: Path
) -> None:
    async def run(scenarios: list[str]) -> tuple[CollectResult | None, OpenAIEmulator]:
        async with OpenAIEmulator(scenarios) as emulator:
            frame = prompts(directory_store, 3)
            try:
                return await _run(config, frame, directory_store, emulator.url, tmp_path, PROBING), emulator
            except StudyError:
                return None, emulator

    refused, emulator = asyncio.run(run(["http_404", "plain"]))
    assert (refused, emulator.connections, emulator.seen) == (None, 1, [])
    assert list(directory_store.records("attempts")) == []
    done, emulator = asyncio.run(run(["plain"]))
    assert done == CollectResult(planned=3, reused=0, sent=3, answered=3)
    assert emulator.connections == 4
    again, emulator = asyncio.run(run(["http_404"]))
    assert again == CollectResult(planned=3, reused=3, sent=0, answered=3)
    assert emulator.connections == 0, "a finished config is not probed"
