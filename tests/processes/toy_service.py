"""A supervised service with toy processes, for tests that kill them.

    python -m tests.processes.toy_service PORT FOLDER BACKGROUND

Two API processes with the toy application, and one for the background, which is `steady`
or `hopeless`: that one dies as soon as it starts. With BACKGROUND `none` the API's first
process cannot start. Each start adds a line, `role pid`, to FOLDER/started.
"""

import os
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from productrecs.cli.processes.listening_socket import listener_url, open_listening_socket
from productrecs.http.transport.server import HttpServerOptions, run_server
from productrecs.processes.process_messages import ParentConnection
from productrecs.processes.supervisor import ProcessRole, Supervisor
from tests.http.toy_server import PATIENCE, application


def supervise(port: int, folder: Path, background: str) -> int:
    """Run the service."""
    listener = open_listening_socket("127.0.0.1", port)
    number = listener.fileno()
    kind = "api" if background != "none" else "unable"
    roles = [
        ProcessRole(f"api {n}", (kind, str(folder), str(number)), be_child, (number,))
        for n in range(2)
    ]
    roles.append(ProcessRole("background", (background, str(folder), "-1"), be_child))

    def on_ready() -> None:
        sys.stdout.write(listener_url(listener) + "\n")
        sys.stdout.flush()

    return Supervisor(roles, on_ready, listener.close).run()


def be_child(command: Sequence[str]) -> int:
    """Be one process of the service."""
    kind, folder, number, _, line = command
    return _work(kind, Path(folder), int(number), ParentConnection.inherited(int(line)))


def _work(kind: str, folder: Path, number: int, parent: ParentConnection) -> int:
    with (folder / "started").open("a") as started:
        started.write(f"{kind} {os.getpid()}\n")
    if kind == "unable":
        sys.stderr.write("Error: the database is unsafe\n")
        return 1
    if kind == "api":
        options = HttpServerOptions(
            drain_seconds=0.3, timeouts=PATIENCE, parent_fd=parent.fileno()
        )
        run_server(application, socket.socket(fileno=number), options, parent.report_ready)
    if kind == "steady":
        over = threading.Event()
        parent.stop_with_parent(over.set)
        parent.report_ready()
        over.wait()
    return 0


if __name__ == "__main__":
    sys.exit(supervise(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
