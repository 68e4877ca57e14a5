"""Commands find the installation, change nothing unasked, and run as its owner."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from alembic.command import upgrade
from alembic.config import Config

from productrecs.cli.last_service_run import write_service_run
from productrecs.cli.settings_and_folder_owner import (
    UnusableInstallationError,
    load_settings,
)
from productrecs.processes.supervisor import ProcessState
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations.schema_upgrade import KNOWN
from tests.support.nursery import nursery

NOBODY = 65_534
RUNNING = ProcessState("api 1", os.getpid(), is_ready=True, is_silent=False, recent_ends=0)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its user")

# Loaded by the real program first: the place of its settings, its folder and its user.
START = """
import os, pathlib
import sqlalchemy.dialects.sqlite
import productrecs.cli.commands.embed_tags
from productrecs.cli import settings_and_folder_owner
settings_and_folder_owner.ENVIRONMENT_FILE = pathlib.Path(os.environ["TEST_FILE"])
os.chdir(os.environ["TEST_FOLDER"])
if "TEST_USER" in os.environ:
    os.setgroups([])
    os.setgid(int(os.environ["TEST_USER"]))
    os.setuid(int(os.environ["TEST_USER"]))
"""


@dataclass(frozen=True)
class CommandResult:
    """How a command ended."""

    status: int
    output: str
    errors: str


@dataclass(frozen=True)
class InstalledMachine:
    """A machine with one folder, in which an operator calls the program."""

    folder: Path

    @property
    def file(self) -> Path:
        """The settings of the service."""
        return self.folder / "productrecs.env"

    def run(self, *words: str, **environment: str) -> CommandResult:
        """Run one command of the real program."""
        start = self.folder / "start"
        start.mkdir(exist_ok=True)
        (start / "sitecustomize.py").write_text(START)
        given = {
            **{k: v for k, v in os.environ.items() if not k.startswith("PRODUCTRECS_")},
            "TEST_FILE": str(self.file),
            "TEST_FOLDER": str(self.folder),
            **environment,
        }
        with tempfile.TemporaryDirectory() as folder:
            output, errors = Path(folder) / "output", Path(folder) / "errors"
            status = nursery().start(words, given, output, errors, start).wait(120)
            return CommandResult(status, output.read_text(), errors.read_text())


@pytest.fixture
def machine() -> Iterator[InstalledMachine]:
    """Give a machine whose folder every user may enter."""
    with tempfile.TemporaryDirectory(prefix="operator-") as folder:
        Path(folder).chmod(0o755)
        yield InstalledMachine(Path(folder))


def content(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return mode, owner and bytes of everything in a folder, but SQLite's lock table."""
    return {
        str(path): (
            path.stat().st_mode,
            path.stat().st_uid,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in (folder, *sorted(folder.rglob("*")))
        if not path.name.endswith("-shm")
    }


@pytest.fixture(scope="module")
def older() -> Iterator[Path]:
    """Give a data folder of the release before, to copy."""
    with tempfile.TemporaryDirectory(prefix="older-") as folder:
        database = Database.open(None, Path(folder))
        with database.transaction() as transaction:
            config = Config()
            config.set_main_option("script_location", "productrecs.storage.sql:migrations")
            config.attributes["connection"] = transaction
            upgrade(config, KNOWN[-2])
        database.overwrite_deleted()
        database.close()
        yield Path(folder)


@pytest.mark.parametrize(
    "command",
    [
        "doctor",
        "store list",
        "store create --domain new.example",
        "settings shop.example rec_num=12",
        "train shop.example",
        "report shop.example health",
    ],
)
def test_a_command_of_a_newer_program_changes_nothing_and_asks_for_a_migration(
    machine: InstalledMachine, older: Path, command: str
) -> None:
    data = shutil.copytree(older, machine.folder / "data")
    data.chmod(0o755)
    (data / "productrecs.db").chmod(0o644)
    before = content(data)

    ended = machine.run(*command.split())

    said = ended.output + ended.errors
    assert "run `productrecs migrate` after a backup" in said
    assert (ended.status, content(data)) == (1, before)


def test_migrate_is_what_such_a_command_asks_for(
    machine: InstalledMachine, older: Path
) -> None:
    shutil.copytree(older, machine.folder / "data")

    assert machine.run("migrate", "--check").status == 1
    assert f"Migrated to schema {KNOWN[-1]}" in machine.run("migrate").output
    assert machine.run("store", "list").status == 0


@pytest.mark.parametrize("command", ["store list", "doctor", "migrate --check", "plans"])
def test_reading_commands_create_nothing(machine: InstalledMachine, command: str) -> None:
    ended = machine.run(*command.split())

    assert not (machine.folder / "data").exists()
    if command != "plans":
        assert ended.status == 1
        assert f"there is no database in {machine.folder}/data" in (
            ended.output + ended.errors
        )


def test_the_first_store_creates_the_installation_and_says_where(
    machine: InstalledMachine,
) -> None:
    first = machine.run("store", "create", "--domain", "a.example", "--json")
    second = machine.run("store", "create", "--domain", "b.example", "--json")

    place = (machine.folder / "data").resolve()
    assert first.errors == f"Creating a new installation in {place}.\n"
    assert (first.status, second.status, second.errors) == (0, 0, "")
    assert "b.example" in machine.run("store", "list").output


@pytest.mark.parametrize(
    "command",
    [
        "store create --domain a.example",
        "store list",
        "doctor",
        "migrate",
        "restore data/service.json",
        "demo --port 0",
    ],
)
def test_a_folder_whose_service_uses_postgresql_gets_no_second_installation(
    machine: InstalledMachine, command: str
) -> None:
    data = machine.folder / "data"
    data.mkdir(mode=0o700)
    write_service_run(data, "http://127.0.0.1:8305", [RUNNING])

    ended = machine.run(*command.split())

    assert ended.status == 1
    assert "set DATABASE_URL as it does" in ended.output + ended.errors
    assert [path.name for path in data.iterdir()] == ["service.json"]


def test_links_lead_to_the_running_service(machine: InstalledMachine) -> None:
    def create(name: str, **environment: str) -> str:
        words = ("--domain", f"{name}.example", "--email", f"{name}@example.com")
        return machine.run("store", "create", *words, **environment).output

    assert "http://localhost:8000/dashboard" in create("a")
    write_service_run(machine.folder / "data", "http://127.0.0.1:8305", [RUNNING])

    assert "http://127.0.0.1:8305/dashboard" in create("b")
    assert "http://127.0.0.1:8305/" in machine.run("embed", "a.example").output
    configured = create("c", PRODUCTRECS_BASE_URL="https://recs.example")
    assert "https://recs.example/dashboard" in configured


def test_commands_find_the_installation_of_the_service(machine: InstalledMachine) -> None:
    elsewhere = machine.folder / "var lib"
    machine.run("store", "create", "--domain", "a.example", "--data", str(elsewhere))
    machine.file.write_text(
        f'# the service\nPRODUCTRECS_DATA="{elsewhere}"\nPRODUCTRECS_PORT=8123\n'
    )

    listed = machine.run("store", "list")
    settings = machine.run("settings")
    here = machine.run("store", "create", "--domain", "b.example", "--data", "data")

    assert "a.example" in listed.output
    assert "PRODUCTRECS_PORT=8123" in settings.output
    assert f"Creating a new installation in {machine.folder}/data." in here.errors
    assert "b.example" not in machine.run("store", "list").output


def test_a_settings_file_without_a_data_folder_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "productrecs.env"
    file.write_text("PRODUCTRECS_PORT=8123\n")

    with pytest.raises(
        UnusableInstallationError, match="names no data folder; add the line"
    ):
        load_settings(None, {}, file)
    assert load_settings(Path("x"), {}, file).port == 8000
    assert load_settings(None, {"DATABASE_URL": "postgresql://x"}, file).port == 8000


@needs_root
def test_root_works_as_the_owner_of_the_data(machine: InstalledMachine) -> None:
    data = machine.folder / "data"
    machine.run("store", "create", "--domain", "a.example")
    for path in (data, *data.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    for name in ("-wal", "-shm"):
        (data / f"productrecs.db{name}").unlink()

    ended = machine.run("store", "create", "--domain", "b.example")
    archived = machine.run("embed", "b.example", "--pinned")

    assert (ended.status, archived.status) == (0, 0), ended.errors + archived.errors
    assert (data / "builds").is_dir()
    assert {path.stat().st_uid for path in data.rglob("*")} == {NOBODY}


@needs_root
def test_another_user_is_refused_with_the_command_to_run(machine: InstalledMachine) -> None:
    machine.run("store", "create", "--domain", "a.example")

    (ended, service) = (
        machine.run(command, *words, TEST_USER=str(NOBODY))
        for command, *words in (("store", "list"), ("worker",))
    )

    for refused in (ended, service):
        assert refused.status == 1
        assert "belongs to root: run the command with sudo -u root" in refused.errors


@needs_root
def test_doctor_finds_files_of_another_owner(machine: InstalledMachine) -> None:
    data = machine.folder / "data"
    machine.run("store", "create", "--domain", "a.example")
    (data / "models").mkdir()
    os.chown(data / "models", NOBODY, NOBODY)

    ended = machine.run("doctor")

    assert ended.status == 1
    assert "wrong  disk: a file in the data folder of root belongs" in ended.output
    assert f"models to nobody -> sudo chown -R root: {data}" in ended.output


UNREACHABLE = {
    "no server": ("127.0.0.1:1/recs", "127.0.0.1 port 1: ", "Connection refused"),
    "no such host": ("nowhere.invalid/recs", "nowhere.invalid port 5432: ", "resolve host"),
    "an unreadable address": ("h/x?port=%zz", "DATABASE_URL cannot be read", "%"),
}


@pytest.mark.parametrize("case", UNREACHABLE)
def test_a_database_failure_names_the_server_and_its_reason(
    machine: InstalledMachine, case: str
) -> None:
    place, named, reason = UNREACHABLE[case]
    check_failure(machine, f"postgresql://anna:sesame@{place}", named, reason)


@pytest.mark.postgres
def test_a_database_that_the_server_lacks_is_named_with_the_servers_words(
    machine: InstalledMachine, postgres_url: str
) -> None:
    parts = urlsplit(postgres_url)
    host = parts.netloc.rpartition("@")[2]
    user = parts.username or "postgres"
    url = f"postgresql://{user}:sesame@{host}/no_such_database?{parts.query}"

    check_failure(machine, url, "port", 'database "no_such_database" does not exist')


def check_failure(machine: InstalledMachine, url: str, named: str, reason: str) -> None:
    """Doctor, commands and the log of the service say why, and never the password."""
    data = machine.folder / "data"
    data.mkdir(exist_ok=True)
    for command in ("doctor", "store list"):
        ended = machine.run(*command.split(), "--data", str(data), DATABASE_URL=url)
        said = ended.output + ended.errors
        assert ended.status == 1
        assert named in said
        assert reason in said
        assert "sesame" not in said
        assert "restore" not in said
