import csv
import io
import json

from click.testing import CliRunner

from s2s_assets.pairing.commands import pairs


def simulate(*args):
    return CliRunner().invoke(pairs, ["simulate", *map(str, args)])


def test_the_summary_and_the_file_agree(tmp_path):
    out = tmp_path / "plan.csv"
    result = simulate("--configs", 9, "--prompts", 20, "--append", 2, "--out", out, "--json")
    assert result.exit_code == 0
    summary = json.loads(result.stdout)
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert list(rows[0]) == ["epoch", "prompt", "config_a", "config_b", "slot", "first"]
    assert summary["n_slots"] == len(rows)
    assert summary["n_pairs"] == len({(r["prompt"], r["config_a"], r["config_b"]) for r in rows})
    assert summary["prompts_connected_share"] == 1
    assert summary["old_pairs_changed"] == 0
    assert {r["epoch"] for r in rows} == {"1", "2", "3"}


def test_appending_keeps_the_bytes_before(tmp_path):
    old, new, other = (tmp_path / f"{k}.csv" for k in range(3))
    simulate("--configs", 7, "--prompts", 15, "--out", old)
    simulate("--configs", 7, "--prompts", 15, "--out", new, "--append", 1)
    simulate("--configs", 7, "--prompts", 15, "--out", other, "--seed", 1)
    assert new.read_bytes().startswith(old.read_bytes())
    assert other.read_bytes() != old.read_bytes()


def test_without_json_people_are_told():
    result = simulate("--configs", 3, "--prompts", 4)
    assert result.exit_code == 0
    assert "12 pairs in 24 slots" in result.stdout
    assert result.stderr == ""


def test_a_rate_that_does_not_exist_is_null():
    summary = json.loads(simulate("--configs", 9, "--prompts", 1, "--json").stdout)
    assert summary["pair_rate_max_over_min"] is None


def test_wrong_calls_end_in_2(tmp_path):
    assert simulate("--configs", 1).exit_code == 2
    assert simulate("--slots", 0).exit_code == 2
    assert simulate("--configs", 3, "--prompts", 2, "--out", tmp_path / "no" / "such.csv").exit_code == 2
