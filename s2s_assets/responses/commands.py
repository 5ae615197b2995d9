"""`s2s responses`: a study's responses, and `try`, one exchange by hand."""

import asyncio
import tempfile
from pathlib import Path

import click

from s2s_assets.audio import decode, read_audio_file
from s2s_assets.responses.costs import Tariff, total
from s2s_assets.responses.expected import ANSWER_S
from s2s_assets.responses.prices import price_table
from s2s_assets.responses.providers import adapter
from s2s_assets.responses.records import Outcome, Prompt
from s2s_assets.responses.request import PerStage, resolve
from s2s_assets.responses.retry import Backoff, attempts
from s2s_assets.responses.study_commands import estimate, recollect, status
from s2s_assets.responses.trial import document, timeline, write_files
from s2s_assets.study import AudioError, Config, InputError, Settings, Study, load_study
from s2s_assets.study.console import emit, guard, json_option, people


@click.group()
def responses() -> None:
    """A study's responses, and one exchange with a model by hand."""


for _command in (estimate, status, recollect):
    responses.add_command(_command)


@responses.command("try")
@click.argument("config")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--study", type=click.Path(path_type=Path), help="Study folder; default S2S_STUDY.")
@click.option("--base-url", help="Address instead of the provider's; for a cascade stt=URL,llm=URL,tts=URL.")
@click.option("--pace", type=click.FloatRange(min=0), help="Audio seconds sent a second; 0 sends without waiting.")
@click.option("--attempts", "most", type=click.IntRange(min=1), default=1, show_default=True, help="Attempts at most.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for audio and events; default a new temporary one."
)
@json_option
@guard
def try_command(
    config: str,
    file: Path,
    study: Path | None,
    base_url: str | None,
    pace: float | None,
    most: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Send FILE to CONFIG once and show what happens.

    CONFIG is a key of the study, model|voice|thinking; FILE is a spoken prompt.
    """
    loaded = load_study(study or Settings.from_environment().study)
    found = loaded.config(config)
    terms = loaded.study.exchange if pace is None else loaded.study.exchange.model_copy(update={"pace": pace})
    request = resolve(found, terms, base_url=_addresses(base_url))
    prompt = _prompt(file, adapter(request.adapter).input_rate_hz)
    folder = _folder(out)
    ends = asyncio.run(attempts(request, prompt, Backoff(attempts=most), config))
    files = write_files(ends[-1], folder, prompt, config)
    if as_json:
        emit(document(config, ends, files, _cost(found, loaded.study, ends[-1], prompt)))
    else:
        _show(config, ends, folder)


def _cost(config: Config, study: Study, outcome: Outcome, prompt: Prompt) -> float | None:
    tariff = Tariff.of(config, price_table(study.providers))
    return total(tariff.charges(outcome, prompt.duration_s, ANSWER_S))


def _addresses(text: str | None) -> PerStage:
    """`URL`, or `stage=URL,stage=URL`."""
    if text is None or "=" not in text.partition("://")[0]:
        return text
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(stage and url for stage, _, url in pairs):
        raise InputError(f"--base-url {text!r}: expected URL, or stage=URL for each stage, joined by commas")
    return {stage.strip(): url.strip() for stage, _, url in pairs}


def _prompt(file: Path, rate_hz: int) -> Prompt:
    try:
        return Prompt.of(decode(read_audio_file(file), file.name), rate_hz)
    except AudioError as error:
        raise InputError(f"{file}: expected a recording of a prompt: {error}") from error


def _folder(out: Path | None) -> Path:
    """Where the files go, tried before anything is sent: an answer that is paid for must have a place."""
    if out is None:
        return Path(tempfile.mkdtemp(prefix="s2s_try_"))
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            return out
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror}); name another folder") from error


def _show(config: str, ends: tuple[Outcome, ...], folder: Path) -> None:
    """The timeline of each attempt and a last line, for people."""
    for number, outcome in enumerate(ends, start=1):
        people.rule(f"{config}, attempt {number} of {len(ends)}: {outcome.status}")
        for line in timeline(outcome):
            people.print(line)
    last = ends[-1]
    if not last.ok:
        people.print(f"{last.status} ({last.code}): {last.message}")
    people.print(f"files in {click.format_filename(folder)}")
