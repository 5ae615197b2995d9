"""The admin pages: who gets in, what they tell, and what is decided on them."""

import re
from collections import Counter
from urllib.parse import quote

import numpy as np
import polars as pl
import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from s2s_assets.ratings import enrol, exclude, next_assignment, settled_version, status, submit
from s2s_assets.ratings.access import end_access, make_access
from s2s_assets.ratings.app.admin_health import health
from s2s_assets.ratings.app.admin_tables import ROWS, TABLES, arrange, leads, shown
from s2s_assets.ratings.app.context import Context
from s2s_assets.ratings.app.main import create_app
from s2s_assets.ratings.app_schema import task
from s2s_assets.ratings.exclude import live_targets
from s2s_assets.ratings.progress import pairs_progress, problems_told, responses_progress
from s2s_assets.ratings.records import prompt_record, rater_record
from s2s_assets.ratings.schema import exclusion, media
from s2s_assets.study import Cleaning

HOSTILE = "<script>alert(1)</script>"
PAGES = [
    "/admin",
    "/admin/quality",
    "/admin/invitations",
    "/admin/health",
    *(f"/admin/table/{name}" for name in TABLES),
    "/admin/rater?name=x",
    "/admin/rating?id=x",
    "/admin/prompt?id=p0",
    "/admin/invitation?id=1",
    "/admin/response?id=r-0-v",
    "/admin/audio/response?of=r-0-v",
]


@pytest.mark.parametrize("page", PAGES)
def test_nobody_and_no_rater_sees_anything(visit, page) -> None:
    nobody, ann = visit(""), visit()
    for who in (nobody, ann):
        answer = who.get(page)
        assert answer.status_code == 403
        assert "m0|" not in answer.text
        assert "alpha" not in answer.text
        assert "content-security-policy" in answer.headers
    for path in ("/admin/decide", "/admin/invitations", "/admin/revoke", "/admin/end"):
        assert ann.post(path, nonce="x", scope="rater", target=ann.rater, act="exclude").status_code == 403


def test_a_raters_cookie_is_no_admins_under_its_name_either(visit, lab) -> None:
    ann = visit()
    token = ann.client.cookies["s2s"]
    ann.client.cookies.set("s2s-admin", token)
    assert ann.get("/admin").status_code == 403
    assert ann.post("/admin/open/" + lab.link("").rpartition("/")[2]).status_code == 403


def test_a_link_is_opened_by_its_button_and_once(visit, lab, clock) -> None:
    token = make_access(lab.ratings, clock())
    eve, ben = visit(""), visit("")
    asked = eve.get(f"/admin/open/{token}")
    assert asked.status_code == 200
    assert asked.headers["referrer-policy"] == "no-referrer"
    assert not eve.client.cookies
    opened = eve.client.post(f"/admin/open/{token}", follow_redirects=False)
    flags = opened.headers["set-cookie"].lower()
    assert all(word in flags for word in ("httponly", "samesite=strict", "path=/"))
    assert ben.post(f"/admin/open/{token}").status_code == 403
    assert eve.get("/admin").status_code == 200
    assert ben.get("/admin").status_code == 403


def test_behind_https_the_cookie_is_secure_and_bound_to_the_host(lab, clock) -> None:
    app = create_app(lab.settings.model_copy(update={"rater_url": "https://rate.example.org"}), clock)
    token = make_access(lab.ratings, clock())
    with TestClient(app, base_url="https://testserver", headers={"sec-fetch-site": "same-origin"}) as client:
        opened = client.post(f"/admin/open/{token}", follow_redirects=False)
    assert opened.headers["set-cookie"].startswith("__Host-s2s-admin=")
    assert "; Secure" in opened.headers["set-cookie"]


def test_every_page_is_there_for_admins_with_strict_headers(visit, clock) -> None:
    ann = visit().train()
    ann.do_all()
    eve = visit.admin()
    for page in [*PAGES[:-6], f"/admin/rater?name={ann.rater}", *PAGES[-4:]]:
        answer = eve.get(page)
        assert answer.status_code == 200, page
        assert "no-store" in answer.headers["cache-control"]
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert "<script" not in answer.text
        assert 'style="' not in answer.text
    for page in (
        "/admin/table/none",
        "/admin/rater?name=none",
        "/admin/rating?id=none",
        "/admin/prompt?id=none",
        "/admin/invitation?id=99",
        "/admin/invitation?id=x",
        "/admin/response?id=none",
        "/admin/audio/prompt?of=none",
    ):
        assert eve.get(page).status_code == 404


