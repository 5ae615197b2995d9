"""Handing out: k votes a pair, order by slot, caps, leases, late and double votes, alone and by sixteen at once."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import IntegrityError

from s2s_assets.ratings import (
    Handout,
    RatingsStore,
    enrol,
    exclude,
    expire_leases,
    heartbeat,
    media_blob,
    next_assignment,
    restore,
    status,
    submit,
    upsert_tasks,
    withdraw,
)
from s2s_assets.ratings.schema import answer, assignment, pair, slot
from s2s_assets.study import RatingsError


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.fixture
def ann(planned: RatingsStore, clock):
    return enrol(planned, "panel", "ann", clock())


@pytest.fixture
def ben(planned: RatingsStore, clock):
    return enrol(planned, "panel", "ben", clock())


def one_pair(ratings: RatingsStore, plan_of, media_of, slots: int = 1) -> None:
    plan = plan_of(prompts=1, configs=2, slots=slots)
    upsert_tasks(ratings, plan, media_of(plan))


def test_a_task_tells_what_is_heard_by_opaque_names(planned, ann, clock, rng) -> None:
    task = next_assignment(planned, ann, "s", rng, clock)
    heard = {role: media_blob(planned, token) for role, token in task.tokens.items()}
    order = (task.response_a, task.response_b) if task.first == "a" else (task.response_b, task.response_a)
    assert heard == {"prompt": f"{task.prompt}.flac", "first": f"{order[0]}.flac", "second": f"{order[1]}.flac"}
    assert not any(word in token for token in task.tokens.values() for word in (task.config_a, task.response_a))
    assert media_blob(planned, "guessed") is None


def test_asking_again_gives_the_task_under_way(planned, ann, clock, rng) -> None:
    task = next_assignment(planned, ann, "s", rng, clock)
    assert next_assignment(planned, ann, "other", rng, clock) == task
    assert status(planned)["leased"] == 1


def test_every_slot_gets_one_vote_in_its_own_order(planned, clock, vote, plan) -> None:
    assert vote(planned, clock) == 36
    query = select(pair.c.pair, slot.c.slot, answer.c.first).select_from(
        answer.join(assignment, assignment.c.id == answer.c.assignment_id)
        .join(slot, (slot.c.pair_id == assignment.c.pair_id) & (slot.c.slot == assignment.c.slot))
        .join(pair, pair.c.id == slot.c.pair_id)
    )
    with planned.reading() as connection:
        voted = sorted(tuple(row) for row in connection.execute(query))
    assert voted == sorted(plan.select("pair", "slot", "first").iter_rows())


def test_scores_are_signed_to_config_a(planned, clock, ann, rng) -> None:
    for _ in range(3):
        task = next_assignment(planned, ann, "s", rng, clock)
        submit(planned, task.nonce, {"overall": 2}, clock)
    with planned.reading() as connection:
        rows = connection.execute(select(answer.c.first, answer.c.screen_value, answer.c.score)).all()
    assert {(first, value, score) for first, value, score in rows} <= {("a", 2, -2), ("b", 2, 2)}


def test_a_rater_meets_no_prompt_twice_in_a_session_nor_thrice_in_all(planned, clock, ann, rng) -> None:
    heard = []
    for session in ("one", "two", "three"):
        for _ in range(20):
            task = next_assignment(planned, ann, session, rng, clock)
            if task is None:
                break
            heard.append((session, task.prompt, task.pair))
            submit(planned, task.nonce, {"overall": 0}, clock)
    assert Counter((session, prompt) for session, prompt, _ in heard).most_common(1)[0][1] == 1
    assert Counter(prompt for _, prompt, _ in heard) == {"p0": 2, "p1": 2, "p2": 2}
    assert len({p for *_, p in heard}) == len(heard)


def test_a_session_ends_at_its_cap(planned, clock, ann, rng) -> None:
    rules = Handout(tasks_per_session=2)
    for _ in range(2):
        submit(planned, next_assignment(planned, ann, "s", rng, clock, rules).nonce, {"overall": 0}, clock)
    assert next_assignment(planned, ann, "s", rng, clock, rules) is None
    assert next_assignment(planned, ann, "t", rng, clock, rules) is not None


def test_configs_met_least_come_next(planned, clock, ann, rng) -> None:
    met: Counter[str] = Counter()
    for _ in range(2):
        task = next_assignment(planned, ann, "s", rng, clock)
        met.update([task.config_a, task.config_b])
        submit(planned, task.nonce, {"overall": 0}, clock)
    assert len(met) == 4


def test_pairs_with_fewer_votes_come_first(ratings, plan_of, media_of, clock, rng) -> None:
    plan = plan_of(prompts=4, configs=2)
    upsert_tasks(ratings, plan, media_of(plan))
    for i in range(4):
        who = enrol(ratings, "panel", str(i), clock())
        submit(ratings, next_assignment(ratings, who, "s", rng, clock).nonce, {"overall": 0}, clock)
    with ratings.reading() as connection:
        assert connection.execute(select(pair.c.taken)).scalars().all() == [1, 1, 1, 1]


def test_an_excluded_rater_gets_nothing_until_restored(planned, clock, ann, rng) -> None:
    exclude(planned, "rater", ann.name, "ada", "clicks through", clock())
    assert next_assignment(planned, ann, "s", rng, clock) is None
    restore(planned, "rater", ann.name, "ada", "a mistake", clock())
    assert next_assignment(planned, ann, "s", rng, clock) is not None


def test_void_pairs_are_not_handed_out(ratings, plan_of, media_of, clock, rng) -> None:
    one_pair(ratings, plan_of, media_of)
    withdraw(ratings, "r-0-0", "ada", "silent", clock())
    ann = enrol(ratings, "panel", "ann", clock())
    assert next_assignment(ratings, ann, "s", rng, clock) is None
    restore(ratings, "response", "r-0-0", "ada", "was fine", clock())
    assert next_assignment(ratings, ann, "s", rng, clock) is not None


def test_a_lease_that_ran_out_goes_to_another(ratings, plan_of, media_of, clock, rng) -> None:
    one_pair(ratings, plan_of, media_of)
    ann, ben = (enrol(ratings, "panel", name, clock()) for name in ("ann", "ben"))
    left = next_assignment(ratings, ann, "s", rng, clock)
    assert (left.expires_at - left.leased_at).total_seconds() == 600
    clock.wind(seconds=599)
    assert next_assignment(ratings, ben, "s", rng, clock) is None
    clock.wind(seconds=2)
    taken = next_assignment(ratings, ben, "s", rng, clock)
    assert (taken.pair, taken.slot, taken.first) == (left.pair, left.slot, left.first)
    assert next_assignment(ratings, ann, "s", rng, clock) is None


def test_long_audio_and_heartbeats_make_longer_leases(ratings, plan_of, media_of, clock, rng) -> None:
    plan = plan_of(prompts=1, configs=2, slots=1)
    upsert_tasks(ratings, plan, media_of(plan, duration_s=60.0))
    task = next_assignment(ratings, enrol(ratings, "panel", "ann", clock()), "s", rng, clock)
    assert (task.expires_at - task.leased_at).total_seconds() == 6 * 180
    clock.wind(seconds=1000)
    assert heartbeat(ratings, task.nonce, clock) == clock().fromtimestamp(clock().timestamp() + 1080, clock().tzinfo)
    clock.wind(seconds=1000)
    assert expire_leases(ratings, clock()) == 0
    clock.wind(seconds=81)
    assert heartbeat(ratings, task.nonce, clock) is None
    assert expire_leases(ratings, clock()) == 1


def test_a_second_submission_changes_nothing(planned, clock, ann, rng) -> None:
    task = next_assignment(planned, ann, "s", rng, clock)
    assert submit(planned, task.nonce, {"overall": 3, "naturalness": 1}, clock) == "done"
    assert submit(planned, task.nonce, {"overall": -3}, clock) == "repeated"
    with planned.reading() as connection:
        assert sorted(connection.execute(select(answer.c.screen_value)).scalars()) == [1, 3]


def test_a_late_vote_counts_only_while_the_slot_is_free(ratings, plan_of, media_of, clock, rng) -> None:
    one_pair(ratings, plan_of, media_of)
    ann, ben, cy = (enrol(ratings, "panel", name, clock()) for name in ("ann", "ben", "cy"))
    first = next_assignment(ratings, ann, "s", rng, clock)
    clock.wind(hours=1)
    second = next_assignment(ratings, ben, "s", rng, clock)
    clock.wind(hours=1)
    assert expire_leases(ratings, clock()) == 1
    assert submit(ratings, second.nonce, {"overall": 1}, clock) == "done"
    assert submit(ratings, first.nonce, {"overall": 2}, clock) == "late"
    assert submit(ratings, first.nonce, {"overall": 2}, clock) == "repeated"
    assert next_assignment(ratings, cy, "s", rng, clock) is None
    assert status(ratings)["done"] == 1


@pytest.mark.parametrize("scores", [{}, {"overall": 4}, {"overall": True}, {"overall": 1.0}])
def test_what_is_no_score_is_refused(planned, clock, ann, rng, scores) -> None:
    task = next_assignment(planned, ann, "s", rng, clock)
    with pytest.raises(RatingsError):
        submit(planned, task.nonce, scores, clock)
    assert submit(planned, task.nonce, {"overall": 0}, clock) == "done"


def test_a_guessed_nonce_is_refused(planned, clock) -> None:
    with pytest.raises(RatingsError, match="nonce"):
        submit(planned, "guess", {"overall": 0}, clock)


def test_the_database_itself_refuses_a_third_vote(planned, clock, ann, ben, rng) -> None:
    one, two = (next_assignment(planned, who, "s", rng, clock) for who in (ann, ben))
    with planned.writing() as connection:
        same = select(assignment.c.pair_id, assignment.c.slot).where(assignment.c.nonce == one.nonce)
        pair_id, number = connection.execute(same).one()
    moved = update(assignment).where(assignment.c.nonce == two.nonce).values(pair_id=pair_id, slot=number)
    with planned.writing() as connection, pytest.raises(IntegrityError):
        connection.execute(moved)


def test_sixteen_raters_at_once_give_exactly_k_votes_a_pair(ratings, plan_of, media_of, clock) -> None:
    plan = plan_of(prompts=8, configs=4)
    upsert_tasks(ratings, plan, media_of(plan))
    outcomes: Counter[str] = Counter()

    def sit(number: int) -> None:
        rng = np.random.default_rng(number)
        who, held = enrol(ratings, "panel", str(number), clock()), None
        for turn in range(60):
            task = next_assignment(ratings, who, f"{number}/{turn}", rng, clock, Handout(prompt_per_rater=9))
            if task is None:
                break
            if rng.random() < 0.15:
                clock.wind(minutes=11)
                held = task
                continue
            outcomes[submit(ratings, task.nonce, {"overall": int(rng.integers(-3, 4))}, clock)] += 1
            if rng.random() < 0.3:
                outcomes[submit(ratings, task.nonce, {"overall": 3}, clock)] += 1
            if held is not None and rng.random() < 0.5:
                outcomes[submit(ratings, held.nonce, {"overall": 1}, clock)] += 1
                held = None

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(sit, range(16)))
    for number in range(16, 40):
        sit(number)
    done = select(func.count()).where(assignment.c.state == "done")
    with ratings.reading() as connection:
        votes = connection.execute(done.add_columns(assignment.c.pair_id).group_by(assignment.c.pair_id)).all()
        states = Counter(connection.execute(select(assignment.c.state)).scalars())
        answered = connection.execute(select(func.count()).select_from(answer)).scalar_one()
        wrong = connection.execute(
            text("SELECT count(*) FROM pair WHERE taken <> (SELECT count(*) FROM assignment a"
                 " WHERE a.pair_id = pair.id AND a.state IN ('leased', 'done'))")
        ).scalar_one()  # fmt: skip
    assert [n for n, _ in votes] == [2] * 48
    assert answered == outcomes["done"] + outcomes["late"] == states["done"] + states["late"]
    assert outcomes["repeated"] > 0
    assert wrong == 0


def test_two_tabs_of_one_rater_hold_one_task(planned, clock, ann) -> None:
    def ask(number: int) -> str:
        return next_assignment(planned, ann, "s", np.random.default_rng(number), clock).nonce

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1


def test_a_bridge_goes_to_raters_who_have_not_had_the_pair(ratings, plan_of, media_of, clock, rng) -> None:
    plan = plan_of(prompts=1, configs=2, slots=1)
    upsert_tasks(ratings, plan, media_of(plan))
    ann, ben = (enrol(ratings, "panel", name, clock()) for name in ("ann", "ben"))
    submit(ratings, next_assignment(ratings, ann, "s", rng, clock).nonce, {"overall": 1}, clock)
    bridge = plan.with_columns(epoch=pl.lit(2, pl.Int64), first=pl.lit("b"), source=pl.lit("bridge"))
    upsert_tasks(ratings, pl.concat([plan, bridge]), media_of(plan))
    assert next_assignment(ratings, ann, "t", rng, clock) is None
    task = next_assignment(ratings, ben, "t", rng, clock)
    assert (task.slot, task.first) == (1, "b")
