"""Files in and out: idempotent, never re-signed, nothing lost, safe in a spreadsheet."""

import json
import random
import string
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from s2s_assets.ratings import (
    RatingsStore,
    Settled,
    exclude,
    export_ratings,
    import_file,
    import_ratings,
    rater_quality_table,
    read_ratings,
    settled_version,
    snapshot,
    status,
    upsert_tasks,
)
from s2s_assets.ratings.schema import rater
from s2s_assets.storage import guarded, open_engine, unguarded
from s2s_assets.study import RatingsError

HEADER = "prompt,rater,config_a,config_b,score"
FORMS = ["csv", "jsonl", "parquet"]


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite: what is special to a database is tried on both kinds in one test of its own."""
    return f"sqlite:///{tmp_path / 'ratings.sqlite'}"


def given_csv(path: Path, *lines: str, header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def brought(ratings: RatingsStore, path: Path, clock) -> dict:
    return import_file(ratings, path, clock(), at_once=5).to_json()


def table(ratings: RatingsStore, clock, configs=None) -> pl.DataFrame:
    return snapshot(ratings, Settled("", clock(), 0), [], configs).frame


def test_the_same_file_twice_inserts_nothing(ratings, clock, tmp_path) -> None:
    lines = [f"p{i},r{i % 3},m1|v|none,m2|v|none,{i % 7 - 3}" for i in range(30)]
    path = given_csv(tmp_path / "a.csv", *lines)
    assert brought(ratings, path, clock) == {"read": 30, "inserted": 30, "already": 0, "conflicts": 0, "rejected": []}
    before = settled_version(ratings, clock.wind(hours=1), 30, 1, 0)
    assert brought(ratings, path, clock) == {"read": 30, "inserted": 0, "already": 30, "conflicts": 0, "rejected": []}
    assert settled_version(ratings, clock.wind(hours=1), 30, 1, 0) == before


@pytest.mark.postgres
def test_postgres_imports_alike(new_postgres_database, clock, tmp_path, plan, media_of, vote) -> None:
    ratings = RatingsStore(open_engine(new_postgres_database()), "study")
    upsert_tasks(ratings, plan, media_of(plan))
    vote(ratings, clock)
    out = tmp_path / "all.csv"
    exclude(ratings, "rater", "rater-1", "ada", "noise", clock())
    export_ratings(ratings, out, [], clock())
    other = RatingsStore(open_engine(new_postgres_database()), "study")
    upsert_tasks(other, plan, media_of(plan))
    assert [brought(store, out, clock)["inserted"] for store in (ratings, other, other)] == [0, 36, 0]
    assert table(other, clock).equals(table(ratings, clock))
    for store in (ratings, other):
        store.engine.dispose()


def test_a_file_that_grew_adds_only_what_is_new(ratings, clock, tmp_path) -> None:
    lines = ["p,r,m1,m2,1", "p,r,m1,m2,1", "p,r,m1,m2,2"]
    path = given_csv(tmp_path / "a.csv", *lines)
    assert brought(ratings, path, clock)["inserted"] == 3
    given_csv(path, *lines, "p,r,m1,m2,1", "q,r,m1,m2,1")
    assert brought(ratings, path, clock) == {"read": 5, "inserted": 2, "already": 3, "conflicts": 0, "rejected": []}


def test_the_contracts_scores_are_never_signed_again(ratings, clock, tmp_path) -> None:
    path = given_csv(tmp_path / "a.csv", "p,r,m1,m2,3,a", "p,r,m2,m1,-3,b", "q,r,m1,m2,2,", header=f"{HEADER},first")
    brought(ratings, path, clock)
    found = table(ratings, clock).select("config_a", "score", "first", "screen_value").sort("score").rows()
    assert found == [("m2", -3, "b", -3), ("m1", 2, None, None), ("m1", 3, "a", -3)]


def test_a_known_id_with_other_content_is_a_conflict_and_the_first_stays(ratings, clock, tmp_path) -> None:
    header = f"rating_id,{HEADER}"
    brought(ratings, given_csv(tmp_path / "a.csv", "i1,p,r,m1,m2,3", "i2,p,r,m1,m3,1", header=header), clock)
    again = brought(
        ratings,
        given_csv(
            tmp_path / "b.csv", "i1,p,r,m1,m2,-3", "i2,p,r,m1,m3,1", "i3,p,r,m1,m4,0", "i3,p,r,m1,m4,0", header=header
        ),
        clock,
    )
    assert again == {
        "read": 4, "inserted": 1, "already": 2, "conflicts": 1,
        "rejected": [{"row": 2, "reason": "rating_id 'i1' is stored with other content, which counts"}],
    }  # fmt: skip
    assert dict(table(ratings, clock).select("rating_id", "score").iter_rows()) == {"i1": 3, "i2": 1, "i3": 0}


def test_bad_rows_are_named_and_cost_no_other(ratings, clock, tmp_path) -> None:
    path = given_csv(tmp_path / "a.csv", "p,r,m1,m2,9", "p,,m1,m2,1", "p,r,m1,m1,1", "p,r,m1,m2,1")
    done = brought(ratings, path, clock)
    assert (done["read"], done["inserted"]) == (4, 1)
    assert [row["row"] for row in done["rejected"]] == [2, 3, 4]


def test_rows_join_the_plans_pair_where_what_was_heard_is_known(planned, clock, tmp_path) -> None:
    header = f"{HEADER},response_a,response_b"
    path = given_csv(
        tmp_path / "a.csv",
        "p0,r,m0|v|none,m1|v|none,1,r-0-0,r-0-1",
        "p0,r,m1|v|none,m0|v|none,1,r-0-1,r-0-0",
        "p0,r,m0|v|none,m1|v|none,1,,",
        "p1,r,m0|v|none,m1|v|none,1,r-0-0,r-0-1",
        header=header,
    )
    brought(planned, path, clock)
    found = table(planned, clock).sort("source", "pair").select("source", "pair").rows()
    assert found[0] == ("baseline", "pair-0-0-1")
    assert [source for source, _ in found[1:]] == ["imported"] * 3
    assert all(name.startswith("x-") for _, name in found[1:])
    assert status(planned) == {"pairs": 18, "slots": 36, "done": 0, "leased": 0, "raters": 1, "answers": 4}


def test_what_was_asked_for_beyond_the_plan_stays_adaptive(planned, clock, tmp_path, plan, media_of) -> None:
    extra = plan.head(2).with_columns(
        pair=pl.lit("round"), response_a=pl.lit("r-7-0"), response_b=pl.lit("r-7-1"), source=pl.lit("adaptive")
    )
    upsert_tasks(planned, pl.concat([plan, extra]), media_of(pl.concat([plan, extra])))
    path = given_csv(
        tmp_path / "a.csv",
        "p0,r,m0|v|none,m1|v|none,1,r-7-0,r-7-1,",
        "p0,r,m0|v|none,m1|v|none,1,r-0-0,r-0-1,baseline",
        "p9,r,m0|v|none,m1|v|none,1,,,adaptive",
        "p9,s,m0|v|none,m1|v|none,1,,,",
        header=f"{HEADER},response_a,response_b,source",
    )
    brought(planned, path, clock)
    found = table(planned, clock).sort("prompt", "rater", "pair").select("prompt", "rater", "source").rows()
    assert sorted(found) == [
        ("p0", "r", "adaptive"),
        ("p0", "r", "baseline"),
        ("p9", "r", "adaptive"),
        ("p9", "s", "imported"),
    ]


def test_an_imports_pairs_outlive_the_upsert_and_are_never_handed_out(
    planned, clock, tmp_path, plan, media_of, vote
) -> None:
    brought(planned, given_csv(tmp_path / "a.csv", "p0,r,m0,m1,1"), clock)
    assert upsert_tasks(planned, plan, media_of(plan))["pairs"] == 18
    assert vote(planned, clock) == 36
    assert table(planned, clock).filter(pl.col("source") == "imported").height == 1


@pytest.mark.parametrize("form", FORMS)
def test_an_export_comes_back_whole_in_an_empty_database(voted, clock, tmp_path, form) -> None:
    out = tmp_path / f"all.{form}"
    assert export_ratings(voted, out, [], clock()) == 72
    assert brought(voted, out, clock) == {"read": 72, "inserted": 0, "already": 72, "conflicts": 0, "rejected": []}
    other = RatingsStore(open_engine(f"sqlite:///{tmp_path / 'other.sqlite'}"), "study")
    assert brought(other, out, clock)["inserted"] == 72
    same = [c for c in table(voted, clock).columns if c not in ("pair", "source", "heard_s")]
    assert table(other, clock).select(same).equals(table(voted, clock).select(same))
    assert brought(other, out, clock)["inserted"] == 0


@pytest.mark.parametrize("form", FORMS)
def test_where_the_plan_is_known_an_export_comes_back_as_it_was(voted, clock, tmp_path, form, plan, media_of) -> None:
    out = tmp_path / f"all.{form}"
    export_ratings(voted, out, [], clock())
    other = RatingsStore(open_engine(f"sqlite:///{tmp_path / 'other.sqlite'}"), "study")
    upsert_tasks(other, plan, media_of(plan))
    brought(other, out, clock)
    assert table(other, clock).equals(table(voted, clock))
    again = tmp_path / f"again.{form}"
    export_ratings(other, again, [], clock())
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_exclusions_and_marks_travel(voted, clock, tmp_path, form) -> None:
    first = table(voted, clock)["rating_id"][0]
    exclude(voted, "rating", first, "ada", "spoke over it", clock())
    out = tmp_path / f"all.{form}"
    export_ratings(voted, out, [], clock.wind(seconds=1))
    other = RatingsStore(open_engine(f"sqlite:///{tmp_path / 'other.sqlite'}"), "study")
    brought(other, out, clock)
    marked = table(other, clock).filter(pl.col("excluded_by").is_not_null())
    assert marked.select("rating_id", "excluded_by", "excluded_reason").rows() == [(first, "ada", "spoke over it")]


@pytest.mark.parametrize("form", FORMS)
def test_simulated_answers_stay_simulated(ratings, clock, tmp_path, form) -> None:
    path = given_csv(tmp_path / "a.csv", "p,r,m1,m2,1,true", "p,s,m1,m2,1,false", header=f"{HEADER},simulated")
    brought(ratings, path, clock)
    out = tmp_path / f"out.{form}"
    export_ratings(ratings, out, [], clock())
    other = RatingsStore(open_engine(f"sqlite:///{tmp_path / 'other.sqlite'}"), "study")
    brought(other, out, clock)
    assert dict(table(other, clock).select("rater", "simulated").iter_rows()) == {"r": True, "s": False}


def test_rater_and_prompt_attributes_are_kept(ratings, clock, tmp_path) -> None:
    header = f"{HEADER},category,level,acoustic,rater_age"
    brought(ratings, given_csv(tmp_path / "a.csv", "p,r,m1,m2,1,facts,L2,clean,44", header=header), clock)
    assert table(ratings, clock).select("category", "level", "acoustic").rows() == [("facts", "L2", "clean")]
    with ratings.reading() as connection:
        assert connection.execute(select(rater.c.attributes)).scalar_one() == {"rater_age": "44"}


@pytest.mark.postgres
def test_many_may_import_one_file_at_once(new_postgres_database, clock, tmp_path) -> None:
    path = given_csv(tmp_path / "a.csv", *(f"p{i},r{i % 3},m1|v|none,m2|v|none,1" for i in range(200)))
    for url in (f"sqlite:///{tmp_path / 'a.sqlite'}", new_postgres_database()):
        ratings = RatingsStore(open_engine(url), "study")
        with ThreadPoolExecutor(6) as pool:
            done = list(pool.map(lambda _, ratings=ratings: brought(ratings, path, clock), range(6)))
        assert sorted(d["inserted"] for d in done) == [0, 0, 0, 0, 0, 200]
        assert all(d["inserted"] + d["already"] == 200 for d in done)


@pytest.mark.postgres
def test_what_postgres_cannot_hold_is_refused_by_row_on_both(new_postgres_database, clock, tmp_path) -> None:
    row = {"prompt": "p", "rater": "r", "config_a": "m1", "config_b": "m2", "score": 1}
    long = "".join(random.Random(1).choices(string.ascii_letters, k=9000))
    changes: list[dict[str, object]] = [
        {"category": "a\0b"}, {"response_b": "\0"}, {"rater_age": "\0"}, {"excluded_by": "ada", "excluded_reason": "\0"},
        {"rater": long}, {"rating_id": long}, {"response_a": long},
        {"prompt": long}, {"elapsed_ms": 2**31}, {"elapsed_ms": 10**30}, {"elapsed_ms": 9}, {"excluded_by": long},
    ]  # fmt: skip
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(row | change) for change in changes))
    outs = []
    for number, url in enumerate((f"sqlite:///{tmp_path / 'a.sqlite'}", new_postgres_database())):
        store = RatingsStore(open_engine(url), "study")
        told = brought(store, path, clock)
        assert (told["read"], told["inserted"]) == (12, 5)
        assert [r["row"] for r in told["rejected"]] == [1, 2, 3, 4, 5, 6, 7]
        assert brought(store, path, clock)["already"] == 5
        outs.append(tmp_path / f"{number}.jsonl")
        export_ratings(store, outs[-1], [], clock())
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_typed_columns_of_parquet_arrive_as_text_or_numbers(ratings, clock, tmp_path) -> None:
    path = tmp_path / "a.parquet"
    columns = {"prompt": "p", "config_a": "m1", "config_b": "m2", "score": 1, "excluded_by": True, "source": [[1]] * 2}
    born = datetime(1990, 1, 2)  # noqa: DTZ001 - a column without time zones
    attributes = {"rater": ["r1", "r2"], "rater_age": [44.0, float("nan")], "rater_born": born, "rater_left": False}
    pl.DataFrame(columns | attributes).write_parquet(path)
    assert brought(ratings, path, clock)["inserted"] == 2
    with ratings.reading() as connection:
        first, second = connection.execute(select(rater.c.attributes).order_by(rater.c.name)).scalars()
    assert first == {"rater_age": 44.0, "rater_born": "1990-01-02 00:00:00", "rater_left": False}
    assert "rater_age" not in second
    assert set(table(ratings, clock)["excluded_by"]) == {"true"}


def test_answers_settle_by_their_own_time_or_the_imports(ratings, clock, tmp_path) -> None:
    times = [clock() - timedelta(days=3), clock() + timedelta(days=900), None]
    rows = [f"p{i},r,m1,m2,1,{'' if t is None else t.isoformat()}" for i, t in enumerate(times)]
    brought(ratings, given_csv(tmp_path / "a.csv", *rows, header=f"{HEADER},submitted_at"), clock)
    assert settled_version(ratings, clock(), 30, 1, 0).answers == 1
    assert settled_version(ratings, clock.wind(seconds=30), 30, 1, 0).answers == 3
    assert set(table(ratings, clock)["submitted_at"]) == set(times)


def test_configs_that_the_study_lacks_are_marked_and_kept(ratings, clock, tmp_path) -> None:
    brought(ratings, given_csv(tmp_path / "a.csv", "p,r,m1|v|none,gone,1", "p,r,m1|v|none,m2|v|none,1"), clock)
    marked = table(ratings, clock, ["m1|v|none", "m2|v|none"]).filter(pl.col("excluded_by").is_not_null())
    assert marked.select("config_b", "excluded_by", "excluded_reason").rows() == [
        ("gone", "unknown_config", "the study has no config gone")
    ]


def test_foreign_names_arrive_as_they_are(ratings, clock, tmp_path) -> None:
    names = ["=cmd|' /C calc'!A0", "'=x", "مقيّم", "🙂", "-3", "a,b", 'say "so"', "+1"]
    path = tmp_path / "a.jsonl"
    rows = [{"prompt": "p", "rater": n, "config_a": "m1", "config_b": "m2", "score": -3} for n in names]
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    brought(ratings, path, clock)
    out = tmp_path / "out.csv"
    export_ratings(ratings, out, [], clock())
    text = out.read_text(encoding="utf-8")
    assert "'=cmd|" in text
    assert ",-3," in text
    assert "'-3," in text
    other = RatingsStore(open_engine(f"sqlite:///{tmp_path / 'other.sqlite'}"), "study")
    assert brought(other, out, clock)["inserted"] == len(names)
    assert set(table(other, clock)["rater"]) == set(names)


def test_an_unknown_form_is_refused(ratings, clock, tmp_path) -> None:
    with pytest.raises(RatingsError, match=r"\.xlsx.*expected a name that ends in \.csv"):
        export_ratings(ratings, tmp_path / "a.xlsx", [], clock())
    assert list(tmp_path.glob("*.xlsx*")) == []


def test_imported_answers_are_measured_like_any(ratings, clock, tmp_path) -> None:
    lines = [f"p{i},r{r},m1|v|none,m2|v|none,{i % 7 - 3}" for i in range(12) for r in range(2)]
    brought(ratings, given_csv(tmp_path / "a.csv", *lines), clock)
    quality = rater_quality_table(table(ratings, clock))
    alpha = quality.filter(pl.col("scope") == "rubric", pl.col("measure") == "alpha")
    assert alpha["value"].to_list() == [pytest.approx(1.0)]


@given(st.lists(st.text(alphabet="'=+-@x\t＝\n", max_size=5), max_size=8))
def test_a_guard_can_always_be_taken_away(texts: list[str]) -> None:
    frame = pl.DataFrame({"text": texts, "n": [-1] * len(texts)}, schema={"text": pl.String, "n": pl.Int64})
    safe = guarded(frame)
    assert unguarded(safe).equals(frame)
    assert not any(t.startswith(tuple("=+-@\t\n＝")) for t in safe["text"])


ROWS = st.lists(
    st.tuples(st.sampled_from("pq"), st.sampled_from("rs"), st.integers(-3, 3), st.sampled_from([None, "a", "b"])),
    min_size=1,
    max_size=12,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS)
def test_any_file_arrives_row_for_row_and_only_once(tmp_path_factory, rows) -> None:
    folder = tmp_path_factory.mktemp("any")
    lines = [f"{p},{r},m1,m2,{s},{f or ''}" for p, r, s, f in rows]
    path = given_csv(folder / "a.csv", *lines, header=f"{HEADER},first")
    store = RatingsStore(open_engine(f"sqlite:///{folder / 'a.sqlite'}"), "study")
    now = pl.datetime(2026, 1, 1, time_zone="UTC")
    when = pl.select(now).item()
    assert import_ratings(store, read_ratings(path), when).inserted == len(rows)
    assert import_ratings(store, read_ratings(path), when).inserted == 0
    found = snapshot(store, Settled("", when, 0), []).frame.select("prompt", "rater", "score", "first").rows()
    assert sorted(found, key=str) == sorted([(p, r, s, f) for p, r, s, f in rows], key=str)
    in_parts = RatingsStore(open_engine(f"sqlite:///{folder / 'b.sqlite'}"), "study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("s2s_assets.ratings.transfer._CHUNK", 2)
        assert import_file(in_parts, path, when, at_once=3).inserted == len(rows)
    assert import_file(in_parts, path, when).already == len(rows)
    same = [snapshot(one, Settled("", when, 0), []).frame for one in (store, in_parts)]
    assert same[0].equals(same[1])


def test_a_file_that_turns_out_unreadable_leaves_nothing_behind(ratings, clock, tmp_path) -> None:
    path = given_csv(tmp_path / "a.csv", *(f"p{i},r,m1,m2,1" for i in range(40)), 'p,r,"m1,m2,1', "p,r,m1,m2,1")
    with pytest.raises(RatingsError, match="line 42: a quotation mark"):
        import_file(ratings, path, clock(), at_once=10)
    labels = given_csv(tmp_path / "b.csv", *(f"p{i},r,m1,m2,left" for i in range(40)), "p,r,m1,m2,both")
    with pytest.raises(RatingsError, match="row 42: score label 'both'"):
        import_file(ratings, labels, clock(), scores={"left": 1}, at_once=10)
    assert status(ratings)["answers"] == status(ratings)["raters"] == 0
