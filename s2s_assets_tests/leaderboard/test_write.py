"""Tables as files: equal values in three forms, inert cells, equal bytes."""

import csv
import io
import json
import re
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.leaderboard.write import csv_bytes, json_bytes, safe_name, table_files

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
reals = st.floats(allow_nan=False, allow_infinity=False)
rows = st.lists(st.tuples(texts | st.none(), reals | st.none(), st.integers(-(2**40), 2**40) | st.none()), min_size=1)


def frame_of(values: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(values, schema={"t": pl.String, "x": pl.Float64, "n": pl.Int64}, orient="row")


@given(rows)
def test_the_three_forms_hold_the_same_values(values: list[tuple[Any, ...]]) -> None:
    frame = frame_of(values)
    files = table_files("t", frame)
    assert json.loads(files["t.json"]) == frame.to_dicts()
    assert pl.read_parquet(io.BytesIO(files["t.parquet"])).equals(frame)
    read = list(csv.DictReader(io.StringIO(files["t.csv"].decode(), newline=""), strict=True))
    for cell, row in zip(read, frame.iter_rows(named=True), strict=True):
        assert cell["t"].removeprefix("'") == (row["t"] or "").removeprefix("'")
        assert (float(cell["x"]) if cell["x"] else None) == row["x"]
        assert (int(cell["n"]) if cell["n"] else None) == row["n"]


@given(rows)
def test_no_text_cell_opens_as_a_formula(values: list[tuple[Any, ...]]) -> None:
    read = csv.reader(io.StringIO(csv_bytes(frame_of(values)).decode(), newline=""))
    assert all(not row[0].startswith(tuple("=+-@\t\r")) for row in read)


def test_numbers_stay_bare_and_only_texts_are_guarded() -> None:
    data = csv_bytes(frame_of([("-1+2", -3.5, -4), ("plain", None, None)]))
    assert data == b"t,x,n\r\n'-1+2,-3.5,-4\r\nplain,,\r\n"


def test_json_refuses_what_is_no_number() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        json_bytes([{"x": float("nan")}])


def test_files_are_the_same_every_time() -> None:
    frame = frame_of([("a", 1.5, 2), (None, None, None)])
    assert table_files("t", frame) == table_files("t", pl.concat([frame.head(1), frame.tail(1)]))


@given(texts, texts)
def test_safe_names_are_safe_and_do_not_meet(one: str, other: str) -> None:
    name = safe_name(one)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,48}", name)
    if one != other:
        assert name != safe_name(other)


def test_a_plain_name_is_kept() -> None:
    assert safe_name("natural_flow-2") == "natural_flow-2"
    assert "/" not in safe_name("../../etc/passwd")
