"""Votes from another tool, about tasks of a project that `project` wrote, brought in as answers.

| tool | file | a vote |
|---|---|---|
| `label-studio` | its JSON export | a choice of an annotation; one that was cancelled is none |
| `potato` | its Parquet or CSV export, a row an item and user | the label in a question's column |
| `mturk` | the batch's results | the answer (`hit_answers`) to QUESTION about the row's `Input.task` |
| `p808` | the same with several tasks a HIT, as the P.808 toolkit has them | that to `QN`, on Overall, about `Input.QN` |

A vote is one of the seven labels or the screen value -3 to 3, above 0 for the second heard, and is signed by the slot's
order; the file need not know what was heard. What a form asks beside the study's questions, an age for instance, is rejected
by name. Who voted becomes a rater with a name of its own, known by the tool's id
(which `forget` takes, too). An answer's id comes from the tool's own ids, so a file that is brought twice changes
nothing. Rejected assignments of MTurk are left out by the panel's own word.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl
from sqlalchemy import select

from s2s_assets.ratings.answers import rating_id, signed_score
from s2s_assets.ratings.files import RatingsFile, Repeats, Seen
from s2s_assets.ratings.hit_answers import hit_answers
from s2s_assets.ratings.project import LABELS, slot_of
from s2s_assets.ratings.raw import ROW, RejectedRow, open_raw
from s2s_assets.ratings.schema import pair, slot
from s2s_assets.ratings.source import Source
from s2s_assets.ratings.store import RatingsStore, enrol
from s2s_assets.ratings.transfer import Imported, import_ratings
from s2s_assets.study import OVERALL, RatingsError

Origin = Literal["label-studio", "potato", "mturk", "p808"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)
_VALUES = {label: value for value, label in LABELS.items()} | {str(value): value for value in LABELS}
_MTURK_TIME = "%a %b %d %H:%M:%S %Y"
_FRAME: Mapping[str, Any] = {
    ROW: pl.Int64, "prompt": pl.String, "rater": pl.String, "config_a": pl.String, "config_b": pl.String,
    "score": pl.Int8, "rubric": pl.String, "rating_id": pl.String, "response_a": pl.String, "response_b": pl.String,
    "first": pl.String, "submitted_at": pl.Datetime("us", "UTC"), "elapsed_ms": pl.Int64,
}  # fmt: skip


@dataclass(frozen=True)
class Vote:
    """One answer as the other tool tells it."""

    row: int
    name: str
    """The tool's own name of it."""
    task: str
    rater: str
    rubric: str
    label: str
    submitted_at: datetime | None = None
    elapsed_s: float | None = None


def import_votes(store: RatingsStore, path: Path, origin: Origin, now: datetime, rubrics: Collection[str]) -> Imported:
    """Insert the votes of another tool's file that are new.

    Args:
        store: The study's database.
        path: The file.
        origin: The tool that wrote it.
        now: Aware time of the import.
        rubrics: The study's questions.

    Raises:
        RatingsError: the file cannot be read as that tool's.
    """
    votes = list(_READERS[origin](path))
    if not votes:
        raise RatingsError(f"{path}: no votes; expected an export of {origin} with tasks of this study's project")
    return import_ratings(store, _as_file(store, votes, origin, now, rubrics), now)


def _as_file(
    store: RatingsStore, votes: list[Vote], origin: Origin, now: datetime, rubrics: Collection[str]
) -> RatingsFile:
    columns = (*pair.c["pair", "prompt", "config_a", "config_b", "response_a", "response_b"], *slot.c["slot", "first"])
    with store.reading() as connection:
        found = connection.execute(select(*columns).join(slot, slot.c.pair_id == pair.c.id)).mappings()
        slots = {(row["pair"], row["slot"]): row for row in found}
    good, rejected = [], []
    for vote in votes:
        why = _wrong(vote, slots, rubrics)
        rejected += [] if why is None else [RejectedRow(vote.row, why)]
        good += [vote] if why is None else []
    names = {who: enrol(store, origin, who, now).name for who in dict.fromkeys(vote.rater for vote in good)}
    rows = [_row(store.study, vote, slots[slot_of(vote.task) or ("", 0)], names[vote.rater], origin) for vote in good]
    kept, duplicates, conflicts = Seen().split(pl.DataFrame(rows, schema=dict(_FRAME)))
    return RatingsFile(
        frame=kept,
        rows=len(votes),
        rejected=tuple(sorted([*rejected, *conflicts], key=lambda r: r.row)),
        duplicates=duplicates,
        conflicts=len(conflicts),
        repeats=Repeats(0, 0),
    )


def _wrong(vote: Vote, slots: Mapping[tuple[str, int], Any], rubrics: Collection[str]) -> str | None:
    if slot_of(vote.task) not in slots:
        return f"task {vote.task!r} is none of this study's plan"
    if not vote.rater:
        return "nobody is named who voted"
    if vote.rubric not in rubrics:
        return f"{vote.rubric!r} is none of this study's questions"
    if vote.label not in _VALUES:
        return f"{vote.rubric} {vote.label!r}: expected one of the seven labels, or -3 to 3 as on the screen"
    return None


