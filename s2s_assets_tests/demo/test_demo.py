"""The whole demo: real speech, real systems, a sealed release; and a second run that does nothing."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def s2s(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from s2s_assets.cli import main; main()", *args]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        command, check=False, cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    )


@pytest.mark.e2e
@pytest.mark.timeout(600)
def test_the_demo_recovers_its_planted_ranking_and_a_second_run_is_harmless(tmp_path):
    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    (tmp_path / "studies").symlink_to(ROOT / "studies")
    first = s2s(tmp_path, "demo", "--json")
    assert first.returncode == 0, first.stderr[-2000:]
    said = json.loads(first.stdout)
    page = (tmp_path / said["page"]).read_text()
    assert said["answers"] > 1000
    assert "simulated ratings" in page.lower()
    assert "planted" in page
    board = json.loads((tmp_path / said["page"]).with_name("leaderboard.json").read_text())
    headline = [
        row["entity"]
        for row in board
        if (row["rubric"], row["by"], row["slice_dimension"], row["variant"]) == ("overall", "model", "all", "all")
    ]
    assert headline[0] == "demo-clear"
    assert headline[-1] == "demo-robot"
    assert all(row["ratings"] == "simulated" for row in board)

    second = s2s(tmp_path, "demo", "--json")
    assert second.returncode == 0, second.stderr[-2000:]
    assert json.loads(second.stdout)["page"] == said["page"]
    assert json.loads(second.stdout)["answers"] == 0
    assert "nothing new to fit" in second.stderr


def test_simulated_raters_never_answer_in_a_real_study(tmp_path, monkeypatch):
    monkeypatch.setenv("S2S_STUDY", str(ROOT / "studies" / "dai-s2s-st"))
    monkeypatch.setenv("S2S_HOME", str(tmp_path / "home"))
    refused = s2s(tmp_path, "demo", "--json")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "'dai-s2s-st'" in refused.stderr
    assert "is no demo" in refused.stderr
    assert list(tmp_path.iterdir()) == []
