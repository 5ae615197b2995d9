"""Gemini Live (`BidiGenerateContent`): gemini-3.1-flash-live-preview and the 2.5 native audio models.

Turn: `setup` → `setupComplete` → `activityStart` → frames → `activityEnd`, which alone asks for the answer → `serverContent`
until `generationComplete`: all audio is there. `turnComplete`, with the usage, may be held back until the audio would have
been played; it is waited for so long and 5 × `grace_s` more, but an answer without it is whole. Only a reason of rejection
in it makes a refusal. A message may hold several of these, or nothing, in camelCase or snake_case. `thought` parts are
thinking; transcripts are fragments, before or after the audio. Failures are closes: a reason that speaks of quota is a rate
limit; 1007 (invalid argument) and 1008 (policy, unknown model) are final; others may pass.

A thinking level is 3.x's `thinkingLevel` (`minimal` … `high`), a number 2.5's `thinkingBudget`, `none` neither. Settings
(study.yaml): `model`; `setup`, merged into the setup as sent (`inputAudioTranscription: {}` asks for an input transcript).
"""

import base64
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from s2s_assets.responses.providers.addresses import join
from s2s_assets.responses.providers.failures import decoded, possible_rate_hz
from s2s_assets.responses.providers.sessions import camel_case, merged
from s2s_assets.responses.providers.websocket import STAGE, Progress, WebsocketAdapter
from s2s_assets.responses.recorder import Recorder
from s2s_assets.responses.records import ExchangeError, Prompt, Request
from s2s_assets.study import NO_THINKING

Event = Mapping[str, Any]
_PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
_SPENT = re.compile(r"quota|exhausted|throttl|rate.?limit|too many", re.IGNORECASE)
_REJECTED = re.compile(r"REJECTED|PROHIBITED|SAFETY|BLOCKLIST|NCII|UNSAFE|INPUT_OTHER")
_PCM = re.compile(r"audio/pcm(?:; ?rate=(\d+))?")


