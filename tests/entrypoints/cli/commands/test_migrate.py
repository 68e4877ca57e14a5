"""`productrecs migrate --check` and `productrecs openapi`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import sqlalchemy as sa

from productrecs.storage.migrations import KNOWN
from tests.support.environment import EXAMPLE, example

if TYPE_CHECKING:
    from pathlib import Path

    from productrecs.entrypoints.services import Services
    from tests.entrypoints.cli.conftest import CommandLine


def test_a_database_that_is_behind_is_told_and_left_alone(
    shell: CommandLine, shop: str, services: Services
) -> None:
    """The one migration before the last is put in its place: it then seems to be behind."""
    assert shop
    assert shell.told("migrate", "--check")["current"]
    with services.database.transaction() as transaction:
        transaction.execute(
            sa.text("UPDATE alembic_version SET version_num = :old"), {"old": KNOWN[-2]}
        )

    told = shell.run("migrate", "--check", "--json")
    again = shell.run("migrate", "--check", "--json")

    assert (told.exit_code, again.exit_code) == (1, 1)
    assert not json.loads(again.stdout)["current"]


def test_a_present_database_needs_nothing(shell: CommandLine, shop: str) -> None:
    assert shop
    assert shell.told("migrate") == {
        "schema": KNOWN[-1],
        "current": True,
        "migrated": False,
    }


def test_the_description_is_that_of_the_service(shell: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "openapi.json"

    shell("openapi", "--base-url", "https://recs.example.com/", "--out", str(out))

    described = json.loads(out.read_text())
    assert described["servers"][0]["url"] == "https://recs.example.com"
    assert "/v1/recommendations" in described["paths"]
    assert described["info"]["version"] == "3.0.0"


def test_the_example_of_an_environment_names_every_setting() -> None:
    assert EXAMPLE.read_text("utf-8") == example()
