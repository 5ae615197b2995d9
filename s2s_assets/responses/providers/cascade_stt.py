"""Speech to text by ElevenLabs: `POST /v1/speech-to-text`, the prompt as a WAV file in a multipart form → `text`."""

from collections.abc import Mapping
from typing import Any

from s2s_assets.responses.providers.http import HttpStage
from s2s_assets.responses.recorder import Recorder
from s2s_assets.responses.records import ExchangeError, Prompt, Request

PATH = "/v1/speech-to-text"
_DEFAULTS = {"model": "scribe_v2", "tag_audio_events": False, "timestamps_granularity": "none"}


class Scribe:
    """The recogniser of one exchange; `settings` are the form's fields, sent as they are."""

    def __init__(self, request: Request, recorder: Recorder, settings: Mapping[str, Any]) -> None:
        self._http = HttpStage(request, recorder, "stt", key_header="xi-api-key", carries_prompt=True)
        self._recorder = recorder
        self._settings = {**_DEFAULTS, **settings}

    @property
    def url(self) -> str:
        """Where it is."""
        return self._http.url(PATH)

    @property
    def form(self) -> dict[str, str]:
        """Fields of the form without the file; booleans go as words."""
        settings = dict(self._settings)
        fields = {"model_id": settings.pop("model"), **settings}
        return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in fields.items()}

    async def probe(self) -> None:
        """Have the key looked at."""
        await self._http.probe()

    async def hear(self, prompt: Prompt) -> str:
        """The words of a prompt.

        Raises:
            ExchangeError: `no_transcript` where no words were heard.
        """
        files = {"file": ("prompt.wav", prompt.wav(), "audio/wav")}
        self._recorder.log(">", {"type": "stt.request", "fields": self.form, "seconds": prompt.duration_s})
        async with self._http.post(PATH, data=self.form, files=files) as answer:
            document = await answer.json()
        self._recorder.log("<", {"type": "stt.answer", **document})
        self._recorder.mark("first_event")
        self._http.charge({"seconds": document.get("audio_duration_secs", prompt.duration_s)})
        text = str(document.get("text") or "").strip()
        if not text:
            raise ExchangeError("provider_error", "no_transcript", "the recogniser heard no words", stage="stt")
        self._recorder.input_transcript = text
        return text
