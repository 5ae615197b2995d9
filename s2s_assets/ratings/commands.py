"""`s2s ratings`: answers in and out of the study's database, and what does not count."""

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import click

from s2s_assets.ratings.exclude import Scope, exclude, restore, withdraw
from s2s_assets.ratings.export import export_ratings
from s2s_assets.ratings.files import read_ratings
from s2s_assets.ratings.layouts import Layout
from s2s_assets.ratings.options import columns_option, scores_option
from s2s_assets.ratings.store import RatingsStore, status, utc_now
from s2s_assets.ratings.transfer import Imported, as_written, import_ratings
from s2s_assets.storage import open_engine
from s2s_assets.study import Settings, StudyFolder, load_study, plural
from s2s_assets.study.console import console, emit, guard, json_option, people

_SHOWN = 10


@click.group()
def ratings() -> None:
    """Import, export, count and exclude the ratings of the study in S2S_STUDY."""


@ratings.command(name="import")
@click.argument("file", type=click.Path(path_type=Path))
@columns_option
@scores_option
@click.option("--layout", type=click.Choice(get_args(Layout)), default="answers", show_default=True)
@json_option
@guard
def import_file(
    file: Path, columns: dict[str, str], scores: dict[str, int] | None, layout: Layout, as_json: bool
) -> None:
    """Add a ratings FILE's answers (CSV, JSONL, Parquet); the same file again adds nothing."""
    store, _ = _open()
    read = read_ratings(file, columns=columns, scores=scores, layout=layout)
    done = import_ratings(store, as_written(read, file), utc_now())
    if as_json:
        emit(done.to_json())
    else:
        _show(done)


@ratings.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@guard
def export(file: Path, as_json: bool) -> None:
    """Write every answer to FILE, named .csv, .jsonl or .parquet."""
    store, folder = _open()
    rows = export_ratings(store, file, folder.scripts, utc_now())
    if as_json:
        emit({"file": str(file), "rows": rows})
    else:
        people.print(f"{plural(rows, 'answer')} in {click.format_filename(file)}")


@ratings.command(name="status")
@json_option
@guard
def show_status(as_json: bool) -> None:
    """Count pairs, slots, votes, raters and answers."""
    store, _ = _open()
    counts = status(store)
    if as_json:
        emit(counts)
    else:
        people.print(", ".join(f"{count} {name}" for name, count in counts.items()))


def _decision(command: Callable[..., None]) -> Callable[..., None]:
    """Options of what is published with a name and a reason."""
    reason = click.option("--reason", required=True, help="Why; published with it.")
    author = click.option("--by", "author", required=True, help="Who decides; published with it.")
    return reason(author(json_option(guard(command))))


@ratings.command(name="exclude")
@click.argument("scope", type=click.Choice(get_args(Scope)))
@click.argument("target")
@_decision
def exclude_target(scope: Scope, target: str, reason: str, author: str, as_json: bool) -> None:
    """Leave out a rating (by id), a rater (by name) or a response (by id); nothing is deleted."""
    store, _ = _open()
    _tell(as_json, scope, target, exclude(store, scope, target, author, reason, utc_now()), "excluded")


@ratings.command(name="restore")
@click.argument("scope", type=click.Choice(get_args(Scope)))
@click.argument("target")
@_decision
def restore_target(scope: Scope, target: str, reason: str, author: str, as_json: bool) -> None:
    """Count a rating, a rater or a response again."""
    store, _ = _open()
    _tell(as_json, scope, target, restore(store, scope, target, author, reason, utc_now()), "restored")


@ratings.command(name="withdraw")
@click.argument("response")
@_decision
def withdraw_response(response: str, reason: str, author: str, as_json: bool) -> None:
    """Withdraw a RESPONSE: its pairs become void, its answers are excluded, the plan heals the hole."""
    store, _ = _open()
    _tell(as_json, "response", response, withdraw(store, response, author, reason, utc_now()), "withdrawn")


def _open() -> tuple[RatingsStore, StudyFolder]:
    settings = Settings.from_environment()
    folder = load_study(settings.study)
    return RatingsStore(open_engine(settings.database_url), folder.study.study), folder


def _show(done: Imported) -> None:
    people.print(
        f"{plural(done.read, 'row')} read: {done.inserted} inserted, {done.already} already there, "
        f"{len(done.rejected)} rejected, {done.conflicts} of these in conflict with what is stored"
    )
    for row in done.rejected[:_SHOWN]:
        console.print(f"  row {row.row}: {row.reason}", markup=False, soft_wrap=True)
    if len(done.rejected) > _SHOWN:
        console.print(f"  and {len(done.rejected) - _SHOWN} more; --json lists them all")


def _tell(as_json: bool, scope: str, target: str, changed: bool, word: str) -> None:
    if as_json:
        emit({"scope": scope, "target": target, "changed": changed})
    else:
        people.print(f"{scope} {target}: {word if changed else 'nothing to change'}")
