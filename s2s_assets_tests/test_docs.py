"""What the pages say of tables, settings and decisions, held against the code."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import polars as pl
import pytest

from s2s_assets.cli import main as s2s
from s2s_assets.leaderboard.columns import LEADERBOARD, schema
from s2s_assets.pairing import PLAN_SCHEMA
from s2s_assets.prompts import NORMALIZED_AUDIO, RECORDED_PROMPTS
from s2s_assets.ranking import FITS_SCHEMA, INTERVALS_SCHEMA
from s2s_assets.ratings import RATER_QUALITY, RATING_TASKS, RATINGS
from s2s_assets.responses import RESPONSE_AUDIO, RESPONSES
from s2s_assets.rubrics import CLUSTERS_SCHEMA
from s2s_assets_tests.ranking.cases import frame_of, simulated

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS: dict[str, Mapping[str, object]] = {
    "recorded_prompts": RECORDED_PROMPTS,
    "normalized_audio": NORMALIZED_AUDIO,
    "responses": RESPONSES,
    "response_audio": RESPONSE_AUDIO,
    "pairing_plan": PLAN_SCHEMA,
    "rating_tasks": RATING_TASKS,
    "ratings": RATINGS,
    "rater_quality": RATER_QUALITY,
    "bt_fits": FITS_SCHEMA,
    "bootstrap_cis": INTERVALS_SCHEMA,
    "rubric_clusters": CLUSTERS_SCHEMA,
    "leaderboard": schema(LEADERBOARD),
}
WORDS = {pl.String: "text", pl.Int64: "integer", pl.Float64: "number", pl.Boolean: "yes/no", pl.Datetime: "time"}
PAGES = ("README.md", "docs/architecture.md", "docs/operations.md", "infra/README.md", "studies/demo/README.md")
PARTS = ("Question", "Decided", "Why", "What would change our mind")
"""Of a decision's page."""
ELSEWHERE = {"rubric_clusters.fits", "rubric_clusters.intervals"}
"""Columns whose inner fields are those of another table."""


def described(table: str) -> list[tuple[str, str]]:
    """Columns and types that docs/tables.md lists for a table."""
    page = (ROOT / "docs" / "tables.md").read_text("utf-8")
    section = re.search(rf"^## {table}:.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert section is not None, f"docs/tables.md has no section {table}"
    return re.findall(r"^\| `([^`]+)` \| ([^|]+?) \|", section[0], re.MULTILINE)


def columns(table: str, fields: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Columns and types as the schema has them, inner fields under dotted names."""
    for name, given in fields.items():
        dtype = pl.Series(dtype=given).dtype  # type: ignore[arg-type]
        inner = dtype
        while isinstance(inner, pl.List):
            inner = pl.Series(dtype=inner.inner).dtype
        yield prefix + name, kind(dtype)
        if isinstance(inner, pl.Struct) and f"{table}.{name}" not in ELSEWHERE:
            yield from columns(table, {f.name: f.dtype for f in inner.fields}, f"{prefix}{name}.")


def kind(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.List):
        return f"list of {kind(pl.Series(dtype=dtype.inner).dtype)}"
    return "struct" if isinstance(dtype, pl.Struct) else WORDS[type(dtype)]


@pytest.mark.parametrize("table", SCHEMAS)
def test_the_page_of_tables_lists_every_column_with_its_type(table: str) -> None:
    assert described(table) == list(columns(table, SCHEMAS[table]))


def test_the_page_of_tables_has_no_other_table() -> None:
    page = (ROOT / "docs" / "tables.md").read_text("utf-8")
    assert re.findall(r"^## (\w+)", page, re.MULTILINE) == list(SCHEMAS)


def written_commands() -> Iterator[tuple[str, list[str]]]:
    """Page and words of every `s2s …` call that a page shows, as far as it is written out."""
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        for call in re.findall(r"(?:^|`|/bin/| )s2s ([a-z][^`#\n|{]*)", text, re.MULTILINE):
            yield page, call.split()


def test_every_command_that_a_page_shows_exists() -> None:
    shown = list(written_commands())
    assert len(shown) >= 8
    for page, words in shown:
        command, left, context = s2s, list(words), click.Context(s2s)
        while isinstance(command, click.Group) and left:
            found = command.get_command(context, left[0])
            assert found is not None or command.invoke_without_command, f"{page}: s2s {' '.join(words)}"
            if found is None:
                break
            command, left = found, left[1:]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in left if word.startswith("--")} <= known, f"{page}: s2s {' '.join(words)}"


def test_the_python_example_ranks_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert len(example.splitlines()) <= 8
    frame_of(simulated(200, [0.5, 0.0, -0.5])).write_csv(tmp_path / "ratings.csv")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:3] for line in said] == [["overall", str(k + 1), f"m{k}"] for k in range(3)]


def test_every_make_target_that_a_page_shows_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in PAGES:
        shown = set(re.findall(r"(?:^|`|&& )make ([a-z]+)", (ROOT / page).read_text("utf-8"), re.MULTILINE))
        assert shown <= targets, page


def test_every_setting_of_the_package_is_in_the_example() -> None:
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "s2s_assets").rglob("*.py"))
    settings = {name for name in re.findall(r"\bS2S_[A-Z_]+\b", code) if not name.startswith("S2S_DEMO_")}
    example = (ROOT / ".env.example").read_text("utf-8")
    assert settings
    assert {name for name in settings if not re.search(rf"^#?{name}=", example, re.MULTILINE)} == set()


def test_the_changelog_names_every_method_version() -> None:
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "s2s_assets").rglob("*.py"))
    versions = set(re.findall(r"""^(?:\w+_)?VERSION = f?"([a-z-]+-\d+)""", code, re.MULTILINE))
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert len(versions) >= 11
    assert {version for version in versions if f"`{version}`" not in changes} == set()


def test_decisions_are_numbered_and_have_their_parts() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [page.name[:4] for page in pages] == [f"{n:04d}" for n in range(1, len(pages) + 1)]
    for number, page in enumerate(pages, start=1):
        text = page.read_text("utf-8")
        assert text.startswith(f"# {number}. ")
        assert number == 1 or all(f"**{part}.**" in text for part in PARTS), page.name