def test_it_is_over_when_it_is_ended(visit, lab, clock) -> None:
    eve, ben = visit.admin(), visit.admin()
    nonce = re.findall(r'name="nonce" value="([^"]+)"', eve.get("/admin").text)[0]
    assert ben.post("/admin/end", nonce=nonce).status_code == 403
    kept = dict(eve.client.cookies)
    assert eve.post("/admin/end", nonce=nonce).status_code == 200
    eve.client.cookies.update(kept)
    assert eve.get("/admin").status_code == 403
    assert ben.get("/admin").status_code == 200
    end_access(lab.ratings, clock())
    assert ben.get("/admin").status_code == 403


def test_a_form_from_elsewhere_or_for_something_else_decides_nothing(visit, lab, clock) -> None:
    ann, ben = visit().train(), visit().train()
    ann.do_all()
    eve, other = visit.admin(), visit.admin()
    page = f"/admin/rater?name={ann.rater}"
    theirs = re.findall(r'name="nonce" value="([^"]+)"', other.get(page).text)[1]
    for changed in (
        {"target": ben.rater},
        {"act": "restore"},
        {"scope": "response"},
        {"nonce": "x"},
        {"nonce": theirs},
    ):
        assert eve.sign(page, **changed).status_code == 403, changed
    for site in ("cross-site", "same-site"):
        eve.client.headers["sec-fetch-site"] = site
        assert eve.sign(page).status_code == 403
    eve.client.headers["sec-fetch-site"] = "same-origin"
    with lab.ratings.reading() as connection:
        assert not connection.execute(select(exclusion)).all()
    assert eve.sign(page).status_code == 200


def test_a_rater_is_excluded_and_restored_with_author_and_reason(visit, lab, clock) -> None:
    ann = visit().train()
    ann.do_all()
    done = status(lab.ratings)["done"]
    eve = visit.admin()
    page = f"/admin/rater?name={ann.rater}"
    for author, reason in (("", "why"), ("eve", " ")):
        refused = eve.sign(page, author, reason)
        assert refused.status_code == 422
        assert "author and reason" in refused.text
    assert "heard noise" in eve.sign(page).text
    assert status(lab.ratings)["done"] == 0
    assert ann.rater in eve.get("/admin/table/raters?find=eve").text
    clock.wind(minutes=1)
    text = eve.sign(page, "eve", "it was the line").text
    assert "restored" in text
    assert "Exclude this rater" in text
    assert status(lab.ratings)["done"] == done
    with lab.ratings.reading() as connection:
        row = connection.execute(select(exclusion)).one()
    assert (row.author, row.reason, row.lifted_by, row.lifted_reason) == (
        "eve",
        "heard noise",
        "eve",
        "it was the line",
    )
    assert (row.created_at, row.lifted_at) == (clock.wind(minutes=-1), clock.wind(minutes=1))


def test_controls_passed_and_failed_are_counted(visit, clock) -> None:
    lab = visit.lab_with('tasks: 6, control_share: 0.4, headphones: "off"', 8)
    ann = visit().train()
    ann.do_all(3)
    judged = select(task.c.kind).where(task.c.kind.in_(("null", "gold", "trap")), task.c.state == "done")
    with lab.ratings.reading() as connection:
        kinds = connection.execute(judged).scalars().all()
    record = rater_record(lab.ratings, Context(lab.settings, clock).watch.look(), Cleaning(), ann.rater)
    assert record is not None
    counts = {row["kind"]: row["passed"] + row["failed"] for row in record.controls.iter_rows(named=True)}
    assert counts == Counter(kinds) != {}
    # "B is much better" everywhere is wrong where one response is heard twice
    assert all(row["passed"] == 0 for row in record.controls.iter_rows(named=True) if row["kind"] == "null")
    assert "Controls" in visit.admin().get(f"/admin/rater?name={ann.rater}").text


def test_a_response_is_heard_and_withdrawn(visit, lab, clock) -> None:
    ann = visit().train()
    with lab.ratings.reading() as connection:
        shown_now = connection.execute(select(task.c.first, task.c.kind).where(task.c.state == "open")).one()
    assert shown_now.kind == "pair"
    ann.post("/problem", nonce=ann.nonce, problem="broken", role="first", comment=HOSTILE)
    eve = visit.admin()
    page = f"/admin/response?id={quote(shown_now.first)}"
    told = eve.get(page).text
    assert "broken" in told
    assert HOSTILE not in told
    assert "&lt;script&gt;alert(1)" in told
    source = re.findall(r'src="(/admin/audio/response[^"]+)"', told)[0]
    heard = eve.get(source)
    assert (heard.headers["content-type"], heard.content[:4]) == ("audio/flac", b"fLaC")
    assert eve.client.get(source, headers={"range": "bytes=0-99"}).status_code == 206
    assert shown_now.first in eve.get("/admin/table/problems").text
    assert "Restore" in eve.sign(page).text
    assert "void" in set(pairs_progress(lab.ratings)["state"])
    with lab.ratings.reading() as connection:
        assert shown_now.first in live_targets(connection, "response")


