"""`study.yaml` as one frozen record, validated: what is tested, asked, paired, fitted and published. Nothing here reads a file."""

from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from s2s_assets.study.cleaning import Cleaning
from s2s_assets.study.configs import Config, Model, Shared
from s2s_assets.study.keys import ConfigKey
from s2s_assets.study.pairing import MIN_ADAPTIVE_RESAMPLES, By, Pairing
from s2s_assets.study.record import KeyPart, Name, Record
from s2s_assets.study.scripts import AudioTarget, Category, Dimension, QaLimits
from s2s_assets.study.sending import Exchange, Provider
from s2s_assets.study.sessions import OVERALL, RaterSessions, Rubric

Variant = Literal["all", "cleaned", "baseline"]


class Refit(Record):
    """When a batch of ratings counts as settled."""

    settle_s: float = 30.0
    """Answers younger than this are waited for: they may still have late company."""
    min_new: int = 1
    max_age_s: float = 3600.0
    """A batch smaller than `min_new` is taken once it is this old."""


class Analysis(Record):
    """Resampling and publishing choices."""

    resamples: Annotated[int, Field(ge=0, le=100_000)] = 1000
    headline_variant: Variant = "all"
    min_slice_ratings: int = 30
    simulated: bool = False
    """All ratings of this study are simulated; every page and table says so."""


class Board(Record):
    """A board beside the standard ones."""

    rubric: str = OVERALL
    by: By = "model"
    slice: Literal["all", Dimension, Shared] = "all"
    """One board a value: of a prompt's attribute, or of what both answers share (a voice's gender, a thinking level, a
    family)."""


class Study(Record):
    """A whole study."""

    study: KeyPart
    """The study's id: part of every object key."""
    title: Name
    language: str = "en"
    """Of the prompts, for readers of the study."""
    default_instruction: str = "You are a helpful voice assistant"
    show_settings: bool = False
    """Whether boards show with what each config was asked: model ids, settings, system prompts."""
    collect: Literal["manual", "auto"] = "manual"
    """Whether the registry sensor also requests exchanges (and so spends money)."""
    models: Annotated[tuple[Model, ...], Field(min_length=1)]
    rubrics: Annotated[tuple[Rubric, ...], Field(min_length=1)]
    categories: tuple[Category, ...] = ()
    tags: tuple[str, ...] = ()
    audio: AudioTarget = AudioTarget()
    qa: QaLimits = QaLimits()
    pairing: Pairing = Pairing()
    exchange: Exchange = Exchange()
    providers: dict[Name, Provider] = Field(default_factory=dict)
    """Provider → its limits, budget and prices; one that is not named gets the defaults."""
    refit: Refit = Refit()
    cleaning: Cleaning = Cleaning()
    analysis: Analysis = Analysis()
    boards: tuple[Board, ...] = ()
    sessions: RaterSessions = RaterSessions()
    licence: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for what, names in (
            ("models", [m.id for m in self.models]),
            ("rubrics", [r.id for r in self.rubrics]),
            ("categories", [c.id for c in self.categories]),
        ):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ValueError(f"{what}: id given twice: {', '.join(twice)}")
        if OVERALL not in {r.id for r in self.rubrics}:
            raise ValueError(f"rubrics: one must have the id {OVERALL!r}; it is the headline's")
        unknown = sorted({r.gate for r in self.rubrics if r.gate} - set(self.tags))
        if unknown:
            raise ValueError(f"rubrics: gate {', '.join(unknown)} is not among the study's tags")
        unasked = sorted({b.rubric for b in self.boards} - {r.id for r in self.rubrics})
        if unasked:
            raise ValueError(f"boards: {', '.join(unasked)} is no rubric of this study")
        odd = sorted(set(self.pairing.without) - {str(c.key) for c in self.configs})
        if odd:
            raise ValueError(f"pairing.without: {', '.join(odd)} is no config of this study")
        return self

    @model_validator(mode="after")
    def _adaptive_possible(self) -> Self:
        if self.pairing.adaptive is None:
            return self
        if self.analysis.headline_variant == "baseline":
            raise ValueError("pairing.adaptive: the headline (analysis.headline_variant) leaves adaptive votes out")
        if self.analysis.resamples < MIN_ADAPTIVE_RESAMPLES:
            raise ValueError(
                f"pairing.adaptive: it goes by the resamples' covariance; analysis.resamples is "
                f"{self.analysis.resamples}, expected {MIN_ADAPTIVE_RESAMPLES} or more"
            )
        return self

    @cached_property
    def configs(self) -> tuple[Config, ...]:
        """Every config of the study, retired ones too, in the file's order."""
        return tuple(
            Config(
                key=ConfigKey(m.id, v.id, t),
                model=m,
                voice=v,
                thinking=t,
                instruction=self.default_instruction if m.instruction is None else m.instruction,
            )
            for m in self.models
            for v in m.voices
            for t in m.thinking
        )

    @property
    def active_configs(self) -> tuple[Config, ...]:
        """The configs that are exchanged and paired."""
        return tuple(c for c in self.configs if c.model.retired is None)

    def config(self, key: str) -> Config | None:
        """The config of a key, None where the study has none of that name."""
        return next((c for c in self.configs if str(c.key) == key), None)

    @property
    def families(self) -> dict[str, str]:
        """Model id → family."""
        return {m.id: m.family for m in self.models}

    @property
    def voice_kinds(self) -> dict[str, str | None]:
        """Voice (`model|voice`) → its gender; None where that is unspecified."""
        return {
            f"{m.id}|{v.id}": None if v.gender == "unspecified" else v.gender for m in self.models for v in m.voices
        }

    def rubrics_for(self, tags: frozenset[str]) -> tuple[Rubric, ...]:
        """The questions asked about a prompt with these tags."""
        return tuple(r for r in self.rubrics if r.gate is None or r.gate in tags)
