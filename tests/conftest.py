"""What every test can ask for: a fresh database, on SQLite and on PostgreSQL.

- `database`: migrated and open, once on each database.
- `database_url`, `data_folder`: an empty one of each kind, to start a service on.
- `sqlite_database`: migrated SQLite only, where the database makes no difference.
- `postgres_url`: an empty PostgreSQL database, where only that makes sense.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from productrecs.storage.database import Database
from productrecs.storage.migrations import migrate
from tests.support import network, postgres

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLUSTER = "PRODUCTRECS_TEST_CLUSTER"
_OWNER = pytest.StashKey[postgres.Owner]()

# `make test` gives the same answer every time; `make trust` looks further. No deadline for
# one example: other tests run beside it.
hypothesis.settings.register_profile("test", deadline=None, derandomize=True)
hypothesis.settings.register_profile("trust", deadline=None, max_examples=2_000)
hypothesis.settings.load_profile("test")


def pytest_configure(config: pytest.Config) -> None:
    network.stay_at_home()
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


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    """Return the empty folder where a service keeps SQLite and its models."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_kind(request: pytest.FixtureRequest) -> str:
    """Return `sqlite` or `postgres`: whatever asks for it runs on both."""
    return str(request.param)


@pytest.fixture
def database_url(database_kind: str, request: pytest.FixtureRequest) -> str | None:
    """Return an empty database's `DATABASE_URL`; None is SQLite under `data_folder`."""
    if database_kind == "sqlite":
        return None
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def database(
    database_kind: str, data_folder: Path, request: pytest.FixtureRequest
) -> Iterator[Database]:
    """Give a migrated, empty database, open."""
    if database_kind == "sqlite":
        yield request.getfixturevalue("sqlite_database")
        return
    cluster: postgres.Cluster = request.getfixturevalue("postgres_cluster")
    url = cluster.create_database(cluster.migrated_template(_migrate))
    opened = Database.open(url, data_folder)
    yield opened
    opened.close()
    cluster.drop_database(url)


@pytest.fixture
def sqlite_database(migrated_folder: Path, data_folder: Path) -> Iterator[Database]:
    """Give a migrated, empty SQLite database, open."""
    shutil.copytree(migrated_folder, data_folder, dirs_exist_ok=True)
    opened = Database.open(None, data_folder)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def migrated_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a migrated SQLite database, to copy: never to open."""
    folder = tmp_path_factory.mktemp("migrated")
    opened = Database.open(None, folder)
    migrate(opened)
    opened.close()
    return folder


def _migrate(url: str) -> None:
    opened = Database.open(url, Path())
    migrate(opened)
    opened.close()
