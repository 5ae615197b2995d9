"""Planted keys and signed URLs are in nothing that a collection leaves, whatever goes wrong: every scenario of every
emulator, and every way in which an adapter can fail."""

import asyncio
import gzip
import logging
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from s2s_assets.responses import Terms, build_responses, collect, request, told
from s2s_assets.responses.providers.openai_realtime import OpenAIRealtime
from s2s_assets.responses.records import ExchangeError
from s2s_assets.responses.status import config_status
from s2s_assets.storage import StudyStore
from s2s_assets.study import Config, Exchange, StudyError, Voice
from s2s_assets_tests.responses.conftest import KEY, make_config
from s2s_assets_tests.responses.parties import PARTIES, Party, each

Prompts = Callable[[StudyStore, int], pl.DataFrame]
HURRIED = Exchange(
    pace=0, attempts=1, concurrency=1, connect_timeout_s=0.4, first_event_timeout_s=0.4, idle_timeout_s=0.3
)
KEYS = ("S2S_TEST_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
OTHER_SIDE = ("websockets.server", "uvicorn", "hpack", "botocore.auth")
SIGNATURE = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
SIGNED = f"https://bucket.example/answer.pcm?X-Amz-Credential=AKIAPLANTED&X-Amz-Signature={SIGNATURE}"


async def _collect(
    config: Config, frame: pl.DataFrame, store: StudyStore, home: Path, emulator: Any, terms: Exchange = HURRIED
) -> list[str]:
    """Everything that a collection says or leaves as text."""
    said: list[str] = []
    async with emulator:
        environ = {"S2S_TEST_URL": emulator.url, **dict.fromkeys(KEYS, KEY)}
        try:
            done = await collect(
                config, frame, store, terms, home=home, environ=environ, progress=lambda c: said.append(repr(c))
            )
            said += [repr(done), told(done)]
        except StudyError as error:
            said += [str(error), repr(error.__cause__), repr(error.__context__)]
    said.append(str(asdict(config_status(config, frame, store, home))))
    said.append(str(build_responses(config, frame, store).to_dicts()))
    return said


def _assert_clean(folder: Path, said: list[str], records: list[logging.LogRecord], *secrets: str) -> None:
    # what the other side of the connection logs is its own
    logged = [r.getMessage() for r in records if not r.name.startswith(OTHER_SIDE)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    contents = [path.read_bytes() for path in files]
    contents += [gzip.decompress(data) for path, data in zip(files, contents, strict=True) if path.suffix == ".gz"]
    for secret in secrets:
        assert not [text for text in (*said, *logged) if secret in text]
        assert not [path for path, data in zip(files, contents, strict=False) if secret.encode() in data]
        assert not any(secret.encode() in data for data in contents)


@pytest.mark.parametrize("party", each(p for p in PARTIES if p.adapter != "openai_compatible"))
def test_no_scenario_leaves_a_key(
    party: Party,
    prompts: Prompts,
    directory_store: StudyStore,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # the emulators say late things at once, and what never comes is not worth seconds
    monkeypatch.setattr(request, "Terms", partial(Terms, grace_s=0.1))
    scenarios = sorted(party.emulator.names())  # type: ignore[attr-defined]
    voice = Voice(id="marin", provider_id=party.voice)
    config = make_config(adapter=party.adapter, settings=dict(party.settings), voices=(voice,))
    frame = prompts(directory_store, len(scenarios))
    unprobed = HURRIED.model_copy(update={"preflight": False, "concurrency": 8})
    with caplog.at_level(logging.DEBUG):
        said = asyncio.run(
            _collect(config, frame, directory_store, tmp_path, party.emulator(scenarios), unprobed)  # type: ignore[arg-type]
        )
    kept = [record for _, record in directory_store.records("attempts")]
    assert len(kept) == len(scenarios)
    assert len({record["code"] for record in kept}) > 3
    _assert_clean(tmp_path, said, caplog.records, KEY)


FAILURES = [
    ExchangeError("provider_error", f"bad_{KEY}", f"key {KEY} is refused; see {SIGNED}"),
    ExchangeError("rate_limited", "rate_limit_exceeded", f"slow down, {KEY}: {SIGNED}", retryable=True),
    ExchangeError("provider_error", "invalid_api_key", f"Incorrect API key: {KEY}, {SIGNED}"),
    OSError(5, f"{KEY} {SIGNED}"),
    ValueError(f"cannot read {SIGNED} with {KEY}"),
    KeyError(KEY),
    TypeError(f"{KEY} is no event; {SIGNED}"),
    ZeroDivisionError(f"{SIGNED} {KEY}"),
]


@pytest.mark.parametrize("where", ["run", "probe"])
@pytest.mark.parametrize("failure", FAILURES, ids=lambda f: f"{type(f).__name__}-{getattr(f, 'status', '')}")
def test_no_failure_leaves_a_key_or_a_signed_address(
    failure: Exception,
    where: str,
    prompts: Prompts,
    directory_store: StudyStore,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(self: OpenAIRealtime, *given: object) -> None:
        self.recorder.log("<", {"type": "leak", KEY: SIGNED, "list": [KEY, {"deep": SIGNED}]})
        self.recorder.usage = {"note": KEY, "link": SIGNED}
        self.recorder.model_reported = f"model-{KEY}"
        self.recorder.thinking.append(f"I was given {KEY}")
        raise failure

    monkeypatch.setattr(OpenAIRealtime, where, fail)
    frame = prompts(directory_store, 2)
    with caplog.at_level(logging.DEBUG):
        said = asyncio.run(_collect(make_config(), frame, directory_store, tmp_path, PARTIES[0].emulator("plain")))
    assert said
    _assert_clean(tmp_path, said, caplog.records, KEY, SIGNATURE)
