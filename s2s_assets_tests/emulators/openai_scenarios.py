"""How the OpenAI Realtime service is known to behave, one class of connection for each way."""

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

from s2s_assets.demo.answers import Answer, Answerer, SpokenItem
from s2s_assets.demo.realtime_conversation import Conversation
from s2s_assets.demo.realtime_events import RATE_LIMITS, RequestError
from s2s_assets_tests.emulators import voices

RATE_LIMIT = {
    "type": "tokens",
    "code": "rate_limit_exceeded",
    "message": "Rate limit reached for this model: Limit 1000, Used 1000, Requested 1. Please try again in 20ms.",
}


class TranscriptLate(Conversation):
    """The input transcript comes after `response.done`."""

    async def transcribe(self, transcript: str | None) -> None:
        pass

    async def finish(self, response: str, answer: Answer) -> None:
        await super().finish(response, answer)
        await super().transcribe(answer.input_transcript)


class TranscriptFailed(Conversation):
    """The side recognition fails in the middle of the answer, which goes on."""

    async def transcribe(self, transcript: str | None) -> None:
        error = {"type": "server_error", "code": "transcription_failed", "message": "no words"}
        kind = "conversation.item.input_audio_transcription.failed"
        await self.send(kind, item_id=self.prompt_item, content_index=0, error=error)


class FunctionCall(Conversation):
    """Commentary, and then a tool call instead of an answer."""

    def completed(self, response: str, answer: Answer) -> dict[str, Any]:
        done = super().completed(response, answer)
        call = {"id": "item_call", "type": "function_call", "status": "completed", "name": "look_up", "arguments": "{}"}
        return {**done, "output": [*done["output"], call]}


class Ends(Conversation):
    """The response ends otherwise than completed, with or without audio before."""

    status = "failed"
    details: ClassVar[dict[str, Any] | None] = None
    speaks = False

    async def speak(self, response: str, answer: Answer) -> None:
        if self.speaks:
            await super().speak(response, answer)

    async def finish(self, response: str, answer: Answer) -> None:
        done = self.response_object(response, self.status, status_details=self.details)
        await self.send("response.done", response=done)


class RateLimited(Ends):
    details: ClassVar[dict[str, Any] | None] = {"type": "failed", "error": RATE_LIMIT}


class ServerFailure(Ends):
    details: ClassVar[dict[str, Any] | None] = {
        "type": "failed",
        "error": {"type": "server_error", "code": None, "message": "The server had an error."},
    }


class QuotaSpent(Ends):
    details: ClassVar[dict[str, Any] | None] = {
        "type": "failed",
        "error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "You exceeded your quota."},
    }


class Incomplete(Ends):
    status = "incomplete"
    details: ClassVar[dict[str, Any] | None] = {"type": "incomplete", "reason": "max_output_tokens"}
    speaks = True


class Filtered(Ends):
    status = "incomplete"
    details: ClassVar[dict[str, Any] | None] = {"type": "incomplete", "reason": "content_filter"}


class Cancelled(Ends):
    status = "cancelled"
    details: ClassVar[dict[str, Any] | None] = {"type": "cancelled", "reason": "turn_detected"}
    speaks = True


class Closes(Conversation):
    """The socket closes in the middle of the audio."""

    code, reason = 1001, "Your session hit the maximum duration of 60 minutes."
    deltas_sent = 2

    async def speak(self, response: str, answer: Answer) -> None:
        sent = 0
        for kind, fields in self.ladder(response, 0, answer.items[0]):
            await self.send(kind, **fields)
            sent += kind == "response.output_audio.delta"
            if sent >= self.deltas_sent:
                break
        await self.socket.close(self.code, self.reason)


class ClosesBadly(Closes):
    code, reason = 1011, "internal error"


class ClosesNormally(Closes):
    code, reason = 1000, ""


class ClosesBeforeAudio(Closes):
    code, reason = 1001, "going away"
    deltas_sent = 0


class Interleaved(Conversation):
    """The second item is announced before the first one ends; audio of both comes alternately, the second first."""

    async def speak(self, response: str, answer: Answer) -> None:
        ladders = [list(self.ladder(response, n, item)) for n, item in enumerate(answer.items)]
        for steps in itertools.zip_longest(*reversed(ladders)):
            for step in steps:
                if step is not None:
                    await self.send(step[0], **step[1])


