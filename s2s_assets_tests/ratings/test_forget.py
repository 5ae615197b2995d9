"""A rater who is forgotten leaves no trace but a name of no meaning and the reason why."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Text, make_url, select

from s2s_assets.ratings import (
    RatingsStore,
    Settled,
    enrol,
    exclude,
    forget,
    invite,
    next_assignment,
    settled_version,
    snapshot,
    status,
)
from s2s_assets.ratings.app_schema import reply, stimulus, task
from s2s_assets.ratings.consents import consent_of
from s2s_assets.ratings.invitations import Claims, invited
from s2s_assets.ratings.schema import answer, exclusion, metadata, pair, rater
from s2s_assets.ratings.sittings import begin
from s2s_assets.storage import open_engine
from s2s_assets.study import RatingsError

WHO, PERSON = "rater-3", "pid-3"


@pytest.fixture
def sat(voted: RatingsStore, clock) -> RatingsStore:
    """The voted study, in which `rater-3` of the panel has also sat in the app, with a remark."""
    found = invited(voted, invite(voted, clock(), "generic"))
    assert found is not None
    sitting, _ = begin(
        voted, found, Claims("app-person", "submission-1"), "en", consent_of("1", "en", ["I agree."]), clock()
    )
    with voted.writing() as connection:
        mine = select(rater.c.id).where(rater.c.name == WHO).scalar_subquery()
        table = metadata.tables["sitting"]
        connection.execute(table.update().where(table.c.id == sitting.id).values(rater_id=mine))
        row = {"sitting_id": sitting.id, "kind": "gold", "position": 1, "nonce": "n", "state": "done", "prompt": "p0"}
        row |= {"first": "r-0-0", "second": "r-0-0", "shown_at": clock(), "comment": "my name is Ada"}
        number = connection.execute(task.insert().values(row).returning(task.c.id)).scalar_one()
        connection.execute(
            reply.insert().values(task_id=number, rubric="overall", value=2, position=0, saved_at=clock())
        )
        heard = {"task_id": number, "role": "prompt", "token": "t", "blob": "p0.flac", "treatment": "plain"}
        heard |= {"duration_s": 5.0, "plays": 1, "coverage": 1.0, "rate": 1.0}
        connection.execute(stimulus.insert().values(heard))
    return voted


def everything(store: RatingsStore) -> set[str]:
    """Every text in every table."""
    with store.reading() as connection:
        columns = [c for table in metadata.tables.values() for c in table.c if isinstance(c.type, Text)]
        return {str(value) for column in columns for value in connection.execute(select(column)).scalars()}


def test_everything_of_the_rater_goes_and_everything_else_stays(sat, clock) -> None:
    before = snapshot(sat, Settled("", clock.wind(minutes=1), 0), []).frame
    mine = before.filter(rater=WHO)
    assert {WHO, PERSON, "my name is Ada"} <= everything(sat)
    done = forget(sat, PERSON, "ada", "asked by mail", clock())
    assert (done.answers, done.tasks, done.sittings) == (mine.height, 1, 1)
    left = everything(sat)
    assert not {WHO, PERSON, "my name is Ada", "submission-1", *mine["rating_id"]} & left
    after = snapshot(sat, Settled("", clock.wind(minutes=1), 0), []).frame
    assert after.equals(before.filter(before["rater"] != WHO))
    with sat.reading() as connection:
        kept = connection.execute(select(*exclusion.c["scope", "target", "author", "reason"])).all()
    assert [tuple(row) for row in kept] == [("rater", done.name, "ada", "asked by mail")]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_sqlites_files_hold_nothing_of_the_rater_while_others_have_them_open(sat, clock, database_url) -> None:
    place = Path(make_url(database_url).database or "")
    other = RatingsStore(open_engine(database_url), sat.study)
    with other.reading() as connection:
        connection.execute(select(rater.c.name)).all()
    written = [file.read_bytes() for file in place.parent.glob(f"{place.name}*")]
    assert any(PERSON.encode() in data for data in written)
    forget(sat, WHO, "ada", "asked", clock())
    left = {file.name: file.read_bytes() for file in place.parent.glob(f"{place.name}*")}
    other.engine.dispose()
    assert left[place.name]
    assert [name for name, data in left.items() if PERSON.encode() in data or WHO.encode() in data] == []


def test_the_slots_are_free_again_and_the_version_moves(sat, clock) -> None:
    def version() -> str:
        found = settled_version(sat, clock.wind(minutes=2), 30, min_new=1000, max_age_s=10**9)
        assert found is not None
        return found.version

    settled_version(sat, clock.wind(minutes=2), 30, 1, 0)
    before, counts = version(), status(sat)
    votes = forget(sat, WHO, "ada", "asked", clock()).answers // 2
    assert version() != before
    assert status(sat)["done"] == counts["done"] - votes
    with sat.reading() as connection:
        taken = dict(connection.execute(select(pair.c.id, pair.c.taken)).tuples().all())
        counted = connection.execute(select(answer.c.pair_id).where(answer.c.rubric == "overall")).scalars().all()
    assert all(taken[number] == counted.count(number) for number in taken)


def test_a_forgotten_rater_can_come_again_as_somebody_new(sat, clock, vote) -> None:
    forget(sat, WHO, "ada", "asked", clock())
    assert vote(sat, clock, rubrics=("naturalness", "overall")) > 0
    counts = status(sat)
    assert counts["done"] == counts["slots"]


def test_earlier_exclusions_of_the_rater_go_too(sat, clock) -> None:
    exclude(sat, "rater", WHO, "bob", "noise", clock())
    done = forget(sat, WHO, "ada", "asked", clock())
    assert not {WHO, "noise"} & everything(sat)
    with pytest.raises(RatingsError, match="no rater has this name or panel's id"):
        forget(sat, done.name, "ada", "again", clock())


def test_who_is_meant_must_be_clear(sat, clock) -> None:
    with pytest.raises(RatingsError, match="no rater"):
        forget(sat, "nobody", "ada", "asked", clock())
    with pytest.raises(RatingsError, match="expected both"):
        forget(sat, WHO, "ada", " ", clock())
    with sat.writing() as connection:
        connection.execute(rater.update().where(rater.c.name == "rater-4").values(external_id=PERSON, provider="other"))
    with pytest.raises(RatingsError, match=r"there are 2 of this name or id: rater-3 \(panel\), rater-4 \(other\)"):
        forget(sat, PERSON, "ada", "asked", clock())


def test_a_lease_under_way_is_given_back(planned, clock) -> None:
    who = enrol(planned, "panel", "pid-busy", clock(), name="busy")
    assert next_assignment(planned, who, "s", np.random.default_rng(1), clock) is not None
    assert status(planned)["leased"] == 1
    assert forget(planned, "busy", "ada", "asked", clock()).answers == 0
    assert status(planned)["leased"] == 0
    clock.now += timedelta(days=1)
    with planned.reading() as connection:
        assert set(connection.execute(select(pair.c.taken)).scalars()) == {0}
