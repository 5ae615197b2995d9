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
    in_force: RecordingVerdict | None
    """The one of these that counts."""
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
    moved = pl.any_horizontal(*(now[name].ne_missing(recorded[name]) for name in _DECIDED))
    by_script = now.with_columns(waits=moved).group_by("prompt").agg(**_counts())
    newest = {v.prompt: (v.created_at, v.author) for v in verdicts}
    names = sorted(scripts, key=lambda script: script.prompt)
    rows = [(s.prompt, s.category, s.level, s.acoustic, *newest.get(s.prompt, (None, None))) for s in names]
    labels = ("script", "category", "level", "acoustic", "judged_at", "judged_by")
    listed = pl.DataFrame(rows, schema={name: SCRIPTS[name] for name in labels}, orient="row")
    found = listed.join(by_script, left_on="script", right_on="prompt", how="left", maintain_order="left")
    filled = found.with_columns(
        pl.col("recordings", "passing", "judged").fill_null(0), pl.col("waits").fill_null(False)
    )
    return filled.with_columns(state=_state()).select(pl.col(name).cast(kind) for name, kind in SCRIPTS.items())


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
        takes=tuple(_take_review(row, given, in_force, limits) for row in of_script.iter_rows(named=True)),
        next=next((name for name in others if name > prompt), next(iter(others), None)),
        left=table.filter(state=TO_REVIEW).height,
    )


def _counts() -> dict[str, pl.Expr]:
    """What is counted of a script's recordings."""
    selected, verdict = pl.col("selected"), pl.col("verdict")
    return {
        "recordings": pl.len(),
        "passing": (pl.col("qa") == "pass").sum(),
        "judged": verdict.count(),
        "taken": pl.col("recording").filter(selected).first(),
        "waits": pl.col("waits").any(),
        "accepted": (selected & verdict.eq_missing("accept")).any(),
        "unjudged": (verdict.is_null() & (pl.col("status") == "ok")).any(),
    }


def _state() -> pl.Expr:
    """The state of a script by its counts."""
    return (
        pl.when(pl.col("recordings") == 0)
        .then(pl.lit(NO_RECORDING))
        .when(pl.col("accepted"))
        .then(pl.lit(SELECTED))
        .when(pl.col("unjudged"))
        .then(pl.lit(TO_REVIEW))
        .otherwise(pl.lit(NONE_GOOD))
    )


def _take_review(
    row: Mapping[str, Any], given: Sequence[RecordingVerdict], in_force: Sequence[RecordingVerdict], limits: QaLimits
) -> TakeReview:
    measures = Measures.from_row(row) if row["status"] == "ok" else None
    name, blob = row["recording"], row["source_blob"]
    about = [v for v in reversed(given) if v.recording == name]
    return TakeReview(
        row=row,
        measures=measures,
        checks=() if measures is None else qa_checks(measures, row["acoustic"], limits),
        verdicts=tuple(v for v in about if v.source_blob == blob),
        in_force=next((v for v in in_force if v.recording == name and v.source_blob == blob), None),
        earlier=tuple(v for v in about if v.source_blob != blob),
    )
