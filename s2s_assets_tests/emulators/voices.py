"""Answers for emulators: the same speech-like noise for the same prompt, so that a test knows every byte to expect."""

import hashlib

import numpy as np

from s2s_assets.demo.answers import RATE_HZ, Answer, Session, SpokenItem

COMMENTARY = "Let me think about that."
FINAL = "Here is the whole answer to it."
HEARD = "What was said."


def speech(seed: bytes | str, seconds: float = 0.8) -> bytes:
    """Audible s16le PCM at 24 kHz that depends on the seed alone."""
    digest = hashlib.sha256(seed if isinstance(seed, bytes) else seed.encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    tone = np.sin(2 * np.pi * rng.integers(100, 300) * t) * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * t))
    return np.rint(8000 * tone + rng.normal(0, 300, len(t))).astype("<i2").tobytes()


def item(phase: str | None, text: str, prompt: bytes, seconds: float = 0.8) -> SpokenItem:
    return SpokenItem(phase, text, speech(text.encode() + prompt, seconds))


async def plain(pcm: bytes, session: Session) -> Answer:
    return Answer((item("final_answer", FINAL, pcm),), HEARD)


async def commentary_and_final(pcm: bytes, session: Session) -> Answer:
    return Answer((item("commentary", COMMENTARY, pcm), item("final_answer", FINAL, pcm)), HEARD)


async def commentary_only(pcm: bytes, session: Session) -> Answer:
    return Answer((item("commentary", COMMENTARY, pcm),), HEARD)


async def no_phase(pcm: bytes, session: Session) -> Answer:
    return Answer((item(None, FINAL, pcm),), HEARD)


async def two_finals(pcm: bytes, session: Session) -> Answer:
    return Answer((item("final_answer", FINAL, pcm), item(None, "And some more.", pcm)), HEARD)


async def without_audio(pcm: bytes, session: Session) -> Answer:
    return Answer((SpokenItem("final_answer", FINAL, b""),), HEARD)


async def silence(pcm: bytes, session: Session) -> Answer:
    return Answer((SpokenItem("final_answer", FINAL, bytes(2 * RATE_HZ)),), HEARD)


async def half_a_sample(pcm: bytes, session: Session) -> Answer:
    return Answer((SpokenItem("final_answer", FINAL, speech(pcm)[:-1]),), HEARD)


async def long_answer(pcm: bytes, session: Session) -> Answer:
    return Answer((item("final_answer", FINAL, pcm, seconds=30),), HEARD)
