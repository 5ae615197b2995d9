"""What every blob store promises, on a directory and on a real S3 server."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s2s_assets.storage import BlobStore, open_store
from s2s_assets.storage.blobs import check_key
from s2s_assets.storage.opening import PROBE_KEY
from s2s_assets.study import InputError, ObjectNotFoundError, StoreError

SEGMENTS = st.from_regex(r"[A-Za-z0-9_+=-][A-Za-z0-9._+=-]{0,12}", fullmatch=True)


def test_an_object_is_written_once(blobs: BlobStore):
    assert blobs.put_new("a/b.txt", b"first")
    assert not blobs.put_new("a/b.txt", b"second")
    assert blobs.get("a/b.txt") == b"first"


def test_of_many_writers_one_wins(blobs: BlobStore):
    start = threading.Barrier(16)

    def write(number: int) -> bool:
        start.wait()
        return blobs.put_new("race", f"writer {number}".encode())

    with ThreadPoolExecutor(16) as writers:
        won = list(writers.map(write, range(16)))
    assert won.count(True) == 1
    assert blobs.get("race") == f"writer {won.index(True)}".encode()


def test_replace_takes_the_place_of_an_object(blobs: BlobStore):
    blobs.replace("HEAD", b"one")
    blobs.replace("HEAD", b"two")
    assert blobs.get("HEAD") == b"two"


def test_a_reader_sees_whole_objects_while_they_are_replaced(blobs: BlobStore):
    bodies = {bytes([65 + i]) * 20_000 for i in range(8)}
    blobs.replace("HEAD", min(bodies))
    with ThreadPoolExecutor(4) as workers:
        writes = [workers.submit(blobs.replace, "HEAD", body) for body in sorted(bodies)]
        reads = [workers.submit(blobs.get, "HEAD") for _ in range(20)]
    assert all(write.exception() is None for write in writes)
    assert {read.result() for read in reads} <= bodies


def test_an_absent_object_is_named(blobs: BlobStore):
    assert not blobs.exists("no/such/key")
    with pytest.raises(ObjectNotFoundError, match="no/such/key"):
        blobs.get("no/such/key")


def test_keys_are_listed_in_byte_order_by_any_prefix(blobs: BlobStore):
    keys = ["t/a.b/1", "t/a/1", "t/a/2", "t/a0", "u/a"]
    for key in reversed(keys):
        blobs.put_new(key, b"")
    assert list(blobs.keys("")) == [PROBE_KEY, *keys]
    assert list(blobs.keys("t/a")) == keys[:4]
    assert list(blobs.keys("t/a/")) == ["t/a/1", "t/a/2"]
    assert list(blobs.keys("nothing/here")) == []


def test_a_listing_longer_than_one_page_is_whole(blobs: BlobStore):
    keys = [f"many/{number:04d}" for number in range(1010)]
    with ThreadPoolExecutor(8) as writers:
        list(writers.map(lambda key: blobs.put_new(key, b"x"), keys))
    assert list(blobs.keys("many/")) == keys


@given(data=st.binary(max_size=3000), segments=st.lists(SEGMENTS, min_size=1, max_size=4))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_come_back_under_any_legal_key(blobs: BlobStore, data: bytes, segments: list[str]):
    key = "/".join(["any", *(f"{depth}{segment}" for depth, segment in enumerate(segments)), "leaf="])
    blobs.replace(key, data)
    assert blobs.get(key) == data
    assert key in list(blobs.keys("any/"))


@pytest.mark.parametrize(
    "key",
    ["", "/a", "a/", "a//b", ".", "..", "a/../b", ".hidden", "a b", "a|b", "ä", "a\n", "x" * 256, "a/" * 600 + "b"],
)
def test_a_key_that_could_leave_the_store_is_refused(key: str, tmp_path: Path):
    with pytest.raises(StoreError, match="object key"):
        check_key(key)
    with pytest.raises(StoreError, match="object key"):
        open_store(f"file:{tmp_path}").put_new(key, b"")


@pytest.mark.parametrize(
    "url", ["", "store", "file:", "ftp://host/x", "s3:", "s3://", "s3://Bucket/x", "s3://key:secret@b/x"]
)
def test_a_store_url_of_another_form_is_bad_input(url: str):
    with pytest.raises(InputError) as refused:
        open_store(url)
    assert "secret" not in str(refused.value)


def test_a_store_says_its_url(store_url: str, blobs: BlobStore):
    assert blobs.url == store_url


def test_a_directory_store_is_relative_to_where_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    store = open_store("file:here/store")
    store.put_new("k", b"v")
    monkeypatch.chdir("/")
    assert store.get("k") == b"v"
    assert (tmp_path / "here" / "store" / "k").read_bytes() == b"v"


def test_a_directory_store_leaves_nothing_half_written(tmp_path: Path):
    store = open_store(f"file:{tmp_path}")
    store.put_new("folder/x", b"x")
    for action in (store.put_new, store.replace):
        with pytest.raises(StoreError, match="cannot"):
            action("folder/x/y", b"below a file")
        with pytest.raises(StoreError, match="cannot"):
            action("folder", b"over a folder")
    assert list(store.keys("")) == [PROBE_KEY, "folder/x"]
    assert not list((tmp_path / ".scratch").iterdir())


def test_what_a_kill_left_half_written_is_no_object(tmp_path: Path):
    store = open_store(f"file:{tmp_path}")
    (tmp_path / ".scratch" / "left").write_bytes(b"half")
    assert list(store.keys("")) == [PROBE_KEY]


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="file/store"):
        open_store(f"file:{tmp_path / 'file' / 'store'}")
