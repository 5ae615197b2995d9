"""The rules of the house that no linter knows: how rooms import one another, and what may stand in no file."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "s2s_assets"
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
OPEN_MODULES = {"s2s_assets.study.console"}
"""Used past a room's `__init__`: how commands speak, kept out of it so that nothing else imports rich."""
LAZY = {("cli.py", "s2s_assets.ratings.frozen")}
"""The command line imports a room's part when a command needs it."""
TEXTS = {".py", ".md", ".toml", ".yaml", ".yml", ".txt", ".cfg", ".sh", ".j2", ".css", ".js", ".csv", ""}
FORBIDDEN = {
    "a folder beside the checkout": r"\.\./shared|\bwork/shared",
    "a path of one machine": r"(?<![\w.])/(?:work|home|root|Users)/\w",
    "a package registry's host": r"pypi\.org|pythonhosted\.org|\bindex-url\s*[= ]\s*http|/opt/pypi",
}


def modules(folder: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(folder).as_posix(), ast.parse(path.read_text("utf-8"))


def imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Module and name of every import from the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("s2s_assets."):
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("s2s_assets."))


def strangers(file: str, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Imports of a file from rooms that are not its own."""
    own = file.split("/", maxsplit=1)[0]
    for module, name in imports(tree):
        room = module.split(".")[1]
        if room in ROOMS and room != own:
            yield module, name


def test_rooms_are_entered_through_their_door() -> None:
    found = []
    for file, tree in modules(PACKAGE):
        for module, name in strangers(file, tree):
            if module in OPEN_MODULES or (file, module) in LAZY or file == "definitions.py":
                continue
            exported = getattr(importlib.import_module(module), "__all__", ()) if module.count(".") == 1 else ()
            if name not in exported:
                found.append(f"{file}: {module}.{name}")
    assert found == []


def test_definitions_load_doors_and_nothing_deeper() -> None:
    tree = ast.parse((PACKAGE / "definitions.py").read_text("utf-8"))
    doors = {"assets", "checks", "sensors"}
    assert [(m, n) for m, n in imports(tree) if m != "s2s_assets.orchestration" and n not in doors] == []


def test_every_room_says_what_it_exports() -> None:
    for room in ROOMS:
        module = importlib.import_module(f"s2s_assets.{room}")
        assert module.__doc__, room
        assert room == "demo" or module.__all__ == sorted(module.__all__, key=_isort_order), room


def _isort_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest: as ruff sorts `__all__`."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_no_error_is_caught_whatever_it_is() -> None:
    broad = {"Exception", "BaseException"}
    found = [
        f"{folder.name}/{file}:{node.lineno}"
        for folder in (PACKAGE, ROOT / "s2s_assets_tests")
        for file, tree in modules(folder)
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and (node.type is None or getattr(node.type, "id", "") in broad)
    ]
    assert found == []


def texts() -> Iterator[Path]:
    """Every text file of the project that is written by hand; locks and data are not."""
    for path in ROOT.iterdir():
        if path.is_file() and path.suffix in TEXTS and path.name not in {".env", ".git"}:
            yield path
    for folder in ("s2s_assets", "s2s_assets_tests", "docs", "infra", "studies", ".ci", "requirements"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix in TEXTS and "__pycache__" not in path.parts:
                yield path


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    found = []
    for path in texts():
        if path == Path(__file__):
            continue
        text = path.read_text("utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {what}" for what, rule in FORBIDDEN.items() if re.search(rule, text)]
    assert found == []
