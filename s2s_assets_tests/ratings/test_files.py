"""Ratings files in every form, and every row that does not count named."""

import gzip
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s2s_assets.ratings import RatingsFile, read_ratings
from s2s_assets.ratings.files import read_parts
from s2s_assets.study import RatingsError

HEADER = "prompt,rater,config_a,config_b,score"
GOOD = ["p1,r1,x,y,2", "p2,r1,y,z,-1", "p1,r2,z,x,0"]


def read(folder: Path, text: str | bytes, name: str = "ratings.csv", **options: Any) -> RatingsFile:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_ratings(path, **options)


def csv_of(*rows: str, header: str = HEADER) -> str:
    return "\n".join([header, *rows]) + "\n"


def answers(found: RatingsFile) -> list[tuple[Any, ...]]:
    return found.frame.select("prompt", "rater", "config_a", "config_b", "score").rows()


EXPECTED = [("p1", "r1", "x", "y", 2), ("p2", "r1", "y", "z", -1), ("p1", "r2", "z", "x", 0)]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(csv_of(*GOOD).encode(), id="plain"),
        pytest.param(csv_of(*GOOD).encode("utf-8-sig"), id="byte order mark"),
        pytest.param(csv_of(*GOOD).encode("utf-16"), id="utf-16"),
        pytest.param(csv_of(*GOOD).encode("utf-16-le"), id="utf-16 without a mark"),
        pytest.param(csv_of(*GOOD).encode("utf-16-be"), id="utf-16 without a mark, big end first"),
        pytest.param(gzip.compress(csv_of(*GOOD).encode()), id="gzip"),
        pytest.param(csv_of(*GOOD).replace(",", ";").encode(), id="semicolons"),
        pytest.param(csv_of(*GOOD).replace(",", "|").encode(), id="bars"),
        pytest.param(csv_of(*GOOD).replace(",", "\t").encode(), id="tabs"),
        pytest.param(csv_of(*GOOD).replace("\n", "\r\n").encode(), id="crlf"),
        pytest.param(csv_of(*GOOD).replace("\n", "\n\n").encode(), id="blank lines"),
        pytest.param(csv_of(*(row + ",," for row in GOOD)).encode(), id="trailing delimiters"),
        pytest.param(csv_of(*(row.replace("x", '" x "') for row in GOOD)).encode(), id="quoted, spaces around"),
    ],
)
def test_csv_is_recognised(tmp_path: Path, data: bytes) -> None:
    found = read(tmp_path, data)
    assert answers(found) == EXPECTED
    assert (found.rows, found.rejected) == (3, ())
    assert set(found.frame["rubric"]) == {"overall"}


def test_names_outside_utf8_are_read_as_windows_1252(tmp_path: Path) -> None:
    found = read(tmp_path, csv_of("p1,Jürgen,x,y,1").encode("cp1252"))
    assert found.frame["rater"].to_list() == ["Jürgen"]


def test_bytes_that_are_no_text_are_rejected_not_merged(tmp_path: Path) -> None:
    """Windows-1252 has no letter for these two; replaced by one sign they would be one rater."""
    rows = [f"p1,r{chr(code)},x,y,1" for code in (0x81, 0x8D, 0xE9)]
    found = read(tmp_path, csv_of(*rows).encode("latin-1"))
    assert found.frame["rater"].to_list() == ["ré"]
    assert [r.reason for r in found.rejected] == ["rater holds a control character"] * 2


def test_packed_json_lines_are_read(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(dict(zip(HEADER.split(","), row.split(","), strict=True))) for row in GOOD)
    assert answers(read(tmp_path, gzip.compress(lines.encode()), "ratings.jsonl.gz")) == EXPECTED


def test_config_keys_are_no_delimiters(tmp_path: Path) -> None:
    found = read(tmp_path, csv_of("p1,r1,m|v|none,n|v|low,1"))
    assert found.frame["config_a"].to_list() == ["m|v|none"]


