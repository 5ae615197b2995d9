"""The targets that people and CI type."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ["demo", "test", "check", "fix", "bench", "docs", "dev", "materialize", "backfill", "lock", "setup", "clean"]


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)


def test_help_names_every_target():
    listed = re.findall(r"^  make (\w+) ", make("help").stdout, re.MULTILINE)
    assert listed == ["help", *TARGETS]


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_a_recipe(target: str):
    planned = make("-n", target, "KEY=a|b|none")
    assert planned.returncode == 0, planned.stderr
    assert planned.stdout.strip()


def test_what_a_target_calls_exists():
    called = set(
        re.findall(r"[a-z0-9_/]+\.(?:py|txt)\b|infra/setup|requirements/lock", (ROOT / "Makefile").read_text())
    )
    assert {"infra/setup", "docs/build.py", "s2s_assets_tests/bench.py", "requirements/dev.txt"} <= called
    assert {path for path in called if not (ROOT / path).exists()} == set()


def test_a_backfill_without_a_key_says_what_is_missing():
    planned = make("-n", "backfill")
    assert "KEY='model|voice|thinking'" in planned.stdout


def test_ci_checks_and_tests_with_nothing_skipped():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "export CI=true\nmake check test\n" in script.read_text()


def test_the_set_up_refuses_what_it_does_not_know():
    done = subprocess.run([ROOT / "infra" / "setup", "nonsense"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "expected python, packages NAME or system" in done.stderr


def test_python_3_12_is_taken_where_a_version_manager_has_it(tmp_path: Path):
    """Names on the path that do not run are passed over; a Python 3.12 comes before 3.11."""
    asked, broken = tmp_path / "versions" / "3.12.9" / "bin" / "python", tmp_path / "bin" / "python3.12"
    for path, script in (
        (asked, 'case "$1" in -c) exit 0 ;; --version) echo Python 3.12.9 ;; *) exit 7 ;; esac'),
        (broken, "exit 127"),
        (broken.with_name("python3.11"), "exit 0"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    environ = {"PATH": f"{broken.parent}:/usr/bin:/bin", "PYENV_ROOT": str(tmp_path)}
    done = subprocess.run(
        [ROOT / "infra" / "setup", "python"], capture_output=True, text=True, check=False, env=environ
    )
    assert done.returncode == 7
    assert "an environment in .venv from Python 3.12.9" in done.stderr
