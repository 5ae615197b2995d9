"""Tables as files: the same rows and values in CSV, JSON and Parquet, the same bytes every time.

CSV (UTF-8, RFC 4180) is what people open in a spreadsheet: there, and only there, texts are guarded (`storage.guarded`).
JSON is a list of row objects, one a line. A missing value is an empty cell, `null`, or a Parquet null.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from s2s_assets.storage import guarded, to_parquet
from s2s_assets.study import sha256_hex

_SUM_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def csv_bytes(frame: pl.DataFrame) -> bytes:
    """A frame as CSV."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(frame.columns)
    writer.writerows(guarded(frame).iter_rows())
    return out.getvalue().encode()


def json_bytes(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Row objects as a JSON list, one a line.

    Raises:
        ValueError: NaN or infinity in a row.
    """
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    return f"[\n{lines}\n]\n".encode() if rows else b"[]\n"


def table_files(name: str, frame: pl.DataFrame) -> dict[str, bytes]:
    """`NAME.csv`, `NAME.json` and `NAME.parquet` of a frame."""
    return {
        f"{name}.csv": csv_bytes(frame),
        f"{name}.json": json_bytes(frame.to_dicts()),
        f"{name}.parquet": to_parquet(frame),
    }


def document_bytes(document: Mapping[str, Any]) -> bytes:
    """A JSON document with its keys in their order, indented.

    Raises:
        ValueError: NaN or infinity in it.
    """
    return (json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n").encode()


def sums_bytes(files: Mapping[str, bytes]) -> bytes:
    """A line a file in the form of `sha256sum`, sorted by name."""
    return "".join(f"{sha256_hex(data)}  {name}\n" for name, data in sorted(files.items())).encode()


def read_sums(lines: Iterable[str]) -> dict[str, str]:
    """File → SHA-256 of the lines in the form of `sha256sum`; other lines are left out."""
    return {found[2]: found[1] for line in lines if (found := _SUM_LINE.fullmatch(line))}


def safe_name(name: str) -> str:
    """A name as part of a file name or an anchor: letters, digits, `.`, `_` and `-`, at most 49 characters.

    A name that has to be changed gets 8 digits of its hash, so two names never meet.
    """
    kept = _UNSAFE.sub("-", name)[:40].strip(".-") or "x"
    return kept if kept == name else f"{kept}-{sha256_hex(name)[:8]}"
