"""The demo's servers run as one process, answer both adapters, and never outlive the program that started them."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import soundfile
import soxr

from s2s_assets.demo.servers import demo_servers
from s2s_assets.responses import Prompt, exchange, resolve
from s2s_assets.study import Config, load_study

DEMO = Path(__file__).parents[2] / "studies" / "demo"
FOLDER = load_study(DEMO)


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with demo_servers(tmp_path_factory.mktemp("heard")) as variables:
        yield variables


def config(key: str) -> Config:
    found = FOLDER.study.config(key)
    assert found is not None
    return found


def prompt() -> Prompt:
    samples, rate_hz = soundfile.read(DEMO / "recordings" / "asterisk_en" / "queue-thankyou.flac", dtype="int16")
    return Prompt(soxr.resample(samples, rate_hz, 24_000).tobytes(), 24_000)


def test_addresses_are_the_variables_that_the_study_names(addresses: dict[str, str]) -> None:
    text = (DEMO / "study.yaml").read_text(encoding="utf-8")
    assert all(name in text for name in addresses)
    for model in FOLDER.study.models:
        for given in (model.base_url_env, model.key_env):
            names = given.values() if isinstance(given, dict) else [given]
            assert set(names) <= set(addresses)


@pytest.mark.parametrize("key", ["demo-clear|alex|high", "demo-aloof|linda|none", "demo-cascade|steph|none"])
def test_each_kind_of_system_answers_its_adapter(addresses: dict[str, str], key: str) -> None:
    request = resolve(config(key), FOLDER.study.exchange, addresses)
    outcome = asyncio.run(exchange(request, prompt()))
    assert (outcome.status, outcome.message) == ("ok", None)
    assert outcome.input_transcript == "thank you for your patience"
    assert bool(outcome.provisional) == (key.split("|", maxsplit=1)[0] == "demo-clear")


def test_an_unknown_voice_is_a_failed_exchange_and_the_server_goes_on(addresses: dict[str, str]) -> None:
    good = config("demo-clear|alex|high")
    bad = good.model_copy(update={"voice": good.voice.model_copy(update={"id": "nobody"})})
    outcomes = [asyncio.run(exchange(resolve(c, FOLDER.study.exchange, addresses), prompt())) for c in (bad, good)]
    assert [o.status for o in outcomes] == ["provider_error", "ok"]


def start(cache: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-m", "s2s_assets.demo.servers", str(cache)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    assert "S2S_DEMO_REALTIME_URL" in process.stdout.readline()
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_servers_cleanly(tmp_path: Path, number: int) -> None:
    process = start(tmp_path)
    process.send_signal(number)
    assert process.communicate(timeout=30)[0] == ""
    assert process.returncode == 0


def test_the_end_of_the_parent_stops_the_servers(tmp_path: Path) -> None:
    process = start(tmp_path)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=30) == 0


def test_the_engines_do_not_outlive_a_killed_server(tmp_path: Path) -> None:
    process = start(tmp_path)
    process.kill()
    assert process.stdout is not None
    # The engines hold this pipe too: it ends only when they have.
    os.set_blocking(process.stdout.fileno(), True)
    process.stdout.read()
    process.wait(timeout=30)


def test_a_server_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("s2s_assets.demo.servers.sys.executable", "/bin/false")
    with pytest.raises(Exception, match="extra `demo`"), demo_servers(tmp_path):
        pass
