"""From the tables of the stages before to a board: every file as bytes, ready to be stored as a draft and sealed later.

Pure. `data_hash` is over the version of the ratings snapshot and the rows as published; it names the release.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

import polars as pl

from s2s_assets.drawing import png_width, svg_to_png
from s2s_assets.leaderboard import columns
from s2s_assets.leaderboard.board import FIT_KEYS, VARIANTS, leaderboard_rows, pairwise_rows, published
from s2s_assets.leaderboard.changes import compare
from s2s_assets.leaderboard.content import sections
from s2s_assets.leaderboard.inputs import BoardInputs
from s2s_assets.leaderboard.numbers import counted
from s2s_assets.leaderboard.page import Stamp, render
from s2s_assets.leaderboard.pair_maps import pair_maps
from s2s_assets.leaderboard.sources import Sources, facts_line, forest_boards, forest_of
from s2s_assets.leaderboard.write import document_bytes, safe_name, table_files
from s2s_assets.ranking import DIAGNOSTICS_VERSION
from s2s_assets.study import ReleaseError, digest

ANCHOR = "Elo = 1000 + (400 / ln 10) s; the mean over the published entities of each fit is 1000"
CONTENT_FILE = "board.json"
"""The draft's page as data; a draft has it, a release does not."""


@dataclass(frozen=True)
class Board:
    """A board: the files of its draft, and what a release is made from."""

    files: Mapping[str, bytes]
    """Name → bytes: page, tables, method, charts, and the page's content."""
    data_hash: str
    data_date: date | None
    headline: tuple[Mapping[str, Any], ...]
    """The headline's rows."""
    leaderboard: pl.DataFrame
    """The published rows, as in leaderboard.parquet."""

    @property
    def release(self) -> str:
        """The name that a release of this board has.

        Raises:
            ReleaseError: the data have no date.
        """
        if self.data_date is None:
            raise ReleaseError("the answers have no date, which a release is named by; import them with submitted_at")
        return f"{self.data_date.isoformat()}-{self.data_hash[:8]}"


def build_board(inputs: BoardInputs, *, draft: bool = True, every_forest: bool = False) -> Board:
    """Everything that is published of a board.

    Args:
        inputs: tables and facts.
        draft: whether the page says that it is one.
        every_forest: a forest plot of every rubric, not only of the headline's.

    Raises:
        ReleaseError: an entity, rubric or slice that is not of the study, or no fit at all.
    """
    clusters = tuple(inputs.clusters.members) if inputs.clusters else ()
    rows = leaderboard_rows(inputs.facts, inputs.fits, inputs.cis, inputs.coverage, clusters)
    if rows.is_empty():
        raise ReleaseError("no fit ranks anything, so the board would be empty: bring ratings of two names or more")
    pairs = pairwise_rows(inputs.facts, inputs.fits, inputs.cis, clusters)
    sources = Sources(inputs, rows, pairs)
    data_hash = digest([inputs.run.ratings_version, published(rows).to_dicts(), published(pairs).to_dicts()])
    charts, shown = chart_files(sources, every_forest)
    page, parts = page_facts(sources, data_hash, shown), [asdict(s) for s in sections(sources)]
    methodology = method_facts(sources, data_hash)
    changes = compare(published(rows).to_dicts(), methodology, inputs.previous, inputs.facts.retired)
    html = render(page, parts, Stamp(draft=draft), changes.page(simulated=inputs.facts.simulated))
    files = {
        "index.html": html,
        **table_files("leaderboard", published(rows)),
        **table_files("pairwise", published(pairs)),
        "methodology.json": document_bytes(methodology),
        "schema.json": document_bytes(columns.describe()),
        **charts,
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
    day = date.fromisoformat(method["data_date"]) if method["data_date"] else None
    return Board(files, method["data_hash"], day, tuple(lead.to_dicts()), rows)


def page_facts(sources: Sources, data_hash: str, charts: Mapping[str, str]) -> dict[str, Any]:
    """What the page says beside its sections; `charts` are the files with charts and what each is of."""
    inputs, run = sources.inputs, sources.inputs.run
    said = facts_line(sources)
    nouns = {"n_ratings": "ratings", "n_raters": "raters", "n_prompts": "prompts"}
    return {
        "title": inputs.facts.title,
        "simulated": inputs.facts.simulated,
        "covered": inputs.coverage is not None,
        "counts": [[noun, counted(said[key])] for key, noun in nouns.items()],
        "data_date": run.data_date.isoformat() if run.data_date else None,
        "data_hash": data_hash,
        "method_version": run.method_version,
        "code_version": run.code_version,
        "resamples": f"{run.resamples:,}",
        "seed": run.seed,
        "licence": inputs.facts.licence,
        "citation": inputs.citation,
        "links": [["methodology.json", "method and versions"], ["schema.json", "meaning of the columns"]]
        + [[name, f"{said} ({name.rpartition('.')[2].upper()})"] for name, said in charts.items()],
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
        "data_date": run.data_date.isoformat() if run.data_date else None,
        "ratings_version": run.ratings_version,
        "code_version": run.code_version,
        "cleaning_version": run.cleaning_version,
        "anchor": ANCHOR,
        "ratings": "simulated" if facts.simulated else "human",
        "headline_variant": facts.headline_variant,
        "headline": sources.lead.select(FIT_KEYS).row(0, named=True),
        "engine": "ordinal Bradley-Terry, thresholds symmetric about 0",
        "cross_checks": ["Massey", "partial-margin Bradley-Terry"],
        "interval": "percentile bootstrap over raters and prompts, product weights, 2.5 % to 97.5 %",
        "told_apart": "max-t intervals of all differences from the two-way cluster sandwich, 95 % together",
        "diagnostics_version": DIAGNOSTICS_VERSION,
        "variants": [v for v in VARIANTS if v in set(inputs.fits["variant"])],
        "adaptive_votes": None if sources.adaptive is None else sources.adaptive[0],
        "votes": None if sources.adaptive is None else sources.adaptive[1],
        "families": dict(sorted(facts.families.items())),
        "rubrics": dict(facts.rubrics),
        "boards": boards,
        "exclusions": dict(sorted(inputs.exclusions.items())),
    }


def chart_files(sources: Sources, every: bool) -> tuple[dict[str, bytes], dict[str, str]]:
    """Forest plots and heat maps of pairs as SVG and PNG, of the headline's rubric or of every one; what each shows."""
    boards = forest_boards(sources)
    rubrics = list(boards) if every else [sources.rubric]
    drawn = []
    for rubric in rubrics:
        title = sources.caption(f"{sources.inputs.facts.title}: {sources.label(rubric)}")
        said = f"forest plot, {sources.label(rubric)}"
        drawn.append((f"forest-{safe_name(rubric)}", said, forest_of(title, boards[rubric])))
    drawn += [(name, f"pairs, {of}", svg) for name, of, svg in pair_maps(sources, rubrics)]
    files: dict[str, bytes] = {}
    for name, _, svg in drawn:
        files |= {f"{name}.svg": svg.encode(), f"{name}.png": svg_to_png(svg, png_width(svg))}
    return files, {f"{name}.{kind}": said for name, said, _ in drawn for kind in ("svg", "png")}
