"""Rounds of adaptive pairs in the ratings database: when they open, how they are handed out, what is kept of them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from s2s_assets.pairing import empty_plan
from s2s_assets.ratings import (
    RatingsStore,
    Round,
    all_pairs,
    enrol,
    exclude,
    import_ratings,
    next_assignment,
    open_round,
    pass_over,
    rating_tasks_table,
    read_ratings,
    round_due,
    round_rows,
    rounds,
    settled_version,
    snapshot,
    submit,
    upsert_tasks,
    withdraw,
    withdrawn,
)
from s2s_assets.ratings.leases import give_back
from s2s_assets.ratings.rounds import Votes, count_votes, pairs_due
from s2s_assets.storage import StudyStore, open_store
from s2s_assets.study import Adaptive, Study, Uncertainty

CONFIGS = [f"m{k}|v|none" for k in range(4)]
KNOWN = Uncertainty(
    fit="overall/model/all/all/all",
    entities=("m0", "m1", "m2", "m3"),
    covariance=np.diag([0.9, 0.3, 0.2, 0.1]),
    information=0.2 * (1 - np.eye(4)),
    entity_of={config: config.split("|")[0] for config in CONFIGS},
    versions={"bt_fits": "fits-1", "bootstrap_cis": "draws-1"},
)


def study(**adaptive: object) -> Study:
    models = [
        {"id": f"m{k}", "name": f"M{k}", "family": "f", "provider": "p", "adapter": "cascade", "voices": [{"id": "v"}]}
        for k in range(4)
    ]
    asked = {"adaptive": adaptive} if adaptive else {}
    return Study.model_validate(
        {
            "study": "study",
            "title": "Study",
            "models": models,
            "rubrics": [{"id": "overall", "group": "overall", "question": "Better?"}],
            "pairing": {"slots": 2, **asked},
        }
    )


def cells_of(plan: pl.DataFrame) -> pl.DataFrame:
    """Every response of the plan, and those of a fourth prompt that no pair of it has."""
    rows = {(p, c, r) for end in "ab" for p, c, r in plan.select("prompt", f"config_{end}", f"response_{end}").rows()}
    frame = pl.DataFrame(sorted(rows), schema=["prompt", "config", "response_id"], orient="row")
    return frame.with_columns(category=pl.lit("c"), level=pl.lit("L1"), acoustic=pl.lit("clean"))


@pytest.fixture
def plan(plan_of) -> pl.DataFrame:
    """The tour m0-m1-m2-m3 on 8 prompts: three of six pairs are left on each."""
    tour = ["0-1", "1-2", "2-3"]
    made = plan_of(prompts=8, slots=2)
    return made.filter(pl.col("pair").str.slice(-3).is_in(tour))


@pytest.fixture
def store(tmp_path) -> StudyStore:
    """A store in which a fit was put in force."""
    made = StudyStore(open_store(f"file:{tmp_path / 'store'}"), "study")
    fit_in_force(made, 1)
    return made


def fit_in_force(store: StudyStore, number: int) -> str:
    version = store.write_table("bootstrap_cis", None, pl.DataFrame({"n": [number]})).version
    store.set_head("bootstrap_cis", None, version)
    return version


def known(store: StudyStore) -> Uncertainty:
    return replace(KNOWN, versions={"bootstrap_cis": str(store.head("bootstrap_cis", None))})


def hand_out(ratings: RatingsStore, store: StudyStore, plan: pl.DataFrame, media_of) -> dict[str, int]:
    return upsert_tasks(ratings, all_pairs(plan, round_rows(store)), media_of(plan))


def open_next(ratings: RatingsStore, store: StudyStore, plan: pl.DataFrame, media_of, **adaptive: object):
    due = round_due(store, ratings, study(**adaptive))
    assert isinstance(due, int), due
    made = open_round(store, study(), plan, cells_of(plan), withdrawn(ratings), known(store), due)
    hand_out(ratings, store, plan, media_of)
    return made


def answers(ratings: RatingsStore, clock) -> pl.DataFrame:
    found = settled_version(ratings, clock.wind(hours=1), 1.0, 1, 0.0)
    assert found is not None
    return snapshot(ratings, found, ()).frame


def test_rounds_follow_one_another_and_every_vote_says_where_it_comes_from(
    ratings, store, plan, media_of, vote, clock
) -> None:
    hand_out(ratings, store, plan, media_of)
    assert "0 of the 48 votes of the plan" in str(round_due(store, ratings, study(share=0.2)))
    assert vote(ratings, clock) == 48
    first = open_next(ratings, store, plan, media_of, share=0.2, rounds=2)
    assert (first.round, first.pairs, first.fit) == (1, 3, "overall/model/all/all/all")
    assert first.widest_se_after < first.widest_se == pytest.approx(0.9**0.5)
    assert "had its round" in str(round_due(store, ratings, study(share=0.2, rounds=2)))
    fit_in_force(store, 2)
    assert "0 of the 6 votes of the rounds" in str(round_due(store, ratings, study(share=0.2, rounds=2)))
    assert vote(ratings, clock) == 6
    assert open_next(ratings, store, plan, media_of, share=0.2, rounds=2).pairs == 3
    assert vote(ratings, clock) == 6
    fit_in_force(store, 3)
    assert "no whole pair is left of 20 % of all" in str(round_due(store, ratings, study(share=0.2, rounds=2)))
    given = answers(ratings, clock)
    assert given["source"].value_counts(sort=True).rows() == [("baseline", 48), ("adaptive", 12)]
    asked = round_rows(store)
    assert set(given.filter(pl.col("source") == "adaptive")["pair"]) == set(asked["pair"])
    for _, of_pair in given.filter(pl.col("source") == "adaptive").group_by("pair"):
        assert sorted(of_pair["first"]) == ["a", "b"]
    places = [tuple(row) for row in asked.unique("pair").select("prompt", "config_a", "config_b").rows()]
    assert not {tuple(row) for row in plan.select("prompt", "config_a", "config_b").rows()} & set(places)
    assert all("m0|v|none" in place for place in places), "the one that is known least"


def test_writing_a_round_again_changes_nothing_and_the_plan_is_not_touched(
    ratings, store, plan, media_of, vote, clock
) -> None:
    hand_out(ratings, store, plan, media_of)
    before = rating_tasks_table(ratings)
    vote(ratings, clock)
    made = open_next(ratings, store, plan, media_of, share=0.2, rounds=1)
    assert made.pairs == 6
    after = rating_tasks_table(ratings)
    assert after.filter(pl.col("pair").is_in(before["pair"].implode())).equals(before)
    again = hand_out(ratings, store, plan, media_of)
    assert (again["new_pairs"], again["new_slots"], again["open"]) == (0, 0, 30)
    assert rating_tasks_table(ratings).equals(after)
    assert rounds(store) == (made,)


def test_a_pair_that_the_plan_makes_later_is_the_plans(ratings, store, plan, media_of, vote, clock) -> None:
    hand_out(ratings, store, plan, media_of)
    vote(ratings, clock)
    open_next(ratings, store, plan, media_of, share=0.2, rounds=1)
    mine = round_rows(store).head(1)
    names = {"config_a": "config_b", "config_b": "config_a", "response_a": "response_b", "response_b": "response_a"}
    later = mine.rename(names).select(plan.columns)
    later = later.with_columns(pair=pl.lit("later"), source=pl.lit("healed"), epoch=pl.lit(2, pl.Int64))
    hand_out(ratings, store, pl.concat([plan, later]), media_of)
    states = dict(rating_tasks_table(ratings).select("pair", "state").iter_rows())
    assert (states["later"], states[mine["pair"].item()]) == ("open", "void")
    assert list(states.values()).count("void") == 1


def test_votes_given_elsewhere_about_a_pair_that_the_plan_made_later_are_the_plans(
    ratings, store, plan, media_of, vote, clock, tmp_path
) -> None:
    hand_out(ratings, store, plan, media_of)
    vote(ratings, clock)
    open_next(ratings, store, plan, media_of, share=0.2, rounds=1)
    vote(ratings, clock)
    later = round_rows(store).filter(pl.col("slot") == 0).head(1)
    later = later.with_columns(pair=pl.lit("later"), source=pl.lit("baseline"), epoch=pl.lit(2, pl.Int64))
    hand_out(ratings, store, pl.concat([plan, later.select(plan.columns)]), media_of)
    for k in range(8):
        exclude(ratings, "rater", f"rater-{k}", "ada", "a row of Postgres that changes moves to the end", clock())
    told = later.select("prompt", "config_a", "config_b", "response_a", "response_b", rater=pl.lit("zoe"), score=2)
    told.write_csv(tmp_path / "elsewhere.csv")
    assert import_ratings(ratings, read_ratings(tmp_path / "elsewhere.csv"), clock()).inserted == 1
    [row] = answers(ratings, clock).filter(rater="zoe").to_dicts()
    assert (row["pair"], row["source"]) == ("later", "baseline")


def test_a_withdrawn_response_is_in_no_round_and_voids_the_pairs_it_has(
    ratings, store, plan, media_of, vote, clock
) -> None:
    hand_out(ratings, store, plan, media_of)
    vote(ratings, clock)
    withdraw(ratings, "r-3-0", "ada", "clicks", clock())
    open_next(ratings, store, plan, media_of, share=0.2, rounds=2)
    asked = round_rows(store)
    assert "r-3-0" not in {*asked["response_a"], *asked["response_b"]}
    gone = asked["response_a"].to_list()[0]
    withdraw(ratings, gone, "ada", "clicks", clock())
    hand_out(ratings, store, plan, media_of)
    states = dict(rating_tasks_table(ratings).select("pair", "state").iter_rows())
    of_gone = asked.filter((pl.col("response_a") == gone) | (pl.col("response_b") == gone))["pair"]
    assert {states[pair] for pair in of_gone} == {"void"}
    counted = count_votes(ratings)
    assert counted.adaptive_asked == asked.height, "what was asked for counts, however its pair fares"
    assert counted.adaptive_open == asked.height - len(of_gone)


def test_a_pair_that_is_held_for_technical_problems_is_not_waited_for(
    ratings, store, plan, media_of, vote, clock
) -> None:
    hand_out(ratings, store, plan, media_of)
    vote(ratings, clock)
    open_next(ratings, store, plan, media_of, share=0.2, rounds=2)
    broken: str | None = None
    for name in ("deaf", "mute"):
        who, rng = enrol(ratings, "panel", name, clock()), np.random.default_rng(1)
        task = next_assignment(ratings, who, name, rng, clock)
        while task is not None and task.pair != (broken or task.pair):
            submit(ratings, task.nonce, {"overall": 1}, clock)
            task = next_assignment(ratings, who, name, rng, clock)
        assert task is not None
        broken = task.pair
        with ratings.writing() as connection:
            give_back(connection, task.id, "problem")
    vote(ratings, clock)
    counted = count_votes(ratings)
    assert (counted.adaptive_asked, counted.adaptive_open, counted.adaptive_given) == (6, 4, 4)
    fit_in_force(store, 2)
    assert isinstance(round_due(store, ratings, study(share=0.2, rounds=2)), int)


def test_a_fit_that_is_of_no_use_is_passed_over_once(ratings, store, plan, media_of, vote, clock) -> None:
    hand_out(ratings, store, plan, media_of)
    vote(ratings, clock)
    draws = str(store.head("bootstrap_cis", None))
    made = pass_over(store, draws, "the thresholds have no estimate yet")
    assert pass_over(store, draws, "another run found so, too") == made
    assert (made.pairs, made.note) == (0, "the thresholds have no estimate yet")
    assert round_due(store, ratings, study(share=0.2)) == (
        "the last stored fit had a round without pairs: the thresholds have no estimate yet"
    )
    assert round_rows(store).equals(empty_plan())
    fit_in_force(store, 2)
    assert open_next(ratings, store, plan, media_of, share=0.2).round == 2


class Overtaken(StudyStore):
    """A store in which another run does something just before this one's first blob is put."""

    def __init__(self, store: StudyStore, meanwhile: Callable[[], object]) -> None:
        super().__init__(store.blobs, store.study)
        self.meanwhile: Callable[[], object] | None = meanwhile

    def put_blob(self, data: bytes, suffix: str) -> str:
        do, self.meanwhile = self.meanwhile, None
        if do is not None:
            do()
        return super().put_blob(data, suffix)


