"""`s2s ratings`: answers in and out of the study's database, and what does not count."""

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import click

from s2s_assets.ratings.access import admin_link, end_access, make_access
from s2s_assets.ratings.ear_media import EarMedia
from s2s_assets.ratings.exclude import Scope, exclude, restore, withdraw
from s2s_assets.ratings.export import export_mos, export_ratings
from s2s_assets.ratings.foreign import ORIGINS, Origin, import_votes
from s2s_assets.ratings.forget import forget
from s2s_assets.ratings.invitations import Panel, Work, invitations, revoke
from s2s_assets.ratings.layouts import Layout
from s2s_assets.ratings.links import make_links
from s2s_assets.ratings.options import columns_option, scores_option
from s2s_assets.ratings.project import TOOLS, Tool, write_project
from s2s_assets.ratings.reconcile import read_submissions, reconcile, sittings_table
from s2s_assets.ratings.review import RecordedTable
from s2s_assets.ratings.store import RatingsStore, status, utc_now
from s2s_assets.ratings.transfer import Imported
from s2s_assets.ratings.transfer import import_file as import_answers
from s2s_assets.ratings.verdicts import verdicts_given, verdicts_to_take
from s2s_assets.storage import StudyStore, open_engine, open_store
from s2s_assets.study import Settings, StudyFolder, load_study, plural
from s2s_assets.study.console import console, emit, guard, json_option, people

_SHOWN = 10


@click.group()
def ratings() -> None:
    """Collect, import, export, count and exclude the ratings of the study in S2S_STUDY."""


@ratings.command(name="import")
@click.argument("file", type=click.Path(path_type=Path))
@columns_option
@scores_option
@click.option("--layout", type=click.Choice(get_args(Layout)), default="answers", show_default=True)
@click.option(
    "--from", "origin", type=click.Choice(ORIGINS), help="Another tool's own file, of a project written here."
)
@json_option
@guard
def import_file(
    file: Path,
    columns: dict[str, str],
    scores: dict[str, int] | None,
    layout: Layout,
    origin: Origin | None,
    as_json: bool,
) -> None:
    """Add a ratings FILE's answers (CSV, JSONL, Parquet); the same file again adds nothing."""
    store, folder = _open()
    if origin is not None:
        done = import_votes(store, file, origin, utc_now(), [rubric.id for rubric in folder.study.rubrics])
    else:
        done = import_answers(store, file, utc_now(), columns=columns, scores=scores, layout=layout)
    if as_json:
        emit(done.to_json())
    else:
        _show(done)


@ratings.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--mos", is_flag=True, help="The scores of single responses, 1 to 5, instead of pairs'.")
@json_option
@guard
def export(file: Path, mos: bool, as_json: bool) -> None:
    """Write every answer to FILE, named .csv, .jsonl or .parquet."""
    store, folder = _open()
    rows = export_mos(store, file) if mos else export_ratings(store, file, folder.scripts, utc_now())
    if as_json:
        emit({"file": str(file), "rows": rows})
    else:
        people.print(f"{plural(rows, 'answer')} in {click.format_filename(file)}")


@ratings.command(name="project")
@click.argument("tool", type=click.Choice(TOOLS))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A new folder.")
@click.option("--audio-url", default="audio", show_default=True, help="Where the tool will find the folder audio.")
@json_option
@guard
def make_project(tool: Tool, out: Path, audio_url: str, as_json: bool) -> None:
    """Write the free slots as a project for Label Studio, Potato or MTurk; `import --from` takes its votes."""
    store, folder = _open()
    settings = Settings.from_environment()
    blobs = StudyStore(open_store(settings.store), folder.study.study)
    ear = EarMedia(blobs, settings.home / "ear-media", folder.study.audio)
    done = write_project(store, folder, tool, out, lambda blob: ear.path(blob, "plain"), audio_url)
    if as_json:
        emit({"out": str(out), "tasks": done.tasks, "projects": done.projects, "clips": done.clips})
    else:
        people.print(
            f"{plural(done.tasks, 'task')} in {plural(done.projects, 'project')}, {plural(done.clips, 'clip')} "
            f"in {click.format_filename(out)}"
        )


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
    """Options of what is decided with a name and a reason."""
    reason = click.option(
        "--reason", required=True, help="Why; kept with it, and published where answers are left out."
    )
    author = click.option(
        "--by", "author", required=True, help="Who decides; kept with it, and published where answers are left out."
    )
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


@ratings.command(name="forget")
@click.argument("rater")
@_decision
def forget_rater(rater: str, reason: str, author: str, as_json: bool) -> None:
    """Delete all data of a RATER (name, or the panel's id) for good, as somebody asked; the slots are free again."""
    store, _ = _open()
    done = forget(store, rater, author, reason, utc_now())
    if as_json:
        emit(done.to_json())
    else:
        people.print(
            f"{plural(done.answers, 'answer')}, {plural(done.tasks, 'task')} and {plural(done.sittings, 'sitting')} "
            f"deleted; what is left is the name {done.name}"
        )


