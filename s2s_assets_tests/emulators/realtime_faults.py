"""How servers with OpenAI's realtime vocabulary fail: answers that end badly, sockets that close, errors, silence.

Each class overrides hooks of `Conversation` and calls the next one, so that it can stand on another server's dialect.
"""

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any, ClassVar

from s2s_assets.demo.answers import Answer
from s2s_assets.demo.realtime_conversation import Conversation
from s2s_assets.demo.realtime_events import RequestError, new_name

RATE_LIMIT = {
    "type": "tokens",
    "code": "rate_limit_exceeded",
    "message": "Rate limit reached for this model: Limit 1000, Used 1000, Requested 1. Please try again in 20ms.",
}


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
            await self.send("telemetry.sample", load=0.5)


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


class AnswersInAPause(Conversation):
    """Ends the turn by itself, whatever the session says, and answers the part of the prompt that has come."""

    async def handle(self, message: Mapping[str, Any], tasks: asyncio.TaskGroup) -> None:
        await super().handle(message, tasks)
        if self.buffer and self.responding is None:
            self.prompt = bytes(self.buffer)
            self.responding = tasks.create_task(self.respond(new_name("resp")))


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
