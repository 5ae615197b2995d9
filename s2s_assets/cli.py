"""The `s2s` command: one group a room, each loaded only when it is called."""

import importlib
from typing import Any

import click

from s2s_assets.study import FreezeReader, Frozen, StudyFolder

GROUPS = {
    "study": ("s2s_assets.study.commands:study", "Check a study folder, or make a new one."),
    "audio": ("s2s_assets.audio.commands:audio", "Measure and normalize audio files."),
    "pairs": ("s2s_assets.pairing.commands:pairs", "Simulate a pairing plan."),
    "responses": (
        "s2s_assets.responses.commands:responses",
        "Estimate, follow and repeat collections; one exchange by hand.",
    ),
    "ratings": ("s2s_assets.ratings.commands:ratings", "Collect, import, export, count and exclude ratings."),
    "rank": ("s2s_assets.leaderboard.rank_command:command", "Rank the entities of a ratings file."),
    "budget": (
        "s2s_assets.calibration.budget_command:command",
        "Plan a study: the raters, prompts and ratings that it needs.",
    ),
    "calibrate": ("s2s_assets.calibration.commands:command", "What the stated intervals are worth, by simulation."),
    "release": ("s2s_assets.leaderboard.commands:release", "List and check sealed releases."),
    "materialize": ("s2s_assets.materialize:materialize", "Materialize the whole study, or one config's responses."),
    "demo": ("s2s_assets.demo.commands:demo", "Run the whole demo study on this machine."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of a study."""
        return list(GROUPS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and return it."""
        if cmd_name not in GROUPS:
            return None
        module, _, name = GROUPS[cmd_name][0].partition(":")
        command: Any = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in GROUPS.items()])


def _frozen(folder: StudyFolder) -> Frozen | None:
    from s2s_assets.ratings.frozen import read_frozen

    return read_frozen(folder)


@click.command(cls=LazyGroup)
@click.version_option(package_name="s2s-assets")
@click.pass_context
def main(context: click.Context) -> None:
    """Rank speech-to-speech models by what people prefer to hear."""
    context.obj = FreezeReader(_frozen)
