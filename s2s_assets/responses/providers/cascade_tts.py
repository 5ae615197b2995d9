"""Text to speech by ElevenLabs: `POST /v1/text-to-speech/VOICE/stream?output_format=pcm_24000`.

The body is headerless PCM whose pieces may end in the middle of a sample; one that breaks off is a truncated answer.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from s2s_assets.responses.providers.http import HttpStage
from s2s_assets.responses.recorder import Item, Recorder
from s2s_assets.responses.records import Request

_DEFAULTS = {"model": "eleven_flash_v2_5"}


class Flash:
    """The voice of one exchange; `settings` are the request's fields, sent as they are."""

    def __init__(self, request: Request, recorder: Recorder, settings: Mapping[str, Any]) -> None:
        self._http = HttpStage(request, recorder, "tts", key_header="xi-api-key")
        self._recorder = recorder
        self._settings = {**_DEFAULTS, **settings}
        self._path = f"/v1/text-to-speech/{quote(request.voice, safe='')}/stream"

    @property
    def url(self) -> str:
        """Where it is."""
        return self._http.url(self._path)

    @property
    def wording(self) -> dict[str, Any]:
        """The request without its text."""
        settings = dict(self._settings)
        return {"model_id": settings.pop("model"), **settings}

    async def probe(self) -> None:
        """Have the key looked at."""
        await self._http.probe()

    async def speak(self, text: str, item: Item) -> None:
        """Record a text's speech."""
        body = {**self.wording, "text": text}
        self._recorder.log(">", {"type": "tts.request", **body})
        async with self._http.post(self._path, json=body, params={"output_format": "pcm_24000"}) as answer:
            self._http.charge({"characters": len(text)})
            async for piece in answer.pieces():
                self._recorder.log("<", {"type": "tts.chunk", "bytes": len(piece)})
                self._recorder.audio(item, piece)
