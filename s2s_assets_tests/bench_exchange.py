"""Exchanges against an emulator in a process of its own, on this machine's cores: pacing, then throughput.

Paced: 40 at once, prompts of 6 s sent at the speed of speech, answers of 8 s in frames of 100 ms. Their wall time is held
against the longest of them; a frame's lag is how much later it goes out than it is due; a block is how long the event loop
did not come round. Throughput: as many as go without waiting, everything stored in a directory.

Exit status 1 where a bar is missed. Run from the project's root: `python s2s_assets_tests/bench_exchange.py`.
"""

import asyncio
import base64
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import polars as pl

from s2s_assets.audio import encode_flac, from_pcm16, pcm_sha256
from s2s_assets.demo.answers import Answer, Session, SpokenItem
from s2s_assets.demo.realtime_conversation import Conversation
from s2s_assets.demo.realtime_server import RealtimeServer
from s2s_assets.responses import build_responses, collect
from s2s_assets.storage import StudyStore, open_store
from s2s_assets.study import Config, ConfigKey, Exchange, Model, Provider, Voice
from s2s_assets_tests.emulators.voices import speech

AT_ONCE, PROMPT_S, ANSWER_S = 40, 6.0, 8.0
PROMPTS, CONFIGS = 200, 4
KEY = "sk-bench-0123456789"
WALL_BAR, LAG_BAR_MS, BLOCK_BAR_MS = 1.05, 20.0, 50.0
RATE_BAR, MEMORY_BAR_MB = 40.0, 600.0
_TICK_S = 0.002


class Speaker(Conversation):
    """Says the same 8 s to everybody, in frames of 100 ms that are encoded once."""

    chunk_ms = 100
    frames: ClassVar[list[str]] = []

    async def speak(self, response: str, answer: Answer) -> None:
        steps = list(self.ladder(response, 0, answer.items[0]))
        audio = [step for step in steps if step[0] == "response.output_audio.delta"]
        for kind, fields in steps:
            if kind != "response.output_audio.delta":
                await self.send(kind, **fields)
            elif fields is audio[0][1]:
                await self._say(response, fields)

    def deltas(self, part: Any, item: SpokenItem) -> Any:
        """One stands for all of them; `_say` sends them."""
        yield "response.output_audio_transcript.delta", {**part, "delta": item.text}
        yield "response.output_audio.delta", {**part, "delta": ""}

    async def _say(self, response: str, fields: dict[str, Any]) -> None:
        head = json.dumps({"type": "response.output_audio.delta", **{k: v for k, v in fields.items() if k != "delta"}})
        for frame in self.frames:
            await self.socket.send(f'{head[:-1]}, "delta": "{frame}"}}')


async def serve() -> None:
    """The emulator's process."""
    pcm = speech("the answer", ANSWER_S)
    item = SpokenItem("final_answer", "Eight seconds of an answer " * 4, pcm)
    step = 24_000 * Speaker.chunk_ms // 1000 * 2
    Speaker.frames[:] = [base64.b64encode(pcm[at : at + step]).decode() for at in range(0, len(pcm), step)]

    async def answer(prompt: bytes, session: Session) -> Answer:
        return Answer((item,), None)

    async with RealtimeServer(answer, conversation=Speaker) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


def config(number: int = 0) -> Config:
    """A config of the emulator's."""
    model = Model(
        id=f"bench-{number}",
        name="Bench",
        family="bench",
        provider="bench",
        adapter="openai_realtime",
        settings={"model": "bench"},
        base_url_env="BENCH_URL",
        key_env="BENCH_KEY",
        voices=(Voice(id="marin"),),
    )
    key = ConfigKey(model.id, "marin", "none")
    return Config(key=key, model=model, voice=model.voices[0], thinking="none", instruction="Answer.")


def make_prompts(store: StudyStore, count: int) -> pl.DataFrame:
    """The columns of `normalized_audio` that a collection reads."""
    rows = []
    for number in range(count):
        clip = from_pcm16(speech(f"prompt {number}", PROMPT_S), 24_000)
        blob = store.put_blob(encode_flac(clip), "flac")
        facts = {"audio_blob": blob, "pcm_sha256": pcm_sha256(clip), "duration_s": clip.duration_s}
        rows.append({"prompt": f"p{number:04d}", "status": "ok", **facts})
    return pl.DataFrame(rows)


