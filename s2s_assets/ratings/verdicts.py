"""Reviewers' verdicts about recordings: rows with author and time, of which the newest about a file counts.

A verdict names the bytes that were heard, and is refused where the recording has others by now. One that would give a
prompt another take while answers about it are stored is refused too: old answers would stand beside new audio under one
name. Where answers came in after such a verdict, and before `recorded_prompts` has taken it in, it is kept and not taken in.
Nothing is ever changed or deleted; a verdict is taken back by a further row. What the newest verdict about a prompt says
already, of the same recording and by the same reviewer, is not stored again: a button was pressed twice.
"""

from collections.abc import Iterable
from typing import Any

import polars as pl
from sqlalchemy import Connection, func, select

from s2s_assets.prompts import select_takes
from s2s_assets.ratings.app_schema import recording_verdict
from s2s_assets.ratings.schema import answer, pair
from s2s_assets.ratings.store import RatingsStore
from s2s_assets.study import FAULTS, RatingsError, RecordingVerdict

_COLUMNS = recording_verdict.c[*RecordingVerdict.model_fields]


def judge(store: RatingsStore, recorded: pl.DataFrame, verdict: RecordingVerdict) -> None:
    """Store a verdict, unless it repeats the newest one about the prompt.

    Args:
        store: The study's database.
        recorded: The table `recorded_prompts` in force.
        verdict: About one of its recordings.

    Raises:
        RatingsError: there is no such file, nobody signs, a reason is missing or unknown, what is selected cannot be
            used, or the prompt's take would change though it has answers.
    """
    _require_sense(recorded, verdict)
    row = verdict.model_dump() | {"reasons": list(verdict.reasons)}
    with store.importing() as connection:
        _require_unanswered(connection, recorded, verdict)
        if not _is_repeated(connection, verdict):
            connection.execute(recording_verdict.insert().values(row))


def verdicts_in_force(store: RatingsStore) -> tuple[RecordingVerdict, ...]:
    """The newest verdict about each file of each recording, oldest first."""
    with store.reading() as connection:
        return _in_force(connection)


def verdicts_to_take(store: RatingsStore, recorded: pl.DataFrame) -> tuple[RecordingVerdict, ...]:
    """The verdicts in force that do not give a prompt with answers another take, oldest first.

    Of such a prompt the last verdicts are left out, as many as its take needs to stay.

    Args:
        store: The study's database.
        recorded: The table `recorded_prompts` in force.
    """
    with store.reading() as connection:
        return _to_take(connection, recorded)


def verdicts_given(store: RatingsStore, prompt: str | None = None) -> tuple[RecordingVerdict, ...]:
    """Every verdict about a prompt's recordings, or about all, oldest first."""
    query = select(*_COLUMNS).order_by(recording_verdict.c.id)
    with store.reading() as connection:
        rows = connection.execute(query if prompt is None else query.where(recording_verdict.c.prompt == prompt))
        return _verdicts(rows.mappings())


def _is_repeated(connection: Connection, verdict: RecordingVerdict) -> bool:
    """Whether the newest verdict about the prompt says the same, whenever it was given."""
    of_prompt = select(*_COLUMNS).where(recording_verdict.c.prompt == verdict.prompt)
    # the newest of the prompt, not of the file: to select a take again after another one is something new
    rows = connection.execute(of_prompt.order_by(recording_verdict.c.id.desc()).limit(1)).mappings()
    return any(one.model_copy(update={"created_at": verdict.created_at}) == verdict for one in _verdicts(rows))


def _in_force(connection: Connection) -> tuple[RecordingVerdict, ...]:
    of_file = recording_verdict.c["recording", "source_blob"]
    newest = select(func.max(recording_verdict.c.id)).group_by(*of_file)
    query = select(*_COLUMNS).where(recording_verdict.c.id.in_(newest)).order_by(recording_verdict.c.id)
    return _verdicts(connection.execute(query).mappings())


def _to_take(connection: Connection, recorded: pl.DataFrame) -> tuple[RecordingVerdict, ...]:
    in_force = _in_force(connection)
    taken, then = (
        dict(table.filter("selected").select("prompt", "recording").iter_rows())
        for table in (recorded, select_takes(recorded, in_force))
    )
    moved = [prompt for prompt, recording in taken.items() if then.get(prompt) != recording]
    overtaken = [prompt for prompt in moved if _is_answered(connection, prompt)]
    if not overtaken:
        return in_force
    given = list(_verdicts(connection.execute(select(*_COLUMNS).order_by(recording_verdict.c.id)).mappings()))
    for prompt in overtaken:
        of_prompt, mine = recorded.filter(prompt=prompt), [v for v in given if v.prompt == prompt]
        while mine and _taken(select_takes(of_prompt, mine)) != taken[prompt]:
            given.remove(mine.pop())
    newest = {(v.recording, v.source_blob): v for v in given}
    return tuple(v for v in given if v is newest[v.recording, v.source_blob])


def _is_answered(connection: Connection, prompt: str) -> bool:
    query = select(answer.c.id).join(pair, pair.c.id == answer.c.pair_id).where(pair.c.prompt == prompt)
    return connection.execute(query.limit(1)).first() is not None


def _verdicts(rows: Iterable[Any]) -> tuple[RecordingVerdict, ...]:
    return tuple(RecordingVerdict(**row) for row in rows)


def _require_sense(recorded: pl.DataFrame, verdict: RecordingVerdict) -> None:
    about = recorded.filter(prompt=verdict.prompt, recording=verdict.recording, source_blob=verdict.source_blob)
    name = f"recording {verdict.recording!r}"
    if about.is_empty():
        raise RatingsError(f"{name}: there is another file of it by now, or none; load the page again and hear that")
    unknown = sorted(set(verdict.reasons) - FAULTS.keys())
    if unknown:
        raise RatingsError(f"{name}: reason {unknown[0]!r} is none of {', '.join(FAULTS)}")
    row, why = about.row(0, named=True), verdict.why
    if verdict.verdict in ("rerecord", "reject") and not why:
        raise RatingsError(f"{name}: choose or write a reason; whoever records it again goes by it")
    if verdict.verdict == "accept" and row["qa"] == "fail" and not why:
        raise RatingsError(f"{name}: it fails the automated check; write why it is good all the same")
    if verdict.selected and (verdict.verdict != "accept" or row["status"] != "ok"):
        raise RatingsError(f"{name}: only a take that is good, and that could be measured, can be selected")
    if not verdict.author.strip():
        raise RatingsError(f"{name}: expected who judges it; the name is stored with the verdict")


def _require_unanswered(connection: Connection, recorded: pl.DataFrame, verdict: RecordingVerdict) -> None:
    """Refuse what would give an answered prompt another take."""
    of_prompt = recorded.filter(prompt=verdict.prompt)
    taken, then = _taken(of_prompt), _taken(select_takes(of_prompt, [*_to_take(connection, of_prompt), verdict]))
    if taken is not None and then != taken and _is_answered(connection, verdict.prompt):
        raise RatingsError(
            f"prompt {verdict.prompt!r} has answers, and {taken!r} is the take that they are about; with this verdict it "
            f"would be {then or 'none'}. Withdraw its responses, and give a new take a new prompt id"
        )


def _taken(recorded: pl.DataFrame) -> str | None:
    """The selected recording of one script."""
    return next(iter(recorded.filter("selected")["recording"]), None)
