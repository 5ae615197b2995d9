"""`s2s audio`: measure and normalize files by hand."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from s2s_assets.audio.clip import Clip
from s2s_assets.audio.decoding import decode, read_audio_file
from s2s_assets.audio.encoding import Container, encode
from s2s_assets.audio.measures import Measures, measure
from s2s_assets.audio.naming import OutputNames, make_folder, write_whole
from s2s_assets.audio.normalization import normalize
from s2s_assets.study import AudioError, AudioTarget, InputError
from s2s_assets.study.console import emit, guard, json_option, people, progress, whole

Row = dict[str, Any]
_REFUSED: Row = {field.name: None for field in fields(Measures)} | {"warnings": []}
_NOT_NORMALIZED: Row = dict.fromkeys(("output", "gain_db", "trimmed_start_s", "trimmed_end_s", "after"))
_COLUMNS = {
    "duration_s": "seconds",
    "sample_rate_hz": "Hz",
    "channels": "channels",
    "loudness_lufs": "LUFS",
    "true_peak_dbtp": "dBTP",
    "leading_silence_s": "lead",
    "trailing_silence_s": "trail",
    "clipped_share": "clipped",
    "noise_floor_dbfs": "noise",
    "speech_level_dbfs": "speech",
}
_DEFAULT = AudioTarget()
_files = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))


@click.group()
def audio() -> None:
    """Measure and normalize audio files."""


@audio.command("measure")
@_files
@json_option
@guard
def measure_files(files: tuple[Path, ...], as_json: bool) -> None:
    """Loudness, peaks, silence, noise and speech level of each FILE.

    A file that cannot be measured is a row with its reason; the others go on.
    """
    rows = _rows(files, "measuring", lambda clip, _: measure(clip).as_row(), _REFUSED)
    _show(rows, as_json, _COLUMNS)


@audio.command("normalize")
@_files
@click.option("--out", "folder", required=True, type=click.Path(path_type=Path), help="Folder for the outputs.")
@click.option("--target-lufs", type=float, default=_DEFAULT.target_lufs, show_default=True, help="Integrated loudness.")
@click.option("--ceiling-dbtp", type=float, default=_DEFAULT.ceiling_dbtp, show_default=True, help="Highest true peak.")
@click.option("--no-trim", is_flag=True, help="Keep silent ends.")
@click.option("--format", "container", type=click.Choice(["flac", "wav"]), default="flac", show_default=True)
@json_option
@guard
def normalize_files(
    files: tuple[Path, ...],
    folder: Path,
    target_lufs: float,
    ceiling_dbtp: float,
    no_trim: bool,
    container: Container,
    as_json: bool,
) -> None:
    """Trim each FILE's silent ends and bring it to one loudness by a single gain.

    Outputs have 24 bits and the source's rate and channels. A file that cannot be measured is a row with its reason.
    """
    target = _target(target_lufs, ceiling_dbtp, trim=not no_trim)
    make_folder(folder)
    names = OutputNames(folder, container, files)

    def normalized(clip: Clip, source: Path) -> Row:
        result = normalize(clip, target.target_lufs, target.ceiling_dbtp, target.trim)
        output = names.next_for(source)
        write_whole(output, encode(result.clip, container))
        return result.before.as_row() | {
            "warnings": list(result.warnings),
            "output": click.format_filename(output),
            "gain_db": result.gain_db,
            "trimmed_start_s": result.trimmed_start_s,
            "trimmed_end_s": result.trimmed_end_s,
            "after": result.after.as_row(),
        }

    rows = _rows(files, "normalizing", normalized, _REFUSED | _NOT_NORMALIZED)
    _show(rows, as_json, {"duration_s": "seconds", "loudness_lufs": "LUFS", "gain_db": "gain", "output": "output"})


def _target(target_lufs: float, ceiling_dbtp: float, trim: bool) -> AudioTarget:
    try:
        return AudioTarget(target_lufs=target_lufs, ceiling_dbtp=ceiling_dbtp, trim=trim)
    except ValueError as error:
        expected = "--target-lufs from -60 to -5 and --ceiling-dbtp from -20 to 0"
        raise InputError(f"expected {expected}, not {target_lufs:g} and {ceiling_dbtp:g}") from error


def _rows(files: Iterable[Path], doing: str, work: Callable[[Clip, Path], Row], refused: Row) -> list[Row]:
    """One row a file in the order given; what `work` cannot do is a refused row with every key of `refused`."""
    files = tuple(files)
    rows = []
    with progress(doing, len(files)) as advance:
        for path in files:
            head: Row = {"file": click.format_filename(path)}
            try:
                done = work(decode(read_audio_file(path), path.name), path)
                rows.append(head | {"status": "ok", "reason": None} | done)
            except AudioError as error:
                rows.append(head | {"status": "refused", "reason": str(error)} | refused)
            advance(1)
    return rows


def _show(rows: list[Row], as_json: bool, columns: dict[str, str]) -> None:
    """Print the rows, as JSON or as a table for people."""
    if as_json:
        emit(rows)
        return
    table = Table(box=None)
    for title in columns.values():
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("file", no_wrap=True)
    for row in rows:
        table.add_row(*(_cell(row[key]) for key in columns), row["file"])
    people.print(whole(table))
    for row in rows:
        for note in [row["reason"]] if row["reason"] else row["warnings"]:
            people.print(f"{row['file']}: {note}")


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
