"""A small study with real audio, its server as a process, and a browser."""

import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from starlette.testclient import TestClient

from s2s_assets.audio import Clip, encode_flac
from s2s_assets.prompts import record_prompts
from s2s_assets.ratings import RatingsStore, invite, upsert_tasks, utc_now
from s2s_assets.ratings.access import make_access
from s2s_assets.ratings.app.main import create_app
from s2s_assets.ratings.check_sounds import tones_due
from s2s_assets.ratings.invitations import link
from s2s_assets.ratings.sittings import by_token
from s2s_assets.storage import StudyStore, open_engine, open_store
from s2s_assets.study import Recording, Settings, load_study

STUDY = """\
study: lab
title: Speech lab
rubrics:
  - {id: helpfulness, group: content, question: "Which response is more useful?", help: "Correct, relevant, complete."}
  - {id: reasoning, group: content, gate: needs_reasoning, question: "Which response thinks it through better?"}
  - {id: naturalness, group: humanness, question: "Which voice sounds more like a person?", help: Not whether you like it.}
  - {id: audio_quality, group: technical, question: "Which recording sounds cleaner?"}
  - {id: overall, group: overall, question: "All things considered, which response is better?"}
tags: [needs_reasoning]
models:
  - id: m0
    name: M Zero
    family: M
    provider: lab
    adapter: openai_realtime
    voices: [{id: v}, {id: w}, {id: x}, {id: y}]
sessions: {tasks: 3, control_share: 0, headphones: "off"}
"""
USUAL = 'tasks: 3, control_share: 0, headphones: "off"'
RATE_HZ = 24_000
VOICES = "vwxy"
PAIRS = tuple(a + b for a, b in itertools.combinations(VOICES, 2))
AXE = """() => axe.run(document, {runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}})
  .then(found => found.violations.map(v => `${v.id}: ${v.nodes[0].html.slice(0, 160)}`))"""


