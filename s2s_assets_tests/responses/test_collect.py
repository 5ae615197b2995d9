"""Collecting a config: nothing is sent twice, nothing is lost, and what failed is a row."""

import asyncio
import gzip
import json
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from s2s_assets.audio import decode, from_pcm16, pcm16, pcm_sha256
from s2s_assets.responses import (
    RESPONSES,
    Backoff,
    CollectResult,
    build_responses,
    collect,
    wanted_responses,
)
from s2s_assets.storage import StudyStore, open_store
from s2s_assets.study import Config, Exchange, StudyError
from s2s_assets_tests.emulators.cascade import CascadeEmulator
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.emulators.voices import FINAL, item, speech
from s2s_assets_tests.responses.conftest import KEY, make_config

Prompts = Callable[[StudyStore, int], pl.DataFrame]
TERMS = Exchange(
    pace=0, attempts=3, concurrency=4, preflight=False, connect_timeout_s=5, first_event_timeout_s=5, idle_timeout_s=5
)
AT_ONCE = Backoff(attempts=3, base_s=0)


async def _run(
    config: Config, prompts: pl.DataFrame, store: StudyStore, url: str, home: Path, terms: Exchange = TERMS, **more: Any
) -> CollectResult:
    environ = {"S2S_TEST_URL": url, "S2S_TEST_KEY": KEY}
    return await collect(config, prompts, store, terms, home=home, environ=environ, backoff=AT_ONCE, **more)


def _collect(
    config: Config, prompts: pl.DataFrame, store: StudyStore, home: Path, scenarios: str | Sequence[str] = "plain"
) -> tuple[CollectResult, OpenAIEmulator]:
    async def run() -> tuple[CollectResult, OpenAIEmulator]:
        async with OpenAIEmulator(scenarios) as emulator:
            one_by_one = TERMS.model_copy(update={"concurrency": 1}) if isinstance(scenarios, list) else TERMS
            return await _run(config, prompts, store, emulator.url, home, one_by_one), emulator

    return asyncio.run(run())


def test_each_prompt_becomes_a_row_with_its_audio(
    config: Config, prompts: Prompts, store: StudyStore, tmp_path: Path
) -> None:
    frame = prompts(store, 5)
    result, emulator = _collect(config, frame, store, tmp_path)
    assert result == CollectResult(planned=5, reused=0, sent=5, answered=5, failures={})
    table = build_responses(config, frame, store)
    assert table.schema == RESPONSES
    assert table["prompt"].to_list() == [f"p{n:03d}" for n in range(5)]
    assert set(table["status"]) == {"ok"}
    sent = {seen.prompt for seen in emulator.seen}
    for number, row in enumerate(table.iter_rows(named=True)):
        prompt = speech(f"prompt {number}", 0.5)
        answer = item("final_answer", FINAL, prompt).pcm
        assert prompt in sent
        assert store.get_blob(row["raw_blob"]) == answer
        clip = decode(store.get_blob(row["audio_blob"]), row["prompt"])
        assert pcm16(clip.samples) == answer
        assert row["pcm_sha256"] == pcm_sha256(from_pcm16(answer, 24_000))
        assert row["duration_s"] == len(answer) / 2 / 24_000
        assert row["output_transcript"] == FINAL
        assert row["done_ms"] >= row["last_audio_ms"] >= row["first_audio_ms"]
        assert row["started_at"].tzinfo is not None
        events = gzip.decompress(store.get_blob(row["events_blob"])).splitlines()
        assert b"response.done" in b"".join(events)
        pieces = json.loads(events[0])["event"]["pieces"]
        assert sum(size for _, size in pieces) == len(answer)
        assert [at for at, _ in pieces] == sorted(at for at, _ in pieces)
        assert row["stalls"] is not None


def test_a_second_run_sends_nothing(config: Config, prompts: Prompts, store: StudyStore, tmp_path: Path) -> None:
    frame = prompts(store, 4)
    _collect(config, frame, store, tmp_path)
    before = build_responses(config, frame, store)
    result, emulator = _collect(config, frame, store, tmp_path)
    assert result == CollectResult(planned=4, reused=4, sent=0, answered=4, failures={})
    assert emulator.connections == 0
    assert build_responses(config, frame, store).equals(before)


