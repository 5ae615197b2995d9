"""The rows of a board with what the page's sections share: captions, labels, tables and charts of one fit."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from s2s_assets.leaderboard.board import headline
from s2s_assets.leaderboard.charts import ForestRow, Matrix, forest, heatmap
from s2s_assets.leaderboard.inputs import BoardInputs
from s2s_assets.leaderboard.layout import Table, captioned
from s2s_assets.leaderboard.numbers import fixed, interval, signed
from s2s_assets.leaderboard.page_tables import board_table, withheld
from s2s_assets.ranking import ENGINES, Diagnostics, adaptive_votes, diagnostics_of, disagreement
from s2s_assets.study import OVERALL

MAP_LIMIT = 24
"""Entities up to which a heat map can be read."""


@dataclass(frozen=True)
class Sources:
    """The rows of a board, with what the sections share."""

    inputs: BoardInputs
    rows: pl.DataFrame
    pairs: pl.DataFrame

    @cached_property
    def lead(self) -> pl.DataFrame:
        """The headline's rows; never empty."""
        return headline(self.rows, self.inputs.facts.headline_variant)

    @property
    def variant(self) -> str:
        """The variant that the boards are shown for."""
        return str(self.lead["variant"][0])

    @property
    def by(self) -> str:
        """What the headline ranks."""
        return str(self.lead["by"][0])

    @property
    def rubric(self) -> str:
        """What the headline rates."""
        return str(self.lead["rubric"][0])

    @cached_property
    def adaptive(self) -> tuple[int, int] | None:
        """Adaptive votes of the headline's board, and all of its votes; None where it is not fitted without them."""
        return adaptive_votes(
            self.inputs.fits.filter(
                (pl.col("rubric") == self.rubric) & (pl.col("by") == self.by) & (pl.col("slice_dimension") == "all")
            )
        )

    def caption(self, text: str) -> str:
        """A caption that says what kind of ratings the table is made from."""
        return captioned(text, simulated=self.inputs.facts.simulated)

    def board(self, rubric: str, by: str, dimension: str = "all", variant: str = "") -> pl.DataFrame:
        """The rows of one rubric, ranked by one thing, in a variant: the headline's, where none is named."""
        return self.rows.filter(
            (pl.col("rubric") == rubric)
            & (pl.col("by") == by)
            & (pl.col("variant") == (variant or self.variant))
            & (pl.col("slice_dimension") == dimension)
        )

    def label(self, rubric: str) -> str:
        """A rubric's name for people; a foreign one as it is."""
        if rubric != OVERALL and rubric not in self.inputs.facts.rubrics:
            return rubric
        return f"{rubric[:1].upper()}{rubric[1:].replace('_', ' ')}"

    @property
    def families_are_models(self) -> bool:
        """Whether every family is one model, so that boards by family repeat those by model."""
        families = self.inputs.facts.families
        return len(set(families.values())) == len(families)

    def tables(
        self, table_id: str, text: str, rows: pl.DataFrame, *, full: bool = False, points: bool = False
    ) -> tuple[Table, ...]:
        """A table a fit (see `board_table`): one, or one a group where the comparisons fall apart."""
        groups = rows.partition_by("fit", maintain_order=True)
        tables = []
        for i, group in enumerate(groups):
            part = f", group {i + 1} of {len(groups)} (never compared with one another)" if len(groups) > 1 else ""
            name = table_id if i == 0 else f"{table_id}-{i + 1}"
            note = self.note(str(group["fit"][0]))
            caption = self.caption(text + part)
            tables.append(board_table(name, caption, group.to_dicts(), full=full, points=points, note=note))
        return tuple(tables)

    def diagnostics(self, fit: str) -> Diagnostics | None:
        """What is known about a fit beside its ranking."""
        return diagnostics_of(self.inputs.cis, fit)

    def disagreement(self, fit: str) -> str:
        """Why another engine agrees less than expected with a fit; nothing where none does."""
        row = self.inputs.fits.row(by_predicate=pl.col("fit") == fit, named=True)
        found = self.diagnostics(fit)
        ends = self.pairs.filter(pl.col("fit") == fit).select("a", "b", "simultaneous_low", "simultaneous_high")
        return (
            disagreement(
                {engine: row[f"spearman_{engine}"] for engine in ENGINES},
                () if found is None else found.order_differences,
                {(a, b): (low, high) for a, b, low, high in ends.iter_rows()},
                name=lambda entity: self.inputs.facts.name(row["by"], entity),
            )
            or ""
        )

    def note(self, fit: str) -> str:
        """What has to be said about a fit that is not plain."""
        row = self.inputs.fits.row(by_predicate=pl.col("fit") == fit, named=True)
        doubts = self.inputs.cis.filter(pl.col("fit") == fit)["reason"] if "reason" in self.inputs.cis.columns else ()
        if row["status"] == "disconnected":
            said = ["no comparison links this group to the others: ranks hold within it only"]
        else:
            said = [row["reason"]] if row["reason"] else []
        notes = "; ".join((*said, *filter(None, doubts)))
        return f"Note: {notes}." if notes else ""