class OddChunks(Conversation):
    """Deltas that end in the middle of a sample."""

    def chunks(self, pcm: bytes) -> Iterator[bytes]:
        return (pcm[at : at + 4801] for at in range(0, len(pcm), 4801))


class OneBigDelta(Conversation):
    """All audio in one message of more than 1 MiB."""

    chunk_ms = 60_000


class UnknownEvents(Conversation):
    """Event types that no one has heard of, everywhere."""

    async def send(self, kind: str, **fields: Any) -> None:
        await super().send("telemetry.sample", detail={"after": kind})
        await super().send(kind, **fields)


class LimitsFirst(Conversation):
    """`rate_limits.updated` before the answer instead of after it."""

    async def speak(self, response: str, answer: Answer) -> None:
        await self.send("rate_limits.updated", rate_limits=RATE_LIMITS)
        await super().speak(response, answer)

    async def finish(self, response: str, answer: Answer) -> None:
        await self.send("response.done", response=self.completed(response, answer))


class KeepsVad(Conversation):
    """Acknowledges the session, but with turn detection still on."""

    async def update(self, changes: Any) -> None:
        before = self.session["audio"]["input"]["turn_detection"]
        changes["audio"]["input"]["turn_detection"] = before
        await super().update(changes)


class SparseEcho(Conversation):
    """The echoed session lacks keys that were asked for."""

    async def send(self, kind: str, **fields: Any) -> None:
        if kind == "session.updated":
            shown = {k: v for k, v in fields["session"].items() if k != "reasoning"}
            audio = {**shown["audio"], "input": {"format": shown["audio"]["input"]["format"]}}
            fields = {"session": {**shown, "audio": audio}}
        await super().send(kind, **fields)


class RefusesSession(Conversation):
    """Rejects the whole update, as for an unknown key."""

    async def update(self, changes: Any) -> None:
        raise RequestError("unknown_parameter", "Unknown parameter: 'session.reasoning'.", "session.reasoning")


class NeverConfigured(Conversation):
    async def update(self, changes: Any) -> None:
        pass


class NeverAnswers(Conversation):
    """Takes the turn and says nothing more."""

    async def respond(self, response: str) -> None:
        await asyncio.Event().wait()


class Stalls(Conversation):
    """Stops in the middle of an answer; unrelated events keep coming."""

    async def speak(self, response: str, answer: Answer) -> None:
        for kind, fields in itertools.islice(self.ladder(response, 0, answer.items[0]), 5):
            await self.send(kind, **fields)
        while True:
            await asyncio.sleep(0.01)
            await self.send("rate_limits.updated", rate_limits=RATE_LIMITS)


class ErrorFirst(Conversation):
    """An `error` event instead of a response."""

    error: ClassVar[dict[str, Any]] = {"type": "server_error", "code": "server_error", "message": "Try later."}

    async def respond(self, response: str) -> None:
        await self.send("error", error={"param": None, "event_id": None, **self.error})


class ModelGone(ErrorFirst):
    error: ClassVar[dict[str, Any]] = {
        "type": "invalid_request_error",
        "code": "model_not_found",
        "message": "The model does not exist.",
    }


class ErrorAside(Conversation):
    """An `error` event beside an answer that is complete all the same."""

    async def speak(self, response: str, answer: Answer) -> None:
        error = {"type": "invalid_request_error", "code": "invalid_value", "message": "something else"}
        await self.send("error", error=error)
        await super().speak(response, answer)


class ErrorThenClose(Conversation):
    """An `error` event within the answer, then the end of the socket: the error is the reason."""

    async def speak(self, response: str, answer: Answer) -> None:
        error = {"type": "server_error", "code": "session_expired", "message": "Your session expired."}
        await self.send("error", error=error)
        await self.socket.close(1000)


class AnswersEarly(Conversation):
    """Complains and closes while the prompt is still being sent."""

    def append(self, audio: Any) -> None:
        raise RequestError("invalid_value", "audio is of no use", "audio")

    async def complain(self, error: RequestError, event_id: str | None) -> None:
        await super().complain(error, event_id)
        await self.socket.close(1000)


