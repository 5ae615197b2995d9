"""A study's blobs, tables, heads, memos and records, on a directory and on a real S3 server."""

import hashlib
import itertools
import subprocess
import sys

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from s2s_assets.storage import StudyStore, from_parquet, in_pieces, to_parquet
from s2s_assets.study import ConfigKeyError, IdentityError, ObjectNotFoundError, StoreError

KEY = "gpt-rt|alloy|low"
FRAME = pl.DataFrame(
    {
        "prompt": ["p1", "p2", "p3"],
        "tags": [["a", "b"], [], None],
        "measure": [{"lufs": -23.0, "code": "x"}, {"lufs": None, "code": "y"}, None],
        "score": [3, None, -3],
    },
    schema_overrides={"score": pl.Int8},
)


def test_a_blob_lies_under_its_hash(store: StudyStore):
    ref = store.put_blob(b"fLaC", "flac")
    assert ref == hashlib.sha256(b"fLaC").hexdigest() + ".flac"
    assert store.put_blob(b"fLaC", "flac") == ref
    assert store.get_blob(ref) == b"fLaC"
    assert store.blobs.get(f"study/blobs/{ref[:2]}/{ref}") == b"fLaC"


def test_a_tampered_blob_is_found(store: StudyStore):
    ref = store.put_blob(b"what was heard", "flac")
    store.blobs.replace(f"study/blobs/{ref[:2]}/{ref}", b"what was heard?")
    with pytest.raises(StoreError, match=f"{ref}.*damaged"):
        store.get_blob(ref)


def test_an_absent_blob_is_named(store: StudyStore):
    ref = "0" * 64 + ".flac"
    with pytest.raises(ObjectNotFoundError, match=ref):
        store.get_blob(ref)


@pytest.mark.parametrize("ref", ["", "x.flac", "0" * 64, "0" * 64 + ".FLAC", "../" + "0" * 64 + ".flac"])
def test_what_is_no_reference_is_refused(directory_store: StudyStore, ref: str):
    with pytest.raises(StoreError, match="blob reference"):
        directory_store.get_blob(ref)


def test_a_suffix_cannot_be_a_path(directory_store: StudyStore):
    with pytest.raises(StoreError, match="suffix"):
        directory_store.put_blob(b"", "tar/gz")


def test_a_table_comes_back_and_equal_frames_are_stored_once(store: StudyStore):
    first = store.write_table("responses", KEY, FRAME)
    again = store.write_table("responses", KEY, FRAME.clone())
    assert first.version == again.version
    assert list(store.blobs.keys("study/tables/")) == [
        f"study/tables/responses/gpt-rt/alloy/low/{first.version}.parquet"
    ]
    assert_frame_equal(store.read_table("responses", KEY, first.version).frame, FRAME)
    assert_frame_equal(store.read_table("responses", KEY, first.version).scan().collect(), FRAME)


def test_a_tampered_table_is_found(store: StudyStore):
    version = store.write_table("ratings", None, FRAME).version
    key = f"study/tables/ratings/all/{version}.parquet"
    store.blobs.replace(key, to_parquet(FRAME.head(2)))
    with pytest.raises(StoreError, match="damaged"):
        store.read_table("ratings", None, version)


def test_a_frame_that_parquet_cannot_hold_is_refused(directory_store: StudyStore):
    with pytest.raises(StoreError, match="Parquet"):
        directory_store.write_table("x", None, pl.DataFrame({"o": pl.Series([object()], dtype=pl.Object)}))


def test_bytes_that_are_no_table_are_refused():
    with pytest.raises(StoreError, match="Parquet"):
        from_parquet(b"not a table")


def test_writing_a_table_moves_no_head(store: StudyStore):
    table = store.write_table("bt_fits", None, FRAME)
    assert store.head("bt_fits", None) is None
    store.set_head("bt_fits", None, table.version)
    assert store.head("bt_fits", None) == table.version


def test_a_head_never_points_at_nothing(store: StudyStore):
    with pytest.raises(StoreError, match="write it first"):
        store.set_head("bt_fits", None, "0" * 64)
    assert store.head("bt_fits", None) is None


def test_heads_are_those_of_the_partitions_that_have_one(store: StudyStore):
    keys = [KEY, "a|b|none", "a.1|b|none"]
    versions = {}
    for number, key in enumerate(keys):
        versions[key] = store.write_table("responses", key, FRAME.head(number)).version
        store.set_head("responses", key, versions[key])
    store.write_table("responses", "no|head|none", FRAME)
    store.set_head("responses", None, store.write_table("responses", None, FRAME).version)
    store.set_head("responses_2", KEY, store.write_table("responses_2", KEY, FRAME).version)
    assert store.heads("responses") == versions


def test_a_partition_that_is_no_config_key_is_refused(directory_store: StudyStore):
    with pytest.raises(ConfigKeyError):
        directory_store.head("responses", "../../etc|x|y")


def test_a_memo_gives_the_version_it_was_told_first(store: StudyStore):
    one, two = (store.write_table("plan", None, FRAME.head(n)).version for n in (1, 2))
    assert store.memo("plan", None, "inputs") is None
    store.remember("plan", None, "inputs", one)
    store.remember("plan", None, "inputs", two)
    assert store.memo("plan", None, "inputs") == one
    assert store.memo("plan", None, "other inputs") is None


