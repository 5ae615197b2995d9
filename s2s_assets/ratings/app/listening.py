"""The two checks before the tasks: is there sound, and does it come by headphones."""

from functools import lru_cache

from fastapi import APIRouter
from starlette.responses import Response

from s2s_assets.ratings.app.context import (
    AppContext,
    CurrentSitting,
    Form,
    RefusedError,
    see_other,
    stage_only,
)
from s2s_assets.ratings.app.pages import page
from s2s_assets.ratings.check_sounds import (
    NEEDED,
    TONES,
    TRIALS,
    headphone_check,
    right_answer,
    sound_check,
    tones_due,
    trials_due,
)
from s2s_assets.ratings.sittings import (
    HEADPHONE_TRIES,
    SOUND_TRIES,
    Sitting,
    answer_headphones,
    answer_sound,
    skip_headphones,
)

router = APIRouter()
_tones = lru_cache(maxsize=8)(sound_check)
_trial = lru_cache(maxsize=8)(headphone_check)


@router.get("/sound")
def sound(context: AppContext, sat: CurrentSitting) -> Response:
    """Hear some tones and say how many."""
    stage_only(sat, "sound")
    worn = context.desk.study.sessions.headphones != "off"
    values = {"attempt": sat.sound_tries, "left": SOUND_TRIES - sat.sound_tries, "choices": TONES, "headphones": worn}
    return page(context, "sound", sat.language, values, sat=sat)


@router.get("/sound/{attempt}")
def sound_media(sat: CurrentSitting, attempt: int) -> Response:
    """The tones of this attempt."""
    _only_due(sat, "sound", attempt == sat.sound_tries)
    return Response(_tones(tones_due(sat.name, sat.sound_tries)), media_type="audio/flac")


@router.post("/sound")
def check_sound(context: AppContext, sat: CurrentSitting, form: Form) -> Response:
    """Compare with what was played."""
    stage_only(sat, "sound")
    attempt, answer = _number(form, "attempt"), _number(form, "answer")
    if answer in TONES and attempt == sat.sound_tries:
        right = answer == tones_due(sat.name, attempt)
        answer_sound(context.store, sat, attempt, right, context.desk.clock())
    return see_other("/")


@router.get("/headphones")
def headphones(context: AppContext, sat: CurrentSitting) -> Response:
    """Say which of three tones is the quietest, some times over."""
    stage_only(sat, "headphones")
    rule = context.desk.study.sessions.headphones
    if rule == "off":
        skip_headphones(context.store, sat, "off")
        return see_other("/")
    values = {"trial": len(sat.headphone_answers), "trials": TRIALS, "required": rule == "required"}
    values |= {"attempt": sat.headphone_tries, "tries": HEADPHONE_TRIES}
    return page(context, "headphones", sat.language, values, sat=sat)


@router.get("/headphones/{attempt}/{trial}")
def headphone_media(sat: CurrentSitting, attempt: int, trial: int) -> Response:
    """The tones of this trial."""
    _only_due(sat, "headphones", (attempt, trial) == (sat.headphone_tries, len(sat.headphone_answers)))
    return Response(_trial(trials_due(sat.name, attempt)[trial]), media_type="audio/flac")


@router.post("/headphones")
def check_headphones(context: AppContext, sat: CurrentSitting, form: Form) -> Response:
    """Take in one trial; the last decides."""
    stage_only(sat, "headphones")
    required = context.desk.study.sessions.headphones == "required"
    if form.get("skip") == "yes" and not required:
        skip_headphones(context.store, sat, "none")
        return see_other("/")
    attempt, trial, answer = (_number(form, name) for name in ("attempt", "trial", "answer"))
    if answer not in (1, 2, 3) or attempt != sat.headphone_tries or trial != len(sat.headphone_answers):
        return see_other("/")
    given = [*sat.headphone_answers, answer]
    right = sum(a == right_answer(t) for a, t in zip(given, trials_due(sat.name, attempt), strict=False))
    ends_at = context.desk.clock() if required else None
    answer_headphones(context.store, sat, answer, right, NEEDED, TRIALS, ends_at)
    return see_other("/")


def _only_due(sat: Sitting, stage: str, due: bool) -> None:
    if sat.stage != stage or not due:
        raise RefusedError(404, "unknown_media", sat.language)


def _number(form: Form, name: str) -> int:
    text = form.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else -1
