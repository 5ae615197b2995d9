"""Table `recorded_prompts`: every recording measured, checked and judged, and one selected for each script."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from s2s_assets.audio import Measures, decode, measure, read_audio_file
from s2s_assets.prompts.qa import qa_reasons
from s2s_assets.prompts.schema import MEASURES, RECORDED_PROMPTS
from s2s_assets.prompts.selection import select_takes
from s2s_assets.study import AudioError, QaLimits, Recording, RecordingVerdict, Script

METHOD_VERSION = "recorded-1"
"""Changes whenever the same recordings would be measured, checked or selected otherwise."""
_NO_MEASURES: dict[str, Any] = dict.fromkeys(MEASURES) | {"warnings": []}


@dataclass(frozen=True)
class _Heard:
    """A recording as it was found."""

    recording: Recording
    source_blob: str | None
    measures: Measures | None
    reason: str | None
    """Why it has no measures."""
    qa_reasons: tuple[str, ...]


def read_recording(path: Path) -> bytes | None:
    """A recording's bytes; None where there is no such file.

    Raises:
        AudioError: something else than a regular file has that name.
    """
    return read_audio_file(path) if path.exists() else None


def record_prompts(
    scripts: Iterable[Script],
    recordings: Iterable[Recording],
    read: Callable[[str], bytes | None],
    qa_limits: QaLimits,
    put_blob: Callable[[bytes, str], str],
    verdicts: Iterable[RecordingVerdict] = (),
) -> pl.DataFrame:
    """Measure, check and select recordings.

    Args:
        scripts: The study's scripts.
        recordings: Its takes; each names one of the scripts.
        read: File as in recordings.csv → its bytes, None where there is none; may raise AudioError for what is no file.
        qa_limits: Limits of the automated check.
        put_blob: Stores bytes under a suffix and returns their reference.
        verdicts: Reviewers', oldest first.

    Returns:
        Table `recorded_prompts`, sorted by prompt and recording. A recording that cannot be decoded or measured is a row
        with its reason.
    """
    script_of = {script.prompt: script for script in scripts}
    takes: defaultdict[str, list[_Heard]] = defaultdict(list)
    for recording in sorted(recordings, key=lambda r: r.recording):
        script = script_of[recording.prompt]
        takes[script.prompt].append(_listen(recording, script, read, qa_limits, put_blob))
    rows = [_row(script_of[prompt], heard) for prompt in sorted(takes) for heard in takes[prompt]]
    return select_takes(pl.DataFrame(rows, schema=RECORDED_PROMPTS), verdicts)


def prompts_without_take(scripts: Iterable[Script], recorded: pl.DataFrame) -> dict[str, str]:
    """Scripts for which nothing was selected, with the reason, sorted by prompt.

    `recorded` is a table `recorded_prompts`.
    """
    selected = set(recorded.filter(pl.col("selected"))["prompt"])
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for prompt, recording, reason in recorded.select("prompt", "recording", "selection_reason").iter_rows():
        reasons[prompt].append(f"{recording} {reason}")
    missing = sorted({script.prompt for script in scripts} - selected)
    return {prompt: "; ".join(reasons.get(prompt, ["no recording"])) for prompt in missing}


def _listen(
    recording: Recording,
    script: Script,
    read: Callable[[str], bytes | None],
    limits: QaLimits,
    put_blob: Callable[[bytes, str], str],
) -> _Heard:
    source_blob = None
    try:
        data = read(recording.file)
        if data is None:
            raise AudioError(f"{recording.file}: the file is missing")
        source_blob = put_blob(data, _suffix(recording.file))
        measures = measure(decode(data, recording.file))
    except AudioError as error:
        return _Heard(recording, source_blob, None, str(error), ())
    return _Heard(recording, source_blob, measures, None, qa_reasons(measures, script.acoustic, limits))


def _row(script: Script, heard: _Heard) -> Mapping[str, Any]:
    recording, measures = heard.recording, heard.measures
    return {
        "prompt": script.prompt,
        "recording": recording.recording,
        "text": script.text,
        "category": script.category,
        "level": script.level,
        "acoustic": script.acoustic,
        "tags": sorted(script.tags),
        "split": script.split,
        "speaker": recording.speaker or None,
        "file": recording.file,
        "source_blob": heard.source_blob,
        "status": "refused" if measures is None else "ok",
        "reason": heard.reason,
        **(_NO_MEASURES if measures is None else measures.as_row()),
        "qa": None if measures is None else "fail" if heard.qa_reasons else "pass",
        "qa_reasons": list(heard.qa_reasons),
        "verdict": recording.verdict,
        "verdict_reason": recording.verdict_reason or None,
        "verdict_by": recording.verdict_by or None,
        "selected": False,
        "selection_reason": None,
    }


def _suffix(file: str) -> str:
    """The file's ending as part of a blob reference."""
    suffix = PurePosixPath(file).suffix[1:].lower()
    return suffix if re.fullmatch(r"[a-z0-9]{1,8}", suffix) else "bin"
