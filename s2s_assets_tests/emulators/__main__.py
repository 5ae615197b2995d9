"""An emulator by hand: `python -m s2s_assets_tests.emulators openai --port 8701 --scenario plain`."""

import argparse
import asyncio

from s2s_assets_tests.emulators.cascade import CascadeEmulator
from s2s_assets_tests.emulators.openai import OpenAIEmulator

EMULATORS = {"openai": OpenAIEmulator, "cascade": CascadeEmulator}


async def serve(protocol: str, scenario: str, port: int) -> None:
    async with EMULATORS[protocol](scenario, port=port) as emulator:
        print(f"ready {emulator.url}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("protocol", choices=EMULATORS)
    parser.add_argument("--scenario", default="plain")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    asyncio.run(serve(given.protocol, given.scenario, given.port))
