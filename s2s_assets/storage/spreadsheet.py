"""Texts that a spreadsheet would run as a formula, made safe in CSV files and taken back.

A cell that begins with one of `= + - @`, a tab or a line end (or the full-width forms) gets a leading apostrophe, as does
one that begins with apostrophes before such a sign, so that exactly one can be taken away again. Numbers stay bare. Names of columns are cells too.
"""

import re

import polars as pl

_SIGNS = r"[=+\-@\t\r\n＝＋－＠]"


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Texts and names made safe for a spreadsheet."""
    cell = pl.col(pl.String)
    safe = frame.with_columns(
        pl.when(cell.str.contains(f"^'*{_SIGNS}")).then(pl.lit("'") + cell).otherwise(cell).name.keep()
    )
    return safe.rename({name: f"'{name}" for name in frame.columns if re.match(f"'*{_SIGNS}", name)})


def unguarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Texts and names as they were before `guarded`; names stay where two would become one."""
    cell = pl.col(pl.String)
    bare = frame.with_columns(
        pl.when(cell.str.contains(f"^'+{_SIGNS}")).then(cell.str.slice(1)).otherwise(cell).name.keep()
    )
    names = [name[1:] if re.match(f"'+{_SIGNS}", name) else name for name in frame.columns]
    return bare if len(set(names)) < len(names) else bare.rename(dict(zip(frame.columns, names, strict=True)))
