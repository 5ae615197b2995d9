"""Settled versions and the snapshots taken of them."""

from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, update

from s2s_assets.ratings import (
    RATINGS,
    RatingsStore,
    Settled,
    enrol,
    exclude,
    next_assignment,
    restore,
    settled_version,
    snapshot,
    submit,
    withdraw,
)
from s2s_assets.ratings.schema import answer, pair, rater, settled
from s2s_assets.ratings.settled import HALF, version_of
from s2s_assets.ratings.stored import stored_answers
from s2s_assets.storage import open_engine
from s2s_assets.study import Script

SCRIPT = Script(prompt="p0", category="facts", level="L2", acoustic="far_field", line=2)


def look(ratings: RatingsStore, clock, settle_s: float = 30, min_new: int = 1, max_age_s: float = 3600):
    return settled_version(ratings, clock(), settle_s, min_new, max_age_s)


def one_vote(ratings: RatingsStore, clock, name: str, value: int = 1) -> str:
    who = enrol(ratings, "panel", name, clock(), name=name)
    task = next_assignment(ratings, who, "s", np.random.default_rng(3), clock)
    submit(ratings, task.nonce, {"overall": value}, clock)
    return task.nonce


def test_without_answers_nothing_is_settled(planned, clock) -> None:
    assert look(planned, clock) is None


def test_an_answer_settles_after_its_time_and_then_stands(planned, clock) -> None:
    one_vote(planned, clock, "ann")
    clock.wind(seconds=29)
    assert look(planned, clock) is None
    clock.wind(seconds=1)
    first = look(planned, clock)
    assert first.answers == 1
    clock.wind(days=1)
    assert look(planned, clock) == first
    assert look(RatingsStore(planned.engine, "study"), clock) == first


def test_a_small_batch_waits_for_company_or_for_its_age(planned, clock) -> None:
    one_vote(planned, clock, "ann")
    clock.wind(minutes=10)
    assert look(planned, clock, min_new=3) is None
    one_vote(planned, clock, "ben")
    one_vote(planned, clock, "cy")
    clock.wind(minutes=1)
    three = look(planned, clock, min_new=3)
    assert three.answers == 3
    one_vote(planned, clock, "dee")
    clock.wind(minutes=59)
    assert look(planned, clock, min_new=3) == three
    clock.wind(minutes=1)
    assert look(planned, clock, min_new=3).answers == 4


def test_a_late_commit_below_the_watermark_is_not_lost(planned, clock) -> None:
    nonce = one_vote(planned, clock, "ann")
    one_vote(planned, clock, "ben")
    clock.wind(minutes=5)
    with planned.writing() as connection:
        row = connection.execute(select(answer).limit(1)).mappings().one()
        connection.execute(answer.delete().where(answer.c.id == row["id"]))
    before = look(planned, clock)
    assert before.answers == 1
    with planned.writing() as connection:
        connection.execute(answer.insert().values(dict(row)))
    after = look(planned, clock, min_new=50)
    assert after.version != before.version
    assert snapshot(planned, after, []).frame.height == 2
    assert nonce


def test_a_snapshot_is_the_version_that_it_names(voted, clock) -> None:
    clock.wind(minutes=1)
    wanted = look(voted, clock)
    assert snapshot(voted, wanted, []).version == wanted.version
    with voted.writing() as connection:
        row = dict(connection.execute(select(answer).limit(1)).mappings().one())
        row |= {"id": None, "rating_id": "late", "rubric": "delivery", "mark": 77}
        connection.execute(answer.insert().values({k: v for k, v in row.items() if k != "id"}))
    taken = snapshot(voted, wanted, [])
    assert taken.version != wanted.version
    assert taken.version == look(voted, clock).version


def test_answers_after_the_watermark_are_not_of_the_snapshot(planned, clock) -> None:
    one_vote(planned, clock, "ann")
    clock.wind(minutes=1)
    first = look(planned, clock)
    one_vote(planned, clock, "ben")
    clock.wind(minutes=1)
    assert snapshot(planned, first, []).frame.height == 1
    assert snapshot(planned, look(planned, clock), []).frame.height == 2


@pytest.mark.parametrize("scope", ["rater", "rating", "response"])
def test_an_exclusion_moves_the_version_at_once_and_lifting_it_moves_it_back(voted, clock, scope) -> None:
    clock.wind(minutes=1)
    before = look(voted, clock)
    frame = snapshot(voted, before, []).frame
    target = {"rater": "rater-2", "rating": frame["rating_id"][5], "response": "r-0-1"}[scope]
    assert exclude(voted, scope, target, "ada", "why not", clock())
    assert not exclude(voted, scope, target, "bob", "again", clock())
    assert look(voted, clock) == before
    clock.wind(minutes=1)
    after = look(voted, clock, min_new=1000)
    assert after.version != before.version
    marked = snapshot(voted, after, []).frame
    hit = {
        "rater": pl.col("rater") == target,
        "rating": pl.col("rating_id") == target,
        "response": (pl.col("response_a") == target) | (pl.col("response_b") == target),
    }[scope]
    assert marked.filter(hit).height > 0
    assert marked.filter(hit).select(pl.col("excluded_by").unique(), pl.col("excluded_reason").unique()).rows() == [
        ("ada", "why not")
    ]
    assert marked.filter(~hit)["excluded_by"].null_count() == marked.filter(~hit).height
    assert restore(voted, scope, target, "ada", "my mistake", clock())
    assert not restore(voted, scope, target, "ada", "my mistake", clock())
    clock.wind(minutes=1)
    assert look(voted, clock).version == before.version


