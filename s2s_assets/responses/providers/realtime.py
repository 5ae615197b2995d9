"""What the realtime protocols with OpenAI's vocabulary share; an adapter of the family says what differs.

Turn: `session.update` with manual turn detection → `session.updated`, whose session is compared with what was asked
for → `input_audio_buffer.append`… → `.commit` → (`response.create`) → events until `response.done` of that response.
In an echoed session a key that is absent says nothing; a key with another value ends the exchange before any audio.

An item's `phase` is known before its audio: `commentary` is provisional, `final_answer` or none is the answer. Audio,
transcripts and phases are keyed by `item_id`, since the events of two items may come interleaved. An input transcript
counts only where it is final (a `status` other than `completed` marks an interim one). Usage stands in the response or
beside it.

Settings of the family (study.yaml): `model` (in the address), `transcription` (model of the side recognition that gives
the input transcript; none by default), `session` (merged into the session as sent).
"""

import base64
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote

from s2s_assets.responses.providers.addresses import join
from s2s_assets.responses.providers.failures import classify, decoded, error_object
from s2s_assets.responses.providers.sessions import differences, merged, wants_input_transcript
from s2s_assets.responses.providers.websocket import STAGE, Progress, WebsocketAdapter
from s2s_assets.responses.recorder import COMMENTARY, Item, Recorder
from s2s_assets.responses.records import ExchangeError, Request

Event = Mapping[str, Any]
COMMIT = {"type": "input_audio_buffer.commit"}
CREATE = {"type": "response.create"}
_LIMITS_GRACE_S = 0.25
_TRANSCRIPT = "conversation.item.input_audio_transcription."


