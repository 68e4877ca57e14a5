"""Shared fixtures: a fresh database, on SQLite and on PostgreSQL.

- `database`: migrated and open, once on each database.
- `database_url`, `data_folder`: one of each kind, to start a service on. What is on
  PostgreSQL is migrated; `Service.prepare` does so on SQLite.
- `sqlite_database`: migrated SQLite only, where the database makes no difference.
- `store`, `store_id`, `reader`: a store of `database`, and its raw reader.
- `services`: what an API process is made of, on SQLite.
- `postgres_url`: an empty PostgreSQL database, where only that makes sense.
- `object_address`: an empty object store, a folder; in `make trust` in Ceph.
"""

import contextlib
import functools
import gc
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

from productrecs.core.ids import StoreId
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader
from productrecs.tenancy.accounts.store import Store
from tests.support import network, postgres
from tests.support.migrated import bring, migrate_at, migrated
from tests.support.object_server import RADOSGW, ObjectServer, object_server
from tests.support.service import Service
from tests.support.stores import new_store

_CLUSTER = "TEST_POSTGRES_CLUSTER"
_OWNER = pytest.StashKey[postgres.Owner]()
_priorities = [os.getpriority(os.PRIO_PROCESS, 0)]

# `make test` gives the same answer every time; `make trust` looks further. No deadline for
# one example: other tests run beside it.
hypothesis.settings.register_profile("test", deadline=None, derandomize=True)
hypothesis.settings.register_profile("trust", deadline=None, max_examples=2_000)
hypothesis.settings.load_profile("test")


def _forget_settings() -> None:
    """Let no setting of whoever runs the tests reach a service that they start."""
    for name in os.environ.keys() - {"PRODUCTRECS_BENCH_DATA"}:
        if name.startswith("PRODUCTRECS_") or name == "DATABASE_URL":
            del os.environ[name]


def pytest_configure(config: pytest.Config) -> None:
    network.block_other_machines()
    _forget_settings()
    # The processes of pytest-xdist share the processors; threads of each that wait for one
    # another would take many times the processor time of one thread.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if hasattr(config, "workerinput"):
        return  # a process of pytest-xdist: the first process owns the cluster
    owner = postgres.Owner.begin()
    if owner is not None:
        config.stash[_OWNER] = owner
        os.environ[_CLUSTER] = f"{owner.cluster.folder}:{owner.cluster.binaries}"


def pytest_unconfigure(config: pytest.Config) -> None:
    owner = config.stash.get(_OWNER, None)
    if owner is not None:
        owner.end()
        os.environ.pop(_CLUSTER, None)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Fail a test that lowers this process's priority, which would slow later tests."""
    priority = os.getpriority(os.PRIO_PROCESS, 0)
    if priority != _priorities[-1]:
        _priorities.append(priority)
        pytest.fail(f"the test set the priority of this process to {priority}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from walking thousands of tests again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_report_header() -> str:
    return f"postgresql: {postgres.find_binaries() or postgres.MISSING}"


@pytest.fixture(scope="session")
def postgres_cluster() -> postgres.Cluster:
    """Return this run's running PostgreSQL; skip the test where none is installed."""
    where = os.environ.get(_CLUSTER)
    if where is None:
        pytest.skip(postgres.MISSING)
    folder, binaries = where.split(":")
    cluster = postgres.Cluster(Path(folder), Path(binaries))
    cluster.ensure_started()
    return cluster


@pytest.fixture
def postgres_url(postgres_cluster: postgres.Cluster) -> Iterator[str]:
    """Give the address of an empty PostgreSQL database."""
    url = postgres_cluster.create_database()
    yield url
    postgres_cluster.drop_database(url)


@pytest.fixture(scope="session")
def migrated_databases(
    postgres_cluster: postgres.Cluster,
) -> Iterator[postgres.MigratedDatabases]:
    """Give the PostgreSQL databases that the tests of this process use in turn."""
    found = postgres.MigratedDatabases(
        postgres_cluster, lambda url: migrate_at(url, Path())
    )
    yield found
    found.close()


@pytest.fixture
def migrated_url(migrated_databases: postgres.MigratedDatabases) -> Iterator[str]:
    """Give the address of a migrated PostgreSQL database without rows."""
    url = migrated_databases.take()
    yield url
    migrated_databases.give_back(url)


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    """Return the empty folder where a service keeps SQLite and its models."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_kind(request: pytest.FixtureRequest) -> str:
    """Return `sqlite` or `postgres`: whatever asks for it runs on both."""
    return str(request.param)


@pytest.fixture
def database_url(database_kind: str, request: pytest.FixtureRequest) -> str | None:
    """Return a migrated database's `DATABASE_URL`; None is SQLite under `data_folder`."""
    if database_kind == "sqlite":
        return None
    return str(request.getfixturevalue("migrated_url"))


@pytest.fixture
def database(
    database_kind: str, data_folder: Path, request: pytest.FixtureRequest
) -> Iterator[Database]:
    """Give a migrated, empty database, open."""
    if database_kind == "sqlite":
        yield request.getfixturevalue("sqlite_database")
        return
    opened = Database.open(request.getfixturevalue("migrated_url"), data_folder)
    yield opened
    opened.close()


@pytest.fixture
def sqlite_database(data_folder: Path) -> Iterator[Database]:
    """Give a migrated, empty SQLite database, open."""
    bring(data_folder)
    opened = Database.open(None, data_folder)
    yield opened
    opened.close()


@pytest.fixture
def store(database: Database) -> Store:
    """Return a new store, shop.example."""
    return new_store(database)


@pytest.fixture
def store_id(store: Store) -> StoreId:
    """Return the id of `store`."""
    return store.store_id


@pytest.fixture
def reader(database: Database) -> Iterator[RawReader]:
    """Give the raw reader of `database`."""
    with contextlib.closing(database.raw_reader()) as reader:
        yield reader


@pytest.fixture
def services(data_folder: Path) -> Iterator[Services]:
    """Give the services of an API process over an empty, migrated SQLite."""
    Service(data_folder).prepare()
    with contextlib.closing(build_services(Settings(data=data_folder))) as services:
        yield services


@pytest.fixture(scope="session")
def migrated_folder() -> Path:
    """Return a folder with a migrated SQLite database, to copy: never to open."""
    return migrated()


@pytest.fixture(scope="session")
def s3_servers() -> Iterator[Callable[[str], ObjectServer]]:
    """Give this process's S3 server of a name; the first use starts it."""
    with contextlib.ExitStack() as running:
        yield functools.cache(lambda name: running.enter_context(object_server(name)))


@pytest.fixture(params=["folder", RADOSGW])
def object_address(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    s3_servers: Callable[[str], ObjectServer],
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """Return the address of an empty object store: a folder, or below a bucket."""
    if request.param == "folder":
        return str(tmp_path / "objects")
    server = s3_servers(request.param)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server.address()