def test_jsonl_and_parquet_hold_the_same(tmp_path: Path) -> None:
    from_csv = read(tmp_path, csv_of(*GOOD)).frame
    records = [dict(zip(HEADER.split(","), row, strict=True)) for row in EXPECTED]
    from_jsonl = read(tmp_path, "\n".join(map(json.dumps, records)), "ratings.jsonl").frame
    pl.DataFrame(records).write_parquet(tmp_path / "ratings.parquet")
    from_parquet = read_ratings(tmp_path / "ratings.parquet").frame
    assert from_csv.drop("file_row").equals(from_jsonl.drop("file_row"))
    assert from_csv.drop("file_row").equals(from_parquet.drop("file_row"))
    assert [f["file_row"].to_list() for f in (from_csv, from_jsonl, from_parquet)] == [[2, 3, 4], [1, 2, 3], [1, 2, 3]]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (",r1,x,y,1", "prompt is empty"),
        ("p1, ,x,y,1", "rater is empty"),
        ("p1,r1,,y,1", "config_a is empty"),
        ("p1,r1,x,y,", "score is empty"),
        ('p1,"r\t1",x,y,1', "rater holds a control character"),
        ("p1,r1,x,x,1", "config_a and config_b are both 'x'"),
        ("p1,r1,x,y,4", "score '4'"),
        ("p1,r1,x,y,-3.5", "score '-3.5'"),
        ("p1,r1,x,y,0.5", "score '0.5'"),
        ("p1,r1,x,y,nan", "score 'nan'"),
        ("p1,r1,x,y,inf", "score 'inf'"),
        ("p1,r1,x,y,better", "score 'better'"),
        ("p1,r1,x,y", "4 fields where the header has 5"),
        ("p1,r1,x,y,1,2", "6 fields where the header has 5"),
    ],
)
def test_a_bad_row_is_named_and_the_others_go_on(tmp_path: Path, row: str, reason: str) -> None:
    found = read(tmp_path, csv_of(GOOD[0], row, *GOOD[1:]))
    assert answers(found) == EXPECTED
    assert [r.row for r in found.rejected] == [3]
    assert reason in found.rejected[0].reason
    assert found.rows == 4


def test_whole_numbers_may_be_written_as_floats(tmp_path: Path) -> None:
    assert read(tmp_path, csv_of("p,r,x,y,2.0", "p,r,x,z,+1")).frame["score"].to_list() == [2, 1]


def test_lines_are_those_of_the_file_even_after_a_cell_with_a_line_break(tmp_path: Path) -> None:
    found = read(tmp_path, csv_of('p1,r1,x,y,1,"two\nlines"', "p1,r1,x,x,1,", header=f"{HEADER},note"))
    assert [r.row for r in found.rejected] == [4]
    assert found.frame["note"].to_list() == ["two\nlines"]


def test_times_need_an_offset_and_are_kept_in_utc(tmp_path: Path) -> None:
    text = csv_of(
        "p1,r1,x,y,1,2026-07-01T12:00:00+02:00",
        "p2,r1,x,y,1,2026-07-01T12:00:00Z",
        "p3,r1,x,y,1,",
        "p4,r1,x,y,1,2026-07-01T12:00:00",
        "p5,r1,x,y,1,yesterday",
        header=f"{HEADER},submitted_at",
    )
    found = read(tmp_path, text)
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert found.frame["submitted_at"].to_list() == [noon - timedelta(hours=2), noon, None]
    assert [(r.row, "expected ISO 8601 with an offset" in r.reason) for r in found.rejected] == [(5, True), (6, True)]


def test_parquet_times_are_held_to_the_same(tmp_path: Path) -> None:
    base = dict.fromkeys(("prompt", "rater", "config_a"), "q") | {"config_b": "z", "score": 1}
    aware = datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    pl.DataFrame([base | {"submitted_at": aware}]).write_parquet(tmp_path / "aware.parquet")
    pl.DataFrame([base | {"submitted_at": datetime(2026, 7, 1, 12)}]).write_parquet(tmp_path / "naive.parquet")  # noqa: DTZ001
    assert read_ratings(tmp_path / "aware.parquet").frame["submitted_at"][0] == aware
    assert [r.row for r in read_ratings(tmp_path / "naive.parquet").rejected] == [1]


def test_side_heard_first_is_a_or_b(tmp_path: Path) -> None:
    found = read(tmp_path, csv_of("p1,r1,x,y,1,a", "p2,r1,x,y,1,left", "p3,r1,x,y,1,", header=f"{HEADER},first"))
    assert found.frame["first"].to_list() == ["a", None]
    assert [r.row for r in found.rejected] == [3]


def test_foreign_names_and_labels(tmp_path: Path) -> None:
    text = csv_of("i1,w1,x,y,left", "i2,w1,y,z,tie", header="item,worker,config_a,config_b,score")
    columns, scores = {"rater": "worker", "prompt": "item"}, {"left": 1, "tie": 0, "right": -1}
    found = read(tmp_path, text, columns=columns, scores=scores)
    assert answers(found) == [("i1", "w1", "x", "y", 1), ("i2", "w1", "y", "z", 0)]
    assert "worker" not in found.frame.columns


