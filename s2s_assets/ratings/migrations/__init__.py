"""The ratings database's migrations, shipped in the package; `migrate` brings any database to the newest.

Every opening calls it. At the newest revision it costs one query. Otherwise the upgrade runs in one transaction that
holds a lock (an advisory one on Postgres, SQLite's write lock), so that processes which open a new database at the same
moment wait for one another and the second finds it done.
"""

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from s2s_assets.storage import reading

HEAD = "v0008"
"""The newest revision."""
_LOCK = 0x5325_7274


def migrate(engine: Engine) -> None:
    """Bring the database to `HEAD`; nothing happens where it is there already."""
    with reading(engine).connect() as connection:
        if revision(connection) == HEAD:
            return
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        if revision(connection) != HEAD:
            _upgrade(connection)


def revision(connection: Connection) -> str | None:
    """The revision that the database is at, None where it has none of our tables."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(connection: Connection) -> None:
    # imported here: an opening at HEAD, which is nearly every one, needs no alembic
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    command.upgrade(config, "head")
