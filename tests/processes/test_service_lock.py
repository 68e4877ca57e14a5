"""One service at a time on a data folder with SQLite; replicas may share one."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from productrecs.cli.last_service_run import (
    read_last_service_run,
    record_end_of_service,
    write_service_run,
)
from productrecs.cli.processes import service_lock
from productrecs.cli.processes.service_lock import lock_data_folder
from productrecs.cli.settings_and_folder_owner import UnusableInstallationError
from productrecs.processes.supervisor import ProcessState
from productrecs.settings import Settings
from tests.support.service import Service, ServiceError

FIRST, SECOND = "http://127.0.0.1:8000", "http://127.0.0.1:8001"


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_lock, "RETRY_SECONDS", 0.0)


def test_a_second_service_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    named = re.escape(f"{tmp_path}/data (process {os.getpid()}, {FIRST})")

    with lock_data_folder(settings, FIRST):
        for _ in range(2):
            with (
                pytest.raises(UnusableInstallationError, match=named),
                lock_data_folder(settings, SECOND),
            ):
                pass

    with lock_data_folder(settings, SECOND):
        assert (tmp_path / "data").stat().st_mode & 0o077 == 0


def test_a_killed_service_holds_no_lock(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys, time\n"
        "from productrecs.cli.processes.service_lock import lock_data_folder\n"
        "from productrecs.settings import Settings\n"
        "with lock_data_folder(Settings(data=pathlib.Path(sys.argv[1])), 'x'):\n"
        "    print('locked', flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with (
            pytest.raises(UnusableInstallationError),
            lock_data_folder(Settings(tmp_path), SECOND),
        ):
            pass
        holder.send_signal(signal.SIGKILL)

    with lock_data_folder(Settings(tmp_path), SECOND):
        pass


@pytest.mark.parametrize("case", ["replicas beside PostgreSQL", "no folder"])
def test_a_folder_may_be_without_a_lock(tmp_path: Path, case: str) -> None:
    (tmp_path / "file").touch()
    settings = {
        "replicas beside PostgreSQL": Settings(tmp_path, "postgresql://x"),
        "no folder": Settings(tmp_path / "file" / "data"),
    }[case]

    with lock_data_folder(settings, FIRST), lock_data_folder(settings, SECOND):
        assert not (tmp_path / "service.lock").exists()


def test_the_end_of_a_replica_leaves_the_record_of_another(tmp_path: Path) -> None:
    pid = os.getpid()
    running = ProcessState("api 1", pid, is_ready=True, is_silent=False, recent_ends=0)
    write_service_run(tmp_path, FIRST, [running])
    record = tmp_path / "service.json"
    of_another = record.read_text().replace(f'"supervisor":{pid}', '"supervisor":1')
    record.write_text(of_another)

    record_end_of_service(tmp_path, SECOND)

    assert record.read_text() == of_another
    write_service_run(tmp_path, FIRST, [running])
    record_end_of_service(tmp_path, FIRST)
    last = read_last_service_run(tmp_path)
    assert last is not None
    assert last.processes == ()


@pytest.mark.parametrize("command", ["serve", "api", "demo"])
def test_the_commands_that_listen_lock_the_folder(tmp_path: Path, command: str) -> None:
    with lock_data_folder(Settings(tmp_path), FIRST):
        second = Service(tmp_path, command=command)
        with pytest.raises(ServiceError, match="a service runs already on the data folder"):
            second.start()


def names_of_open_files(pid: int) -> set[str]:
    """Return the names of a process's open files; it may close some meanwhile."""
    names = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            names.add(descriptor.readlink().name)
    return names


def test_only_the_supervisor_holds_the_lock(tmp_path: Path) -> None:
    with Service(tmp_path / "data").prepare() as service:
        holders = [
            name
            for pid, name in service.processes().items()
            if "service.lock" in names_of_open_files(pid)
        ]

    assert len(holders) == 1