def test_two_runs_that_both_found_a_round_due_open_one(ratings, store, plan, media_of, vote, clock) -> None:
    hand_out(ratings, store, plan, media_of)
    vote(ratings, clock)
    due = round_due(store, ratings, study(share=0.2, rounds=2))

    def opened(by: StudyStore) -> Round:
        return open_round(by, study(), plan, cells_of(plan), (), known(store), due)

    other: list[Round] = []
    mine = opened(Overtaken(store, lambda: other.append(opened(store))))
    assert rounds(store) == (mine,) == tuple(other), "side by side"
    assert opened(store) == mine, "one after the other"
    assert rounds(store) == (mine,)
    slots = hand_out(ratings, store, plan, media_of)["slots"]
    assert slots == plan.height + 2 * due


def test_where_no_pair_is_allowed_the_round_says_so(ratings, store, plan_of, media_of, vote, clock) -> None:
    everything = plan_of(prompts=3)
    hand_out(ratings, store, everything, media_of)
    vote(ratings, clock)
    made = open_next(ratings, store, everything, media_of, share=0.2)
    assert (made.pairs, made.note) == (0, "no pair that is allowed would tell anything")


def test_without_the_option_or_a_fit_there_is_no_round(ratings, store, tmp_path) -> None:
    assert "not set" in str(round_due(store, ratings, study()))
    bare = StudyStore(open_store(f"file:{tmp_path / 'bare'}"), "study")
    assert round_due(bare, ratings, study(share=0.2)) == "no fit is stored yet"


