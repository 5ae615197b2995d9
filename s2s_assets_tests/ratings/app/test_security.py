"""What a rater, or somebody who is none, tries and does not get."""

import json
import re

import pytest
from sqlalchemy import func, inspect, select, text

from s2s_assets.ratings import RatingsStore, exclude, invite, restore, revoke, status, utc_now
from s2s_assets.ratings.app.limits import Limiter
from s2s_assets.ratings.app.security import LARGEST_BODY
from s2s_assets.ratings.app_schema import invitation, reply, sitting, stimulus, task
from s2s_assets.ratings.invitations import claims_of, completion_codes, invited, link
from s2s_assets.ratings.schema import answer, rater
from s2s_assets.storage import open_engine
from s2s_assets.study import RatingsError

HOSTILE = "<script>alert(1)</script>"


def played(coverage: float, rate: float) -> str:
    claim = {"coverage": coverage, "plays": 1, "rate": rate}
    return json.dumps(dict.fromkeys(("prompt", "first", "second"), claim))


def stored(lab, table) -> int:
    with lab.ratings.reading() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_every_answer_has_the_strict_headers(lab, visit) -> None:
    ann = visit().train()
    answers = [
        ann.get("/task"),
        ann.get(ann.media[0]),
        ann.get("/static/app.js"),
        ann.get("/static/none.js"),
        ann.get("/i/none"),
        ann.client.post("/task", data={}, headers={"sec-fetch-site": "cross-site"}),
        ann.client.put("/task"),
        ann.client.post("/task", content=b"x" * (LARGEST_BODY + 1)),
        visit("").get("/task"),
        ann.get("/health"),
    ]
    assert [a.status_code for a in answers] == [200, 200, 200, 404, 404, 403, 405, 413, 403, 200]
    for response in answers:
        policy = response.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] in {"no-referrer", "same-origin"}
        assert response.headers["cache-control"]
        assert "server" not in response.headers
    assert "no-store" in answers[0].headers["cache-control"]


def test_a_failure_has_them_too_and_tells_nothing(lab, visit) -> None:
    ann = visit().train()
    with lab.ratings.writing() as connection:
        connection.execute(stimulus.update().values(blob="0" * 64 + ".flac"))
    failed = ann.get(ann.media[0])
    assert failed.status_code == 500
    assert "content-security-policy" in failed.headers
    assert "Traceback" not in failed.text
    assert "0000" not in failed.text


@pytest.mark.parametrize(
    "address",
    [
        "/admin/rater?name=%00",
        "/admin/response?id=a%00b",
        "/admin/prompt?id=%00",
        "/admin/rating?id=%00",
        "/admin/audio/prompt?of=%00",
        "/admin/audio/%00?of=p0",
        "/admin/table/pairs?find=%00",
        "/admin/table/%00",
        "/admin/script?name=%00",
        "/m/%00",
        "/i/%00?PROLIFIC_PID=%00",
        "/static/%00",
    ],
)
def test_an_address_that_no_database_can_hold_is_refused_with_a_page(visit, address) -> None:
    ann, eve = visit().train(), visit.admin()
    eve.client.cookies.update(ann.client.cookies)
    answer = eve.get(address)
    assert answer.status_code == 400
    assert "content-security-policy" in answer.headers
    assert "<h1" in answer.text


def test_a_monitor_may_ask_by_get_or_by_head(visit) -> None:
    client = visit("").client
    assert client.get("/health").json() == {"ok": True}
    assert (client.head("/health").status_code, client.head("/health").content) == (200, b"")


def test_an_address_with_a_word_for_a_number_is_refused_with_a_page(visit) -> None:
    for address in ("/sound/abc", "/headphones/0/zero"):
        answer = visit().client.get(address)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "There is no such page" in answer.text


@pytest.mark.parametrize(
    ("headers", "status_code"),
    [
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "", "origin": "http://evil.example"}, 403),
        ({"sec-fetch-site": "none"}, 404),
        ({"sec-fetch-site": "same-origin", "origin": "http://evil.example"}, 404),
    ],
)
def test_a_form_from_elsewhere_is_refused(visit, headers, status_code) -> None:
    ann = visit().train()
    assert ann.client.post("/task", data={"nonce": "x"}, headers=headers).status_code == status_code


def test_an_older_browser_is_known_by_its_origin(visit) -> None:
    ann = visit().train()
    del ann.client.headers["sec-fetch-site"]
    assert ann.client.post("/task", data={"nonce": "x"}).status_code == 403
    assert ann.client.post("/task", data={"nonce": "x"}, headers={"origin": "null"}).status_code == 403
    assert ann.client.post("/task", data={"nonce": "x"}, headers={"origin": "http://testserver"}).status_code == 404