def test_two_collections_at_once_send_each_prompt_once(
    config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    frame = prompts(directory_store, 4)

    async def both() -> tuple[list[CollectResult], int]:
        async with OpenAIEmulator("plain") as emulator:
            runs = [_run(config, frame, directory_store, emulator.url, tmp_path) for _ in range(2)]
            return list(await asyncio.gather(*runs)), len(emulator.seen)

    results, seen = asyncio.run(both())
    assert seen == 4
    assert sorted((r.sent, r.reused, r.answered) for r in results) == [(0, 4, 4), (4, 0, 4)]


def test_new_prompts_and_failed_ones_are_all_that_is_sent(
    config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    store = directory_store
    frame = prompts(store, 3)
    first, _ = _collect(config, frame, store, tmp_path, ["plain", "no_audio", "plain"])
    assert first == CollectResult(planned=3, reused=0, sent=3, answered=2, failures={"empty_audio": 1})
    table = build_responses(config, frame, store)
    assert table["status"].to_list() == ["ok", "empty_audio", "ok"]
    failed = table.row(1, named=True)
    assert (failed["audio_blob"], failed["raw_blob"], failed["duration_s"]) == (None, None, None)
    assert (failed["origin"], failed["code"], failed["retryable"]) == ("provider", "no_audio", False)
    wider = prompts(store, 5)
    second, emulator = _collect(config, wider, store, tmp_path)
    assert (second.reused, second.sent, second.answered) == (2, 3, 5)
    again = build_responses(config, wider, store)
    assert again["attempts"].to_list() == [1, 2, 1, 1, 1]
    assert again["started_at"][0] == table["started_at"][0]
    assert len(emulator.seen) == 3


@pytest.mark.parametrize(
    ("scenarios", "sent", "status"),
    [
        (["rate_limited", "http_503", "plain"], 3, "ok"),
        (["close_1001", "plain"], 2, "ok"),
        (["server_failure", "server_failure", "rate_limited", "plain"], 3, "rate_limited"),
        (["http_401", "plain"], 1, "provider_error"),
        (["incomplete", "plain"], 1, "truncated"),
        (["content_filter", "plain"], 1, "refused"),
        (["silence", "plain"], 1, "silent_audio"),
        (["commentary_only", "plain"], 1, "empty_audio"),
    ],
)
def test_only_what_may_pass_is_repeated(
    scenarios: list[str],
    sent: int,
    status: str,
    config: Config,
    prompts: Prompts,
    directory_store: StudyStore,
    tmp_path: Path,
) -> None:
    frame = prompts(directory_store, 1)
    result, emulator = _collect(config, frame, directory_store, tmp_path, scenarios)
    assert (result.sent, emulator.connections) == (sent, sent)
    (row,) = build_responses(config, frame, directory_store).iter_rows(named=True)
    assert (row["status"], row["attempts"]) == (status, sent)
    kept = [record["status"] for _, record in directory_store.records("attempts")]
    assert len(kept) == sent
    assert kept[-1] == status


def test_of_two_successes_the_first_stays_the_response(
    config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    frame = prompts(directory_store, 2)

    async def run() -> None:
        async with OpenAIEmulator() as emulator:
            # neither sees a success of the other when it begins, as two machines may
            both = (_run(config, frame, directory_store, emulator.url, tmp_path / machine) for machine in ("a", "b"))
            await asyncio.gather(*both)

    asyncio.run(run())
    records = [record for _, record in directory_store.records("attempts")]
    assert [record["attempt"] for record in records] == [1, 2, 1, 2]
    first = {r["response_id"]: r["started_at"] for r in records if r["attempt"] == 1}
    table = build_responses(config, frame, directory_store)
    assert table["attempts"].to_list() == [1, 1]
    assert {i: t.isoformat() for i, t in table.select("response_id", "started_at").iter_rows()} == first


def test_a_changed_setting_never_mixes_with_old_responses(
    config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    frame = prompts(directory_store, 2)
    _collect(config, frame, directory_store, tmp_path)
    changed = make_config(settings={"model": "test-model", "session": {"max_output_tokens": 100}})
    assert wanted_responses(changed, frame, directory_store) != wanted_responses(config, frame, directory_store)
    assert set(build_responses(changed, frame, directory_store)["code"]) == {"not_attempted"}
    result, _ = _collect(changed, frame, directory_store, tmp_path)
    assert (result.reused, result.sent) == (0, 2)
    old, new = build_responses(config, frame, directory_store), build_responses(changed, frame, directory_store)
    assert not set(old["response_id"]) & set(new["response_id"])


def test_what_is_wanted_depends_on_prompts_and_settings(
    config: Config, prompts: Prompts, directory_store: StudyStore
) -> None:
    frame = prompts(directory_store, 3)
    wanted = wanted_responses(config, frame, directory_store)
    assert wanted == wanted_responses(config, frame.reverse(), directory_store)
    assert wanted != wanted_responses(config, frame.head(2), directory_store)


def test_a_missing_key_is_named_before_anything_is_sent(
    config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    async def run() -> int:
        async with OpenAIEmulator() as emulator:
            environ = {"S2S_TEST_URL": emulator.url, "S2S_TEST_KEY": " "}
            with pytest.raises(StudyError, match="S2S_TEST_KEY"):
                await collect(
                    config, prompts(directory_store, 2), directory_store, TERMS, home=tmp_path, environ=environ
                )
            return emulator.connections

    assert asyncio.run(run()) == 0


def test_a_finished_config_needs_neither_key_nor_address(
    config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    frame = prompts(directory_store, 2)
    _collect(config, frame, directory_store, tmp_path)
    result = asyncio.run(collect(config, frame, directory_store, TERMS, home=tmp_path, environ={}))
    assert (result.reused, result.sent) == (2, 0)


def test_values_that_json_cannot_write_stop_nothing(
    config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    result, _ = _collect(config, prompts(directory_store, 2), directory_store, tmp_path, "odd_values")
    assert result.answered == 2


def test_progress_counts_up(config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path) -> None:
    seen: list[CollectResult] = []

    async def run() -> None:
        async with OpenAIEmulator() as emulator:
            frame = prompts(directory_store, 6)
            await _run(config, frame, directory_store, emulator.url, tmp_path, progress=seen.append)

    asyncio.run(run())
    assert [counts.answered for counts in seen] == [1, 2, 3, 4, 5, 6]


def test_prompts_with_the_same_audio_are_one_exchange(
    config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    frame = prompts(directory_store, 1)
    twice = pl.concat([frame, frame.with_columns(prompt=pl.lit("q000"))])
    result, emulator = _collect(config, twice, directory_store, tmp_path)
    assert len(emulator.seen) == 1
    assert result.answered == 1
    assert build_responses(config, twice, directory_store)["status"].to_list() == ["ok", "ok"]


@pytest.mark.parametrize("scenarios", ["plain", "echoes_key", "http_401", "close_1001", "refuses_session"])
def test_a_planted_key_is_in_no_file(
    scenarios: str, config: Config, prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    _collect(config, prompts(directory_store, 2), directory_store, tmp_path, scenarios)
    _scan(tmp_path)


def test_a_planted_key_is_in_no_file_of_a_cascade(
    prompts: Prompts, directory_store: StudyStore, tmp_path: Path
) -> None:
    cascade = make_config(adapter="cascade", settings={})

    async def run() -> CollectResult:
        async with CascadeEmulator(["stt_401", "plain"]) as emulator:
            frame, one_by_one = prompts(directory_store, 3), TERMS.model_copy(update={"concurrency": 1})
            return await _run(cascade, frame, directory_store, emulator.url, tmp_path, one_by_one)

    result = asyncio.run(run())
    assert (result.answered, result.failures) == (2, {"provider_error": 1})
    _scan(tmp_path)


def _scan(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.suffix == ".gz" for path in files)
    for path in files:
        data = path.read_bytes()
        plain = gzip.decompress(data) if path.suffix == ".gz" else data
        assert KEY.encode() not in plain, path


CHILD = """
import asyncio, sys
from pathlib import Path
import polars as pl
from s2s_assets.responses import collect
from s2s_assets.storage import StudyStore, open_store
from s2s_assets_tests.responses.conftest import KEY, make_config
from s2s_assets_tests.responses.test_collect import TERMS

store_url, prompts, url, home = sys.argv[1:]
store = StudyStore(open_store(store_url), "demo")
environ = {"S2S_TEST_URL": url, "S2S_TEST_KEY": KEY}
asyncio.run(collect(make_config(), pl.read_parquet(prompts), store, TERMS, home=Path(home), environ=environ))
"""


def test_a_kill_loses_at_most_what_was_in_flight(config: Config, prompts: Prompts, tmp_path: Path) -> None:
    url = f"file:{tmp_path / 'store'}"
    store = StudyStore(open_store(url), "demo")
    frame = prompts(store, 30)
    frame.write_parquet(tmp_path / "prompts.parquet")

    async def run() -> tuple[int, int, CollectResult, int]:
        halfway = asyncio.Event()
        async with OpenAIEmulator(on_turn=lambda n: halfway.set() if n == 15 else None) as emulator:
            arguments = (url, str(tmp_path / "prompts.parquet"), emulator.url, str(tmp_path))
            child = await asyncio.create_subprocess_exec(sys.executable, "-c", CHILD, *arguments)
            await halfway.wait()
            child.send_signal(signal.SIGKILL)
            await child.wait()
            before = len(emulator.seen)
            stored = sum(record["status"] == "ok" for _, record in store.records("attempts"))
            result = await _run(config, frame, store, emulator.url, tmp_path)
            return before, stored, result, len(emulator.seen)

    before, stored, result, after = asyncio.run(run())
    assert before < 30
    assert before - TERMS.concurrency <= stored <= before
    assert result == CollectResult(planned=30, reused=stored, sent=30 - stored, answered=30, failures={})
    assert after == before + 30 - stored
    table = build_responses(config, frame, store)
    assert set(table["status"]) == {"ok"}
    assert [store.get_blob(ref) for ref in table["raw_blob"]] == [
        item("final_answer", FINAL, speech(f"prompt {n}", 0.5)).pcm for n in range(30)
    ]
