"""PostgreSQL cluster of a test run.

One cluster a test run, from Debian's package, in a private folder, reached by a socket in
it. The first test that needs it starts it (under a file lock: pytest-xdist runs many
processes). The run's first process owns it: a keeper waits at the other end of a pipe, and
stops the cluster when that process ends, in order or by a kill.
"""

import contextlib
import fcntl
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

MISSING: Final = (
    "PostgreSQL is not installed, so this ran on SQLite only: apt-get install postgresql"
)
START_SECONDS: Final = 60
MIGRATED: Final = "migrated"
_LOOKS, _LOOK_SECONDS = 20, 0.01
_OTHERS: Final = b"""SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
AND backend_type = 'client backend'"""
_TABLES: Final = b"""SELECT tablename FROM pg_tables
WHERE schemaname = 'public' AND tablename <> 'alembic_version'"""
_UNMEASURED: Final = b"DELETE FROM pg_statistic WHERE starelid >= 16384"  # of our tables
_SCHEMA: Final = b"""
SELECT version_num, '', '', '' FROM alembic_version
UNION ALL SELECT relname, oid::text, relkind::text, reloptions::text FROM pg_class
WHERE relnamespace = 'public'::regnamespace
UNION ALL SELECT attname, attrelid::text, atttypid::text, attnotnull::text FROM pg_attribute
WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
UNION ALL SELECT conname, oid::text, conrelid::text, '' FROM pg_constraint
UNION ALL SELECT tgname, oid::text, tgrelid::text, tgenabled::text FROM pg_trigger
UNION ALL SELECT proname, oid::text, '', '' FROM pg_proc
WHERE pronamespace = 'public'::regnamespace
UNION ALL SELECT 'settings', setconfig::text, setrole::text, '' FROM pg_db_role_setting
WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
ORDER BY 1, 2, 3, 4"""
_CHOOSES_HOW: Final = 150_000  # the version that asks how a database is to be copied

# Small, since it stands beside the tests. It commits as in production, but that no commit
# waits for the disk: tests kill the service, its server loses no power.
_SETTINGS: Final = {
    "listen_addresses": "''",
    "max_connections": "200",
    "shared_buffers": "'48MB'",
    "fsync": "off",
    "full_page_writes": "off",
    "log_min_messages": "fatal",
}


class ClusterError(RuntimeError):
    """The cluster did not start; the message holds what the server wrote."""


def find_binaries() -> Path | None:
    """Return the folder of the newest installed server's programs, or None."""
    debian = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"),
        key=lambda folder: int(re.sub(r"\D", "", folder.parent.name) or 0),
        reverse=True,
    )
    on_path = shutil.which("initdb")
    for folder in [*debian, *([Path(on_path).resolve().parent] if on_path else [])]:
        if all((folder / name).exists() for name in ("initdb", "pg_ctl", "postgres")):
            return folder
    return None


