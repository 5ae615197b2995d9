"""The page's sections, put together from the published rows: pure, no HTML.

The headline stands first: overall by model. Then what it is made of: configs, families, voices, thinking levels, every
rubric, every slice, the clusters, the cross-checks, the raters, the configs' settings. Boards are shown for the headline's variant; all
variants are in the downloads.
"""

from dataclasses import astuple

import polars as pl

from s2s_assets.leaderboard import cross_checks, diagnosis
from s2s_assets.leaderboard.layout import Cell, Head, Part, Section, Table
from s2s_assets.leaderboard.numbers import counted
from s2s_assets.leaderboard.page_tables import (
    NOUNS,
    measure_table,
    pair_table,
    slice_table,
    variant_table,
)
from s2s_assets.leaderboard.pair_maps import pair_parts
from s2s_assets.leaderboard.sources import Sources, forest_of, profile, summary
from s2s_assets.leaderboard.write import safe_name
from s2s_assets.ranking import MIN_SLICE_RATERS
from s2s_assets.study import DIMENSIONS, INFERENCE_COLUMNS, percent, plural


def sections(sources: Sources) -> tuple[Section, ...]:
    """All sections of the page, the headline first; those without data are left out."""
    made: list[Section | None] = [
        overall(sources),
        *(by_section(sources, by) for by in ("config", "family", "voice", "thinking")),
        rubrics(sources),
        slices(sources),
        clusters(sources),
        diagnostics(sources),
        checks(sources),
        others(sources),
        raters(sources),
        settings(sources),
    ]
    return tuple(s for s in made if s is not None)


def overall(sources: Sources) -> Section:
    """The headline: its board, who beats whom, and whatever the caller has to say."""
    noun = NOUNS.get(sources.by, "name").lower()
    title, lead = f"{sources.label(sources.rubric)} by {noun}", sources.lead
    dimension, value = lead.select("slice_dimension", "slice_value").row(0)
    title = title if dimension == "all" else f"{title}, {dimension} {value}"
    answers = {"all": "all answers", "cleaned": "flagged raters left out", "baseline": "without adaptive votes"}
    text = f"{title}, {answers.get(sources.variant, sources.variant)}"
    tables = sources.tables("board", text, lead, full=True, points=True)
    said, without = adaptive(sources, title)
    parts = [Part(tables=tables), *without, *pair_parts(sources, lead)]
    return Section("overall", title, (*said, *sources.inputs.paragraphs), tuple(parts))


def adaptive(sources: Sources, title: str) -> tuple[tuple[str, ...], tuple[Part, ...]]:
    """How many of the headline's votes are adaptive, and its board without them; nothing where none is."""
    asked, everything = sources.adaptive or (0, 0)
    if not asked:
        return (), ()
    share = percent(asked / everything, 1)
    said = f"{counted(asked)} of {plural(everything, 'vote')} ({share}) were asked for beyond the plan, where intervals were widest"
    if sources.variant == "baseline":
        return (f"{said}; they are left out here.",), ()
    rows = sources.board(sources.rubric, sources.by, variant="baseline")
    tables = sources.tables("without-adaptive-table", f"{title}, without adaptive votes", rows)
    part = Part("without-adaptive", summary("Without the adaptive votes", rows), tables=tables)
    return (f"{said} (adaptive votes). The board without them stands below.",), (part,)


def by_section(sources: Sources, by: str) -> Section | None:
    """The headline's rubric ranked by something finer or coarser than the headline is."""
    rows = sources.board(sources.rubric, by)
    repeated = by == "family" and sources.families_are_models
    if by == sources.by or rows.is_empty() or repeated:
        return None
    titles = {"config": "By config", "family": "By model family", "voice": "By voice", "thinking": "By thinking level"}
    said = {
        "config": "A config is one model with one voice and one thinking level: what was really asked and heard.",
        "family": "Models of one family, pooled as one.",
        "voice": "Each model's voices on their own, its thinking levels pooled.",
        "thinking": "Each model's thinking levels on their own, its voices pooled.",
    }[by]
    chart = forest_of(sources.caption(f"{sources.label(sources.rubric)}, {titles[by].lower()}"), rows)
    text = f"{sources.label(sources.rubric)}, {titles[by].lower()}"
    tables = sources.tables(f"by-{by}-table", text, rows, full=by == "config")
    parts = (Part(chart=chart), Part(tables=tables)) if by == "config" else (Part(tables=tables),)
    return Section(f"by-{by}", titles[by], (said,), (*parts, *within_models(sources, by, rows)), weight=1)


