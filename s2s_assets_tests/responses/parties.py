"""Every adapter with the emulator of its protocol: what the conformance suite runs over.

A new adapter needs one more `Party`. Scenarios have one name for all; `plays` says what an emulator calls one, `codes`
what a service calls a failure in its own words, `cannot` why a scenario, or the model's name, does not exist in a protocol.
"""

import asyncio
import io
import wave
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from s2s_assets.responses import Outcome, Prompt, Request, Terms, exchange
from s2s_assets.responses.providers import ADAPTERS
from s2s_assets.responses.providers.conversation import ConversationAdapter
from s2s_assets.responses.providers.websocket import WebsocketAdapter
from s2s_assets_tests.emulators.cascade import CascadeEmulator
from s2s_assets_tests.emulators.dashscope import DashScopeEmulator
from s2s_assets_tests.emulators.gemini import GeminiEmulator
from s2s_assets_tests.emulators.nova import NovaEmulator
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.emulators.sdk import needs_sdk
from s2s_assets_tests.emulators.vllm_omni import VllmOmniEmulator
from s2s_assets_tests.emulators.voices import FINAL, item, speech
from s2s_assets_tests.emulators.xai import XaiEmulator
from s2s_assets_tests.responses.conftest import KEY

PATIENT = Terms(pace=0, connect_timeout_s=20, first_event_timeout_s=20, idle_timeout_s=20, grace_s=0.4)
"""A busy machine must not look like a silent server."""


def as_items(prompt: bytes) -> bytes:
    """What the realtime emulators say to a prompt."""
    return item(None, FINAL, prompt).pcm


@dataclass(frozen=True)
class Party:
    """An adapter, its emulator, and what a config of it says.

    An emulator takes a scenario, is an async context manager, and has `url` and `prompts` (the audio of each turn).
    """

    adapter: str
    emulator: Callable[[str], Any]
    voice: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    thinking: str = "none"
    answer: Callable[[bytes], bytes] = as_items
    """Prompt as it came → the final audio of the scenario `plain`."""
    plays: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, str] = field(default_factory=dict)
    cannot: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_websocket(self) -> bool:
        """Whether the turn is sent over a websocket."""
        return issubclass(ADAPTERS[self.adapter], WebsocketAdapter)

    @property
    def is_conversation(self) -> bool:
        """Whether configuring, the prompt and the answer are messages of their own."""
        return issubclass(ADAPTERS[self.adapter], ConversationAdapter)

    @property
    def marks(self) -> tuple[pytest.MarkDecorator, ...]:
        """A skip where this installation lacks what the adapter needs."""
        return (needs_sdk,) if self.adapter == "nova_sonic" else ()

    def request(self, url: str, terms: Terms = PATIENT, key: str = KEY, **settings: Any) -> Request:
        """A request at an address."""
        stages = ADAPTERS[self.adapter].stages
        return Request(
            config=f"{self.adapter}|{self.voice}|{self.thinking}",
            adapter=self.adapter,
            settings={**self.settings, **settings},
            instruction="You are a helpful voice assistant",
            voice=self.voice,
            thinking=self.thinking,
            addresses=dict.fromkeys(stages, url),
            providers=dict.fromkeys(stages, "test"),
            keys=dict.fromkeys([*stages, *(s for spec in stages.values() for s in spec.secrets)], key) if key else {},
            terms=terms,
        )

    def terms(self, code: str | None) -> Terms:
        """Short only where a time-out of this code is to come; over HTTP the first event's deadline has both in it.

        An answer amid the prompt needs a prompt that takes its time.
        """
        match code:
            case "answered_early":
                return replace(PATIENT, pace=1.0)
            case "connection_timeout" | "configuration_timeout":
                return replace(PATIENT, connect_timeout_s=0.5)
            case "first_event_timeout" | "no_speech_detected":
                connect_s = PATIENT.connect_timeout_s if self.is_conversation else 0.5
                return replace(PATIENT, connect_timeout_s=connect_s, first_event_timeout_s=0.2)
            case "next_event_timeout":
                return replace(PATIENT, idle_timeout_s=0.2)
        return PATIENT

    def prompt(self, seconds: float = 1.25) -> Prompt:
        """A prompt at the adapter's rate."""
        rate_hz = ADAPTERS[self.adapter].input_rate_hz
        return Prompt(speech("prompt", seconds * rate_hz / 24_000), rate_hz)

    def turn(self, scenario: str = "plain", prompt: Prompt | None = None, **request: Any) -> tuple[Outcome, Any]:
        """One exchange with the emulator in a scenario; whatever comes of it, the key is not in it."""

        async def play() -> tuple[Outcome, Any]:
            async with self.emulator(self.plays.get(scenario, scenario)) as emulator:
                return await exchange(self.request(emulator.url, **request), prompt or self.prompt()), emulator

        outcome, emulator = asyncio.run(play())
        assert KEY not in repr(outcome)
        return outcome, emulator


