"""What is wrong with a study folder, what is missing from it, and how its prompts, voices and questions are spread.

Errors stop a study: files that cannot be read, settings that are not allowed, edits of what has answers. Warnings do
not: a private study travels without its audio, and a small one cannot fill every cell.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from s2s_assets.study.configs import Model
from s2s_assets.study.findings import Finding
from s2s_assets.study.freeze import FreezeReader, frozen_edits
from s2s_assets.study.load import PROMPTS_FILE, RECORDINGS_FILE, StudyFolder, read_folder
from s2s_assets.study.scripts import ACOUSTICS, LEVELS

_AUDIO_SUFFIXES = {".flac", ".wav", ".mp3", ".ogg", ".opus", ".m4a", ".aiff"}
_CELL_SPREAD = 2
"""Cells of category × level may differ by this many prompts before it is worth a word."""


@dataclass(frozen=True)
class StudyReport:
    """The result of a check."""

    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    balance: dict[str, Any]
    """Counts by name, see `balance`; empty where study.yaml is refused."""

    @property
    def ok(self) -> bool:
        """Whether the folder can be used."""
        return not self.errors

    def document(self) -> dict[str, Any]:
        """The report as `s2s study check --json` prints it."""
        return {
            "ok": self.ok,
            "errors": [asdict(f) for f in self.errors],
            "warnings": [asdict(f) for f in self.warnings],
            "balance": self.balance,
        }


def check_study(folder: Path, freeze: FreezeReader | None = None) -> StudyReport:
    """Check a study folder; with a `freeze` reader also for edits of what has answers."""
    loaded, errors = read_folder(folder)
    if loaded is None:
        return StudyReport(tuple(errors), (), {})
    frozen = freeze.read(loaded) if freeze and not errors else None
    if frozen is not None:
        errors = [*errors, *frozen_edits(loaded, frozen)]
    warnings = (*_recording_warnings(loaded), *_prompt_warnings(loaded), *_study_warnings(loaded))
    return StudyReport(tuple(errors), warnings, balance(loaded))


def balance(folder: StudyFolder) -> dict[str, Any]:
    """Counts of prompts, recordings, configs, voices and questions.

    `category_level` counts the clean prompts; the degraded set is a slice of its own, counted in `acoustic`.
    """
    study, scripts, cells = folder.study, folder.scripts, _cells(folder)
    recorded = {r.prompt for r in folder.recordings}
    tags = Counter(tag for s in scripts for tag in s.tags)
    return {
        "prompts": len(scripts),
        "category_level": {c: {level: cells[c, level] for level in LEVELS} for c in _categories(folder)},
        "acoustic": {a: sum(s.acoustic == a for s in scripts) for a in ACOUSTICS},
        "tags": {tag: tags[tag] for tag in study.tags},
        "split": dict(sorted(Counter(s.split for s in scripts).items())),
        "scripts_without_text": sum(not s.text for s in scripts),
        "scripts_without_recording": sum(s.prompt not in recorded for s in scripts),
        "recordings": len(folder.recordings),
        "recordings_without_file": sum(not folder.path_of(r).is_file() for r in folder.recordings),
        "verdicts": dict(sorted(Counter(r.verdict or "none" for r in folder.recordings).items())),
        "models": len(study.models),
        "families": len(set(study.families.values())),
        "configs": len(study.configs),
        "active_configs": len(study.active_configs),
        "config_keys": [str(c.key) for c in study.configs],
        "configs_by_model": {m.id: len(m.voices) * len(m.thinking) for m in study.models},
        "voices": dict(sorted(Counter(v.gender for m in study.models for v in m.voices).items())),
        "rubrics": len(study.rubrics),
        "gated_rubrics": sum(r.gate is not None for r in study.rubrics),
        "rubric_groups": dict(Counter(r.group for r in study.rubrics)),
    }


def _categories(folder: StudyFolder) -> list[str]:
    return list(dict.fromkeys([c.id for c in folder.study.categories] + [s.category for s in folder.scripts]))


def _cells(folder: StudyFolder) -> Counter[tuple[str, str]]:
    return Counter((s.category, s.level) for s in folder.scripts if s.acoustic == "clean")


def _recording_warnings(folder: StudyFolder) -> Iterator[Finding]:
    if not folder.recordings:
        yield Finding(RECORDINGS_FILE, None, "", f"no recordings: none of {len(folder.scripts)} scripts can be sent")
        return
    usable = {r.prompt for r in folder.recordings if r.verdict != "reject"}
    recorded = {r.prompt for r in folder.recordings}
    for script in folder.scripts:
        if script.prompt not in usable:
            state = "has only rejected recordings" if script.prompt in recorded else "has no recording"
            yield Finding(PROMPTS_FILE, script.line, "prompt", f"{script.prompt!r} {state}; it will not be sent")
    for recording in folder.recordings:
        if not folder.path_of(recording).is_file():
            yield Finding(RECORDINGS_FILE, recording.line, "file", f"{recording.file!r} is not in recordings/")
        if recording.verdict == "reject" and not recording.verdict_reason:
            yield Finding(RECORDINGS_FILE, recording.line, "verdict_reason", "rejected without a reason; give one")
    yield from _unlisted_files(folder)


def _unlisted_files(folder: StudyFolder) -> Iterator[Finding]:
    listed = {folder.path_of(r) for r in folder.recordings}
    for path in sorted(folder.recordings_dir.rglob("*")):
        if path.suffix.lower() in _AUDIO_SUFFIXES and path not in listed:
            name = path.relative_to(folder.recordings_dir).as_posix()
            yield Finding(RECORDINGS_FILE, None, "file", f"recordings/{name} is in no row; add it or remove the file")


def _prompt_warnings(folder: StudyFolder) -> Iterator[Finding]:
    untold = sum(not s.text for s in folder.scripts)
    if untold:
        yield Finding(PROMPTS_FILE, None, "text", f"{untold} of {len(folder.scripts)} scripts have no text")
    counts = _cells(folder)
    cells = [counts[c, level] for c in _categories(folder) for level in LEVELS]
    if cells and (max(cells) - min(cells) > _CELL_SPREAD or min(cells) == 0 < max(cells)):
        message = (
            f"clean prompts per category and level range from {min(cells)} to {max(cells)}, "
            f"{cells.count(0)} of {len(cells)} cells are empty; slices with few prompts have wide intervals"
        )
        yield Finding(PROMPTS_FILE, None, "category", message)


def _study_warnings(folder: StudyFolder) -> Iterator[Finding]:
    used = {tag for s in folder.scripts for tag in s.tags}
    for index, rubric in enumerate(folder.study.rubrics):
        if rubric.gate and rubric.gate not in used:
            message = f"{rubric.id!r} is never asked: no prompt has the tag {rubric.gate!r}"
            yield folder.yaml.finding(("rubrics", index, "gate"), message)
    yield from _session_warnings(folder)
    yield from _provider_warnings(folder)
    for index, model in enumerate(folder.study.models):
        for message in _voice_warnings(model):
            yield folder.yaml.finding(("models", index, "voices"), message)


def _session_warnings(folder: StudyFolder) -> Iterator[Finding]:
    """What people who rate would miss: voices that are not there, a question that nobody asks."""
    sessions = folder.study.sessions
    for index, trap in enumerate(sessions.traps):
        path = folder.root / trap.file
        if not path.is_file():
            message = f"{trap.file!r} is missing: there is no file {path}; the rating app does not start without it"
            yield folder.yaml.finding(("sessions", "traps", index, "file"), message)
    rubrics = [rubric.id for rubric in folder.study.rubrics]
    if "gold_rubric" in sessions.model_fields_set and sessions.gold_rubric not in rubrics:
        message = f"{sessions.gold_rubric!r} is no rubric, so Overall takes its place; known are {', '.join(rubrics)}"
        yield folder.yaml.finding(("sessions", "gold_rubric"), message)


def _provider_warnings(folder: StudyFolder) -> Iterator[Finding]:
    """Limits and budgets that nothing counts against: most likely a misspelt name."""
    named = {m.provider for m in folder.study.models}
    for model in folder.study.models:
        inner = (stage for stage in model.settings.values() if isinstance(stage, dict))
        named |= {str(stage["provider"]) for stage in inner if stage.get("provider")}
    for name in folder.study.providers:
        if name not in named:
            known = ", ".join(sorted(named))
            message = (
                f"no model has the provider {name!r} (known are {known}); it counts only if a cascade's stage does"
            )
            yield folder.yaml.finding(("providers", name), message)


def _voice_warnings(model: Model) -> Iterator[str]:
    if model.baseline or model.retired:
        return
    genders = {v.gender for v in model.voices}
    if not {"female", "male"} <= genders:
        yield f"{model.id!r} lacks a {' and a '.join(sorted({'female', 'male'} - genders))} voice: voices are not matched"