def forest_boards(sources: Sources) -> dict[str, pl.DataFrame]:
    """The rows of each rubric's forest plot: its board, or its slices one below the other where it has no board."""
    ids = sources.rows.filter(pl.col("by") == sources.by)["rubric"].unique(maintain_order=True)
    dimension = str(sources.lead["slice_dimension"][0])
    boards = {rubric: sources.board(rubric, sources.by, dimension) for rubric in ids}
    return {rubric: rows for rubric, rows in boards.items() if len(rows)}


def forest_of(title: str, rows: pl.DataFrame) -> str:
    """The forest plot of a board."""
    lines = [
        ForestRow(
            r["display_name"] if r["slice_dimension"] == "all" else f"{r['slice_value']}: {r['display_name']}",
            r["elo"],
            r["ci_low"],
            r["ci_high"],
            r["bound"],
        )
        for r in rows.iter_rows(named=True)
    ]
    return forest(lines, title)


def summary(label: str, rows: pl.DataFrame) -> str:
    """One line for a folded board: who leads, and how surely."""
    top = rows.row(0, named=True)
    if top["elo"] is None:
        return label
    shared = top["rank_high"] is not None and top["rank_high"] > top["rank_low"]
    rank = f", rank range {top['rank_low']}–{top['rank_high']}" if shared else ""
    elo = f"{fixed(top['elo'])} ({interval(top['ci_low'], top['ci_high'])})"
    return f"{label}: {top['display_name']} leads with {elo}{rank}"


def profile(sources: Sources, boards: dict[str, pl.DataFrame], title: str) -> str:
    """A heat map of boards × entities: Elo above or below the mean of each board; empty where all are withheld."""
    lead = sources.lead
    entities, names = lead["entity"].to_list()[:MAP_LIMIT], tuple(lead["display_name"].to_list()[:MAP_LIMIT])
    elo = {
        b: {r["entity"]: None if withheld(r) else r["elo"] for r in rows.iter_rows(named=True)}
        for b, rows in boards.items()
    }
    values = tuple(
        tuple(None if (e := elo[b].get(entity)) is None else round(e - 1000, 2) for b in boards) for entity in entities
    )
    if all(v is None for row in values for v in row):
        return ""
    texts = tuple(tuple("" if v is None else signed(v) for v in row) for row in values)
    if len(boards) > len(entities):
        values, texts = tuple(zip(*values, strict=True)), tuple(zip(*texts, strict=True))
        return heatmap(Matrix(tuple(sources.label(b) for b in boards), names, values, texts), sources.caption(title))
    return heatmap(Matrix(names, tuple(sources.label(b) for b in boards), values, texts), sources.caption(title))


def facts_line(sources: Sources) -> dict[str, Any]:
    """The counts of the headline's fit."""
    lead = sources.lead
    row = sources.inputs.fits.row(by_predicate=pl.col("fit") == lead["fit"][0], named=True)
    return {k: row[k] for k in ("n_ratings", "n_raters", "n_prompts")}
