"""Supervisor: restarts its processes, and they never outlive it."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from productrecs.cli.processes.listening_socket import (
    ListenError,
    listener_url,
    open_listening_socket,
)
from productrecs.core.errors import ProductRecsError
from productrecs.processes.child_process import start_program
from tests.http.crowd import ConstantLoad
from tests.support.project import ROOT


class ToyService:
    """A running toy service."""

    def __init__(self, folder: Path, background: str = "steady") -> None:
        """Start it on a free port and wait until it answers."""
        self._folder = folder
        command = (sys.executable, "-m", "tests.processes.toy_service")
        self.process = subprocess.Popen(
            [*command, "0", str(folder), background],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().decode().rsplit(":", 1)[1])

    def ask(self, path: str = "/pid") -> bytes:
        """Return the body of a GET on a new connection."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, 10)) as client:
            client.request("GET", path)
            return client.getresponse().read()

    def started(self, kind: str) -> list[int]:
        """Return the process numbers of every start of `kind` so far, in order."""
        path = self._folder / "started"
        lines = path.read_text().splitlines() if path.exists() else []
        words = [line.split() for line in lines]
        return [int(number) for name, number in words if name == kind]

    def alive(self) -> list[int]:
        """Return the process numbers of all children that live."""
        return [
            number
            for kind in ("api", "steady")
            for number in self.started(kind)
            if lives(number)
        ]

    def close(self) -> None:
        """End every process."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ToyService]:
    started = ToyService(tmp_path)
    yield started
    started.close()


def lives(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def until(condition: Callable[[], bool], seconds: float = 15) -> float:
    """Return after how many seconds the condition was true."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, "not in time"
        time.sleep(0.01)
    return time.monotonic() - began


def test_it_says_that_it_is_ready_when_every_process_is_or_has_failed(
    tmp_path: Path,
) -> None:
    """The banner stood between the log lines of processes that started after it."""
    for background in ("steady", "failing"):
        folder = tmp_path / background
        folder.mkdir()
        with closing(ToyService(folder, background)) as service:  # it waits for that line
            assert len(service.started("api")) == 2
            assert service.started(background)


def whole(service: ToyService) -> bool:
    return len(service.alive()) == 3 and len(answering(service)) == 2


def is_replaced(service: ToyService, number: int) -> bool:
    return not lives(number) and whole(service)


def answering(service: ToyService) -> set[bytes]:
    with contextlib.suppress(OSError, http.client.HTTPException):
        return {service.ask() for _ in range(20)}
    return set()


def test_a_killed_process_is_replaced_within_seconds(service: ToyService) -> None:
    until(lambda: whole(service))
    victims = [service.started("api")[0], service.started("steady")[0]]

    for victim in victims:
        os.kill(victim, signal.SIGKILL)

    # Two seconds are promised, on a machine that is not as busy as tests make it.
    assert until(lambda: len(service.started("api")) == 3) < 10
    assert until(lambda: len(service.started("steady")) == 2) < 10
    until(lambda: whole(service))
    assert not set(service.alive()) & set(victims)


def test_a_stop_answers_open_requests_and_leaves_no_process(service: ToyService) -> None:
    until(lambda: whole(service))
    answers: list[bytes] = []
    asking = [
        threading.Thread(target=lambda: answers.append(service.ask("/slow")))
        for _ in range(8)
    ]
    for one in asking:
        one.start()
    time.sleep(0.2)

    service.process.terminate()

    assert service.process.wait(10) == 0
    for one in asking:
        one.join()
    assert answers == [b"True"] * 8
    assert service.alive() == []


def test_a_stop_under_load_fails_no_request(service: ToyService) -> None:
    until(lambda: whole(service))
    crowd = ConstantLoad(service.port)
    time.sleep(0.3)

    service.process.terminate()
    crowd.wait()

    assert service.process.wait(10) == 0
    assert crowd.answered > 100
    assert crowd.failed == 0


def test_replacing_processes_one_by_one_under_load_fails_no_request(
    service: ToyService,
) -> None:
    until(lambda: whole(service))
    crowd = ConstantLoad(service.port)
    before = service.started("api")

    for number in before:
        os.kill(number, signal.SIGTERM)
        until(partial(is_replaced, service, number))
    service.process.terminate()
    crowd.wait()

    assert len(service.started("api")) == 4
    assert crowd.answered > 100
    assert crowd.failed == 0


def test_an_interrupt_from_the_terminal_reaches_all_and_stops_in_order(
    service: ToyService,
) -> None:
    until(lambda: whole(service))

    os.killpg(service.process.pid, signal.SIGINT)

    assert service.process.wait(10) == 0
    assert service.alive() == []


def test_a_second_signal_does_not_wait_for_anybody(service: ToyService) -> None:
    until(lambda: whole(service))

    def ask() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            service.ask("/never")

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.2)
    began = time.monotonic()

    service.process.terminate()
    time.sleep(1)
    assert service.process.poll() is None  # it waits for the answer
    service.process.terminate()

    assert service.process.wait(10) == 1
    assert time.monotonic() - began < 15
    assert service.alive() == []
    asking.join()


