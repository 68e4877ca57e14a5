"""Replicas: three API and two worker machines behind HAProxy, on two PostgreSQL servers.

Each machine is a host of its own (`hosts.py`) with a clock and a data folder of its own;
models and indexes are in an S3 server.
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
import pytest

from productrecs.storage.sql.database import Database
from tests.support import postgres
from tests.support.project import ROOT
from tests.support.service import eventually
from tests.trust import hosts as network

APIS: Final = ("api1", "api2", "api3")
WORKERS: Final = ("worker1", "worker2")
DATABASES: Final = ("db1", "db2")
AHEAD: Final = {"api1": 4.0, "api2": -3.0, "worker2": 15.0}
"""How many seconds the clocks of some machines are ahead of the others'."""

PORT: Final = 8000
BUCKET: Final = "productrecs"
READY_SECONDS: Final = 60.0
VANISHED_SECONDS: Final = 12.0
_SETTINGS: Final = {
    "listen_addresses": "'*'",
    "max_connections": "150",
    "shared_buffers": "'32MB'",
    "fsync": "off",
    "log_min_messages": "fatal",
    "wal_sender_timeout": "'3s'",
    "wal_receiver_timeout": "'3s'",
    "wal_retrieve_retry_interval": "'500ms'",
    "hot_standby": "on",
    "wal_keep_size": "'256MB'",
}
_SKEWED: Final = Path(__file__).parent / "broken" / "clock_ahead"


def missing() -> str | None:
    """Return what this machine lacks; None if it has everything."""
    if postgres.find_binaries() is None:
        return postgres.MISSING
    if shutil.which("haproxy") is None:
        return "HAProxy is not installed: apt-get install haproxy"
    return network.missing()


@dataclass
class Server:
    """One PostgreSQL server on a host of its own."""

    host: network.Host
    folder: Path
    binaries: Path

    @property
    def data(self) -> Path:
        """The server's files."""
        return self.folder / self.host.name

    def create(self) -> None:
        """Make an empty cluster that this network may use."""
        self._run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-N")
        with (self.data / "pg_hba.conf").open("a") as access:
            access.write(f"host all,replication all {network.NETWORK} trust\n")
            access.write(f"host replication all {network.NETWORK} trust\n")
        self._configure(_SETTINGS)
        self.start()
        self.execute("CREATE DATABASE shop")

    def follow(self, primary: "Server") -> None:
        """Become a standby of another server, that waits for it from now on."""
        shutil.rmtree(self.data, ignore_errors=True)
        self._run(
            *("pg_basebackup", "-D", str(self.data), "-h", primary.host.address),
            *("-U", "postgres", "-X", "stream", "-R", "--checkpoint=fast", "--no-sync"),
        )
        with (self.data / "postgresql.auto.conf").open("a") as settings:  # the last counts
            settings.write("synchronous_standby_names = ''\n")
        self.start()
        query = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
        eventually(lambda: primary.query(query) == 1, 30, pause=0.1)
        primary.require("*")

    def require(self, names: str) -> None:
        """Set which standbys a commit waits for; none if empty."""
        self.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        self.execute("SELECT pg_reload_conf()")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = [*self._as_user(), str(self.binaries / "postgres"), "-D", str(self.data)]
        words += ["-k", "", "-p", "5432"]
        self.host.start(words, self.folder / f"{self.host.name}.log")
        eventually(self._answers, 30, pause=0.1)

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "promote", "-D", str(self.data), "-w")

    def execute(self, statement: str) -> None:
        """Run one statement outside a transaction."""
        with self._connected() as connection:
            connection.execute(statement.encode())

    def query(self, statement: str) -> object:
        """Return the one value of a query."""
        with self._connected() as connection:
            row = connection.execute(statement.encode()).fetchone()
        return row and row[0]

    def _connected(self) -> psycopg.Connection[tuple[object, ...]]:
        address = (
            f"host={self.host.address} user=postgres dbname=postgres connect_timeout=3"
        )
        return psycopg.connect(address, autocommit=True)

    def _answers(self) -> bool:
        try:
            return self.query("SELECT 1") == 1
        except psycopg.Error:
            return False

    def _configure(self, settings: Mapping[str, str]) -> None:
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())

    def _run(self, program: str, *arguments: str) -> None:
        self.host.run(*self._as_user(), str(self.binaries / program), *arguments)

    def _as_user(self) -> Sequence[str]:
        return ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")


