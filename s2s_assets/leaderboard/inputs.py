"""What a board is made from: the study's public facts and the tables of the stages before.

Everything here is already aggregated over prompts and raters; no record has a place for a prompt's text, a transcript,
or a comment, so none can be published. Raters are named in two tables, of which the page reads no names: `rater_quality`
and the diagnostics in `bootstrap_cis`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

import polars as pl

from s2s_assets.study import (
    ACOUSTICS,
    DIMENSIONS,
    LEVELS,
    NO_THINKING,
    InferenceRow,
    Study,
    inference_rows,
    instructions,
)


@dataclass(frozen=True)
class Known:
    """The ids that may be published; anything else stops the board."""

    entities: Mapping[str, frozenset[str]]
    """What is ranked (`model`, `config`, …) → the study's entities."""
    rubrics: frozenset[str]
    slices: Mapping[str, frozenset[str]]
    """Dimension → its values."""


@dataclass(frozen=True)
class Facts:
    """What the page and the tables say about the study."""

    title: str
    study: str = ""
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What is ranked → entity → name for people; an entity without one is shown as it is."""
    families: Mapping[str, str] = field(default_factory=dict)
    """Model → family."""
    rubrics: Mapping[str, str] = field(default_factory=dict)
    """Rubric → its question, in the order of the study."""
    known: Known | None = None
    """None: names are foreign and shown exactly as they are."""
    headline_variant: str = "all"
    min_slice_ratings: int = 30
    """A slice with fewer ratings is called insufficient."""
    simulated: bool = False
    retired: frozenset[str] = frozenset()
    """Models, and families of nothing else, that may leave the board without a reason given at sealing."""
    licence: str = ""
    settings: tuple[InferenceRow, ...] = ()
    """With what each config was asked; empty where the study does not show it."""
    instructions: Mapping[str, str] = field(default_factory=dict)
    """Whose it is, as in the settings → system prompt."""

    def name(self, by: str, entity: str) -> str:
        """The entity's name for people."""
        return self.names.get(by, {}).get(entity, entity)

    def slice_values(self, dimension: str) -> frozenset[str]:
        """The values that the study has for an attribute; none where names are foreign."""
        return self.known.slices.get(dimension, frozenset()) if self.known else frozenset()


def facts_of(study: Study, *, simulated: bool | None = None) -> Facts:
    """The public facts of a study.

    Args:
        study: the loaded study.
        simulated: whether any answer is simulated; by default what the study says of itself.
    """
    names = _names(study)
    return Facts(
        title=study.title,
        study=study.study,
        names=names,
        families=study.families,
        rubrics={r.id: r.question for r in study.rubrics},
        known=Known(
            entities={by: frozenset(of) for by, of in names.items()},
            rubrics=frozenset(r.id for r in study.rubrics),
            slices={
                "all": frozenset({"all"}),
                "category": frozenset(c.id for c in study.categories),
                "level": frozenset(LEVELS),
                "acoustic": frozenset(ACOUSTICS),
                "voice": frozenset(kind for kind in study.voice_kinds.values() if kind),
                "thinking": frozenset(level for model in study.models for level in model.thinking),
                "family": frozenset(study.families.values()),
            },
        ),
        headline_variant=study.analysis.headline_variant,
        min_slice_ratings=study.analysis.min_slice_ratings,
        simulated=study.analysis.simulated if simulated is None else simulated,
        retired=_retired(study),
        licence=study.licence,
        settings=inference_rows(study) if study.show_settings else (),
        instructions=instructions(study) if study.show_settings else {},
    )


def _names(study: Study) -> dict[str, dict[str, str]]:
    """By what is ranked: entity → its name for people."""
    names: dict[str, dict[str, str]] = {by: {} for by in ("config", "model", "family", "voice", "thinking")}
    for config in study.configs:
        model, voice, thinking = config.key
        level = "" if thinking == NO_THINKING else f" · {thinking}"
        names["config"][str(config.key)] = f"{config.model.name} · {voice}{level}"
        names["model"][model] = config.model.name
        names["family"][config.model.family] = config.model.family
        names["voice"][f"{model}|{voice}"] = f"{config.model.name} · {voice}"
        names["thinking"][f"{model}|{thinking}"] = f"{config.model.name}{level or ' · no levels'}"
    return names