def within_models(sources: Sources, by: str, rows: pl.DataFrame) -> list[Part]:
    """The voices, or the thinking levels, of one model compared with one another."""
    if by not in {"voice", "thinking"}:
        return []
    model = [pl.col(side).str.split("|").list.first() for side in ("a", "b")]
    own = sources.pairs.filter(pl.col("fit").is_in(rows["fit"].unique().to_list()) & (model[0] == model[1]))
    if own.is_empty():
        return []
    what = {"voice": "voices", "thinking": "thinking levels"}[by]
    caption = sources.caption(f"The {what} of each model compared, paired intervals")
    table = pair_table(f"within-{by}", caption, own.to_dicts(), lambda e: sources.inputs.facts.name(by, e))
    return [
        Part(
            f"within-{by}-part",
            f"The {what} of one model beside each other: {plural(len(own), 'pair')}",
            tables=(table,),
        )
    ]


def rubrics(sources: Sources) -> Section | None:
    """Every question: a profile of all models, and each question's board."""
    facts = sources.inputs.facts
    ids = sources.rows.filter(pl.col("by") == sources.by)["rubric"].unique(maintain_order=True)
    named = set(sources.inputs.clusters.members) if sources.inputs.clusters else set()
    boards = {r: sources.board(r, sources.by) for r in ids if r not in named}
    boards = {r: rows for r, rows in boards.items() if not rows.is_empty()}
    if set(boards) <= {sources.rubric}:
        return None
    parts = [Part("profile", chart=profile(sources, boards, "Elo minus 1000, by question and name"))]
    for rubric, rows in boards.items():
        if rubric == sources.rubric:
            continue
        text = f"{sources.label(rubric)} by {NOUNS.get(sources.by, 'name').lower()}"
        tables = sources.tables(f"rubric-{safe_name(rubric)}-table", text, rows)
        asked = facts.rubrics.get(rubric, "")
        parts.append(
            Part(
                f"rubric-{safe_name(rubric)}",
                summary(sources.label(rubric), rows),
                (asked,) if asked else (),
                tables=tables,
            )
        )
    said = "Each question is a fit of its own with its own zero: compare names within a question, not values between questions."
    return Section("rubrics", "Every question", (said,), tuple(parts), weight=3)


def slices(sources: Sources) -> Section | None:
    """The headline within parts of the answers: kinds of prompts, and what else they are sliced by."""
    parts, others = [], False
    for dimension in sources.rows["slice_dimension"].unique(maintain_order=True):
        rows = sources.board(sources.rubric, sources.by, dimension)
        if dimension != "all" and not rows.is_empty():
            parts.append(slice_part(sources, dimension, rows))
            others = others or dimension not in DIMENSIONS
    said = (
        f"The same fit on {'a part of the answers' if others else 'the prompts of one kind'}. Slices share ratings with the whole but have their own zero, and "
        "their intervals are wider: most of them do not tell neighbours apart."
    )
    title = "Slices" if others else "Kinds of prompts"
    return Section("slices", title, (said,), tuple(parts), weight=4) if parts else None


def slice_part(sources: Sources, dimension: str, rows: pl.DataFrame) -> Part:
    """One attribute: profile and boards of the slices that have enough ratings and one ranking."""
    floor = sources.inputs.facts.min_slice_ratings
    fits = sources.inputs.fits.filter(pl.col("fit").is_in(rows["fit"].unique().to_list()))
    few = (pl.col("n_ratings") < floor) | (pl.col("n_raters") < MIN_SLICE_RATERS)
    thin = fits.filter(few)
    split = fits.filter((pl.col("status") == "disconnected") & ~few)
    shown = rows.filter(~pl.col("fit").is_in([*thin["fit"], *split["fit"]]))
    least = f"fewer than {plural(floor, 'rating')} or {plural(MIN_SLICE_RATERS, 'rater')}"
    notes = [f"Insufficient data ({least}): {_listed(thin)}."] if len(thin) else []
    missing = sorted(sources.inputs.facts.slice_values(dimension) - set(fits["slice_value"]))
    notes += [f"No board (fewer than {plural(floor, 'rating')}): {', '.join(missing)}."] if missing else []
    notes += [f"No single ranking, the comparisons fall apart: {_listed(split)}."] if len(split) else []
    tested = (diagnosis.slice_note(sources.diagnostics(fit)) for fit in shown["fit"].unique(maintain_order=True))
    notes += [note for note in dict.fromkeys(tested) if note]
    if shown.is_empty():
        return Part(f"slice-{dimension}", dimension, tuple(notes))
    boards = {str(g["slice_value"][0]): g for g in shown.partition_by("slice_value", maintain_order=True)}
    chart = profile(sources, boards, f"Elo minus 1000, by {dimension} and name")
    caption = sources.caption(f"{sources.label(sources.rubric)} by {dimension}")
    table = slice_table(f"slice-{dimension}-table", caption, shown.to_dicts())
    return Part(
        f"slice-{dimension}",
        f"By {dimension}: {plural(len(boards), 'slice')}",
        tuple(notes),
        chart,
        (table,),
    )


