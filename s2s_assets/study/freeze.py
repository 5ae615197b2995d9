"""What may no longer change in a study folder, once answers have been given about it.

An answer belongs to two responses; a response belongs to a config's settings and to a prompt's selected take. Editing
either afterwards would put old answers beside new audio under one name. So the edit is refused and the remedy named: a
new model label, or a new prompt id; the old one stays, retired where it is not wanted any more.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from s2s_assets.study.canonical import digest, sha256_hex
from s2s_assets.study.configs import Config
from s2s_assets.study.findings import Finding
from s2s_assets.study.load import PROMPTS_FILE, RECORDINGS_FILE, STUDY_FILE, StudyFolder
from s2s_assets.study.scripts import Recording


@dataclass(frozen=True)
class Take:
    """The recording that a prompt's answers are about."""

    recording: str
    source_sha256: str | None = None
    """SHA-256 of the file as delivered; None where it is not known."""


@dataclass(frozen=True)
class Frozen:
    """Identities that have answers."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """Config key → `digest(config.settings)`."""
    takes: Mapping[str, Take] = field(default_factory=dict)
    """Prompt → its selected take."""
    responses: frozenset[str] = frozenset()
    """Responses with answers that count: they may not be collected anew."""


@dataclass(frozen=True)
class FreezeReader:
    """How a command learns what is frozen: given in click's context by who knows the ratings database."""

    read: Callable[[StudyFolder], Frozen | None]
    """None where no ratings database belongs to this study."""


def frozen_edits(folder: StudyFolder, frozen: Frozen) -> list[Finding]:
    """Edits of the folder that touch what has answers; each message names the remedy."""
    return [*_changed_configs(folder, frozen), *_changed_takes(folder, frozen)]


def _changed_configs(folder: StudyFolder, frozen: Frozen) -> Iterator[Finding]:
    configs = {str(c.key): c for c in folder.study.configs}
    for key, settings in sorted(frozen.settings.items()):
        config = configs.get(key)
        if config is None:
            yield Finding(
                STUDY_FILE, None, "models", f"config {key} has answers and is gone; put it back and set `retired: DATE`"
            )
        elif digest(config.settings) != settings:
            yield _at_model(folder, config)


def _at_model(folder: StudyFolder, config: Config) -> Finding:
    index = [m.id for m in folder.study.models].index(config.model.id)
    return folder.yaml.finding(
        ("models", index),
        f"config {config.key} has answers, and what it sends has changed (settings, instruction, voice, thinking level "
        f"or address); undo that, or give the changed model a new id and set `retired: DATE` on {config.model.id!r}",
    )


def _changed_takes(folder: StudyFolder, frozen: Frozen) -> Iterator[Finding]:
    recordings = {r.recording: r for r in folder.recordings}
    for prompt, take in sorted(frozen.takes.items()):
        recording = recordings.get(take.recording)
        if prompt not in folder.script_of:
            yield Finding(PROMPTS_FILE, None, "prompt", f"{prompt!r} has answers and is gone; put its row back")
        elif recording is None or recording.prompt != prompt:
            message = f"{take.recording!r}, the take of {prompt!r} that has answers, is gone; put its row back"
            yield Finding(RECORDINGS_FILE, None, "recording", f"{message}; a new take needs a new prompt id")
        else:
            yield from _changed_take(recording, take, folder.path_of(recording))


def _changed_take(recording: Recording, take: Take, path: Path) -> Iterator[Finding]:
    subject = f"{recording.recording!r}, the take of {recording.prompt!r} that has answers,"
    if recording.verdict == "reject":
        message = f"{subject} is now rejected; withdraw its responses, and give a new take a new prompt id"
        yield Finding(RECORDINGS_FILE, recording.line, "verdict", message)
    if take.source_sha256 and path.is_file() and sha256_hex(path.read_bytes()) != take.source_sha256:
        message = f"{subject} is now another file; put the old one back, and give the new take a new prompt id"
        yield Finding(RECORDINGS_FILE, recording.line, "file", message)
