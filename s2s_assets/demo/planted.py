"""What the demo plants: the strength of each config on each rubric, in logits.

The study's `truth.yaml` says it by group of rubrics. A model that it does not know, such as one added to try a backfill,
gets values drawn from its name: one for what is said (rubrics of the group `content`), one for how it sounds
(`humanness` and `technical`), their mean for the rest; so there are two clusters to find either way.
"""

from s2s_assets.study import Config, Study, Truth, generator

CONTENT_GROUP = "content"
SOUND_GROUPS = ("humanness", "technical")
_UNKNOWN_SD = 0.9


def planted_truth(study: Study, truth: Truth | None) -> dict[str, dict[str, float]]:
    """Config key → rubric → strength, for every config of a study."""
    return {
        str(config.key): {r.id: _strength(study, config, r.group, truth) for r in study.rubrics}
        for config in study.configs
    }


def _strength(study: Study, config: Config, group: str, truth: Truth | None) -> float:
    model = config.key.model
    if truth is not None and model in truth.models:
        return truth.quality(config.key, group)
    content, sound = generator(study.study, "planted", model).normal(0.0, _UNKNOWN_SD, 2).tolist()
    by_group = {CONTENT_GROUP: content, **dict.fromkeys(SOUND_GROUPS, sound)}
    return float(by_group.get(group, (content + sound) / 2.0))
