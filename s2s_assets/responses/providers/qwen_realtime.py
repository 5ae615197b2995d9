"""Qwen Omni over DashScope's realtime websocket (qwen3-omni-flash-realtime and its successors).

The family's turn and settings (`providers.realtime`) in the older, flat form: the session has no nested `audio`, formats
are names (`pcm`, `pcm16`, `pcm24`: whatever the name, 16 kHz in and 24 kHz out), audio must go with text in
`modalities`, and the events of speech are `response.audio.…`. No phase, no thinking levels.

One more setting: `workspace`, sent as `X-DashScope-WorkSpace`. The default address is the international one; accounts
of the Chinese region set `base_url: wss://dashscope.aliyuncs.com`.
"""

from typing import Any, ClassVar

from s2s_assets.responses.providers.realtime import Event, RealtimeAdapter


class QwenRealtime(RealtimeAdapter):
    """One exchange over DashScope's realtime protocol."""

    name: ClassVar[str] = "qwen_realtime"
    version: ClassVar[str] = "2"
    input_rate_hz: ClassVar[int] = 16_000
    default_url: ClassVar[str] = "wss://dashscope-intl.aliyuncs.com"
    path: ClassVar[str] = "/api-ws/v1/realtime"
    speech_events: ClassVar[tuple[str, ...]] = ("response.audio",)
    setting_names: ClassVar[frozenset[str]] = RealtimeAdapter.setting_names | {"workspace"}

    def headers(self) -> dict[str, str]:
        """The key, and the workspace where there is one."""
        workspace = self.request.settings.get("workspace")
        return {**super().headers(), **({"X-DashScope-WorkSpace": str(workspace)} if workspace else {})}

    def session(self) -> dict[str, Any]:
        """Manual turns; audio with text."""
        transcription = self.request.settings.get("transcription")
        session: dict[str, Any] = {
            "modalities": ["text", "audio"],
            "voice": self.request.voice,
            "instructions": self.request.instruction,
            "input_audio_format": "pcm",
            "output_audio_format": "pcm",
            "turn_detection": None,
        }
        return {**session, "input_audio_transcription": {"model": transcription}} if transcription else session

    def echoed(self, session: Event) -> Event:
        """Names of PCM formats differ by age, voices in case."""
        formats = {k: "pcm" for k in ("input_audio_format", "output_audio_format") if _is_pcm(session.get(k))}
        same_voice = str(session.get("voice")).lower() == self.request.voice.lower()
        return {**session, **formats, **({"voice": self.request.voice} if same_voice else {})}


def _is_pcm(name: Any) -> bool:
    return str(name).startswith("pcm")
