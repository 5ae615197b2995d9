"""The demo's systems under test: what each says, how fast, in which voice, and what becomes of the sound.

They differ on purpose and by construction; studies/demo/truth.yaml puts numbers on it for the simulated raters.

| system | words | sound |
|---|---|---|
| demo-clear | a remark first; short with thinking `minimal`, fuller with `high` | full bandwidth, calm |
| demo-phone | fuller | a telephone's band, 8-bit μ-law |
| demo-hasty | fuller | 270 words a minute, endings cut off |
| demo-aloof | ignore what was said | full bandwidth, calm |
| demo-robot | short | one flat pitch, overdriven |
| demo-cascade | short | full bandwidth, faint hiss; three services over HTTP |
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from s2s_assets.audio import decode, mono, pcm16, resample
from s2s_assets.demo.answers import RATE_HZ, Answer, Session, SpokenItem
from s2s_assets.demo.effects import cut_ending, hiss, overdrive, telephone
from s2s_assets.demo.replies import COMMENTARY, ignoring_reply, reply_to
from s2s_assets.demo.speech import Recognizer
from s2s_assets.demo.synth import Samples, Speaker, Synthesizer

THOUGHTFUL = frozenset({"medium", "high", "xhigh"})
"""Efforts that get the fuller reply from a system whose reply depends on the effort."""

VOICES = {
    "annie": Speaker("Annie"),
    "alex": Speaker("Alex"),
    "andrea": Speaker("Andrea"),
    "m3": Speaker("m3"),
    "linda": Speaker("linda"),
    "m7": Speaker("m7"),
    "klatt2": Speaker("klatt2"),
    "f4": Speaker("f4"),
    "steph": Speaker("steph"),
}
"""Voice id of study.yaml → speaker. Variants f2, f3, f5 and Alicia are left out: they read unset memory and never repeat."""

Words = Callable[[str, str | None], str]
"""Recognised words and effort → reply."""


def _full(heard: str, _effort: str | None) -> str:
    return reply_to(heard, full=True)


def _short(heard: str, _effort: str | None) -> str:
    return reply_to(heard, full=False)


def _by_effort(heard: str, effort: str | None) -> str:
    return reply_to(heard, full=effort in THOUGHTFUL)


def _ignoring(heard: str, _effort: str | None) -> str:
    return ignoring_reply(heard)


@dataclass(frozen=True)
class System:
    """One system under test."""

    words: Words
    effects: tuple[Callable[[Samples], Samples], ...] = ()
    words_per_minute: int = 165
    pitch_range: int = 50
    commentary: str | None = None
    """Said first, as provisional audio."""

    def speaker(self, voice: str) -> Speaker:
        """A voice, speaking as this system does.

        Raises:
            ValueError: there is no such voice.
        """
        if voice not in VOICES:
            raise ValueError(f"voice {voice!r}: the demo has {', '.join(VOICES)}")
        return replace(VOICES[voice], words_per_minute=self.words_per_minute, pitch_range=self.pitch_range)

    def sound(self, samples: Samples) -> bytes:
        """What becomes of the speech, as PCM."""
        for effect in self.effects:
            samples = effect(samples)
        return pcm16(samples)


SYSTEMS = {
    "demo-clear": System(_by_effort, commentary=COMMENTARY),
    "demo-phone": System(_full, effects=(telephone,)),
    "demo-hasty": System(_full, effects=(cut_ending,), words_per_minute=270),
    "demo-aloof": System(_ignoring),
    "demo-robot": System(_short, effects=(overdrive,), words_per_minute=145, pitch_range=0),
}
"""Model of the realtime server → system."""

CASCADE = System(_short, effects=(hiss,))


class DemoSystems:
    """All systems on one recogniser and one synthesizer: an `Answerer`, and the services of a cascade."""

    def __init__(self, cache: Path) -> None:
        """`cache`: folder for recognised texts."""
        self.recognizer = Recognizer(cache)
        self._synthesizer = Synthesizer()

    async def answer(self, pcm: bytes, session: Session) -> Answer:
        """One system's answer to a spoken prompt.

        Raises:
            ValueError: there is no such system or voice.
        """
        if session.model not in SYSTEMS:
            raise ValueError(f"model {session.model!r}: the demo has {', '.join(SYSTEMS)}")
        system = SYSTEMS[session.model]
        heard = await self.recognizer.text_of(pcm)
        spoken = [("commentary", system.commentary)] if system.commentary else []
        spoken.append(("final_answer", system.words(heard, session.effort)))
        items = [SpokenItem(phase, text, await self._say(text, system, session.voice)) for phase, text in spoken]
        return Answer(tuple(items), input_transcript=heard)

    async def transcribe(self, wav: bytes) -> str:
        """Text of a WAV file's speech.

        Raises:
            AudioError: it cannot be decoded.
        """
        heard = resample(mono(decode(wav, "the prompt")), RATE_HZ)
        return await self.recognizer.text_of(pcm16(heard.samples))

    async def reply(self, text: str, instructions: str, effort: str | None) -> str:
        """A written reply."""
        return CASCADE.words(text, effort)

    async def speak(self, text: str, voice_id: str) -> bytes:
        """Speech as PCM.

        Raises:
            ValueError: there is no such voice.
        """
        return await self._say(text, CASCADE, voice_id)

    def warm_up(self) -> None:
        """Start both engines without waiting for them."""
        self.recognizer.warm_up()
        self._synthesizer.warm_up()

    def close(self) -> None:
        """Stop both engines."""
        self.recognizer.close()
        self._synthesizer.close()

    async def _say(self, text: str, system: System, voice: str) -> bytes:
        return system.sound(await self._synthesizer.speak(text, system.speaker(voice)))
