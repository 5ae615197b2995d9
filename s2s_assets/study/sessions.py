"""What raters are asked, and how their sittings go: questions, consent, traps, limits."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from s2s_assets.study.record import KeyPart, Name, Record

OVERALL = "overall"
"""Id of the rubric whose board is the headline."""


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