@dataclass
class Machine:
    """One host that runs `productrecs api` or `productrecs worker`."""

    host: network.Host
    folder: Path
    command: Sequence[str]
    environment: dict[str, str]
    fault: Path | None = None

    def launch(self) -> None:
        """Start it and do not wait."""
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = dict(self.environment)
        faults = [_SKEWED] if self.fault is None else [self.fault]
        environment["PYTHONPATH"] = os.pathsep.join([*map(str, faults), str(ROOT)])
        words = [sys.executable, "-m", "productrecs", *self.command]
        self.host.start(words, self.log_path, environment)

    @property
    def log_path(self) -> Path:
        """Where its output goes."""
        return self.folder / "machine.log"

    @property
    def client(self) -> "NetworkClient":
        """A connection to it, past HAProxy."""
        return NetworkClient(self.host.address)

    def is_ready(self) -> bool:
        """Return whether it says that it is ready."""
        try:
            return self.client.ask("GET", "/health/ready").status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False

    def wait_ready(self) -> None:
        """Wait until it is ready."""
        try:
            eventually(self.is_ready, READY_SECONDS, pause=0.1)
        except AssertionError as error:
            raise AssertionError(self.log_path.read_text()[-4_000:]) from error


@dataclass(frozen=True)
class Response:
    """A reply, or what HAProxy says in its place."""

    status: int
    body: bytes
    has_retry_after: bool


