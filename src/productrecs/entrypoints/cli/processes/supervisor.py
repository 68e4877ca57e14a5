"""Supervisor: starts a group of child processes, restarts them and stops them together.

It starts the first child alone. If that one cannot start, its own error is the reason, and
no other child starts. Once it is ready the others follow. A child that dies is restarted:
at once, or after growing delays if it keeps dying. The supervisor does none of the work
itself, so it has little that can fail.
"""

import contextlib
import logging
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from productrecs.entrypoints.cli import run_command
from productrecs.entrypoints.cli.processes.child_process import ChildProcess, ForkedProcess
from productrecs.entrypoints.cli.processes.supervisor_link import READY, STOP

_log = logging.getLogger(__name__)

MAX_RESTART_DELAY: Final = 30.0
PROGRAM: Final = (sys.executable, "-m", "productrecs")


@dataclass(frozen=True, slots=True)
class ProcessRole:
    """One process of the group: a command, and the files that it inherits.

    It runs in a fork of this process, where the program is already imported: `run` gets
    the command, and returns the exit status. With a `program` it is a new process that
    executes that program.
    """

    name: str
    command: tuple[str, ...]
    inherits: tuple[int, ...] = ()
    program: tuple[str, ...] | None = None
    run: Callable[[Sequence[str]], int] = run_command


@dataclass(frozen=True, slots=True)
class SupervisorTimeouts:
    """Timeouts, in seconds."""

    start: float = 120.0  # until a child is ready
    stop: float = 45.0  # until all have drained; then they are killed
    steady: float = 10.0  # a child that lived longer did not die of its start
    first_pause: float = 0.1  # before a restart; doubles with each quick death


@dataclass(slots=True)
class _Child:
    role: ProcessRole
    process: ChildProcess
    lifeline: socket.socket
    began: float
    is_ready: bool = False


class Supervisor:
    """Keeps one child process per role running until SIGTERM or SIGINT."""

    def __init__(
        self,
        roles: Sequence[ProcessRole],
        on_ready: Callable[[], None],
        on_stop: Callable[[], None],
        limits: SupervisorTimeouts | None = None,
    ) -> None:
        """Prepare; call `on_ready` when the first role is ready, `on_stop` at the stop."""
        self._roles = roles
        self._on_ready = on_ready
        self._on_stop = on_stop
        self._limits = limits or SupervisorTimeouts()
        self._children: list[_Child] = []
        self._due: list[tuple[float, ProcessRole]] = []
        self._deaths: dict[str, int] = {}
        self._signals = 0
        self._is_up = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> int:
        """Return the exit status: 0 after an orderly stop, else 1."""
        self._listen_to_signals()
        self._start(self._roles[0])
        while not self._signals:
            self._wait(self._next())
            self._reap()
            if not self._is_up and not self._children:
                return 1  # the first child could not start, and has said why
            self._start_due()
        return self._stop()

    def _listen_to_signals(self) -> None:
        # Python writes each signal's number to this socket, which ends every wait.
        waking, self._woken = socket.socketpair()
        waking.settimeout(0)
        self._woken.settimeout(0)
        self._waking = waking  # kept open
        signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def _on_signal(self, _number: int, _frame: object) -> None:
        self._signals += 1

    def _start(self, role: ProcessRole) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(0)
        with theirs:
            number = theirs.fileno()
            command = (*role.command, "--lifeline", str(number))
            passed = (number, *role.inherits)
            process: ChildProcess
            if role.program is None:
                process = ForkedProcess(role.name, lambda: role.run(command), passed)
            else:
                process = subprocess.Popen(  # noqa: S603 - our own program
                    [*role.program, *command], stdin=subprocess.DEVNULL, pass_fds=passed
                )
        child = _Child(role, process, ours, time.monotonic())
        self._children.append(child)
        self._selector.register(ours, selectors.EVENT_READ, child)
        _log.info("process started", extra={"role": role.name, "pid": process.pid})

    def _next(self) -> float | None:
        """Return the time of the next timeout or restart, or None."""
        moments = [moment for moment, _ in self._due]
        moments += [
            child.began + self._limits.start
            for child in self._children
            if not child.is_ready
        ]
        return min(moments, default=None)

    def _wait(self, until: float | None) -> None:
        """Wait for a signal, a message from a child, or the time `until`."""
        pause = None if until is None else max(0.0, until - time.monotonic())
        for key, _ in self._selector.select(pause):
            if isinstance(key.data, _Child):
                self._hear(key.data)
            else:
                with contextlib.suppress(BlockingIOError):
                    self._woken.recv(1024)

    def _hear(self, child: _Child) -> None:
        try:
            word = child.lifeline.recv(1)
        except OSError:
            word = b""
        if word != READY:  # it has let go: its death is on the way
            self._selector.unregister(child.lifeline)
            return
        child.is_ready = True
        seconds = round(time.monotonic() - child.began, 2)
        _log.info("process ready", extra={"role": child.role.name, "s": seconds})
        if not self._is_up:
            self._is_up = True
            self._due = [(time.monotonic(), role) for role in self._roles[1:]]
            self._on_ready()

    def _reap(self) -> None:
        """Collect ended processes, and schedule their restarts."""
        now = time.monotonic()
        for child in list(self._children):
            if not child.is_ready and now - child.began > self._limits.start:
                child.process.kill()
            if child.process.poll() is None:
                continue
            self._children.remove(child)
            with contextlib.suppress(KeyError):
                self._selector.unregister(child.lifeline)
            child.lifeline.close()
            if self._is_up and not self._signals:
                self._due.append((now + self._pause(child, now), child.role))

    def _pause(self, child: _Child, now: float) -> float:
        name, limits = child.role.name, self._limits
        quick = now - child.began < limits.steady
        self._deaths[name] = deaths = self._deaths.get(name, 0) + 1 if quick else 1
        pause = min(MAX_RESTART_DELAY, limits.first_pause * 2.0 ** min(deaths - 1, 20))
        facts = {"role": name, "status": child.process.returncode, "restart_s": pause}
        _log.warning("process died", extra=facts)
        return pause

    def _start_due(self) -> None:
        now = time.monotonic()
        ripe = [role for moment, role in self._due if moment <= now]
        self._due = [(moment, role) for moment, role in self._due if moment > now]
        for role in ripe:
            self._start(role)

    def _stop(self) -> int:
        _log.info("service stopping", extra={"processes": len(self._children)})
        self._on_stop()
        for child in self._children:
            with contextlib.suppress(OSError):
                child.lifeline.send(STOP)
            child.process.terminate()
        deadline = time.monotonic() + self._limits.stop
        while self._children and self._signals == 1 and time.monotonic() < deadline:
            self._wait(deadline)
            self._reap()
        for child in self._children:
            facts = {"role": child.role.name, "pid": child.process.pid}
            _log.warning("process killed", extra=facts)
            child.process.kill()
            child.process.wait()
        return 1 if self._children else 0
