"""When frames go out, on a loop whose clock jumps to whatever is due next."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from s2s_assets.responses import Prompt, Terms
from s2s_assets.responses.providers.conversation import ConversationAdapter, Progress
from s2s_assets.responses.recorder import Recorder
from s2s_assets.responses.records import ExchangeError
from s2s_assets_tests.responses.parties import OPENAI

SLOW_S = 0.06
"""How long the first message of a turn takes to be written."""


class JumpingLoop(asyncio.SelectorEventLoop):
    """Nobody waits: where nothing is ready it is at once as late as the next timer."""

    now_s = 0.0

    def time(self) -> float:
        return self.now_s

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self.now_s = max(self.now_s, self._scheduled[0].when())
        super()._run_once()


class SlowToBegin:
    """A channel that is slow with the first message, and answers the end of the turn."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, float]] = []
        self.ended = asyncio.Event()

    async def send(self, text: str) -> None:
        if "begin" in text:
            await asyncio.sleep(SLOW_S)
        self.sent.append((text, asyncio.get_running_loop().time()))
        if "end" in text:
            self.ended.set()

    async def recv(self) -> str:
        await self.ended.wait()
        return '{"type": "over"}'

    async def close(self) -> None:
        return


class Speaker(ConversationAdapter):
    """A protocol of four messages."""

    name: ClassVar[str] = "speaker"
    version: ClassVar[str] = "1"
    channel: SlowToBegin

    async def connect(self) -> SlowToBegin:
        self.channel = SlowToBegin()
        return self.channel

    async def configure(self, channel: Any) -> None:
        return

    def snapshot(self) -> Mapping[str, Any]:
        return {}

    def start_of_turn(self) -> Sequence[dict[str, Any]]:
        return ({"type": "begin"},)

    def frame(self, pcm: bytes) -> tuple[dict[str, Any], str]:
        return {"type": "frame", "audio": "-"}, "audio"

    def end_of_turn(self) -> Sequence[dict[str, Any]]:
        return ({"type": "end"},)

    def receive(self, event: Mapping[str, Any]) -> Progress:
        return Progress.OVER

    def closed(self, code: int, reason: str) -> ExchangeError:
        return ExchangeError("provider_error", f"closed_{code}", reason)


def test_frames_are_due_from_the_configuration_on_though_the_turn_begins_late() -> None:
    request = OPENAI.request("ws://unused", Terms(pace=1.0, frame_ms=100))
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        speaker = Speaker(request, Recorder(request))
        runner.run(speaker.run(Prompt(bytes(2 * 2400 * 3), 24_000)))
    frames_s = [round(at_s, 6) for text, at_s in speaker.channel.sent if "frame" in text]
    assert frames_s == [0.1, 0.2, 0.3]