def a_sound(seed: int, duration_s: float = 0.6) -> bytes:
    """Noise with the loudness of speech."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    samples = 0.12 * np.sin(2 * np.pi * (180 + 20 * seed) * t) + 0.03 * rng.standard_normal(len(t))
    return encode_flac(Clip(samples[:, None], RATE_HZ), 24)


@dataclass
class Lab:
    """A study folder, its database and its store."""

    root: Path
    database_url: str
    environment: dict[str, str] = field(default_factory=dict)
    plan: pl.DataFrame = field(default_factory=pl.DataFrame)
    """What raters were given to begin with, `media` what there is to hear of it."""
    media: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def settings(self) -> Settings:
        return Settings.from_environment(self.environment)

    @property
    def ratings(self) -> RatingsStore:
        return RatingsStore(open_engine(self.database_url), "lab")

    def write(self, study: str, prompts: int, pairs: Sequence[str]) -> None:
        """The study's files, its audio and its plan."""
        folder = self.root / "study"
        folder.mkdir()
        (folder / "study.yaml").write_text(study)
        rows = [f"p{k},say {k},facts,L1,{'needs_reasoning' if k % 2 else ''}" for k in range(prompts)]
        (folder / "prompts.csv").write_text("\n".join(["prompt,text,category,level,tags", *rows]) + "\n")
        (folder / "recordings.csv").write_text("recording,prompt,file\n")
        self.environment = {
            "S2S_STUDY": str(folder),
            "S2S_HOME": str(self.root / "home"),
            "S2S_DATABASE_URL": self.database_url,
        }
        store = StudyStore(open_store(self.settings.store), "lab")
        store.claim()
        self.plan, self.media = planned(store, prompts, pairs)
        upsert_tasks(self.ratings, self.plan, self.media)

    def link(self, address: str, **options: Any) -> str:
        """A new invitation's link."""
        token = invite(self.ratings, utc_now(), **options)
        return link(address, token, options.get("panel", "personal"))

    @contextmanager
    def serving(self, *words: str, port: int = 0, **more: str) -> Iterator["Server"]:
        """The server as a process of its own."""
        command = [sys.executable, "-c", "from s2s_assets.cli import main; main()", "ratings", "serve"]
        environment = {**os.environ, **self.environment, **more}
        process = subprocess.Popen(
            [*command, "--port", str(port), *words], env=environment, stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield Server(line.split()[-1], process)
        finally:
            process.terminate()
            process.wait(20)


@dataclass
class Server:
    """A running server."""

    address: str
    process: "subprocess.Popen[str]"

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def workers(self) -> list[int]:
        """Process ids of those that answer."""
        found = []
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                text = status.read_text()
                command = (status.parent / "cmdline").read_text()
            except OSError:
                continue
            if f"PPid:\t{self.process.pid}\n" in text and "spawn_main" in command:
                found.append(int(status.parent.name))
        return found


def a_take(seed: int, noise: float = 0.0002, duration_s: float = 1.6) -> np.ndarray:
    """Syllables of a gliding tone with pauses between them, in noise; shape (frames, 1)."""
    t = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    voice = sum(np.sin(2 * np.pi * k * (140 * t + 30 * t**2)) / k for k in range(1, 12))
    syllables = np.clip(1.6 * np.sin(2 * np.pi * (2.2 + 0.2 * seed) * t - 0.6), 0, 1)
    return (0.1 * voice * syllables + noise * np.random.default_rng(seed).standard_normal(len(t)))[:, None]


def with_recordings(lab: Lab) -> Lab:
    """Takes of the first scripts in `recorded_prompts`: two good ones, a clipped one, a stereo one, one that is no audio."""
    folder = load_study(lab.settings.study)
    store = StudyStore(open_store(lab.settings.store), "lab")
    files = {
        "p0-a.flac": encode_flac(Clip(a_take(1), RATE_HZ)),
        "p0-b.flac": encode_flac(Clip(a_take(2, noise=0.001), RATE_HZ)),
        "p0-c.flac": encode_flac(Clip(np.clip(30 * a_take(3), -1, 1), RATE_HZ), 16),
        "p1-a.flac": encode_flac(Clip(np.tile(a_take(4), (1, 2)), RATE_HZ)),
        "p2-a.flac": b"<html>not found</html>",
    }
    takes = [Recording(recording=f[:4], prompt=f[:2], file=f, speaker="eve", line=2) for f in files]
    frame = record_prompts(folder.scripts, takes, files.get, folder.study.qa, store.put_blob)
    store.set_head("recorded_prompts", None, store.write_table("recorded_prompts", None, frame).version)
    return lab


def planned(store: StudyStore, prompts: int, pairs: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """These pairs of four configs on every prompt, twice; and what is heard."""
    plan = [
        {
            "epoch": 1,
            "pair": f"pair-{p}-{a}-{b}",
            "prompt": f"p{p}",
            "config_a": f"m0|{a}|none",
            "config_b": f"m0|{b}|none",
            "response_a": f"r-{p}-{a}",
            "response_b": f"r-{p}-{b}",
            "slot": slot,
            "first": "ab"[slot],
            "source": "baseline",
        }
        for p, (a, b), slot in itertools.product(range(prompts), pairs, range(2))
    ]
    heard = [("prompt", f"p{p}", store.put_blob(a_sound(p, 0.5), "flac"), 0.5) for p in range(prompts)]
    for p, (k, v) in itertools.product(range(prompts), enumerate(VOICES)):
        heard.append(("response", f"r-{p}-{v}", store.put_blob(a_sound(100 + 10 * p + k), "flac"), 0.6))
    return pl.DataFrame(plan), pl.DataFrame(heard, schema=["kind", "subject", "blob", "duration_s"], orient="row")


@pytest.fixture
def make_lab(tmp_path: Path, database_url: str) -> Callable[..., Lab]:
    """Makes a study; `sessions` replaces its line of that name."""

    def make(sessions: str = USUAL, prompts: int = 6, pairs: Sequence[str] = PAIRS, **replaced: str) -> Lab:
        text = STUDY.replace(USUAL, sessions)
        for old, new in replaced.items():
            text = text.replace(old, new)
        lab = Lab(tmp_path, database_url)
        lab.write(text, prompts, pairs)
        return lab

    return make


class Visitor:
    """A rater without a browser: asks for pages, sends forms, claims to have heard."""

    def __init__(self, client: TestClient, ratings: RatingsStore, clock: Any) -> None:
        self.client = client
        self.ratings = ratings
        self.clock = clock
        self.page = ""

    def get(self, path: str, **options: Any) -> Any:
        response = self.client.get(path, **options)
        self.page = response.text
        return response

    def post(self, path: str, **fields: str) -> Any:
        response = self.client.post(path, data=fields)
        self.page = response.text
        return response

    def begin(self, link: str) -> "Visitor":
        """Consent and the sound check."""
        self.get(link)
        self.agree()
        assert "/sound/0" in self.page, self.page
        token = next(value for name, value in self.client.cookies.items() if name.endswith("s2s"))
        sat = by_token(self.ratings, token)
        assert sat is not None
        self.name = sat.name
        self.rater = sat.rater.name
        self.post("/sound", attempt="0", answer=str(tones_due(sat.name, 0)))
        return self

    def agree(self) -> Any:
        """Tick the box of the consent page that is shown."""
        return self.post("/consent", agree="yes", text=self.text)

    @property
    def text(self) -> str:
        """The version of the consent page that is shown."""
        return re.findall(r'name="text" value="([^"]+)"', self.page)[0]

    @property
    def nonce(self) -> str:
        return re.findall(r'name="nonce" value="([^"]+)"', self.page)[0]

    @property
    def media(self) -> list[str]:
        return re.findall(r'data-src="([^"]+)"', self.page)

    @property
    def questions(self) -> list[str]:
        return list(dict.fromkeys(re.findall(r'name="(q\.[^"]+)"', self.page)))

    @property
    def ended(self) -> bool:
        return 'class="code"' in self.page

    def answer(self, value: int = 1, wait_s: float = 10.0, **more: str) -> Any:
        """Hear everything, answer the page that is shown."""
        self.clock.wind(seconds=wait_s)
        played = {role: {"coverage": 1, "plays": 1, "rate": 1} for role in ("prompt", "first", "second")}
        fields = {"nonce": self.nonce, "played": json.dumps(played)} | dict.fromkeys(self.questions, str(value))
        return self.post("/task", **{**fields, **more})

    def train(self) -> "Visitor":
        """The training pair."""
        while "One to try" in self.page:
            self.answer()
        return self

    def do_task(self, value: int = 1) -> None:
        """Every page of the task that is shown."""
        nonce = self.nonce
        while not self.ended and self.nonce == nonce:
            self.answer(value)

    def do_all(self, value: int = 1) -> None:
        """Everything until the code."""
        while not self.ended:
            self.answer(value)

    def sign(self, page: str, author: str = "eve", reason: str = "heard noise", **changed: str) -> Any:
        """Send the form of an admin page by which something is decided."""
        path, form = re.findall(r'action="([^"]+)" class="decide">(.*?)</form>', self.get(page).text, re.DOTALL)[-1]
        fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
        return self.post(path, **{**fields, "author": author, "reason": reason, **changed})


class Desk:
    """Lets visitors in at the app of one study, at the clock's time."""

    def __init__(self, make_lab: Callable[..., Lab], clock: Any) -> None:
        self._make_lab = make_lab
        self._clock = clock
        self._lab: Lab | None = None
        self._app: Any = None
        self._clients: list[TestClient] = []

    @property
    def clock(self) -> Any:
        return self._clock

    def sound(self, seed: int) -> bytes:
        return a_sound(seed)

    @property
    def lab(self) -> Lab:
        return self._lab or self.lab_with(USUAL)

    def lab_with(self, sessions: str = USUAL, prompts: int = 6, **replaced: str) -> Lab:
        """The study, with rules and texts of its own."""
        self._lab = self._make_lab(sessions, prompts, **replaced)
        return self._lab

    def __call__(self, link: str | None = None, **options: Any) -> Visitor:
        """Somebody new: by a link of their own, by the one given, or (empty) by none."""
        lab = self.lab
        self._app = self._app or create_app(lab.settings, self._clock)
        client = TestClient(self._app, headers={"sec-fetch-site": "same-origin"}, raise_server_exceptions=False)
        self._clients.append(client)
        visitor = Visitor(client, lab.ratings, self._clock)
        if link == "":
            return visitor
        return visitor.begin(lab.link("", **options) if link is None else link)

    def admin(self) -> Visitor:
        """Somebody who has the admin pages open."""
        eve = self("")
        assert eve.post(f"/admin/open/{make_access(self.lab.ratings, self._clock())}").status_code == 200
        return eve

    def close(self) -> None:
        for client in self._clients:
            client.close()


@pytest.fixture
def visit(make_lab: Callable[..., Lab], clock: Any) -> Iterator[Desk]:
    """Lets visitors in."""
    desk = Desk(make_lab, clock)
    yield desk
    desk.close()


@pytest.fixture
def lab(visit: Desk) -> Lab:
    """The usual study, that visitors come to."""
    return visit.lab


@pytest.fixture
def with_takes() -> Callable[[Lab], Lab]:
    """Gives a lab its recordings."""
    return with_recordings


@pytest.fixture(scope="module")
def browser(system_program: Callable[[str], str]) -> Iterator[Any]:
    executable = os.environ.get("CHROMIUM") or system_program("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def axe() -> Callable[[Any], list[str]]:
    spec = importlib.util.find_spec("axe_playwright_python")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    source = (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text()

    def faults(page: Any) -> list[str]:
        page.evaluate(source)
        return list(page.evaluate(AXE))

    return faults