def test_a_mapped_column_goes_before_one_of_that_name(tmp_path: Path) -> None:
    found = read(tmp_path, csv_of("p1,r1,x,y,1,r9", header=f"{HEADER},who"), columns={"rater": "who"})
    assert found.frame["rater"].to_list() == ["r9"]


def test_an_unknown_label_refuses_the_file_and_names_row_and_value(tmp_path: Path) -> None:
    with pytest.raises(RatingsError, match=r"row 3: score label 'both' is not in --scores"):
        read(tmp_path, csv_of("p,r,x,y,left", "p,r,x,z,both"), scores={"left": 1})


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"", {}, "the file is empty"),
        (b" \n\n", {}, "the file is empty"),
        (csv_of().encode(), {}, "no rows"),
        (b"\x89PNG\0\0", {}, "neither text nor Parquet"),
        (gzip.compress(csv_of(*GOOD).encode(), mtime=0)[:40], {}, "not a readable gzip file"),
        (b"PAR1 broken", {}, "not a readable Parquet file"),
        (b'[{"prompt": 1}]', {}, "give JSON lines"),
        (
            csv_of("p,r,x,y", header="prompt,rater,config_a,config_b").encode(),
            {},
            "no column score; the file has prompt",
        ),
        (csv_of(*GOOD).encode(), {"columns": {"rater": "worker"}}, "no column worker"),
        (csv_of(*GOOD).encode(), {"columns": {"prompt": "rater"}}, r"no column rater \(which is read as prompt\)"),
        (csv_of(*GOOD).encode(), {"columns": {"judge": "rater"}}, "judge is no name"),
        (csv_of("a,b,c,d,1,2", header=f"{HEADER},score").encode(), {}, "column score is there twice"),
        (csv_of(GOOD[0], '"p1,r1,x,y,1', *GOOD).encode(), {}, "line 3: a quotation mark is opened and never closed"),
    ],
)
def test_what_cannot_be_read_at_all_says_why(
    tmp_path: Path, data: bytes, options: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(RatingsError, match=message):
        read(tmp_path, data, **options)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RatingsError, match=r"nothing\.csv: cannot be read"):
        read_ratings(tmp_path / "nothing.csv")


def test_jsonl_rows_that_are_no_objects_are_named(tmp_path: Path) -> None:
    good = json.dumps(dict(zip(HEADER.split(","), EXPECTED[0], strict=True)))
    found = read(tmp_path, f'{good}\n\n{{"prompt": \n[1]\n{good.replace("2}", "true}")}\n', "r.jsonl")
    assert [r.row for r in found.rejected] == [3, 4, 5]
    assert found.rejected[0].reason.startswith("not JSON: ")
    assert "line" not in found.rejected[0].reason  # of a document; the row says where
    assert found.frame.height == 1


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("config_a", ["x", "z"], "list"),
        ("rater", {"id": 1}, "object"),
        ("score", [1], "list"),
        ("level", ["L1"], "list"),
    ],
)
def test_jsonl_rows_with_a_list_in_the_place_of_a_name_are_rejected(
    tmp_path: Path, name: str, value: Any, kind: str
) -> None:
    good = dict(zip(HEADER.split(","), EXPECTED[0], strict=True)) | {"words": ["any", "thing"]}
    found = read(tmp_path, f"{json.dumps(good)}\n{json.dumps({**good, name: value})}\n", "r.jsonl")
    assert [(r.row, r.reason) for r in found.rejected] == [(2, f"{name} is a JSON {kind}: expected text or a number")]
    assert (found.rows, answers(found)) == (2, [EXPECTED[0]])


IDS = f"rating_id,{HEADER}"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            '{"prompt": "\\ud800", "rater": "r", "config_a": "x", "config_b": "y", "score": 1}',
            "half of a surrogate pair",
        ),
        ('{"prompt": ' * 100_000, "nested too deeply"),
        ('{"prompt": "p", "rater": "r", "config_a": "x", "config_b": "y", "score": %s}' % ("9" * 5000), "not JSON"),
    ],
    ids=["surrogate", "nested", "long number"],
)
def test_jsonl_lines_that_hold_no_text_are_named(tmp_path: Path, line: str, reason: str) -> None:
    good = '{"prompt": "\\ud83d\\ude00", "rater": "r", "config_a": "x", "config_b": "y", "score": 1}'
    found = read(tmp_path, f"{good}\n{line}\n", "ratings.jsonl")
    assert answers(found) == [("😀", "r", "x", "y", 1)]
    assert [r.row for r in found.rejected] == [2]
    assert reason in found.rejected[0].reason


