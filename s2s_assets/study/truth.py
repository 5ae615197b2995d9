"""A planted truth: what simulated raters hear, as `truth.yaml` beside a study whose ratings are simulated.

```
models:   {MODEL: {content: 0.9, humanness: 0.7, technical: 1.1, overall: 1.0}, …}
voices:   {MODEL|VOICE: {…}, …}
thinking: {MODEL|LEVEL: {…}, …}
```

Numbers are latent qualities in logits, by group of rubrics; a config's is the sum of its parts.
"""

from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from s2s_assets.study.errors import StudyError
from s2s_assets.study.keys import ConfigKey

TRUTH_FILE = "truth.yaml"
Qualities = Mapping[str, Mapping[str, float]]


class Truth(BaseModel):
    """Latent quality by part of a config and by group of rubrics."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    models: Qualities
    voices: Qualities = {}
    thinking: Qualities = {}

    def quality(self, key: ConfigKey, group: str) -> float:
        """A config's latent quality on a group of rubrics, in logits.

        Raises:
            StudyError: the truth does not know the model.
        """
        if key.model not in self.models:
            raise StudyError(f"{TRUTH_FILE}: models has no {key.model!r}; give its quality by group of rubrics")
        parts = (
            self.models[key.model],
            self.voices.get(f"{key.model}|{key.voice}", {}),
            self.thinking.get(f"{key.model}|{key.thinking}", {}),
        )
        return sum(part.get(group, 0.0) for part in parts)


def load_truth(folder: Path) -> Truth | None:
    """The planted truth of a study folder; None where it has none.

    Raises:
        StudyError: the file is no truth.
    """
    path = folder / TRUTH_FILE
    if not path.is_file():
        return None
    try:
        return Truth.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except (yaml.YAMLError, ValidationError) as error:
        raise StudyError(f"{path}: expected models, voices and thinking with numbers by group: {error}") from error