def test_cookies_are_for_the_server_alone(lab, visit, clock) -> None:
    ann = visit("")
    arrived = ann.client.get(lab.link(""), follow_redirects=False)
    assert arrived.headers["location"] == "/consent"
    assert arrived.headers["referrer-policy"] == "no-referrer"
    ann.get("/consent")
    agreed = ann.client.post("/consent", data={"agree": "yes", "text": ann.text}, follow_redirects=False)
    for response in (arrived, agreed):
        flags = response.headers["set-cookie"].lower()
        assert all(word in flags for word in ("httponly", "samesite=lax", "path=/"))
        assert "secure" not in flags


def test_behind_https_cookies_are_secure_and_bound_to_the_host(lab, clock) -> None:
    from starlette.testclient import TestClient

    from s2s_assets.ratings.app.main import create_app

    app = create_app(lab.settings.model_copy(update={"rater_url": "https://rate.example.org"}), clock)
    with TestClient(app, base_url="https://testserver") as client:
        arrived = client.get(lab.link(""), follow_redirects=False)
        assert arrived.headers["set-cookie"].startswith("__Host-s2s-arrival=")
        assert "; Secure" in arrived.headers["set-cookie"]
        assert "strict-transport-security" in arrived.headers


def test_tokens_are_stored_hashed_and_no_address_at_all(lab, visit) -> None:
    address = lab.link("")
    ann = visit(address).train()
    secrets = [address.rpartition("/")[2], *(v for n, v in ann.client.cookies.items())]
    with lab.ratings.reading() as connection:
        names = inspect(connection).get_table_names()
        dump = "\n".join(repr(row) for name in names for row in connection.execute(text(f'SELECT * FROM "{name}"')))
    assert not [s for s in secrets if s and s in dump]
    assert "testclient" not in dump
    assert "127.0.0.1" not in dump


def test_nothing_is_stored_before_consent(lab, visit) -> None:
    ann = visit("")
    ann.get(lab.link(""))
    assert ann.post("/consent").status_code == 422
    assert (stored(lab, sitting), stored(lab, rater), status(lab.ratings)["leased"]) == (0, 0, 0)


def test_another_raters_task_and_recordings_are_out_of_reach(visit) -> None:
    ann, ben = visit().train(), visit().train()
    assert ben.nonce != ann.nonce
    stolen = {"nonce": ann.nonce, **dict.fromkeys(ann.questions, "3")}
    assert ben.client.post("/task", data=stolen).status_code == 404
    assert (
        ben.client.post("/problem", data={"nonce": ann.nonce, "problem": "other", "role": "first"}).status_code == 404
    )
    assert ben.client.post("/beat", data={"nonce": ann.nonce}).json() == {"over": True}
    assert [ben.client.get(m).status_code for m in ann.media] == [404, 404, 404]
    assert [ann.client.get(m).status_code for m in ann.media] == [200, 200, 200]


def test_recordings_need_a_sitting_and_a_token_that_is_due(visit) -> None:
    ann = visit().train()
    before = ann.media
    assert visit("").client.get(before[0]).status_code == 403
    assert ann.client.get("/m/" + "A" * 32).status_code == 404
    assert ann.client.get("/m/../health").status_code in {200, 404}
    ann.do_task()
    assert [ann.client.get(m).status_code for m in before] == [404, 404, 404]


@pytest.mark.parametrize(
    ("claims", "wait_s"),
    [
        ("", 60),
        ("not json", 60),
        ("[]", 60),
        ('{"prompt": 1, "first": null, "second": {"coverage": "1", "plays": 1, "rate": 1}}', 60),
        ('{"prompt": {"coverage": 1, "plays": 1, "rate": 1}, "first": {"coverage": 1, "plays": 1, "rate": 1}}', 60),
        (played(0.9, 1), 60),
        (played(1, 4), 60),
        (played(float("nan"), 1), 60),
        (played(1, 1), 1.6),
    ],
)
def test_no_vote_without_listening(lab, visit, claims, wait_s) -> None:
    ann = visit()
    assert ann.answer(wait_s=wait_s, played=claims).status_code == 422
    assert "has not been played to the end" in ann.page
    assert stored(lab, reply) == 0


