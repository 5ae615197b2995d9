"""Tables that set the primary fit beside the two other engines, and tables about the raters."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from s2s_assets.leaderboard.board import FIT_KEYS
from s2s_assets.leaderboard.inputs import Facts
from s2s_assets.leaderboard.layout import Cell, Head, Table
from s2s_assets.leaderboard.numbers import counted, fixed, interval
from s2s_assets.leaderboard.page_tables import figure
from s2s_assets.leaderboard.sources import Sources
from s2s_assets.ranking import EXPECTED_SPEARMAN

MEASURES = {
    "alpha": "Agreement (Krippendorff's alpha)",
    "alpha_cleaned": "Agreement, cleaned",
    "kappa": "Between the two orders (quadratic kappa)",
    "icc_mean": "Reliability of a pair's mean (ICC)",
    "order_effect": "Order effect (mean score, above 0 for the second heard)",
    "heavy_rater_share": "Share of the busiest rater",
}
"""Measures of `rater_quality` in people's words, in the order of their columns; the others are in the table alone."""
_FLAGGED = {"rater": "raters", "rating": "answers"}
ENGINES = {"strength": "Ordinal BT", "massey": "Massey", "partial_margin_bt": "Partial-margin BT"}


def spearman_table(sources: Sources, caption: str) -> Table:
    """Spearman's correlation of each cross-check with the primary fit, a row a board of the whole; why it is low."""
    fits = sources.inputs.fits
    kept = fits.filter((pl.col("slice_dimension") == "all") & (pl.col("variant") == sources.variant))
    keys = ("fit", *FIT_KEYS, "spearman_massey", "spearman_partial_margin_bt")
    found = [(row, sources.disagreement(row["fit"])) for row in kept.select(keys).iter_rows(named=True)]
    explained = any(why for _, why in found)
    heads = (Head("Rated", "name"), Head("Ranked by", "name"), Head("Massey"), Head("Partial-margin BT"))
    rows = tuple(
        (
            Cell(r["rubric"]),
            Cell(r["by"]),
            Cell(fixed(r["spearman_massey"], 3), r["spearman_massey"]),
            Cell(fixed(r["spearman_partial_margin_bt"], 3), r["spearman_partial_margin_bt"]),
            *((Cell(why.partition(": ")[2]),) if explained else ()),
        )
        for r, why in found
    )
    return Table("spearman", caption, (*heads, *((Head("Why below 0.99", "text"),) if explained else ())), rows)


def agreement_note(sources: Sources, fit: str) -> str:
    """Why an engine agrees less than expected with a fit, as a sentence; nothing where none does."""
    why = sources.disagreement(fit)
    return f"Warning, on the headline: {why}." if why else ""


def below_expected(fits: pl.DataFrame, variant: str) -> int:
    """Boards of the whole on which a cross-check agrees less than expected."""
    kept = fits.filter((pl.col("slice_dimension") == "all") & (pl.col("variant") == variant))
    low = pl.min_horizontal("spearman_massey", "spearman_partial_margin_bt") < EXPECTED_SPEARMAN
    return kept.filter(low).height


def engine_table(fits: pl.DataFrame, fit: str, facts: Facts, caption: str) -> Table:
    """The order that each engine gives on one fit, a row an entity."""
    row = fits.row(by_predicate=pl.col("fit") == fit, named=True)
    entities: Sequence[Mapping[str, object]] = row["entities"]
    ranks = {key: _ranks([e[key] for e in entities]) for key in ENGINES}
    heads = (Head("Name", "name"), *(Head(f"Rank by {engine}") for engine in ENGINES.values()))
    cells = [
        (Cell(facts.name(row["by"], str(e["entity"]))), *(Cell(counted(ranks[k][i]), ranks[k][i]) for k in ENGINES))
        for i, e in enumerate(entities)
    ]
    cells.sort(key=lambda c: (c[1].v is None, c[1].v or 0, c[0].text))
    return Table("engines", caption, heads, tuple(cells))


def _ranks(values: Sequence[object]) -> list[int | None]:
    """Rank 1 for the largest; equal values share the better rank; None where there is no value."""
    known = [v for v in values if isinstance(v, int | float)]
    return [1 + sum(w > v for w in known) if isinstance(v, int | float) else None for v in values]


def quality_table(quality: pl.DataFrame, rubrics: Sequence[str], caption: str) -> Table:
    """What is known of the answers as a whole and by rubric, a column a measure; nothing about a single rater."""
    kept = quality.filter(pl.col("scope").is_in(["study", "rubric"]))
    there = set(kept["measure"])
    measures = [m for m in MEASURES if m in there]
    found = {("" if r["scope"] == "study" else r["name"], r["measure"]): r for r in kept.iter_rows(named=True)}
    heads = (Head("Of", "name"), *(Head(MEASURES[m]) for m in measures), Head("Answers"))
    rows = []
    for of in ("", *rubrics):
        here = [found.get((of, m), {"value": None, "low": None, "n": None}) for m in measures]
        n = max((f["n"] for f in here if f["n"] is not None), default=None)
        if n is not None:
            name = Cell(of.replace("_", " ") or "all questions")
            rows.append((name, *(_measured(f) for f in here), Cell(counted(n), n)))
    return Table("quality", caption, heads, tuple(rows))


def _measured(row: Mapping[str, Any]) -> Cell:
    """A value with its interval, where it has one."""
    text = figure(row["value"])
    return Cell(text if row["low"] is None else f"{text} ({interval(row['low'], row['high'], 3)})", row["value"])


def collapse_table(quality: pl.DataFrame, caption: str) -> Table:
    """Pairs of questions that are answered as one, with the share of tasks in which both got one score."""
    flagged = quality.filter((pl.col("scope") == "questions") & pl.col("flag").is_not_null())
    heads = (Head("Questions", "name"), Head("Same score"), Head("Tasks"))
    rows = tuple(
        (Cell(name.replace("_", " ").replace("|", "and")), Cell(figure(value), value), Cell(counted(n), n))
        for name, value, n in flagged.select("name", "value", "n").iter_rows()
    )
    return Table("collapse", caption, heads, rows)


def flag_table(quality: pl.DataFrame, caption: str) -> Table:
    """Raters, and single answers, flagged by each rule, counted."""
    flagged = quality.filter(pl.col("scope").is_in(list(_FLAGGED)) & pl.col("flag").is_not_null())
    names = pl.col("name").n_unique().alias("names")
    counts = flagged.group_by("flag", "effect", "scope").agg(names).sort("flag", "effect", "scope")
    heads = (Head("Rule", "name"), Head("Effect", "text"), Head("Of", "text"), Head("Flagged"))
    rows = tuple(
        (Cell(flag.replace("_", " ")), Cell(effect or "report"), Cell(_FLAGGED[scope]), Cell(counted(n), n))
        for flag, effect, scope, n in counts.iter_rows()
    )
    return Table("flags", caption, heads, rows)


def exclusion_table(exclusions: Mapping[str, int], caption: str) -> Table:
    """Answers left out, by rule."""
    rows = tuple((Cell(rule.replace("_", " ")), Cell(counted(n), n)) for rule, n in sorted(exclusions.items()))
    return Table("exclusions", caption, (Head("Rule", "name"), Head("Answers left out")), rows)
