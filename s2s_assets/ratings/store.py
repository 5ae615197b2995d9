"""The ratings database of one study, opened: migrated, and known to be this study's."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, Row, Table, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from s2s_assets.ratings.migrations import migrate
from s2s_assets.ratings.schema import answer, assignment, pair, rater, slot, study_identity
from s2s_assets.storage import reading
from s2s_assets.study import IdentityError, StoreError

Clock = Callable[[], datetime]
"""Tells the aware time; simulated raters bring their own."""


def utc_now() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Rater:
    """Someone who answers. `name` is what every table and export shows; it is never the panel's id."""

    id: int
    name: str
    simulated: bool


@contextmanager
def opening() -> Iterator[None]:
    """First words with a database.

    Raises:
        StoreError: it cannot be reached, or is none.
    """
    try:
        yield
    except DBAPIError as error:
        said = str(error.orig).strip().partition("\n")[0]
        raise StoreError(f"the ratings database cannot be opened ({said}): check S2S_DATABASE_URL") from error


class RatingsStore:
    """One study's ratings database.

    Opening it migrates the database and checks, on a new one writes, whose it is.

    Raises:
        IdentityError: the database belongs to another study.
        StoreError: the database cannot be reached, or is none.
    """

    def __init__(self, engine: Engine, study: str) -> None:
        self.engine = engine
        self.study = study
        with opening():
            migrate(engine)
            self._claim()

    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction that may write; on SQLite it holds the write lock from its start."""
        return self.engine.begin()

    @contextmanager
    def importing(self) -> Iterator[Connection]:
        """A writing transaction that takes turns with others of its kind, so that one sees what the last has brought."""
        with self.writing() as connection:
            # SQLite knows no row locks and needs none: there a transaction that writes is alone
            connection.execute(select(study_identity.c.id).with_for_update())
            yield connection

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that only reads and blocks nobody."""
        return reading(self.engine).begin()

    def _claim(self) -> None:
        with self.reading() as connection:
            owner = connection.execute(select(study_identity.c.study)).scalar()
        if owner is None:
            with self.writing() as connection:
                insert_new(connection, study_identity, [{"id": 1, "study": self.study, "created_at": utc_now()}])
                owner = connection.execute(select(study_identity.c.study)).scalar()
        if owner != self.study:
            raise IdentityError(
                f"the ratings database holds study {owner!r}, not {self.study!r}: set S2S_HOME (or "
                "S2S_DATABASE_URL) to this study's own, or S2S_STUDY to the folder of the study it holds"
            )


def insert_new(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert the rows whose unique keys are not taken yet; the others stay as they are."""
    found = list(rows)
    if found:
        connection.execute(_insert_new(connection, table), found)


def insert_one(connection: Connection, table: Table, row: Mapping[str, Any]) -> int | None:
    """Insert a row of a table that numbers its rows; its number, None where a unique key of it is taken."""
    return connection.execute(_insert_new(connection, table).values(row).returning(table.c.id)).scalar()


def _insert_new(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    return insert(table).on_conflict_do_nothing()


def enrol(
    store: RatingsStore,
    provider: str,
    external_id: str,
    now: datetime,
    *,
    name: str | None = None,
    simulated: bool = False,
    attributes: Mapping[str, Any] | None = None,
) -> Rater:
    """The rater that a provider knows by this id, made on the first call.

    Args:
        store: The study's database.
        provider: Who vouches for the id: a panel's name, `import`, `simulated`.
        external_id: The provider's id of this person.
        now: Aware time of the call.
        name: Name in tables and exports; by default a random one that tells nothing of the id.
        simulated: True for a programme that answers in a person's place.
        attributes: What is known about the rater, kept as it is given.
    """
    known = (rater.c.provider == provider) & (rater.c.external_id == external_id)
    row = {
        "name": name or f"r-{secrets.token_hex(6)}",
        "provider": provider,
        "external_id": external_id,
        "simulated": simulated,
        "attributes": dict(attributes or {}),
        "created_at": now,
    }
    with store.writing() as connection:
        insert_new(connection, rater, [row])
        found: Row[Any] = connection.execute(select(rater.c.id, rater.c.name, rater.c.simulated).where(known)).one()
    return Rater(found.id, found.name, found.simulated)


def status(store: RatingsStore) -> dict[str, int]:
    """Counts: `pairs` that are open, their `slots`, how many of these are `done` or `leased`, `raters`, `answers`."""
    live = select(func.count()).select_from(assignment.join(pair, pair.c.id == assignment.c.pair_id))
    is_open = pair.c.state == "open"
    counts = {
        "pairs": select(func.count()).select_from(pair).where(is_open),
        "slots": select(func.count()).select_from(slot.join(pair, pair.c.id == slot.c.pair_id)).where(is_open),
        "done": live.where(is_open, assignment.c.state == "done"),
        "leased": live.where(is_open, assignment.c.state == "leased"),
        "raters": select(func.count()).select_from(rater),
        "answers": select(func.count()).select_from(answer),
    }
    with store.reading() as connection:
        return {name: int(connection.execute(query).scalar_one()) for name, query in counts.items()}


def answered_responses(store: RatingsStore) -> frozenset[str]:
    """Ids of the responses that have an answer: their config's settings and their prompt's take are frozen."""
    answered = pair.c.id.in_(select(answer.c.pair_id).distinct())
    with store.reading() as connection:
        rows = connection.execute(select(pair.c.response_a, pair.c.response_b).where(answered)).all()
    return frozenset(response for row in rows for response in row if response is not None)
