"""A panel's list of submissions held against what the database knows, before anybody is paid.

Who came by a panel's link only claims to be somebody: the panel's own list says who its people are. A submission is
matched by its id and its person's. `pay`:

| pay | when |
|---|---|
| `full` | the sitting was finished: every task of it is here, whatever code was sent |
| `screened` | a check before the tasks was failed, or there was no work left: what the panel pays for screening |
| `review` | the sitting was left half-way, or another sitting's id or code was sent: a person decides |
| `nothing` | there is no sitting, or the panel has settled it: returned, timed out, rejected, approved before |

`why` says which. Controls that were missed are counted and never decide: one lapse is human, and cleaning has its own
rules. Sittings that are missing in the list are told by their names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl
from sqlalchemy import func, select

from s2s_assets.ratings.app_schema import invitation, sitting, task
from s2s_assets.ratings.hit_answers import hit_answers
from s2s_assets.ratings.invitations import Panel, completion_code, invitation_of, study_key
from s2s_assets.ratings.quality_controls import judged_controls
from s2s_assets.ratings.raw import open_raw
from s2s_assets.ratings.replies import controls_table
from s2s_assets.ratings.schema import rater
from s2s_assets.ratings.shown import CLOSED
from s2s_assets.ratings.store import RatingsStore
from s2s_assets.study import Cleaning, RatingsError

Pay = Literal["full", "screened", "review", "nothing"]
_COLUMNS: Mapping[str, tuple[str, str, str, str]] = {
    "prolific": ("Submission id", "Participant id", "Status", "Completion code"),
    "mturk": ("AssignmentId", "WorkerId", "AssignmentStatus", "Answer.surveycode"),
    "generic": ("submission", "person", "status", "code"),
}
"""A panel's names for submission, person, status and the code that was sent."""
_SETTLED = frozenset({"returned", "timed-out", "timed out", "rejected", "approved"})
SITTINGS = pl.Schema(
    {
        "sitting": pl.String(),
        "submission": pl.String(),
        "person": pl.String(),
        "rater": pl.String(),
        "outcome": pl.String(),
        "tasks": pl.Int64(),
        "minutes": pl.Float64(),
        "controls": pl.Int64(),
        "controls_missed": pl.Int64(),
        "code": pl.String(),
    }
)
"""What is known of a panel's sittings; `outcome` and `code` are null while one is not ended."""
RECONCILED = pl.Schema(
    {
        "submission": pl.String(),
        "person": pl.String(),
        "status": pl.String(),
        "pay": pl.String(),
        "why": pl.String(),
        "rater": pl.String(),
        "outcome": pl.String(),
        "tasks": pl.Int64(),
        "minutes": pl.Float64(),
        "controls": pl.Int64(),
        "controls_missed": pl.Int64(),
    }
)
"""A submission a row."""


@dataclass(frozen=True)
class Reconciled:
    """A panel's submissions with what is to be paid, and the sittings that are not among them."""

    submissions: pl.DataFrame
    """`RECONCILED`, in the list's order."""
    missing: tuple[str, ...]
    """Ids of submissions that only this side knows."""

    def to_json(self) -> dict[str, Any]:
        """The document that `s2s ratings reconcile --json` prints."""
        counts = dict(self.submissions["pay"].value_counts().iter_rows())
        pays: tuple[Pay, ...] = ("full", "screened", "review", "nothing")
        return {
            "counts": {pay: counts.get(pay, 0) for pay in pays},
            "submissions": self.submissions.to_dicts(),
            "missing": list(self.missing),
        }


def read_submissions(path: Path, panel: Panel) -> pl.DataFrame:
    """A panel's list as `submission`, `person`, `status`, `code`.

    Raises:
        RatingsError: it cannot be read, or lacks a column.
    """
    names = dict(zip(_COLUMNS[panel], ("submission", "person", "status", "code"), strict=True))
    raw = open_raw(path, frozenset(names))
    absent = [name for name in names if name not in raw.names and names[name] != "code"]
    if absent:
        raise RatingsError(
            f"{path}: no column {', '.join(absent)}; expected {panel}'s list of submissions, found {', '.join(raw.names)}"
        )
    frames = [table.frame for table in raw.tables()]
    told = _with_codes(pl.concat(frames), panel).rename(names, strict=False)
    code = pl.col("code") if "code" in told.columns else pl.lit("").alias("code")
    cells = told.select("submission", "person", "status", code).cast(pl.String)
    return cells.with_columns(pl.all().fill_null("").str.strip_chars())


