"""`s2s responses estimate`, `status` and `recollect`: a study's responses, before, while and after they are collected."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
import polars as pl
from rich.table import Table

from s2s_assets.prompts import read_recording, record_prompts
from s2s_assets.responses.attempts import stored_attempts
from s2s_assets.responses.estimate import ConfigEstimate, Estimate, PromptsFrom, ProviderEstimate
from s2s_assets.responses.estimate import estimate as make_estimate
from s2s_assets.responses.expected import expected_prompts
from s2s_assets.responses.recollection import Answered, supersede
from s2s_assets.responses.status import ConfigStatus, config_status
from s2s_assets.responses.table import wanted
from s2s_assets.storage import StudyStore, open_store
from s2s_assets.study import Config, FreezeReader, InputError, Settings, StudyFolder, load_study, plural, sha256_hex
from s2s_assets.study.console import emit, guard, json_option, people, progress, whole

study_option = click.option("--study", type=click.Path(path_type=Path), help="Study folder; default S2S_STUDY.")
configs_option = click.option(
    "--config", "keys", multiple=True, help="Only this config; repeatable. Default: all active."
)


@dataclass(frozen=True)
class _Opened:
    """A study with its store."""

    folder: StudyFolder
    store: StudyStore
    home: Path

    def configs(self, keys: Sequence[str]) -> list[Config]:
        """The configs of some keys, all active ones where none is given.

        Raises:
            StudyError: a key that the study does not have.
        """
        return [self.folder.config(key) for key in keys] or list(self.folder.study.active_configs)

    def prompts(self) -> pl.DataFrame | None:
        """`normalized_audio` in force; None before there is one."""
        version = self.store.head("normalized_audio", None)
        return None if version is None else self.store.read_table("normalized_audio", None, version).frame

    def recorded(self) -> pl.DataFrame:
        """`recorded_prompts` in force; before there is one, what it would be by the study folder, without storing it."""
        version = self.store.head("recorded_prompts", None)
        if version is not None:
            return self.store.read_table("recorded_prompts", None, version).frame
        with progress("measuring recordings", len(self.folder.recordings)) as advance:

            def read(file: str) -> bytes | None:
                advance(1)
                return read_recording(self.folder.recordings_dir / file)

            study = self.folder.study
            return record_prompts(
                self.folder.scripts, self.folder.recordings, read, study.qa, lambda data, _: sha256_hex(data)
            )

    def prompts_to_send(self) -> tuple[pl.DataFrame, PromptsFrom]:
        """`normalized_audio` in force; before there is one, what the selected recordings will be.

        Raises:
            InputError: there is no selected recording either.
        """
        prompts = self.prompts()
        if prompts is not None:
            return prompts, "normalized_audio"
        expected = expected_prompts(self.recorded())
        if expected.is_empty():
            raise InputError(
                f"study {self.folder.study.study!r}: no normalized audio yet, and no recording that passes its check, so "
                "nothing is known of the prompts; add recordings to recordings.csv"
            )
        return expected, "recorded_prompts"

    def known_prompts(self) -> pl.DataFrame:
        """`normalized_audio` in force.

        Raises:
            InputError: there is none yet.
        """
        prompts = self.prompts()
        if prompts is None:
            raise InputError(
                f"study {self.folder.study.study!r}: no normalized audio yet, so nothing is known of the prompts; "
                "materialize recorded_prompts and normalized_audio first"
            )
        return prompts


def _open(study: Path | None) -> _Opened:
    settings = Settings.from_environment()
    folder = load_study(study or settings.study)
    store = StudyStore(open_store(settings.store), folder.study.study)
    store.claim()
    return _Opened(folder, store, settings.home)


@click.command()
@configs_option
@study_option
@json_option
@guard
def estimate(keys: tuple[str, ...], study: Path | None, as_json: bool) -> None:
    """Say what is left to send, about how long it takes and what it costs; sends nothing.

    Before the prompts are normalized, their durations are those of the selected recordings.
    """
    opened = _open(study)
    prompts, source = opened.prompts_to_send()
    found = make_estimate(opened.folder.study, opened.configs(keys), prompts, opened.store, source)
    if as_json:
        emit(found.document())
    else:
        _show_estimate(found)


@click.command()
@configs_option
@study_option
@json_option
@guard
def status(keys: tuple[str, ...], study: Path | None, as_json: bool) -> None:
    """Count what is collected, by the stored attempts, and show what is being collected on this machine."""
    opened = _open(study)
    prompts = opened.prompts()
    rows = [config_status(config, prompts, opened.store, opened.home) for config in opened.configs(keys)]
    if as_json:
        emit([asdict(row) for row in rows])
    else:
        _show_status(rows)


@click.command()
@click.argument("config")
@click.option("--prompt", "only", multiple=True, help="Only this prompt; repeatable. Default: all that are answered.")
@click.option("--by", "author", required=True, help="Who decides; kept with it.")
@click.option("--reason", required=True, help="Why; kept with it.")
@study_option
@json_option
@click.pass_context
@guard
def recollect(
    context: click.Context,
    config: str,
    only: tuple[str, ...],
    author: str,
    reason: str,
    study: Path | None,
    as_json: bool,
) -> None:
    """Have the answers of CONFIG collected anew, under new response ids; the old ones are kept.

    Nothing is sent here: the next collection of CONFIG sends what is marked. Responses that raters have answered about
    are refused; withdraw them first.
    """
    opened = _open(study)
    found = opened.folder.config(config)
    answered = _answered(opened, found, only)
    reader = context.find_object(FreezeReader)
    frozen = reader.read(opened.folder) if reader is not None else None
    held = frozen.responses if frozen is not None else frozenset[str]()
    marked = supersede(opened.store, found, answered, held, author=author, reason=reason, now=datetime.now(UTC))
    if as_json:
        emit({"config": config, "marked": marked, "responses": [a.response_id for a in answered]})
    else:
        more = (
            "the next collection asks for them anew"
            if marked
            else "what is marked already, or has no answer, waits for the next collection"
        )
        people.print(f"{config}: {plural(marked, 'response')} marked; {more}")


def _answered(opened: _Opened, config: Config, only: Sequence[str]) -> list[Answered]:
    """The stored successes that are wanted now, of some prompts.

    Raises:
        InputError: a prompt that is not there.
    """
    plan = wanted(config, opened.known_prompts(), opened.store)
    unknown = sorted(set(only) - {w.prompt for w in plan})
    if unknown:
        raise InputError(f"--prompt {', '.join(unknown)}: no prompt of this name has normalized audio")
    stored = stored_attempts(opened.store, config)
    ok = {i for i, records in stored.items() if any(r["status"] == "ok" for r in records)}
    chosen = [w for w in plan if w.response_id in ok and (not only or w.prompt in only)]
    return [Answered(w.response_id, w.prompt, w.repeat) for w in {w.response_id: w for w in chosen}.values()]


def _show_estimate(found: Estimate) -> None:
    _show(("config", "exchanges", "prompt", "answer", "cost", "without a price"), map(_config_cells, found.configs))
    _show(("provider", "exchanges", "takes", "cost", "spent", "budget"), map(_provider_cells, found.providers))
    document = found.document()
    people.print(
        f"{plural(document['exchanges'], 'exchange')}, about {_time(document['duration_s'])}, {_in_all(found)}; "
        f"prices: {found.price_table}"
    )
    if found.prompts_from == "recorded_prompts":
        people.print(f"no normalized audio yet: prompts as long as the {found.prompts} selected recordings")


def _in_all(found: Estimate) -> str:
    """What all providers together cost; where a price is not known, the sum of the others, as such."""
    unknown = [p.provider for p in found.providers if p.cost_usd is None]
    known = sum(p.cost_usd for p in found.providers if p.cost_usd is not None)
    return f"about {_usd(known)}" + (f" and what {', '.join(unknown)} cost" if unknown else "")


def _config_cells(row: ConfigEstimate) -> tuple[str, ...]:
    lengths = (f"{row.prompt_s:.1f} s", f"{row.answer_s:.1f} s")
    return (row.config, str(row.exchanges), *lengths, _usd(row.cost_usd), row.problem or ", ".join(row.unpriced))


def _provider_cells(row: ProviderEstimate) -> tuple[str, ...]:
    spent = _spent(row.spent_usd, row.unknown_costs)
    money = (_usd(row.cost_usd), spent, "–" if row.budget_usd is None else _usd(row.budget_usd))
    return (row.provider, str(row.exchanges), _time(row.duration_s), *money)


def _show_status(rows: Sequence[ConfigStatus]) -> None:
    _show(("config", "ok", "failed", "attempts", "spent", "last", "now"), map(_status_cells, rows))


def _status_cells(row: ConfigStatus) -> tuple[str, ...]:
    failed = ", ".join(f"{n} {status}" for status, n in row.failed.items()) or "–"
    spent = _spent(row.cost_usd, row.unknown_costs)
    last = "–" if row.last_at is None else row.last_at[:19]
    return (row.config, f"{row.ok}/{row.planned}", failed, str(row.attempts), spent, last, _now(row))


def _now(row: ConfigStatus) -> str:
    if row.running is None:
        return ""
    done, rate, to_go = (row.running.get(name) for name in ("done", "rate", "to_go_s"))
    pace = f", {60 * rate:.1f} prompts a minute" if rate else ""
    return f"collecting, {done or 0} done{pace}" + (f", about {_time(to_go)} to go" if to_go is not None else "")


def _show(titles: Sequence[str], rows: Iterable[tuple[str, ...]]) -> None:
    table = Table(box=None)
    for title in titles:
        table.add_column(title, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    people.print(whole(table))


def _spent(known: float | None, unknown: int) -> str:
    """What is known to be spent, and of how many attempts it is not known."""
    if not unknown:
        return _usd(known)
    return f"{_usd(known)} + {unknown} unknown" if known else f"{unknown} unknown"


def _usd(amount: float | None) -> str:
    if amount is None:
        return "unknown"
    return "< 0.01 USD" if 0 < amount < 0.005 else f"{amount:.2f} USD"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
