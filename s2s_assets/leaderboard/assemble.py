"""From the tables of the stages before to a board: every file as bytes, ready to be stored as a draft and sealed later.

Pure. `data_hash` is over the version of the ratings snapshot and the rows as published; it names the release.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

import polars as pl

from s2s_assets.leaderboard import columns
from s2s_assets.leaderboard.board import VARIANTS, leaderboard_rows, pairwise_rows, published
from s2s_assets.leaderboard.changes import compare
from s2s_assets.leaderboard.content import Sources, facts_line, forest_of, sections
from s2s_assets.leaderboard.inputs import BoardInputs
from s2s_assets.leaderboard.numbers import counted
from s2s_assets.leaderboard.page import Stamp, render
from s2s_assets.leaderboard.png import svg_to_png
from s2s_assets.leaderboard.write import document_bytes, table_files
from s2s_assets.study import ReleaseError, digest

ANCHOR = "Elo = 1000 + (400 / ln 10) s; the mean over the published entities of each fit is 1000"
CONTENT_FILE = "board.json"
"""The draft's page as data; a draft has it, a release does not."""
PNG_WIDTH = 1200


@dataclass(frozen=True)
class Board:
    """A board: the files of its draft, and what a release is made from."""

    files: Mapping[str, bytes]
    """Name → bytes: page, tables, method, charts, and the page's content."""
    data_hash: str
    data_date: date
    headline: tuple[Mapping[str, Any], ...]
    """The headline's rows."""
    leaderboard: pl.DataFrame
    """The published rows, as in leaderboard.parquet."""

    @property
    def release(self) -> str:
        """The name that a release of this board has."""
        return f"{self.data_date.isoformat()}-{self.data_hash[:8]}"

    @property
    def forest_svg(self) -> str:
        """The headline's forest plot."""
        return self.files["forest.svg"].decode()


def build_board(inputs: BoardInputs) -> Board:
    """Everything that is published of a board.

    Raises:
        ReleaseError: an entity, rubric or slice that is not of the study, or no fit at all.
    """
    clusters = tuple(inputs.clusters.members) if inputs.clusters else ()
    rows = leaderboard_rows(inputs.facts, inputs.fits, inputs.cis, inputs.coverage, clusters)
    if rows.is_empty():
        raise ReleaseError("no fit ranks anything: the board would be empty; import ratings first")
    pairs = pairwise_rows(inputs.facts, inputs.fits, inputs.cis, clusters)
    sources = Sources(inputs, rows, pairs)
    data_hash = digest([inputs.run.ratings_version, published(rows).to_dicts(), published(pairs).to_dicts()])
    page, parts = page_facts(sources, data_hash), [asdict(s) for s in sections(sources)]
    methodology = method_facts(sources, data_hash)
    changes = compare(published(rows).to_dicts(), methodology, inputs.previous, inputs.facts.retired)
    draft = render(page, parts, Stamp(draft=True), changes.page(sources.caption))
    files = {
        "index.html": draft,
        **table_files("leaderboard", published(rows)),
        **table_files("pairwise", published(pairs)),
        "methodology.json": document_bytes(methodology),
        "schema.json": document_bytes(columns.describe()),
        **chart_files(sources),
        CONTENT_FILE: document_bytes({"page": page, "sections": parts, "retired": sorted(inputs.facts.retired)}),
    }
    lead = tuple(published(sources.lead).to_dicts())
    return Board(files, data_hash, inputs.run.data_date, lead, published(rows))


def read_board(files: Mapping[str, bytes]) -> Board:
    """A board from the stored files of its draft.

    Raises:
        ReleaseError: a file of the draft is missing.
    """
    try:
        method = json.loads(files["methodology.json"])
        rows = pl.DataFrame(json.loads(files["leaderboard.json"]), schema=columns.schema(columns.LEADERBOARD))
    except KeyError as error:
        raise ReleaseError(f"the draft has no {error}; materialize `leaderboard` again") from error
    lead = rows.join(pl.DataFrame([method["headline"]]), on=list(method["headline"]), how="semi", maintain_order="left")
    return Board(files, method["data_hash"], date.fromisoformat(method["data_date"]), tuple(lead.to_dicts()), rows)


def page_facts(sources: Sources, data_hash: str) -> dict[str, Any]:
    """What the page says beside its sections."""
    inputs, run = sources.inputs, sources.inputs.run
    said = facts_line(sources)
    nouns = {"n_ratings": "ratings", "n_raters": "raters", "n_prompts": "prompts"}
    return {
        "title": inputs.facts.title,
        "simulated": inputs.facts.simulated,
        "counts": [[noun, counted(said[key])] for key, noun in nouns.items()],
        "data_date": run.data_date.isoformat(),
        "data_hash": data_hash,
        "method_version": run.method_version,
        "code_version": run.code_version,
        "resamples": f"{run.resamples:,}",
        "seed": run.seed,
        "licence": inputs.facts.licence,
        "citation": inputs.citation,
        "links": [
            ["methodology.json", "method and versions"],
            ["schema.json", "meaning of the columns"],
            ["forest.svg", "forest plot (SVG)"],
            ["forest.png", "forest plot (PNG)"],
        ],
    }


def method_facts(sources: Sources, data_hash: str) -> dict[str, Any]:
    """methodology.json: versions, seed, what was ranked and how."""
    inputs, run, facts = sources.inputs, sources.inputs.run, sources.inputs.facts
    keys = ("rubric", "by", "slice_dimension")
    boards = inputs.fits.select(keys).unique(maintain_order=True).to_dicts()
    return {
        "study": facts.study,
        "title": facts.title,
        "method_version": run.method_version,
        "seed": run.seed,
        "resamples": run.resamples,
        "data_hash": data_hash,
        "data_date": run.data_date.isoformat(),
        "ratings_version": run.ratings_version,
        "code_version": run.code_version,
        "cleaning_version": run.cleaning_version,
        "anchor": ANCHOR,
        "ratings": "simulated" if facts.simulated else "human",
        "headline_variant": facts.headline_variant,
        "headline": sources.lead.select("rubric", "by", "slice_dimension", "variant").row(0, named=True),
        "engine": "ordinal Bradley-Terry, thresholds symmetric about 0",
        "cross_checks": ["Massey", "partial-margin Bradley-Terry"],
        "interval": "percentile bootstrap over raters and prompts, product weights, 2.5 % to 97.5 %",
        "variants": [v for v in VARIANTS if v in set(inputs.fits["variant"])],
        "families": dict(sorted(facts.families.items())),
        "rubrics": dict(facts.rubrics),
        "boards": boards,
        "exclusions": dict(sorted(inputs.exclusions.items())),
    }


def chart_files(sources: Sources) -> dict[str, bytes]:
    """The headline's forest plot as SVG and PNG."""
    title = f"{sources.inputs.facts.title}: {sources.label(sources.rubric)}"
    svg = forest_of(sources.caption(title), sources.lead)
    return {"forest.svg": svg.encode(), "forest.png": svg_to_png(svg, PNG_WIDTH)}
