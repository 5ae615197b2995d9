"""The ratings database's engine, on SQLite and on a real Postgres."""

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import (
    Column,
    DateTime,
    Engine,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError, OperationalError

from s2s_assets.storage import open_engine, reading
from s2s_assets.study import InputError

METADATA = MetaData()
RATERS = Table("raters", METADATA, Column("id", Integer, primary_key=True), Column("answers", Integer, nullable=False))
ANSWERS = Table(
    "answers",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("rater", ForeignKey("raters.id"), nullable=False),
    Column("at", DateTime(timezone=True)),
)


@pytest.fixture
def tables(engine: Engine) -> Engine:
    METADATA.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(RATERS).values(id=1, answers=0))
    return engine


def test_foreign_keys_hold(tables: Engine):
    with pytest.raises(IntegrityError), tables.begin() as connection:
        connection.execute(insert(ANSWERS).values(id=1, rater=99))


def test_a_failed_transaction_leaves_nothing(tables: Engine):
    two_of_one_id = [{"id": 2, "answers": 0}, {"id": 2, "answers": 0}]
    with pytest.raises(IntegrityError), tables.begin() as connection:
        connection.execute(insert(RATERS), two_of_one_id)
    with reading(tables).connect() as connection:
        assert connection.scalar(select(func.count()).select_from(RATERS)) == 1


def test_read_then_write_from_many_threads_loses_nothing(tables: Engine):
    start = threading.Barrier(8)

    def count(_: int) -> None:
        start.wait()
        for _ in range(5):
            with tables.begin() as connection:
                seen = connection.scalar(select(RATERS.c.answers).where(RATERS.c.id == 1).with_for_update())
                connection.execute(update(RATERS).values(answers=seen + 1))

    with ThreadPoolExecutor(8) as workers:
        list(workers.map(count, range(8)))
    with reading(tables).connect() as connection:
        assert connection.scalar(select(RATERS.c.answers)) == 40


def test_a_reader_goes_beside_a_writer(tables: Engine):
    with tables.begin() as writer:
        writer.execute(update(RATERS).values(answers=7))
        with reading(tables).connect() as reader:
            assert reader.scalar(select(RATERS.c.answers)) == 0
    with reading(tables).connect() as reader:
        assert reader.scalar(select(RATERS.c.answers)) == 7


def test_postgres_times_are_utc(tables: Engine):
    if tables.dialect.name == "postgresql":
        with tables.connect() as connection:
            assert connection.scalar(text("SHOW timezone")) == "UTC"
            assert connection.scalar(select(func.now())).tzinfo is not None
    now = datetime.now(UTC)
    with tables.begin() as connection:
        connection.execute(insert(ANSWERS).values(id=1, rater=1, at=now))
        assert connection.scalar(select(ANSWERS.c.at)).replace(tzinfo=UTC) == now


def test_sqlite_is_set_up_for_more_than_one_process(tmp_path: Path):
    engine = open_engine(f"sqlite:///{tmp_path / 'new' / 'folder' / 'ratings.sqlite'}")
    with engine.connect() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "busy_timeout", "foreign_keys", "synchronous")
        }
    assert pragmas == {"journal_mode": "wal", "busy_timeout": 30_000, "foreign_keys": 1, "synchronous": 2}
    engine.dispose()


def test_the_switch_to_wal_waits_for_another_who_holds_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    other = sqlite3.connect(tmp_path / "ratings.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(time, "sleep", lambda _: other.execute("COMMIT"))
    engine = open_engine(f"sqlite:///{tmp_path / 'ratings.sqlite'}")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    assert not other.in_transaction
    engine.dispose()
    other.close()


def test_a_sqlite_transaction_takes_the_write_lock_at_its_start(tmp_path: Path):
    engine = open_engine(f"sqlite:///{tmp_path / 'ratings.sqlite'}")
    METADATA.create_all(engine)
    with engine.connect() as first, reading(engine).connect() as second:
        first.execute(select(RATERS))
        second.exec_driver_sql("PRAGMA busy_timeout = 0")
        with pytest.raises(OperationalError, match="locked"):
            second.execute(insert(RATERS).values(id=1, answers=0))
    engine.dispose()


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg2"])
def test_postgres_means_psycopg2(scheme: str):
    engine = open_engine(f"{scheme}://rater:word@127.0.0.1:1/ratings")
    assert (engine.dialect.name, engine.driver) == ("postgresql", "psycopg2")
    assert engine.url.password == "word"


@pytest.mark.parametrize(
    "url", ["", "no url with a-secret", "mysql://u:a-secret@h/d", "postgresql://u:a-secret@h:port/d"]
)
def test_another_url_is_bad_input_and_its_password_stays_unsaid(url: str):
    with pytest.raises(InputError, match="S2S_DATABASE_URL") as refused:
        open_engine(url)
    assert "a-secret" not in str(refused.value)


def test_a_reading_transaction_sees_one_state(tables: Engine) -> None:
    with reading(tables).begin() as reader:
        before = reader.execute(select(func.count()).select_from(RATERS)).scalar_one()
        with tables.begin() as writer:
            writer.execute(insert(RATERS).values(id=99, answers=0))
        assert reader.execute(select(func.count()).select_from(RATERS)).scalar_one() == before
    with reading(tables).begin() as reader:
        assert reader.execute(select(func.count()).select_from(RATERS)).scalar_one() == before + 1
