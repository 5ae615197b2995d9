"""Opening a ratings database: migrated, this study's, whoever opens it and however many at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, event, inspect, select, text

from s2s_assets.ratings import RatingsStore, enrol, invitations, migrations, status
from s2s_assets.ratings.schema import UtcTime, answer, metadata, rater
from s2s_assets.storage import open_engine
from s2s_assets.study import IdentityError

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def test_an_opened_database_has_the_tables_of_the_schema(engine: Engine) -> None:
    RatingsStore(engine, "study")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert migrations.revision(connection) == migrations.HEAD


def test_the_migrated_tables_hold_every_check_and_partial_index(engine: Engine) -> None:
    RatingsStore(engine, "study")
    found = inspect(engine)
    for table in metadata.sorted_tables:
        named = {c.name for c in table.constraints if c.name} | {i.name for i in table.indexes}
        there = {c["name"] for c in found.get_check_constraints(table.name)}
        there |= {c["name"] for c in found.get_unique_constraints(table.name)}
        there |= {c["name"] for c in found.get_foreign_keys(table.name)}
        there |= {i["name"] for i in found.get_indexes(table.name)}
        assert named <= there, table.name


def test_head_is_the_newest_script() -> None:
    assert ScriptDirectory(migrations.__path__[0]).get_current_head() == migrations.HEAD


def test_many_may_open_a_new_database_at_once(database_url: str) -> None:
    def open_it(_: int) -> str:
        engine = open_engine(database_url)
        opened = RatingsStore(engine, "study").study
        engine.dispose()
        return opened

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(open_it, range(8))) == ["study"] * 8


def test_opening_again_only_reads(engine: Engine) -> None:
    RatingsStore(engine, "study")
    sent: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda _c, _cur, statement, *_: sent.append(statement))
    RatingsStore(engine, "study")
    assert len(sent) < 10
    assert not [s for s in sent if s.lstrip().upper().startswith(("CREATE", "INSERT", "UPDATE", "BEGIN IMMEDIATE"))]


def test_another_study_is_refused_by_name(engine: Engine) -> None:
    RatingsStore(engine, "one")
    with pytest.raises(IdentityError, match=r"holds study 'one', not 'two'.*S2S_DATABASE_URL"):
        RatingsStore(engine, "two")


def test_a_rater_keeps_name_and_row(ratings: RatingsStore, clock) -> None:
    first = enrol(ratings, "panel", "5f3c", clock(), attributes={"native": True})
    again = enrol(ratings, "panel", "5f3c", clock(), name="other")
    assert first == again
    assert "5f3c" not in first.name
    assert enrol(ratings, "panel", "🙂=cmd", clock()).name != first.name
    assert status(ratings) == {"pairs": 0, "slots": 0, "done": 0, "leased": 0, "raters": 2, "answers": 0}


def test_times_come_back_aware_and_naive_ones_are_refused(ratings: RatingsStore, clock) -> None:
    enrol(ratings, "panel", "x", clock())
    with ratings.reading() as connection:
        assert connection.execute(select(rater.c.created_at)).scalar_one() == clock()
    with pytest.raises(ValueError, match="no time zone"):
        UtcTime().process_bind_param(clock().replace(tzinfo=None), ratings.engine.dialect)


def test_a_reader_is_not_kept_out_by_a_writer(ratings: RatingsStore) -> None:
    with ratings.writing() as writer, ratings.reading() as reader:
        writer.execute(text("DELETE FROM settled"))
        assert reader.execute(text("SELECT count(*) FROM settled")).scalar() == 0


def at_revision(engine: Engine, target: str) -> None:
    """A new database as the code of an older revision left it."""
    config = Config()
    config.set_main_option("script_location", migrations.__path__[0])
    config.set_main_option("path_separator", "os")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, target)


def test_a_database_of_the_first_revision_is_brought_up_with_its_answers(engine: Engine) -> None:
    at_revision(engine, "v0001")
    when = {"at": START.isoformat(sep=" ")}
    with engine.begin() as connection:
        assert migrations.revision(connection) == "v0001"
        assert "extra" not in {c["name"] for c in inspect(connection).get_columns("answer")}
        for statement in (
            "INSERT INTO study_identity VALUES (1, 'study', :at)",
            (
                "INSERT INTO rater (id, name, provider, external_id, simulated, attributes, created_at) "
                "VALUES (1, 'r', 'import', 'r', false, '{\"rater_age\": 44}', :at)"
            ),
            (
                "INSERT INTO pair (id, pair, prompt, config_a, config_b, state, slots, taken, shuffle) "
                "VALUES (1, 'x', 'p', 'm1', 'm2', 'outside', 0, 0, 0)"
            ),
            (
                "INSERT INTO answer (id, rating_id, pair_id, rater_id, rubric, score, landed_at, source, simulated, mark) "
                "VALUES (1, 'i', 1, 1, 'overall', 2, :at, 'imported', false, 7)"
            ),
        ):
            connection.execute(text(statement), when if ":at" in statement else {})
    store = RatingsStore(engine, "study")
    with store.reading() as connection:
        assert migrations.revision(connection) == migrations.HEAD
        row = connection.execute(select(*answer.c["rating_id", "score", "mark", "landed_at", "extra"])).one()
        assert tuple(row) == ("i", 2, 7, START, None)
        assert connection.execute(select(rater.c.attributes)).scalar_one() == {"rater_age": 44}


def test_an_invitation_that_was_revoked_before_reasons_were_kept_stays_so(engine: Engine) -> None:
    at_revision(engine, "v0005")
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO invitation (id, secret_hash, panel, work, label, created_at, revoked_at) "
                "VALUES (1, 'h', 'personal', 'pairs', 'old', :at, :at)"
            ),
            {"at": START.isoformat(sep=" ")},
        )
    (old,) = invitations(RatingsStore(engine, "study"))
    assert (old.revoked_at, old.revoked_by, old.revoked_reason) == (START, None, None)
