"""The engine of the ratings database: SQLite on one machine, Postgres for many.

SQLite as SQLAlchemy's documentation has it for correct transactions: the driver's own transaction handling is switched
off and `BEGIN IMMEDIATE` is sent instead, so that a transaction holds the write lock from its start and never fails
half-way for want of it. Transactions that only read may go beside one another and beside a writer: see `reading`.
"""

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from s2s_assets.study import InputError

_BUSY_TIMEOUT_MS = 30_000
_POOL = 20
_TRY_EVERY_S = 0.01
_POSTGRES = {"postgres", "postgresql", "postgresql+psycopg2"}
_SQLITE = {"sqlite", "sqlite+pysqlite"}
_BEGIN = "s2s_sqlite_begin"


def open_engine(url: str) -> Engine:
    """An engine for `sqlite:///PATH`, `postgresql://…` or `postgresql+psycopg2://…` (both mean psycopg2).

    The folder of a SQLite file is made where it is missing. No connection is opened yet.

    Raises:
        InputError: a URL of no such form, or a SQLite file's folder that cannot be made.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # without the cause: its message quotes the URL, password and all
        raise InputError("S2S_DATABASE_URL: not a database URL; expected sqlite:///PATH or postgresql://…") from None
    if parsed.drivername in _POSTGRES:
        return _postgres(parsed)
    if parsed.drivername in _SQLITE:
        return _sqlite(parsed)
    raise InputError(f"S2S_DATABASE_URL: {parsed.drivername!r}: expected sqlite:///PATH or postgresql://…")


def reading(engine: Engine) -> Engine:
    """The same engine for transactions that only read: each sees the database as it was when it began, and blocks nobody."""
    if engine.dialect.name == "postgresql":
        return engine.execution_options(isolation_level="REPEATABLE READ")
    return engine.execution_options(**{_BEGIN: "BEGIN"})


def _postgres(url: URL) -> Engine:
    return create_engine(
        url.set(drivername="postgresql+psycopg2"),
        pool_pre_ping=True,
        # a crowd comes and goes: connections beyond the pool's size would be made anew each time
        pool_size=_POOL,
        connect_args={"connect_timeout": 10, "options": "-c timezone=UTC"},
    )


def settle_deletions(engine: Engine) -> None:
    """Empty SQLite's write-ahead log into its file, so that what was deleted stands in neither; elsewhere nothing.

    Where somebody reads for longer than a writer waits, the log is emptied when the last connection closes.
    """
    if engine.dialect.name != "sqlite":
        return
    connection = engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def _sqlite(url: URL) -> Engine:
    if url.database and url.database != ":memory:":
        _make_folder(Path(url.database).parent)
    engine = create_engine(url, connect_args={"timeout": _BUSY_TIMEOUT_MS / 1000})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: no folder for the ratings database: {error.strerror}") from error


def _prepare(connection: Any, _record: Any) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
    _write_ahead(cursor)
    for pragma in (
        # an answer that was confirmed to a rater survives a power loss
        "synchronous = FULL",
        "foreign_keys = ON",
        # what somebody asked to have deleted is overwritten, not only let go
        "secure_delete = ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """Switch the file to WAL, once and for good, waiting for others: for this one lock SQLite itself does not wait."""
    until = time.monotonic() + _BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        else:
            return
        time.sleep(_TRY_EVERY_S)


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN IMMEDIATE"))
