"""OpenAI Realtime, general availability form (gpt-realtime-2, gpt-realtime-2.1, and servers that speak it).

Turn: `session.update` with manual turn detection → `session.updated`, whose session is compared with what was asked
for → `input_audio_buffer.append`… → `.commit` → `response.create` → events until `response.done` of that response.
In an echoed session a key that is absent says nothing; a key with another value ends the exchange before any audio.

An item's `phase` is known before its audio: `commentary` is provisional, `final_answer` or none is the answer. Audio,
transcripts and phases are keyed by `item_id`, since the events of two items may come interleaved.

Settings (study.yaml): `model` (in the address), `transcription` (model of the side recognition that gives the input
transcript; none by default), `session` (merged into the session as sent).
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from s2s_assets.responses.providers.addresses import join
from s2s_assets.responses.providers.failures import classify, error_object
from s2s_assets.responses.providers.websocket import STAGE, Progress, WebsocketAdapter
from s2s_assets.responses.recorder import COMMENTARY, Item, Recorder
from s2s_assets.responses.records import ExchangeError, Request
from s2s_assets.study import NO_THINKING

Event = Mapping[str, Any]
_ABSENT = object()


class OpenAIRealtime(WebsocketAdapter):
    """One exchange over the Realtime protocol."""

    name: ClassVar[str] = "openai_realtime"
    version: ClassVar[str] = "1"
    input_rate_hz: ClassVar[int] = 24_000
    default_url: ClassVar[str] = "wss://api.openai.com"
    setting_names: ClassVar[frozenset[str]] = frozenset({"model", "transcription", "session"})

    def __init__(self, request: Request, recorder: Recorder) -> None:
        super().__init__(request, recorder)
        self._response: str | None = None
        self._complaint: ExchangeError | None = None
        self._awaits_transcript = self._session()["audio"]["input"].get("transcription") is not None

    def url(self) -> str:
        """The address; the model is part of it."""
        model = quote(str(self.request.settings.get("model", "")), safe="")
        return f"{join(self.request.addresses[STAGE], '/v1/realtime')}?model={model}"

    def headers(self) -> dict[str, str]:
        """The key as a bearer token, where there is one."""
        key = self.request.keys.get(STAGE)
        return {"Authorization": f"Bearer {key}"} if key else {}

    def configuration(self) -> dict[str, Any]:
        """`session.update` with all that the benchmark depends on said outright."""
        return {"type": "session.update", "session": self._session()}

    def _session(self) -> dict[str, Any]:
        pcm = {"type": "audio/pcm", "rate": self.input_rate_hz}
        transcription = self.request.settings.get("transcription")
        session: dict[str, Any] = {
            "type": "realtime",
            "output_modalities": ["audio"],
            "instructions": self.request.instruction,
            "audio": {
                "input": {
                    "format": pcm,
                    "turn_detection": None,
                    "noise_reduction": None,
                    "transcription": {"model": transcription} if transcription else None,
                },
                "output": {"format": pcm, "voice": self.request.voice},
            },
            "tools": [],
        }
        if self.request.thinking != NO_THINKING:
            session["reasoning"] = {"effort": self.request.thinking}
        merged: dict[str, Any] = _merged(session, self.request.settings.get("session", {}))
        return merged

    def acknowledged(self, event: Event) -> bool:
        """True at `session.updated` with a session that fits."""
        if event.get("type") == "error":
            raise error_object(event.get("error"))
        shown = event.get("session")
        if isinstance(shown, dict) and shown.get("model"):
            self.recorder.model_reported = str(shown["model"])
        if event.get("type") != "session.updated":
            return False
        differences = list(_differences(self._session(), shown, "session"))
        if differences:
            raise ExchangeError(
                "provider_error", "session_mismatch", f"the session is not what was asked for: {'; '.join(differences)}"
            )
        return True

    def frame(self, pcm: bytes) -> tuple[dict[str, Any], str]:
        """One append."""
        return {"type": "input_audio_buffer.append", "audio": base64.b64encode(pcm).decode()}, "audio"

    def end_of_turn(self) -> tuple[dict[str, Any], ...]:
        """Commit, then ask for the response: manual turns need both."""
        return {"type": "input_audio_buffer.commit"}, {"type": "response.create"}

    def body(self, event: Event) -> str | None:
        """Audio deltas hold audio."""
        return "delta" if event.get("type") == "response.output_audio.delta" else None

    def wants_more(self) -> bool:
        """An input transcript that was asked for and has neither come nor failed."""
        return self._awaits_transcript

    def receive(self, event: Event) -> Progress:
        """Record an event of the conversation."""
        kind = str(event.get("type"))
        if kind == "error":
            return self._complain(error_object(event.get("error")))
        if kind.startswith("conversation.item.input_audio_transcription."):
            return self._input_transcript(kind, event)
        if not kind.startswith("response.") or not self._is_ours(event):
            return Progress.ASIDE
        if kind == "response.done":
            return self._done(event["response"])
        if kind in {"response.output_item.added", "response.output_item.done"}:
            self._item_of(event["item"], event.get("output_index"))
        elif kind.startswith("response.output_audio"):
            self._speech(kind.removeprefix("response.output_audio"), event)
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
        if kind.endswith(".completed"):
            self.recorder.input_transcript = event.get("transcript")
        if kind.endswith((".completed", ".failed")):
            self._awaits_transcript = False
        return Progress.ASIDE

    def _item_of(self, item: Event, order: int | None) -> Item:
        record = self.recorder.item(str(item.get("id")), order)
        record.provisional = record.provisional or item.get("phase") == COMMENTARY
        return record

    def _speech(self, kind: str, event: Event) -> None:
        item = self.recorder.item(str(event.get("item_id")), event.get("output_index"))
        if kind == ".delta":
            self.recorder.audio(item, _decoded(event.get("delta")))
        elif kind == "_transcript.delta":
            item.pieces.append(str(event.get("delta", "")))
        elif kind == "_transcript.done":
            item.transcript = event.get("transcript")

    def _done(self, response: Event) -> Progress:
        self.recorder.usage = response.get("usage")
        for order, item in enumerate(response.get("output") or ()):
            if item.get("type") == "message":
                self._item_of(item, order)
        failure = _failure(response)
        if failure:
            raise failure
        return Progress.OVER

    def _closed(self, closed: Any) -> ExchangeError:
        """An error that came before the close says more than the close."""
        return self._complaint or super()._closed(closed)


def _failure(response: Event) -> ExchangeError | None:
    """What a response that did not complete failed of."""
    status, details = response.get("status"), response.get("status_details") or {}
    reason = details.get("reason") or ""
    if status == "completed":
        return None
    if status == "failed":
        return error_object(details.get("error"))
    if status == "incomplete":
        kind, retryable = classify(reason)
        kind = "truncated" if kind == "provider_error" else kind
        return ExchangeError(kind, reason or "incomplete", f"the answer is incomplete: {reason}", retryable=retryable)
    message = f"the response ended as {status!r}" + (f" ({reason})" if reason else "")
    return ExchangeError("provider_error", reason or str(status), message, retryable=status == "cancelled")


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise ExchangeError("invalid_audio", "not_base64", "an audio delta is no base64") from None


def _merged(base: Any, extra: Any) -> Any:
    """`extra` laid over `base`, mapping by mapping."""
    if not isinstance(base, dict) or not isinstance(extra, Mapping):
        return extra
    return {**base, **{k: _merged(base.get(k), v) for k, v in extra.items()}}


def _differences(asked: Any, shown: Any, where: str) -> list[str]:
    """Where an echo has another value than was asked for; absent keys say nothing."""
    if isinstance(asked, dict) and isinstance(shown, dict):
        return [
            line
            for key, value in asked.items()
            if shown.get(key, _ABSENT) is not _ABSENT
            for line in _differences(value, shown[key], f"{where}.{key}")
        ]
    return [] if asked == shown else [f"{where} is {str(shown)[:80]!r}, asked for {str(asked)[:80]!r}"]
