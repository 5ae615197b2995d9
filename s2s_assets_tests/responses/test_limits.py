"""A provider's slots hold over tasks and processes, and come back whatever happens to their holder."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from s2s_assets.responses import Prompt, ProviderLimits, Request, exchange
from s2s_assets.responses.recorder import Recorder
from s2s_assets_tests.emulators.cascade import CascadeEmulator

HOLDER = """
import asyncio, sys
from pathlib import Path
from s2s_assets.responses import ProviderLimits

async def hold():
    async with ProviderLimits(Path(sys.argv[1]), 1).slot("openai"):
        print("held", flush=True)
        await asyncio.Event().wait()

asyncio.run(hold())
"""


def test_no_more_than_the_limit_at_once(tmp_path: Path) -> None:
    running = most = 0

    async def work(limits: ProviderLimits) -> None:
        nonlocal running, most
        async with limits.slot("openai"):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    async def run() -> None:
        # two limiters stand for two processes: only the folder is shared
        first, second = ProviderLimits(tmp_path, 3), ProviderLimits(tmp_path, 3)
        await asyncio.gather(*(work(limits) for limits in (first, second) * 10))

    asyncio.run(run())
    assert most == 3


def test_providers_do_not_share_slots(tmp_path: Path) -> None:
    async def run() -> None:
        limits = ProviderLimits(tmp_path, 1)
        async with limits.slot("openai"), limits.slot("eleven/labs"):
            pass

    asyncio.run(asyncio.wait_for(run(), 10))


def test_a_killed_holder_gives_its_slot_back(tmp_path: Path) -> None:
    async def run() -> bool:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", HOLDER, str(tmp_path), stdout=asyncio.subprocess.PIPE
        )
        assert child.stdout is not None
        assert await child.stdout.readline() == b"held\n"
        limits = ProviderLimits(tmp_path, 1)
        taken = limits._try(tmp_path / "limits" / "openai") is None
        child.kill()
        await child.wait()
        async with limits.slot("openai"):
            return taken

    assert asyncio.run(asyncio.wait_for(run(), 60))


def test_a_failed_exchange_gives_its_slot_back(tmp_path: Path) -> None:
    async def run() -> None:
        limits = ProviderLimits(tmp_path, 1)
        for _ in range(2):
            try:
                async with limits.slot("openai"):
                    raise RuntimeError
            except RuntimeError:
                pass

    asyncio.run(asyncio.wait_for(run(), 10))


def test_each_stage_of_a_cascade_counts_at_its_own_provider(
    tmp_path: Path, cascade_request: Callable[..., Request], prompt: Prompt
) -> None:
    held: list[str] = []

    class Noted(ProviderLimits):
        @asynccontextmanager
        async def slot(self, provider: str) -> AsyncIterator[None]:
            async with super().slot(provider):
                held.append(provider)
                yield

    async def run() -> str:
        async with CascadeEmulator() as emulator:
            return (await exchange(cascade_request(emulator.url), prompt, Noted(tmp_path, 1))).status

    assert asyncio.run(run()) == "ok"
    assert held == ["elevenlabs", "openai", "elevenlabs"]


def test_waiting_for_a_slot_is_not_part_of_an_exchange(
    tmp_path: Path, realtime_request: Callable[..., Request]
) -> None:
    async def run() -> tuple[float, float]:
        limits = ProviderLimits(tmp_path, 1)
        recorder = Recorder(realtime_request("ws://127.0.0.1:9"), limits)
        loop = asyncio.get_running_loop()
        started = loop.time()
        async with limits.slot("openai"):
            waiting = asyncio.create_task(_enter(recorder))
            await asyncio.sleep(0.1)
        return await waiting, (loop.time() - started) * 1000

    offset_ms, waited_ms = asyncio.run(run())
    assert offset_ms < waited_ms - 80


async def _enter(recorder: Recorder) -> float:
    async with recorder.slot("realtime"):
        return recorder.now_ms()