class RealtimeAdapter(WebsocketAdapter):
    """One exchange over a protocol of the family."""

    path: ClassVar[str] = "/v1/realtime"
    speech_events: ClassVar[tuple[str, ...]] = ("response.output_audio",)
    """What the events of speech begin with. Of several the one that comes first counts, so that a server that says
    everything in two ways is not heard twice."""
    tells_limits: ClassVar[bool] = False
    """Whether the server says, as a rule right after an answer, what is left of its limits."""
    setting_names: ClassVar[frozenset[str]] = frozenset({"model", "transcription", "session"})

    def __init__(self, request: Request, recorder: Recorder) -> None:
        super().__init__(request, recorder)
        self.asked: dict[str, Any] = merged(self.session(), request.settings.get("session", {}))
        self._awaits_transcript = wants_input_transcript(self.asked)
        self._awaits_limits = self.tells_limits
        self._response: str | None = None
        self._speech_event: str | None = None
        self._complaint: ExchangeError | None = None

    @abstractmethod
    def session(self) -> dict[str, Any]:
        """The session to ask for, with all that the benchmark depends on said outright."""

    def echoed(self, session: Event) -> Event:
        """An acknowledged session in the words of the request, where the server has other words for the same."""
        return session

    def end_of_turn(self) -> Sequence[dict[str, Any]]:
        """Commit, then ask for the response: manual turns need both, as a rule."""
        return COMMIT, CREATE

    def url(self) -> str:
        """The address; the model is part of it."""
        return f"{join(self.request.addresses[STAGE], self.path)}?model={quote(self.model, safe='')}"

    @property
    def model(self) -> str:
        """The provider's name of the model."""
        return str(self.request.settings.get("model", ""))

    def headers(self) -> dict[str, str]:
        """The key as a bearer token, where there is one."""
        key = self.request.keys.get(STAGE)
        return {"Authorization": f"Bearer {key}"} if key else {}

    def configuration(self) -> dict[str, Any]:
        """`session.update`."""
        return {"type": "session.update", "session": self.asked}

    def acknowledged(self, event: Event) -> bool:
        """True at `session.updated` with a session that fits."""
        if event.get("type") == "error":
            raise error_object(event.get("error") or event)
        shown = event.get("session")
        if isinstance(shown, dict) and shown.get("model"):
            self.recorder.model_reported = str(shown["model"])
        if event.get("type") != "session.updated":
            return False
        found = sorted(differences(self.asked, self.echoed(shown) if isinstance(shown, dict) else shown))
        if found:
            raise ExchangeError(
                "provider_error", "session_mismatch", f"the session is not what was asked for: {'; '.join(found)}"
            )
        return True

    def frame(self, pcm: bytes) -> tuple[dict[str, Any], str]:
        """One append."""
        return {"type": "input_audio_buffer.append", "audio": base64.b64encode(pcm).decode()}, "audio"

    def body(self, event: Event) -> str | None:
        """Audio deltas hold audio, under whichever name they come."""
        kind = str(event.get("type"))
        return "delta" if any(kind == f"{name}.delta" for name in self.speech_events) else None

    def patience_s(self) -> float:
        """For an input transcript that was asked for and has neither come nor failed, and for limits, which come soon."""
        grace_s = self.request.terms.grace_s
        if self._awaits_transcript:
            return grace_s
        return min(_LIMITS_GRACE_S, grace_s) if self._awaits_limits else 0.0

    def receive(self, event: Event) -> Progress:
        """Record an event of the conversation."""
        kind = str(event.get("type"))
        if kind == "error":
            return self._complain(error_object(event.get("error") or event))
        if kind == "rate_limits.updated":
            self._awaits_limits = False
        if kind.startswith(_TRANSCRIPT):
            return self._input_transcript(kind, event)
        if not kind.startswith("response.") or not self._is_ours(event):
            return Progress.ASIDE
        if kind == "response.done":
            return self._done(event)
        if kind in {"response.output_item.added", "response.output_item.done"}:
            self._item_of(event["item"], event.get("output_index"))
        elif part := self._part_of_speech(kind):
            self._speech(part, event)
        return Progress.ANSWER

    def _is_ours(self, event: Event) -> bool:
        """Whether an event is of the one response that was asked for; the first to be created is it."""
        response = event.get("response")
        name = response.get("id") if isinstance(response, dict) else event.get("response_id")
        if self._response is None and event.get("type") == "response.created":
            self._response = name
        return name == self._response

    def _complain(self, complaint: ExchangeError) -> Progress:
        """An error before our response is the end; one beside it is kept in case the response never ends."""
        if self._response is None:
            raise complaint
        self._complaint = complaint
        return Progress.ASIDE

    def _input_transcript(self, kind: str, event: Event) -> Progress:
        heard = kind.endswith(".completed") and event.get("status", "completed") == "completed"
        if heard:
            self.recorder.input_transcript = event.get("transcript")
        if heard or kind.endswith(".failed"):
            self._awaits_transcript = False
        return Progress.ASIDE

    def _item_of(self, item: Event, order: int | None) -> Item:
        record = self.recorder.item(str(item.get("id")), order)
        record.provisional = record.provisional or item.get("phase") == COMMENTARY
        return record

    def _part_of_speech(self, kind: str) -> str | None:
        """What of an item's speech an event is: `.delta` (audio), `_transcript.delta`, `_transcript.done` and others."""
        known = (self._speech_event,) if self._speech_event else self.speech_events
        return next((kind.removeprefix(name) for name in known if kind.startswith(name)), None)

    def _speech(self, part: str, event: Event) -> None:
        self._speech_event = str(event["type"]).removesuffix(part)
        item = self.recorder.item(str(event.get("item_id")), event.get("output_index"))
        if part == ".delta":
            self.recorder.audio(item, decoded(event.get("delta")))
        elif part == "_transcript.delta":
            item.pieces.append(str(event.get("delta", "")))
        elif part == "_transcript.done":
            item.transcript = event.get("transcript")

    def _done(self, event: Event) -> Progress:
        response = event["response"]
        self.recorder.usage = response.get("usage") or event.get("usage")
        for order, item in enumerate(response.get("output") or ()):
            if item.get("type") == "message":
                self._item_of(item, order)
        failure = _failure(response)
        if failure:
            raise failure
        return Progress.OVER

    def closed(self, code: int, reason: str) -> ExchangeError:
        """An error that came before the close says more than the close."""
        return self._complaint or super().closed(code, reason)


def _failure(response: Event) -> ExchangeError | None:
    """What a response that did not complete failed of."""
    status, details = response.get("status"), response.get("status_details")
    details = details if isinstance(details, dict) else {}
    reason = str(details.get("reason") or "")
    if status == "completed":
        return None
    if status == "failed":
        return error_object(details.get("error") or {"message": "the response failed"})
    if status == "incomplete":
        kind, retryable = classify(reason)
        kind = "truncated" if kind == "provider_error" else kind
        return ExchangeError(kind, reason or "incomplete", f"the answer is incomplete: {reason}", retryable=retryable)
    message = f"the response ended as {status!r}" + (f" ({reason})" if reason else "")
    return ExchangeError("provider_error", reason or str(status), message, retryable=status == "cancelled")