class NetworkClient:
    """One kept connection to a host."""

    def __init__(self, address: str, port: int = PORT, seconds: float = 12.0) -> None:
        """Prepare to talk to an address; wait at most `seconds` for an answer."""
        self._where = (address, port, seconds)
        self._connection: http.client.HTTPConnection | None = None

    def ask(
        self,
        method: str,
        target: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send one request and return what came back.

        Raises:
            OSError: when the connection was refused, reset or too slow.
            http.client.HTTPException: when it broke off in the middle of an answer.
        """
        address, port, seconds = self._where
        if self._connection is None:
            self._connection = http.client.HTTPConnection(address, port, timeout=seconds)
        sent = None if body is None else json.dumps(body).encode()
        try:
            self._connection.request(method, target, sent, dict(headers or {}))
            got = self._connection.getresponse()
            reply = Response(got.status, got.read(), bool(got.getheader("retry-after")))
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if got.will_close:
            self.close()
        return reply

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def __del__(self) -> None:
        """Close it with the test that forgets about it."""
        self.close()


@dataclass
class ReplicaCluster:
    """Everything that runs."""

    hosts: network.Hosts
    folder: Path
    servers: dict[str, Server]
    machines: dict[str, Machine]
    primary: str = "db1"

    @property
    def address(self) -> str:
        """The database's address, as a machine has it."""
        names = ",".join(self.hosts[name].address for name in DATABASES)
        return f"postgresql://postgres@{names}/shop?target_session_attrs=read-write"

    @property
    def standby(self) -> str:
        """The database server that is not the primary."""
        return next(name for name in DATABASES if name != self.primary)

    def start_proxy(self) -> None:
        """Start HAProxy with the configuration of `deploy/`, for these addresses."""
        text = (ROOT / "deploy/haproxy/haproxy.cfg").read_text()
        text = re.sub(r"^.*stats socket.*\n", "", text, flags=re.MULTILINE)
        text = text.replace("${BIND-:80}", f":{PORT}").replace("8000\n", "500\n", 1)
        for name in APIS:
            number = name[-1]
            text = text.replace(
                f"192.0.2.1{number}:8000", f"{self.hosts[name].address}:{PORT}"
            )
        assert "192.0.2" not in text
        path = self.folder / "haproxy.cfg"
        path.write_text(text)
        self.hosts["proxy"].start(
            ["haproxy", "-db", "-f", str(path)], self.folder / "haproxy.log"
        )

    def start_objects(self) -> None:
        """Start an S3 server with a bucket."""
        address = self.hosts["objects"].address
        words = [sys.executable, "-m", "moto.server", "-H", address, "-p", str(PORT)]
        self.hosts["objects"].start(words, self.folder / "objects.log")
        client = NetworkClient(address)

        def has_bucket() -> bool:
            with contextlib.suppress(OSError):
                return client.ask("PUT", f"/{BUCKET}").status == http.HTTPStatus.OK
            return False

        eventually(has_bucket, READY_SECONDS, pause=0.2)

    def start(self, *names: str) -> None:
        """Start machines and wait for those that answer."""
        for name in names:
            self.machines[name].launch()
        for name in names:
            if name in APIS:
                self.machines[name].wait_ready()

    def kill(self, name: str) -> None:
        """Kill everything that runs on a host, at once."""
        self.hosts[name].kill()

    def promote(self) -> None:
        """Kill the primary and promote the standby."""
        self.kill(self.primary)
        self.servers[self.standby].promote()
        self.primary = self.standby

    def lose_primary(self) -> None:
        """Let the primary vanish from the network, and promote the standby."""
        lost = self.primary
        with contextlib.ExitStack() as cuts:
            for name in self.hosts.by_name:
                if name != lost:
                    cuts.enter_context(self.hosts.cut(lost, name))
            time.sleep(1)
            self.servers[self.standby].promote()
            self.primary = self.standby
            time.sleep(VANISHED_SECONDS)
            self.kill(lost)

    def rebuild_standby(self) -> None:
        """Make the server that is not the primary its standby again."""
        self.kill(self.standby)
        self.servers[self.standby].follow(self.servers[self.primary])

    @contextlib.contextmanager
    def database(self) -> Iterator[Database]:
        """Give the database, as a machine has it."""
        opened = Database.open(self.address, self.folder)
        try:
            yield opened
        finally:
            opened.close()


@contextlib.contextmanager
def started(
    apis: Sequence[str] = APIS, fault: Path | None = None
) -> Iterator[ReplicaCluster]:
    """Give a running cluster with a folder of its own; skip where something is missing."""
    if (lacks := missing()) is not None:
        pytest.skip(f"replicas were not tested: {lacks}")
    folder = Path(tempfile.mkdtemp(prefix="productrecs-replicas-", dir="/tmp"))
    folder.chmod(0o755)  # the database's user has its files in it
    try:
        with _cluster(folder, apis, fault) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _cluster(
    folder: Path, apis: Sequence[str], fault: Path | None
) -> Iterator[ReplicaCluster]:
    """Start the servers, HAProxy and the machines; API machines before the database."""
    binaries = postgres.find_binaries()
    assert binaries is not None
    names = (*DATABASES, *APIS, *WORKERS, "proxy", "objects")
    files = folder / "postgres"
    files.mkdir()
    shutil.chown(files, "postgres", "postgres")
    with network.hosts(names) as found:
        servers = {name: Server(found[name], files, binaries) for name in DATABASES}
        made = ReplicaCluster(found, folder, servers, {})
        for name in (*APIS, *WORKERS):
            made.machines[name] = _machine(made, name, fault)
        made.start_proxy()
        made.start_objects()
        for name in apis:  # in whatever order: they wait for the database
            made.machines[name].launch()
        servers["db1"].create()
        servers["db2"].follow(servers["db1"])
        for name in apis:
            made.machines[name].wait_ready()
        made.start(*WORKERS)
        yield made


def _machine(made: ReplicaCluster, name: str, fault: Path | None) -> Machine:
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    environment |= {
        "DATABASE_URL": made.address,
        "PRODUCTRECS_LOG_FORMAT": "json",
        "PRODUCTRECS_IMAGE_MODEL": "none",
        "PRODUCTRECS_SEARCH_MODEL": "none",
        "PRODUCTRECS_OBJECTS": f"s3://{BUCKET}/replicas",
        "AWS_ENDPOINT_URL": f"http://{made.hosts['objects'].address}:{PORT}",
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": "tests",
        "AWS_REGION": "us-east-1",
        "TEST_CLOCK_AHEAD": str(AHEAD.get(name, 0.0)),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    folder = made.folder / name
    data = ("--data", str(folder / "data"))
    command: tuple[str, ...] = ("worker", *data)
    if name in APIS:
        workers = "2" if name == "api1" else "1"  # api1 has a writer process
        command = (
            "api",
            *data,
            "--host",
            made.hosts[name].address,
            "--port",
            str(PORT),
            "--workers",
            workers,
        )
    return Machine(made.hosts[name], folder, command, environment, fault)
