"""Fork server: starts programs from a process that has loaded the modules.

Loading the service's modules is most of what a start costs. A nursery loads them once for a
run of the tests, and each program is a fork of it that goes on as `productrecs WORDS...`
would: with an environment, a process group and a log of its own. It opens nothing before,
so there is nothing that two programs could share. `Program` is what `subprocess.Popen` is.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
_DIES_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG
_LOOK_SECONDS: Final = 0.005
_LOADED: Final = (
    *("uvloop", "uvicorn"),
    *(
        f"productrecs.{name}"
        for name in (
            *(
                "cli.processes.serve",
                "cli.open_services",
                "cli.commands.stores_and_origins",
            ),
            *("cli.processes.api", "cli.processes.worker"),
            *("application", "http.transport.server"),
            "serving.writes.write_server",
            *("worker.store_jobs", "worker.file_import_jobs"),
            *("worker.search_indexer", "worker.picture_jobs", "worker.webhook_sender"),
            *("worker.child_process_jobs", "training.tuning.tune_store"),
        )
    ),
)
"""What the processes of a service load, each by itself, when it is started in earnest."""


@dataclass
class Program:
    """A process that the nursery forked."""

    pid: int
    status: Path  # where the nursery writes how it ended
    returncode: int | None = None

    def poll(self) -> int | None:
        """Return how it ended, as `subprocess` tells it; None while it lives."""
        if self.returncode is None:
            with contextlib.suppress(FileNotFoundError):
                self.returncode = int(self.status.read_text())
                self.status.unlink()
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Wait for its end.

        Raises:
            subprocess.TimeoutExpired: when it lives on.
        """
        until = time.monotonic() + timeout
        while (ended := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(_LOOK_SECONDS)
        return ended

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


class Nursery:
    """The process that has loaded what others need; it ends with this one."""

    def __init__(self) -> None:
        """Start it; the first program waits until it has loaded."""
        self._folder = tempfile.TemporaryDirectory(prefix="nursery-")
        self._count = 0
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        atexit.register(self._close)

    def start(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        errors: Path | None = None,
        broken: Path | None = None,
        folder: Path = ROOT,
    ) -> Program:
        """Let `productrecs WORDS...` run in `folder`, what it writes being added to `log`.

        What it writes to standard error goes there too, or to `errors`. `broken` names a
        folder whose `sitecustomize.py` it loads first.
        """
        self._count += 1
        status = Path(self._folder.name) / str(self._count)
        order = {
            "words": list(words),
            "folder": str(folder),
            "environment": dict(environment),
            "log": str(log),
            "errors": str(errors or log),
            "broken": broken and str(broken / "sitecustomize.py"),
            "status": str(status),
        }
        pipes = self._process
        assert pipes.stdin is not None
        assert pipes.stdout is not None
        pipes.stdin.write(json.dumps(order) + "\n")
        pipes.stdin.flush()
        return Program(int(pipes.stdout.readline()), status)

    def _close(self) -> None:
        with self._process as nursery:
            nursery.kill()
        self._folder.cleanup()


_running: list[Nursery] = []


def nursery() -> Nursery:
    """Return this test run's nursery."""
    if not _running:
        _running.append(Nursery())
    return _running[0]


def _raise_children() -> dict[str, Any]:
    """Fork a child for each order; return one, in the child."""
    _die_with(os.getppid())
    wakes, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    living: dict[int, Path] = {}
    orders = os.fdopen(0, "rb", buffering=0, closefd=False)  # nothing is read ahead
    while True:
        ready, _, _ = select.select([0, wakes], [], [])
        if wakes in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wakes, 4_096)
            _note_ends(living)
        if 0 not in ready:
            continue
        line = orders.readline()
        if not line:
            sys.exit(0)
        order: dict[str, Any] = json.loads(line)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _die_with(parent)
            return order
        living[pid] = Path(order["status"])
        print(pid, flush=True)  # noqa: T201 - the answer


def _note_ends(living: dict[int, Path]) -> None:
    for pid in list(living):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            path = living.pop(pid)
            draft = path.with_suffix(".draft")
            draft.write_text(str(os.waitstatus_to_exitcode(status)))
            draft.rename(path)


def _die_with(parent: int) -> None:
    """End as soon as the parent does, however that ends."""
    ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _become(order: Mapping[str, Any]) -> list[str]:
    """Be what was ordered: a program that was just started; return its words."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    added = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    log, errors = (os.open(order[name], added, 0o644) for name in ("log", "errors"))
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in ((0, nothing), (1, log), (2, errors)):
        os.dup2(file, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    words: list[str] = order["words"]
    sys.argv = ["productrecs", *words]
    if order["broken"]:
        _load_from(order["broken"])
    return words


def _load_from(path: str) -> None:
    spec = importlib.util.spec_from_file_location("broken", path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _load() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the service does, and why
    for name in _LOADED:
        importlib.import_module(name)
    # Without this, each fork spends 0.8 s of processor time on a collection at its end.
    gc.collect()
    gc.freeze()


def _end(status: int) -> None:
    """End as `sys.exit` does, but leave memory to the system.

    To free each object would copy most pages that the fork shares with the nursery.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - waits for threads
    atexit._run_exitfuncs()  # noqa: SLF001 - what the interpreter calls next
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


if __name__ == "__main__":
    _load()
    chosen = _become(_raise_children())
    from productrecs.cli.main import run_command

    _end(run_command(chosen))
