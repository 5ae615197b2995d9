"""OpenAI Realtime, general availability form: gpt-realtime-2 and gpt-realtime-2.1.

The family's turn and settings (`providers.realtime`), with the session in the nested form. A config's thinking level is
the reasoning effort (`minimal` … `xhigh`); a model without thinking levels is sent none, and takes the API's default.
"""

from typing import Any, ClassVar

from s2s_assets.responses.providers.realtime import RealtimeAdapter
from s2s_assets.study import NO_THINKING


class OpenAIRealtime(RealtimeAdapter):
    """One exchange over the Realtime protocol."""

    name: ClassVar[str] = "openai_realtime"
    version: ClassVar[str] = "2"
    input_rate_hz: ClassVar[int] = 24_000
    default_url: ClassVar[str] = "wss://api.openai.com"
    tells_limits: ClassVar[bool] = True

    def session(self) -> dict[str, Any]:
        """Manual turns, audio out, and nothing left to the server's defaults, its instructions least of all."""
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
        return session
