"""`productrecs migrate`, `compact` and `openapi`."""

import json
from contextlib import closing, nullcontext
from pathlib import Path

import apsw
import pytest
import sqlalchemy as sa

from productrecs.cli import open_services
from productrecs.core.errors import StorageBusyError
from productrecs.services import Services
from productrecs.settings import SETTING_DESCRIPTIONS, Settings
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations import schema_upgrade
from productrecs.storage.sql.migrations.schema_upgrade import KNOWN
from tests.cli.conftest import CommandLine
from tests.support.environment import EXAMPLE, OPERATIONS, example, with_table


def test_migrate_check_reports_a_database_that_is_behind_and_changes_nothing(
    shell: CommandLine, shop: str, services: Services
) -> None:
    """The one migration before the last is put in its place: it then seems to be behind."""
    assert shop
    assert shell.json("migrate", "--check")["current"]
    with services.database.transaction() as transaction:
        transaction.execute(
            sa.text("UPDATE alembic_version SET version_num = :old"), {"old": KNOWN[-2]}
        )

    first = shell.run("migrate", "--check", "--json")
    again = shell.run("migrate", "--check", "--json")

    assert (first.exit_code, again.exit_code) == (1, 1)
    assert not json.loads(again.stdout)["current"]


def test_a_present_database_needs_nothing(shell: CommandLine, shop: str) -> None:
    assert shop
    assert shell.json("migrate") == {
        "schema": KNOWN[-1],
        "current": True,
        "migrated": False,
    }


def test_purges_give_space_back_and_in_an_older_database_after_compact(
    shell: CommandLine, shop: str, services: Services
) -> None:
    assert shop
    database, file = services.database, services.settings.database_file

    def grow_and_shrink() -> int:
        with database.transaction() as transaction:
            transaction.execute(sa.text("CREATE TABLE filling AS SELECT zeroblob(9000000)"))
        with database.transaction() as transaction:
            transaction.execute(sa.text("DROP TABLE filling"))
        assert database.overwrite_deleted()
        return file.stat().st_size

    def is_given_back(full: int) -> bool:
        while database.release_free_pages():
            pass
        assert database.overwrite_deleted()
        return file.stat().st_size < full - 8_000_000

    assert is_given_back(grow_and_shrink())

    with closing(apsw.Connection(str(file))) as connection:  # as earlier releases made it
        connection.execute("PRAGMA auto_vacuum = NONE; VACUUM")
    full = grow_and_shrink()
    assert not is_given_back(full)
    freed = shell.json("compact")["freed_bytes"]
    assert freed == full - file.stat().st_size > 8_000_000

    assert is_given_back(grow_and_shrink())
    assert database.find_damage() is None


def test_the_description_is_that_of_the_service(shell: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "openapi.json"

    shell("openapi", "--base-url", "https://recs.example.com/", "--out", str(out))

    described = json.loads(out.read_text())
    assert described["servers"][0]["url"] == "https://recs.example.com"
    assert "/v1/recommendations" in described["paths"]
    assert described["info"]["version"] == "3.0.0"


def test_the_example_of_an_environment_names_every_setting() -> None:
    assert EXAMPLE.read_text("utf-8") == example()


def test_the_operators_page_lists_every_setting() -> None:
    page = OPERATIONS.read_text("utf-8")

    assert page == with_table(page)
    assert all(
        f"| `{description.environment}` |" in page for description in SETTING_DESCRIPTIONS
    )


@pytest.mark.parametrize(("wait_seconds", "is_opened"), [(60.0, True), (0.0, False)])
def test_a_process_of_the_service_waits_at_its_start_for_the_database(
    data_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    wait_seconds: float,
    is_opened: bool,  # noqa: FBT001 - a case
) -> None:
    missing = [StorageBusyError("the database cannot be reached; retry")] * 2
    answers = iter(missing)
    migrate = schema_upgrade.migrate

    def migrate_once_it_answers(database: Database) -> bool:
        for error in answers:
            raise error
        return migrate(database)

    monkeypatch.setattr(open_services, "migrate", migrate_once_it_answers)
    monkeypatch.setattr(open_services, "_RETRY_SECONDS", 0.0)
    waiting = nullcontext() if is_opened else pytest.raises(StorageBusyError)
    with (
        waiting,
        open_services.open_and_migrate_services(Settings(data=data_folder), wait_seconds),
    ):
        pass

    assert list(answers) == ([] if is_opened else missing[1:])
