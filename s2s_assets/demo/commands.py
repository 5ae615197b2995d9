"""`s2s demo`: run the demo study; `s2s demo ui`: open the Dagster UI on it with its systems under test running."""

import os
import subprocess
import sys
from pathlib import Path

import click

from s2s_assets.study.console import console, emit, guard, json_option, people

RATERS = 24


@click.group(invoke_without_command=True)
@click.option("--raters", default=RATERS, show_default=True, type=click.IntRange(4, 500), help="Simulated raters.")
@json_option
@click.pass_context
@guard
def demo(context: click.Context, raters: int, as_json: bool) -> None:
    """Run the whole demo study on this machine, from recordings to a sealed release."""
    if context.invoked_subcommand is not None:
        return
    from s2s_assets.demo.run import run_demo

    result = run_demo(Path.cwd(), raters)
    if as_json:
        emit({"page": str(result.page), "answers": result.answers, "seconds": round(result.seconds, 1)})
        return
    people.print(f"\nDone in {result.seconds:.0f} s.")
    people.print(f"  leaderboard  {click.format_filename(result.page)}")
    people.print("  Dagster UI   .venv/bin/s2s demo ui")


@demo.command()
@click.option("--port", default=3000, show_default=True, help="Port of the UI.")
def ui(port: int) -> None:
    """Open the Dagster UI on the demo's study, with its local systems under test running."""
    from s2s_assets.demo.servers import demo_servers
    from s2s_assets.orchestration import lay_out_home

    home = {"DAGSTER_HOME": str(lay_out_home(Path.cwd()))}
    with demo_servers() as addresses:
        # `dg dev`, which Dagster's warning recommends, is no package of the demo's
        python = [sys.executable, "-W", "ignore:Function `dev_command`", "-m"]
        command = [*python, "dagster", "dev", "-w", "workspace.yaml", "-h", "127.0.0.1", "-p", str(port)]
        console.print(f"http://127.0.0.1:{port} in a few seconds; Ctrl-C ends it")
        sys.exit(subprocess.call(command, env=os.environ | home | addresses))  # noqa: S603 - our own words only
