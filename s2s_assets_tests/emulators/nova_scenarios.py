"""How Nova Sonic is known to behave, and how its stream can fail, one class of session for each way."""

import asyncio
import json
from collections.abc import Iterator

from s2s_assets.demo.answers import Answer, Answerer, SpokenItem
from s2s_assets_tests.emulators import voices
from s2s_assets_tests.emulators.event_stream import message
from s2s_assets_tests.emulators.nova_conversation import NovaConversation, ServiceError


class OddChunks(NovaConversation):
    chunk = 4801


class OneBigChunk(NovaConversation):
    chunk = 2**30


class UnknownEvents(NovaConversation):
    """Events, fields and messages that came with some later version."""

    async def speak(self, answer: Answer) -> None:
        await self.send("moodOutput", mood="curious")
        await self.send_payload(json.dumps({"status": "ok"}).encode())
        await self.send_payload(b"{}")
        await self.stream.send(message({":message-type": "event", ":event-type": "heartbeat"}, b"{}"))
        await super().speak(answer)


class NoFinalText(NovaConversation):
    """Says what it will say, and never what it has said."""

    async def finish(self, answer: Answer) -> None:
        pass


class OtherFinalText(NovaConversation):
    """What it says is not what it had planned."""

    async def speak(self, answer: Answer) -> None:
        await self.text("ASSISTANT", "SPECULATIVE", "I had meant to say something else.")
        await self.sound(answer.items[0], "END_TURN")


class NoCompletionEnd(NovaConversation):
    """The stream ends with the session, and the usage is the first."""

    async def complete(self) -> None:
        pass


class CompletesByItself(NovaConversation):
    """Does not mark the last audio; the completion ends without being asked to."""

    async def sound(self, item: SpokenItem, reason: str) -> None:
        await super().sound(item, "PARTIAL_TURN")

    async def finish(self, answer: Answer) -> None:
        await super().finish(answer)
        await self.complete()


class LateAudio(NovaConversation):
    """Begins to speak of itself once the turn is over."""

    async def finish(self, answer: Answer) -> None:
        await self.sound(voices.item(None, "Are you still there?", b""), "END_TURN")
        await super().finish(answer)


class Interrupted(NovaConversation):
    """Answers in a pause of the prompt, is interrupted, and answers again at its end."""

    async def hear(self, pcm: bytes) -> None:
        if not self.frames and any(pcm):
            await self.answer_in_pause()
        await super().hear(pcm)

    async def answer_in_pause(self) -> None:
        await self.text("USER", "FINAL", "What")
        await self.text("ASSISTANT", "SPECULATIVE", voices.COMMENTARY)
        await self.sound(voices.item("commentary", voices.COMMENTARY, b""), "PARTIAL_TURN")
        await self.text("ASSISTANT", "FINAL", '{ "interrupted" : true }', "INTERRUPTED")
        await self.text("ASSISTANT", "FINAL", "Let me think")

    async def respond(self, answer: Answer) -> None:
        await super().respond(Answer(answer.items, "was said."))


class InterruptedForGood(Interrupted):
    """Nothing follows the interruption."""

    async def respond(self, answer: Answer) -> None:
        await self.complete()


class TextOnly(NovaConversation):
    """Words without audio."""

    async def sound(self, item: SpokenItem, reason: str) -> None:
        pass

    async def finish(self, answer: Answer) -> None:
        await super().finish(answer)
        await self.complete()


class NotBase64(NovaConversation):
    def pieces(self, pcm: bytes) -> Iterator[str]:
        yield "this is no base64!"


class NotJson(NovaConversation):
    async def speak(self, answer: Answer) -> None:
        await self.send_payload(b"<html>bad gateway</html>")


class BadChecksum(NovaConversation):
    """A message that was changed on its way."""

    async def speak(self, answer: Answer) -> None:
        damaged = bytearray(message({":message-type": "event", ":event-type": "chunk"}, b'{"bytes":"e30="}'))
        damaged[-6] ^= 1
        await self.stream.send(bytes(damaged))


class OddEnvelope(NovaConversation):
    """A message that is none of the service's."""

    async def speak(self, answer: Answer) -> None:
        await self.stream.send(message({":message-type": "event", ":event-type": "chunk"}, b"<html>"))


class OddShape(NovaConversation):
    async def speak(self, answer: Answer) -> None:
        await self.send_payload(b'{"event": {"audioOutput": ["not", "an", "object"]}}')


class EndsAmid(NovaConversation):
    """The stream ends in the middle of the audio."""

    async def speak(self, answer: Answer) -> None:
        await self.begin_to_speak(answer)
        await self.end()

    async def begin_to_speak(self, answer: Answer) -> None:
        await self.send("contentStart", contentId="a", type="AUDIO", role="ASSISTANT")
        await self.send("audioOutput", contentId="a", content=next(self.pieces(answer.items[0].pcm)))

    async def finish(self, answer: Answer) -> None:
        pass


class ResetsAmid(EndsAmid):
    async def speak(self, answer: Answer) -> None:
        await self.begin_to_speak(answer)
        await self.stream.reset()


class DropsAmid(EndsAmid):
    async def speak(self, answer: Answer) -> None:
        await self.begin_to_speak(answer)
        self.stream.drop()


