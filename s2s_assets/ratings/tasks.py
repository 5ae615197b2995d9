"""From the pairing plan to what raters can be given: pairs, their slots, and what is heard.

The plan only grows, so slots of a pair are numbered in the order of (epoch, slot): a pair that a later epoch asks again
(a bridge) gets further slots, and a rater who has had it is not given it twice. A pair is `open` while it stands in
the plan, prompt and responses all have audio, and no response of it is withdrawn; else it is `void`, and keeps its
answers. Running the upsert again changes nothing.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl
from sqlalchemy import Connection, bindparam, select

from s2s_assets.ratings.exclude import live_targets
from s2s_assets.ratings.schema import media, pair, slot
from s2s_assets.ratings.store import RatingsStore, insert_new
from s2s_assets.study import digest

OUTSIDE = "outside"
"""State of a pair that only imported answers know."""
_SHUFFLE_RANGE = 2**31
_PAIR = ["pair", "prompt", "config_a", "config_b", "response_a", "response_b"]
RATING_TASKS = pl.Schema(
    {
        "pair": pl.String(),
        "prompt": pl.String(),
        "config_a": pl.String(),
        "config_b": pl.String(),
        "slots": pl.Int64(),
        "state": pl.String(),
        "media_prompt": pl.String(),
        "media_a": pl.String(),
        "media_b": pl.String(),
    }
)
"""Columns of `rating_tasks`."""


def task_media(normalized_audio: pl.DataFrame, response_audio: pl.DataFrame) -> pl.DataFrame:
    """What can be heard, one row a prompt or response with audio: `kind`, `subject`, `blob`, `duration_s`.

    Args:
        normalized_audio: The table of that name.
        response_audio: The tables of that name of all configs, concatenated.
    """
    prompts = normalized_audio.filter(pl.col("status") == "ok").select(
        pl.lit("prompt").alias("kind"),
        pl.col("prompt").alias("subject"),
        pl.col("audio_blob").alias("blob"),
        "duration_s",
    )
    responses = response_audio.filter(pl.col("status") == "ok").select(
        pl.lit("response").alias("kind"),
        pl.col("response_id").alias("subject"),
        pl.col("media_blob").alias("blob"),
        "duration_s",
    )
    return pl.concat([prompts, responses])


def upsert_tasks(store: RatingsStore, plan: pl.DataFrame, heard: pl.DataFrame) -> dict[str, int]:
    """Bring pairs, slots and media of the database to the plan.

    Args:
        store: The study's database.
        plan: The pairing plan, one row a slot (docs/tables.md).
        heard: `task_media`'s table.

    Returns:
        `pairs` and `slots` of the plan, `new_pairs` and `new_slots` of these that were not there before, `open` and
        `void` pairs, and `without_audio`: void ones that lack the audio of prompt or response.
    """
    with store.writing() as connection:
        before = _counts(connection)
        _put_media(connection, heard)
        insert_new(connection, pair, _pair_rows(plan))
        _put_slots(connection, plan)
        without_audio = _set_states(connection, set(plan["pair"]), heard)
        after = _counts(connection)
        states = connection.execute(select(pair.c.state).where(pair.c.state != OUTSIDE)).scalars().all()
    return {
        "pairs": plan["pair"].n_unique(),
        "slots": plan.height,
        "new_pairs": after[0] - before[0],
        "new_slots": after[1] - before[1],
        "open": states.count("open"),
        "void": states.count("void"),
        "without_audio": without_audio,
    }


def rating_tasks_table(store: RatingsStore) -> pl.DataFrame:
    """The table `rating_tasks`: one row a pair of the plan, sorted by pair (docs/tables.md)."""
    prompt, a, b = media.alias(), media.alias(), media.alias()
    joined = (
        pair.outerjoin(prompt, (prompt.c.kind == "prompt") & (prompt.c.subject == pair.c.prompt))
        .outerjoin(a, (a.c.kind == "response") & (a.c.subject == pair.c.response_a))
        .outerjoin(b, (b.c.kind == "response") & (b.c.subject == pair.c.response_b))
    )
    columns = [pair.c[name] for name in ("pair", "prompt", "config_a", "config_b", "slots", "state")]
    query = select(*columns, prompt.c.blob, a.c.blob, b.c.blob).select_from(joined).where(pair.c.state != OUTSIDE)
    with store.reading() as connection:
        rows = [tuple(row) for row in connection.execute(query)]
    return pl.DataFrame(rows, schema=RATING_TASKS, orient="row").sort("pair")


def _counts(connection: Connection) -> tuple[int, int]:
    pairs = connection.execute(select(pair.c.id)).all()
    slots = connection.execute(select(slot.c.pair_id)).all()
    return len(pairs), len(slots)


def _put_media(connection: Connection, heard: pl.DataFrame) -> None:
    known = {
        (kind, subject): blob for kind, subject, blob in connection.execute(select(*media.c["kind", "subject", "blob"]))
    }
    changed = [row for row in heard.iter_rows(named=True) if known.get((row["kind"], row["subject"])) != row["blob"]]
    insert_new(connection, media, changed)
    replaced = [
        {"of_kind": r["kind"], "of_subject": r["subject"], "blob": r["blob"], "duration_s": r["duration_s"]}
        for r in changed
        if (r["kind"], r["subject"]) in known
    ]
    if replaced:
        one = (media.c.kind == bindparam("of_kind")) & (media.c.subject == bindparam("of_subject"))
        connection.execute(media.update().where(one), replaced)


def _pair_rows(plan: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for row in plan.select(_PAIR).unique("pair", keep="first", maintain_order=True).iter_rows(named=True):
        # a fixed place in a random order: handing out starts anywhere in it, so raters meet pairs of all prompts
        shuffle = int(digest(row["pair"])[:8], 16) % _SHUFFLE_RANGE
        yield {**row, "state": "void", "slots": 0, "taken": 0, "shuffle": shuffle}


def _put_slots(connection: Connection, plan: pl.DataFrame) -> None:
    ids = dict(connection.execute(select(pair.c.pair, pair.c.id)).tuples().all())
    held = {(row.pair_id, row.slot) for row in connection.execute(select(slot.c.pair_id, slot.c.slot))}
    numbered = plan.sort("pair", "epoch", "slot").with_columns(slot=pl.int_range(pl.len()).over("pair"))
    rows = [
        {"pair_id": ids[row["pair"]], **{name: row[name] for name in ("slot", "epoch", "first", "source")}}
        for row in numbered.iter_rows(named=True)
        if (ids[row["pair"]], row["slot"]) not in held
    ]
    insert_new(connection, slot, rows)
    if rows:
        counts: dict[int, int] = {}
        for pair_id in connection.execute(select(slot.c.pair_id)).scalars():
            counts[pair_id] = counts.get(pair_id, 0) + 1
        touched = sorted({row["pair_id"] for row in rows})
        new = [{"of": pair_id, "slots": counts[pair_id]} for pair_id in touched]
        connection.execute(pair.update().where(pair.c.id == bindparam("of")), new)


def _set_states(connection: Connection, planned: set[str], heard: pl.DataFrame) -> int:
    sounds = set(heard.select("kind", "subject").iter_rows())
    withdrawn = live_targets(connection, "response")
    query = select(pair).where(pair.c.state != OUTSIDE).order_by(pair.c.id).with_for_update(key_share=True)
    changes, without_audio = [], 0
    for row in connection.execute(query):
        responses = (row.response_a, row.response_b)
        silent = ("prompt", row.prompt) not in sounds or any(("response", r) not in sounds for r in responses)
        void = silent or row.pair not in planned or not withdrawn.isdisjoint(responses)
        without_audio += silent
        if row.state != (state := "void" if void else "open"):
            changes.append({"of": row.id, "state": state})
    if changes:
        connection.execute(pair.update().where(pair.c.id == bindparam("of")), changes)
    return without_audio