def _listed(fits: pl.DataFrame) -> str:
    pairs = fits.group_by("slice_value", maintain_order=True).agg(pl.col("n_ratings").sum()).sort("slice_value")
    return ", ".join(f"{value} ({n})" for value, n in pairs.iter_rows())


def clusters(sources: Sources) -> Section | None:
    """The groups of questions, what they are worth, and their boards."""
    found = sources.inputs.clusters
    if found is None:
        return None
    parts: list[Part] = []
    if found.figures:
        caption = sources.caption("How far the grouping can be relied on")
        parts.append(Part(tables=(measure_table("clustering", caption, ("Measure", "Value"), found.figures),)))
    for name, members in found.members.items():
        rows = sources.board(name, sources.by)
        tables = sources.tables(f"cluster-{safe_name(name)}-table", f"Cluster {name}", rows) if len(rows) else ()
        text = "Questions: " + ", ".join(sources.label(m) for m in members) + "."
        parts.append(
            Part(
                f"cluster-{safe_name(name)}",
                f"{name[:1].upper()}{name[1:]}: {plural(len(members), 'question')}",
                (text,),
                tables=tables,
            )
        )
    said = (
        "Questions that rank the models alike, once what all of them share (the first principal component) and the noise "
        "they share (same raters, same prompts) are taken out. A grouping counts for little where the reliability is "
        "not far above chance."
    )
    return Section("clusters", "Groups of questions", tuple(filter(None, (said, found.note))), tuple(parts), weight=2)


def diagnostics(sources: Sources) -> Section | None:
    """How well the headline's fit describes its ratings, and what it hangs on."""
    lead = sources.lead
    found = sources.diagnostics(str(lead["fit"][0]))
    if found is None:
        return None

    def name(entity: str) -> str:
        return sources.inputs.facts.name(sources.by, entity)

    tables = [diagnosis.figures_table(found, sources.caption("The headline's fit in figures"), name)]
    if found.scores:
        tables.append(diagnosis.score_table(found, sources.caption("Answers by score, observed and expected")))
    misfits = diagnosis.misfit_table(found, sources.caption("Pairs whose own answers are farthest from the fit"), name)
    parts = [Part(tables=tuple(t for t in tables if t.rows))]
    parts += [Part("misfits", "Largest misfits", tables=(misfits,))] if misfits.rows else []
    said = (
        "Whether the model describes the answers, where the uncertainty comes from, and what the ranking hangs on. "
        "Removals are estimated in one step, without a fit anew."
    )
    return Section("diagnostics", "How well the fit holds", (said,), tuple(parts)) if parts[0].tables else None


