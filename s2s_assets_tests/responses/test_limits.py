"""A provider's limits hold over tasks and processes, whatever happens to those who hold a place."""

import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from s2s_assets.responses import Outcome, Prompt, ProviderLimits, Request, exchange, tickets
from s2s_assets.responses.recorder import Recorder
from s2s_assets.responses.tickets import Queue, safe_name
from s2s_assets.study import Provider
from s2s_assets_tests.emulators.cascade import CascadeEmulator
from s2s_assets_tests.emulators.openai import OpenAIEmulator

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


async def _work(limits: ProviderLimits, running: list[int], peaks: list[int]) -> None:
    async with limits.slot("openai"):
        running.append(1)
        peaks.append(len(running))
        await asyncio.sleep(0)
        running.pop()


def test_no_more_than_the_limit_at_once(tmp_path: Path) -> None:
    running: list[int] = []
    peaks: list[int] = []

    async def run() -> None:
        # two limiters stand for two processes: only the folder is shared
        first, second = ProviderLimits(tmp_path, 3), ProviderLimits(tmp_path, 3)
        await asyncio.gather(*(_work(limits, running, peaks) for limits in (first, second) * 10))

    asyncio.run(run())
    assert max(peaks) == 3
    assert len(peaks) == 20


def test_a_provider_has_the_limit_that_the_study_gives_it(tmp_path: Path) -> None:
    limits = ProviderLimits(tmp_path, 4, {"openai": Provider(concurrency=9, requests_per_minute=30)})
    assert (limits.limit("openai").concurrency, limits.limit("openai").requests_per_minute) == (9, 30)
    assert (limits.limit("xai").concurrency, limits.limit("xai").requests_per_minute) == (4, None)


def test_providers_do_not_share_places(tmp_path: Path) -> None:
    async def run() -> None:
        limits = ProviderLimits(tmp_path, 1)
        async with limits.slot("openai"), limits.slot("eleven/labs"), limits.slot("eleven_labs"), limits.slot(".."):
            pass

    asyncio.run(asyncio.wait_for(run(), 10))
    assert sorted(tmp_path.iterdir()) == [tmp_path / "limits"]


def test_a_name_is_a_file_name_of_its_own() -> None:
    names = ["a|b|c", "a_b|c", "a_b_c", "..", ".", "é" * 120, "x" * 120, "x" * 119]
    assert len({safe_name(name) for name in names}) == len(names)
    assert all(len(safe_name(name)) < 100 and "/" not in safe_name(name) for name in names)


def test_a_killed_holder_gives_its_place_back(tmp_path: Path) -> None:
    async def run() -> None:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", HOLDER, str(tmp_path), stdout=asyncio.subprocess.PIPE
        )
        assert child.stdout is not None
        assert await child.stdout.readline() == b"held\n"
        limits = ProviderLimits(tmp_path, 1)
        waiting = asyncio.create_task(_enter(limits))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        child.kill()
        await child.wait()
        await waiting

    asyncio.run(asyncio.wait_for(run(), 60))
    assert _left(tmp_path) == ({"state"}, [])


def _left(home: Path) -> tuple[set[str], list[object]]:
    """Files of a provider, and tickets in its queue, once nobody uses it."""
    gc.collect()
    folder = home / "limits" / "openai"
    return {path.name for path in folder.iterdir()}, json.loads((folder / "state").read_text())["tickets"]


async def _enter(limits: ProviderLimits) -> None:
    async with limits.slot("openai"):
        pass


def test_whoever_gives_up_waiting_leaves_no_place_behind(tmp_path: Path) -> None:
    async def run() -> None:
        limits, other = ProviderLimits(tmp_path, 1), ProviderLimits(tmp_path, 1)
        async with limits.slot("openai"):
            waiting = asyncio.create_task(_enter(other))
            await asyncio.sleep(0.05)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        await _enter(limits)

    asyncio.run(asyncio.wait_for(run(), 10))
    assert _left(tmp_path) == ({"state"}, [])


def test_a_failed_exchange_gives_its_place_back(tmp_path: Path) -> None:
    async def run() -> None:
        limits = ProviderLimits(tmp_path, 1)
        for _ in range(2):
            with pytest.raises(RuntimeError):
                async with limits.slot("openai"):
                    raise RuntimeError

    asyncio.run(asyncio.wait_for(run(), 10))