def test_a_memo_of_a_table_that_is_gone_is_forgotten(store: StudyStore):
    store.remember("plan", None, "inputs", "0" * 64)
    assert store.memo("plan", None, "inputs") is None


def test_a_record_is_written_once(store: StudyStore):
    assert store.put_record("attempts", "r1", {"status": "ok", "text": "ü"})
    assert not store.put_record("attempts", "r1", {"status": "timeout"})
    assert store.get_record("attempts", "r1") == {"status": "ok", "text": "ü"}
    assert store.get_record("attempts", "r2") is None


def test_records_are_listed_by_prefix_in_order(store: StudyStore):
    names = [f"{config}/r{number:02d}" for config in ("a", "b") for number in range(12)]
    for name in reversed(names):
        store.put_record("attempts", name, {"name": name})
    store.put_record("other", "a/r00", {})
    assert list(store.records("attempts")) == [(name, {"name": name}) for name in names]
    assert [name for name, _ in store.records("attempts", "b/r1")] == ["b/r10", "b/r11"]


def test_nan_reaches_no_record(directory_store: StudyStore):
    with pytest.raises(ValueError, match="not JSON compliant"):
        directory_store.put_record("attempts", "r", {"lufs": float("nan")})
    assert directory_store.get_record("attempts", "r") is None


@pytest.mark.parametrize("data", [b"{", b"[1]", b"\xff"])
def test_a_damaged_record_is_named(directory_store: StudyStore, data: bytes):
    directory_store.blobs.replace("study/records/attempts/r.json", data)
    with pytest.raises(StoreError, match=r"attempts/r\.json"):
        directory_store.get_record("attempts", "r")


def test_a_store_belongs_to_the_study_that_claimed_it(store: StudyStore):
    store.claim()
    StudyStore(store.blobs, "study").claim()
    with pytest.raises(IdentityError, match="belongs to study 'study', not to 'another'"):
        StudyStore(store.blobs, "another").claim()


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "n": st.none() | st.integers(-(2**40), 2**40),
                "x": st.none() | st.floats(),
                "s": st.none() | st.text(max_size=8),
                "l": st.none() | st.lists(st.integers(0, 9), max_size=3),
            }
        ),
        max_size=12,
    ),
    cuts=st.lists(st.integers(0, 12), max_size=3),
)
def test_equal_frames_give_equal_bytes_whatever_pieces_they_were_made_of(rows: list[dict], cuts: list[int]):
    schema = {"n": pl.Int64, "x": pl.Float64, "s": pl.String, "l": pl.List(pl.Int64)}
    frame = pl.DataFrame(rows, schema=schema)
    ends = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [frame[a:b] for a, b in itertools.pairwise(ends)]
    pieces, query = pl.concat(parts, rechunk=False), in_pieces(frame.schema, lambda: iter(parts))
    inside = pl.concat([frame, frame, frame])[len(rows) : 2 * len(rows)]
    assert to_parquet(pieces) == to_parquet(query) == to_parquet(inside) == to_parquet(frame)
    assert_frame_equal(from_parquet(to_parquet(frame)), frame)


def test_a_table_of_several_row_groups_has_the_same_bytes_made_in_pieces():
    frame = pl.DataFrame({"n": range(250_001)}).with_columns(s=(pl.col("n") % 7).cast(pl.String))
    query = in_pieces(frame.schema, lambda: frame.iter_slices(30_000))
    assert to_parquet(query) == to_parquet(frame)


def test_a_query_made_in_pieces_can_be_asked_for_a_part_and_asked_twice():
    frame = pl.DataFrame({"n": range(100)}).with_columns(s=(pl.col("n") % 7).cast(pl.String))
    query = in_pieces(frame.schema, lambda: frame.iter_slices(9))
    for asked in (
        lambda f: f,
        lambda f: f.head(20),
        lambda f: f.filter(pl.col("s") == "3").select("n"),
        lambda f: f.slice(8, 4),
    ):
        for _ in range(2):
            assert_frame_equal(asked(query).collect(), asked(frame))
    assert query.select(pl.len()).collect().item() == 100


def test_a_query_that_parquet_cannot_hold_is_refused():
    frame = pl.DataFrame({"x": [object()]}, schema={"x": pl.Object})
    with pytest.raises(StoreError, match="cannot be written as Parquet"):
        to_parquet(in_pieces(frame.schema, lambda: iter([frame])))


def test_a_table_tells_its_size_and_columns_however_it_was_written(store):
    for rows in (FRAME, in_pieces(FRAME.schema, lambda: FRAME.iter_slices(1))):
        table = store.write_table("ratings", None, rows)
        assert (table.height, table.schema) == (FRAME.height, FRAME.schema)
        assert_frame_equal(table.frame, FRAME)


def test_a_sorted_frame_has_the_bytes_of_one_that_happens_to_be_in_order():
    assert to_parquet(FRAME.sort("prompt")) == to_parquet(FRAME)


def test_another_process_writes_the_same_bytes():
    code = (
        "import hashlib, polars as pl; from s2s_assets.storage import to_parquet\n"
        "frame = pl.DataFrame({'a': range(150_000), 'b': [f'k{i % 7}' for i in range(150_000)]})\n"
        "print(hashlib.sha256(to_parquet(frame)).hexdigest())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"POLARS_MAX_THREADS": threads, "PYTHONHASHSEED": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "3")
    }
    assert len(said) == 1
