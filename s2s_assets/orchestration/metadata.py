"""What the UI shows of a table: columns, a small preview, a small plot. No text of a private prompt."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import polars as pl

from s2s_assets.orchestration.columns import COLUMNS

OWNERS = ["team:evaluation"]
"""Of every asset."""
_PRIVATE = {"text", "input_transcript", "output_transcript", "thinking", "message", "comment", "usage", "draws"}
_MAX_PNG_BYTES = 30_000


def column_schema(schema: pl.Schema) -> dg.TableSchema:
    """Columns, types and meaning of a table."""
    return dg.TableSchema(
        columns=[dg.TableColumn(name, str(dtype), COLUMNS.get(name)) for name, dtype in schema.items()]
    )


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")[:80]


def markdown_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> dg.MetadataValue:
    """Rows as a Markdown table; an empty one says so."""
    names = list(columns or (rows[0] if rows else ()))
    if not rows:
        return dg.MetadataValue.md("no rows")
    lines = ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]
    lines += ["| " + " | ".join(_cell(row.get(n)) for n in names) + " |" for row in rows]
    return dg.MetadataValue.md("\n".join(lines))


def preview(frame: pl.DataFrame, columns: Sequence[str], rows: int = 12) -> dg.MetadataValue:
    """The first rows of some columns.

    Raises:
        ValueError: a column that may hold words of a private prompt; event logs are never purged.
    """
    private = _PRIVATE & set(columns)
    if private:
        raise ValueError(f"column {', '.join(sorted(private))} must not go into metadata")
    return markdown_table(frame.select(columns).head(rows).to_dicts(), columns)


def png_metadata(png: bytes, alt: str) -> dg.MetadataValue:
    """A small picture in the event log.

    Raises:
        ValueError: more than 30 kB: event logs are never purged.
    """
    if len(png) > _MAX_PNG_BYTES:
        raise ValueError(f"{alt}: {len(png)} bytes of PNG, at most {_MAX_PNG_BYTES} in metadata")
    return dg.MetadataValue.md(f"![{alt}](data:image/png;base64,{base64.b64encode(png).decode()})")