def test_processes_take_turns_whatever_they_have_to_send(tmp_path: Path) -> None:
    order: list[str] = []

    async def one(limits: ProviderLimits, name: str) -> None:
        async with limits.slot("openai"):
            order.append(name)
            await asyncio.sleep(0)

    async def run() -> None:
        # each limiter stands for a process: one has forty prompts, the other comes late with two
        many, few = ProviderLimits(tmp_path, 1), ProviderLimits(tmp_path, 1)
        async with many.slot("openai"):
            queued = [asyncio.create_task(one(many, "many")) for _ in range(40)]
            await asyncio.sleep(0.05)
            late = [asyncio.create_task(one(few, "few")) for _ in range(2)]
            await asyncio.sleep(0.05)
        await asyncio.gather(*queued, *late)

    asyncio.run(asyncio.wait_for(run(), 30))
    assert order.index("few") <= 2
    assert [n for n, name in enumerate(order) if name == "few"][1] <= 4


def test_tickets_of_dead_processes_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "lane-dead").touch()
    (tmp_path / "state").write_text(json.dumps({"tickets": [[3, "lane-dead"], [4, "lane-gone"]], "next": 5}))
    queue, other = Queue(tmp_path), Queue(tmp_path)
    assert not (tmp_path / "lane-dead").exists()
    with queue.held() as held:
        assert held is not None
        ticket = held.enter()
        assert (ticket, held.before(ticket)) == (5, 0)
        with other.held() as again:
            assert again is None
    with other.held() as held:
        assert held is not None
        late = held.enter()
        assert (late, held.before(late)) == (6, 1)
    del queue
    gc.collect()
    with other.held() as held:
        assert held is not None
        assert held.before(late) == 0


@pytest.mark.parametrize(
    "text", ["", "null", "[]", '{"tickets": 7}', '{"tickets": [[1], ["a", "b"], [2, 3]], "next": "x"}']
)
def test_a_state_of_an_odd_form_is_an_empty_queue(tmp_path: Path, text: str) -> None:
    (tmp_path / "state").write_text(text)
    with Queue(tmp_path).held() as held:
        assert held is not None
        assert held.before(held.enter()) == 0


def test_a_queue_that_lost_its_state_keeps_its_places(tmp_path: Path) -> None:
    queue = Queue(tmp_path)
    with queue.held() as held:
        assert held is not None
        tickets = [held.enter() for _ in range(3)]
    (tmp_path / "state").write_text("torn{")
    with queue.held() as held:
        assert held is not None
        assert held.before(tickets[2]) == 0
        assert held.before(tickets[0]) == 0
        assert held.before(tickets[2]) == 1
        assert held.enter() == tickets[2] + 1


def test_many_tickets_make_a_longer_file_and_few_are_read_from_it(tmp_path: Path) -> None:
    queue = Queue(tmp_path)
    with queue.held() as held:
        assert held is not None
        tickets = [held.enter() for _ in range(400)]
    with queue.held() as held:
        assert held is not None
        assert held.before(tickets[-1]) == 399
        for ticket in tickets[1:]:
            held.leave(ticket)
    with queue.held() as held:
        assert held is not None
        assert held.document()["tickets"] == [[tickets[0], held._own]]


def test_a_torn_state_begins_anew(tmp_path: Path) -> None:
    folder = tmp_path / "limits" / "openai"
    folder.mkdir(parents=True)
    (folder / "state").write_text('{"share": 0.2, "not_be')
    asyncio.run(asyncio.wait_for(_enter(ProviderLimits(tmp_path, 1)), 10))


def test_a_wait_that_a_provider_asks_for_holds_for_everyone(tmp_path: Path) -> None:
    async def run() -> tuple[float, int]:
        first, second = ProviderLimits(tmp_path, 8), ProviderLimits(tmp_path, 8)
        started = time.monotonic()
        await first.throttled("openai", started, retry_after_s=0.3)
        async with second.slot("openai") as began:
            pace = await second.pace("openai")
            return began - started, pace.at_once(second.limit("openai"))

    waited_s, at_once = asyncio.run(run())
    assert waited_s >= 0.3
    assert at_once == 4


def test_whoever_leaves_takes_all_its_places_along(tmp_path: Path) -> None:
    async def run() -> None:
        first, second = ProviderLimits(tmp_path, 1), ProviderLimits(tmp_path, 1)
        # a ticket that was never given up, as where an exchange was cut off between two steps
        await first._line("openai").enter()
        first.close()
        await _enter(second)
        second.close()

    asyncio.run(asyncio.wait_for(run(), 10))
    assert _left(tmp_path) == ({"state"}, [])


