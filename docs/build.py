"""Writes docs/cli.md from the commands' own help and docs/configs.md from the study's settings, and checks that every link between the pages leads somewhere.

python docs/build.py            write, then check
python docs/build.py --check    only check; a page that is out of date is a fault
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

import click

from s2s_assets.cli import main as s2s
from s2s_assets.study import INFERENCE_COLUMNS, Study, inference_rows, instructions, load_study

ROOT = Path(__file__).resolve().parent.parent
CLI = ROOT / "docs" / "cli.md"
HEAD = """# The `s2s` command

Written by `make docs` from the commands' own help. Exit status 0: did what was asked; 2: the input or the call is
wrong, with one message; 1: anything else. With `--json` standard output holds one JSON document and nothing else; without,
it holds tables and words for people. Progress, warnings and errors go to standard error.
"""
CONFIGS = ROOT / "docs" / "configs.md"
CONFIGS_HEAD = """# The configs of DAI-S2S-ST

Written by `make docs` from `studies/dai-s2s-st`, whose README says which of these are stated by the method and which are
ours. A board shows the same table of its study's configs where `show_settings` of study.yaml is true. A thinking level of
`none` is a model without levels, but for Grok voice and the cascade, to which it is sent as it is. Turns are ended by
message, but for Nova Sonic, which hears their end from silence; a parameter that is not named is left at its provider's
default, but for Nova Sonic's inference settings, which are those of Amazon's examples (1024 tokens, topP 0.9, temperature
0.7): its API has no defaults that are told.
"""
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)


def cli_page() -> str:
    """The whole reference, one section a command."""
    sections = [f"## {name}\n\n```\n{text}\n```\n" for name, text in _helps(s2s, "s2s", None)]
    return "\n".join([HEAD, *sections])


def _helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    context = click.Context(command, info_name=name.rpartition(" ")[2], parent=parent, terminal_width=100)
    yield name, command.get_help(context)
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None and not found.hidden:
                yield from _helps(found, f"{name} {child}", context)


def configs_page(study: Study) -> str:
    """A study's inference settings as a table, and its system prompts."""
    rows = [INFERENCE_COLUMNS, ("---",) * len(INFERENCE_COLUMNS), *map(astuple, inference_rows(study))]
    table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    prompts = [f"## System prompt: {whose}\n\n> {text}\n" for whose, text in instructions(study).items()]
    return "\n".join([CONFIGS_HEAD, table, "", *prompts])


def pages() -> list[Path]:
    """Every page that people read: Markdown of the root, docs/, infra/ and the studies."""
    found = [ROOT.glob("*.md"), *((ROOT / folder).rglob("*.md") for folder in ("docs", "infra", "studies"))]
    return sorted(page for some in found for page in some)


def anchors(text: str) -> set[str]:
    """The anchors that a page's headings make, as GitHub names them."""
    seen: dict[str, int] = {}
    names = set()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = seen.get(slug, 0)
        seen[slug] = number + 1
        names.add(f"{slug}-{number}" if number else slug)
    return names


def broken_links(page: Path) -> Iterator[str]:
    """One line for each link of a page that leads nowhere; addresses on the web are not looked up."""
    text = page.read_text(encoding="utf-8")
    for target in _LINK.findall(_CODE.sub("", _FENCE.sub("", text))):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        where = f"{page.relative_to(ROOT)}: link to {target}:"
        if not file.is_relative_to(ROOT) or not file.exists():
            yield f"{where} no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"{where} no such heading"


def main() -> int:
    """Write or check; returns the exit status."""
    written = {CLI: cli_page(), CONFIGS: configs_page(load_study(ROOT / "studies" / "dai-s2s-st").study)}
    faults = []
    for file, page in written.items():
        if "--check" not in sys.argv[1:]:
            file.write_text(page, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != page:
            faults.append(f"{file.relative_to(ROOT)} is out of date: run `make docs`")
    checked = pages()
    faults += [fault for one in checked for fault in broken_links(one)]
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(
            f"docs: {len(checked)} pages, every link leads somewhere; those that are written say what they are written from"
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