class GeminiLive(WebsocketAdapter):
    """One exchange over the Live protocol."""

    name: ClassVar[str] = "gemini_live"
    version: ClassVar[str] = "2"
    input_rate_hz: ClassVar[int] = 16_000
    default_url: ClassVar[str] = "wss://generativelanguage.googleapis.com"
    setting_names: ClassVar[frozenset[str]] = frozenset({"model", "setup"})

    def __init__(self, request: Request, recorder: Recorder) -> None:
        super().__init__(request, recorder)
        self._ending: str | None = None
        self._rate_hz = super().output_rate_hz

    @property
    def output_rate_hz(self) -> int:
        """What the audio says."""
        return self._rate_hz

    def url(self) -> str:
        """The address; the model is part of the setup, and the key of a header, since addresses are logged."""
        return join(self.request.addresses[STAGE], _PATH)

    def headers(self) -> dict[str, str]:
        """The key, where there is one."""
        return {"x-goog-api-key": key} if (key := self.request.keys.get(STAGE)) else {}

    def configuration(self) -> dict[str, Any]:
        """`setup`: manual turns that nothing interrupts, audio out with its transcript."""
        level = self.request.thinking
        voice = {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": self.request.voice}}}
        generation: dict[str, Any] = {"responseModalities": ["AUDIO"], "speechConfig": voice}
        if level != NO_THINKING:
            amount = {"thinkingBudget": int(level)} if level.isdecimal() else {"thinkingLevel": level.upper()}
            generation["thinkingConfig"] = {**amount, "includeThoughts": True}
        turns = {"automaticActivityDetection": {"disabled": True}, "activityHandling": "NO_INTERRUPTION"}
        setup = {
            "model": "models/" + str(self.request.settings.get("model", "")).removeprefix("models/"),
            "generationConfig": generation,
            "systemInstruction": {"parts": [{"text": self.request.instruction}]},
            "realtimeInputConfig": turns,
            "outputAudioTranscription": {},
        }
        return {"setup": merged(setup, self.request.settings.get("setup", {}))}

    def acknowledged(self, event: Event) -> bool:
        """True at `setupComplete`."""
        return "setupComplete" in camel_case(event)

    def start_of_turn(self) -> tuple[dict[str, Any], ...]:
        """Audio outside an activity is thrown away."""
        return ({"realtimeInput": {"activityStart": {}}},)

    def frame(self, pcm: bytes) -> tuple[dict[str, Any], str]:
        """One blob."""
        audio = {"data": base64.b64encode(pcm).decode(), "mimeType": f"audio/pcm;rate={self.input_rate_hz}"}
        return {"realtimeInput": {"audio": audio}}, "data"

    def body(self, event: Event) -> str:
        """Blobs, of which alone the messages have this key."""
        return "data"

    def end_of_turn(self) -> tuple[dict[str, Any], ...]:
        """The end of the activity, which asks for the answer."""
        return ({"realtimeInput": {"activityEnd": {}}},)

    def patience_s(self) -> float:
        """For a turn's end as long as its audio lasts and more; then shortly for a transcript, or usage that is due."""
        grace_s = self.request.terms.grace_s
        if self._ending is None:
            return len(self.recorder.final) / 2 / self.output_rate_hz + 5 * grace_s
        # the last fragment of a transcript does not say that it is the last
        due = "inputAudioTranscription" in self.configuration()["setup"] or self.recorder.usage is None
        return grace_s if due else 0.0

    async def run(self, prompt: Prompt) -> None:
        """One turn; whether it was rejected is known at its very end."""
        await super().run(prompt)
        if self._ending and _REJECTED.search(self._ending):
            raise ExchangeError("refused", self._ending.lower(), f"the turn ended as {self._ending}")

    def receive(self, event: Event) -> Progress:
        """Record a message."""
        message = camel_case(event)
        self.recorder.usage = message.get("usageMetadata") or self.recorder.usage
        content = message.get("serverContent") or {}
        if heard := content.get("inputTranscription", {}).get("text"):
            self.recorder.input_transcript = ((self.recorder.input_transcript or "") + heard).lstrip()
        if said := content.get("outputTranscription", {}).get("text"):
            self.recorder.item("answer").pieces.append(said)
        parts = content.get("modelTurn", {}).get("parts", ())
        for part in () if self.recorder.reached("done") else parts:
            self._take(part)
        if content.get("interrupted"):
            raise ExchangeError("truncated", "interrupted", "the service interrupted its answer", retryable=True)
        if content.get("turnComplete"):
            self._ending = str(content.get("turnCompleteReason", ""))
        if content.get("turnComplete") or content.get("generationComplete"):
            return Progress.OVER
        return Progress.ANSWER if parts or said else Progress.ASIDE

    def _take(self, part: Event) -> None:
        if part.get("thought"):
            self.recorder.thinking = ["".join([*self.recorder.thinking, part.get("text", "")])]
        elif blob := part.get("inlineData"):
            kind = _PCM.fullmatch(blob.get("mimeType", "audio/pcm"))
            rate_hz = int(kind[1] or self._rate_hz) if kind else None
            if rate_hz is None or (self.recorder.reached("first_audio") and rate_hz != self._rate_hz):
                problem = f"audio is {blob['mimeType']!r}, not PCM of one rate"
                raise ExchangeError("invalid_audio", "unexpected_format", problem)
            self._rate_hz = possible_rate_hz(rate_hz)
            self.recorder.audio(self.recorder.item("answer"), decoded(blob.get("data")))

    def closed(self, code: int, reason: str) -> ExchangeError:
        """A limit, something final, or a close that may pass."""
        error = super().closed(code, reason)
        error.status = "rate_limited" if _SPENT.search(reason) else error.status
        error.retryable = code not in {1007, 1008}
        return error