def test_what_was_heard_counts_by_the_servers_clock(lab, visit) -> None:
    ann = visit()
    full = played(1, 1)
    ann.clock.wind(seconds=0.6)
    assert ann.client.post("/beat", data={"nonce": ann.nonce, "played": full}).json()["missing"] == ["first", "second"]
    ann.clock.wind(seconds=1.2)
    assert ann.client.post("/beat", data={"nonce": ann.nonce, "played": full}).json()["missing"] == []
    assert ann.answer(wait_s=0, played="").status_code == 200
    assert stored(lab, reply) == 1


def test_a_nonce_is_good_once(lab, visit) -> None:
    ann = visit().train()
    first, questions = ann.nonce, ann.questions
    ann.do_task(1)
    before = stored(lab, answer)
    again = {"nonce": first, **dict.fromkeys(questions, "3")}
    assert ann.client.post("/task", data=again).status_code == 200
    assert stored(lab, answer) == before
    with lab.ratings.reading() as connection:
        assert set(connection.execute(select(answer.c.screen_value)).scalars()) == {1}


def test_scores_outside_the_scale_and_strange_questions_are_no_answers(lab, visit) -> None:
    ann = visit()
    for value in (4, -4, "", "x", "1.0", "１"):
        assert ann.answer(value).status_code == 422
    strange = {"q.none": "1"}
    assert ann.answer(**strange).status_code == 200
    with lab.ratings.reading() as connection:
        assert "none" not in set(connection.execute(select(reply.c.rubric)).scalars())


def test_a_page_ahead_of_its_turn_is_not_stored(lab, visit) -> None:
    ann = visit().train()
    due = set(ann.questions)
    ahead = {"q.overall": "3"}
    missing = ann.post("/task", nonce=ann.nonce, played="", **ahead)
    assert missing.status_code == 422
    ann.answer(1, **ahead)
    with lab.ratings.reading() as connection:
        kept = select(reply.c.rubric).join(task, task.c.id == reply.c.task_id).where(task.c.kind == "pair")
        assert {f"q.{r}" for r in connection.execute(kept).scalars()} == due


def test_remarks_are_text_and_stay_text(lab, visit) -> None:
    ann = visit().train()
    while "q.overall" not in ann.questions:
        ann.answer()
    ann.answer(
        1,
        comment=f"{HOSTILE}\x00\n=cmd|'/c calc'!A1 \ud83d\ude42".encode("utf-16", "surrogatepass").decode("utf-16")
        + "x" * 900,
    )
    with lab.ratings.reading() as connection:
        kept = connection.execute(select(task.c.comment).where(task.c.comment.is_not(None))).scalar_one()
    assert kept.startswith(f"{HOSTILE}\ufffd\n=cmd")
    assert "🙂" in kept
    assert len(kept) == 500
    assert "\0" not in kept


def test_a_panels_id_is_text_and_bounded(lab, visit) -> None:
    address = link("", invite(lab.ratings, utc_now(), "generic"), "generic").partition("?")[0]
    ann = visit("")
    for wrong in ("", " ", "x" * 201, "a\0b", "a\nb"):
        assert ann.get(address, params={"id": wrong}).status_code == 400
    bob = visit("")
    bob.get(address, params={"id": HOSTILE, "session": "😀 אב"})
    bob.agree()
    with lab.ratings.reading() as connection:
        row = connection.execute(select(rater)).one()
    assert row.external_id == HOSTILE
    assert "script" not in row.name
    assert HOSTILE not in bob.page


def test_a_study_text_cannot_become_markup(make_lab, clock) -> None:
    from starlette.testclient import TestClient

    from s2s_assets.ratings.app.main import create_app

    hostile = f"'{HOSTILE}{{{{ 7*7 }}}}'"
    lab = make_lab(**{"Speech lab": hostile, '"Which recording sounds cleaner?"': hostile})
    app = create_app(lab.settings, clock)
    with TestClient(app) as client:
        page = client.get(lab.link("")).text
        assert HOSTILE not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7*7 }}" in page
    for found in re.findall(r"<script[^>]*>", page):
        assert 'src="/static/app.js?' in found