@dataclass(frozen=True)
class Cluster:
    """One server in `folder`; making this object starts nothing."""

    folder: Path
    binaries: Path

    @property
    def data(self) -> Path:
        """The server's own files."""
        return self.folder / "data"

    def ensure_started(self) -> None:
        """Start the server unless another process of this run has.

        Raises:
            ClusterError: when it does not start.
        """
        with self._locked():
            if (self.folder / "started").exists():
                return
            self._run(
                "initdb",
                "--pgdata",
                str(self.data),
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
            )
            lines = [f"{name} = {value}" for name, value in _SETTINGS.items()]
            lines.append(f"unix_socket_directories = '{self.folder}'")
            with (self.data / "postgresql.conf").open("a", encoding="utf-8") as settings:
                settings.write("\n".join(lines) + "\n")
            self._run(
                "pg_ctl",
                "start",
                "--wait",
                f"--timeout={START_SECONDS}",
                "--pgdata",
                str(self.data),
                "--log",
                str(self.data / "server.log"),
            )
            (self.folder / "started").touch()

    def stop(self) -> None:
        """Stop the server, whatever it is doing, and delete its folder."""
        if not self.folder.exists():
            return
        with self._locked(), contextlib.suppress(ClusterError):
            if (self.data / "postmaster.pid").exists():
                self._run("pg_ctl", "stop", "--mode=immediate", "--pgdata", str(self.data))
        shutil.rmtree(self.folder, ignore_errors=True)

    def create_database(self, template: str = "template1") -> str:
        """Return the address of a new database, a copy of `template`."""
        name = f"test_{uuid.uuid4().hex}"
        self._copy(template, name)
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Delete the database of an address, whoever is still connected to it."""
        name = url.partition("?")[0].rpartition("/")[2]
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def migrated_template(self, migrate: Callable[[str], None]) -> str:
        """Return the name of a database that `migrate(address)` filled once this run."""
        with self._locked():
            done = self.folder / MIGRATED
            if not done.exists():
                self._copy("template1", MIGRATED)
                migrate(self.url(MIGRATED))
                done.touch()
        return MIGRATED

    def _copy(self, template: str, name: str) -> None:
        copied = f'CREATE DATABASE "{name}" TEMPLATE "{template}"'
        with self._connected() as connection:
            if connection.info.server_version >= _CHOOSES_HOW:
                # Not page by page through its log: half the time where nothing is synced.
                copied += " STRATEGY FILE_COPY"
            connection.execute(copied.encode())

    def url(self, name: str) -> str:
        """Return the address of the database `name`, as `DATABASE_URL` takes it."""
        return f"postgresql+psycopg://postgres@/{name}?host={self.folder}"

    def execute(self, statement: str) -> None:
        """Run one statement outside a transaction."""
        with self._connected() as connection:
            connection.execute(statement.encode())

    def _connected(self) -> psycopg.Connection[tuple[object, ...]]:
        address = f"host={self.folder} user=postgres dbname=postgres"
        return psycopg.connect(address, autocommit=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _run(self, program: str, *arguments: str) -> None:
        # Into a file: the server would hold a pipe open for as long as it runs.
        output, user = self.folder / f"{program}.log", _server_user()
        with output.open("w") as log:
            done = subprocess.run(
                [self.binaries / program, *arguments],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
                start_new_session=True,  # Ctrl-C is for pytest, which stops it in order
                user=user and user.pw_uid,
                group=user and user.pw_gid,
                extra_groups=user and [],
            )
        if done.returncode != 0:
            server_log = self.data / "server.log"
            said = server_log.read_text("utf-8") if server_log.exists() else ""
            message = f"{program} failed:\n{output.read_text('utf-8')}{said}"
            raise ClusterError(message)


class MigratedDatabases:
    """The migrated databases of a process: the next test takes what one gives back.

    A server takes some ten times as long to copy and drop a database as to empty one. A
    database that somebody is still connected to, or whose schema or settings a test has
    changed, is dropped.
    """

    def __init__(self, cluster: Cluster, migrate: Callable[[str], None]) -> None:
        """Copy the databases from one that `migrate(address)` fills once a run."""
        self._cluster, self._migrate = cluster, migrate
        self._free: list[str] = []
        self._schema: dict[str, object] = {}  # of each, as it was copied

    def take(self) -> str:
        """Return the address of a migrated database without rows."""
        if self._free:
            return self._free.pop()
        template = self._cluster.migrated_template(self._migrate)
        url = self._cluster.create_database(template)
        with _opened(url) as connection:
            self._schema[url] = _schema_of(connection)
        return url

    def give_back(self, url: str) -> None:
        """Empty a database for the next test, or drop it."""
        if self._is_emptied(url):
            self._free.append(url)
        else:
            self._cluster.drop_database(url)

    def close(self) -> None:
        """Drop the databases."""
        while self._free:
            self._cluster.drop_database(self._free.pop())

    def _is_emptied(self, url: str) -> bool:
        try:
            with _opened(url) as connection:
                if _has_others(connection) or _schema_of(connection) != self._schema[url]:
                    return False
                _empty(connection)
        except psycopg.Error:
            return False  # a test has taken away more than rows
        return True


def _opened(url: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True)


def _has_others(connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    """Tell whether somebody is still connected, a moment after a test has ended."""
    for _ in range(_LOOKS):
        if connection.execute(_OTHERS).fetchone() == (0,):
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def _schema_of(connection: psycopg.Connection[tuple[object, ...]]) -> object:
    return connection.execute(_SCHEMA).fetchall()


def _empty(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    tables = connection.execute(_TABLES).fetchall()
    each = [
        f"(SELECT '{name}' WHERE EXISTS (SELECT FROM \"{name}\"))"  # noqa: S608 - our names
        for (name,) in tables
    ]
    filled = connection.execute(" UNION ALL ".join(each).encode()).fetchall()
    if filled:
        names = ", ".join(f'"{name}"' for (name,) in filled)
        connection.execute(f"TRUNCATE {names} CASCADE".encode())
    connection.execute(_UNMEASURED)


@dataclass
class Owner:
    """The process of this run that makes the cluster's folder and clears it away."""

    cluster: Cluster
    keeper: subprocess.Popen[bytes]

    @classmethod
    def begin(cls) -> "Owner | None":
        """Prepare a cluster's folder and its keeper, or return None without a server."""
        binaries = find_binaries()
        if binaries is None:
            return None
        # Not TMPDIR: a socket's path has at most 107 bytes.
        folder = Path(tempfile.mkdtemp(prefix="productrecs-pg-", dir="/tmp"))
        user = _server_user()
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        keeper = subprocess.Popen(
            [sys.executable, __file__, str(folder), str(binaries)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        return cls(Cluster(folder, binaries), keeper)

    def end(self) -> None:
        """Let the keeper stop the server, and wait for it."""
        self.keeper.communicate(timeout=START_SECONDS)


def _server_user() -> pwd.struct_passwd | None:
    # The server refuses to run as root.
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    message = "running as root, and there is no user postgres or nobody to run a server as"
    raise ClusterError(message)


def keep() -> None:
    """Wait until the owner closes our input, or dies, then stop the server."""
    folder, binaries = sys.argv[1:]
    sys.stdin.read()
    Cluster(Path(folder), Path(binaries)).stop()


if __name__ == "__main__":
    keep()
