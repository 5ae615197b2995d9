"""A whole small study in a test: a folder, a speaking server, Dagster on disk, raters who vote."""

import asyncio
import io
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import numpy as np
import soundfile as sf
import yaml

from s2s_assets.audio import pcm16
from s2s_assets.definitions import defs
from s2s_assets.demo.answers import RATE_HZ, Answer, Session, SpokenItem
from s2s_assets.demo.realtime_server import RealtimeServer
from s2s_assets.orchestration import Driver, RunFailedError, StudyResource
from s2s_assets.ratings import RatingsStore, judge, read_ratings
from s2s_assets.ratings import import_ratings as store_ratings
from s2s_assets.responses import stored_attempts
from s2s_assets.storage import StudyStore
from s2s_assets.study import RecordingVerdict, StudyFolder

QUALITY = {"red": 1.2, "green": 0.0, "blue": -1.0, "gold": 0.6}
PATIENCE = {"connect_timeout_s": 120, "first_event_timeout_s": 120, "idle_timeout_s": 120}
"""A busy machine must not look like a silent server: nothing is tried again here."""
RUBRICS = ["understanding", "naturalness", "audio_quality", "overall"]


def speech_like(seconds: float, seed: int, rate_hz: int = 16_000) -> np.ndarray:
    """Noise in syllables, enough for levels and loudness."""
    t = np.arange(int(seconds * rate_hz)) / rate_hz
    noise = np.random.default_rng(seed).normal(0, 0.05, len(t))
    return noise * np.clip(np.sin(2 * np.pi * 2.5 * t + seed), 0.01, 1)


@dataclass
class Speaker:
    """Systems under test that answer with a tone of their own; counts what it was asked."""

    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    dead: set[str] = field(default_factory=set)
    hold_after: int | None = None
    """Answer no more once so many prompts were heard; whoever waits, waits."""
    held: threading.Event = field(default_factory=threading.Event)

    async def answer(self, pcm: bytes, session: Session) -> Answer:
        self.asked[session.model, session.voice] += 1
        if self.hold_after is not None and self.asked.total() > self.hold_after:
            self.held.set()
            await asyncio.Event().wait()
        if session.model in self.dead:
            return Answer(items=())
        hz = 200 + 40 * (sorted(QUALITY).index(session.model) + 1)
        tone = 0.2 * np.sin(2 * np.pi * hz * np.arange(int(0.7 * RATE_HZ)) / RATE_HZ)
        return Answer((SpokenItem("final_answer", "A tone.", pcm16(tone[:, None])),), "words")


