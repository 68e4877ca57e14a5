"""S3 server of the tests: moto's server in a thread, one a process of the test run."""

from __future__ import annotations

import logging
import urllib.request
import uuid
from typing import TYPE_CHECKING

from moto.server import ThreadedMotoServer

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = "127.0.0.1"
_BUCKET = "productrecs"


class ObjectServer:
    """A running S3 server, and the environment in which the service uses it."""

    def __init__(self) -> None:
        """Start the server with a bucket."""
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = ThreadedMotoServer(ip_address=HOST, port=0, verbose=False)
        self._server.start()
        _, self.port = self._server.get_host_and_port()
        bucket = urllib.request.Request(f"{self.url}/{_BUCKET}", method="PUT")  # noqa: S310 - this machine
        urllib.request.urlopen(bucket).close()  # noqa: S310

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
