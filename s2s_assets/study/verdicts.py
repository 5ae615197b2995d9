"""What a reviewer says of a recording, and the words for it.

A verdict is about the bytes that were heard: a file that takes the place of another has none yet. Of several verdicts
about one file the newest counts, and it replaces what recordings.csv says of the recording.
"""

from datetime import datetime
from typing import Literal, get_args

from s2s_assets.study.record import Record

Judgement = Literal["accept", "rerecord", "reject"]
JUDGEMENTS: tuple[str, ...] = get_args(Judgement)
FAULTS: dict[str, str] = {
    "noise": "noise or hum",
    "distorted": "distorted or clipped",
    "level": "too quiet or uneven",
    "cut_off": "cut off at an end",
    "dropouts": "clicks or dropouts",
    "voices": "other voices",
    "acoustic": "wrong acoustic environment",
    "words": "words differ from the script",
    "unclear": "unclear or mispronounced",
    "delivery": "delivery does not fit",
}
"""Reasons to choose from, each with its words."""


class RecordingVerdict(Record):
    """One verdict about one recording."""

    prompt: str
    recording: str
    source_blob: str
    """Reference of the bytes that were heard."""
    verdict: Judgement | None
    """None takes an earlier verdict back."""
    selected: bool = False
    """Whether this take is to be the prompt; only an accepted one can be. The newest of a script wins."""
    reasons: tuple[str, ...] = ()
    """Keys of `FAULTS`."""
    comment: str = ""
    author: str
    created_at: datetime

    @property
    def why(self) -> str:
        """Reasons and comment as one text."""
        faults = ", ".join(FAULTS.get(reason, reason) for reason in self.reasons)
        return ": ".join(part for part in (faults, self.comment) if part)
