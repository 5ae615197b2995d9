"""The recordings review: who gets in, what is heard and seen, what a verdict does, and what it cannot do."""

import re
from urllib.parse import quote

import polars as pl
import pytest
from sqlalchemy import func, select

from s2s_assets.audio import decode
from s2s_assets.ratings import import_ratings, read_ratings, verdicts_given
from s2s_assets.ratings.access import make_access
from s2s_assets.ratings.app.context import Context
from s2s_assets.ratings.app_schema import recording_verdict
from s2s_assets.ratings.review import scripts_review
from s2s_assets.ratings.verdicts import verdicts_in_force
from s2s_assets.storage import StudyStore, open_store

HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture
def lab(visit, with_takes):
    """The usual study with recordings."""
    return with_takes(visit.lab)


@pytest.fixture
def eve(visit, lab, clock):
    """Somebody who has the admin pages open."""
    eve = visit("")
    assert eve.post(f"/admin/open/{make_access(lab.ratings, clock())}").status_code == 200
    return eve


def form_of(page: str, recording: str) -> dict[str, str]:
    """What the form of a recording carries unseen."""
    part = page.partition(f'id="take-{recording}"')[2].partition("</section>")[0]
    return dict(re.findall(r'type="hidden" name="(nonce|script|recording|file)" value="([^"]*)"', part))


def judge(admin, of: str, choice: str, **more: str):
    """Send the form of a recording; answers are about the page that it leads to."""
    page = admin.get(f"/admin/script?name={of[:2]}").text
    fields = {**form_of(page, of), "choice": choice, "author": "Eve", "reason.noise": "1"}
    return admin.post("/admin/judge", **{name: text for name, text in {**fields, **more}.items() if text})


def recorded(lab) -> pl.DataFrame:
    store = StudyStore(open_store(lab.settings.store), "lab")
    return store.read_table("recorded_prompts", None, store.head("recorded_prompts", None)).frame


def stored(lab) -> int:
    with lab.ratings.reading() as connection:
        return connection.execute(select(func.count()).select_from(recording_verdict)).scalar_one()


def state(lab, clock, name: str) -> dict:
    context = Context(lab.settings, clock)
    table = scripts_review(context.recorded.frame(), context.desk.scripts.values(), verdicts_in_force(lab.ratings))
    return table.row(by_predicate=pl.col("script") == name, named=True)


def test_nobody_and_no_rater_hears_sees_or_judges_anything(visit, lab) -> None:
    blob = recorded(lab)["source_blob"][0]
    nobody, ann = visit(""), visit()
    pages = ["/admin/script?name=p0", "/admin/table/recordings"]
    pages += [f"/admin/recording/{kind}?of={blob}" for kind in ("sound", "spectrogram")]
    for who in (nobody, ann):
        for page in pages:
            answer = who.get(page)
            assert answer.status_code == 403
            assert "p0-a" not in answer.text
        fields = {
            "script": "p0",
            "recording": "p0-a",
            "file": blob,
            "choice": "reject",
            "author": "x",
            "reason.noise": "1",
        }
        assert who.post("/admin/judge", nonce="x", **fields).status_code == 403
    assert stored(lab) == 0


def test_the_table_says_what_is_to_review(eve, lab, clock) -> None:
    text = eve.get("/admin/table/recordings").text
    rows = re.findall(r"/admin/script\?name=(p\d)", text)
    assert rows == ["p0", "p1", "p2", "p3", "p4", "p5"]
    found = eve.get("/admin/table/recordings?find=to+review").text
    assert re.findall(r"/admin/script\?name=(p\d)", found) == ["p0", "p1"]
    assert state(lab, clock, "p0") == {
        "script": "p0",
        "category": "facts",
        "level": "L1",
        "acoustic": "clean",
        "state": "to review",
        "recordings": 3,
        "passing": 2,
        "judged": 0,
        "taken": "p0-a",
        "judged_at": None,
        "judged_by": None,
        "waits": False,
    }
    assert state(lab, clock, "p2")["state"] == "none good"
    assert state(lab, clock, "p5")["state"] == "no recording"


def test_a_take_that_is_no_audio_is_named_by_its_file(eve) -> None:
    page = eve.get("/admin/script?name=p2").text
    told = re.findall(r'class="banner bad"><bdi>(.*?)</bdi>', page)
    assert len(told) == 1
    assert told[0].startswith("p2-a.flac: ")


