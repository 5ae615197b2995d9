"""Columns that the contract does not name: kept with the answer or the rater, written out again, round and round."""

import csv
import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from s2s_assets.ratings import RatingsStore, export_ratings, import_file, import_ratings, read_ratings
from s2s_assets.ratings.others import EXPORTED
from s2s_assets.ratings.schema import answer, pair, rater
from s2s_assets.ratings.store import utc_now
from s2s_assets.storage import open_engine

FORMS = ["csv", "jsonl", "parquet"]
ROW = {"prompt": "p", "rater": "r", "config_a": "m1", "config_b": "m2", "score": 1}


@pytest.fixture
def empty(tmp_path: Path) -> Callable[[], RatingsStore]:
    """Gives a new database, another at each call."""
    return lambda: fresh(tmp_path)


def fresh(folder: Path) -> RatingsStore:
    number = len(list(folder.glob("*.sqlite")))
    return RatingsStore(open_engine(f"sqlite:///{folder / f'{number}.sqlite'}"), "study")


def brought(store: RatingsStore, path: Path, **options: object) -> int:
    return import_file(store, path, utc_now(), at_once=2, **options).inserted


def written(store: RatingsStore, path: Path) -> Path:
    export_ratings(store, path, [], utc_now())
    return path


def extras(store: RatingsStore) -> list[dict | None]:
    query = select(answer.c.extra).join(pair).order_by(pair.c.prompt, answer.c.id)
    with store.reading() as connection:
        return list(connection.execute(query).scalars())


def attributes(store: RatingsStore) -> dict[str, dict]:
    with store.reading() as connection:
        return dict(connection.execute(select(rater.c.name, rater.c.attributes)).tuples().all())


def given_lines(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(ROW | {"prompt": f"p{k}"} | row) + "\n" for k, row in enumerate(rows)))
    return path


def test_what_a_file_adds_is_kept_by_kind_on_both_databases(ratings, tmp_path) -> None:
    path = given_lines(
        tmp_path / "a.jsonl",
        {"note": "good 🙂", "seconds": 1.5, "plays": 3, "sure": True, "tags": ["a", 1]},
        {"seconds": float("nan"), "plays": None, "note": ""},
        {"seconds": float("inf")},
    )
    assert brought(ratings, path) == 3
    assert extras(ratings) == [
        {"note": "good 🙂", "seconds": 1.5, "plays": 3, "sure": True, "tags": '["a", 1]'}, None, None,
    ]  # fmt: skip
    with ratings.reading() as connection:
        assert connection.execute(select(answer.c.id).where(answer.c.extra.is_(None))).all() != []
    rows = [json.loads(line) for line in written(ratings, tmp_path / "out.jsonl").read_text().splitlines()]
    told = {row["prompt"]: {name: row[name] for name in list(row)[len(EXPORTED) :]} for row in rows}
    assert told["p0"] == {"note": "good 🙂", "plays": 3, "seconds": 1.5, "sure": True, "tags": '["a", 1]'}
    assert set(told["p1"].values()) == {None}


def test_typed_columns_of_parquet_cost_no_answer(empty, tmp_path) -> None:
    path = tmp_path / "a.parquet"
    day = date(2020, 1, 2)
    mine = {
        "nan": [1.5, float("nan")],
        "price": Decimal("1.50"),
        "day": day,
        "turns": [[1, None], []],
        "big": 2**64 - 1,
    }
    bytes_ = {"text": [b"abc", None], "hash": [b"\xff\0a", b"a\0"], "nul": "a\0b"}
    columns = {name: [value] * 2 for name, value in ROW.items()}
    frame = pl.DataFrame(columns | mine | bytes_, schema_overrides={"big": pl.UInt64, "price": pl.Decimal(4, 2)})
    frame.write_parquet(path)
    store = empty()
    assert brought(store, path) == 2
    same = {"price": 1.5, "day": "2020-01-02", "big": 2**64 - 1, "nul": "a\ufffdb"}
    assert extras(store) == [
        same | {"nan": 1.5, "turns": "[1, null]", "text": "abc", "hash": "ff0061"},
        same | {"turns": "[]", "hash": "6100"},
    ]
    for form in FORMS:
        assert brought(empty(), written(store, tmp_path / f"out.{form}")) == 2


def test_a_file_without_other_columns_brings_none(ratings, tmp_path) -> None:
    brought(ratings, given_lines(tmp_path / "a.jsonl", {"first": "a", "simulated": True, "elapsed_ms": 9}))
    assert extras(ratings) == [None]
    assert pl.read_parquet(written(ratings, tmp_path / "out.parquet")).columns == list(EXPORTED)


@pytest.mark.parametrize("form", FORMS)
def test_round_and_round_in_every_form(empty, tmp_path, form) -> None:
    first = empty()
    path = given_lines(
        tmp_path / "a.jsonl",
        {"=note": "=cmd|' /C calc'!A0", "seconds": -1.5, "rater_age": 44, "rater": "r"},
        {"=note": "'quoted', \"twice\"\nin two lines", "seconds": 2.0, "rater_age": 45, "rater": "r"},
        {"note": "مقيّم", "sure": False, "rater": "s", "rater_language": "de"},
    )
    assert brought(first, path) == 3
    out = written(first, tmp_path / f"out.{form}")
    assert brought(first, out) == 0
    second = empty()
    assert [brought(second, out), brought(second, out)] == [3, 0]
    again = written(second, tmp_path / f"again.{form}")
    assert again.read_bytes() == out.read_bytes()
    third = empty()
    assert brought(third, again) == 3
    assert (extras(third), attributes(third)) == (extras(second), attributes(second))
    if form != "csv":
        assert list(map(bool, extras(second))) == [True] * 3
        assert extras(second)[2] == {"note": "مقيّم", "sure": False}


