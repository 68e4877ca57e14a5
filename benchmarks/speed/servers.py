"""How is a server started, loaded, weighed and stopped?"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).parents[2]
READY_SECONDS = 120.0
STOP_SECONDS = 30.0
TICKS = os.sysconf("SC_CLK_TCK")
PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


class ServerError(Exception):
    """A server did not come up, or ended."""


@dataclass(frozen=True, slots=True)
class Load:
    """What one run of the load client measured."""

    seconds: float
    client_cpu: float
    statuses: dict[str, int]
    empty: int
    unsent: int  # let go, since no connection was free
    mean_bytes: float
    classes: dict[str, dict[str, float]]
    server_cpu: float
    neighbours_cpu: float

    def rate(self, letter: str) -> float:
        """Return the requests of a class per second."""
        return self.classes[letter]["per_second"]

    def p50_ms(self, letter: str) -> float:
        """Return the median of a class's latency."""
        return self.classes[letter]["p50_ms"]

    def p99_ms(self, letter: str) -> float:
        """Return the 99th percentile of a class's latency."""
        return self.classes[letter]["p99_ms"]

    def cpu_us(self) -> float:
        """Return the microseconds of CPU that the server spent for one request."""
        return 1e6 * self.server_cpu * self.seconds / sum(self.statuses.values())

    def refused(self) -> dict[str, int]:
        """Return how many replies had each status other than 200."""
        return {status: count for status, count in self.statuses.items() if status != "200"}


class Server:
    """A server process with its children, on a port of loopback."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self.process, self.port, self.log = process, port, log

    def get(self, path: str) -> tuple[int, Any]:
        """Return (status, JSON of the body) of a GET; status 0 while nobody answers."""
        return self._ask("GET", path, None)

    def post(
        self, path: str, body: object, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Return (status, JSON of the body) of a POST with a JSON body."""
        return self._ask("POST", path, json.dumps(body).encode(), headers)

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(
                method, path, body, {"Content-Type": "text/plain"} | dict(headers or {})
            )
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        except (OSError, ValueError, http.client.HTTPException):
            return 0, None
        finally:
            connection.close()

    def wait(self, path: str) -> None:
        """Return when `path` answers 200.

        Raises:
            ServerError: when the process ends, or two minutes are not enough.
        """
        until = time.monotonic() + READY_SECONDS
        while self.get(path)[0] != 200:
            if self.process.poll() is not None or time.monotonic() > until:
                raise ServerError(f"no answer on {path}: {self.log.read_text()[-2000:]}")
            time.sleep(0.05)

    def settle(self) -> None:
        """Return when the server has nothing more to do after its start, or in a minute."""
        for _ in range(60):
            spent = self.cpu_seconds()
            time.sleep(1.0)
            if self.cpu_seconds() - spent < 0.05:
                return

    def load(
        self,
        requests: bytes,
        connections: int,
        seconds: float,
        rate: float | None = None,
        *options: str,
    ) -> Load:
        """Run the load client against this server: closed loop, or paced with a rate."""
        with tempfile.NamedTemporaryFile(suffix=".requests") as file:
            file.write(requests)
            file.flush()
            command = [sys.executable, "-m", "benchmarks.speed.load_client"]
            command += ["--port", str(self.port), "--requests", file.name]
            command += ["--connections", str(connections), "--seconds", str(seconds)]
            command += options
            if rate is not None:
                command += ["--rate", str(rate)]
            busy, spent = busy_seconds(), self.cpu_seconds()
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
            )
            busy, spent = busy_seconds() - busy, self.cpu_seconds() - spent
        if done.returncode != 0:
            raise ServerError(f"load failed: {done.stderr[-1500:]}")
        told = json.loads(done.stdout)
        seconds = told["seconds"]
        others = busy / seconds - spent / seconds - told["client_cpu"]
        return Load(**told, server_cpu=spent / seconds, neighbours_cpu=max(0.0, others))

    def family(self) -> list[int]:
        """Return the ids of the process and all its descendants."""
        children: dict[int, list[int]] = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                parent = int(stat.read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(stat.parent.name))
        family = [self.process.pid]
        for pid in family:
            family += children.get(pid, [])
        return family

    def cpu_seconds(self) -> float:
        """Return the CPU time that the family has spent so far."""
        ticks = 0
        for pid in self.family():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS

    def pss_bytes(self) -> dict[int, int]:
        """Return the proportional set size of each process of the family."""
        sizes = {}
        for pid in self.family():
            with contextlib.suppress(OSError):
                rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
                found = PSS.search(rollup)
                sizes[pid] = int(found[1]) * 1024 if found else 0
        return sizes

    def stop(self) -> None:
        """Ask the server to end, and make sure that it has."""
        family = self.family()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            for pid in family:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()


def busy_seconds() -> float:
    """Return the CPU time that everyone on this machine has spent so far."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    user, nice, system, _, _, hard, soft, stolen = map(int, fields)
    return (user + nice + system + hard + soft + stolen) / TICKS


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextlib.contextmanager
def running(
    command: Sequence[str], port: int, settings: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Give a server that was just started; it is stopped at the end."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=ROOT,
                stdout=out,
                stderr=out,
                env=os.environ | dict(settings or {}),
            )
        server = Server(process, port, log)
        try:
            yield server
        finally:
            server.stop()


@contextlib.contextmanager
def service(
    data: Path, workers: int, settings: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Give the service on a data folder, just started."""
    port = free_port()
    command = ["productrecs", "serve", "--port", str(port), "--data", str(data)]
    with running([*command, "--workers", str(workers)], port, settings) as server:
        yield server


@contextlib.contextmanager
def ready_service(
    data: Path, workers: int, settings: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Give the service on a data folder once it is ready and has come to rest."""
    with service(data, workers, settings) as server:
        server.wait("/health/ready")
        server.settle()
        yield server


@contextlib.contextmanager
def floor(module: str, given: Path, workers: int) -> Iterator[Server]:
    """Give one of the bare prototypes, listening."""
    port = free_port()
    command = [f"benchmarks.speed.{module}", str(given), str(port), str(workers)]
    with running(command, port) as server:
        wait_for_port(server)
        yield server


def wait_for_port(server: Server) -> None:
    """Return when the server listens."""
    until = time.monotonic() + READY_SECONDS
    while True:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", server.port), timeout=1),
        ):
            return
        if server.process.poll() is not None or time.monotonic() > until:
            raise ServerError(server.log.read_text()[-2000:])
        time.sleep(0.02)