def test_a_page_shows_every_take_against_its_limits(eve) -> None:
    text = eve.get("/admin/script?name=p0").text
    assert "say 0" in text
    assert text.count("<audio") == text.count("<svg") == text.count("/admin/recording/spectrogram?of=") == 3
    clipped = text.partition('id="take-p0-c"')[2]
    row = re.search(r"<tr><th[^>]*>clipped samples</th>.*?</tr>", clipped)
    assert row is not None
    assert "at most 0.10 %" in row[0]
    assert "✗ fails" in row[0]
    assert "✓ passes" in clipped
    assert "no known audio" not in text
    broken = eve.get("/admin/script?name=p2").text
    assert "an HTML or XML page, not audio" in broken
    assert "<audio" not in broken
    assert eve.get("/admin/script?name=p9").status_code == 404
    assert "no recording of this script" in eve.get("/admin/script?name=p5").text


def test_a_recording_is_heard_as_it_was_delivered_and_in_parts(eve, lab) -> None:
    stereo = recorded(lab).filter(recording="p1-a").row(0, named=True)
    text = eve.get("/admin/script?name=p1").text
    source = re.findall(r'src="(/admin/recording/sound[^"]+)"', text)[0]
    heard = eve.get(source)
    assert heard.headers["content-type"] == "audio/flac"
    assert heard.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in heard.headers["content-security-policy"]
    clip = decode(heard.content, "heard")
    assert (clip.channels, clip.rate_hz) == (2, stereo["sample_rate_hz"])
    part = eve.client.get(source, headers={"range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, heard.content[10:20])
    picture = eve.get(re.findall(r'href="(/admin/recording/spectrogram[^"]+)"', text)[0])
    assert (picture.headers["content-type"], picture.content[1:4]) == ("image/png", b"PNG")


def test_what_is_no_recording_is_not_served(eve, lab) -> None:
    store = StudyStore(open_store(lab.settings.store), "lab")
    other = store.put_blob(b"something private", "flac")
    html = recorded(lab).filter(recording="p2-a")["source_blob"].item()
    for kind in ("sound", "spectrogram"):
        for of in ("", other, html, "../../etc/passwd", "x" * 5000):
            assert eve.get(f"/admin/recording/{kind}?of={quote(of)}").status_code == 404, of[:20]
    assert eve.get(f"/admin/recording/other?of={recorded(lab)['source_blob'][0]}").status_code == 404


def test_a_recording_that_is_gone_from_the_store_is_answered_by_a_page(eve, lab) -> None:
    blob = recorded(lab).filter(recording="p0-a")["source_blob"].item()
    [file] = (lab.root / "home").rglob(blob)
    file.unlink()
    for kind in ("sound", "spectrogram"):
        assert eve.get(f"/admin/recording/{kind}?of={blob}").status_code == 404
    page = eve.get("/admin/script?name=p0").text
    assert "no object" in page
    assert page.count("<audio") == 2, "the others are there"
    assert judge(eve, "p0-a", "rerecord", reason="the file is lost").status_code == 200


def test_a_verdict_is_kept_with_author_and_time_and_the_newest_counts(eve, lab, clock) -> None:
    answer = judge(eve, "p0-a", "rerecord", reason="a door slams")
    assert answer.status_code == 200
    assert "noise or hum: a door slams" in answer.text
    assert 'value="Eve"' in answer.text
    clock.wind(minutes=3)
    answer = judge(eve, "p0-b", "select")
    assert "good, selected by <bdi>Eve</bdi>" in answer.text
    assert "do not have these verdicts yet" in answer.text
    clock.wind(minutes=3)
    judge(eve, "p0-a", "reject", author="Ben")
    told = [(v.recording, v.verdict, v.selected, v.author, v.created_at) for v in verdicts_given(lab.ratings)]
    assert told == [
        ("p0-a", "rerecord", False, "Eve", clock.wind(minutes=-6)),
        ("p0-b", "accept", True, "Eve", clock.wind(minutes=3)),
        ("p0-a", "reject", False, "Ben", clock.wind(minutes=3)),
    ]
    found = state(lab, clock, "p0")
    assert (found["state"], found["taken"], found["judged"], found["judged_by"]) == ("selected", "p0-b", 2, "Ben")
    assert found["waits"]
    assert "1 script to review" in eve.get("/admin/script?name=p0").text
    assert 'href="/admin/script?name=p1&amp;by=Eve"' in eve.get("/admin/script?name=p0&by=Eve").text


def test_a_form_that_is_sent_twice_is_stored_once_and_answered_alike(eve, lab, clock) -> None:
    page = eve.get("/admin/script?name=p0").text
    form = {**form_of(page, "p0-a"), "choice": "reject", "author": "Eve", "reason.noise": "1"}
    for _ in range(2):
        answer = eve.post("/admin/judge", **form)
        assert answer.status_code == 200
        assert answer.text.count("rejected by <bdi>Eve</bdi>, <q>noise or hum</q>") == stored(lab) == 1
        clock.wind(seconds=2)
    assert judge(eve, "p0-a", "reject", reason="and a cough").status_code == 200
    assert stored(lab) == 2


def test_a_verdict_that_answers_overtook_is_shown_as_not_taken_in(eve, lab, clock) -> None:
    judge(eve, "p0-b", "select")
    page = eve.get("/admin/script?name=p0").text
    assert "in force" in page
    assert "The prompts do not have these verdicts yet" in page
    told = "prompt,rater,config_a,config_b,score\np0,zoe,m0|v|none,m0|w|none,1\n"
    (lab.root / "answer.csv").write_text(told)
    import_ratings(lab.ratings, read_ratings(lab.root / "answer.csv"), clock())
    page = eve.get("/admin/script?name=p0").text
    assert "not taken in: answers about the take came first" in page
    assert "in force" not in page
    assert "The prompts do not have these verdicts yet" not in page


def test_a_verdict_is_taken_back_by_a_further_row(eve, lab, clock) -> None:
    assert "take the last one back" not in eve.get("/admin/script?name=p1").text
    judge(eve, "p1-a", "reject")
    assert state(lab, clock, "p1")["state"] == "none good"
    assert "taken back by" in judge(eve, "p1-a", "none").text
    assert stored(lab) == 2
    assert state(lab, clock, "p1")["state"] == "to review"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"choice": "reject", "reason.noise": "", "reason": ""}, "choose or write a reason"),
        ({"choice": ""}, "choose a verdict"),
        ({"choice": "accept!"}, "choose a verdict"),
        ({"author": " "}, "expected who judges it"),
    ],
)
def test_a_form_that_lacks_something_comes_back_as_it_was(eve, lab, more, says) -> None:
    answer = judge(eve, "p0-a", **{"choice": "accept", "reason": "a <b>cough</b>", **more})
    assert answer.status_code == 422
    part = answer.text.partition('id="take-p0-a"')[2].partition("</section>")[0]
    assert says in part
    assert ('value="a &lt;b&gt;cough&lt;/b&gt;"' in part) == ("reason" not in more)
    assert stored(lab) == 0