def test_times_that_no_calendar_holds_in_utc_are_named(tmp_path: Path) -> None:
    rows = ("p1,r1,x,y,1,0001-01-01T00:00:00+14:00", "p1,r1,x,y,1,9999-12-31T23:59:59-12:00")
    found = read(tmp_path, csv_of(*rows, header=f"{HEADER},submitted_at"))
    assert [(r.row, "expected ISO 8601" in r.reason) for r in found.rejected] == [(2, True), (3, True)]


def test_parquet_columns_hold_text_or_are_refused(tmp_path: Path) -> None:
    names = {"rater": ["r"], "config_a": ["x"], "config_b": ["y"], "score": [1], "extra": [[1, 2]]}
    path = tmp_path / "ratings.parquet"
    pl.DataFrame({"prompt": [b"p"], **names}).write_parquet(path)
    assert answers(read_ratings(path)) == [("p", "r", "x", "y", 1)]
    for wrong in ([["p"]], [{"a": 1}], [b"\xff"], [timedelta(days=1)]):
        pl.DataFrame({"prompt": wrong, **names}).write_parquet(path)
        with pytest.raises(RatingsError, match=r"column prompt holds .*: expected text or numbers"):
            read_ratings(path)


def test_the_number_of_a_row_is_no_column(tmp_path: Path) -> None:
    with pytest.raises(RatingsError, match="no column file_row"):
        read(tmp_path, csv_of(*GOOD), columns={"rater": "file_row"})


def test_wide_files_may_hold_labels(tmp_path: Path) -> None:
    text = csv_of("p1,r1,x,y,left,1", "p2,r1,x,y,tie,2", header="prompt,rater,config_a,config_b,warmth,session")
    found = read(tmp_path, text, layout="wide", scores={"left": 1, "tie": 0})
    assert found.frame.select("rubric", "score", "session").rows() == [("warmth", 1, "1"), ("warmth", 0, "2")]


def test_wide_files_have_no_column_of_one_score(tmp_path: Path) -> None:
    with pytest.raises(RatingsError, match="column score is of a file with one answer a row"):
        read(tmp_path, csv_of("p1,r1,x,y,1,2", header=f"{HEADER},warmth"), layout="wide")


def test_one_id_counts_once(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        csv_of("a,p1,r1,x,y,1", "a,p1,r1,x,y,1", "a,p1,r1,x,y,2", "b,p1,r1,x,y,1", "a,p1,r1,x,y,1", header=IDS),
    )
    assert found.frame["rating_id"].to_list() == ["a", "b"]
    assert (found.rows, found.duplicates, found.conflicts) == (5, 2, 1)
    assert [(r.row, "other content than in row 2" in r.reason) for r in found.rejected] == [(4, True)]
    assert found.summary()["repeats"] == {"identical": 0, "conflicting": 0}


REPEATED = ["p1,r1,x,y,1", "p1,r1,y,x,-1", "p1,r1,x,y,2", "p1,r1,x,y,2", "p1,r2,x,y,1", "p2,r1,x,y,1"]
"""Three repeats of the first row."""
OTHERS = ["p1,r1,y,z,1", "p1,r1,x,z,1"]
"""Of the same rater and prompt, pairs that share an entity with it."""


@pytest.mark.parametrize(("rule", "used"), [("keep", 8), ("once", 5)])
def test_repeats_without_ids_are_counted_in_either_order(tmp_path: Path, rule: str, used: int) -> None:
    found = read(tmp_path, csv_of(*REPEATED, *OTHERS), repeats=rule)
    assert found.frame.height == used
    assert (found.repeats.identical, found.repeats.conflicting) == (2, 1)
    assert found.rejected == ()


def test_repeats_may_be_errors(tmp_path: Path) -> None:
    with pytest.raises(RatingsError, match=r"row 3 repeats .* 2 more"):
        read(tmp_path, csv_of(*REPEATED), repeats="error")
    assert read(tmp_path, csv_of(*GOOD), repeats="error").frame.height == 3


def test_rubrics_do_not_repeat_each_other(tmp_path: Path) -> None:
    found = read(tmp_path, csv_of("p,r,x,y,1,clarity", "p,r,x,y,1,warmth", "p,r,x,z,1,", header=f"{HEADER},rubric"))
    assert found.repeats.identical == 0
    assert [r.reason for r in found.rejected] == [
        "rubric is empty; name a question, such as overall, or leave the whole column out"
    ]


def test_more_than_five_percent_rejected_can_be_refused(tmp_path: Path) -> None:
    rows = [f"p{k},r1,x,y,1" for k in range(19)]
    read(tmp_path, csv_of(*rows, "p,r,x,x,1")).refuse_many_rejected()
    with pytest.raises(RatingsError, match=r"2 of 20 rows rejected.*row 20: config_a and config_b are both"):
        read(tmp_path, csv_of(*rows[:18], "p,r,x,x,1", "p,r,x,x,1")).refuse_many_rejected()


