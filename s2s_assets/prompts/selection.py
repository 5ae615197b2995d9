"""Which take of a script becomes the prompt, and why.

A take can be used if it was decoded and measured, no human rejected it or wants it recorded again, and it passes the
automated check or a human accepted it in spite of that. Among those: the one that a reviewer selected (the last of several),
then accepted ones before the others, then those that pass the check, then the largest distance from noise floor to speech
level, then the name of the recording. Every row of a script says why it was taken or left.

A first verdict may stand in recordings.csv; a reviewer's newest verdict about the same bytes replaces that.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import polars as pl

from s2s_assets.prompts.schema import RECORDED_PROMPTS
from s2s_assets.study import RecordingVerdict


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
    selected_at: datetime | None = None
    """When a reviewer selected it."""
    selected: bool = False
    selection_reason: str = ""


def select_takes(recorded: pl.DataFrame, verdicts: Iterable[RecordingVerdict] = ()) -> pl.DataFrame:
    """Table `recorded_prompts` with the verdicts taken in and one take a script selected anew.

    Args:
        recorded: A table of that schema, sorted by prompt; verdicts that it holds already stay.
        verdicts: Reviewers', oldest first; one about other bytes than a recording has now is left out.
    """
    newest = {(v.recording, v.source_blob): v for v in verdicts}
    rows = [row | _said(newest.get((row["recording"], row["source_blob"]))) for row in recorded.to_dicts()]
    by_script: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_script.setdefault(row["prompt"], []).append(row)
    for script in by_script.values():
        for row, take in zip(script, select(_take(row, newest) for row in script), strict=True):
            row |= {"selected": take.selected, "selection_reason": take.selection_reason}
    return pl.DataFrame(rows, schema=RECORDED_PROMPTS)


def _said(verdict: RecordingVerdict | None) -> dict[str, Any]:
    """The columns that a reviewer's verdict replaces."""
    if verdict is None:
        return {}
    if verdict.verdict is None:
        return dict.fromkeys(("verdict", "verdict_reason", "verdict_by"))
    return {"verdict": verdict.verdict, "verdict_reason": verdict.why or None, "verdict_by": verdict.author}


def _take(row: Mapping[str, Any], newest: Mapping[tuple[str, str], RecordingVerdict]) -> Take:
    said = newest.get((row["recording"], row["source_blob"]))
    return Take(
        recording=row["recording"],
        refused=row["reason"],
        qa_reasons=tuple(row["qa_reasons"]),
        verdict=row["verdict"],
        verdict_reason=row["verdict_reason"] or "",
        verdict_by=row["verdict_by"] or "",
        speech_to_noise_db=_speech_to_noise_db(row),
        selected_at=said.created_at if said is not None and said.selected else None,
    )


def _speech_to_noise_db(row: Mapping[str, Any]) -> float | None:
    speech, floor = row["speech_level_dbfs"], row["noise_floor_dbfs"]
    return None if speech is None or floor is None else float(speech - floor)


def select(takes: Iterable[Take]) -> list[Take]:
    """Decide on all takes of one script; returns them in the order given, at most one of them selected."""
    takes = list(takes)
    usable = sorted((t for t in takes if _obstacle(t) is None), key=_preference)
    best = usable[0].recording if usable else None
    return [replace(t, selected=t.recording == best, selection_reason=_reason(t, best, len(usable))) for t in takes]


def _obstacle(take: Take) -> str | None:
    """Why a take cannot be used."""
    if take.verdict == "reject":
        return f"rejected{_wish(take)}"
    if take.verdict == "rerecord":
        return f"to be recorded again{_wish(take)}"
    if take.refused is not None:
        return f"refused: {take.refused}"
    if take.qa_reasons and take.verdict != "accept":
        return f"fails the automated check ({'; '.join(take.qa_reasons)}) and no human has accepted it"
    return None


def _preference(take: Take) -> tuple[bool, float, bool, bool, float, str]:
    """Sort key, the best first."""
    distance_db, selected_at = take.speech_to_noise_db, take.selected_at
    return (
        selected_at is None,
        -selected_at.timestamp() if selected_at is not None else 0.0,
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
    word = "accepted" if take.selected_at is None else "selected"
    accepted = f"{word}{_by(take)}, " if take.verdict == "accept" else ""
    distance = (
        "" if take.speech_to_noise_db is None else f", speech {take.speech_to_noise_db:.1f} dB above the noise floor"
    )
    return f"{accepted}{checked} the automated check{distance}"


def _wish(take: Take) -> str:
    return f"{_by(take)}{': ' + take.verdict_reason if take.verdict_reason else ''}"


def _by(take: Take) -> str:
    return f" by {take.verdict_by}" if take.verdict_by else ""
