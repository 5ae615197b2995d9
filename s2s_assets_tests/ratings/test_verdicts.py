"""Reviewers' verdicts: the newest about a file counts, none is lost, and none moves what answers are about."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import polars as pl
import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError

from s2s_assets.prompts import RECORDED_PROMPTS, select_takes
from s2s_assets.ratings import judge, verdicts_given, verdicts_in_force, verdicts_to_take
from s2s_assets.ratings.app_schema import recording_verdict
from s2s_assets.study import RatingsError, RecordingVerdict

START_BLOB = "a" * 64 + ".wav"


def a_row(recording: str, **more):
    """A recording that was measured and passes."""
    row = dict.fromkeys(RECORDED_PROMPTS.names()) | {"tags": [], "warnings": [], "qa_reasons": []}
    row |= {"prompt": recording.partition("-")[0], "recording": recording, "file": f"{recording}.wav"}
    row |= {"source_blob": START_BLOB, "status": "ok", "qa": "pass", "selected": False}
    return row | {"speech_level_dbfs": -20.0, "noise_floor_dbfs": -60.0} | more


@pytest.fixture
def recorded() -> pl.DataFrame:
    """Two scripts with three takes and one: the first's third fails the check."""
    rows = [a_row("p0-a"), a_row("p0-b"), a_row("p0-c", qa="fail", qa_reasons=["clipped"]), a_row("p1-a")]
    return select_takes(pl.DataFrame(rows, schema=RECORDED_PROMPTS))


@pytest.fixture
def verdict(clock):
    """Makes a verdict about a recording, at the clock's time."""

    def make(recording="p0-b", verdict="accept", **more):
        told = {"prompt": recording.partition("-")[0], "source_blob": START_BLOB, "author": "ann"}
        told |= {"reasons": () if verdict in ("accept", None) else ("noise",), "created_at": clock.wind(minutes=1)}
        return RecordingVerdict(**told | {"recording": recording, "verdict": verdict} | more)

    return make


def taken(recorded, ratings, prompt="p0"):
    chosen = select_takes(recorded, verdicts_in_force(ratings)).filter("selected")
    return chosen.filter(prompt=prompt)["recording"].to_list()


def test_the_newest_verdict_about_a_file_counts_and_all_are_kept(ratings, recorded, verdict) -> None:
    given = [verdict(verdict="reject"), verdict("p1-a"), verdict(selected=True, comment="the clearer voice")]
    for one in given:
        judge(ratings, recorded, one)
    assert verdicts_in_force(ratings) == (given[1], given[2])
    assert verdicts_given(ratings) == tuple(given)
    assert verdicts_given(ratings, "p1") == (given[1],)


def test_a_selected_take_wins_and_a_rejected_one_is_never_taken(ratings, recorded, verdict) -> None:
    assert taken(recorded, ratings) == ["p0-a"]
    judge(ratings, recorded, verdict("p0-b", selected=True))
    assert taken(recorded, ratings) == ["p0-b"]
    judge(ratings, recorded, verdict("p0-c", selected=True, comment="the crowd is meant"))
    assert taken(recorded, ratings) == ["p0-c"]
    judge(ratings, recorded, verdict("p0-c", "reject"))
    assert taken(recorded, ratings) == ["p0-b"]
    for recording in ("p0-a", "p0-b"):
        judge(ratings, recorded, verdict(recording, "rerecord"))
    assert taken(recorded, ratings) == []
    judge(ratings, recorded, verdict("p0-a", None))
    assert taken(recorded, ratings) == ["p0-a"]


def test_what_was_just_said_is_not_stored_again(ratings, recorded, verdict) -> None:
    said = [verdict(verdict="reject"), verdict(verdict=None), verdict(verdict="reject", comment="hum"), verdict("p1-a")]
    for one in said:
        for _ in range(2):
            judge(ratings, recorded, one.model_copy(update={"created_at": verdict().created_at}))
    assert [(v.recording, v.verdict, v.comment) for v in verdicts_given(ratings)] == [
        (v.recording, v.verdict, v.comment) for v in said
    ]
    judge(ratings, recorded, said[-1].model_copy(update={"author": "ben"}))
    assert [v.author for v in verdicts_given(ratings, "p1")] == ["ann", "ben"]


def test_to_select_a_take_again_after_another_is_stored_and_counts(ratings, recorded, verdict) -> None:
    for recording in ("p0-a", "p0-b", "p0-a"):
        judge(ratings, recorded, verdict(recording, selected=True))
    assert len(verdicts_given(ratings)) == 3
    assert taken(recorded, ratings) == ["p0-a"]


def test_a_button_that_is_pressed_many_times_at_once_stores_one_verdict(ratings, recorded, verdict) -> None:
    one, presses = verdict("p0-b", selected=True), 6
    together = Barrier(presses)

    def press(_: int) -> None:
        together.wait()
        judge(ratings, recorded, one)

    with ThreadPoolExecutor(presses) as pool:
        list(pool.map(press, range(presses)))
    assert verdicts_given(ratings) == (one,)


