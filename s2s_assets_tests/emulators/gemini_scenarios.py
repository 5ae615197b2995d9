"""How the Gemini Live service is known to behave, one class of connection for each way."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from s2s_assets.demo.answers import Answer, Answerer
from s2s_assets_tests.emulators import gemini_faults as faults
from s2s_assets_tests.emulators import voices
from s2s_assets_tests.emulators.gemini_conversation import (
    THOUGHT,
    ClosingError,
    LiveConversation,
    audio_part,
    spoken,
    usage,
)


class TextFrames(LiveConversation):
    """Text frames instead of binary ones."""

    async def send(self, message: Mapping[str, Any]) -> None:
        await self.socket.send(json.dumps(message))


class SnakeCase(LiveConversation):
    """Keys in snake_case."""

    async def send(self, message: Mapping[str, Any]) -> None:
        await super().send(snake_case(message))


def snake_case(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {re.sub("[A-Z]", lambda m: f"_{m[0].lower()}", k): snake_case(v) for k, v in value.items()}
    return [snake_case(inner) for inner in value] if isinstance(value, list) else value


class Thinks(LiveConversation):
    """Thoughts that no one asked for, in two parts of one message, and once more amid the audio."""

    async def think(self) -> None:
        parts = [{"text": half, "thought": True} for half in (THOUGHT[:20], THOUGHT[20:])]
        await self.content(modelTurn={"parts": parts})

    def parts(self, pcm: bytes) -> Iterator[dict[str, Any]]:
        first, *others = super().parts(pcm)
        yield from (first, {"text": "More.", "thought": True}, *others)


class AllAtOnce(LiveConversation):
    """Audio, words, both ends of the turn and the usage in one message."""

    async def respond(self, answer: Answer) -> None:
        content = {
            "modelTurn": {"parts": [audio_part(spoken(answer))]},
            "inputTranscription": {"text": answer.input_transcript},
            "outputTranscription": {"text": " ".join(item.text for item in answer.items)},
            "generationComplete": True,
            "turnComplete": True,
        }
        await self.send({"serverContent": content, "usageMetadata": usage(answer)})


class OneBigMessage(LiveConversation):
    """All audio in one message of more than 1 MiB."""

    chunk = 2**24


class OddChunks(LiveConversation):
    """Parts that end in the middle of a sample."""

    chunk = 4801


class UnknownEvents(LiveConversation):
    """Empty messages and keys that no one has heard of, everywhere."""

    async def send(self, message: Mapping[str, Any]) -> None:
        for aside in ({}, {"voiceActivity": {"type": "ACTIVITY_START", "audioOffset": "0.1s"}}, {"serverContent": {}}):
            await super().send(aside)
        await super().send({**message, "telemetry": {"load": 1}})


class TranscriptLate(LiveConversation):
    """Both transcripts come when all audio has, the prompt's even after the turn."""

    async def transcribe(self, text: str) -> None:
        pass

    async def speak(self, answer: Answer) -> None:
        for item in answer.items:
            for part in self.parts(item.pcm):
                await self.content(modelTurn={"parts": [part]})

    async def finish(self, answer: Answer) -> None:
        for item in answer.items:
            await self.content(outputTranscription={"text": item.text})
        await super().finish(answer)
        await super().transcribe(answer.input_transcript or "")


class UsageLate(LiveConversation):
    """Usage in a message of its own, after the turn."""

    async def finish(self, answer: Answer) -> None:
        await self.content(turnComplete=True)
        await self.send({"usageMetadata": usage(answer)})


class NoUsage(LiveConversation):
    async def finish(self, answer: Answer) -> None:
        await self.content(turnComplete=True)


class OnlyTurnComplete(LiveConversation):
    """No `generationComplete`."""

    async def content(self, **content: Any) -> None:
        if "generationComplete" not in content:
            await super().content(**content)


class LateAudio(LiveConversation):
    """Audio after `generationComplete`: not part of the answer."""

    async def finish(self, answer: Answer) -> None:
        await self.content(modelTurn={"parts": [audio_part(voices.speech("leftover"))]})
        await super().finish(answer)


class GoesAway(LiveConversation):
    """Announces its end and still answers."""

    async def think(self) -> None:
        await self.send({"goAway": {"timeLeft": "50s"}})


class NeverTurnComplete(LiveConversation):
    """Generates everything and does not end the turn."""

    async def finish(self, answer: Answer) -> None:
        await self.socket.wait_closed()


