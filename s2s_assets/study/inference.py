"""A study's inference settings for its readers: with what each config is asked, and what is left at a provider's defaults.

Addresses, variables of keys and the provider's own ids of voices are not told.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from s2s_assets.study.configs import Config
from s2s_assets.study.document import Study

COLUMNS = ("Config", "Model as sent", "Protocol", "Voice", "Thinking", "System prompt", "Other parameters")


@dataclass(frozen=True)
class InferenceRow:
    """One config, in the order of `COLUMNS`, as words for people."""

    config: str
    model: str
    """The provider's name of the model; by stage in a cascade."""
    protocol: str
    voice: str
    thinking: str
    instruction: str
    """Whose system prompt it is: `default`, or the model's own by its name."""
    parameters: str
    """What the config sets beside these."""


def inference_rows(study: Study) -> tuple[InferenceRow, ...]:
    """A row a config, in the order of the study."""
    return tuple(_row(config) for config in study.configs)


def instructions(study: Study) -> dict[str, str]:
    """Whose it is, as in the rows → system prompt: the default, and every model's own."""
    own = {m.name: m.instruction for m in study.models if m.instruction is not None}
    return {"default": study.default_instruction, **own}


def _row(config: Config) -> InferenceRow:
    model, voice = config.model, config.voice
    stages = {name: part for name, part in model.settings.items() if isinstance(part, Mapping) and "model" in part}
    sent = [f"{name} {part['model']}" for name, part in stages.items()] or [str(model.settings.get("model", "–"))]
    others = [f"{path}={value}" for path, value in _leaves(model.settings) if path.rpartition(".")[2] != "model"]
    return InferenceRow(
        config=str(config.key),
        model=", ".join(sent),
        protocol=model.adapter,
        voice=f"{voice.id} ({voice.gender}, {voice.accent})",
        thinking=config.thinking,
        instruction="default" if model.instruction is None else model.name,
        parameters=", ".join(others) or "the provider's defaults",
    )


def _leaves(settings: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Each value with the names that lead to it."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value
