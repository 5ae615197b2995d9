"""The recordings of each script as a reviewer finds them: measured, checked, judged, and what is left to do.

States of a script: `selected` where the take in force was accepted or selected by somebody, else `to review` where a
recording that could be measured has no verdict, else `none good`: something is to be recorded again. `no recording`
where there is none. A script *waits* while `recorded_prompts` has not taken in the newest verdicts about it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from s2s_assets.audio import Measures
from s2s_assets.prompts import RECORDED_PROMPTS, QaCheck, qa_checks, select_takes
from s2s_assets.storage import StudyStore, Table
from s2s_assets.study import QaLimits, RecordingVerdict, Script

TO_REVIEW, SELECTED, NONE_GOOD, NO_RECORDING = "to review", "selected", "none good", "no recording"
SCRIPTS = pl.Schema(
    {
        "script": pl.String(),
        "category": pl.String(),
        "level": pl.String(),
        "acoustic": pl.String(),
        "state": pl.String(),
        "recordings": pl.Int64(),
        "passing": pl.Int64(),
        "judged": pl.Int64(),
        "taken": pl.String(),
        "judged_at": pl.Datetime("us", "UTC"),
        "judged_by": pl.String(),
        "waits": pl.Boolean(),
    }
)
"""Columns of the scripts; `passing` is by the automated check, `judged` by somebody, `taken` the take in force."""
_DECIDED = ("verdict", "verdict_reason", "verdict_by", "selected")


class RecordedTable:
    """The table `recorded_prompts` in force, read when it has changed."""

    def __init__(self, store: StudyStore) -> None:
        self._store = store
        self._last: Table | None = None

    def frame(self) -> pl.DataFrame:
        """The table; without rows before there is one.

        Raises:
            StoreError: the store fails.
        """
        version, last = self._store.head("recorded_prompts", None), self._last
        if version is None:
            return RECORDED_PROMPTS.to_frame()
        if last is None or last.version != version:
            last = self._last = self._store.read_table("recorded_prompts", None, version)
        return last.frame


@dataclass(frozen=True)
class TakeReview:
    """One recording."""

    row: Mapping[str, Any]
    """Its row of `recorded_prompts`, with the newest verdicts taken in."""
    measures: Measures | None
    checks: tuple[QaCheck, ...]
    verdicts: tuple[RecordingVerdict, ...]
    """About this file, newest first."""
    earlier: tuple[RecordingVerdict, ...]
    """About files that it had before, newest first."""


@dataclass(frozen=True)
class ScriptReview:
    """One script."""

    script: Script
    state: str
    waits: bool
    takes: tuple[TakeReview, ...]
    next: str | None
    """The next script to review, in the order of names and round again; None where there is no other."""
    left: int
    """Scripts to review."""


def scripts_review(
    recorded: pl.DataFrame, scripts: Iterable[Script], verdicts: Sequence[RecordingVerdict]
) -> pl.DataFrame:
    """Every script (`SCRIPTS`), in the order of names.

    Args:
        recorded: The table `recorded_prompts` in force.
        scripts: The study's.
        verdicts: Those that count now.
    """
    now = select_takes(recorded, verdicts)
    stored_of, now_of = (frame.partition_by("prompt", as_dict=True) for frame in (recorded, now))
    newest = {v.prompt: v for v in verdicts}
    empty = RECORDED_PROMPTS.to_frame()
    rows = [
        _script_row(s, stored_of.get((s.prompt,), empty), now_of.get((s.prompt,), empty), newest.get(s.prompt))
        for s in sorted(scripts, key=lambda s: s.prompt)
    ]
    return pl.DataFrame(rows, schema=SCRIPTS)


def script_review(
    recorded: pl.DataFrame,
    scripts: Mapping[str, Script],
    given: Sequence[RecordingVerdict],
    in_force: Sequence[RecordingVerdict],
    limits: QaLimits,
    prompt: str,
) -> ScriptReview:
    """One script with all its recordings.

    Args:
        recorded: The table `recorded_prompts` in force.
        scripts: The study's, by name.
        given: All verdicts about the script.
        in_force: The verdicts about any script that count now.
        limits: Of the automated check.
        prompt: The script's name, one of the study's.
    """
    table = scripts_review(recorded, scripts.values(), in_force)
    about = table.row(by_predicate=pl.col("script") == prompt, named=True)
    others = table.filter((pl.col("state") == TO_REVIEW) & (pl.col("script") != prompt))["script"].to_list()
    of_script = select_takes(recorded.filter(prompt=prompt), in_force)
    return ScriptReview(
        script=scripts[prompt],
        state=about["state"],
        waits=about["waits"],
        takes=tuple(_take_review(row, given, limits) for row in of_script.iter_rows(named=True)),
        next=next((name for name in others if name > prompt), next(iter(others), None)),
        left=table.filter(state=TO_REVIEW).height,
    )


def _script_row(
    script: Script, stored: pl.DataFrame, now: pl.DataFrame, newest: RecordingVerdict | None
) -> dict[str, Any]:
    taken = now.filter("selected")
    return {
        "script": script.prompt,
        "category": script.category,
        "level": script.level,
        "acoustic": script.acoustic,
        "state": _state(now, taken),
        "recordings": now.height,
        "passing": now.filter(qa="pass").height,
        "judged": now["verdict"].count(),
        "taken": next(iter(taken["recording"]), None),
        "judged_at": None if newest is None else newest.created_at,
        "judged_by": None if newest is None else newest.author,
        "waits": not stored.select(_DECIDED).equals(now.select(_DECIDED)),
    }


def _state(now: pl.DataFrame, taken: pl.DataFrame) -> str:
    if now.is_empty():
        return NO_RECORDING
    if "accept" in taken["verdict"]:
        return SELECTED
    unjudged = now.filter(pl.col("verdict").is_null() & (pl.col("status") == "ok"))
    return NONE_GOOD if unjudged.is_empty() else TO_REVIEW


def _take_review(row: Mapping[str, Any], given: Sequence[RecordingVerdict], limits: QaLimits) -> TakeReview:
    measures = Measures.from_row(row) if row["status"] == "ok" else None
    about = [v for v in reversed(given) if v.recording == row["recording"]]
    return TakeReview(
        row=row,
        measures=measures,
        checks=() if measures is None else qa_checks(measures, row["acoustic"], limits),
        verdicts=tuple(v for v in about if v.source_blob == row["source_blob"]),
        earlier=tuple(v for v in about if v.source_blob != row["source_blob"]),
    )