@ratings.command(name="reconcile")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--panel", type=click.Choice([p for p in get_args(Panel) if p != "personal"]), default="prolific", show_default=True
)
@json_option
@guard
def reconcile_submissions(file: Path, panel: Panel, as_json: bool) -> None:
    """Hold a panel's FILE of submissions against the sittings here: whom to pay, and why or why not."""
    store, folder = _open()
    found = reconcile(read_submissions(file, panel), sittings_table(store, panel, folder.study.cleaning))
    if as_json:
        emit(found.to_json())
        return
    for row in found.submissions.iter_rows(named=True):
        people.print(f"{row['pay']:9} {row['submission']}  {row['person']}  {row['why']}", markup=False)
    for name in found.missing:
        people.print(f"missing   {name}  came here and is not in the list", markup=False)


@ratings.command()
@click.option("--port", default=8800, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Processes.")
@guard
def serve(port: int, host: str, workers: int) -> None:
    """Serve the rating app; prints its address once it answers, and runs until it is stopped."""
    from s2s_assets.ratings.app.serve import serve as run

    # what cannot be opened is said here, once, and not by each worker
    _open()
    run(host, port, workers, lambda address: click.echo(f"rating app on {address}"))


@ratings.command(name="invite")
@click.option("--panel", type=click.Choice(get_args(Panel)), default="personal", show_default=True)
@click.option("--mos", is_flag=True, help="For single responses, 1 to 5, instead of pairs.")
@click.option("--label", default="", help="For you, in the list of invitations.")
@click.option("--return-url", help="Where raters go at the end; {code}, {person} and {session} are filled in.")
@click.option("--url", help="Address of the rating app; by default S2S_RATER_URL.")
@json_option
@guard
def make_invitation(
    panel: Panel, mos: bool, label: str, return_url: str | None, url: str | None, as_json: bool
) -> None:
    """Make a link that starts a rater's session in a browser: for one person, or for all that a panel sends."""
    store, _ = _open()
    work: Work = "mos" if mos else "pairs"
    base_url = url or Settings.from_environment().rater_url
    (made,) = make_links(store, utc_now(), base_url, panel, work, label, return_url=return_url)
    if as_json:
        emit({"url": made.url, "codes": made.codes})
        return
    people.print(made.url)
    for outcome, code in made.codes.items():
        people.print(f"  code for {outcome}: {code}")


@ratings.command(name="invitations")
@json_option
@guard
def list_invitations(as_json: bool) -> None:
    """List the links that were made; the links themselves are stored nowhere."""
    store, _ = _open()
    rows = [
        {
            "invitation": one.id,
            "panel": one.panel,
            "work": one.work,
            "label": one.label,
            "created_at": one.created_at.isoformat(),
            "revoked_at": None if one.revoked_at is None else one.revoked_at.isoformat(),
            "revoked_by": one.revoked_by,
            "revoked_reason": one.revoked_reason,
        }
        for one in invitations(store)
    ]
    if as_json:
        emit(rows)
        return
    for row in rows:
        state = "open" if row["revoked_at"] is None else f"revoked {row['revoked_at']}"
        if row["revoked_by"] is not None:
            state += f" by {row['revoked_by']}: {row['revoked_reason']}"
        people.print(
            f"{row['invitation']}  {row['panel']}  {row['work']}  {row['label'] or '-'}  {state}", markup=False
        )


@ratings.command(name="revoke")
@click.argument("invitation", type=int)
@_decision
def revoke_invitation(invitation: int, reason: str, author: str, as_json: bool) -> None:
    """Close the link of an INVITATION, by its number; what was saved is kept."""
    store, _ = _open()
    changed = revoke(store, invitation, author, reason, utc_now())
    if as_json:
        emit({"invitation": invitation, "changed": changed})
    else:
        people.print(f"invitation {invitation}: {'revoked' if changed else 'nothing to change'}")


@ratings.command(name="admin")
@click.option("--url", help="Address of the rating app; by default S2S_RATER_URL.")
@click.option("--end", is_flag=True, help="Make none; close every link and every browser that has one open.")
@json_option
@guard
def open_admin(url: str | None, end: bool, as_json: bool) -> None:
    """Make a link to the admin pages: it opens once, within 15 minutes, in one browser, for 12 hours."""
    store, _ = _open()
    if end:
        closed = end_access(store, utc_now())
        if as_json:
            emit({"closed": closed})
        else:
            people.print(f"{plural(closed, 'admin link')} closed")
        return
    address = admin_link(url or Settings.from_environment().rater_url, make_access(store, utc_now()))
    if as_json:
        emit({"url": address})
    else:
        people.print(address)


@ratings.command(name="verdicts")
@json_option
@guard
def list_verdicts(as_json: bool) -> None:
    """List what reviewers said of recordings, oldest first; of one file the newest counts."""
    store, folder = _open()
    blobs = StudyStore(open_store(Settings.from_environment().store), folder.study.study)
    in_force = set(verdicts_to_take(store, RecordedTable(blobs).frame()))
    rows = [one.model_dump(mode="json") | {"in_force": one in in_force} for one in verdicts_given(store)]
    if as_json:
        emit(rows)
        return
    for one in verdicts_given(store):
        said = "selected" if one.selected else one.verdict or "taken back"
        state = "" if one in in_force else "  not in force"
        why = f": {one.why}" if one.why else ""
        told = f"{one.created_at:%Y-%m-%d %H:%M}  {one.recording}  {said} by {one.author}{why}{state}"
        people.print(told, markup=False)


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
