"""One study's objects: blobs by content, write-once tables with one HEAD each, and write-once records.

A table's version is the SHA-256 of its Parquet bytes, so a step that computes the same frame again stores nothing and
changes nothing. `HEAD` says which version is in force; it is the only object that is ever replaced.
"""

import io
import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from s2s_assets.storage.blobs import BlobStore, check_key, content_type
from s2s_assets.storage.parquet import Rows, from_parquet, to_parquet
from s2s_assets.study import (
    ConfigKey,
    IdentityError,
    ObjectNotFoundError,
    StoreError,
    canonical_json,
    sha256_hex,
)

_IDENTITY = "identity.json"
_UNPARTITIONED = "all"
_READERS = 8
_REFERENCE = re.compile(r"[0-9a-f]{64}\.[a-z0-9]{1,12}")
_SUFFIX = re.compile(r"[a-z0-9]{1,12}")
_VERSION = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Table:
    """A stored table: its Parquet bytes and their hash."""

    version: str
    data: bytes = field(repr=False)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The frame, in memory from the first time it is asked for.

        Raises:
            StoreError: bytes that are no Parquet.
        """
        return from_parquet(self.data)

    def scan(self) -> pl.LazyFrame:
        """The frame as a query, which reads no more than it needs."""
        return pl.scan_parquet(io.BytesIO(self.data))

    @cached_property
    def schema(self) -> pl.Schema:
        """Names and types of the columns; nothing else is read."""
        return self.scan().collect_schema()

    @cached_property
    def height(self) -> int:
        """Number of rows; nothing else is read."""
        return int(self.scan().select(pl.len()).collect().item())


class StudyStore:
    """The objects of one study in a blob store; safe to use from many threads."""

    def __init__(self, blobs: BlobStore, study: str) -> None:
        check_key(study)
        self.blobs = blobs
        self.study = study

    def claim(self) -> None:
        """Record that the store belongs to this study, or check that it does.

        Raises:
            IdentityError: the store belongs to another study.
        """
        if self.blobs.put_new(_IDENTITY, _json({"study": self.study}), content_type(_IDENTITY)):
            return
        owner = _parse(_IDENTITY, self.blobs.get(_IDENTITY)).get("study")
        if owner != self.study:
            raise IdentityError(
                f"store {self.blobs.url} belongs to study {owner!r}, not to {self.study!r}; "
                "set S2S_STORE (or S2S_HOME) to a place of this study's own"
            )

    def put_blob(self, data: bytes, suffix: str) -> str:
        """Store bytes under their hash; returns the reference `<sha256>.<suffix>`.

        Raises:
            StoreError: a suffix that is not 1 to 12 lower-case letters or digits.
        """
        if not _SUFFIX.fullmatch(suffix):
            raise StoreError(f"blob suffix {suffix[:40]!r}: expected 1 to 12 lower-case letters or digits")
        ref = f"{sha256_hex(data)}.{suffix}"
        self._put(self._blob_key(ref), data)
        return ref

    def get_blob(self, ref: str) -> bytes:
        """The bytes of a reference.

        Raises:
            StoreError: no such blob, or its bytes are not those that were stored.
        """
        return self._verified(self._blob_key(ref), ref.partition(".")[0])

    def write_table(self, asset: str, partition: str | None, rows: Rows) -> Table:
        """Store a table; the HEAD is not moved. Equal rows have the same version and are stored once.

        Raises:
            StoreError: a column that Parquet cannot hold.
        """
        data = to_parquet(rows)
        table = Table(sha256_hex(data), data)
        if isinstance(rows, pl.DataFrame):
            vars(table)["frame"] = rows  # it need not be read back
        self._put(self._table_key(asset, partition, table.version), data)
        return table

    def read_table(self, asset: str, partition: str | None, version: str) -> Table:
        """The table of a version.

        Raises:
            StoreError: no such table, or its bytes are not those that were stored.
        """
        return Table(version, self._verified(self._table_key(asset, partition, version), version))

    def head(self, asset: str, partition: str | None) -> str | None:
        """The version in force; None where there is none yet."""
        data = self._get(self._key("heads", asset, _path(partition), "HEAD"))
        return None if data is None else data.decode()

    def set_head(self, asset: str, partition: str | None, version: str) -> None:
        """Put a stored version in force.

        Raises:
            StoreError: no table of that version is stored.
        """
        key = self._table_key(asset, partition, version)
        if not self.blobs.exists(key):
            raise StoreError(f"store {self.blobs.url}: HEAD of {asset} cannot move: no table {key!r}; write it first")
        self.blobs.replace(self._key("heads", asset, _path(partition), "HEAD"), version.encode(), "text/plain")

    def heads(self, asset: str) -> dict[str, str]:
        """Partition key → version in force, of the partitions that have one; an unpartitioned table is left out."""
        folder = self._key("heads", asset) + "/"
        paths = [key.removeprefix(folder).removesuffix("/HEAD") for key in self.blobs.keys(folder)]
        partitions = [path.replace("/", "|") for path in paths if path != _UNPARTITIONED]
        with ThreadPoolExecutor(_READERS) as readers:
            versions = list(readers.map(lambda partition: self.head(asset, partition), partitions))
        return {p: version for p, version in zip(partitions, versions, strict=True) if version is not None}

    def memo(self, asset: str, partition: str | None, key: str) -> str | None:
        """The version that a memo key gave, where its table is still stored; None otherwise."""
        data = self._get(self._memo_key(asset, partition, key))
        if data is None:
            return None
        version = data.decode()
        return version if self.blobs.exists(self._table_key(asset, partition, version)) else None

    def remember(self, asset: str, partition: str | None, key: str, version: str) -> None:
        """Record which version a memo key gave; the first record of a key stays."""
        self._table_key(asset, partition, version)
        self.blobs.put_new(self._memo_key(asset, partition, key), version.encode(), "text/plain")

    def put_record(self, kind: str, name: str, record: dict[str, Any]) -> bool:
        """Store a record as canonical JSON; False if the name was taken, and then nothing is changed.

        Raises:
            ValueError: NaN or infinity in the record.
        """
        return self._put(self._key("records", kind, f"{name}.json"), _json(record))

    def get_record(self, kind: str, name: str) -> dict[str, Any] | None:
        """A record; None where there is none.

        Raises:
            StoreError: bytes that are no JSON object.
        """
        key = self._key("records", kind, f"{name}.json")
        data = self._get(key)
        return None if data is None else _parse(key, data)

    def record_names(self, kind: str, prefix: str = "") -> list[str]:
        """Names of the records that begin with a text, in the order of their keys."""
        folder = self._key("records", kind) + "/"
        keys = [key for key in self.blobs.keys(folder + prefix) if key.endswith(".json")]
        return [key.removeprefix(folder).removesuffix(".json") for key in keys]

    def records_of(self, kind: str, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Name and record of each name, in the order given.

        Raises:
            ObjectNotFoundError: a name without a record.
        """
        keys = [self._key("records", kind, f"{name}.json") for name in names]
        with ThreadPoolExecutor(_READERS) as readers:
            for name, key, data in zip(names, keys, readers.map(self.blobs.get, keys), strict=True):
                yield name, _parse(key, data)

    def records(self, kind: str, prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
        """Name and record of every record whose name begins with a text, in the order of their keys."""
        return self.records_of(kind, self.record_names(kind, prefix))

    def _key(self, *parts: str) -> str:
        return "/".join((self.study, *parts))

    def _blob_key(self, ref: str) -> str:
        if not _REFERENCE.fullmatch(ref):
            raise StoreError(f"blob reference {ref[:100]!r}: expected <sha256>.<suffix>")
        return self._key("blobs", ref[:2], ref)

    def _table_key(self, asset: str, partition: str | None, version: str) -> str:
        if not _VERSION.fullmatch(version):
            raise StoreError(f"version {version[:100]!r} of table {asset}: expected a SHA-256 in hex")
        return self._key("tables", asset, _path(partition), f"{version}.parquet")

    def _memo_key(self, asset: str, partition: str | None, key: str) -> str:
        return self._key("memos", asset, _path(partition), sha256_hex(key))

    def _put(self, key: str, data: bytes) -> bool:
        return self.blobs.put_new(key, data, content_type(key))

    def _get(self, key: str) -> bytes | None:
        try:
            return self.blobs.get(key)
        except ObjectNotFoundError:
            return None

    def _verified(self, key: str, sha256: str) -> bytes:
        data = self.blobs.get(key)
        if sha256_hex(data) != sha256:
            raise StoreError(
                f"store {self.blobs.url}: object {key!r} is damaged: its {len(data)} bytes do not have the hash in its "
                "name; restore it from a copy, or remove it and materialize again"
            )
        return data


def _path(partition: str | None) -> str:
    """A partition as part of an object key: three segments, so none is mistaken for an unpartitioned table's one."""
    return _UNPARTITIONED if partition is None else ConfigKey.parse(partition).path


def _json(record: dict[str, Any]) -> bytes:
    return canonical_json(record).encode()


def _parse(key: str, data: bytes) -> dict[str, Any]:
    try:
        record = json.loads(data)
    except ValueError as error:
        raise StoreError(f"object {key!r}: expected JSON: {error}") from error
    if not isinstance(record, dict):
        raise StoreError(f"object {key!r}: expected a JSON object, found {type(record).__name__}")
    return record
