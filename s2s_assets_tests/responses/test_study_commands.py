"""`s2s responses estimate`, `status` and `recollect` on a small study with a store."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import soundfile as sf
import yaml
from click.testing import CliRunner

from s2s_assets.prompts import record_prompts
from s2s_assets.responses import CollectResult, build_responses, collect
from s2s_assets.responses.collecting import collecting, write_progress
from s2s_assets.responses.commands import responses
from s2s_assets.storage import StudyStore, open_store
from s2s_assets.study import Config, FreezeReader, Frozen, load_study
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.responses.conftest import KEY
from s2s_assets_tests.responses.test_collect import AT_ONCE, TERMS

TALKER, OTHER = "talker|marin|none", "other|marin|none"
PRICES = {"audio_hour": 3600, "source": "made up", "as_of": "2026-01-01"}


@dataclass
class Place:
    """A study folder, its store, and its prompts."""

    root: Path
    store: StudyStore
    prompts: pl.DataFrame

    @property
    def config(self) -> Config:
        found = load_study(self.root).study.config(TALKER)
        assert found is not None
        return found

    def call(self, *words: str, frozen: frozenset[str] = frozenset(), columns: int = 200) -> tuple[int, Any, str]:
        environ = {"S2S_HOME": str(self.root / "home"), "S2S_STUDY": str(self.root), "COLUMNS": str(columns)}
        reader = FreezeReader(lambda folder: Frozen(responses=frozen))
        result = CliRunner().invoke(responses, [*words], env=environ, obj=reader, catch_exceptions=False)
        document = json.loads(result.stdout) if "--json" in words and result.exit_code == 0 else None
        return result.exit_code, document, result.output

    def collect(self, scenarios: str | list[str] = "plain") -> tuple[CollectResult, int]:
        async def run() -> tuple[CollectResult, int]:
            async with OpenAIEmulator(scenarios) as emulator:
                environ = {"URL": emulator.url, "KEY": KEY}
                terms = TERMS.model_copy(update={"concurrency": 1, "attempts": 1})
                providers = load_study(self.root).study.providers
                done = await collect(
                    self.config,
                    self.prompts,
                    self.store,
                    terms,
                    providers=providers,
                    home=self.root / "home",
                    environ=environ,
                    backoff=AT_ONCE,
                )
                return done, len(emulator.seen)

        return asyncio.run(run())


@pytest.fixture
def place(tmp_path: Path, prompts: Callable[[StudyStore, int], pl.DataFrame]) -> Place:
    root = tmp_path / "study"
    root.mkdir()
    _write(root, {"concurrency": 2, "budget_usd": 1000, "prices": {"talker": PRICES}})
    store = StudyStore(open_store(f"file:{root / 'home' / 'store'}"), "small")
    frame = prompts(store, 4)
    store.set_head("normalized_audio", None, store.write_table("normalized_audio", None, frame).version)
    return Place(root, store, frame)


def _write(root: Path, provider: Mapping[str, Any]) -> None:
    common = {"family": "f", "adapter": "openai_realtime", "base_url_env": "URL", "key_env": "KEY"}
    models = [
        {"id": m, "name": m, "provider": p, "settings": {"model": m}, "voices": [{"id": "marin"}], **common}
        for m, p in (("talker", "acme"), ("other", "unheard"))
    ]
    document = {
        "study": "small",
        "title": "Small",
        "exchange": {"pace": 1.0, "concurrency": 4},
        "providers": {"acme": dict(provider)},
        "models": models,
        "rubrics": [{"id": "overall", "group": "overall", "question": "Which is better?"}],
        "categories": [{"id": "facts"}],
    }
    (root / "study.yaml").write_text(yaml.safe_dump(document))
    (root / "prompts.csv").write_text("prompt,text,category,level\np1,Say it.,facts,L1\n")
    (root / "recordings.csv").write_text("recording,prompt,file\n")


def test_an_estimate_before_anything_is_sent(place: Place) -> None:
    status, document, _ = place.call("estimate", "--json")
    assert status == 0
    talker, other = document["configs"]
    assert (talker["config"], talker["exchanges"], talker["prompt_s"]) == (TALKER, 4, 0.5)
    assert talker["cost_usd"] == pytest.approx(4 * (0.5 + 15), abs=0.01)
    assert (other["cost_usd"], other["unpriced"]) == (None, ["other"])
    acme, unheard = document["providers"]
    assert (acme["provider"], acme["exchanges"], acme["budget_usd"], acme["spent_usd"]) == ("acme", 4, 1000, 0)
    assert acme["duration_s"] == pytest.approx(4 * (0.5 + 5) / 2)
    assert unheard["duration_s"] == pytest.approx(4 * (0.5 + 5) / 4)
    assert (document["exchanges"], document["cost_usd"]) == (8, None)
    assert (document["prompts"], document["prompts_from"]) == (4, "normalized_audio")
    assert document["duration_s"] == acme["duration_s"]


def test_an_estimate_learns_from_what_was_answered(place: Place) -> None:
    place.collect(["plain", "plain", "incomplete"])
    _, document, _ = place.call("estimate", "--json", "--config", TALKER)
    (talker,) = document["configs"]
    assert talker["exchanges"] == 2
    assert talker["cost_usd"] == pytest.approx(2 * 1.3)
    assert document["providers"][0]["spent_usd"] == pytest.approx(4 * 1.3)
    assert document["cost_usd"] == talker["cost_usd"]


def test_spending_that_nobody_knows_is_not_zero(place: Place) -> None:
    _write(place.root, {"concurrency": 2})
    place.collect()
    _, document, _ = place.call("estimate", "--json", "--config", TALKER)
    assert [(p["spent_usd"], p["unknown_costs"]) for p in document["providers"]] == [(0, 4)]
    assert " 4 unknown " in place.call("estimate", "--config", TALKER)[2]
    said = place.call("status", "--config", TALKER)[2]
    assert " 4 unknown " in said
    assert "unknown +" not in said


def test_a_rate_bounds_the_time(place: Place) -> None:
    _write(place.root, {"requests_per_minute": 2, "concurrency": 64})
    _, document, _ = place.call("estimate", "--json", "--config", TALKER)
    assert document["duration_s"] == pytest.approx(120)


def test_status_counts_what_is_stored(place: Place) -> None:
    _, before, _ = place.call("status", "--json")
    assert [(row["planned"], row["ok"], row["not_attempted"], row["last_at"]) for row in before] == [
        (4, 0, 4, None)
    ] * 2
    assert [(row["cost_usd"], row["unknown_costs"]) for row in before] == [(0, 0)] * 2
    place.collect(["plain", "no_audio", "plain", "rate_limited"])
    _, (row,), _ = place.call("status", "--json", "--config", TALKER)
    assert (row["ok"], row["failed"], row["not_attempted"]) == (2, {"empty_audio": 1, "rate_limited": 1}, 0)
    assert (row["attempts"], row["cost_usd"], row["unknown_costs"]) == (6, pytest.approx(2 * 1.3 + 0.5), 3)
    assert row["running"] is None
    assert row["last_at"] is not None


def test_status_shows_a_collection_that_runs(place: Place) -> None:
    async def run() -> tuple[Any, Any]:
        async with collecting(place.root / "home", TALKER) as folder:
            early = place.call("status", "--json", "--config", TALKER)[1][0]["running"]
            write_progress(folder, {"done": 2, "to_go_s": 61.0})
            return early, place.call("status", "--json", "--config", TALKER)[1][0]["running"]

    early, later = asyncio.run(run())
    assert (early, later) == ({}, {"done": 2, "to_go_s": 61.0})
    assert place.call("status", "--json", "--config", TALKER)[1][0]["running"] is None


def test_status_tells_people_how_fast_a_collection_is(place: Place) -> None:
    async def run() -> str:
        async with collecting(place.root / "home", TALKER) as folder:
            write_progress(folder, {"done": 2, "rate": 0.5, "to_go_s": 61.0})
            return place.call("status", "--config", TALKER)[2]

    assert "collecting, 2 done, 30.0 prompts a minute, about 61 s to go" in asyncio.run(run())


def test_collecting_anew_keeps_the_old_and_asks_once(place: Place) -> None:
    place.collect()
    old = build_responses(place.config, place.prompts, place.store)
    words = ("recollect", TALKER, "--prompt", "p001", "--by", "an engineer", "--reason", "cut off by a bug")
    _, document, _ = place.call(*words, "--json")
    assert document == {"config": TALKER, "marked": 1, "responses": [old["response_id"][1]]}
    waiting = build_responses(place.config, place.prompts, place.store)
    assert waiting["code"].to_list() == [None, "not_attempted", None, None]
    done, sent = place.collect()
    assert (sent, done.reused, done.answered) == (1, 3, 4)
    new = build_responses(place.config, place.prompts, place.store)
    assert new["repeat"].to_list() == [0, 1, 0, 0]
    assert new["status"].to_list() == ["ok"] * 4
    assert new["response_id"][1] != old["response_id"][1]
    assert new["response_id"].to_list()[2:] == old["response_id"].to_list()[2:]
    assert place.collect()[1] == 0
    kept = [record["response_id"] for _, record in place.store.records("attempts")]
    assert old["response_id"][1] in kept
    ((_, record),) = place.store.records("superseded")
    assert (record["author"], record["reason"], record["prompt"]) == ("an engineer", "cut off by a bug", "p001")
    assert record["at"].endswith("+00:00")
    _, (row,), _ = place.call("status", "--json", "--config", TALKER)
    assert (row["ok"], row["superseded"]) == (4, 1)
    assert place.call(*words, "--json")[1]["marked"] == 1, "the repeat can be collected anew too"
    place.collect()
    assert build_responses(place.config, place.prompts, place.store)["repeat"].to_list() == [0, 2, 0, 0]


def test_answered_responses_are_frozen(place: Place) -> None:
    place.collect()
    ids = build_responses(place.config, place.prompts, place.store)["response_id"].to_list()
    words = ("recollect", TALKER, "--by", "e", "--reason", "r")
    status, _, said = place.call(*words, frozen=frozenset({ids[2]}))
    assert status == 2
    assert ids[2] in said
    assert "s2s ratings withdraw" in said
    assert list(place.store.records("superseded")) == []
    status, document, _ = place.call(*words, "--prompt", "p000", "--json", frozen=frozenset({ids[2]}))
    assert (status, document["marked"]) == (0, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("recollect", "nobody|x|none", "--by", "e", "--reason", "r"), "nobody|x|none"),
        (("recollect", TALKER, "--by", "e", "--reason", "r", "--prompt", "p123"), "p123"),
        (("recollect", TALKER, "--by", " ", "--reason", "r"), "--by and --reason"),
        (("estimate", "--config", "nobody|x|none"), "nobody|x|none"),
        (("status", "--config", "nobody|x|none"), "nobody|x|none"),
    ],
)
def test_a_wrong_call_ends_in_two(place: Place, words: tuple[str, ...], message: str) -> None:
    place.collect()
    status, _, said = place.call(*words)
    assert status == 2
    assert message in said


def test_tables_for_people(place: Place) -> None:
    place.collect(["plain", "no_audio", "plain"])
    said = place.call("estimate")[2]
    assert "other|marin|none" in said
    assert "1 exchanges" not in said.splitlines()[0]
    for words in ("unknown", "acme", "1000.00 USD", "prices: prices-"):
        assert words in said
    assert "\n5 exchanges, " in said
    assert ", about 1.30 USD and what unheard cost; prices:" in said
    said = place.call("status")[2]
    for words in ("3/4", "1 empty_audio", "USD"):
        assert words in said
    words = ("recollect", TALKER, "--by", "e", "--reason", "r")
    assert "3 responses marked; the next collection asks for them anew" in place.call(*words)[2]
    assert "0 responses marked; what is marked already" in place.call(*words)[2]


def test_no_name_is_cut_where_the_output_is_narrow(place: Place) -> None:
    long = "an-audio-model-with-a-long-name-preview-12-2026"
    text = (place.root / "study.yaml").read_text()
    (place.root / "study.yaml").write_text(text.replace("id: other", f"id: {long}").replace("unheard", f"by-{long}"))
    for command in ("estimate", "status"):
        said = place.call(command, columns=80)[2]
        assert f"{long}|marin|none" in said
        assert "…" not in said
    assert f"by-{long} " in place.call("estimate", columns=80)[2]


@pytest.fixture
def unprepared(place: Place) -> Place:
    """A place whose recordings are not normalized yet: two scripts with a take, of which one has a second, worse one."""
    (place.root / "home" / "store" / "small" / "heads" / "normalized_audio" / "all" / "HEAD").unlink()
    return place


def _record(root: Path) -> None:
    """Recordings of 1 s and 3 s for two of three scripts, and one of 9 s that was rejected."""
    (root / "prompts.csv").write_text(
        "prompt,text,category,level\np1,Say it.,facts,L1\np2,And this.,facts,L1\np3,Not said.,facts,L1\n"
    )
    (root / "recordings.csv").write_text(
        "recording,prompt,file,verdict,verdict_reason,verdict_by\n"
        "a,p1,a.wav,accept,,me\nb,p2,b.wav,accept,,me\nc,p2,c.wav,reject,cough,me\n"
    )
    (root / "recordings").mkdir()
    for name, seconds in (("a", 1), ("b", 3), ("c", 9)):
        tone = 0.2 * np.sin(np.arange(24_000 * seconds) / 20)
        sf.write(root / "recordings" / f"{name}.wav", tone, 24_000)


def test_before_there_is_anything_to_tell_by(unprepared: Place) -> None:
    status, _, said = unprepared.call("estimate")
    assert status == 2
    assert "recordings.csv" in said
    status, rows, _ = unprepared.call("status", "--json")
    assert (status, [row["planned"] for row in rows]) == (0, [0, 0])


def test_an_estimate_from_the_recordings_alone(unprepared: Place) -> None:
    _record(unprepared.root)
    status, document, _ = unprepared.call("estimate", "--json", "--config", TALKER)
    (talker,) = document["configs"]
    assert (status, document["prompts"], document["prompts_from"]) == (0, 2, "recorded_prompts")
    assert (talker["exchanges"], talker["prompt_s"]) == (2, pytest.approx(2.0))
    assert talker["cost_usd"] == pytest.approx(2 * (2 + 15), abs=0.01)
    assert "2 selected recordings" in unprepared.call("estimate")[2]
    assert unprepared.store.head("recorded_prompts", None) is None, "nothing is stored by asking"


def test_an_estimate_from_the_recordings_table(unprepared: Place) -> None:
    _record(unprepared.root)
    folder = load_study(unprepared.root)
    read = {r.file: (unprepared.root / "recordings" / r.file).read_bytes() for r in folder.recordings}
    table = record_prompts(folder.scripts, folder.recordings, read.get, folder.study.qa, unprepared.store.put_blob)
    store = unprepared.store
    store.set_head("recorded_prompts", None, store.write_table("recorded_prompts", None, table).version)
    for file in read:
        (unprepared.root / "recordings" / file).unlink()
    assert unprepared.call("estimate", "--json")[1]["configs"][0]["prompt_s"] == pytest.approx(2.0)
