"""The lock files: hashed, without addresses, and of one set of versions."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "requirements"
LOCKS = ["bootstrap", "demo", "dev", "run", "store"]


def pins(name: str) -> dict[str, str]:
    lines = (FOLDER / f"{name}.txt").read_text().replace("\\\n", " ").splitlines()
    return {line.partition("==")[0]: line for line in lines}


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_is_pinned_and_hashed(name: str):
    for package, line in pins(name).items():
        assert re.fullmatch(r"[a-z0-9-]+==\S+( ; .+?)?( +--hash=sha256:[0-9a-f]{64})+", line), package


@pytest.mark.parametrize("name", LOCKS)
def test_no_lock_names_a_host(name: str):
    assert "://" not in (FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", ["demo", "run", "store"])
def test_the_smaller_sets_have_the_versions_that_are_tested(name: str):
    tested = {package: line.split()[0] for package, line in pins("dev").items()}
    installed = {package: line.split()[0] for package, line in pins(name).items()}
    assert installed.items() <= tested.items()


def test_the_image_is_built_without_the_demos_speech():
    assert {"espeakng-loader", "pocketsphinx"} <= set(pins("demo")) - set(pins("run"))
