"""The adapter that docs/add-a-provider.md shows, run as it stands there against a server of its own."""

import base64
import json
import re
import types
from pathlib import Path
from typing import Any, Self

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve

from s2s_assets.responses.providers import ADAPTERS
from s2s_assets_tests.emulators.voices import FINAL
from s2s_assets_tests.responses import test_conformance as conformance
from s2s_assets_tests.responses.parties import Party, as_items

PAGE = Path(__file__).resolve().parents[2] / "docs" / "add-a-provider.md"
SCENARIOS = ("plain", "no_audio", "rate_limited", "never_answers", "close_before_audio", "echoes_key")


class ParrotServer:
    """The page's protocol, and a few ways in which it fails."""

    def __init__(self, scenario: str = "plain") -> None:
        self.scenario = scenario
        self.prompts: list[bytes] = []
        self.kinds: list[list[str]] = []
        self._server: Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        host, port = next(iter(self._server.sockets)).getsockname()[:2]
        return f"ws://{host}:{port}"

    async def __aenter__(self) -> Self:
        self._server = await serve(self._talk, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *exception: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _talk(self, socket: ServerConnection) -> None:
        heard = bytearray()
        self.kinds.append([])
        async for data in socket:
            message = json.loads(data)
            self.kinds[-1].append(message["type"])
            match message["type"]:
                case "hello":
                    await socket.send(json.dumps({"type": "ready", "model": message["model"]}))
                case "audio":
                    heard += base64.b64decode(message["pcm"])
                case "end":
                    self.prompts.append(bytes(heard))
                    await self._answer(socket, bytes(heard))

    async def _answer(self, socket: ServerConnection, prompt: bytes) -> None:
        assert socket.request is not None
        if self.scenario == "close_before_audio":
            await socket.close(1011)
        elif self.scenario in {"rate_limited", "echoes_key"}:
            code = "rate_limit_exceeded" if self.scenario == "rate_limited" else "invalid_api_key"
            error = {"type": "error", "code": code, "message": f"no, {socket.request.headers['X-Parrot-Key']}"}
            await socket.send(json.dumps(error))
        elif self.scenario != "never_answers":
            await self._speak(socket, b"" if self.scenario == "no_audio" else as_items(prompt))

    async def _speak(self, socket: ServerConnection, pcm: bytes) -> None:
        for at in range(0, len(pcm), 9601):
            text = FINAL if at == 0 else ""
            body = base64.b64encode(pcm[at : at + 9601]).decode()
            await socket.send(json.dumps({"type": "speech", "pcm": body, "text": text}))
        await socket.send(json.dumps({"type": "bye", "usage": {"seconds": 1}}))


@pytest.fixture
def parrot(monkeypatch: pytest.MonkeyPatch) -> Party:
    """The page's adapter, registered while a test runs."""
    (source,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(source.splitlines()) < 150
    module: Any = types.ModuleType("page.parrot")
    exec(compile(source, str(PAGE), "exec"), vars(module))
    monkeypatch.setitem(ADAPTERS, "parrot", module.Parrot)
    return Party("parrot", ParrotServer, "polly", {"model": "parrot-1"})


def test_the_page_s_adapter_conforms(parrot: Party) -> None:
    conformance.test_answers_are_kept_byte_for_byte(parrot, "plain")
    conformance.test_the_event_log_is_in_order_and_holds_no_audio(parrot)
    conformance.test_milestones_are_in_order(parrot)
    conformance.test_the_turn_is_sent_once_and_nothing_after_it(parrot)
    conformance.test_a_setting_that_would_be_ignored_is_refused(parrot)
    conformance.test_what_an_adapter_says_of_itself(parrot)


@pytest.mark.parametrize("scenario", [s for s in SCENARIOS if s in conformance.FAILED])
def test_the_page_s_adapter_fails_as_it_should(scenario: str, parrot: Party) -> None:
    conformance.test_no_failure_is_an_answer(parrot, scenario)


@pytest.mark.parametrize("scenario", ["plain", "echoes_key"])
def test_the_page_s_adapter_keeps_its_key(scenario: str, parrot: Party, caplog: pytest.LogCaptureFixture) -> None:
    conformance.test_a_key_that_is_echoed_is_nowhere(parrot, scenario, caplog)


def test_the_page_lists_every_adapter() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [name for name in ADAPTERS if name not in listed] == []
