"""MTurk's workers come by the link of a HIT, under their own ids, and leave with a code that the batch is held against."""

import re
from html import unescape

import pytest
from sqlalchemy import select

from s2s_assets.ratings import invite, read_submissions, reconcile, sittings_table, status
from s2s_assets.ratings.app_schema import sitting
from s2s_assets.ratings.invitations import link
from s2s_assets.ratings.schema import rater

WORKER = "workerId=A1WORKER&assignmentId=3XASSIGN&hitId=3HIT&turkSubmitTo=https%3A%2F%2Fwww.mturk.com"


def code_in(page: str) -> str:
    return unescape(re.findall(r"<output[^>]*>(\w+)</output>", page)[0])


def test_a_worker_comes_by_the_link_and_is_paid_by_the_code(visit, lab, clock, tmp_path) -> None:
    token = invite(lab.ratings, clock(), "mturk")
    address = link("", token, "mturk")
    assert address == f"/i/{token}"
    codes = {}
    for worker in ("A1", "A2"):
        ann = visit(f"{address}?workerId={worker}&assignmentId=3X{worker}&hitId=3H").train()
        ann.do_all()
        codes[worker] = code_in(ann.page)
    assert codes["A1"] != codes["A2"]
    with lab.ratings.reading() as connection:
        came = connection.execute(select(rater.c["provider", "external_id"], sitting.c.claim).join(sitting)).all()
    assert sorted(map(tuple, came)) == [("mturk", "A1", "3XA1"), ("mturk", "A2", "3XA2")]
    batch = tmp_path / "batch.csv"
    batch.write_text(
        "HITId,AssignmentId,WorkerId,AssignmentStatus,Answer.surveycode\n"
        f"3H,3XA1,A1,Submitted,{codes['A1']}\n"
        f"3H,3XA2,A2,Submitted,{codes['A1']}\n"
    )
    found = reconcile(read_submissions(batch, "mturk"), sittings_table(lab.ratings, "mturk"))
    assert found.submissions["pay"].to_list() == ["full", "review"]


def test_a_workers_second_assignment_is_a_sitting_of_the_same_rater(visit, lab, clock) -> None:
    token = invite(lab.ratings, clock(), "mturk")
    first = visit(f"/i/{token}?workerId=A1&assignmentId=3X1&hitId=3H")
    second = visit(f"/i/{token}?workerId=A1&assignmentId=3X2&hitId=3H")
    assert first.rater == second.rater
    assert first.name != second.name


@pytest.mark.parametrize(
    "query",
    ["assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=3H", WORKER.replace("3XASSIGN", "ASSIGNMENT_ID_NOT_AVAILABLE")],
)
def test_a_preview_stores_nothing_and_offers_nothing(visit, lab, clock, query) -> None:
    token, ann = invite(lab.ratings, clock(), "mturk"), visit("")
    page = ann.get(f"/i/{token}?{query}")
    assert page.status_code == 200
    assert "<form" not in page.text
    assert not ann.client.cookies
    assert (status(lab.ratings)["raters"], status(lab.ratings)["leased"]) == (0, 0)


def test_a_link_without_a_worker_is_refused(visit, lab, clock) -> None:
    token = invite(lab.ratings, clock(), "mturk")
    assert visit("").get(f"/i/{token}?assignmentId=3X&hitId=3H").status_code == 400
