"""A partition that is killed again and again, at random moments, and is whole in the end.

`KILLS=50 pytest s2s_assets_tests/responses/test_kills.py` kills fifty times; by default it is eight.
"""

import asyncio
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl

from s2s_assets.audio import decode, pcm16
from s2s_assets.responses import build_responses, collect
from s2s_assets.storage import StudyStore, open_store
from s2s_assets.study import sha256_hex
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.responses.conftest import KEY, make_config
from s2s_assets_tests.responses.test_collect import TERMS

KILLS = int(os.environ.get("KILLS", "8"))
A_LIFE = 6
"""Prompts that a life may send at most, about."""
COLUMNS = [
    "response_id",
    "prompt",
    "status",
    "pcm_sha256",
    "duration_s",
    "output_transcript",
    "repeat",
    "stage",
    "code",
]
CHILD = """
import asyncio, sys
from pathlib import Path
import polars as pl
from s2s_assets.responses import collect
from s2s_assets.storage import StudyStore, open_store
from s2s_assets_tests.responses.conftest import KEY, make_config
from s2s_assets_tests.responses.test_collect import TERMS

root, url = Path(sys.argv[1]), sys.argv[2]
store, prompts = StudyStore(open_store(f"file:{root / 'store'}"), "study"), pl.read_parquet(root / "prompts.parquet")
environ = {"S2S_TEST_URL": url, "S2S_TEST_KEY": KEY}
print("ready", flush=True)
sys.stdin.readline()
asyncio.run(collect(make_config(), prompts, store, TERMS, home=root, environ=environ))
"""


class Lives:
    """Processes that collect, each killed at a random moment."""

    def __init__(self) -> None:
        self.random = random.Random(7)
        self.turns = 0
        self.turned = asyncio.Event()

    def count(self, turns: int) -> None:
        self.turns = turns
        self.turned.set()

    async def live(self, child: asyncio.subprocess.Process) -> None:
        """Let a process collect for some prompts and some milliseconds, then kill it."""
        assert child.stdin is not None
        assert child.stdout is not None
        assert await child.stdout.readline() == b"ready\n"
        until = self.turns + self.random.randrange(A_LIFE)
        child.stdin.write(b"go\n")
        await child.stdin.drain()
        dead = asyncio.create_task(child.wait())
        while self.turns < until and not dead.done():
            self.turned.clear()
            turned = asyncio.create_task(self.turned.wait())
            await asyncio.wait({turned, dead}, return_when=asyncio.FIRST_COMPLETED)
            turned.cancel()
        await asyncio.sleep(self.random.uniform(0, 0.03))
        if not dead.done():
            child.send_signal(signal.SIGKILL)
        await dead


async def _start(root: Path, url: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(sys.executable, "-c", CHILD, str(root), url, stdin=pipe, stdout=pipe)


async def _collect(frame: pl.DataFrame, store: StudyStore, home: Path, url: str) -> None:
    environ = {"S2S_TEST_URL": url, "S2S_TEST_KEY": KEY}
    await collect(make_config(), frame, store, TERMS, home=home, environ=environ)


def _answered(store: StudyStore) -> set[str]:
    return {record["prompt"] for _, record in store.records("attempts") if record["status"] == "ok"}


def _place(root: Path, prompts: Callable[[StudyStore, int], pl.DataFrame]) -> tuple[StudyStore, pl.DataFrame]:
    store = StudyStore(open_store(f"file:{root / 'store'}"), "study")
    frame = prompts(store, KILLS * A_LIFE)
    frame.write_parquet(root / "prompts.parquet")
    return store, frame


def test_kills_lose_nothing_and_pay_twice_only_for_what_was_under_way(
    prompts: Callable[[StudyStore, int], pl.DataFrame], tmp_path: Path
) -> None:
    store, frame = _place(tmp_path / "killed", prompts)
    rows = frame.filter(pl.col("status") == "ok").select("prompt", "audio_blob").iter_rows()
    names = {sha256_hex(pcm16(decode(store.get_blob(blob), prompt).samples)): prompt for prompt, blob in rows}
    moments: list[tuple[set[str], int]] = []

    async def run() -> list[str]:
        lives = Lives()
        async with OpenAIEmulator(on_turn=lives.count) as emulator:
            following = await _start(tmp_path / "killed", emulator.url)
            for _ in range(KILLS):
                # the next process starts up while this one lives
                child, following = following, await _start(tmp_path / "killed", emulator.url)
                await lives.live(child)
                moments.append((_answered(store), len(emulator.seen)))
            following.kill()
            await following.wait()
            await _collect(frame, store, tmp_path / "killed", emulator.url)
            return [names[sha256_hex(turn.prompt)] for turn in emulator.seen]

    sent = asyncio.run(run())
    assert len(moments[-1][0]) < len(names), "the last kill came after the last prompt: give it more of them"
    for answered, seen in moments:
        assert not answered & set(sent[seen:]), "what was stored is never sent again"
    assert set(sent) == set(names.values())
    assert len(sent) - len(names) <= KILLS * TERMS.concurrency
    assert {path.name for path in (tmp_path / "killed" / "limits").glob("*/*")} == {"state"}
    whole = build_responses(make_config(), frame, store)
    assert set(whole["status"]) == {"ok"}

    async def undisturbed() -> pl.DataFrame:
        calm, calm_frame = _place(tmp_path / "calm", prompts)
        async with OpenAIEmulator() as emulator:
            await _collect(calm_frame, calm, tmp_path / "calm", emulator.url)
        return build_responses(make_config(), calm_frame, calm)

    assert whole.select(COLUMNS).equals(asyncio.run(undisturbed()).select(COLUMNS))
