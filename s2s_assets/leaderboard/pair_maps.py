"""Who beats whom, as a heat map of a board's pairs."""

from collections.abc import Iterator, Sequence

import polars as pl

from s2s_assets.leaderboard.charts import Matrix, heatmap
from s2s_assets.leaderboard.numbers import signed
from s2s_assets.leaderboard.page_tables import Row, decided, has_simultaneous, turn
from s2s_assets.leaderboard.sources import Sources, forest_boards
from s2s_assets.leaderboard.write import safe_name

FILE_LIMIT = 60
"""Entities that a heat map in a file of its own shows, the best ranked ones."""
_TIGHT = 24
"""Entities above which cells are drawn smaller."""


def pair_matrix(pairs: Sequence[Row], lead: pl.DataFrame) -> Matrix:
    """Differences of all pairs, row minus column, in the order of the board."""
    both = {(p["a"], p["b"]): p for given in pairs for p in (given, turn(given))}
    entities, names = lead["entity"].to_list(), tuple(lead["display_name"])
    grid = [[both.get((a, b)) for b in entities] for a in entities]
    return Matrix(
        rows=names,
        columns=names,
        values=tuple(tuple(p["difference"] if p else None for p in row) for row in grid),
        texts=tuple(tuple(signed(p["difference"]) if p else "" for p in row) for row in grid),
        firm=tuple(tuple(p is not None and decided(p) for p in row) for row in grid),
    )


def pair_map(sources: Sources, rows: pl.DataFrame, title: str) -> str:
    """The heat map of a board's pairs; empty for a board without pairs."""
    pairs = sources.pairs.filter(pl.col("fit").is_in(rows["fit"].unique().to_list())).to_dicts()
    if not pairs:
        return ""
    firm = "all pairs together" if any(has_simultaneous(p) for p in pairs) else "each pair by itself"
    note = f"Elo of the row minus Elo of the column; bold: told apart, {firm}"
    shown = f" (the first {FILE_LIMIT} of {len(rows)} by rank)" if len(rows) > FILE_LIMIT else ""
    cell, pitch = (44, 22) if len(rows) > _TIGHT else (62, 30)
    return heatmap(pair_matrix(pairs, rows.head(FILE_LIMIT)), f"{title}{shown}", cell, pitch, note)


def pair_maps(sources: Sources, rubrics: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """File name without ending, what is shown, and the heat map: of each rubric's board, or of each of its slices."""
    boards = forest_boards(sources)
    for rubric in rubrics:
        for rows in boards[rubric].partition_by("slice_dimension", "slice_value", maintain_order=True):
            dimension, value = rows.select("slice_dimension", "slice_value").row(0)
            whole = dimension == "all"
            of = sources.label(rubric) if whole else f"{sources.label(rubric)}, {dimension} {value}"
            drawn = pair_map(sources, rows, sources.caption(f"{sources.inputs.facts.title}: {of}"))
            if drawn:
                yield f"pairs-{safe_name(rubric if whole else f'{rubric}/{value}')}", of, drawn
