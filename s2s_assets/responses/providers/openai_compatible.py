"""Any server that speaks OpenAI's realtime protocol at an address of its own: a config, not code.

`base_url` or `base_url_env` is needed; `key_env` only where the server wants a key. The turn is the family's
(`providers.realtime`). Speech is taken under its present name (`response.output_audio.…`) and under its older one
(`response.audio.…`), whichever comes first. Of the echoed session only turn detection must be as asked for: with it on,
the server would answer before the prompt is over. What else it says stays in the event log.

Settings beside the family's: `form` (`nested`, the present form of a session and the default, or `flat`, the older one),
`path` (default `/v1/realtime`), `create_response` (default true; false where the commit alone asks for the answer),
`output_rate_hz` (default 24000).
"""

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from s2s_assets.responses.providers.addresses import join
from s2s_assets.responses.providers.openai_realtime import OpenAIRealtime
from s2s_assets.responses.providers.realtime import COMMIT, CREATE, Event
from s2s_assets.responses.providers.websocket import STAGE
from s2s_assets.responses.records import RATES_HZ
from s2s_assets.study import StudyError

_FORMS = ("nested", "flat")


class OpenAICompatible(OpenAIRealtime):
    """One exchange with a server of one's own."""

    name: ClassVar[str] = "openai_compatible"
    version: ClassVar[str] = "2"
    default_url: ClassVar[str] = "wss://"
    tells_limits: ClassVar[bool] = False
    speech_events: ClassVar[tuple[str, ...]] = ("response.output_audio", "response.audio")
    setting_names: ClassVar[frozenset[str]] = OpenAIRealtime.setting_names | {
        "create_response",
        "form",
        "output_rate_hz",
        "path",
    }

    @classmethod
    def check(cls, model: str, settings: Mapping[str, Any]) -> None:
        """Refuse unknown settings, a form that is neither of the two, and a rate that is none.

        Raises:
            StudyError: an unknown key or form, an impossible rate.
        """
        super().check(model, settings)
        if settings.get("form", "nested") not in _FORMS:
            raise StudyError(f"model {model!r}: settings.form is {settings['form']!r}, expected nested or flat")
        rate_hz = settings.get("output_rate_hz", RATES_HZ[-1])
        if not isinstance(rate_hz, int) or rate_hz not in RATES_HZ:
            expected = f"a whole number of {RATES_HZ[0]} to {RATES_HZ[-1]} Hz"
            raise StudyError(f"model {model!r}: settings.output_rate_hz is {rate_hz!r}, expected {expected}")

    def url(self) -> str:
        """The address; path and model are part of it."""
        path = str(self.request.settings.get("path", self.path))
        return f"{join(self.request.addresses[STAGE], path)}?model={quote(self.model, safe='')}"

    @property
    def output_rate_hz(self) -> int:
        """Sampling rate of the answer, as the study says."""
        return int(self.request.settings.get("output_rate_hz", super().output_rate_hz))

    def session(self) -> dict[str, Any]:
        """The session in the form that the server reads."""
        if self.request.settings.get("form", "nested") == "nested":
            return super().session()
        transcription = self.request.settings.get("transcription")
        session: dict[str, Any] = {
            "modalities": ["text", "audio"],
            "instructions": self.request.instruction,
            "voice": self.request.voice,
            "input_audio_format": "pcm16",
            "output_audio_format": "pcm16",
            "input_audio_transcription": {"model": transcription} if transcription else None,
            "turn_detection": None,
        }
        return session

    def echoed(self, session: Event) -> Event:
        """Turn detection alone, in whichever form it is shown."""
        heard = (session.get("audio") or {}).get("input") or {}
        detection = session.get("turn_detection") or heard.get("turn_detection")
        on = None if isinstance(detection, Mapping) and detection.get("type") in {None, "none"} else detection
        return {"turn_detection": on, "audio": {"input": {"turn_detection": on}}}

    def end_of_turn(self) -> tuple[dict[str, Any], ...]:
        """Commit, and ask for the answer unless the commit alone does."""
        return (COMMIT, CREATE) if self.request.settings.get("create_response", True) else (COMMIT,)
