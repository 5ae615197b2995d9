"""Qwen over DashScope: what it is asked for; its scenarios are in `test_realtime_family`."""

import pytest

from s2s_assets.responses.providers.qwen_realtime import QwenRealtime
from s2s_assets.responses.recorder import Recorder
from s2s_assets_tests.responses.conftest import KEY
from s2s_assets_tests.responses.parties import QWEN


def test_what_the_server_is_asked_for() -> None:
    outcome, emulator = QWEN.turn(session={"temperature": 0.5})
    assert outcome.snapshot["configuration"]["session"] == {
        "modalities": ["text", "audio"],
        "voice": "Cherry",
        "instructions": "You are a helpful voice assistant",
        "input_audio_format": "pcm",
        "output_audio_format": "pcm",
        "turn_detection": None,
        "input_audio_transcription": {"model": "gummy-realtime-v1"},
        "temperature": 0.5,
    }
    (seen,) = emulator.seen
    assert (seen.session.model, seen.session.voice) == ("qwen3-omni-flash-realtime", "Cherry")
    assert seen.session.instructions == "You are a helpful voice assistant"
    assert emulator.kinds[0][-2:] == ["input_audio_buffer.commit", "response.create"]


def test_audio_does_not_go_without_text() -> None:
    outcome, _ = QWEN.turn(session={"modalities": ["audio"]})
    assert (outcome.status, outcome.code) == ("provider_error", "invalid_value")


@pytest.mark.parametrize("base", ["ws://h", "ws://h/api-ws/v1/realtime"])
def test_address_and_headers(base: str) -> None:
    request = QWEN.request(base, workspace="ws-1")
    adapter = QwenRealtime(request, Recorder(request))
    assert adapter.url() == "ws://h/api-ws/v1/realtime?model=qwen3-omni-flash-realtime"
    assert adapter.headers() == {"Authorization": f"Bearer {KEY}", "X-DashScope-WorkSpace": "ws-1"}
    assert adapter.snapshot()["headers"] == ["Authorization", "X-DashScope-WorkSpace"]
