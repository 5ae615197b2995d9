"""CSV rows with their lines: every fault of a table is found, and a faulty row costs no other row."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from s2s_assets.study.findings import Finding
from s2s_assets.study.yaml_errors import plain_message

R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True)
class Rows:
    """The rows of a CSV file as text, each with the line it starts in (header = 1)."""

    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def read_rows(text: str, file: str, required: Iterable[str], optional: Iterable[str]) -> Rows:
    """Split CSV text into rows of named cells, surrounding spaces removed; blank lines are passed over.

    With a faulty header no row is read: each would repeat that fault.
    """
    result = Rows()
    lines = _records(text, file, result.findings)
    header = next(lines, None)
    if header is None:
        result.findings.append(
            Finding(file, None, "", f"the file is empty; expected the columns {', '.join(required)}")
        )
        return result
    columns = [name.strip() for name in header[1]]
    header_faults = list(_header_faults(columns, file, list(required), list(optional)))
    result.findings.extend(header_faults)
    for line, cells in () if header_faults else lines:
        if len(cells) != len(columns):
            message = f"{len(cells)} cells where the header has {len(columns)}; quote a text that holds a comma"
            result.findings.append(Finding(file, line, "", message))
        else:
            result.rows.append((line, dict(zip(columns, (c.strip() for c in cells), strict=True))))
    return result


def records_of(
    rows: Rows, file: str, record: type[R], cells: Callable[[dict[str, str]], dict[str, Any]]
) -> tuple[list[R], list[Finding]]:
    """Validate every row as a `record`; `cells` turns its text into the record's values."""
    records: list[R] = []
    findings: list[Finding] = []
    for line, row in rows.rows:
        try:
            records.append(record.model_validate({**cells(row), "line": line}))
        except ValidationError as error:
            findings.extend(
                Finding(file, line, str(fault["loc"][0]) if fault["loc"] else "", plain_message(fault))
                for fault in error.errors()
            )
    return records, findings


def _records(text: str, file: str, findings: list[Finding]) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            findings.append(Finding(file, line, "", f"not valid CSV: {error}"))
            return
        if any(cell.strip() for cell in cells):
            yield line, cells


def _header_faults(columns: list[str], file: str, required: list[str], optional: list[str]) -> Iterator[Finding]:
    known = [*required, *optional]
    for name in required:
        if name not in columns:
            yield Finding(file, 1, name, "missing column; add it to the header")
    for name in dict.fromkeys(columns):
        if name not in known:
            yield Finding(file, 1, name, f"unknown column; known are {', '.join(known)}")
        if columns.count(name) > 1:
            yield Finding(file, 1, name, "column given twice; keep one of them")
