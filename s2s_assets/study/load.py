"""A study folder read into frozen records.

```
STUDY/
  study.yaml       models, voices, thinking levels, rubrics, categories, pairing, publishing
  prompts.csv      prompt,category,level[,text,acoustic,tags,split]           one script a row
  recordings.csv   recording,prompt,file[,speaker,verdict,verdict_reason,verdict_by]   one take a row
  recordings/      the audio that recordings.csv names
```

Tags are separated by `;`. All faults of all files are collected before the folder is refused. A recording whose file is
not there is no fault: the folder of a private study travels without its audio.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from s2s_assets.study.configs import Config
from s2s_assets.study.csv_rows import Rows, read_rows, records_of
from s2s_assets.study.document import Study
from s2s_assets.study.errors import StudyError
from s2s_assets.study.findings import Finding
from s2s_assets.study.scripts import Recording, Script
from s2s_assets.study.yaml_errors import located_errors
from s2s_assets.study.yaml_lines import LocatedYaml, parse_yaml

STUDY_FILE = "study.yaml"
PROMPTS_FILE = "prompts.csv"
RECORDINGS_FILE = "recordings.csv"
_PROMPT_COLUMNS = ("prompt", "category", "level"), ("text", "acoustic", "tags", "split")
_RECORDING_COLUMNS = ("recording", "prompt", "file"), ("speaker", "verdict", "verdict_reason", "verdict_by")


@dataclass(frozen=True)
class StudyFolder:
    """A study with its scripts and takes, as the folder says."""

    root: Path
    study: Study
    scripts: tuple[Script, ...]
    recordings: tuple[Recording, ...]

    @property
    def recordings_dir(self) -> Path:
        """Where the audio lies."""
        return self.root / "recordings"

    def path_of(self, recording: Recording) -> Path:
        """Where a take's audio is expected."""
        return self.recordings_dir / recording.file

    @cached_property
    def yaml(self) -> LocatedYaml:
        """study.yaml as it is now, by whose lines a finding names its place."""
        document, _ = parse_yaml((self.root / STUDY_FILE).read_text(encoding="utf-8-sig"), STUDY_FILE)
        assert document is not None
        return document

    def config(self, key: str) -> Config:
        """The config of a key.

        Raises:
            StudyError: the study has none of this name; those that it has are listed.
        """
        found = self.study.config(key)
        if found is None:
            known = ", ".join(str(c.key) for c in self.study.configs)
            raise StudyError(f"{self.root / STUDY_FILE}: no config {key!r}; expected one of {known}")
        return found

    @cached_property
    def script_of(self) -> dict[str, Script]:
        """Prompt id → script."""
        return {s.prompt: s for s in self.scripts}


def load_study(folder: Path) -> StudyFolder:
    """Read a study folder.

    Raises:
        StudyError: the folder is refused; the message lists every finding with file, line and key.
    """
    loaded, findings = read_folder(folder)
    if loaded is None or findings:
        listed = "\n".join(f"  {finding}" for finding in findings)
        raise StudyError(f"study folder {folder} cannot be used:\n{listed}")
    return loaded


def read_folder(folder: Path) -> tuple[StudyFolder | None, list[Finding]]:
    """Read a study folder as far as it goes.

    Returns the folder, None where study.yaml is refused, and all that is wrong with it, in the order of the files.
    """
    if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises on a name that is too long
        return None, [Finding(str(folder), None, "", "no such folder; `s2s study new FOLDER` makes one")]
    study, findings = _read_study(folder)
    rows = _rows(folder, PROMPTS_FILE, *_PROMPT_COLUMNS)
    scripts, script_findings = _read_scripts(rows)
    recordings, recording_findings = _read_recordings(folder, {row["prompt"] for _, row in rows.rows})
    findings += script_findings + recording_findings
    if study is None:
        return None, findings
    loaded = StudyFolder(folder, study, tuple(scripts), tuple(recordings))
    findings += [*_unknown_names(study, scripts), *_traps_outside(loaded)]
    return loaded, findings


