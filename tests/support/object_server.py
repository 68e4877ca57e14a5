"""S3 servers of the tests: moto's in a thread, and Ceph's where it is installed."""

import contextlib
import logging
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

HOST: Final = "127.0.0.1"
RADOSGW: Final = pytest.param("radosgw", marks=pytest.mark.trust)
"""Ceph's server in a list of parameters, next to `moto` or `folder`."""

_PROGRAMS: Final = ("ceph-mon", "ceph-osd", "radosgw")  # of the packages of these names
_BUCKET: Final = "productrecs"
_KEY: Final = "tests"
_REGION: Final = "us-east-1"
_START_SECONDS: Final = 60.0

# One monitor and one OSD, whose objects are in memory: at most a GiB of them.
_CEPH: Final = """
[global]
fsid = {fsid}
monmap = {folder}/monitors
public addr = {host}
cluster addr = {host}
mon data = {folder}/mon
osd data = {folder}/osd
run dir = {folder}
admin socket =
pid file =
log to file = false
log to stderr = true
ms bind msgr2 = false
auth cluster required = none
auth service required = none
auth client required = none
mon allow pool size one = true
mon data avail warn = 0
mon data avail crit = 0
paxos propose interval = 0.01
paxos min wait = 0.01
osd objectstore = memstore
memstore device bytes = 1073741824
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default pg num = 1
osd pool default pg autoscale mode = off
rgw thread pool size = 32
"""


class ObjectServer:
    """A running S3 server, and the environment in which the service uses it."""

    port: int

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://{HOST}:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables with which a process reaches it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": _KEY,
            "AWS_REGION": _REGION,
        }

    def address(self) -> str:
        """Return an address below which nothing is stored."""
        return f"s3://{_BUCKET}/{uuid.uuid4().hex}"

    def close(self) -> None:
        """Stop the server."""
        raise NotImplementedError

    def _make_bucket(self) -> None:
        import obstore  # noqa: PLC0415 - few tests need it
        from obstore.store import S3Store  # noqa: PLC0415

        bucket = S3Store(
            _BUCKET,
            endpoint=self.url,
            region=_REGION,
            access_key_id=_KEY,
            secret_access_key=_KEY,
        )
        signed = obstore.sign(bucket, "PUT", "", timedelta(minutes=1))
        request = urllib.request.Request(signed, method="PUT")  # noqa: S310 - this machine
        urllib.request.urlopen(request, timeout=10).close()  # noqa: S310


class MotoServer(ObjectServer):
    """moto's server, in a thread of this process."""

    def __init__(self) -> None:
        """Start it with a bucket."""
        from moto.server import ThreadedMotoServer  # noqa: PLC0415 - half a second

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = ThreadedMotoServer(ip_address=HOST, port=0, verbose=False)
        self._server.start()
        _, self.port = self._server.get_host_and_port()
        self._make_bucket()

    def close(self) -> None:
        """Stop it."""
        self._server.stop()


class RadosGateway(ObjectServer):
    """Ceph's S3 server, with a cluster of its own; all of it ends with this process."""

    def __init__(self) -> None:
        """Start it with a bucket."""
        self._folder = Path(tempfile.mkdtemp(prefix="productrecs-ceph-"))
        self._processes: list[subprocess.Popen[bytes]] = []
        monitor, self.port = _free_ports(2)
        self._until = time.monotonic() + _START_SECONDS
        try:
            self._start(monitor)
        except BaseException as error:
            logs = sorted(self._folder.glob("*.log"))
            error.add_note("\n".join(f"{one.name}: {_end_of(one)}" for one in logs))
            self.close()
            raise

    def close(self) -> None:
        """Kill its processes and remove its files."""
        for process in self._processes:
            process.kill()
            process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, monitor: int) -> None:
        fsid, monitors = str(uuid.uuid4()), str(self._folder / "monitors")
        settings = _CEPH.format(fsid=fsid, host=HOST, folder=self._folder)
        (self._folder / "ceph.conf").write_text(settings)
        for name in ("mon", "osd"):
            (self._folder / name).mkdir()
        addresses = ("--addv", "a", f"[v1:{HOST}:{monitor}]")
        self._run("monmaptool", "--create", "--fsid", fsid, *addresses, monitors)
        self._run("ceph-mon", "-i", "a", "--mkfs")
        self._launch("ceph-mon", "-i", "a")
        self._run("ceph-osd", "-i", "0", "--mkfs")
        self._launch("ceph-osd", "-i", "0")
        keys = ("--access-key", _KEY, "--secret-key", _KEY)
        user = ("--uid", "tests", "--display-name", "tests")
        self._run("radosgw-admin", "user", "create", *user, *keys)
        front = f"beast endpoint={HOST}:{self.port}"
        self._launch("radosgw", "-n", "client.rgw", "--rgw-frontends", front)
        while True:
            with contextlib.suppress(urllib.error.URLError, OSError):
                self._make_bucket()
                return
            if time.monotonic() > self._until:
                message = f"radosgw did not start within {_START_SECONDS:.0f} s"
                raise TimeoutError(message)
            time.sleep(0.1)

    def _words(self, program: str, *arguments: str) -> list[str]:
        configured = ("--no-mon-config", "-c", str(self._folder / "ceph.conf"))
        return ["setpriv", "--pdeathsig=KILL", program, *configured, *arguments]

    def _run(self, program: str, *arguments: str) -> None:
        with (self._folder / f"{program}.log").open("ab") as log:
            subprocess.run(
                self._words(program, *arguments),
                stdout=log,
                stderr=log,
                timeout=max(1.0, self._until - time.monotonic()),
                check=True,
            )

    def _launch(self, program: str, *arguments: str) -> None:
        with (self._folder / f"{program}.log").open("ab") as log:
            words = self._words(program, "-f", *arguments)
            self._processes.append(subprocess.Popen(words, stdout=log, stderr=log))


@contextlib.contextmanager
def object_server(name: str) -> Iterator[ObjectServer]:
    """Run the server of that name, `moto` or `radosgw`; skip where it is not installed."""
    lacks = [one for one in _PROGRAMS if name == "radosgw" and shutil.which(one) is None]
    if lacks:
        pytest.skip(f"Ceph is not installed: apt-get install {' '.join(lacks)}")
    running = RadosGateway() if name == "radosgw" else MotoServer()
    try:
        yield running
    finally:
        running.close()


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-1_500:]


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]