class NotJson(Conversation):
    async def speak(self, response: str, answer: Answer) -> None:
        await self.socket.send("<html>bad gateway</html>")
        await super().speak(response, answer)


class NotBase64(Conversation):
    def deltas(self, part: Any, item: SpokenItem) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "response.output_audio.delta", {**part, "delta": "this is no base64!"}


class OddShape(Conversation):
    """An event of a known type without the fields that it always has."""

    async def finish(self, response: str, answer: Answer) -> None:
        await self.send("response.output_item.done", response_id=response, output_index=0, item=None)
        await super().finish(response, answer)


class OddValues(Conversation):
    """Numbers and text that JSON's readers take and its writers refuse."""

    async def speak(self, response: str, answer: Answer) -> None:
        await self.socket.send('{"type": "telemetry", "event_id": "e", "load": NaN, "most": -Infinity}')
        await self.socket.send('{"type": "telemetry", "event_id": "e", "text": "half \\ud83d a pair"}')
        await super().speak(response, answer)


class EchoesKey(Conversation):
    """Puts the client's key into everything that it says."""

    def _key(self) -> str:
        assert self.socket.request is not None
        return self.socket.request.headers["Authorization"].removeprefix("Bearer ")

    async def respond(self, response: str) -> None:
        await self.send("response.created", response=self.response_object(response, "in_progress"))
        error = {"type": "invalid_request_error", "code": self._key(), "message": f"Incorrect API key: {self._key()}."}
        done = self.response_object(response, "failed", status_details={"error": error}, usage={"note": self._key()})
        await self.send("response.done", response=done)


SCENARIOS: dict[str, tuple[type[Conversation], Answerer]] = {
    "plain": (Conversation, voices.plain),
    "commentary_and_final": (Conversation, voices.commentary_and_final),
    "commentary_only": (Conversation, voices.commentary_only),
    "commentary_and_function_call": (FunctionCall, voices.commentary_only),
    "no_phase": (Conversation, voices.no_phase),
    "transcript_late": (TranscriptLate, voices.plain),
    "transcript_failed": (TranscriptFailed, voices.plain),
    "no_audio": (Conversation, voices.without_audio),
    "silence": (Conversation, voices.silence),
    "half_a_sample": (Conversation, voices.half_a_sample),
    "rate_limited": (RateLimited, voices.plain),
    "server_failure": (ServerFailure, voices.plain),
    "quota_spent": (QuotaSpent, voices.plain),
    "incomplete": (Incomplete, voices.plain),
    "content_filter": (Filtered, voices.plain),
    "cancelled": (Cancelled, voices.plain),
    "close_1001": (Closes, voices.plain),
    "close_1011": (ClosesBadly, voices.plain),
    "close_1000": (ClosesNormally, voices.plain),
    "close_before_audio": (ClosesBeforeAudio, voices.plain),
    "two_items": (Conversation, voices.two_finals),
    "interleaved": (Interleaved, voices.two_finals),
    "interleaved_commentary": (Interleaved, voices.commentary_and_final),
    "odd_chunks": (OddChunks, voices.plain),
    "big_delta": (OneBigDelta, voices.long_answer),
    "unknown_events": (UnknownEvents, voices.plain),
    "limits_first": (LimitsFirst, voices.plain),
    "keeps_vad": (KeepsVad, voices.plain),
    "sparse_echo": (SparseEcho, voices.plain),
    "refuses_session": (RefusesSession, voices.plain),
    "never_configured": (NeverConfigured, voices.plain),
    "never_answers": (NeverAnswers, voices.plain),
    "stalls": (Stalls, voices.plain),
    "error_first": (ErrorFirst, voices.plain),
    "model_gone": (ModelGone, voices.plain),
    "error_aside": (ErrorAside, voices.plain),
    "error_then_close": (ErrorThenClose, voices.plain),
    "answers_early": (AnswersEarly, voices.plain),
    "not_json": (NotJson, voices.plain),
    "not_base64": (NotBase64, voices.plain),
    "odd_values": (OddValues, voices.plain),
    "odd_shape": (OddShape, voices.plain),
    "echoes_key": (EchoesKey, voices.plain),
}
