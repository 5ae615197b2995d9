"""`s2s release list` and `s2s release check`: the sealed releases of this machine."""

import sys

import click

from s2s_assets.leaderboard.release import INDEX, NAME, damage, read_index
from s2s_assets.study import InputError, Settings
from s2s_assets.study.console import console, emit, guard, json_option, people


@click.group()
def release() -> None:
    """Sealed releases of the board."""


@release.command("list")
@json_option
@guard
def list_releases(as_json: bool) -> None:
    """List the sealed releases, newest first."""
    root = Settings.from_environment().home / "releases"
    entries = read_index(root / INDEX)
    if as_json:
        emit(entries)
        return
    shown = click.format_filename(root)
    for entry in entries:
        people.print(f"{entry['release']}  method {entry['method_version']}  {shown}/{entry['release']}")
    if not entries:
        people.print(f"no sealed release in {shown}")


@release.command("check")
@click.argument("name", metavar="RELEASE")
@json_option
@guard
def check_release(name: str, as_json: bool) -> None:
    """Check that a sealed release has exactly the bytes that its SHA256SUMS says."""
    root = Settings.from_environment().home / "releases"
    if not NAME.fullmatch(name) or not (root / name).is_dir():
        known = ", ".join(e["release"] for e in read_index(root / INDEX)) or "none"
        raise InputError(f"release {name[:80]!r}: not in {root}; sealed there: {known}")
    listed = any(e["release"] == name for e in read_index(root / INDEX))
    wrong = damage(root / name) if listed else (*damage(root / name), f"not listed in {INDEX}: it was never sealed")
    if as_json:
        emit({"release": name, "ok": not wrong, "problems": list(wrong)})
    for problem in wrong:
        console.print(f"{name}: {problem}", markup=False, soft_wrap=True)
    if not wrong and not as_json:
        people.print(f"{name}: every file is as it was sealed")
    sys.exit(1 if wrong else 0)