def samples(audio: bytes) -> bytes:
    """PCM of a prompt as an emulator got it: bare, or in a WAV file."""
    if not audio.startswith(b"RIFF"):
        return audio
    with wave.open(io.BytesIO(audio)) as file:
        return file.readframes(file.getnframes())


_NO_MARK = {"commentary_and_final": "provisional audio is not marked in this protocol"}
_REALTIME = {"close_mid_audio": "close_1011", "unknown_events": "unknown_events"}

OPENAI = Party(
    "openai_realtime",
    OpenAIEmulator,
    "marin",
    {"model": "gpt-realtime-2.1", "transcription": "gpt-4o-mini-transcribe"},
    thinking="high",
    plays=_REALTIME,
)
COMPATIBLE = Party(
    "openai_compatible",
    OpenAIEmulator,
    "marin",
    {"model": "house-model", "transcription": "house-asr"},
    plays=_REALTIME,
)
XAI = Party(
    "xai_realtime",
    XaiEmulator,
    "ara",
    {"model": "grok-voice-think-fast-2.0"},
    thinking="high",
    plays=_REALTIME,
    cannot=_NO_MARK,
)
GEMINI = Party(
    "gemini_live",
    GeminiEmulator,
    "Kore",
    {"model": "gemini-3.1-flash-live-preview", "setup": {"inputAudioTranscription": {}}},
    thinking="high",
    plays={"close_mid_audio": "close_1011"},
    codes={
        "content_filter": "response_rejected",
        "rate_limited": "closed_1011",
        "http_401": "unauthenticated",
        "http_429": "resource_exhausted",
        "http_503": "unavailable",
    },
    cannot={
        **_NO_MARK,
        "incomplete": "an answer that is cut at the token limit ends like any other",
        "model_reported": "the service does not say which model answers",
    },
)
QWEN = Party(
    "qwen_realtime",
    DashScopeEmulator,
    "Cherry",
    {"model": "qwen3-omni-flash-realtime", "transcription": "gummy-realtime-v1"},
    plays=_REALTIME,
    cannot=_NO_MARK,
)
VLLM_OMNI = Party(
    "vllm_omni",
    VllmOmniEmulator,
    "ethan",
    {"model": "Qwen/Qwen3-Omni-30B-A3B-Instruct"},
    answer=speech,
    plays={
        "no_audio": "text_only",
        "big_delta": "long",
        "unknown_events": "unknown_fields",
        "close_mid_audio": "cut",
        "close_before_audio": "cut_at_once",
        "rate_limited": "http_429",
        "http_401": "needs_key",
        "incomplete": "length",
    },
    cannot={**_NO_MARK, "never_configured": "one request, nothing to configure"},
)
CASCADE = Party(
    "cascade",
    CascadeEmulator,
    "21m00",
    answer=lambda _: speech(f"21m00:{FINAL}"),
    plays={
        "no_audio": "tts_empty",
        "silence": "tts_silent",
        "half_a_sample": "tts_odd",
        "big_delta": "tts_long",
        "odd_chunks": "plain",
        "unknown_events": "llm_unknown",
        "close_mid_audio": "tts_cut",
        "close_before_audio": "tts_cut_at_once",
        "rate_limited": "llm_429",
        "http_401": "stt_401",
        "http_429": "stt_429",
        "http_503": "stt_503",
        "incomplete": "llm_incomplete",
        "content_filter": "llm_filtered",
        "never_answers": "stt_never_answers",
        "stalls": "tts_stalls",
        "not_json": "llm_not_json",
        "echoes_key": "stt_echoes_key",
    },
    cannot={
        "not_base64": "the speech stage sends bytes",
        "never_configured": "three requests, nothing to configure",
    },
)
NOVA = Party(
    "nova_sonic",
    NovaEmulator,
    "tiffany",
    {"model": "amazon.nova-2-sonic-v1:0", "region": "eu-north-1"},
    plays={"close_mid_audio": "ends_amid"},
    codes={"rate_limited": "throttling", "http_401": "unrecognized_client", "http_429": "throttling"},
    cannot={
        **_NO_MARK,
        "incomplete": "an answer that is cut at the token limit ends like any other",
        "content_filter": "the service has no word for it",
        "model_reported": "the service does not say which model answers",
        "never_configured": "nothing acknowledges the configuration",
    },
)
PARTIES = (OPENAI, COMPATIBLE, XAI, GEMINI, QWEN, VLLM_OMNI, CASCADE, NOVA)


def each(parties: Iterable[Party] = PARTIES) -> list[ParameterSet]:
    """Parties as a test's parameters."""
    return [pytest.param(party, id=party.adapter, marks=party.marks) for party in parties]
