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