def _with_codes(told: pl.DataFrame, panel: Panel) -> pl.DataFrame:
    """The list with a column of MTurk's codes, also where the batch tells a HIT's answers as one document."""
    _, _, _, code = _COLUMNS[panel]
    if panel != "mturk" or code in told.columns:
        return told
    field = code.removeprefix("Answer.")
    codes = [hit_answers(row).get(field, "") for row in told.iter_rows(named=True)]
    return told.with_columns(pl.Series(code, codes, dtype=pl.String))


def sittings_table(store: RatingsStore, panel: Panel, rules: Cleaning | None = None) -> pl.DataFrame:
    """What is known of a panel's sittings (`SITTINGS`), sorted by submission."""
    done = func.count().filter(task.c.state.in_(CLOSED), task.c.kind != "training")
    joined = (
        sitting.join(invitation, invitation.c.id == sitting.c.invitation_id)
        .join(rater, rater.c.id == sitting.c.rater_id)
        .outerjoin(task, task.c.sitting_id == sitting.c.id)
    )
    columns = (
        *sitting.c["id", "name", "claim", "outcome", "started_at", "ended_at", "invitation_id"],
        rater.c.external_id,
    )
    query = select(*columns, rater.c.name.label("rater"), done.label("tasks"))
    query = query.select_from(joined).where(invitation.c.panel == panel).group_by(*columns, rater.c.name)
    of_sitting = select(task.c.id, task.c.sitting_id)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(sitting.c.claim, sitting.c.id)).mappings().all()
        tasks = {str(number): of for number, of in connection.execute(of_sitting).tuples()}
    key = study_key(store)
    links = {number: invitation_of(store, number) for number in {row["invitation_id"] for row in rows}}
    controls: dict[int, list[bool]] = {}
    for number, right in (
        judged_controls(controls_table(store), rules or Cleaning()).select("task", "right").iter_rows()
    ):
        controls.setdefault(tasks[number], []).append(right)
    return pl.DataFrame([_known(row, links, key, controls.get(row["id"], [])) for row in rows], schema=SITTINGS)


def _known(row: Mapping[Any, Any], links: Mapping[int, Any], key: str, controls: list[bool]) -> dict[str, Any]:
    ended, outcome = row["ended_at"], row["outcome"]
    link = links[row["invitation_id"]]
    return {
        "sitting": row["name"],
        "submission": row["claim"],
        "person": row["external_id"],
        "rater": row["rater"],
        "outcome": outcome,
        "tasks": row["tasks"],
        "minutes": None if ended is None else round((ended - row["started_at"]).total_seconds() / 60, 1),
        "controls": len(controls),
        "controls_missed": controls.count(False),
        "code": None if outcome is None else completion_code(key, link, row["name"], outcome),
    }


def reconcile(submissions: pl.DataFrame, sittings: pl.DataFrame) -> Reconciled:
    """Decide what is to be paid.

    Args:
        submissions: From `read_submissions`.
        sittings: From `sittings_table`.
    """
    known = {row["submission"]: row for row in sittings.iter_rows(named=True)}
    of_code = {row["code"]: row["sitting"] for row in sittings.iter_rows(named=True) if row["code"] is not None}
    rows = []
    for told in submissions.iter_rows(named=True):
        found = known.get(told["submission"])
        pay, why = _decided(told, found, of_code)
        facts = (
            {} if found is None else {name: found[name] for name in RECONCILED if name in found and name != "person"}
        )
        rows.append({"pay": pay, "why": why} | facts | {n: told[n] for n in ("submission", "person", "status")})
    listed = set(submissions["submission"])
    missing = tuple(sorted(name for name in known if name not in listed))
    return Reconciled(pl.DataFrame(rows, schema=RECONCILED), missing)


def _decided(told: Mapping[str, str], found: Mapping[str, Any] | None, of_code: Mapping[str, str]) -> tuple[Pay, str]:
    if told["status"].lower() in _SETTLED:
        return "nothing", f"{told['status'].lower()} already"
    if found is None:
        return "nothing", "nobody came with this submission's id"
    if found["person"] != told["person"]:
        return "review", f"came as {found['person']}, another person than the panel's"
    if found["outcome"] is None:
        return "review", f"left after {found['tasks']} tasks"
    sent = told["code"]
    if sent and sent != found["code"] and of_code.get(sent, found["sitting"]) != found["sitting"]:
        return "review", "sent the code of another sitting or ending"
    ending = {"done": "finished", "failed": "failed a check before the tasks", "no_work": "no work was left"}
    why = ending[found["outcome"]] + ("" if sent == found["code"] else ", without its code")
    return ("full" if found["outcome"] == "done" else "screened"), why