class EndsAtOnce(EndsAmid):
    async def speak(self, answer: Answer) -> None:
        await self.end()


class DropsUnanswered(NovaConversation):
    """The connection breaks before the request is answered."""

    async def begin(self) -> None:
        self.stream.drop()


class EndsEarly(NovaConversation):
    """The stream ends while the prompt is still being sent."""

    async def hear(self, pcm: bytes) -> None:
        if not self.over:
            await self.end()


class NeverAnswers(NovaConversation):
    """Hears, and says what that costs, and nothing else."""

    async def respond(self, answer: Answer) -> None:
        while True:
            await self.usage({"speechTokens": 31, "textTokens": 12}, {"speechTokens": 0, "textTokens": 0})
            await asyncio.sleep(0.01)


class NeverResponds(NovaConversation):
    """Leaves the request without an answer, but takes it."""

    async def begin(self) -> None:
        pass

    async def respond(self, answer: Answer) -> None:
        pass


class Stalls(EndsAmid):
    async def speak(self, answer: Answer) -> None:
        await self.begin_to_speak(answer)
        await asyncio.Event().wait()


class Fails(EndsAmid):
    """Ends with an exception."""

    kind = "internalServerException"
    words = "The system encountered an unexpected error during processing. Try your request again."

    async def speak(self, answer: Answer) -> None:
        raise ServiceError(self.kind, self.words)


class FailsAmid(Fails):
    async def speak(self, answer: Answer) -> None:
        await self.begin_to_speak(answer)
        await super().speak(answer)


def failing(kind: str, words: str, base: type[Fails] = Fails) -> type[Fails]:
    """A session that ends with an exception of the service."""
    return type(f"{base.__name__}{kind}", (base,), {"kind": kind, "words": words})


class UnnamedError(NovaConversation):
    """A failure that is no exception of the service's."""

    async def speak(self, answer: Answer) -> None:
        headers = {":message-type": "error", ":error-code": "InternalFailure", ":error-message": "Something broke."}
        await self.stream.send(message(headers, b""))
        await self.end()


class EchoesKey(Fails):
    """Puts the client's key into everything that it says."""

    kind = "validationException"

    async def speak(self, answer: Answer) -> None:
        await self.text("ASSISTANT", "SPECULATIVE", self.access_key)
        await self.send("usageEvent", note=self.access_key)
        raise ServiceError(self.kind, f"The key {self.access_key} is not allowed.")


_TIMEOUT = "Model has timed out in processing the request. Try your request again."
_THROTTLED = "Too many requests, please wait before trying again."
Scenario = tuple[type[NovaConversation], Answerer]
SCENARIOS: dict[str, Scenario] = {
    "plain": (NovaConversation, voices.plain),
    "sentences": (NovaConversation, voices.two_finals),
    "odd_chunks": (OddChunks, voices.plain),
    "big_delta": (OneBigChunk, voices.long_answer),
    "unknown_events": (UnknownEvents, voices.plain),
    "no_final_text": (NoFinalText, voices.two_finals),
    "other_final_text": (OtherFinalText, voices.plain),
    "no_completion_end": (NoCompletionEnd, voices.plain),
    "completes_by_itself": (CompletesByItself, voices.two_finals),
    "late_audio": (LateAudio, voices.plain),
    "interrupted": (Interrupted, voices.plain),
    "interrupted_for_good": (InterruptedForGood, voices.plain),
    "no_audio": (TextOnly, voices.plain),
    "silence": (NovaConversation, voices.silence),
    "half_a_sample": (NovaConversation, voices.half_a_sample),
    "not_base64": (NotBase64, voices.plain),
    "not_json": (NotJson, voices.plain),
    "bad_checksum": (BadChecksum, voices.plain),
    "odd_envelope": (OddEnvelope, voices.plain),
    "odd_shape": (OddShape, voices.plain),
    "ends_amid": (EndsAmid, voices.plain),
    "resets_amid": (ResetsAmid, voices.plain),
    "drops_amid": (DropsAmid, voices.plain),
    "close_before_audio": (EndsAtOnce, voices.plain),
    "drops_unanswered": (DropsUnanswered, voices.plain),
    "ends_early": (EndsEarly, voices.plain),
    "never_answers": (NeverAnswers, voices.plain),
    "never_responds": (NeverResponds, voices.plain),
    "stalls": (Stalls, voices.plain),
    "rate_limited": (failing("throttlingException", _THROTTLED), voices.plain),
    "rate_limited_amid": (failing("throttlingException", _THROTTLED, FailsAmid), voices.plain),
    "model_timeout": (failing("modelTimeoutException", _TIMEOUT), voices.plain),
    "session_limit": (failing("modelTimeoutException", _TIMEOUT, FailsAmid), voices.plain),
    "server_failure": (Fails, voices.plain),
    "stream_error": (failing("modelStreamErrorException", "The stream failed."), voices.plain),
    "unavailable": (failing("serviceUnavailableException", "Service unavailable."), voices.plain),
    "invalid": (failing("validationException", "Invalid input."), voices.plain),
    "later_exception": (failing("modelBusyException", "Not known to any client."), voices.plain),
    "unnamed_error": (UnnamedError, voices.plain),
    "echoes_key": (EchoesKey, voices.plain),
}
