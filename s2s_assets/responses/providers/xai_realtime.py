"""xAI Grok voice: grok-voice-think-fast-1.0 and 2.0.

The family's turn and settings (`providers.realtime`) with these differences:

- voice, instructions, turn detection and reasoning stand at the top of the session, formats in `audio`;
- the commit alone asks for the reply: a `response.create` beside it is answered before the speech has joined the
  conversation, and nothing may follow it, since speech that reaches a reply ends it;
- a config's thinking level is always sent, and `none` is sent as `none`: the API has the levels `none` and `high`, and
  takes `high` for one that is left out;
- without a model that it knows the service takes another one and does not complain: the reported model must be the one
  that was asked for, so aliases are refused;
- a commit in which it hears no speech gets neither acknowledgement nor reply: `no_speech_detected`, final, since it is
  the model's doing;
- a reply can be dropped, without a `response.done`, for another one: `reply_dropped`.

Pings, speech marks and interim transcripts are no signs of an answer. Usage stands beside the response.
"""

from typing import Any, ClassVar

from s2s_assets.responses.providers.realtime import COMMIT, Event, RealtimeAdapter
from s2s_assets.responses.providers.websocket import Progress
from s2s_assets.responses.recorder import Recorder
from s2s_assets.responses.records import ExchangeError, Prompt, Request, Status

_HEARD = ("input_audio_buffer.speech_started", "input_audio_buffer.committed", "response.created")


class XaiRealtime(RealtimeAdapter):
    """One exchange with Grok voice."""

    name: ClassVar[str] = "xai_realtime"
    version: ClassVar[str] = "2"
    input_rate_hz: ClassVar[int] = 24_000
    default_url: ClassVar[str] = "wss://api.x.ai"

    def __init__(self, request: Request, recorder: Recorder) -> None:
        super().__init__(request, recorder)
        self._heard = False

    def session(self) -> dict[str, Any]:
        """Manual turns and PCM both ways."""
        pcm = {"format": {"type": "audio/pcm", "rate": self.input_rate_hz}}
        transcription = self.request.settings.get("transcription")
        return {
            "instructions": self.request.instruction,
            "voice": self.request.voice,
            "turn_detection": {"type": None},
            "reasoning": {"effort": self.request.thinking},
            "audio": {
                "input": {**pcm, "transcription": {"model": transcription}} if transcription else pcm,
                "output": pcm,
            },
        }

    def echoed(self, session: Event) -> Event:
        """Voices are shown in any case and with a prefix, and manual turns as null too."""
        shown = dict(session)
        if str(shown.get("voice")).lower().removeprefix("xai_") == self.request.voice.lower():
            shown["voice"] = self.request.voice
        if "turn_detection" in shown and not shown["turn_detection"]:
            shown["turn_detection"] = {"type": None}
        return shown

    def acknowledged(self, event: Event) -> bool:
        """True at a session that fits, of the model that was asked for."""
        done = super().acknowledged(event)
        reported = self.recorder.model_reported
        if done and reported is not None and reported != self.model:
            message = f"the service answers with {reported!r}, asked for {self.model!r}; name a model, not an alias"
            raise ExchangeError("provider_error", "model_mismatch", message)
        return done

    def end_of_turn(self) -> tuple[dict[str, Any], ...]:
        """The commit."""
        return (COMMIT,)

    def receive(self, event: Event) -> Progress:
        """Record an event; another response in the place of ours has dropped it."""
        kind = event.get("type")
        self._heard = self._heard or kind in _HEARD
        if kind == "response.created" and self.recorder.reached("first_event"):
            message = "the service began another reply and left this one unfinished"
            status: Status = "truncated" if self.recorder.final else "provider_error"
            raise ExchangeError(status, "reply_dropped", message, retryable=True)
        return super().receive(event)

    async def run(self, prompt: Prompt) -> None:
        """One turn; silence after it means that no speech was heard."""
        try:
            await super().run(prompt)
        except ExchangeError as error:
            if error.code != "first_event_timeout" or self._heard:
                raise
            message = f"{error.message}: the prompt was not even acknowledged, as when no speech is heard in it"
            raise ExchangeError("timeout", "no_speech_detected", message) from None
