"""Supervisor: starts a group of child processes, restarts them and stops them together.

It starts the first child alone. If that child cannot start, it reports the error itself and
no other child starts. Once it is ready the others follow. A child that dies is restarted:
at once, or after growing delays if it dies repeatedly. So is a child that hangs: it said
that it is at work, and falls silent. The supervisor notifies systemd when the first child
is ready, and then regularly while no child hangs. It does no other work, so that little can
fail in it.
"""

import contextlib
import logging
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from productrecs.core.program_version import PROGRAM_VERSION
from productrecs.processes.child_process import ChildProcess, fork_child, start_program
from productrecs.processes.process_messages import FROM_CHILD, AliveMessage, StopMessage

_log = logging.getLogger(__name__)

MAX_RESTART_DELAY: Final = 30.0
RECENT_SECONDS: Final = 600.0
"""How long the end of a process is remembered."""
_WHOLE_MESSAGE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class ProcessRole:
    """One process of the group: a command, and the files that it inherits.

    It runs in a fork of this process, where the program is already imported: `run` gets
    the command, and returns the exit status. With a `program` it is a new process that
    executes that program. `--parent` and the file descriptor of the connection to the
    supervisor are appended to the command.
    """

    name: str
    command: tuple[str, ...]
    run: Callable[[Sequence[str]], int]
    inherits: tuple[int, ...] = ()
    program: tuple[str, ...] | None = None
    hung_after: float = 120.0  # seconds of silence


@dataclass(frozen=True, slots=True)
class ProcessState:
    """What an operator may ask about a process."""

    name: str
    pid: int
    is_ready: bool
    is_silent: bool  # for half of the time after which it hangs
    recent_ends: int  # of earlier processes of this role, in the last ten minutes


@dataclass(frozen=True, slots=True)
class SupervisorTimeouts:
    """Timeouts, in seconds."""

    start: float = 120.0  # until a child is ready
    stop: float = 45.0  # until all have drained; then they are killed
    steady: float = 10.0  # a child that lived longer started successfully
    first_pause: float = 0.1  # before a restart; doubles with each early death
    turn: float = 2.0  # the longest wait for an event


@dataclass(slots=True)
class _RunningProcess:
    role: ProcessRole
    child: ChildProcess
    began: float
    heard_at: float
    is_ready: bool = False
    says_alive: bool = False

    def is_silent(self, now: float, share: float = 1.0) -> bool:
        """Return whether it is silent for `share` of the time after which it hangs."""
        limit = share * self.role.hung_after
        return self.says_alive and now - self.heard_at > limit


