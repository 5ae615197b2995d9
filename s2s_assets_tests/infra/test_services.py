"""Postgres and SeaweedFS for development, by their command line."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from s2s_assets.storage import StudyStore, open_engine, open_store

SERVICES = Path(__file__).resolve().parents[2] / "infra" / "services.py"


def services(action: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SERVICES), action, "--folder", str(folder)], capture_output=True, text=True, check=False
    )


@pytest.mark.postgres
@pytest.mark.s3
@pytest.mark.usefixtures("postgres", "s3_url")
def test_services_start_once_keep_their_data_and_stop(service_folder: Path, monkeypatch: pytest.MonkeyPatch):
    folder = service_folder / "development"
    try:
        _use(services("start", folder), monkeypatch)
        StudyStore(open_store(os.environ["S2S_STORE"]), "study").put_record("kept", "one", {"n": 1})
        with open_engine(os.environ["S2S_DATABASE_URL"]).begin() as connection:
            connection.execute(text("CREATE TABLE kept (n INTEGER)"))
        assert os.environ["S2S_DATABASE_URL"] != os.environ["S2S_DAGSTER_POSTGRES_URL"]
        assert services("start", folder).stdout == services("env", folder).stdout
        assert services("stop", folder).returncode == 0

        assert services("env", folder).returncode == 1
        _use(services("start", folder), monkeypatch)
        assert StudyStore(open_store(os.environ["S2S_STORE"]), "study").get_record("kept", "one") == {"n": 1}
        with open_engine(os.environ["S2S_DATABASE_URL"]).connect() as connection:
            assert connection.execute(text("SELECT * FROM kept")).all() == []
    finally:
        services("stop", folder)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.s3
def test_every_port_of_the_s3_server_is_on_loopback(seaweed: Any):
    listening = _listeners(seaweed.pid)
    assert len(listening) >= 2
    assert {address for address, _ in listening} == {"127.0.0.1"}


def _use(started: subprocess.CompletedProcess[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert started.returncode == 0, started.stderr
    for name, value in re.findall(r"^export (\w+)='(.*)'$", started.stdout, re.MULTILINE):
        monkeypatch.setenv(name, value)


def _listeners(pid: int) -> set[tuple[str, int]]:
    """Address and port of each TCP socket that a process listens on, from the kernel's own table."""
    # a descriptor may be closed between the listing and the look
    links = [Path(os.path.realpath(link)).name for link in Path(f"/proc/{pid}/fd").iterdir()]
    sockets = {link[8:-1] for link in links if link.startswith("socket:[")}
    found = set()
    for table, width in (("tcp", 4), ("tcp6", 16)):
        for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            (
                _,
                local,
                _,
                state,
                *_,
            ) = row.split()
            if state == "0A" and row.split()[9] in sockets:
                host, port = local.split(":")
                octets = bytes.fromhex(host)[::-1]
                found.add((".".join(map(str, octets)) if width == 4 else host, int(port, 16)))
    return found
