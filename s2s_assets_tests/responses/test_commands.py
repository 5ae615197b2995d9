"""`s2s responses try` as the contract has it."""

import asyncio
import gzip
import json
import threading
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from s2s_assets.responses.commands import responses
from s2s_assets_tests.emulators.cascade import CascadeEmulator
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.emulators.voices import COMMENTARY, FINAL, HEARD, item, speech
from s2s_assets_tests.responses.conftest import KEY

REALTIME, CASCADE = "talker|marin|high", "chain|rachel|none"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study with a Realtime model and a cascade, and a prompt beside it."""
    key = "S2S_TEST_KEY"
    models = [
        {
            "id": "talker",
            "adapter": "openai_realtime",
            "settings": {"model": "gpt-realtime-2.1"},
            "voices": [{"id": "marin"}],
            "thinking": ["high"],
        },
        {"id": "chain", "adapter": "cascade", "voices": [{"id": "rachel", "provider_id": "21m00"}]},
    ]
    document = {
        "study": "try",
        "title": "Try",
        "models": [{"name": m["id"], "family": m["id"], "provider": "test", "key_env": key, **m} for m in models],
        "rubrics": [{"id": "overall", "group": "overall", "question": "Which is better?"}],
        "categories": [{"id": "facts"}],
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(document))
    (tmp_path / "prompts.csv").write_text("prompt,text,category,level\np1,Say it.,facts,L1\n")
    (tmp_path / "recordings.csv").write_text("recording,prompt,file\n")
    with wave.open(str(tmp_path / "prompt.wav"), "wb") as writer:
        writer.setparams((1, 2, 24_000, 0, "NONE", ""))
        writer.writeframes(speech("prompt", 1.0))
    return tmp_path


@contextmanager
def _serving(emulator: OpenAIEmulator | CascadeEmulator) -> Iterator[str]:
    """Runs an emulator in a thread of its own; yields its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(emulator.__aenter__(), loop).result(10)
        yield emulator.url
        asyncio.run_coroutine_threadsafe(emulator.__aexit__(), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _call(study: Path, *arguments: str, key: str = KEY) -> tuple[int, str, str]:
    environ = {"S2S_TEST_KEY": key, "S2S_HOME": str(study / "home"), "S2S_STUDY": str(study), "COLUMNS": "200"}
    result = CliRunner().invoke(responses, ["try", *arguments], env=environ, catch_exceptions=False)
    assert KEY not in result.output
    return result.exit_code, result.stdout, result.stderr


def _try(study: Path, scenario: str, config: str = REALTIME, *more: str) -> tuple[dict[str, Any], str]:
    emulator = OpenAIEmulator(scenario) if config == REALTIME else CascadeEmulator(scenario)
    with _serving(emulator) as address:
        url = address if config == REALTIME else ",".join(f"{stage}={address}" for stage in ("stt", "llm", "tts"))
        options = ("--base-url", url, "--pace", "0", "--out", str(study / "out"), *more)
        status, out, err = _call(study, config, str(study / "prompt.wav"), *options)
    assert status == 0, err
    return (json.loads(out) if "--json" in more else {}), out


def test_an_answer(study: Path) -> None:
    document, _ = _try(study, "commentary_and_final", REALTIME, "--json")
    assert (document["config"], document["status"], document["attempts"]) == (REALTIME, "ok", 1)
    assert (document["origin"], document["code"], document["message"], document["stage"]) == (None, None, None, None)
    prompt = speech("prompt", 1.0)
    for path, expected in (
        (document["final_audio"], item("final_answer", FINAL, prompt)),
        (document["provisional_audio"][0], item("commentary", COMMENTARY, prompt)),
    ):
        with wave.open(path) as reader:
            assert (reader.getframerate(), reader.getnchannels()) == (24_000, 1)
            assert reader.readframes(reader.getnframes()) == expected.pcm
    assert document["sample_rate_hz"] == 24_000
    assert document["duration_s"] == pytest.approx(0.8)
    assert document["output_transcript"] == FINAL
    assert list(document["timings_ms"]) == [
        "connected",
        "configured",
        "input_sent",
        "first_event",
        "first_audio",
        "last_audio",
        "done",
    ]
    events = gzip.decompress(Path(document["events"]).read_bytes()).decode().splitlines()
    assert json.loads(events[-1])["event"]["type"] in {"response.done", "rate_limits.updated"}
    folder = Path(document["events"]).parent
    assert (folder / "timeline.svg").read_text("utf-8").startswith("<svg")
    assert (folder / "timeline.png").read_bytes().startswith(b"\x89PNG")


def test_a_failure_is_told_and_is_no_error_of_the_command(study: Path) -> None:
    document, _ = _try(study, "rate_limited", REALTIME, "--json", "--attempts", "2")
    assert (document["status"], document["retryable"], document["attempts"]) == ("rate_limited", True, 2)
    assert (document["final_audio"], document["pcm_sha256"], document["duration_s"]) == (None, None, None)


def test_a_cascade(study: Path) -> None:
    document, _ = _try(study, "plain", CASCADE, "--json")
    assert (document["status"], document["input_transcript"], document["output_transcript"]) == ("ok", HEARD, FINAL)
    assert _try(study, "tts_busy", CASCADE, "--json")[0]["stage"] == "tts"


def test_the_timeline_for_people(study: Path) -> None:
    _, told = _try(study, "close_1001")
    for words in ("session.updated", "input_audio_buffer.append", "×", "response.output_audio.delta", "closed_1001"):
        assert words in told


@pytest.mark.parametrize(
    ("arguments", "key", "message"),
    [
        (("nobody|marin|high", "prompt.wav"), KEY, "nobody|marin|high"),
        ((REALTIME, "absent.wav"), KEY, "absent.wav"),
        ((REALTIME, "study.yaml"), KEY, "study.yaml"),
        ((REALTIME, "prompt.wav"), "", "S2S_TEST_KEY"),
        ((CASCADE, "prompt.wav", "--base-url", "stt=http://127.0.0.1:9,llm"), KEY, "--base-url"),
        ((REALTIME, "prompt.wav", "--base-url", "ftp://127.0.0.1:9"), KEY, "ftp://127.0.0.1:9"),
    ],
)
def test_a_wrong_call_ends_in_two(study: Path, arguments: tuple[str, ...], key: str, message: str) -> None:
    config, file, *more = arguments
    status, out, err = _call(study, config, str(study / file), *more, key=key)
    assert (status, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("out", ["prompt.wav", "prompt.wav/x", "long" * 80])
def test_a_folder_that_cannot_be_written_is_found_before_anything_is_sent(study: Path, out: str) -> None:
    emulator = OpenAIEmulator()
    with _serving(emulator) as address:
        words = (REALTIME, str(study / "prompt.wav"), "--base-url", address, "--out", str(study / out), "--json")
        status, printed, err = _call(study, *words)
    assert (status, printed) == (2, "")
    assert "cannot be written" in err
    assert emulator.connections == 0
