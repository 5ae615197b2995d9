"""The study as frozen records: what `study.yaml` and `prompts.csv` say, validated.

A *config* is model × voice × thinking level; `Study.configs` lists them, each with the canonical settings that are part
of a response's identity. Nothing here reads a file.
"""

from datetime import date
from functools import cached_property
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from s2s_assets.study.canonical import digest
from s2s_assets.study.cleaning import Cleaning
from s2s_assets.study.keys import NO_THINKING, ConfigKey
from s2s_assets.study.pairing import MIN_ADAPTIVE_RESAMPLES, By, Pairing
from s2s_assets.study.record import KeyPart, Name, Record
from s2s_assets.study.sending import Exchange, Provider

OVERALL = "overall"
Acoustic = Literal["clean", "indoor_noise", "outdoor_noise", "far_field"]
ACOUSTICS: tuple[str, ...] = get_args(Acoustic)
Level = Literal["L1", "L2", "L3", "L4", "L5"]
LEVELS: tuple[str, ...] = get_args(Level)
Dimension = Literal["category", "level", "acoustic"]
DIMENSIONS: tuple[str, ...] = get_args(Dimension)
"""Attributes of a prompt by which plans are balanced and boards are sliced."""
Shared = Literal["voice", "thinking", "family"]
SHARED: tuple[str, ...] = get_args(Shared)
"""What two configs may have in common, by which boards can be sliced: both answers of a rating have it."""
Variant = Literal["all", "cleaned", "baseline"]


class Voice(Record):
    """A voice of a model; `accent` and `why` it was chosen are for readers of the study."""

    id: KeyPart
    provider_id: str | None = None
    """The provider's name for it, where that is not a legal key part."""
    gender: Literal["female", "male", "unspecified"] = "unspecified"
    accent: str = "en-US"
    why: str = ""


class Model(Record):
    """A provider's model with the voices and thinking levels under test."""

    id: KeyPart
    name: Name
    family: Name
    provider: Name
    """Whose limits an exchange counts against."""
    adapter: Name
    """The protocol, such as `openai_realtime` or `cascade`."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """What the adapter sends: the provider's model id, sampling settings, the stages of a cascade."""
    instruction: str | None = None
    """System prompt, where it is not the study's default instruction."""
    base_url: str | dict[str, str] | None = None
    base_url_env: str | dict[str, str] | None = None
    """Environment variables that hold the address, by stage in a cascade; the demo's servers are found so."""
    key_env: str | dict[str, str] | None = None
    """Environment variables that hold the provider's keys, by stage in a cascade."""
    voices: Annotated[tuple[Voice, ...], Field(min_length=1)]
    thinking: tuple[KeyPart, ...] = (NO_THINKING,)
    retired: date | None = None
    baseline: bool = False
    note: str = ""
    """For readers of the study: what in these settings is ours rather than the source method's."""

    @model_validator(mode="after")
    def _unique(self) -> Self:
        for what, names in (("voice", [v.id for v in self.voices]), ("thinking level", list(self.thinking))):
            if len(set(names)) < len(names):
                raise ValueError(f"model {self.id!r} names a {what} twice: {names}")
        if not self.thinking:
            raise ValueError(f"model {self.id!r}: thinking is empty; leave it out for a model without thinking levels")
        return self


class Config(Record):
    """One partition: a model with one voice and one thinking level."""

    key: ConfigKey
    model: Model
    voice: Voice
    thinking: str
    instruction: str

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what is sent, as in study.yaml: part of a response's identity."""
        return {
            "adapter": self.model.adapter,
            "provider": self.model.provider,
            "settings": self.model.settings,
            "instruction": self.instruction,
            "voice": self.voice.provider_id or self.voice.id,
            "thinking": self.thinking,
            "base_url": self.model.base_url,
            "base_url_env": self.model.base_url_env,
        }

    def response_id(self, pcm_sha256: str, repeat: int = 0) -> str:
        """Identity of this config's answer to a normalized prompt, known before anything is sent."""
        return digest([str(self.key), pcm_sha256, self.settings, repeat])


class Rubric(Record):
    """One question of a rating task."""

    id: KeyPart
    version: int = 1
    """Raised with the wording: the clusters are computed anew then."""
    group: Name
    gate: str | None = None
    """Asked only where the prompt carries this tag."""
    question: Name
    help: str = ""
    """Shown to raters beside the question."""