@contextmanager
def serving(speaker: Speaker) -> Iterator[str]:
    """The speaker's address, served from a thread of its own."""
    loop, ready, stop, address = asyncio.new_event_loop(), threading.Event(), asyncio.Event(), []

    async def serve() -> None:
        async with RealtimeServer(speaker.answer) as server:
            address.append(server.url)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    ready.wait()
    yield address[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join(timeout=10)


def write_study(folder: Path, models: list[str], collect: str = "auto", study: str = "flow", **more: object) -> None:
    """A study of three prompts and two voices a model."""
    (folder / "recordings").mkdir(parents=True, exist_ok=True)
    document = {
        "study": study,
        "title": "A small study",
        "collect": collect,
        "categories": [{"id": "facts"}, {"id": "advice"}],
        "rubrics": [
            {"id": r, "group": g, "question": f"Which is better: {r}?"}
            for r, g in zip(RUBRICS, ["content", "humanness", "technical", "overall"], strict=True)
        ],
        "models": [
            {
                "id": m,
                "name": m.title(),
                "family": m,
                "provider": "loopback",
                "adapter": "openai_realtime",
                "settings": {"model": m},
                "base_url_env": "FLOW_URL",
                "key_env": "FLOW_KEY",
                "voices": [{"id": "ann", "gender": "female"}, {"id": "bob", "gender": "male"}],
            }
            for m in models
        ],
        "exchange": {"pace": 0, "attempts": 1, "concurrency": 2, **PATIENCE},
        "refit": {"settle_s": 5},
        "analysis": {"resamples": 60, "simulated": True, "min_slice_ratings": 100_000},
        **more,
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(document))
    rows = ["prompt,category,level,text,acoustic,tags,split"]
    takes = ["recording,prompt,file"]
    for n in range(4):
        rows.append(f"p{n},{'facts' if n % 2 else 'advice'},L{n + 1},secret words {n},clean,,private")
        takes.append(f"p{n}-a,p{n},p{n}.wav")
        sf.write(folder / "recordings" / f"p{n}.wav", speech_like(1.0, n), 16_000)
    (folder / "prompts.csv").write_text("\n".join(rows) + "\n")
    (folder / "recordings.csv").write_text("\n".join(takes) + "\n")


@dataclass
class Flow:
    """The study, driven."""

    root: Path
    driver: Driver
    speaker: Speaker
    batches: int = 0

    @property
    def instance(self) -> dg.DagsterInstance:
        return self.driver.instance

    @property
    def resource(self) -> StudyResource:
        return StudyResource()

    @property
    def folder(self) -> StudyFolder:
        return self.resource.folder()

    @property
    def store(self) -> StudyStore:
        return self.resource.store(self.folder.study)

    @property
    def database(self) -> RatingsStore:
        return RatingsStore(self.resource.engine(), self.folder.study.study)

    def frame(self, asset: str, partition: str | None = None):
        version = self.store.head(asset, partition)
        assert version is not None, f"nothing stored of {asset} {partition}"
        return self.store.read_table(asset, partition, version).frame

    def metadata(self, asset: str) -> dict:
        event = self.instance.get_latest_materialization_event(dg.AssetKey(asset))
        return {k: v.value for k, v in event.asset_materialization.metadata.items()}

    def launch(self, request: dg.RunRequest) -> bool:
        """Run what a sensor asked for; False when the run failed, and says why in the test's output."""
        try:
            self.driver.run_job(request.job_name, partition=request.partition_key, tags=request.tags)
        except RunFailedError as error:
            print(error)
            return False
        return True

    def settle(self, sensor: str) -> list[bool]:
        """Tick a sensor and launch what it asks for, until it asks for nothing; whether each run succeeded."""
        self.driver.tick(sensor)
        done = []
        while requests := self.driver.tick(sensor):
            done += [self.launch(request) for request in requests]
        return done

    def to_plan(self) -> None:
        """From recordings to tasks in the ratings database."""
        self.driver.run_job("prepare")
        assert all(self.settle("registry_to_responses"))
        assert all(self.settle("cells_to_plan"))

    def accept(self, recording: str) -> None:
        """A reviewer's verdict of two minutes ago: the take is good."""
        recorded = self.frame("recorded_prompts")
        row = recorded.filter(recording=recording).row(0, named=True)
        verdict = RecordingVerdict(
            prompt=row["prompt"],
            recording=recording,
            source_blob=row["source_blob"],
            verdict="accept",
            author="ann",
            created_at=datetime.now(UTC) - timedelta(minutes=2),
        )
        judge(self.database, recorded, verdict)

    def stored_answers(self, key: str) -> int:
        """Responses of a config that have a stored success."""
        config = self.folder.study.config(key)
        assert config is not None
        attempts = stored_attempts(self.store, config)
        return sum(any(a["status"] == "ok" for a in tries) for tries in attempts.values())

    def vote(self, raters: int = 4, age_s: float = 60.0, always: str | None = None) -> int:
        """A batch of answers to every pair by new raters; the number of rows.

        They follow QUALITY with noise, or a model that always wins by +3.
        """
        self.batches += 1
        rng = np.random.default_rng(self.batches)
        plan = self.frame("pairing_plan").unique("pair").sort("pair")
        when = datetime.now(UTC) - timedelta(seconds=age_s)
        out = io.StringIO(
            "rating_id,prompt,rater,config_a,config_b,response_a,response_b,rubric,score,first,submitted_at\n"
        )
        out.seek(0, io.SEEK_END)
        rows = 0
        for row in plan.iter_rows(named=True):
            for rater in range(raters):
                for rubric in RUBRICS:
                    a, b = (QUALITY[row[f"config_{side}"].split("|")[0]] for side in "ab")
                    score = int(np.clip(np.rint(a - b + rng.logistic(0, 1.0)), -3, 3))
                    score = {(True, False): 3, (False, True): -3}.get(
                        tuple(row[f"config_{side}"].split("|")[0] == always for side in "ab"), score
                    )
                    out.write(
                        f"{self.batches}-{rows},{row['prompt']},b{self.batches}r{rater},{row['config_a']},{row['config_b']},"
                        f"{row['response_a']},{row['response_b']},{rubric},{score},{'ab'[rater % 2]},{when.isoformat()}\n"
                    )
                    rows += 1
        file = self.root / f"batch-{self.batches}.csv"
        file.write_text(out.getvalue())
        assert store_ratings(self.database, read_ratings(file), when).inserted == rows
        return rows


Maker = Callable[..., Flow]


@contextmanager
def running(root: Path, instance: dg.DagsterInstance, models: list[str], speaker: Speaker) -> Iterator[Flow]:
    """A flow on a study folder below `root`."""
    write_study(root / "study", models)
    yield Flow(root, Driver(defs, instance), speaker)
