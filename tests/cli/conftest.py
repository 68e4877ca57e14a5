"""Fixtures of the command line tests: commands run in this process, on a fresh database."""

import json
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from productrecs.cli.commands import backup_and_restore
from productrecs.cli.main import productrecs
from productrecs.cli.open_services import open_services_as_owner
from productrecs.services import Services
from tests.support.demo import demo_folder
from tests.support.migrated import bring

__all__ = ["demo_folder"]


@pytest.fixture(autouse=True)
def _priority_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no command lower the priority of this process, in which later tests run."""
    monkeypatch.setattr(os, "nice", lambda _by: 0)
    monkeypatch.setattr(backup_and_restore, "use_idle_io_priority", lambda: None)


@pytest.fixture(autouse=True)
def _log_handlers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no command keep its standard error as the log of later tests."""
    monkeypatch.setattr(logging.root, "handlers", [*logging.root.handlers])
    for logger in (logging.root, logging.getLogger("productrecs")):
        monkeypatch.setattr(logger, "level", logger.level)


@dataclass(frozen=True)
class CommandLine:
    """Runs `productrecs ...`."""

    environment: dict[str, str | None]

    def run(self, *words: str, stdin: str | bytes | None = None, **more: str) -> Result:
        """Return how a command ended, whatever came of it."""
        environment = {**self.environment, **more}
        return CliRunner().invoke(productrecs, words, input=stdin, env=environment)

    def __call__(self, *words: str, stdin: str | bytes | None = None, **more: str) -> str:
        """Return what a command printed; it must succeed."""
        result = self.run(*words, stdin=stdin, **more)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *words: str, stdin: str | bytes | None = None, **more: str) -> Any:
        """Return what a command printed as JSON."""
        return json.loads(self(*words, "--json", stdin=stdin, **more))

    def json_with_skipped_rows(
        self, *words: str, stdin: str | bytes | None = None, **more: str
    ) -> Any:
        """Return what an import printed as JSON that left rows out, and says so."""
        result = self.run(*words, "--json", stdin=stdin, **more)
        assert result.exit_code == 1, result.output
        assert "skipped; correct the rows above" in result.stderr.splitlines()[-1]
        return json.loads(result.stdout)

    def refused(self, *words: str, stdin: str | bytes | None = None, **more: str) -> str:
        """Return the one line that a command failed with."""
        result = self.run(*words, stdin=stdin, **more)
        assert result.exit_code == 1, result.output
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
        return result.stderr.strip()


BOTH = pytest.mark.parametrize(
    "database_kind",
    ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)],
    indirect=True,
)
"""Runs a test of the command line on PostgreSQL too, where it asks the database much."""


@pytest.fixture
def database_kind(request: pytest.FixtureRequest) -> str:
    """Return `sqlite`, unless a test is marked `BOTH`."""
    return getattr(request, "param", "sqlite")


def _command_line(folder: Path, url: str | None) -> CommandLine:
    return CommandLine({"PRODUCTRECS_DATA": str(folder), "DATABASE_URL": url})


@pytest.fixture
def shell(database_url: str | None, data_folder: Path) -> CommandLine:
    """Return a command line on an empty database."""
    bring(data_folder, database_url)
    return _command_line(data_folder, database_url)


@pytest.fixture
def services(
    database_url: str | None, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Services]:
    """Give the services that `shell` works with, to look at what it did."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    if database_url is not None:
        monkeypatch.setenv("DATABASE_URL", database_url)
    bring(data_folder, database_url)
    with open_services_as_owner(data_folder) as found:
        yield found


@pytest.fixture
def shop(shell: CommandLine) -> str:
    """Return the domain of a store, which is on a trial."""
    created = ("store", "create", "--domain", "shop.example", "--plan", "trial")
    shell(*created, "--timezone", "Europe/Berlin")
    return "shop.example"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], str]:
    """Return a function that writes a file and returns its path."""

    def write_file(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write_file