def test_a_problem_counts_for_the_response_it_is_about(visit, lab) -> None:
    ann = visit().train()
    ann.post("/problem", nonce=ann.nonce, problem="no_sound", role="second")
    with lab.ratings.reading() as connection:
        told = connection.execute(select(task.c["second", "prompt"]).where(task.c.state == "problem")).one()
    counted = responses_progress(lab.ratings).filter(pl.col("problems") > 0)
    assert counted.select("response", "problems").rows() == [(told.second, 1)]
    of_prompt = prompt_record(lab.ratings, told.prompt)
    assert of_prompt.responses.filter(pl.col("problems") > 0)["response"].to_list() == [told.second]


def test_a_prompt_is_heard_where_it_is_reported(visit, lab) -> None:
    ann = visit().train()
    with lab.ratings.reading() as connection:
        name = connection.execute(select(task.c.prompt).where(task.c.state == "open")).scalar_one()
    ann.post("/problem", nonce=ann.nonce, problem="broken", role="prompt", comment="it hums")
    eve = visit.admin()
    assert f'href="/admin/prompt?id={name}"' in eve.get("/admin/table/problems").text
    told = eve.get(f"/admin/prompt?id={name}").text
    assert "it hums" in told
    assert f"say {name[1:]}" in told
    (source,) = re.findall(r'src="(/admin/audio/prompt[^"]+)"', told)
    assert eve.get(source).content[:4] == b"fLaC"
    assert sorted(re.findall(r'href="/admin/response\?id=([^"]+)"', told)) == [f"r-{name[1:]}-{v}" for v in "vwxy"]
    other = next(f"p{k}" for k in range(6) if f"p{k}" != name)
    assert "it hums" not in eve.get(f"/admin/prompt?id={other}").text


def test_a_problem_with_a_trap_is_no_responses(visit, lab) -> None:
    ann = visit().train()
    ann.post("/problem", nonce=ann.nonce, problem="broken", role="second")
    (told,) = problems_told(lab.ratings).iter_rows(named=True)
    assert (told["kind"], told["role"]) == ("pair", "second")
    assert told["response"].startswith("r-")
    with lab.ratings.writing() as connection:
        ended = task.c.state == "problem"
        connection.execute(task.update().where(ended).values(kind="trap", second="trap traps/choose_b.flac"))
    (told,) = problems_told(lab.ratings).iter_rows(named=True)
    assert (told["kind"], told["response"]) == ("trap", None)
    assert visit.admin().get("/admin/table/problems").status_code == 200


def test_the_overview_counts_and_says_when_the_store_fails(visit, lab, clock) -> None:
    ann = visit().train()
    ann.do_all()
    eve = visit.admin()
    text = eve.get("/admin").text
    assert "<strong>3</strong> of 72 slots" in text
    assert "Last hour: 3 votes; the rest takes 23.0 hours at this rate" in text
    assert "6 of 6 parts work" in text
    well = eve.get("/admin/health").text
    assert "bytes read of a clip" in well
    landed = status(lab.ratings)["answers"]
    assert f"Settled version</strong>: <bdi>none yet; {landed} answers landed" in well
    assert "0 tasks handed out, 0 overdue" in well
    assert "fails" not in well
    with lab.ratings.writing() as connection:
        connection.execute(media.update().values(blob="0" * 64 + ".flac"))
    broken = eve.get("/admin")
    assert broken.status_code == 200
    assert "Media store</strong> fails" in broken.text
    assert "5 of 6 parts work" in broken.text
    assert "Media store</strong> fails" in eve.get("/admin/health").text


def test_what_people_write_stays_text(visit, lab, clock) -> None:
    pid = f'"{HOSTILE}'
    lab_link = lab.link("", panel="prolific", label=HOSTILE).partition("?")[0]
    ann = visit(f"{lab_link}?PROLIFIC_PID={quote(pid)}&STUDY_ID=s&SESSION_ID=1").train()
    ann.do_all()
    eve = visit.admin()
    page = f"/admin/rater?name={ann.rater}"
    told = [eve.sign(page, HOSTILE, f"because {HOSTILE}").text]
    told += [
        eve.get(p).text
        for p in (
            "/admin/invitations",
            "/admin/table/raters",
            f"/admin/table/pairs?find={quote(HOSTILE)}&sort={quote(HOSTILE)}",
        )
    ]
    assert all("&lt;script&gt;" in text and HOSTILE not in text for text in told)


