"""Rows are put in another order in place."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.ratings.reorder import reorder


@given(st.lists(st.tuples(st.integers(), st.text(max_size=3), st.none() | st.booleans()), max_size=20), st.randoms())
def test_rows_are_those_that_the_order_names(rows: list[tuple[int, str, bool | None]], random) -> None:
    frame = pl.DataFrame(rows, schema={"n": pl.Int128, "s": pl.String, "b": pl.Boolean}, orient="row")
    order = list(range(len(rows)))
    random.shuffle(order)
    reorder(frame, pl.Series(order, dtype=pl.UInt32))
    assert frame.rows() == [rows[k] for k in order]