def _row(study: str, vote: Vote, heard: Mapping[Any, Any], rater: str, origin: Origin) -> dict[str, Any]:
    columns = ("prompt", "config_a", "config_b", "response_a", "response_b", "first")
    return {name: heard[name] for name in columns} | {
        ROW: vote.row,
        "rater": rater,
        "rubric": vote.rubric,
        "score": signed_score(_VALUES[vote.label], heard["first"]),
        "rating_id": rating_id(study, origin, vote.name, vote.rubric),
        "submitted_at": vote.submitted_at,
        "elapsed_ms": None if vote.elapsed_s is None else round(1000 * vote.elapsed_s),
    }


def _label_studio(path: Path) -> Iterator[Vote]:
    with Source(path).text().open(newline="\n") as file:
        try:
            tasks = json.load(file)
        except ValueError as error:
            raise RatingsError(f"{path}: not JSON ({error}); export the project as JSON") from error
    if not isinstance(tasks, list) or not all(isinstance(t, dict) and isinstance(t.get("data"), dict) for t in tasks):
        raise RatingsError(
            f"{path}: expected Label Studio's JSON export, a list of tasks with `data` and `annotations`"
        )
    for number, task in enumerate(tasks, 1):
        for annotation in task.get("annotations") or []:
            if annotation.get("was_cancelled"):
                continue
            who = annotation.get("completed_by")
            rater = who.get("id") if isinstance(who, dict) else who
            common = Vote(
                row=number,
                name=str(annotation.get("id")),
                task=str(task["data"].get("task")),
                rater="" if rater is None else str(rater),
                rubric="",
                label="",
                submitted_at=_iso(annotation.get("created_at")),
                elapsed_s=annotation.get("lead_time"),
            )
            for result in annotation.get("result") or []:
                chosen = (result.get("value") or {}).get("choices")
                if result.get("type") == "choices" and chosen:
                    yield replace(common, rubric=str(result.get("from_name")), label=str(chosen[0]))


def _potato(path: Path) -> Iterator[Vote]:
    for number, row in _rows(path, ("instance_id", "user_id")):
        item, who = row["instance_id"], row["user_id"]
        for column, label in row.items():
            if label in _VALUES and column not in ("instance_id", "user_id"):
                yield Vote(number, f"{item} {who}", item, who, column, label)


def _mturk(path: Path) -> Iterator[Vote]:
    for number, row in _rows(path, ("AssignmentId", "WorkerId", "Input.task")):
        for column, label in _answers(row):
            yield _of_hit(number, row, row["Input.task"], column, label, column)


def _p808(path: Path) -> Iterator[Vote]:
    for number, row in _rows(path, ("AssignmentId", "WorkerId")):
        for column, label in _answers(row):
            if (task := row.get(f"Input.{column}", "")) and slot_of(task) is not None:
                yield _of_hit(number, row, task, OVERALL, label, column)


def _of_hit(number: int, row: Mapping[str, str], task: str, rubric: str, label: str, column: str) -> Vote:
    seconds = row.get("WorkTimeInSeconds", "")
    return Vote(
        row=number,
        name=f"{row['AssignmentId']} {column}",
        task=task,
        rater=row["WorkerId"],
        rubric=rubric,
        label=label,
        submitted_at=_mturk_time(row.get("SubmitTime", "")),
        # a HIT with several tasks has one time for all of them
        elapsed_s=float(seconds) if seconds.isdecimal() and "Input.task" in row else None,
    )


def _answers(row: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The questions of a HIT that are answered by a score; other fields of its form are none."""
    if row.get("AssignmentStatus", "").lower() == "rejected":
        return
    for name, label in hit_answers(row).items():
        if label in _VALUES or f"Input.{name}" in row:
            yield name, label


def _rows(path: Path, needed: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    raw = open_raw(path, frozenset(needed))
    absent = [name for name in needed if name not in raw.names]
    if absent:
        raise RatingsError(f"{path}: no column {', '.join(absent)}; the file has {', '.join(raw.names)}")
    for table in raw.tables():
        flat = table.frame.select(
            ROW, pl.selectors.by_dtype(pl.String) | pl.selectors.numeric() - pl.selectors.by_name(ROW)
        )
        texts = flat.with_columns(pl.exclude(ROW).cast(pl.String).fill_null("").str.strip_chars())
        for row in texts.iter_rows(named=True):
            yield row.pop(ROW), row


def _iso(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo is not None else None


def _mturk_time(text: str) -> datetime | None:
    """Of `Tue Mar 03 09:30:00 PST 2026`; None for a zone that says nothing certain."""
    offsets = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7}
    parts = text.split()
    if len(parts) != 6 or parts[4] not in offsets:
        return None
    offset = f"{offsets[parts[4]]:+03d}00"
    try:
        return datetime.strptime(f"{' '.join(parts[:4])} {parts[5]} {offset}", f"{_MTURK_TIME} %z").astimezone(UTC)
    except ValueError:
        return None


_READERS = {"label-studio": _label_studio, "potato": _potato, "mturk": _mturk, "p808": _p808}
