"""Who beats whom: a board's pairs as a heat map and a table on the page, and as heat maps in files of their own."""

from collections.abc import Iterator, Sequence

import polars as pl

from s2s_assets.leaderboard.charts import Matrix, heatmap
from s2s_assets.leaderboard.layout import Part
from s2s_assets.leaderboard.numbers import signed
from s2s_assets.leaderboard.page_tables import Row, decided, has_simultaneous, pair_table, turn
from s2s_assets.leaderboard.sources import MAP_LIMIT, Sources, forest_boards
from s2s_assets.leaderboard.write import safe_name

FILE_LIMIT = 60
"""Entities that a heat map in a file of its own shows, the best ranked ones."""
TABLE_LIMIT = 400
"""Pairs that the page lists; more would make it too long."""


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


def pair_parts(sources: Sources, lead: pl.DataFrame) -> list[Part]:
    """Heat map and table of the headline's pairs."""
    pairs = sources.pairs.filter(pl.col("fit").is_in(lead["fit"].unique().to_list())).to_dicts()
    if not pairs:
        return []
    folded = _folded_table(sources, pairs)
    if len(lead) > MAP_LIMIT:
        return [folded]
    title = sources.caption("Who beats whom: Elo of the row minus Elo of the column")
    said = (
        "Bold: the two are told apart, all pairs together (the simultaneous interval leaves 0 out, as letters have it)."
        if any(has_simultaneous(p) for p in pairs)
        else "Bold: the 95 % interval of the difference leaves 0 out, so the two are told apart."
    )
    return [Part("who-beats-whom", "", (said,), heatmap(pair_matrix(pairs, lead), title)), folded]


def _folded_table(sources: Sources, pairs: Sequence[Row]) -> Part:
    """The table of all pairs, of very many those with the largest differences."""
    shown = sorted(pairs, key=lambda p: -abs(p["difference"] or 0))[:TABLE_LIMIT]
    caption = sources.caption("Every pair, largest difference first" if len(shown) == len(pairs) else "Pairs")
    table = pair_table("pairs", caption, shown, lambda e: sources.inputs.facts.name(sources.by, e))
    said = f"All {len(pairs)} pairs, with intervals" if len(pairs) > 1 else "The pair, with its interval"
    if len(shown) < len(pairs):
        said = f"The {len(shown)} largest differences, with intervals; all {len(pairs):,} pairs are in pairwise.csv"
    return Part("all-pairs", said, tables=(table,))


def pair_map(sources: Sources, rows: pl.DataFrame, title: str) -> str:
    """The heat map of a board's pairs; empty for a board without pairs."""
    pairs = sources.pairs.filter(pl.col("fit").is_in(rows["fit"].unique().to_list())).to_dicts()
    if not pairs:
        return ""
    firm = "all pairs together" if any(has_simultaneous(p) for p in pairs) else "each pair by itself"
    note = f"Elo of the row minus Elo of the column; bold: told apart, {firm}"
    shown = f" (the first {FILE_LIMIT} of {len(rows)} by rank)" if len(rows) > FILE_LIMIT else ""
    cell, pitch = (44, 22) if len(rows) > MAP_LIMIT else (62, 30)
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