def test_processes_end_with_a_killed_supervisor_and_free_its_port(
    service: ToyService,
) -> None:
    until(lambda: whole(service))

    service.process.kill()

    assert until(lambda: not service.alive()) < 3
    open_listening_socket("127.0.0.1", service.port).close()


def test_an_orphan_ends_though_its_last_message_was_never_read(tmp_path: Path) -> None:
    code = "import sys, tests.processes.toy_service as toy; toy.be_child(sys.argv[1:])"
    with open_listening_socket("127.0.0.1", 0) as listener:
        port, number = listener.getsockname()[1], listener.fileno()
        child = start_program(
            lambda ours: (
                sys.executable,
                "-c",
                code,
                "api",
                str(tmp_path),
                str(number),
                "--parent",
                str(ours),
            ),
            (number,),
        )
    assert child.connection.poll(30)  # it is ready

    child.end(10)  # with unread messages: the child's next read fails with ECONNRESET

    assert child.process.returncode == 0  # it ended by itself
    open_listening_socket("127.0.0.1", port).close()


def test_a_process_that_always_dies_is_started_ever_more_seldom(tmp_path: Path) -> None:
    with closing(ToyService(tmp_path, "hopeless")) as service:
        time.sleep(4)

        # Starts come 0.1, 0.2, 0.4, 0.8, 1.6 seconds apart, besides what a start takes.
        assert 2 <= len(service.started("hopeless")) <= 6
        assert len(service.started("api")) == 2
        assert service.ask("/") == b"False"


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_service_that_cannot_start_says_why_once_and_ends(tmp_path: Path) -> None:
    done = run("tests.processes.toy_service", "0", str(tmp_path), "none")

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("the database is unsafe") == 1


NEVER_READY = """
import logging, time
from productrecs.processes.supervisor import ProcessRole, Supervisor, SupervisorTimeouts
logging.basicConfig(format="%(message)s %(role)s")
role = ProcessRole("api 1", (), lambda _words: time.sleep(60) or 0)
timeouts = SupervisorTimeouts(start=0.2, turn=0.1)
raise SystemExit(Supervisor([role], lambda: None, lambda: None, timeouts).run())
"""


def test_a_first_process_that_is_never_ready_ends_the_service_and_is_named() -> None:
    """`productrecs demo` ended with status 1 and no word on a machine under load."""
    done = subprocess.run(
        [sys.executable, "-c", NEVER_READY], check=False, capture_output=True, timeout=50
    )

    assert done.returncode == 1
    assert b"process hung api 1" in done.stderr


def test_a_taken_port_is_named_with_the_remedy(tmp_path: Path) -> None:
    with open_listening_socket("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        done = run("productrecs", "serve", "--port", port, "--data", str(tmp_path))

    assert done.returncode == 1
    assert done.stderr.count(f"port {port} of 127.0.0.1 is in use") == 1
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unusable_data_folder_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")

    done = run("productrecs", "serve", "--port", "0", "--data", f"{tmp_path}/data/deep")

    assert done.returncode == 1
    assert done.stderr.count("Error:") == 1
    assert "--data" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_address_of_a_service_on_every_address_opens_in_a_browser() -> None:
    with open_listening_socket("0.0.0.0", 0) as listener:  # noqa: S104 - as containers do
        assert listener_url(listener).startswith("http://127.0.0.1:")


def test_an_address_of_another_machine_is_refused_in_words() -> None:
    with pytest.raises(ListenError, match="not an address of this machine"):
        open_listening_socket("192.0.2.1", 0)
    with pytest.raises(ProductRecsError, match="not an address of this machine"):
        open_listening_socket("not a host", 0)


@pytest.mark.parametrize("command", ["--help", "train shop.example", "serve --port 0"])
def test_missing_compiled_kernels_are_one_line_with_the_remedy(
    tmp_path: Path, command: str
) -> None:
    code = (
        "import ctypes, sys\n"
        "from productrecs.cli.main import main\n"
        "class Missing(ctypes.CDLL):\n"
        "    def __init__(self, name, *more, **options):\n"
        "        if str(name).endswith('kernels.c.so'):\n"
        "            raise OSError(f'{name}: no such file')\n"
        "        super().__init__(name, *more, **options)\n"
        "ctypes.CDLL = Missing\n"
        "main()\n"
    )
    words = [sys.executable, "-c", code, *command.split()]
    environment = {**os.environ, "PRODUCTRECS_DATA": str(tmp_path / "data")}

    done = subprocess.run(
        words, capture_output=True, text=True, env=environment, check=False
    )

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    said = done.stderr.splitlines()[-1]  # `serve` also logs settings that it does not know
    assert said.startswith("Error: the engines' compiled kernels cannot be loaded")
    assert said.endswith("elsewhere install productrecs again")


def test_a_command_loads_nothing_heavy_before_it_must() -> None:
    code = (
        "import sys, productrecs.cli.processes.serve;"
        "import productrecs.cli.processes.api;"
        "print(*sys.modules)"
    )

    loaded = set(run("productrecs", "serve", "--help").stdout.split())
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert "--workers" in loaded
    heavy = {"numpy", "fastapi", "uvicorn", "sqlalchemy", "alembic", "apsw"}
    assert heavy.isdisjoint(modules)