class ClosesAfter(LiveConversation):
    """Closes when all audio is there, before the turn is over."""

    async def finish(self, answer: Answer) -> None:
        raise ClosingError(1011, "Internal error encountered.")


class OtherRate(LiveConversation):
    """Half the usual rate, said in the type."""

    def parts(self, pcm: bytes) -> Iterator[dict[str, Any]]:
        yield audio_part(pcm, "audio/pcm;rate=12000")


class ImpossibleRate(LiveConversation):
    """A rate that no sound has."""

    def parts(self, pcm: bytes) -> Iterator[dict[str, Any]]:
        yield audio_part(pcm, "audio/pcm;rate=0")


class OddAtLast(LiveConversation):
    """A message of an odd shape when all that matters has come."""

    async def finish(self, answer: Answer) -> None:
        await self.content(modelTurn=None)
        await super().finish(answer)


class NoRate(LiveConversation):
    """No rate in the type, or no type at all."""

    def parts(self, pcm: bytes) -> Iterator[dict[str, Any]]:
        untyped = audio_part(pcm[9600:])
        del untyped["inlineData"]["mimeType"]
        yield from (audio_part(pcm[:9600], "audio/pcm"), untyped)


class OddValues(LiveConversation):
    """Numbers and text that JSON's readers take and its writers refuse."""

    async def think(self) -> None:
        await self.socket.send(b'{"load": NaN, "most": -Infinity, "text": "half \\ud83d a pair"}')


Scenario = tuple[type[LiveConversation], Answerer]
SCENARIOS: dict[str, Scenario] = {
    "plain": (LiveConversation, voices.plain),
    "text_frames": (TextFrames, voices.plain),
    "snake_case": (SnakeCase, voices.plain),
    "thoughts": (Thinks, voices.plain),
    "all_at_once": (AllAtOnce, voices.plain),
    "big_delta": (OneBigMessage, voices.long_answer),
    "odd_chunks": (OddChunks, voices.plain),
    "unknown_events": (UnknownEvents, voices.plain),
    "transcript_late": (TranscriptLate, voices.plain),
    "usage_late": (UsageLate, voices.plain),
    "no_usage": (NoUsage, voices.plain),
    "only_turn_complete": (OnlyTurnComplete, voices.plain),
    "late_audio": (LateAudio, voices.plain),
    "go_away": (GoesAway, voices.plain),
    "go_away_close": (faults.LeavesEarly, voices.plain),
    "interrupted": (faults.Interrupted, voices.plain),
    "never_turn_complete": (NeverTurnComplete, voices.plain),
    "close_after_generation": (ClosesAfter, voices.plain),
    "no_audio": (faults.Silent, voices.plain),
    "only_transcript": (LiveConversation, voices.without_audio),
    "silence": (LiveConversation, voices.silence),
    "half_a_sample": (LiveConversation, voices.half_a_sample),
    "content_filter": (faults.Rejected, voices.plain),
    "rejected_at_last": (faults.RejectedAtLast, voices.plain),
    "needs_more_input": (faults.NeedsMore, voices.plain),
    "close_1000": (faults.ClosesNormally, voices.plain),
    "close_1007": (faults.Closes, voices.plain),
    "close_1008": (faults.ClosesPolicy, voices.plain),
    "close_before_audio": (faults.ClosesInternal, voices.plain),
    "rate_limited": (faults.ClosesSpent, voices.plain),
    "close_1011": (faults.ClosesAmid, voices.plain),
    "bad_key": (faults.BadKey, voices.plain),
    "echoes_key": (faults.EchoesKey, voices.plain),
    "never_configured": (faults.NeverConfigured, voices.plain),
    "never_answers": (faults.NeverAnswers, voices.plain),
    "stalls": (faults.Stalls, voices.plain),
    "answers_early": (faults.AnswersEarly, voices.plain),
    "answers_in_a_pause": (faults.AnswersInAPause, voices.plain),
    "other_rate": (OtherRate, voices.plain),
    "no_rate": (NoRate, voices.plain),
    "impossible_rate": (ImpossibleRate, voices.plain),
    "odd_at_last": (OddAtLast, voices.plain),
    "mixed_rates": (faults.MixedRates, voices.plain),
    "compressed": (faults.Compressed, voices.plain),
    "not_json": (faults.NotJson, voices.plain),
    "not_base64": (faults.NotBase64, voices.plain),
    "odd_shape": (faults.OddShape, voices.plain),
    "odd_values": (OddValues, voices.plain),
}
