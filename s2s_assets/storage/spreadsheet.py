"""Texts that a spreadsheet would run as a formula, made safe in CSV files and taken back.

A cell that begins with one of `= + - @`, a tab or a line end (or the full-width forms) gets a leading apostrophe, as does
one that begins with apostrophes before such a sign, so that exactly one can be taken away again. Numbers stay bare.
"""

import polars as pl

_SIGNS = r"[=+\-@\t\r\n＝＋－＠]"


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Texts made safe for a spreadsheet."""
    cell = pl.col(pl.String)
    return frame.with_columns(
        pl.when(cell.str.contains(f"^'*{_SIGNS}")).then(pl.lit("'") + cell).otherwise(cell).name.keep()
    )


def unguarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Texts as they were before `guarded`."""
    cell = pl.col(pl.String)
    return frame.with_columns(
        pl.when(cell.str.contains(f"^'+{_SIGNS}")).then(cell.str.slice(1)).otherwise(cell).name.keep()
    )
