"""The upsert of pairs, slots and media."""

import polars as pl

from s2s_assets.ratings import RatingsStore, rating_tasks_table, restore, status, task_media, upsert_tasks, withdraw


def test_the_upsert_fills_once_and_then_changes_nothing(ratings: RatingsStore, plan, media_of) -> None:
    first = upsert_tasks(ratings, plan, media_of(plan))
    assert first == {
        "pairs": 18, "slots": 36, "new_pairs": 18, "new_slots": 36, "open": 18, "void": 0, "without_audio": 0
    }  # fmt: skip
    tasks = rating_tasks_table(ratings)
    again = upsert_tasks(ratings, plan.sample(fraction=1, shuffle=True, seed=3), media_of(plan))
    assert (again["new_pairs"], again["new_slots"]) == (0, 0)
    assert rating_tasks_table(ratings).equals(tasks)


def test_the_table_of_tasks_names_what_is_heard(planned: RatingsStore) -> None:
    row = rating_tasks_table(planned).filter(pl.col("pair") == "pair-1-0-2").row(0, named=True)
    assert row == {
        "pair": "pair-1-0-2", "prompt": "p1", "config_a": "m0|v|none", "config_b": "m2|v|none", "slots": 2,
        "state": "open", "media_prompt": "p1.flac", "media_a": "r-1-0.flac", "media_b": "r-1-2.flac",
    }  # fmt: skip


def test_a_new_epoch_adds_pairs_and_a_bridge_adds_slots(planned: RatingsStore, plan, plan_of, media_of) -> None:
    new = plan_of(prompts=1, epoch=2, first_prompt=7)
    bridge = plan.filter(pl.col("pair") == "pair-0-0-1").with_columns(
        epoch=pl.lit(2, pl.Int64), source=pl.lit("bridge")
    )
    grown = pl.concat([plan, new, bridge])
    counts = upsert_tasks(planned, grown, media_of(grown))
    assert (counts["new_pairs"], counts["new_slots"]) == (6, 14)
    slots = dict(rating_tasks_table(planned).select("pair", "slots").iter_rows())
    assert slots["pair-0-0-1"] == 4
    assert slots["pair-7-0-1"] == 2


def test_a_withdrawn_response_voids_its_pairs_and_stays_so(planned: RatingsStore, plan, media_of, clock) -> None:
    withdraw(planned, "r-0-1", "ada", "clicks", clock())
    void = set(rating_tasks_table(planned).filter(pl.col("state") == "void")["pair"])
    assert void == {"pair-0-0-1", "pair-0-1-2", "pair-0-1-3"}
    assert upsert_tasks(planned, plan, media_of(plan))["void"] == 3
    assert status(planned)["pairs"] == 15


def test_a_pair_without_audio_waits_and_new_audio_replaces_the_old(ratings: RatingsStore, plan, media_of) -> None:
    heard = media_of(plan)
    counts = upsert_tasks(ratings, plan, heard.filter(pl.col("subject") != "r-0-1"))
    assert (counts["open"], counts["void"], counts["without_audio"]) == (15, 3, 3)
    louder = heard.with_columns(blob=pl.lit("new-") + pl.col("blob"))
    assert upsert_tasks(ratings, plan, louder)["open"] == 18
    assert set(rating_tasks_table(ratings)["media_prompt"]) == {"new-p0.flac", "new-p1.flac", "new-p2.flac"}


def test_task_media_leaves_out_what_was_refused() -> None:
    prompts = pl.DataFrame(
        {"prompt": ["p", "q"], "status": ["ok", "refused"], "audio_blob": ["a", None], "duration_s": [1.0, None]}
    )
    responses = pl.DataFrame({"response_id": ["r"], "status": ["ok"], "media_blob": ["b"], "duration_s": [2.0]})
    assert task_media(prompts, responses).rows() == [("prompt", "p", "a", 1.0), ("response", "r", "b", 2.0)]


def test_a_pair_opens_again_only_when_both_its_responses_may_be_heard(planned: RatingsStore, clock) -> None:
    for response in ("r-0-1", "r-0-2"):
        withdraw(planned, response, "ada", "clicks", clock())
    restore(planned, "response", "r-0-1", "ada", "was the headphones", clock())
    void = set(rating_tasks_table(planned).filter(pl.col("state") == "void")["pair"])
    assert void == {"pair-0-0-2", "pair-0-1-2", "pair-0-2-3"}


def test_restoring_a_response_does_not_open_a_pair_that_has_no_audio(
    ratings: RatingsStore, plan, media_of, clock
) -> None:
    upsert_tasks(ratings, plan, media_of(plan).filter(pl.col("subject") != "r-0-0"))
    withdraw(ratings, "r-0-1", "ada", "clicks", clock())
    restore(ratings, "response", "r-0-1", "ada", "was the headphones", clock())
    void = set(rating_tasks_table(ratings).filter(pl.col("state") == "void")["pair"])
    assert void == {"pair-0-0-1", "pair-0-0-2", "pair-0-0-3"}