@pytest.mark.parametrize(
    ("votes", "due"),
    [
        (Votes(100, 94, 0, 0, 0), "94 of the 100 votes of the plan are in; a round waits for 95 % of them"),
        (Votes(100, 95, 0, 0, 0), 3),
        (Votes(100, 100, 6, 6, 5), "5 of the 6 votes of the rounds so far are in; a round waits for 95 % of them"),
        (Votes(100, 100, 6, 6, 6), 3),
        (Votes(100, 100, 6, 4, 4), 3),
        (Votes(100, 100, 22, 22, 22), 1),
        (
            Votes(0, 0, 0, 0, 0),
            "0 adaptive votes are asked for beside 0 of the plan: no whole pair is left of 20 % of all",
        ),
    ],
    ids=["too-early", "first", "under-way", "second", "void", "rest", "nothing"],
)
def test_when_a_round_is_due(votes: Votes, due: int | str) -> None:
    assert pairs_due(votes, Adaptive(), slots=2) == due


def test_who_is_excluded_gives_the_votes_back_and_the_share_holds(ratings, store, plan, media_of, vote, clock) -> None:
    hand_out(ratings, store, plan, media_of)
    vote(ratings, clock)
    open_next(ratings, store, plan, media_of, share=0.2, rounds=1)
    vote(ratings, clock)
    fit_in_force(store, 2)
    exclude(ratings, "rater", "rater-1", "ada", "asleep", clock())
    counted = count_votes(ratings)
    assert counted.baseline_given < 48
    assert isinstance(round_due(store, ratings, study(share=0.2, after=0.5)), str), (
        "no more than a fifth of what is left"
    )