def test_links_are_signed_revocable_and_of_one_study(lab, visit, tmp_path, clock) -> None:
    token = invite(lab.ratings, clock())
    assert invited(lab.ratings, token) is not None
    told, _, signature = token.rpartition(".")
    # not its last letter: of that only some bits are the signature's
    assert invited(lab.ratings, f"{told}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}") is None
    assert invited(lab.ratings, "") is None
    other = RatingsStore(open_engine(f"sqlite:///{tmp_path / 'other.sqlite'}"), "other")
    assert invited(lab.ratings, invite(other, clock())) is None
    ann = visit(link("", token, "personal")).train()
    with lab.ratings.reading() as connection:
        number = connection.execute(select(func.max(invitation.c.id))).scalar_one()
    assert revoke(lab.ratings, number, "ada", "sent to the wrong list", clock()) is True
    assert revoke(lab.ratings, number, "ada", "sent to the wrong list", clock()) is False
    assert invited(lab.ratings, token) is None
    assert ann.get("/task").status_code == 403
    assert visit("").get(link("", token, "personal")).status_code == 404
    with pytest.raises(RatingsError, match="author and reason"):
        revoke(lab.ratings, number, "ada", " ", clock())
    with pytest.raises(RatingsError, match="invitation 99"):
        revoke(lab.ratings, 99, "ada", "why", clock())


def test_the_same_person_by_the_same_link_goes_on_in_one_browser(lab, visit) -> None:
    address = link("", invite(lab.ratings, utc_now(), "prolific"), "prolific").partition("?")[0]
    who = f"{address}?PROLIFIC_PID=5f3c&STUDY_ID=s&SESSION_ID=one"
    ann = visit(who).train()
    nonce = ann.nonce
    phone = visit("")
    phone.get(who)
    assert "Welcome back" in phone.page
    phone.post("/consent")
    assert phone.nonce == nonce
    assert ann.get("/task").status_code == 403
    assert (stored(lab, sitting), stored(lab, rater)) == (1, 1)
    later = visit(f"{address}?PROLIFIC_PID=5f3c&STUDY_ID=s&SESSION_ID=two")
    assert (stored(lab, sitting), stored(lab, rater)) == (2, 1)
    assert later.rater == ann.rater


def test_codes_tell_the_panel_how_it_ended(lab, visit, clock) -> None:
    token = invite(lab.ratings, clock(), "prolific")
    found = invited(lab.ratings, token)
    assert found is not None
    codes = completion_codes(lab.ratings, found)
    assert len(set(codes.values())) == 3
    ann = visit(link("", token, "prolific").replace("{{%PROLIFIC_PID%}}", "a").replace("{{%SESSION_ID%}}", "b"))
    ann.do_all()
    assert f"https://app.prolific.com/submissions/complete?cc={codes['done']}" in ann.page
    assert codes["failed"] not in ann.page
    alone = invited(lab.ratings, invite(lab.ratings, clock()))
    assert alone is not None
    assert completion_codes(lab.ratings, alone) == {}


def test_a_panels_preview_is_nobody(lab, visit) -> None:
    token = invite(lab.ratings, utc_now(), "mturk")
    ann = visit("")
    page = ann.get(f"/i/{token}?workerId=&assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE")
    assert page.status_code == 200
    assert "preview" in page.text
    assert "<form" not in page.text
    found = invited(lab.ratings, token)
    assert found is not None
    with pytest.raises(RatingsError, match="workerId"):
        claims_of(found, {})


def test_too_many_requests_wait(lab, visit) -> None:
    nobody = visit("")
    answers = (nobody.get("/i/guess").status_code for _ in range(2000))  # turns come back while it asks
    assert next(answers) == 404
    assert 429 in answers


def test_a_bucket_fills_with_time_and_forgets_who_is_gone() -> None:
    now = [0.0]
    limiter = Limiter(rate_per_s=1.0, burst=3.0, clock=lambda: now[0])
    assert [limiter.allows("a") for _ in range(4)] == [True, True, True, False]
    assert limiter.allows("b")
    now[0] = 2.0
    assert [limiter.allows("a") for _ in range(3)] == [True, True, False]


def test_an_excluded_rater_is_asked_no_more_and_the_slots_are_free(lab, visit, clock) -> None:
    ann = visit().train()
    ann.do_task()
    ann.answer()
    assert (status(lab.ratings)["done"], status(lab.ratings)["leased"]) == (1, 1)
    exclude(lab.ratings, "rater", ann.rater, "ada", "clicks through", clock())
    assert (status(lab.ratings)["done"], status(lab.ratings)["leased"]) == (0, 0)
    while not ann.ended:
        ann.answer()
    assert status(lab.ratings)["done"] == 0
    with lab.ratings.reading() as connection:
        taken = connection.execute(text("SELECT sum(taken) FROM pair")).scalar_one()
    assert taken == 0
    restore(lab.ratings, "rater", ann.rater, "ada", "a mistake", clock())
    assert status(lab.ratings)["done"] == 1
