"""How far a study is, against counts made by hand from what was voted."""

import numpy as np
import polars as pl
import pytest

from s2s_assets.ratings import enrol, exclude, invite, next_assignment, status, submit, withdraw
from s2s_assets.ratings.progress import (
    PAIRS,
    invitations_use,
    paces,
    pairs_progress,
    progress_by,
    raters_progress,
    totals,
)
from s2s_assets.ratings.records import prompt_record


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def some_votes(ratings, clock, rng, n: int) -> None:
    """One vote by each of n raters, and one more task that is only leased."""
    for k in range(n + 1):
        who = enrol(ratings, "panel", f"pid-{k}", clock(), name=f"rater-{k}")
        task = next_assignment(ratings, who, f"{who.name}/{clock()}", rng, clock)
        if k < n:
            submit(ratings, task.nonce, {"overall": 1, "naturalness": 0}, clock)


def test_slots_add_up_however_they_are_grouped(planned, clock, rng) -> None:
    some_votes(planned, clock, rng, 5)
    pairs = pairs_progress(planned)
    assert pairs.schema == PAIRS
    told = status(planned)
    assert {name: totals(pairs)[name] for name in ("pairs", "slots", "done", "leased")} == {
        name: told[name] for name in ("pairs", "slots", "done", "leased")
    }
    assert totals(pairs)["open"] == 36 - 5 - 1
    for name, times in (("prompt", 1), ("config", 2), ("response", 2)):
        by = progress_by(pairs, name)
        assert by[name].is_sorted()
        for count in ("slots", "done", "leased", "open", "pairs"):
            assert by[count].sum() == times * totals(pairs)[count], (name, count)


def test_a_response_comes_with_its_config_and_prompt(planned) -> None:
    pairs = pairs_progress(planned)
    told = {(row["response"], row["config"], row["prompt"]) for row in progress_by(pairs, "response").to_dicts()}
    of_pairs = {
        (row[f"response_{side}"], row[f"config_{side}"], row["prompt"]) for row in pairs.to_dicts() for side in "ab"
    }
    assert told == of_pairs


def test_void_pairs_have_no_open_slot_and_excluded_votes_are_open_again(planned, clock, rng) -> None:
    some_votes(planned, clock, rng, 5)
    exclude(planned, "rater", "rater-0", "me", "why", clock())
    assert totals(pairs_progress(planned))["done"] == 4
    withdraw(planned, "r-0-0", "me", "why", clock())
    pairs = pairs_progress(planned)
    void = pairs.filter(pl.col("state") == "void")
    assert (void.height, void["open"].sum()) == (3, 0)
    assert totals(pairs)["slots"] == 30


def test_the_rest_takes_what_it_takes_at_the_present_rate(planned, clock, rng) -> None:
    some_votes(planned, clock, rng, 3)
    clock.wind(hours=2)
    some_votes(planned, clock, rng, 1)
    hour, day = paces(planned, 32, clock())
    assert (hour.votes, hour.left_h) == (1, 32.0)
    assert (day.votes, day.left_h) == (4, 192.0)
    clock.wind(days=2)
    assert [p.left_h for p in paces(planned, 32, clock())] == [None, None]


def test_raters_with_what_they_did(planned, clock, rng) -> None:
    some_votes(planned, clock, rng, 2)
    enrol(planned, "panel", "idle", clock(), name="idle")
    exclude(planned, "rater", "rater-1", "me", "why", clock())
    rows = {row["rater"]: row for row in raters_progress(planned).iter_rows(named=True)}
    assert [rows[name]["answers"] for name in ("idle", "rater-0", "rater-1", "rater-2")] == [0, 2, 2, 0]
    assert [rows[name]["done"] for name in ("idle", "rater-0", "rater-1", "rater-2")] == [0, 1, 0, 0]
    assert [rows[name]["excluded_by"] for name in ("rater-0", "rater-1")] == [None, "me"]
    assert rows["rater-0"]["last_at"] == clock()
    assert rows["rater-2"]["leased"] == 1


def test_an_empty_database_has_empty_tables(ratings, clock) -> None:
    assert totals(pairs_progress(ratings))["slots"] == 0
    assert progress_by(pairs_progress(ratings), "config").is_empty()
    assert raters_progress(ratings).is_empty()
    invite(ratings, clock(), label="nobody came")
    assert invitations_use(ratings).select("label", "sessions", "raters", "done").rows() == [("nobody came", 0, 0, 0)]


def test_one_prompts_pairs_are_those_of_the_whole(planned, clock, rng) -> None:
    some_votes(planned, clock, rng, 5)
    whole = pairs_progress(planned)
    assert pairs_progress(planned, "p1").equals(whole.filter(prompt="p1"))
    assert pairs_progress(planned, "none").is_empty()
    record = prompt_record(planned, "p1")
    assert record is not None
    assert record.responses["slots"].sum() == 2 * whole.filter(prompt="p1")["slots"].sum()
    assert record.responses.select("config", "response").rows() == [(f"m{k}|v|none", f"r-1-{k}") for k in range(4)]
    assert prompt_record(planned, "none") is None