def test_a_verdict_is_about_the_bytes_that_were_heard(ratings, recorded, verdict) -> None:
    judge(ratings, recorded, verdict("p0-a", "reject"))
    again = recorded.with_columns(source_blob=pl.lit("b" * 64 + ".wav"))
    assert taken(again, ratings) == ["p0-a"]
    with pytest.raises(RatingsError, match="another file of it by now"):
        judge(ratings, again, verdict("p0-a", "reject"))


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"recording": "p9-a"}, "'p9-a': there is another file of it by now, or none"),
        ({"prompt": "p1"}, "or none"),
        ({"reasons": ("smell",)}, "reason 'smell' is none of noise, "),
        ({"verdict": "reject", "reasons": ()}, "choose or write a reason"),
        ({"verdict": "rerecord", "reasons": ()}, "choose or write a reason"),
        ({"recording": "p0-c"}, "fails the automated check; write why"),
        ({"verdict": "reject", "selected": True}, "only a take that is good"),
        ({"verdict": None, "selected": True}, "only a take that is good"),
        ({"author": "  "}, "expected who judges it"),
    ],
)
def test_what_makes_no_sense_is_refused_and_not_stored(ratings, recorded, verdict, told, says) -> None:
    with pytest.raises(RatingsError, match=says):
        judge(ratings, recorded, verdict(**told))
    assert verdicts_given(ratings) == ()


def test_what_could_not_be_measured_cannot_be_selected(ratings, recorded, verdict) -> None:
    refused = pl.DataFrame([a_row("p0-a", status="refused", reason="silent", qa=None)], schema=RECORDED_PROMPTS)
    with pytest.raises(RatingsError, match="could be measured"):
        judge(ratings, refused, verdict("p0-a", selected=True))
    judge(ratings, refused, verdict("p0-a"))
    assert taken(refused, ratings) == []


def test_a_take_with_answers_stays_the_take(voted, recorded, verdict) -> None:
    for moves in (verdict("p0-a", "reject"), verdict("p0-b", selected=True), verdict("p0-b")):
        with pytest.raises(RatingsError, match=r"'p0' has answers, and 'p0-a'.*give a new take a new prompt id"):
            judge(voted, recorded, moves)
    assert verdicts_given(voted) == ()
    for stays in (verdict("p0-b", "reject"), verdict("p0-a", selected=True), verdict("p0-b")):
        judge(voted, recorded, stays)
    assert taken(recorded, voted) == ["p0-a"]


def test_answers_that_come_in_before_a_verdict_is_taken_in_keep_the_take(
    planned, recorded, verdict, vote, clock
) -> None:
    stays, moves, other = verdict("p0-b"), verdict("p0-b", selected=True), verdict("p1-a")
    for one in (verdict("p0-a", "accept"), stays, moves, other):
        judge(planned, recorded, one)
    assert [v.selected for v in verdicts_to_take(planned, recorded)] == [False, True, False], "nobody has rated yet"
    vote(planned, clock)
    kept = verdicts_to_take(planned, recorded)
    assert kept[1:] == (stays, other), "the last verdict before it counts again"
    assert select_takes(recorded, kept).filter("selected")["recording"].to_list() == ["p0-a", "p1-a"]
    assert verdicts_to_take(planned, select_takes(recorded, kept)) == kept
    judge(planned, recorded, verdict("p0-c", "reject"))
    with pytest.raises(RatingsError, match="it would be p0-b"):
        judge(planned, recorded, verdict("p0-a", "reject"))


def test_a_prompt_that_nobody_rated_is_free(planned, recorded, verdict) -> None:
    judge(planned, recorded, verdict("p0-a", "reject"))
    assert taken(recorded, planned) == ["p0-b"]


@pytest.mark.parametrize("wrong", [{"verdict": "good"}, {"selected": True}, {"verdict": "reject", "selected": True}])
def test_the_database_itself_refuses_what_code_might_get_wrong(ratings, verdict, wrong) -> None:
    row = verdict(verdict=None).model_dump() | {"reasons": []}
    with pytest.raises(IntegrityError), ratings.writing() as connection:
        connection.execute(recording_verdict.insert().values(row | wrong))
    with ratings.reading() as connection:
        assert connection.execute(select(func.count()).select_from(recording_verdict)).scalar() == 0


def test_times_and_reasons_come_back_as_they_were(ratings, recorded, verdict) -> None:
    one = verdict(reasons=("noise", "words"), comment='"quoted" & <b>')
    judge(ratings, recorded, one)
    (back,) = verdicts_in_force(ratings)
    assert back == one
    assert back.created_at.utcoffset() == timedelta(0)
    assert back.why == 'noise or hum, words differ from the script: "quoted" & <b>'
