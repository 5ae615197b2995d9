"""How Gemini Live fails: turns that end badly, sockets that close, silence, audio that is none."""

import asyncio
from collections.abc import Iterator
from typing import Any

from s2s_assets.demo.answers import Answer
from s2s_assets_tests.emulators.gemini_conversation import ClosingError, LiveConversation, audio_part, key_of, spoken


class LeavesEarly(LiveConversation):
    """Announces its end and closes amid the audio."""

    async def speak(self, answer: Answer) -> None:
        await self.send({"goAway": {"timeLeft": "0s"}})
        await self.content(modelTurn={"parts": [audio_part(spoken(answer)[:9600])]})
        raise ClosingError(1001, "The session has reached its time limit.")


class Interrupted(LiveConversation):
    """Takes its answer back: `interrupted`, and then no `generationComplete`."""

    async def speak(self, answer: Answer) -> None:
        await self.content(modelTurn={"parts": [audio_part(spoken(answer)[:9600])]})
        await self.content(interrupted=True)
        await self.finish(answer)
        await self.socket.wait_closed()


class Silent(LiveConversation):
    """A turn without audio and without words."""

    async def speak(self, answer: Answer) -> None:
        pass


class Rejected(LiveConversation):
    """A turn that ends for a reason, instead of audio."""

    reason = "RESPONSE_REJECTED"

    async def speak(self, answer: Answer) -> None:
        pass

    async def finish(self, answer: Answer) -> None:
        await self.content(turnComplete=True, turnCompleteReason=self.reason)


class RejectedAtLast(LiveConversation):
    """Audio, and then the word that it failed a safety check."""

    async def finish(self, answer: Answer) -> None:
        await self.content(turnComplete=True, turnCompleteReason="GENERATED_AUDIO_SAFETY")


class NeedsMore(Rejected):
    reason = "NEED_MORE_INPUT"


class Closes(LiveConversation):
    """Closes instead of an answer."""

    code, reason = 1007, "Request contains an invalid argument."

    async def speak(self, answer: Answer) -> None:
        raise ClosingError(self.code, self.reason)


class ClosesPolicy(Closes):
    code, reason = 1008, "Operation is not implemented, or supported, or enabled."


class ClosesInternal(Closes):
    code, reason = 1011, "Internal error encountered."


class ClosesSpent(Closes):
    code, reason = 1011, "Resource has been exhausted (e.g. check quota)."


class ClosesNormally(Closes):
    code, reason = 1000, ""


class ClosesAmid(LiveConversation):
    """Closes amid the audio."""

    async def speak(self, answer: Answer) -> None:
        await self.content(modelTurn={"parts": [audio_part(spoken(answer)[:9600])]})
        raise ClosingError(1011, "Internal error encountered.")


class BadKey(LiveConversation):
    """Does not know the key: said by a close, not at the upgrade."""

    async def configure(self, setup: dict[str, Any]) -> None:
        raise ClosingError(1007, "API key not valid. Please pass a valid API key.")


class EchoesKey(LiveConversation):
    """Puts the client's key into everything that it says."""

    async def respond(self, answer: Answer) -> None:
        key = key_of(self.socket.request)
        await self.content(modelTurn={"parts": [{"text": key, "thought": True}]}, outputTranscription={"text": key})
        await self.send({"usageMetadata": {"note": key}})
        raise ClosingError(1008, f"The key {key} is not allowed.")


class NeverConfigured(LiveConversation):
    async def configure(self, setup: dict[str, Any]) -> None:
        await self.socket.wait_closed()


class NeverAnswers(LiveConversation):
    """Takes the turn and says nothing of it; unrelated messages keep coming."""

    async def respond(self, answer: Answer) -> None:
        while True:
            await self.send({"serverContent": {}})
            await asyncio.sleep(0.01)


class Stalls(NeverAnswers):
    """Stops in the middle of an answer."""

    async def respond(self, answer: Answer) -> None:
        await self.content(modelTurn={"parts": [audio_part(spoken(answer)[:9600])]})
        await super().respond(answer)


class AnswersEarly(LiveConversation):
    """Closes while the prompt is still being sent."""

    async def realtime(self, kind: str, value: Any) -> None:
        if kind == "audio":
            raise ClosingError(1007, "Request contains an invalid argument.")


class AnswersInAPause(LiveConversation):
    """Ends the turn by itself and answers the part of the prompt that has come."""

    async def realtime(self, kind: str, value: Any) -> None:
        await super().realtime(kind, value)
        if kind == "audio" and self.buffer:
            prompt, self.buffer = bytes(self.buffer), None
            await self.respond(await self.answer(prompt, self.asked()))


class MixedRates(LiveConversation):
    """The rate changes within the answer."""

    def parts(self, pcm: bytes) -> Iterator[dict[str, Any]]:
        yield from (audio_part(pcm[:9600]), audio_part(pcm[9600:], "audio/pcm;rate=12000"))


class Compressed(LiveConversation):
    def parts(self, pcm: bytes) -> Iterator[dict[str, Any]]:
        yield audio_part(pcm, "audio/ogg;codecs=opus")


class NotJson(LiveConversation):
    async def think(self) -> None:
        await self.socket.send(b"<html>bad gateway</html>")


class NotBase64(LiveConversation):
    def parts(self, pcm: bytes) -> Iterator[dict[str, Any]]:
        yield {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "this is no base64!"}}


class OddShape(LiveConversation):
    """A key that is always there, with a value that it never has."""

    async def think(self) -> None:
        await self.content(modelTurn=None)