def test_other_columns_are_kept(tmp_path: Path) -> None:
    found = read(tmp_path, csv_of("p1,r1,x,y,1,L1,40", header=f"{HEADER},level,age"))
    assert found.frame.columns == ["file_row", *HEADER.split(","), "rubric", "level", "age"]
    assert found.frame.schema["score"] == pl.Int8


def test_wide_layout_has_a_column_a_rubric(tmp_path: Path) -> None:
    text = csv_of(
        "i1,p1,r1,x,y,1,,34",
        "i2,p2,r1,x,y,-2,3,29",
        header="rating_id,prompt,rater,config_a,config_b,clarity,warmth,age",
    )
    found = read(tmp_path, text, layout="wide")
    assert found.frame.select("rating_id", "rubric", "score").rows() == [
        ("i1/clarity", "clarity", 1),
        ("i2/clarity", "clarity", -2),
        ("i2/warmth", "warmth", 3),
    ]
    assert found.frame["age"].to_list() == ["34", "29", "29"]
    with pytest.raises(RatingsError, match="no column of scores"):
        read(tmp_path, csv_of("p,r,x,y,blue", header="prompt,rater,config_a,config_b,colour"), layout="wide")


def test_arena_layout(tmp_path: Path) -> None:
    text = csv_of(
        "q1,j1,x,y,model_a",
        "q2,j1,x,z,tie (bothbad)",
        "q3,j2,z,y,model_b",
        header="question_id,judge,model_a,model_b,winner",
    )
    found = read(tmp_path, text, layout="lmarena")
    assert answers(found) == [("q1", "j1", "x", "y", 3), ("q2", "j1", "x", "z", 0), ("q3", "j2", "z", "y", -3)]


@given(
    st.lists(
        st.tuples(
            *[st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=5)] * 2,
            st.integers(-3, 3),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_any_names_survive_the_way_through_a_csv(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int]]
) -> None:
    """What is written by a CSV writer is read back, but for space around names; every row is used or rejected."""
    records = [{"prompt": p, "rater": r, "config_a": "x", "config_b": "y", "score": s} for p, r, s in rows]
    path = tmp_path_factory.mktemp("any") / "r.csv"
    pl.DataFrame(records).write_csv(path, quote_style="always")
    found = read_ratings(path)
    assert found.rows == len(rows)
    kept = [(p.strip(), r.strip(), s) for p, r, s in rows if p.strip() and r.strip()]
    assert found.frame.select("prompt", "rater", "score").rows() == kept
    assert len(found.rejected) == len(rows) - len(kept)


def test_a_wide_row_that_repeats_an_id_loses_only_the_answers_that_are_there(tmp_path: Path) -> None:
    text = csv_of(
        "i,p,r,x,y,1,", "i,p,r,x,y,1,2", "i,p,r,x,y,0,2", header="rating_id,prompt,rater,config_a,config_b,q1,q2"
    )
    found = read(tmp_path, text, layout="wide")
    assert found.frame.select("file_row", "rating_id", "score").rows() == [(2, "i/q1", 1), (3, "i/q2", 2)]
    assert (found.duplicates, found.conflicts) == (2, 1)
    assert [(r.row, r.reason) for r in found.rejected] == [
        (4, "rating_id 'i/q1' has other content than in row 2, which counts")
    ]


cells = st.sampled_from(["p1", "p2", "", "x", "y", "1", "-2", "5", "a"])


@given(
    st.lists(st.tuples(*[cells] * 7), min_size=1, max_size=25),
    st.sampled_from(["csv", "jsonl", "parquet"]),
    st.integers(1, 9),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_in_parts_is_the_whole_file(
    tmp_path: Path, rows: list[tuple[str, ...]], form: str, at_once: int
) -> None:
    names = ["rating_id", "prompt", "rater", "config_a", "config_b", "score", "mine"]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    path = tmp_path / f"ratings.{form}"
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[form](path)
    whole, parts = read_ratings(path), list(read_parts(path, at_once=at_once))
    assert len(parts) == -(-len(rows) // at_once)
    assert pl.concat([part.frame for part in parts]).equals(whole.frame)
    assert [r for part in parts for r in part.rejected] == list(whole.rejected)
    sums = [sum(getattr(part, name) for part in parts) for name in ("rows", "duplicates", "conflicts")]
    assert sums == [whole.rows, whole.duplicates, whole.conflicts]