def notify_systemd(state: str) -> None:
    """Tell systemd a state, such as READY=1, if it started this service and listens."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with (
        contextlib.suppress(OSError),  # systemd is being replaced: it asks again
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
    ):
        sender.settimeout(1.0)
        sender.sendto(state.encode(), address)


class Supervisor:
    """Keeps one child process per role running until SIGTERM or SIGINT."""

    def __init__(
        self,
        roles: Sequence[ProcessRole],
        on_ready: Callable[[], None],
        on_stop: Callable[[], None],
        limits: SupervisorTimeouts | None = None,
        on_change: Callable[[Sequence[ProcessState]], None] = lambda _states: None,
    ) -> None:
        """Prepare; `on_stop` is called at stop, `on_change` with all changed states.

        `on_ready` is called once, when each role is ready or has failed to start: a
        background process that fails does not keep anybody from the API.
        """
        self._roles = roles
        self._on_ready = on_ready
        self._on_stop = on_stop
        self._limits = limits or SupervisorTimeouts()
        self._running: list[_RunningProcess] = []
        self._due: list[tuple[float, ProcessRole]] = []
        self._early_exits: dict[str, int] = {}
        self._ends: list[tuple[float, str]] = []
        self._states: Sequence[ProcessState] = ()
        self._on_change = on_change
        self._turned_at = time.monotonic()
        self._signals = 0
        self._is_up = False
        self._awaited = {role.name for role in roles}
        self._selector = selectors.DefaultSelector()

    def run(self) -> int:
        """Return the exit status: 0 after an orderly stop, else 1."""
        self._listen_to_signals()
        self._start_process(self._roles[0])
        while not self._signals:
            self._wait_and_handle_events(self._next_wakeup_at())
            self._kill_hung_processes()
            self._reap_and_schedule_restarts()
            if not self._is_up and not self._running:
                return 1  # the first child could not start, and has reported the error
            self._start_due_roles()
            self._report_states_and_notify_systemd()
        return self._stop_processes()

    def _listen_to_signals(self) -> None:
        # Python writes each signal's number to this socket, which wakes up every wait.
        reader, self._signal_writer = socket.socketpair()
        reader.settimeout(0)
        self._signal_writer.settimeout(0)
        self._signal_reader = reader  # prevents garbage collection of the socket
        signal.set_wakeup_fd(reader.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._signal_writer, selectors.EVENT_READ)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def _on_signal(self, _number: int, _frame: object) -> None:
        self._signals += 1

    def _start_process(self, role: ProcessRole) -> None:
        def command(number: int) -> Sequence[str]:
            return (*(role.program or ()), *role.command, "--parent", str(number))

        if role.program is None:
            child = fork_child(
                role.name, lambda number: role.run(command(number)), role.inherits
            )
        else:
            child = start_program(command, role.inherits)
        now = time.monotonic()
        running = _RunningProcess(role, child, now, now)
        self._running.append(running)
        self._selector.register(child.connection, selectors.EVENT_READ, running)
        facts = {
            "role": role.name,
            "pid": child.process.pid,
            "program": PROGRAM_VERSION,
        }
        _log.info("process started", extra=facts)

    def _next_wakeup_at(self) -> float:
        """Return the time of the next timeout, restart or look at the processes."""
        due_times = [due_at for due_at, _ in self._due]
        due_times.append(time.monotonic() + self._limits.turn)
        due_times += [
            running.began + self._limits.start
            for running in self._running
            if not running.is_ready
        ]
        return min(due_times)

    def _wait_and_handle_events(self, until: float) -> None:
        """Wait for a signal, a message from a child, or the time `until`."""
        for key, _ in self._selector.select(max(0.0, until - time.monotonic())):
            if isinstance(key.data, _RunningProcess):
                self._receive_message(key.data)
            else:
                with contextlib.suppress(BlockingIOError):
                    self._signal_writer.recv(1024)

    def _receive_message(self, running: _RunningProcess) -> None:
        connection = running.child.connection
        try:
            message, _ = connection.receive(FROM_CHILD, _WHOLE_MESSAGE_SECONDS)
        except OSError:  # the child closed its end: it is about to exit
            self._selector.unregister(connection)
            return
        running.heard_at = time.monotonic()
        if isinstance(message, AliveMessage):
            running.says_alive = True
            return
        running.is_ready = True
        seconds = round(time.monotonic() - running.began, 2)
        _log.info("process ready", extra={"role": running.role.name, "s": seconds})
        if not self._is_up:
            self._is_up = True
            notify_systemd("READY=1")
            self._due = [(time.monotonic(), role) for role in self._roles[1:]]
        self._call_on_ready_if_last(running.role)

    def _call_on_ready_if_last(self, role: ProcessRole) -> None:
        """Call `on_ready` when this was the last role to be ready, or to fail."""
        if self._awaited:
            self._awaited.discard(role.name)
            if not self._awaited:
                self._on_ready()

    def _kill_hung_processes(self) -> None:
        """Kill the processes that hang; they are restarted like others that died."""
        now = time.monotonic()
        pause, self._turned_at = now - self._turned_at, now
        if pause > 2 * self._limits.turn + _WHOLE_MESSAGE_SECONDS:
            for running in self._running:  # this process was stopped, or the whole machine
                running.heard_at += pause
        for running in self._running:
            if running.is_silent(now):
                facts = {"role": running.role.name, "pid": running.child.process.pid}
                _log.error("process hung", extra=facts)
                running.child.process.kill()
                running.heard_at = now  # it may take a while to end: do not say it again

    def _report_states_and_notify_systemd(self) -> None:
        """Report the states if one has changed, and notify systemd if no child hangs."""
        now = time.monotonic()
        self._ends = [end for end in self._ends if now - end[0] < RECENT_SECONDS]
        states = [
            ProcessState(
                running.role.name,
                running.child.process.pid,
                running.is_ready,
                running.is_silent(now, 0.5),
                sum(name == running.role.name for _, name in self._ends),
            )
            for running in self._running
        ]
        if states != self._states:
            self._states = states
            self._on_change(states)
        first_role = self._roles[0].name
        if any(
            running.name == first_role and running.is_ready and not running.is_silent
            for running in states
        ):
            notify_systemd("WATCHDOG=1")

    def _reap_and_schedule_restarts(self) -> None:
        """Collect ended processes, and schedule their restarts."""
        now = time.monotonic()
        for running in list(self._running):
            if not running.is_ready and now - running.began > self._limits.start:
                facts = {"role": running.role.name, "pid": running.child.process.pid}
                _log.error("process hung", extra=facts)
                running.child.process.kill()
            if running.child.process.poll() is None:
                continue
            self._running.remove(running)
            with contextlib.suppress(KeyError):
                self._selector.unregister(running.child.connection)
            running.child.end()
            self._ends.append((now, running.role.name))
            if self._is_up and not self._signals:
                self._due.append(
                    (now + self._record_death_and_choose_pause(running, now), running.role)
                )
                self._call_on_ready_if_last(running.role)

    def _record_death_and_choose_pause(self, running: _RunningProcess, now: float) -> float:
        name, limits = running.role.name, self._limits
        is_early_exit = now - running.began < limits.steady
        self._early_exits[name] = early_exits = (
            self._early_exits.get(name, 0) + 1 if is_early_exit else 1
        )
        pause = min(MAX_RESTART_DELAY, limits.first_pause * 2.0 ** min(early_exits - 1, 20))
        facts = {
            "role": name,
            "status": running.child.process.returncode,
            "restart_s": pause,
        }
        _log.warning("process died", extra=facts)
        return pause

    def _start_due_roles(self) -> None:
        now = time.monotonic()
        due_roles = [role for due_at, role in self._due if due_at <= now]
        self._due = [(due_at, role) for due_at, role in self._due if due_at > now]
        for role in due_roles:
            self._start_process(role)

    def _stop_processes(self) -> int:
        _log.info("service stopping", extra={"processes": len(self._running)})
        notify_systemd("STOPPING=1")
        self._on_stop()
        for running in self._running:
            with contextlib.suppress(OSError):
                running.child.connection.send(StopMessage(), seconds=0.0)
            running.child.process.terminate()
        deadline = time.monotonic() + self._limits.stop
        while self._running and self._signals == 1 and time.monotonic() < deadline:
            self._wait_and_handle_events(deadline)
            self._reap_and_schedule_restarts()
        for running in self._running:
            facts = {"role": running.role.name, "pid": running.child.process.pid}
            _log.warning("process killed", extra=facts)
            running.child.end()
        return 1 if self._running else 0
