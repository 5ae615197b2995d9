"""The OpenAI Realtime service on loopback: gpt-realtime-2 with its phases, its limits and its older event names."""

from collections.abc import Mapping
from typing import Any, ClassVar

from s2s_assets.demo.answers import Answer
from s2s_assets.demo.realtime_conversation import Conversation
from s2s_assets.demo.realtime_events import RATE_LIMITS
from s2s_assets_tests.emulators import voices
from s2s_assets_tests.emulators.realtime import RealtimeEmulator
from s2s_assets_tests.emulators.realtime_scenarios import WAYS, Scenario
from s2s_assets_tests.emulators.realtime_shapes import Interleaved


class FunctionCall(Conversation):
    """Commentary, and then a tool call instead of an answer."""

    def completed(self, response: str, answer: Answer) -> dict[str, Any]:
        done = super().completed(response, answer)
        call = {"id": "item_call", "type": "function_call", "status": "completed", "name": "look_up", "arguments": "{}"}
        return {**done, "output": [*done["output"], call]}


class LimitsFirst(Conversation):
    """`rate_limits.updated` before the answer instead of after it."""

    async def speak(self, response: str, answer: Answer) -> None:
        await self.send("rate_limits.updated", rate_limits=RATE_LIMITS)
        await super().speak(response, answer)

    async def finish(self, response: str, answer: Answer) -> None:
        await self.send("response.done", response=self.completed(response, answer))


class NoLimits(Conversation):
    """Says nothing of its limits, as in some sessions."""

    async def send(self, kind: str, **fields: Any) -> None:
        if kind != "rate_limits.updated":
            await super().send(kind, **fields)


class OldNames(Conversation):
    """Names its events as before general availability."""

    async def send(self, kind: str, **fields: Any) -> None:
        await super().send(kind.replace("response.output_audio", "response.audio"), **fields)


class BothNames(Conversation):
    """Says everything twice, for old clients and for new ones."""

    async def send(self, kind: str, **fields: Any) -> None:
        await super().send(kind, **fields)
        if kind.startswith("response.output_audio"):
            await super().send(kind.replace("response.output_audio", "response.audio"), **fields)


class OpenAIEmulator(RealtimeEmulator):
    """Everything of `WAYS`, and what only this service does."""

    scenarios: ClassVar[Mapping[str, Scenario]] = WAYS | {
        "commentary_and_final": (Conversation, voices.commentary_and_final),
        "commentary_only": (Conversation, voices.commentary_only),
        "commentary_and_function_call": (FunctionCall, voices.commentary_only),
        "interleaved_commentary": (Interleaved, voices.commentary_and_final),
        "no_phase": (Conversation, voices.no_phase),
        "limits_first": (LimitsFirst, voices.plain),
        "no_limits": (NoLimits, voices.plain),
        "old_names": (OldNames, voices.plain),
        "both_names": (BothNames, voices.plain),
    }
