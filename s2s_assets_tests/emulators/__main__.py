"""An emulator by hand: `python -m s2s_assets_tests.emulators openai --port 8701 --scenario plain`.

`--scenario help` lists what a protocol's emulator can do. `cascade` is `elevenlabs` and `openai_responses` on one port;
`nova` says after `ready` which certificate to trust.
"""

import argparse
import asyncio
import contextlib
from typing import Any

from s2s_assets_tests.emulators.cascade import CascadeEmulator
from s2s_assets_tests.emulators.dashscope import DashScopeEmulator
from s2s_assets_tests.emulators.elevenlabs import ElevenLabsEmulator
from s2s_assets_tests.emulators.gemini import GeminiEmulator
from s2s_assets_tests.emulators.nova import NovaEmulator
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.emulators.openai_responses import ResponsesEmulator
from s2s_assets_tests.emulators.tls import authority
from s2s_assets_tests.emulators.vllm_omni import VllmOmniEmulator
from s2s_assets_tests.emulators.xai import XaiEmulator

EMULATORS: dict[str, Any] = {
    "openai": OpenAIEmulator,
    "xai": XaiEmulator,
    "gemini": GeminiEmulator,
    "dashscope": DashScopeEmulator,
    "vllm_omni": VllmOmniEmulator,
    "elevenlabs": ElevenLabsEmulator,
    "openai_responses": ResponsesEmulator,
    "cascade": CascadeEmulator,
    "nova": NovaEmulator,
}


async def serve(protocol: str, scenario: str, port: int) -> None:
    async with EMULATORS[protocol](scenario, port=port) as emulator:
        print(f"ready {emulator.url}", flush=True)
        if emulator.url.startswith("https:"):
            print(f"trust it by AWS_CA_BUNDLE={authority()}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("protocol", choices=EMULATORS)
    parser.add_argument("--scenario", default="plain")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    known = EMULATORS[given.protocol].names()
    if given.scenario == "help":
        print("\n".join(known))
        return
    if given.scenario not in known:
        parser.error(f"{given.protocol} has the scenarios {', '.join(known)}")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(given.protocol, given.scenario, given.port))


if __name__ == "__main__":
    main()
