"""What the demo plants: the strength of each config on each rubric, in logits.

Two things vary: what is said (`content`) and how it sounds (`sound`). Rubrics of the group `content` ask about the first,
those of `humanness` and `technical` about the second, so there are two clusters to find; overall is their mean. The
demo's systems get values that agree with how they are built (see the notes in its study.yaml); a model that is not known
here gets values drawn from its name. A voice shifts both a little; `high` thinking is better content than `minimal`.
"""

from typing import NamedTuple

from s2s_assets.study import Config, Study, generator


class Quality(NamedTuple):
    """Strengths in logits."""

    content: float
    sound: float


DEMO_MODELS = {
    "demo-clear": Quality(1.2, 1.2),
    "demo-phone": Quality(1.2, -0.2),
    "demo-cascade": Quality(0.1, 0.2),
    "demo-hasty": Quality(0.0, -0.5),
    "demo-aloof": Quality(-2.0, 0.6),
    "demo-robot": Quality(-0.6, -2.0),
}
CONTENT_GROUP = "content"
SOUND_GROUPS = ("humanness", "technical")
_THINKING = {"minimal": -0.15, "low": -0.1, "high": 0.15, "max": 0.2}
_VOICE_SD = 0.08
_UNKNOWN_SD = 0.9


def planted_truth(study: Study) -> dict[str, dict[str, float]]:
    """Config key → rubric → strength, for every config of a study."""
    return {str(config.key): _of_config(study, config) for config in study.configs}


def _of_config(study: Study, config: Config) -> dict[str, float]:
    quality = _quality(study, config)
    strengths = {
        CONTENT_GROUP: quality.content,
        **dict.fromkeys(SOUND_GROUPS, quality.sound),
    }
    overall = (quality.content + quality.sound) / 2.0
    return {rubric.id: strengths.get(rubric.group, overall) for rubric in study.rubrics}


def _quality(study: Study, config: Config) -> Quality:
    drawn = generator(study.study, "planted", config.key.model).normal(0.0, _UNKNOWN_SD, 2)
    model = DEMO_MODELS.get(config.key.model, Quality(float(drawn[0]), float(drawn[1])))
    voice = generator(study.study, "planted", config.key.model, config.key.voice).normal(0.0, _VOICE_SD, 2)
    thinking = _THINKING.get(config.thinking, 0.0)
    return Quality(model.content + float(voice[0]) + thinking, model.sound + float(voice[1]))