def checks(sources: Sources) -> Section | None:
    """The other engines and the other variants beside the headline."""
    fits, lead, facts = sources.inputs.fits, sources.lead, sources.inputs.facts
    engines = cross_checks.engine_table(
        fits, str(lead["fit"][0]), facts, sources.caption("The headline's order by each engine")
    )
    spearman = cross_checks.spearman_table(
        sources, sources.caption("Spearman's correlation of each engine with the ordinal fit")
    )
    parts = [Part(tables=(engines,)), *turned_round(sources)]
    parts.append(Part("spearman-all", "Agreement on every board", tables=(spearman,)))
    whole = sources.rows.filter(
        (pl.col("rubric") == sources.rubric) & (pl.col("by") == sources.by) & (pl.col("slice_dimension") == "all")
    )
    if whole["variant"].n_unique() > 1:
        caption = sources.caption("The headline on other choices of answers")
        parts.append(
            Part("variants", "Other choices of answers", tables=(variant_table("variant", caption, whole.to_dicts()),))
        )
    low = cross_checks.below_expected(fits, sources.variant)
    headline = cross_checks.agreement_note(sources, str(lead["fit"][0]))
    said = (
        "Two simpler engines rank the same answers: Massey (least squares on the scores) and a Bradley-Terry fit that "
        "reads a score as a partial win. Agreement of 0.99 or more is expected; less happens where several names lie close. "
        f"Boards below it here: {low}."
    )
    return Section("checks", "Cross-checks", tuple(filter(None, (said, headline))), tuple(parts))


def turned_round(sources: Sources) -> list[Part]:
    """Pairs of the headline that another engine orders the other way."""
    found = sources.diagnostics(str(sources.lead["fit"][0]))
    if found is None or not found.order_differences:
        return []
    caption = sources.caption("Pairs of the headline that another engine orders the other way")
    table = diagnosis.order_table(found, caption, lambda e: sources.inputs.facts.name(sources.by, e))
    return [
        Part(
            "turned-round", f"{plural(len(table.rows), 'time')} another engine orders a pair otherwise", tables=(table,)
        )
    ]


def others(sources: Sources) -> Section | None:
    """Boards that no other section has: a rubric by family, and whatever the study asks for beside the standard ones."""
    named = list(sources.inputs.clusters.members) if sources.inputs.clusters else []
    whole, lead_rubric, lead_by = (
        pl.col("slice_dimension") == "all",
        pl.col("rubric") == sources.rubric,
        pl.col("by") == sources.by,
    )
    shown = (whole & (lead_rubric | lead_by)) | (lead_rubric & lead_by) | pl.col("rubric").is_in(named)
    shown = shown | (pl.col("by") == "family") if sources.families_are_models else shown
    rest = sources.rows.filter((pl.col("variant") == sources.variant) & ~shown)
    parts = []
    for rows in rest.partition_by("rubric", "by", "slice_dimension", "slice_value", maintain_order=True):
        rubric, by, dimension, value = rows.select("rubric", "by", "slice_dimension", "slice_value").row(0)
        text = f"{sources.label(rubric)} by {NOUNS.get(by, by).lower()}"
        text = text if dimension == "all" else f"{text}, {dimension} {value}"
        anchor = safe_name(f"{rubric}/{by}/{dimension}/{value}")
        tables = sources.tables(f"other-{anchor}-table", text, rows)
        parts.append(Part(f"other-{anchor}", summary(text, rows), tables=tables))
    return Section("others", "Other boards", (), tuple(parts), weight=5) if parts else None


def raters(sources: Sources) -> Section | None:
    """Agreement, order effect, cleaning, and the answers left out."""
    quality, exclusions = sources.inputs.quality, sources.inputs.exclusions
    rubrics_of = list(sources.inputs.facts.rubrics)
    tables: list[Table] = []
    if quality is not None and not quality.is_empty():
        tables += [
            cross_checks.quality_table(quality, rubrics_of, sources.caption("Agreement and order effect")),
            cross_checks.collapse_table(quality, sources.caption("Questions answered as one")),
            cross_checks.flag_table(quality, sources.caption("Raters and answers flagged, by rule")),
        ]
    if exclusions:
        tables.append(cross_checks.exclusion_table(exclusions, sources.caption("Answers left out, by rule")))
    kept = tuple(t for t in tables if t.rows)
    return Section("raters", "The raters", (), (Part(tables=kept),)) if kept else None


def settings(sources: Sources) -> Section | None:
    """With what each config was asked."""
    facts = sources.inputs.facts
    if not facts.settings:
        return None
    heads = tuple(Head(name, "text" if number else "name") for number, name in enumerate(INFERENCE_COLUMNS))
    rows = tuple(tuple(map(Cell, astuple(row))) for row in facts.settings)
    table = Table("settings-table", "Inference settings of every config", heads, rows)
    prompts = tuple(f"System prompt, {whose}: “{text}”" for whose, text in facts.instructions.items())
    return Section(
        "settings", "How the configs were asked", (), (Part(tables=(table,)), Part(paragraphs=prompts)), weight=1
    )