def test_only_a_form_of_this_page_and_browser_judges(eve, visit, lab, clock) -> None:
    other = visit("")
    other.post(f"/admin/open/{make_access(lab.ratings, clock())}")
    theirs = form_of(other.get("/admin/script?name=p0").text, "p0-a")
    blob = recorded(lab).filter(recording="p0-b")["source_blob"].item()
    for changed in (
        {"nonce": theirs["nonce"]},
        {"nonce": "x"},
        {"recording": "p0-b", "file": blob},
        {"script": "p1"},
        {"file": blob},
    ):
        assert judge(eve, "p0-a", "accept", **changed).status_code == 403, changed
    for site in ("cross-site", "same-site"):
        eve.client.headers["sec-fetch-site"] = site
        assert judge(eve, "p0-a", "accept").status_code == 403
    eve.client.headers["sec-fetch-site"] = "same-origin"
    assert stored(lab) == 0
    assert judge(eve, "p0-a", "accept").status_code == 200


def test_a_file_that_was_replaced_meanwhile_is_not_judged_unheard(eve, lab) -> None:
    page = eve.get("/admin/script?name=p0").text
    store = StudyStore(open_store(lab.settings.store), "lab")
    frame = recorded(lab).with_columns(
        source_blob=pl.when(pl.col("recording") == "p0-a").then(pl.lit("0" * 64 + ".flac")).otherwise("source_blob")
    )
    store.set_head("recorded_prompts", None, store.write_table("recorded_prompts", None, frame).version)
    answer = eve.post("/admin/judge", **form_of(page, "p0-a"), choice="accept", author="Eve", reason="fine")
    assert answer.status_code == 422
    assert "another file of it by now" in answer.text
    assert stored(lab) == 0


def test_what_people_write_stays_text(eve, lab) -> None:
    told = judge(eve, "p0-a", "reject", reason=HOSTILE, author=HOSTILE).text
    told += eve.get(f"/admin/script?name=p0&by={quote(HOSTILE)}").text
    told += eve.get("/admin/table/recordings").text
    assert "<script>alert" not in told
    assert told.count("&lt;script&gt;alert(1)") >= 4


def test_what_a_database_cannot_hold_comes_in_as_something_else(eve, lab) -> None:
    assert judge(eve, "p0-a", "reject", reason="a\0b", author="E\0ve").status_code == 200
    assert [(v.comment, v.author) for v in verdicts_given(lab.ratings)] == [("a\ufffdb", "E\ufffdve")]


def test_before_there_are_prompts_the_pages_say_so(visit, clock) -> None:
    bare = visit.lab_with('tasks: 3, control_share: 0, headphones: "off"', 2)
    eve = visit("")
    eve.post(f"/admin/open/{make_access(bare.ratings, clock())}")
    assert "no recording" in eve.get("/admin/table/recordings").text
    assert "no recording of this script" in eve.get("/admin/script?name=p0").text