MOS_QUESTIONS = (
    Rubric(
        id="naturalness",
        group="humanness",
        question="How natural does this voice sound?",
        help="Does it sound like a real person talking? Ignore whether you like the voice itself.",
    ),
    Rubric(
        id="audio_quality",
        group="technical",
        question="How clean does this recording sound?",
        help="Noise, clicks, distortion, muffling, drop-outs. Ignore content and loudness.",
    ),
    Rubric(id=OVERALL, group="overall", question="All things considered, how good is this response?"),
)
"""Asked about a single response, 1 (bad) to 5 (excellent)."""


class Consent(Record):
    """What raters agree to before anything else."""

    version: Name = "1"
    """The study's own number of the text. With a sitting it is stored together with a hash of the words as they were shown."""
    paragraphs: tuple[str, ...] = ()
    """Plain text; the app's own words where there is none."""
    contact: str = ""
    """Whom raters can ask."""


class Trap(Record):
    """A recorded voice that asks raters for a certain answer, in the place of a response."""

    file: Name
    """Path below the study's folder."""
    answer: Annotated[int, Field(ge=-3, le=3)]
    """What it asks for when it is heard second, above 0 for B; it is always played there."""


class RaterSessions(Record):
    """What a person who rates goes through in one sitting."""

    tasks: Annotated[int, Field(ge=1, le=100)] = 20
    """Pairs, or single responses, a sitting."""
    prompt_per_rater: Annotated[int, Field(ge=1, le=100)] = 2
    """How many pairs of one prompt a rater may get, over all sittings; within one sitting it is one."""
    control_share: Annotated[float, Field(ge=0, le=0.5)] = 0.125
    """Controls among the tasks: pairs whose answer is known, and repeats."""
    headphones: Literal["required", "asked", "off"] = "required"
    """`asked` records the check's result and lets everybody go on."""
    gold_rubric: str = "audio_quality"
    """The question whose answer is known where one of the two was spoilt; Overall where the study does not ask it."""
    traps: tuple[Trap, ...] = ()
    """Of which a rater who fails as many as `cleaning.trap_fails` goes no further."""
    consent: Consent = Consent()
    mos_votes: Annotated[int, Field(ge=1, le=100)] = 2
    """Single-response votes asked of each response, in sittings of their own."""
    mos_questions: Annotated[tuple[Rubric, ...], Field(min_length=1)] = MOS_QUESTIONS

    @model_validator(mode="after")
    def _mos_consistent(self) -> Self:
        ids = [q.id for q in self.mos_questions]
        if len(set(ids)) < len(ids) or any(q.gate for q in self.mos_questions):
            raise ValueError("mos_questions: each id once, and no gates")
        return self


class Category(Record):
    """An objective category of prompts; its `meaning` is for readers of the study."""

    id: KeyPart
    meaning: str = ""


class AudioTarget(Record):
    """What normalization aims at."""

    target_lufs: Annotated[float, Field(ge=-60, le=-5)] = -23.0
    ceiling_dbtp: Annotated[float, Field(ge=-20, le=0)] = -1.0
    trim: bool = True


class QaLimits(Record):
    """Limits of the automated check of a recording."""

    min_duration_s: float = 0.4
    max_duration_s: float = 120.0
    max_clipped_share: float = 0.001
    max_noise_floor_dbfs: float = -45.0
    max_noise_floor_degraded_dbfs: float = -20.0
    min_speech_level_dbfs: float = -45.0
    max_silence_s: float = 5.0
    """At either end; more hints at a recording that went wrong, though it would be trimmed."""


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


class Script(Record):
    """One row of prompts.csv: what is to be said."""

    prompt: KeyPart
    text: str = ""
    category: str
    level: Level
    acoustic: Acoustic = "clean"
    tags: frozenset[str] = frozenset()
    split: Literal["private", "public"] = "private"
    line: int
    """Line in prompts.csv, header = 1."""


class Recording(Record):
    """One row of recordings.csv: a take of a script."""

    recording: KeyPart
    prompt: str
    file: str
    """Path below the study's recordings folder."""
    speaker: str = ""
    verdict: Literal["accept", "reject"] | None = None
    verdict_reason: str = ""
    verdict_by: str = ""
    line: int