def test_a_rate_is_shared(tmp_path: Path) -> None:
    async def begin(limits: ProviderLimits) -> float:
        async with limits.slot("openai") as began:
            return began

    async def run() -> list[float]:
        slow = {"openai": Provider(requests_per_minute=1200)}
        both = [ProviderLimits(tmp_path, 8, slow) for _ in range(2)]
        return sorted(await asyncio.gather(*(begin(limits) for limits in both * 4)))

    began = asyncio.run(run())
    assert began[-1] - began[0] >= 7 * 0.05 - 0.005


def _taught(tmp_path: Path, request: Request, prompt: Prompt, emulator: OpenAIEmulator | CascadeEmulator) -> Outcome:
    async def run() -> Outcome:
        async with emulator:
            addresses = dict.fromkeys(request.addresses, emulator.url)
            asked = Request(**{**request.__dict__, "addresses": addresses})
            return await exchange(asked, prompt, ProviderLimits(tmp_path, 8))

    return asyncio.run(run())


def _share(tmp_path: Path, provider: str) -> float:
    return asyncio.run(ProviderLimits(tmp_path, 8).pace(provider)).share


@pytest.mark.parametrize(
    ("scenario", "share"),
    [
        ("plain", 1.0),
        ("http_429", 0.5),
        ("rate_limited", 0.5),
        ("http_429_quota", 0.5),
        ("close_1011", 0.5),
        ("http_503", 1.0),
        ("close_1001", 1.0),
        ("no_audio", 1.0),
    ],
)
def test_what_a_provider_complains_of_is_learnt(
    scenario: str, share: float, tmp_path: Path, realtime_request: Callable[..., Request], prompt: Prompt
) -> None:
    _taught(tmp_path, realtime_request("ws://replaced"), prompt, OpenAIEmulator(scenario))
    assert _share(tmp_path, "openai") == share


def test_a_stage_of_a_cascade_teaches_its_own_provider(
    tmp_path: Path, cascade_request: Callable[..., Request], prompt: Prompt
) -> None:
    outcome = _taught(tmp_path, cascade_request("http://replaced"), prompt, CascadeEmulator("tts_busy"))
    assert (outcome.status, outcome.stage) == ("rate_limited", "tts")
    assert _share(tmp_path, "openai") == 1.0
    assert _share(tmp_path, "elevenlabs") < 1.0


def test_each_stage_of_a_cascade_counts_at_its_own_provider(
    tmp_path: Path, cascade_request: Callable[..., Request], prompt: Prompt
) -> None:
    held: list[str] = []

    class Noted(ProviderLimits):
        @asynccontextmanager
        async def slot(self, provider: str) -> AsyncIterator[float]:
            async with super().slot(provider) as began:
                held.append(provider)
                yield began

    async def run() -> str:
        async with CascadeEmulator() as emulator:
            return (await exchange(cascade_request(emulator.url), prompt, Noted(tmp_path, 1))).status

    assert asyncio.run(run()) == "ok"
    assert held == ["elevenlabs", "openai", "elevenlabs"]


def test_waiting_for_a_place_is_not_part_of_an_exchange(
    tmp_path: Path, realtime_request: Callable[..., Request]
) -> None:
    async def entered(recorder: Recorder) -> float:
        async with recorder.slot("realtime"):
            return recorder.now_ms()

    async def run() -> tuple[float, float]:
        limits = ProviderLimits(tmp_path, 1)
        recorder = Recorder(realtime_request("ws://127.0.0.1:9"), limits)
        loop = asyncio.get_running_loop()
        started = loop.time()
        async with limits.slot("openai"):
            waiting = asyncio.create_task(entered(recorder))
            await asyncio.sleep(0.1)
        return await waiting, (loop.time() - started) * 1000

    offset_ms, waited_ms = asyncio.run(run())
    assert offset_ms < waited_ms - 80


def test_a_lane_is_made_and_looked_at_under_the_state_s_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its making and its lock a lane would pass for a dead process's, and whoever looked then would remove it."""
    real, held = tickets.try_lock, []

    def spied(path: Path, *, create: bool = True) -> int | None:
        state = real(tmp_path / "state")
        held.append(state is None)
        if state is not None:
            os.close(state)
        return real(path, create=create)

    other = Queue(tmp_path)
    monkeypatch.setattr(tickets, "try_lock", spied)
    Queue(tmp_path).close()
    other.close()
    assert held == [True, True]
