"""Requests, prompts and studies for exchanges with emulators on loopback."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest

from s2s_assets.audio import encode_flac, from_pcm16, pcm_sha256
from s2s_assets.responses import Outcome, Prompt, Request, Terms, exchange
from s2s_assets.storage import StudyStore
from s2s_assets.study import Config, ConfigKey, Model, Voice
from s2s_assets_tests.emulators.cascade import CascadeEmulator
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.emulators.tls import authority
from s2s_assets_tests.emulators.voices import speech

KEY = "sk-planted-0123456789abcdef"
QUICK = Terms(pace=0, connect_timeout_s=5, first_event_timeout_s=5, idle_timeout_s=5, grace_s=0.2)
IMPATIENT = Terms(pace=0, connect_timeout_s=0.15, first_event_timeout_s=0.15, idle_timeout_s=0.15, grace_s=0.05)


@pytest.fixture(autouse=True, scope="session")
def trusted_emulators() -> Iterator[None]:
    """Amazon's SDK trusts the certificate of this process's emulators."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_CA_BUNDLE", str(authority()))
        yield


@pytest.fixture
def prompt() -> Prompt:
    return Prompt(speech("prompt", 1.25), 24_000)


@pytest.fixture
def realtime_request() -> Callable[..., Request]:
    """Makes a request to a Realtime server at an address."""

    def make(url: str, terms: Terms = QUICK, thinking: str = "high", key: str = KEY, **settings: Any) -> Request:
        return Request(
            config="gpt-realtime-2.1|marin|high",
            adapter="openai_realtime",
            settings={"model": "gpt-realtime-2.1", **settings},
            instruction="You are a helpful voice assistant",
            voice="marin",
            thinking=thinking,
            addresses={"realtime": url},
            providers={"realtime": "openai"},
            keys={"realtime": key} if key else {},
            terms=terms,
        )

    return make


@pytest.fixture
def cascade_request() -> Callable[..., Request]:
    """Makes a request to a cascade whose stages share an address."""

    def make(url: str, terms: Terms = QUICK, key: str = KEY, **settings: Any) -> Request:
        stages = ("stt", "llm", "tts")
        return Request(
            config="cascade|rachel|none",
            adapter="cascade",
            settings=settings,
            instruction="You are a helpful voice assistant",
            voice="21m00",
            thinking="none",
            addresses=dict.fromkeys(stages, url),
            providers={"stt": "elevenlabs", "llm": "openai", "tts": "elevenlabs"},
            keys=dict.fromkeys(stages, key) if key else {},
            terms=terms,
        )

    return make


@pytest.fixture
def openai_turn(
    realtime_request: Callable[..., Request], prompt: Prompt
) -> Callable[..., tuple[Outcome, OpenAIEmulator]]:
    """Plays one scenario to one exchange."""

    def play(scenario: str, **request: Any) -> tuple[Outcome, OpenAIEmulator]:
        async def turn() -> tuple[Outcome, OpenAIEmulator]:
            async with OpenAIEmulator(scenario) as emulator:
                return await exchange(realtime_request(emulator.url, **request), prompt), emulator

        return asyncio.run(turn())

    return play


@pytest.fixture
def cascade_turn(
    cascade_request: Callable[..., Request], prompt: Prompt
) -> Callable[..., tuple[Outcome, CascadeEmulator]]:
    """Plays one scenario to one cascade exchange."""

    def play(scenario: str, **request: Any) -> tuple[Outcome, CascadeEmulator]:
        async def turn() -> tuple[Outcome, CascadeEmulator]:
            async with CascadeEmulator(scenario) as emulator:
                return await exchange(cascade_request(emulator.url, **request), prompt), emulator

        return asyncio.run(turn())

    return play


@pytest.fixture
def config() -> Config:
    return make_config()


def make_config(**changes: Any) -> Config:
    """A config of a model that is served at S2S_TEST_URL."""
    fields: dict[str, Any] = {
        "id": "test-model",
        "name": "Test model",
        "family": "test",
        "provider": "test",
        "adapter": "openai_realtime",
        "settings": {"model": "test-model"},
        "base_url_env": "S2S_TEST_URL",
        "key_env": "S2S_TEST_KEY",
        "voices": (Voice(id="marin"),),
    }
    model = Model(**{**fields, **changes})
    return Config(
        key=ConfigKey(model.id, "marin", "none"),
        model=model,
        voice=model.voices[0],
        thinking="none",
        instruction="You are a helpful voice assistant",
    )


@pytest.fixture
def prompts() -> Callable[[StudyStore, int], pl.DataFrame]:
    """Stores so many prompts and returns their `normalized_audio` rows, one refused row among them."""

    def make(store: StudyStore, count: int) -> pl.DataFrame:
        rows: list[dict[str, Any]] = []
        for number in range(count):
            clip = from_pcm16(speech(f"prompt {number}", 0.5), 24_000)
            blob = store.put_blob(encode_flac(clip), "flac")
            facts = {"audio_blob": blob, "pcm_sha256": pcm_sha256(clip), "duration_s": clip.duration_s}
            rows.append({"prompt": f"p{number:03d}", "status": "ok", **facts})
        rows.append({"prompt": "p999", "status": "refused", **dict.fromkeys(facts)})
        return pl.DataFrame(rows, orient="row")

    return make
