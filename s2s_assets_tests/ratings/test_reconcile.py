"""Whom a panel is to pay, from its own list and the sittings here."""

from pathlib import Path

import polars as pl
import pytest

from s2s_assets.ratings import RatingsStore, invite, read_submissions, reconcile, sittings_table
from s2s_assets.ratings.app_schema import reply, task
from s2s_assets.ratings.consents import consent_of
from s2s_assets.ratings.invitations import Claims, Invitation, invited
from s2s_assets.ratings.sittings import Sitting, begin, end
from s2s_assets.study import RatingsError

PROLIFIC = (
    "Submission id,Participant id,Status,Custom study tncs accepted at,Started at,Completed at,Reviewed at,Archived at,"
    "Time taken,Completion code,Total approvals"
)


def the_link(store: RatingsStore, clock, panel="prolific") -> Invitation:
    found = invited(store, invite(store, clock(), panel))
    assert found is not None
    return found


def sits(store: RatingsStore, link: Invitation, clock, name: str, outcome: str | None, tasks: int = 0) -> Sitting:
    """A sitting of person `p-NAME` with submission `s-NAME`, so many tasks of it done, the last of them a null pair."""
    sat, _ = begin(store, link, Claims(f"p-{name}", f"s-{name}"), "en", consent_of("1", "en", ["I agree."]), clock())
    expected = {"rubric": None, "low": -1, "high": 1}
    with store.writing() as connection:
        for k in range(tasks):
            kind = "null" if k == tasks - 1 else "pair"
            row = {"sitting_id": sat.id, "kind": kind, "position": k, "nonce": f"{name}-{k}", "state": "done"}
            row |= {"prompt": "p0", "first": "r-0-0", "second": "r-0-1", "shown_at": clock(), "expected": expected}
            number = connection.execute(task.insert().values(row).returning(task.c.id)).scalar_one()
            value = 3 if name == "careless" else 0
            told = {"task_id": number, "rubric": "overall", "value": value, "position": 0, "saved_at": clock()}
            connection.execute(reply.insert().values(told))
    clock.wind(minutes=12)
    if outcome is not None:
        end(store, sat, outcome, clock())
    return sat


def given_list(path: Path, *rows: str, header: str = PROLIFIC) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def row(name: str, code: str = "", status: str = "AWAITING REVIEW", person: str | None = None) -> str:
    return f"s-{name},{person or f'p-{name}'},{status},,,,,,900,{code},12"


def test_every_submission_is_decided_and_says_why(planned, clock, tmp_path) -> None:
    link = the_link(planned, clock)
    ends = {"ada": "done", "careless": "done", "lost": "done", "deaf": "failed", "late": "no_work", "half": None}
    for name, outcome in ends.items():
        sits(planned, link, clock, name, outcome, tasks=3 if outcome in ("done", None) else 0)
    sits(planned, link, clock, "returned", "done", tasks=1)
    sits(planned, link, clock, "other", "done", tasks=1)
    sits(planned, link, clock, "cheat", "failed")
    sits(planned, link, clock, "unlisted", "done", tasks=1)
    known = sittings_table(planned, "prolific")
    codes = dict(known.select("outcome", "code").drop_nulls().unique().iter_rows())
    assert len(codes) == 3
    path = given_list(
        tmp_path / "prolific.csv",
        row("ada", codes["done"]), row("careless", codes["done"]), row("lost", "NOCODE"), row("deaf", codes["failed"]),
        row("late", codes["no_work"]), row("half"), row("ghost", codes["done"]), row("returned", status="RETURNED"),
        row("other", codes["done"], person="p-thief"), row("cheat", codes["done"]),
    )  # fmt: skip
    found = reconcile(read_submissions(path, "prolific"), known)
    assert found.submissions.select("submission", "pay", "why").rows() == [
        ("s-ada", "full", "finished"),
        ("s-careless", "full", "finished"),
        ("s-lost", "full", "finished, without its code"),
        ("s-deaf", "screened", "failed a check before the tasks"),
        ("s-late", "screened", "no work was left"),
        ("s-half", "review", "left after 3 tasks"),
        ("s-ghost", "nothing", "nobody came with this submission's id"),
        ("s-returned", "nothing", "returned already"),
        ("s-other", "review", "came as p-other, another person than the panel's"),
        ("s-cheat", "review", "sent the code of another sitting or ending"),
    ]
    facts = found.submissions.select("tasks", "minutes", "controls", "controls_missed").rows()
    assert facts[0] == (3, 12.0, 1, 0)
    assert facts[1] == (3, 12.0, 1, 1)
    assert facts[6] == (None, None, None, None)
    told = found.to_json()
    assert told["counts"] == {"full": 3, "screened": 2, "review": 3, "nothing": 2}
    assert told["missing"] == ["s-unlisted"]


def test_other_panels_have_columns_of_their_own_and_a_code_for_each_sitting(planned, clock, tmp_path) -> None:
    link = the_link(planned, clock, "mturk")
    for name in ("ada", "bob"):
        sits(planned, link, clock, name, "done", tasks=1)
    known = sittings_table(planned, "mturk")
    codes = dict(known.select("submission", "code").iter_rows())
    assert codes["s-ada"] != codes["s-bob"]
    header = "HITId,AssignmentId,WorkerId,AssignmentStatus,Answer.surveycode"
    path = given_list(
        tmp_path / "batch.csv",
        f"h,s-ada,p-ada,Submitted,{codes['s-ada']}",
        f"h,s-bob,p-bob,Submitted,{codes['s-ada']}",
        header=header,
    )
    pays = reconcile(read_submissions(path, "mturk"), known).submissions.select("pay", "why").rows()
    assert pays == [("full", "finished"), ("review", "sent the code of another sitting or ending")]
    document = tmp_path / "document.csv"
    told = f'"[{{""surveycode"": "" {codes["s-ada"]}""}}]"'
    given_list(
        document,
        *(f"h,s-{name},p-{name},Submitted,{told}" for name in ("ada", "bob")),
        header=header.replace("surveycode", "taskAnswers"),
    )
    again = reconcile(read_submissions(document, "mturk"), known).submissions.select("pay", "why").rows()
    assert again == pays
    assert sittings_table(planned, "prolific").is_empty()


def test_a_list_of_another_panel_is_refused_by_its_columns(tmp_path) -> None:
    path = given_list(tmp_path / "list.csv", "a,b,c", header="AssignmentId,WorkerId,AssignmentStatus")
    with pytest.raises(RatingsError, match="no column Submission id, Participant id, Status"):
        read_submissions(path, "prolific")
    assert read_submissions(path, "mturk").rows() == [("a", "b", "c", "")]


def test_nobody_is_paid_for_nothing(planned, tmp_path) -> None:
    path = given_list(tmp_path / "list.csv", row("ghost", "CODE"))
    found = reconcile(read_submissions(path, "prolific"), sittings_table(planned, "prolific"))
    assert found.submissions["pay"].to_list() == ["nothing"]
    assert found.submissions.schema["tasks"] == pl.Int64