def _retired(study: Study) -> frozenset[str]:
    gone = {m.id for m in study.models if m.retired is not None}
    alive = {m.family for m in study.models if m.retired is None}
    return frozenset(gone | (set(study.families.values()) - alive))


@dataclass(frozen=True)
class Clusters:
    """The clustering of the rubrics, for the page."""

    members: Mapping[str, tuple[str, ...]]
    """Cluster → its rubrics; clusters are named as in their fits."""
    figures: Mapping[str, float | None] = field(default_factory=dict)
    """Name for people → value, such as the share of resamples that reproduce the partition."""
    note: str = ""


@dataclass(frozen=True)
class Run:
    """Where the numbers come from."""

    method_version: str
    seed: int
    resamples: int
    data_date: date | None = None
    """Day of the last answer (UTC), else of the import; None for a file without dates, which is never sealed."""
    ratings_version: str = ""
    """Data version of the ratings snapshot."""
    code_version: str = ""
    cleaning_version: str = ""
    """Version of the rules that flag raters."""


@dataclass(frozen=True)
class BoardInputs:
    """Everything that a board is built from."""

    facts: Facts
    run: Run
    fits: pl.DataFrame
    """`bt_fits`, the clusters' fits appended."""
    cis: pl.DataFrame
    """`bootstrap_cis`, the clusters' appended; may lack fits."""
    coverage: pl.DataFrame | None = None
    """`config`, `slice_dimension`, `slice_value`, `responses_ok`, `responses_planned` (see `coverage`)."""
    clusters: Clusters | None = None
    quality: pl.DataFrame | None = None
    """`rater_quality`; the rows of single raters are only counted."""
    exclusions: Mapping[str, int] = field(default_factory=dict)
    """Rule → answers left out."""
    paragraphs: tuple[str, ...] = ()
    """Text shown under the headline, such as how well a planted ranking was recovered."""
    citation: str = ""
    previous: "Previous | None" = None
    """The last sealed release, for what changed."""


@dataclass(frozen=True)
class Previous:
    """A sealed release as far as the next one is compared with it."""

    release: str
    method_version: str
    rows: tuple[Mapping[str, object], ...]
    """The row objects of its leaderboard.json."""


def coverage(configs: Iterable[str], responses: pl.DataFrame, prompts: pl.DataFrame) -> pl.DataFrame:
    """Responses that succeeded and that were planned, by config and slice.

    Args:
        configs: keys of the configs that were to answer every prompt, whether or not they did.
        responses: all partitions of `responses`: at least `config`, `prompt`, `status`.
        prompts: selected prompts: `prompt` and the attributes `category`, `level`, `acoustic`.

    Returns:
        One row a config and slice (`all`/`all` first): `config`, `slice_dimension`, `slice_value`, `responses_ok`,
        `responses_planned`.
    """
    planned = pl.DataFrame({"config": sorted(set(configs))}, schema={"config": pl.String}).join(
        prompts.select("prompt", *DIMENSIONS), how="cross"
    )
    ok = responses.filter(pl.col("status") == "ok").select("config", "prompt").unique().with_columns(ok=pl.lit(1))
    cells = planned.join(ok, on=["config", "prompt"], how="left").with_columns(
        pl.col("ok").fill_null(0), all=pl.lit("all")
    )
    parts = [
        cells.filter(pl.col(dimension).is_not_null())
        .group_by("config", pl.col(dimension).cast(pl.String).alias("slice_value"))
        .agg(responses_ok=pl.col("ok").sum().cast(pl.Int64), responses_planned=pl.len().cast(pl.Int64))
        .select(
            "config", pl.lit(dimension).alias("slice_dimension"), "slice_value", "responses_ok", "responses_planned"
        )
        for dimension in ("all", *DIMENSIONS)
    ]
    return pl.concat(part.sort("config", "slice_value") for part in parts)
