"""Forked child process: independent of the supervisor in all that matters."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from productrecs.processes.child_process import ForkedProcess, stop_at_signals

Stop = Callable[[], None]

STANDARD = {0, 1, 2}


def test_its_status_is_what_its_work_returned() -> None:
    assert ForkedProcess("toy", lambda: 0, ()).wait() == 0
    assert ForkedProcess("toy", lambda: 7, ()).wait() == 7


def test_work_that_fails_is_a_status_too_and_never_comes_back_here() -> None:
    def fails() -> int:
        raise SystemExit

    here = os.getpid()

    status = ForkedProcess("toy", fails, ()).wait()

    assert (status, os.getpid()) == (1, here)


def test_it_has_the_files_that_it_was_given_and_none_other(tmp_path: Path) -> None:
    found = tmp_path / "found"

    def looks() -> int:
        found.write_text(" ".join(one.name for one in Path("/proc/self/fd").iterdir()))
        return 0

    ours, theirs = socket.socketpair()
    with ours, theirs, (tmp_path / "secret").open("w"):
        ForkedProcess("toy", looks, [theirs.fileno()]).wait()
        seen = {int(number) for number in found.read_text().split()}

        # The listing and the file that it goes to are open beside the rest.
        assert theirs.fileno() in seen
        assert ours.fileno() not in seen - set(sorted(seen)[-2:])
        assert seen >= STANDARD
        assert len(seen) <= len(STANDARD) + 3


def test_the_other_end_of_its_line_closes_with_it() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            number = theirs.fileno()
            child = ForkedProcess("toy", lambda: len(os.read(number, 1)), [number])
        ours.send(b"!")
        ours.settimeout(10)

        assert ours.recv(1) == b""
        assert child.wait() == 1


def asleep() -> int:
    time.sleep(60)
    return 0


_ORPHAN = """
import signal, sys, time
from productrecs.processes.process_messages import ParentConnection
if sys.argv[2] == "True":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
parent = ParentConnection.inherited(int(sys.argv[1]))
parent.report_ready()
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a parent's death")
@pytest.mark.parametrize("ignores_stops", [False, True])
def test_the_kernel_ends_a_child_whose_parent_dies_though_its_line_stays_open(
    *, ignores_stops: bool
) -> None:
    ours, theirs = socket.socketpair()

    def be_parent() -> int:
        number = str(theirs.fileno())
        command = (sys.executable, "-c", _ORPHAN, number, str(ignores_stops))
        subprocess.Popen(command, pass_fds=(theirs.fileno(),)).wait()
        return 0

    parent = ForkedProcess("toy", be_parent, [theirs.fileno()])
    theirs.close()
    ours.settimeout(30)
    assert ours.recv(1024)  # the grandchild is ready

    parent.kill()
    parent.wait()

    with ours:
        assert ours.recv(1) == b""  # its end closed: it is dead


@pytest.mark.parametrize("end", [ForkedProcess.terminate, ForkedProcess.kill])
def test_a_child_ends_at_sigterm_whatever_its_parents_handler_does(
    end: Callable[[ForkedProcess], None],
) -> None:
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    try:
        child = ForkedProcess("toy", asleep, ())
        assert child.poll() is None

        end(child)

        assert child.wait() in {-signal.SIGTERM, -signal.SIGKILL}
        assert child.poll() == child.returncode
    finally:
        signal.signal(signal.SIGTERM, before)


def told_while_it_holds_the_lock(
    listen: Callable[[Stop], None], patience: float
) -> Callable[[], int]:
    """Return work that is 0 where a stop comes through, though it came at a bad moment."""

    def work() -> int:
        lock, stopped = threading.Lock(), threading.Event()

        def stop() -> None:
            if lock.acquire(timeout=patience):
                stopped.set()

        listen(stop)
        with lock:  # as at the beginning and the end of every wait for an event
            signal.raise_signal(signal.SIGTERM)
        return 0 if stopped.wait(patience) else 1

    return work


def test_a_signal_may_come_while_the_lock_is_held_that_a_stop_waits_for() -> None:
    work = told_while_it_holds_the_lock(stop_at_signals, 30)

    assert ForkedProcess("toy", work, ()).wait() == 0


def test_control_a_handler_that_stops_by_itself_waits_for_its_own_thread() -> None:
    def directly(stop: Stop) -> None:
        signal.signal(signal.SIGTERM, lambda _number, _frame: stop())

    assert ForkedProcess("toy", told_while_it_holds_the_lock(directly, 0.1), ()).wait() == 1