class Watch:
    """How long the event loop does not come round."""

    def __init__(self) -> None:
        self.worst_s = 0.0

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(_TICK_S)
            self.worst_s = max(self.worst_s, loop.time() - before - _TICK_S)


async def run(
    configs: list[Config], prompts: pl.DataFrame, store: StudyStore, home: Path, url: str, pace: float
) -> tuple[float, float]:
    """Collect some configs one after another; wall time and longest block, seconds."""
    terms = Exchange(pace=pace, attempts=1, connect_timeout_s=60)
    environ, watch = {"BENCH_URL": url, "BENCH_KEY": KEY}, Watch()
    watching = asyncio.create_task(watch.run())
    started = time.monotonic()
    for one in configs:
        await collect(
            one, prompts, store, terms, providers={"bench": Provider(concurrency=AT_ONCE)}, home=home, environ=environ
        )
    wall_s = time.monotonic() - started
    watching.cancel()
    return wall_s, watch.worst_s


def lags_ms(store: StudyStore, table: pl.DataFrame) -> np.ndarray:
    """How much later than due each frame went out."""
    lags = []
    for row in table.iter_rows(named=True):
        events = [json.loads(line) for line in gzip.decompress(store.get_blob(row["events_blob"])).splitlines()]
        sent = [e["at_ms"] for e in events if e["event"].get("type") == "input_audio_buffer.append"]
        due = row["configured_ms"] + 100 * (1 + np.arange(len(sent)))
        lags.append(np.array(sent) - due)
    return np.concatenate(lags)


def told(what: str, value: float, bar: float, unit: str, *, least: bool = False) -> bool:
    """Print one line of the table; whether it holds its bar."""
    held = value >= bar if least else value <= bar
    print(f"{what:<46} {value:8.3f} {unit:<10} (bar {bar:g}){'' if held else '   MISSED'}", flush=True)
    return held


def main() -> int:
    """Print the table; 1 where a bar is missed."""
    server = subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory(prefix="s2s_bench_", dir=os.environ.get("BENCH_DIR")) as folder:
            held = [*paced(Path(folder) / "paced", url), *throughput(Path(folder) / "fast", url)]
    finally:
        server.kill()
        server.wait()
    return int(not all(held))


def paced(root: Path, url: str) -> list[bool]:
    """40 at once at the speed of speech."""
    store = StudyStore(open_store(f"file:{root / 'store'}"), "bench")
    prompts = make_prompts(store, AT_ONCE)
    wall_s, block_s = asyncio.run(run([config()], prompts, store, root, url, 1.0))
    table = build_responses(config(), prompts, store)
    assert set(table["status"]) == {"ok"}, table["message"].to_list()
    lag = lags_ms(store, table)
    longest_s = float(table["done_ms"].max()) / 1000  # type: ignore[arg-type]
    print(f"{AT_ONCE} exchanges at once, {PROMPT_S:g} s at the speed of speech, {ANSWER_S:g} s of answer")
    return [
        told("wall time over the longest exchange", wall_s / longest_s, WALL_BAR, ""),
        told("frame lag, 99th percentile", float(np.percentile(lag, 99)), LAG_BAR_MS, "ms"),
        told("longest block of the event loop", 1000 * block_s, BLOCK_BAR_MS, "ms"),
    ]


def throughput(root: Path, url: str) -> list[bool]:
    """As many as go."""
    store = StudyStore(open_store(f"file:{root / 'store'}"), "bench")
    prompts = make_prompts(store, PROMPTS)
    rates, memory_mb = [], []
    for number in range(CONFIGS):
        wall_s, _ = asyncio.run(run([config(number)], prompts, store, root, url, 0.0))
        assert set(build_responses(config(number), prompts, store)["status"]) == {"ok"}
        rates.append(PROMPTS / wall_s)
        memory_mb.append(resident_mb())
    print(
        f"{PROMPTS} prompts × {CONFIGS} configs without waiting, all stored; by config: {np.round(rates, 1).tolist()}"
    )
    return [
        told("exchanges a second", PROMPTS * CONFIGS / sum(PROMPTS / r for r in rates), RATE_BAR, "1/s", least=True),
        told("memory at the most", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, MEMORY_BAR_MB, "MB"),
        told("memory grown from the second config to the last", memory_mb[-1] - memory_mb[1], 50.0, "MB"),
    ]


def resident_mb() -> float:
    """Memory held now."""
    pages = int(Path("/proc/self/statm").read_text("utf-8").split()[1])
    return pages * resource.getpagesize() / 2**20


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        sys.exit(main())
