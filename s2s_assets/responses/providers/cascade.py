"""The cascade baseline: speech to text, text to text, text to speech, each over HTTP at its own provider.

ElevenLabs Scribe v2 (`cascade_stt`) hears, OpenAI Responses (`cascade_llm`) replies, ElevenLabs Flash v2.5
(`cascade_tts`) speaks. The first stage that fails ends the exchange and is named in it. Each stage holds a slot of its
own provider, and its usage is kept under its own name.

Settings (study.yaml): `stt`, `llm`, `tts`, each with `model`, optionally `provider` (for the limits) and any field of
its endpoint, sent as it is.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from s2s_assets.responses.providers.base import Adapter, StageSpec
from s2s_assets.responses.providers.cascade_llm import Responses
from s2s_assets.responses.providers.cascade_stt import Scribe
from s2s_assets.responses.providers.cascade_tts import Flash
from s2s_assets.responses.recorder import Recorder
from s2s_assets.responses.records import Prompt, Request


class Cascade(Adapter):
    """One exchange through three stages."""

    name: ClassVar[str] = "cascade"
    version: ClassVar[str] = "2"
    input_rate_hz: ClassVar[int] = 24_000
    stages: ClassVar[Mapping[str, StageSpec]] = {
        "stt": StageSpec("https://api.elevenlabs.io", "elevenlabs", "scribe_v2"),
        "llm": StageSpec("https://api.openai.com", "openai", "gpt-5.6-terra"),
        "tts": StageSpec("https://api.elevenlabs.io", "elevenlabs", "eleven_flash_v2_5"),
    }
    setting_names: ClassVar[frozenset[str]] = frozenset(stages)

    def __init__(self, request: Request, recorder: Recorder) -> None:
        super().__init__(request, recorder)
        self._stt = Scribe(request, recorder, self._settings("stt"))
        self._llm = Responses(request, recorder, self._settings("llm"))
        self._tts = Flash(request, recorder, self._settings("tts"))

    def _settings(self, stage: str) -> dict[str, Any]:
        return {k: v for k, v in self.request.settings.get(stage, {}).items() if k != "provider"}

    def snapshot(self) -> dict[str, Any]:
        """Addresses and bodies, without what the stage before decides."""
        return {
            "urls": {"stt": self._stt.url, "llm": self._llm.url, "tts": self._tts.url},
            "stt": self._stt.form,
            "llm": self._llm.question,
            "tts": self._tts.wording,
            "input_rate_hz": self.input_rate_hz,
        }

    async def probe(self) -> None:
        """Each stage's key, and the language model's name."""
        for stage in (self._stt, self._llm, self._tts):
            await stage.probe()

    async def run(self, prompt: Prompt) -> None:
        """The three stages, one after another."""
        heard = await self._stt.hear(prompt)
        answer = self.recorder.item("answer")
        answer.transcript = await self._llm.reply(heard)
        await self._tts.speak(answer.transcript, answer)
        self.recorder.mark("done")
