"""Invitations on the admin pages: made, told once, listed with their state, and revoked by somebody for a reason."""

import base64
import csv
import io
import re
from html import unescape

import pytest
from sqlalchemy import inspect, text

from s2s_assets.ratings import RatingsStore, invitations, invite, revoke
from s2s_assets.ratings.invitations import completion_codes
from s2s_assets.ratings.links import MOST, links_csv, make_links
from s2s_assets.ratings.progress import sittings_by
from s2s_assets.study import RatingsError

FORM = {"panel": "personal", "work": "pairs", "label": "", "count": "1", "return_url": ""}


def make(admin, **entered: str):
    """Send the form that makes links."""
    nonce = re.findall(r'name="nonce" value="([^"]+)"', admin.get("/admin/invitations").text)[-1]
    return admin.post("/admin/invitations", nonce=nonce, **{**FORM, **entered})


def links_in(page: str) -> list[str]:
    return [unescape(found) for found in re.findall(r"<code>(.*?)</code>", page)]


def file_in(page: str) -> list[dict[str, str]]:
    """The rows of the file that a page offers."""
    found = re.findall(r'href="data:text/csv;charset=utf-8;base64,([^"]+)" download="invitations.csv"', page)[0]
    return list(csv.DictReader(io.StringIO(base64.b64decode(found).decode())))


def everything_stored(ratings: RatingsStore) -> str:
    with ratings.reading() as connection:
        names = inspect(connection).get_table_names()
        return "\n".join(repr(row) for n in names for row in connection.execute(text(f'SELECT * FROM "{n}"')))


def test_links_are_made_told_once_and_lead_in(visit, lab) -> None:
    eve = visit.admin()
    page = make(eve, label="pilot", count="3").text
    links = links_in(page)
    assert len(set(links)) == 3
    assert all(one.startswith("http://127.0.0.1:8800/i/") for one in links)
    assert [row["url"] for row in file_in(page)] == links
    assert [row["label"] for row in file_in(page)] == ["pilot 1", "pilot 2", "pilot 3"]
    assert [one.label for one in invitations(lab.ratings)] == ["pilot 1", "pilot 2", "pilot 3"]
    tokens = [one.rpartition("/")[2] for one in links]
    stored, listed = everything_stored(lab.ratings), eve.get("/admin/invitations").text
    for token in tokens:
        assert token not in listed
        assert not [part for part in token.split(".") if len(part) > 8 and part in stored]
    ann = visit(f"/i/{tokens[1]}").train()
    assert ann.rater in eve.get("/admin/invitation?id=2").text
    assert sittings_by(lab.ratings, 2)["rater"].to_list() == [ann.rater]
    assert sittings_by(lab.ratings, 1).is_empty()


def test_a_panels_link_has_its_parameters_and_codes(visit, lab) -> None:
    eve = visit.admin()
    page = make(eve, panel="prolific", work="mos", return_url="https://panel.example/{code}").text
    assert links_in(page)[0].endswith(
        "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    (made,) = invitations(lab.ratings)
    assert (made.panel, made.work, made.return_url) == ("prolific", "mos", "https://panel.example/{code}")
    codes = completion_codes(lab.ratings, made).values()
    assert len(set(codes)) == 3
    assert all(code in page and code in eve.get(f"/admin/invitation?id={made.id}").text for code in codes)


@pytest.mark.parametrize(
    ("entered", "told"),
    [
        ({"count": "0"}, "expected 1 to 200"),
        ({"count": "201"}, "expected 1 to 200"),
        ({"count": "x"}, "a number of links"),
        ({"count": "-1"}, "a number of links"),
        ({"count": "²"}, "a number of links"),
        ({"panel": "nobody"}, "expected a panel"),
        ({"work": "play"}, "expected a panel, a kind of work"),
        ({"panel": "mturk", "count": "2"}, "one for everybody"),
        ({"label": "x" * 201}, "up to 200 characters"),
        ({"label": "a\x07b"}, "one line"),
        ({"return_url": "javascript:alert(1)"}, "expected https"),
    ],
)
def test_what_cannot_be_made_is_said_and_nothing_is(visit, lab, entered, told) -> None:
    refused = make(visit.admin(), **entered)
    assert refused.status_code == 422
    assert told in refused.text
    assert invitations(lab.ratings) == []


def test_what_was_entered_is_still_there_after_a_refusal(visit) -> None:
    refused = make(visit.admin(), label='a "quoted" name', panel="generic", count="7").text
    assert 'value="a &#34;quoted&#34; name"' in refused
    assert '<option value="generic" selected>' in refused
    assert 'value="7"' in refused


def test_a_form_from_elsewhere_makes_and_revokes_nothing(visit, lab, clock) -> None:
    invite(lab.ratings, clock())
    eve, other = visit.admin(), visit.admin()
    theirs = re.findall(r'name="nonce" value="([^"]+)"', other.get("/admin/invitations").text)[-1]
    page, told = "/admin/invitation?id=1", {"author": "eve", "reason": "why", "target": "1"}
    assert eve.post("/admin/invitations", **FORM, nonce=theirs).status_code == 403
    assert eve.post("/admin/invitations", **FORM).status_code == 403
    assert eve.post("/admin/revoke", **told).status_code == 403
    assert eve.sign(page, target="2").status_code == 403
    eve.client.headers["sec-fetch-site"] = "cross-site"
    assert eve.sign(page).status_code == 403
    assert make(eve).status_code == 403
    assert [one.revoked_at for one in invitations(lab.ratings)] == [None]


def test_an_invitation_is_revoked_by_somebody_for_a_reason(visit, lab, clock) -> None:
    token = invite(lab.ratings, clock(), label="pilot")
    ann = visit(f"/i/{token}").train()
    eve, page = visit.admin(), "/admin/invitation?id=1"
    for author, reason in (("", "why"), ("eve", " ")):
        refused = eve.sign(page, author, reason)
        assert refused.status_code == 422
        assert "author and reason" in refused.text
    assert ann.get("/task").status_code == 200
    told = eve.sign(page, "eve", "sent to the wrong list").text
    assert "sent to the wrong list" in told
    assert "<form" not in told.partition("<main")[2]
    assert ann.get("/task").status_code == 403
    assert visit("").get(f"/i/{token}").status_code == 404
    (row,) = invitations(lab.ratings)
    assert (row.revoked_at, row.revoked_by, row.revoked_reason) == (clock(), "eve", "sent to the wrong list")
    assert not revoke(lab.ratings, 1, "ben", "again", clock())
    assert "revoked" in eve.get("/admin/invitations?find=wrong+list").text
    assert invitations(lab.ratings)[0].revoked_by == "eve"


def test_links_as_a_file_run_in_no_spreadsheet(lab, clock) -> None:
    made = make_links(lab.ratings, clock(), "https://rate.example.org/", label="=cmd|'/c calc'!A1, \"x\"", count=2)
    rows = list(csv.reader(io.StringIO(links_csv(made))))
    assert rows[0] == ["invitation", "label", "panel", "work", "url"]
    assert [row[:4] for row in rows[1:]] == [
        [str(one.invitation), f"'{one.label}", "personal", "pairs"] for one in made
    ]
    assert [row[4] for row in rows[1:]] == [one.url for one in made]


def test_counts_out_of_range_are_refused(lab, clock) -> None:
    for count in (0, -1, MOST + 1):
        with pytest.raises(RatingsError, match=f"count {count}"):
            make_links(lab.ratings, clock(), "https://rate.example.org", count=count)