def _read_study(folder: Path) -> tuple[Study | None, list[Finding]]:
    text, findings = _text(folder, STUDY_FILE)
    if text is None:
        return None, findings
    document, findings = parse_yaml(text, STUDY_FILE)
    if document is None:
        return None, findings
    if not isinstance(document.value, dict):
        return None, [*findings, Finding(STUDY_FILE, 1, "", "expected a mapping of settings such as `study: my-study`")]
    try:
        return Study.model_validate(document.value), findings
    except ValidationError as error:
        return None, [*findings, *located_errors(error, document)]


def _read_scripts(rows: Rows) -> tuple[list[Script], list[Finding]]:
    scripts, findings = records_of(rows, PROMPTS_FILE, Script, _script_cells)
    repeated = _repeated(((s.prompt, s.line) for s in scripts), PROMPTS_FILE, "prompt")
    return scripts, [*rows.findings, *findings, *repeated]


def _read_recordings(folder: Path, prompts: set[str]) -> tuple[list[Recording], list[Finding]]:
    if not (folder / RECORDINGS_FILE).exists():
        return [], []
    rows = _rows(folder, RECORDINGS_FILE, *_RECORDING_COLUMNS)
    recordings, findings = records_of(rows, RECORDINGS_FILE, Recording, _given)
    findings += _repeated(((r.recording, r.line) for r in recordings), RECORDINGS_FILE, "recording")
    findings += [
        Finding(RECORDINGS_FILE, r.line, "file", f"{r.file!r} leaves the recordings folder; give a path below it")
        for r in recordings
        if _leaves(r.file)
    ]
    findings += [
        Finding(RECORDINGS_FILE, r.line, "prompt", f"{r.prompt!r} is no prompt of {PROMPTS_FILE}")
        for r in recordings
        if prompts and r.prompt not in prompts
    ]
    return recordings, [*rows.findings, *findings]


def _rows(folder: Path, file: str, required: Iterable[str], optional: Iterable[str]) -> Rows:
    text, findings = _text(folder, file)
    return Rows(findings=findings) if text is None else read_rows(text, file, required, optional)


def _text(folder: Path, file: str) -> tuple[str | None, list[Finding]]:
    try:
        return (folder / file).read_text(encoding="utf-8-sig"), []
    except FileNotFoundError:
        return None, [Finding(file, None, "", "the file is missing")]
    except UnicodeDecodeError as error:
        return None, [Finding(file, None, "", f"not UTF-8 text: {error.reason} at byte {error.start}")]
    except OSError as error:
        return None, [Finding(file, None, "", f"cannot be read: {error.strerror}")]


def _given(row: dict[str, str]) -> dict[str, Any]:
    return {name: cell for name, cell in row.items() if cell}


def _script_cells(row: dict[str, str]) -> dict[str, Any]:
    tags = frozenset(tag.strip() for tag in row.get("tags", "").split(";") if tag.strip())
    return {**_given(row), "tags": tags}


def _leaves(file: str) -> bool:
    path = PurePosixPath(file)
    return path.is_absolute() or ".." in path.parts or "\\" in file


def _repeated(names: Iterable[tuple[str, int]], file: str, column: str) -> list[Finding]:
    first: dict[str, int] = {}
    findings = []
    for name, line in names:
        if name in first:
            findings.append(Finding(file, line, column, f"{name!r} given twice, first in line {first[name]}"))
        first.setdefault(name, line)
    return findings


def _traps_outside(folder: StudyFolder) -> Iterator[Finding]:
    for index, trap in enumerate(folder.study.sessions.traps):
        if _leaves(trap.file):
            message = f"{trap.file!r} leaves the study folder; give a path below it"
            yield folder.yaml.finding(("sessions", "traps", index, "file"), message)


def _unknown_names(study: Study, scripts: Iterable[Script]) -> Iterator[Finding]:
    categories, tags = {c.id for c in study.categories}, set(study.tags)
    for script in scripts:
        if categories and script.category not in categories:
            message = f"{script.category!r} is no category of {STUDY_FILE}; known are {', '.join(sorted(categories))}"
            yield Finding(PROMPTS_FILE, script.line, "category", message)
        for tag in sorted(script.tags - tags):
            message = f"{tag!r} is no tag of {STUDY_FILE}; known are {', '.join(sorted(tags))}"
            yield Finding(PROMPTS_FILE, script.line, "tags", message)
