"""Which take of a script becomes the prompt, and why.

A take can be used if it was decoded and measured, no human rejected it, and it passes the automated check or a human
accepted it in spite of that. Among those: accepted ones before the others, then those that pass the check, then the
largest distance from noise floor to speech level, then the name of the recording. Every row of a script says why it was
taken or left.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Take:
    """What selection looks at in one recording, and what it decides."""

    recording: str
    refused: str | None
    """Why it cannot be decoded or measured."""
    qa_reasons: tuple[str, ...]
    verdict: str | None
    verdict_reason: str
    verdict_by: str
    speech_to_noise_db: float | None
    selected: bool = False
    selection_reason: str = ""


def select(takes: Iterable[Take]) -> list[Take]:
    """Decide on all takes of one script; returns them in the order given, at most one of them selected."""
    takes = list(takes)
    usable = sorted((t for t in takes if _obstacle(t) is None), key=_preference)
    best = usable[0].recording if usable else None
    return [replace(t, selected=t.recording == best, selection_reason=_reason(t, best, len(usable))) for t in takes]


def _obstacle(take: Take) -> str | None:
    """Why a take cannot be used."""
    if take.verdict == "reject":
        return f"rejected{_by(take)}{': ' + take.verdict_reason if take.verdict_reason else ''}"
    if take.refused is not None:
        return f"refused: {take.refused}"
    if take.qa_reasons and take.verdict != "accept":
        return f"fails the automated check ({'; '.join(take.qa_reasons)}) and no human has accepted it"
    return None


def _preference(take: Take) -> tuple[bool, bool, float, str]:
    """Sort key, the best first."""
    distance_db = take.speech_to_noise_db
    return (
        take.verdict != "accept",
        bool(take.qa_reasons),
        -distance_db if distance_db is not None else 0.0,
        take.recording,
    )


def _reason(take: Take, best: str | None, usable: int) -> str:
    obstacle = _obstacle(take)
    if obstacle is not None:
        return obstacle if best else f"{obstacle}; no take of this script can be used"
    if take.recording != best:
        return f"{best} was taken in its place"
    return f"{_merit(take)}; {'the only usable take' if usable == 1 else f'first of {usable} usable takes'}"


def _merit(take: Take) -> str:
    checked = "fails" if take.qa_reasons else "passes"
    accepted = f"accepted{_by(take)}, " if take.verdict == "accept" else ""
    distance = (
        "" if take.speech_to_noise_db is None else f", speech {take.speech_to_noise_db:.1f} dB above the noise floor"
    )
    return f"{accepted}{checked} the automated check{distance}"


def _by(take: Take) -> str:
    return f" by {take.verdict_by}" if take.verdict_by else ""