def test_the_snapshot_holds_the_columns_of_the_tables_page(voted, clock) -> None:
    clock.wind(minutes=1)
    frame = snapshot(voted, look(voted, clock), [SCRIPT]).frame
    assert frame.columns == [
        "rating_id", "pair", "prompt", "rater", "rubric", "config_a", "config_b", "response_a", "response_b", "score",
        "screen_value", "first", "submitted_at", "source", "simulated", "category", "level", "acoustic", "elapsed_ms",
        "heard_s", "excluded_by", "excluded_reason",
    ]  # fmt: skip
    assert frame["rating_id"].is_sorted()
    assert frame["rating_id"].n_unique() == frame.height == 72
    assert frame.schema["submitted_at"] == pl.Datetime("us", "UTC")
    of_script = frame.filter(pl.col("prompt") == "p0").select("category", "level", "acoustic").unique()
    assert of_script.rows() == [("facts", "L2", "far_field")]
    assert frame.filter(pl.col("prompt") != "p0")["category"].null_count() == 48
    assert set(frame["heard_s"]) == {15.0}
    screen = pl.when(pl.col("first") == "a").then(-pl.col("score")).otherwise(pl.col("score"))
    assert frame.select((screen == pl.col("screen_value")).all()).item()


def test_late_votes_are_marked(planned, clock) -> None:
    rng = np.random.default_rng(0)
    ann = enrol(planned, "panel", "ann", clock())
    task = next_assignment(planned, ann, "s", rng, clock)
    clock.wind(hours=1)
    for i in range(12):
        who = enrol(planned, "panel", f"x{i}", clock())
        while other := next_assignment(planned, who, "s", rng, clock):
            submit(planned, other.nonce, {"overall": 0}, clock)
    assert submit(planned, task.nonce, {"overall": 3}, clock) == "late"
    clock.wind(minutes=1)
    late = snapshot(planned, look(planned, clock), []).frame.filter(pl.col("excluded_by") == "late")
    assert late["rater"].to_list() == [ann.name]


def test_a_withdrawal_needs_a_known_response_an_author_and_a_reason(voted, clock) -> None:
    for arguments in (("r-9-9", "ada", "noise"), ("r-0-0", " ", "noise"), ("r-0-0", "ada", "")):
        with pytest.raises(Exception, match=r"expected both|no pair"):
            withdraw(voted, *arguments, clock())


def test_deleting_answers_moves_the_version(voted, clock) -> None:
    clock.wind(minutes=1)
    before = look(voted, clock)
    with voted.writing() as connection:
        connection.execute(answer.delete().where(answer.c.rubric == "naturalness"))
    assert look(voted, clock, min_new=1000).answers == before.answers - 36


def test_two_sensors_that_look_at_once_agree(voted, clock) -> None:
    clock.wind(minutes=1)
    first = look(voted, clock)
    with voted.writing() as connection:
        connection.execute(update(settled).values(watermark=first.watermark - timedelta(seconds=1)))
    second = look(voted, clock)
    assert (second.version, second.answers) == (first.version, first.answers)
    assert isinstance(second, Settled)


@given(st.sets(st.integers(0, 2**62 - 1), max_size=40), st.randoms())
def test_the_version_of_a_set_of_marks_ignores_order_and_sees_every_change(marks: set[int], random) -> None:
    def version(found) -> str:
        halves = [(m & (2**HALF - 1), m >> HALF) for m in found]
        return version_of(len(halves), sum(low for low, _ in halves), sum(high for _, high in halves), [])

    shuffled = sorted(marks)
    random.shuffle(shuffled)
    assert version(shuffled) == version(marks)
    assert not marks or version(shuffled[1:]) != version(marks)


def test_answers_read_in_pages_are_those_of_a_plain_query(voted, clock, monkeypatch) -> None:
    clock.wind(minutes=1)
    whole = stored_answers(voted, clock(), extra=True)
    monkeypatch.setattr("s2s_assets.ratings.stored._PAGE", 7)
    paged = stored_answers(voted, clock(), extra=True)
    assert paged.answers.equals(whole.answers)
    assert (paged.version, paged.exclusions) == (whole.version, whole.exclusions)
    columns = (
        "rating_id",
        "rubric",
        "score",
        "screen_value",
        "first",
        "submitted_at",
        "elapsed_ms",
        "source",
        "simulated",
    )
    query = select(*answer.c[columns], pair.c.pair, rater.c.name).join(pair, pair.c.id == answer.c.pair_id)
    with voted.reading() as connection:
        joined = query.join(rater, rater.c.id == answer.c.rater_id).order_by(answer.c.rating_id)
        plain = [tuple(row) for row in connection.execute(joined)]
    found = paged.answers.select(columns).with_columns(
        paged.pairs["pair"][paged.answers["pair_row"]], paged.raters["rater"][paged.answers["rater_row"]]
    )
    assert found.rows() == plain
    assert len(plain) == 72


def test_nothing_is_read_of_answers_that_land_later_and_an_empty_database_has_none(voted, clock, tmp_path) -> None:
    assert stored_answers(voted, clock() - timedelta(days=30)).answers.is_empty()
    empty = RatingsStore(open_engine(f"sqlite:///{tmp_path / 'empty.sqlite'}"), "study")
    assert snapshot(empty, Settled("", clock(), 0), []).frame.schema == RATINGS
