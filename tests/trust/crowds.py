"""Simultaneous clients: many processes send one list of requests each at one moment.

Each process has one kept connection and the standard library alone, so that sixteen of
them begin within a moment. `ask_at_once` returns what each was answered, in order.
"""

import contextlib
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Request:
    """One request, to be sent `times` over."""

    method: str
    target: str
    body: str | None = None
    headers: Mapping[str, str] | None = None
    times: int = 1


@dataclass(frozen=True)
class Answer:
    """What came back: status 0 where nobody answered."""

    status: int
    body: Any


def ask_at_once(
    folder: Path, port: int, requests: Sequence[Sequence[Request]]
) -> list[list[Answer]]:
    """Return the answers of a process for each list of requests, all begun at once."""
    with asking(folder, port, requests) as running:
        return [_answers(one.communicate(timeout=280)[0]) for one in running]


@contextlib.contextmanager
def asking(
    folder: Path, port: int, requests: Sequence[Sequence[Request]]
) -> Iterator[list[subprocess.Popen[str]]]:
    """Give the processes, which have just begun to ask."""
    running = [
        subprocess.Popen(
            [sys.executable, "-S", __file__, str(port)],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in requests
    ]
    try:
        for one, its in zip(running, requests, strict=True):
            assert one.stdin is not None
            one.stdin.write(json.dumps([vars(request) for request in its]) + "\n")
            one.stdin.flush()
        for one in running:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        for one in running:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        yield running
    finally:
        for one in running:
            one.kill()
            one.communicate()


def _answers(output: str) -> list[Answer]:
    return [Answer(*answer) for answer in json.loads(output)]


def _run(port: int) -> None:
    """Be one of the processes."""
    requests = json.loads(sys.stdin.readline())
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    print("ready", flush=True)  # noqa: T201 - tells the one who started us
    sys.stdin.readline()
    answers = []
    for request in requests:
        for _ in range(request["times"]):
            answers.append(_ask(connection, request))
            if answers[-1][0] == 0:
                break
    json.dump(answers, sys.stdout)


def _ask(
    connection: http.client.HTTPConnection, request: dict[str, Any]
) -> tuple[int, Any]:
    for _ in range(100):
        try:
            connection.request(
                request["method"],
                request["target"],
                request["body"],
                request["headers"] or {},
            )
            reply = connection.getresponse()
            body = json.loads(reply.read())
        except (OSError, http.client.HTTPException):
            return 0, None
        if reply.status != 503:
            return reply.status, body
        time.sleep(0.05)
    return reply.status, body


if __name__ == "__main__":
    _run(int(sys.argv[1]))