def test_a_spreadsheet_is_guarded_and_numbers_stay_bare(empty, tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("prompt,rater,config_a,config_b,score,=name,shift\np,r,m1,m2,1,@sum,-1.5\nq,r,m1,m2,1,-x,-2e-07\n")
    store = empty()
    brought(store, path)
    assert extras(store) == [{"=name": "@sum", "shift": "-1.5"}, {"=name": "-x", "shift": "-2e-07"}]
    with written(store, tmp_path / "out.csv").open(newline="") as lines:
        cells = {row["prompt"]: (row["'=name"], row["shift"]) for row in csv.DictReader(lines)}
    assert cells == {"p": ("'@sum", "-1.5"), "q": ("'-x", "-2e-07")}


def test_names_never_meet_the_exports_own(empty, tmp_path) -> None:
    mine = {"pair": "mine", "screen_value": 3, "reason": "clear", "rating_id ": "x", " a": 1, "a": 2, "": 0, "b\0\n": 5}
    store = empty()
    brought(store, given_lines(tmp_path / "a.jsonl", mine))
    kept = {"pair": "mine", "screen_value": 3, "reason": "clear", "file_rating_id": "x", "column": 0, "b": 5}
    assert extras(store) == [kept | {"a": 1, "file_a": 2}]
    for form in FORMS:
        other = empty()
        assert brought(other, written(store, tmp_path / f"out.{form}")) == 1
        (found,) = extras(other)
        assert (found["file_pair"], str(found["file_screen_value"])) == ("mine", "3")
        assert found.keys() == {*kept, "a", "file_a", "file_pair", "file_screen_value"} - {"pair", "screen_value"}
        again = written(other, tmp_path / f"again.{form}")
        assert again.read_bytes() == (tmp_path / f"out.{form}").read_bytes()


def test_a_column_that_another_stands_in_for_is_kept_too(empty, tmp_path) -> None:
    path = given_lines(tmp_path / "a.jsonl", {"prompt": "Say hello.", "item": "p7"})
    store = empty()
    brought(store, path, columns={"prompt": "item"})
    assert extras(store) == [{"file_prompt": "Say hello."}]


def test_what_is_said_of_a_rater_stays_with_the_answer_where_it_differs(empty, tmp_path) -> None:
    store = empty()
    ages = [{"rater_age": 44}, {"rater_age": 45}, {"rater_mood": "calm"}]
    brought(store, given_lines(tmp_path / "a.jsonl", *ages))
    assert attributes(store) == {"r": {"rater_age": 44, "rater_mood": "calm"}}
    assert extras(store) == [None, {"rater_age": 45}, None]
    brought(store, given_lines(tmp_path / "b.jsonl", {"prompt": "q", "rater_age": 46, "rater_mood": "calm"}))
    assert attributes(store) == {"r": {"rater_age": 44, "rater_mood": "calm"}}
    assert extras(store)[-1] == {"rater_age": 46}


def test_another_extra_is_no_conflict_and_changes_nothing(empty, tmp_path) -> None:
    store = empty()
    brought(store, given_lines(tmp_path / "a.jsonl", {"rating_id": "i", "note": "one"}))
    path = given_lines(tmp_path / "b.jsonl", {"rating_id": "i", "note": "two"})
    done = import_ratings(store, read_ratings(path), utc_now())
    assert (done.inserted, done.already, done.conflicts) == (0, 1, 0)
    assert extras(store) == [{"note": "one"}]


def test_a_column_of_many_kinds_is_text(empty, tmp_path) -> None:
    store = empty()
    for number, note in enumerate(("x", 1, 10**30, True)):
        brought(store, given_lines(tmp_path / f"{number}.jsonl", {"prompt": f"q{number}", "note": note}))
    out = pl.read_parquet(written(store, tmp_path / "out.parquet")).sort("prompt")
    assert out["note"].to_list() == ["x", "1", str(10**30), "true"]


NAMES = st.text(alphabet="ab'=- _;\té", max_size=4).filter(lambda name: name not in ROW)
VALUES = (
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(alphabet="x'=-1,;\"\r\n\t é", max_size=5)
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=4), min_size=1, max_size=4), st.sampled_from(FORMS))
def test_any_other_columns_come_back(tmp_path_factory, rows, form) -> None:
    folder = tmp_path_factory.mktemp("any")
    first, second = fresh(folder), fresh(folder)
    assert brought(first, given_lines(folder / "a.jsonl", *rows)) == len(rows)
    out = written(first, folder / f"out.{form}")
    assert brought(second, out) == len(rows)
    assert written(second, folder / f"again.{form}").read_bytes() == out.read_bytes()
    for store in (first, second):
        store.engine.dispose()