def test_the_look_follows_exclusions_at_once_and_answers_in_a_minute(visit, lab, clock) -> None:
    ann = visit().train()
    ann.do_task()
    eve = visit.admin()
    page = f"/admin/rater?name={ann.rater}"
    assert "order effect" not in eve.get(page).text
    assert "straight_line_share" in eve.get(page).text
    exclude(lab.ratings, "rater", ann.rater, "me", "why", clock())
    assert "straight_line_share" not in eve.get(page).text
    before = order_answers(eve)
    vote(lab.ratings, clock)
    clock.wind(seconds=59)
    assert order_answers(eve) == before
    clock.wind(seconds=1)
    assert order_answers(eve) == before + 1


def vote(ratings, clock) -> None:
    """Somebody answers one question of a pair."""
    who = enrol(ratings, "panel", "quick", clock())
    given = next_assignment(ratings, who, "s", np.random.default_rng(1), clock)
    submit(ratings, given.nonce, {"overall": 1}, clock)


def order_answers(admin) -> int:
    """How many answers the page of quality measures agreement by."""
    page = "".join(admin.get("/admin/quality").text.split())
    return int(re.findall(r"<tr><td><bdi>all</bdi></td><tdclass=\"number\"><bdi>(\d+)</bdi>", page)[0])


def test_tables_sort_find_and_turn_pages(lab) -> None:
    frame = pairs_progress(lab.ratings).with_row_index("n").with_columns(n=-pl.col("n").cast(pl.Int64))
    first = arrange(frame, {}, "n")
    assert (first.total, first.pages, len(first.rows)) == (36, 1, 36)
    assert first.rows[0]["n"] == -35
    assert arrange(frame, {"sort": "n", "order": "desc"}, "pair").rows[0]["n"] == 0
    assert arrange(frame, {"sort": "nothing", "order": "desc"}, "n").sort == "n"
    assert arrange(frame, {"find": "PAIR-3-"}, "n").total == 6
    assert arrange(frame, {"find": "[("}, "n").rows == []
    long = frame.select(pair="pair").join(frame.select(other="pair"), how="cross")
    for asked, page in (("2", 2), ("99", 13), ("0", 1), ("-1", 1), ("x", 1), ("²", 1)):
        assert arrange(long, {"page": asked}, "pair").page == page
    assert len(arrange(long, {"page": "2"}, "pair").rows) == ROWS
    turned = arrange(long, {"page": "2", "find": "p&"}, "pair")
    assert turned.address(page=3) == "?sort=pair&order=asc&find=p%26&page=3"
    assert turned.turned("pair") == "?sort=pair&order=desc&find=p%26"


def test_cells_are_shown_as_people_read_them(clock) -> None:
    told = [shown(v) for v in (None, True, 12345, 0.12345, 12.0, clock(), clock().date(), "x")]
    assert told == ["–", "yes", "12,345", "0.123", "12", "2026-03-01 09:00", "2026-03-01", "x"]
    assert shown("0123456789ab" + "c" * 52) == "0123456789ab…"
    assert shown("not-hex-" * 8) == "not-hex-" * 8
    assert leads("response", "a/b?c&d") == "/admin/response?id=a%2Fb%3Fc%26d"
    assert leads("response", None) is None
    assert leads("slots", 3) is None


def test_health_tells_leases_and_what_is_not_settled_yet(visit, lab, clock) -> None:
    ann = visit().train()
    ann.do_task()
    clock.wind(minutes=1)
    assert settled_version(lab.ratings, clock(), settle_s=30, min_new=1, max_age_s=0) is not None
    ann.do_task()
    clock.wind(hours=3)
    told = visit.admin().get("/admin/health").text
    assert "1 task handed out, 1 overdue" in told
    assert re.search(r"\w{12}: [45] answers up to 2026-03-01 09:0\d UTC; [45] landed since", told)


@pytest.mark.parametrize(("url", "well"), [("http://rate.example.org", False), ("https://rate.example.org", True)])
def test_an_open_address_without_https_is_a_fault(lab, clock, url, well) -> None:
    context = Context(lab.settings.model_copy(update={"rater_url": url}), clock)
    assert {name: good for name, good, _ in health(context)}["Raters' address"] is well
