"""`productrecs synonyms` and `search-rules`: results and error messages."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from productrecs.cli.main import productrecs
from productrecs.cli.open_services import open_services_as_owner
from productrecs.features.search.relevance.configuration_changes import AUDITED_ACTIONS
from productrecs.storage.sql.audit_log import AuditLogRepository
from productrecs.tenancy.accounts.store_management import find_store

DOMAIN = "shop.example"


def run(folder: Path, *words: str, fails: bool = False) -> str:
    result = CliRunner().invoke(productrecs, [*words, "--data", str(folder)])
    assert (result.exit_code != 0) is fails, result.output
    return result.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run(tmp_path, "store", "create", "--domain", DOMAIN)
    return tmp_path


def test_synonyms_are_added_listed_and_removed(folder: Path) -> None:
    assert "No synonyms yet" in run(folder, "synonyms", "list", DOMAIN)

    added = run(folder, "synonyms", "add", DOMAIN, "sofa", "couch")
    one_way = run(folder, "synonyms", "add", DOMAIN, "tv", "oled", "--one-way", "--json")

    assert added == "Added 1: sofa = couch\n"
    assert json.loads(one_way) == {"id": 2, "texts": ["tv", "oled"], "one_way": True}
    assert "tv -> oled" in run(folder, "synonyms", "list", DOMAIN)
    run(folder, "synonyms", "remove", DOMAIN, "1")
    left = json.loads(run(folder, "synonyms", "list", DOMAIN, "--json"))
    assert [one["id"] for one in left] == [2]
    assert "no" in run(folder, "synonyms", "remove", DOMAIN, "1", fails=True)


def test_rules_are_added_listed_and_removed(folder: Path) -> None:
    add = ("search-rules", "add", DOMAIN)
    assert "No search rules yet" in run(folder, "search-rules", "list", DOMAIN)

    pinned = run(folder, *add, "pin", "tent", "--item", "a", "--until", "2030-01-01")
    run(folder, *add, "redirect", "returns", "--to", "/returns")

    assert pinned == "Added 1: pin for 'tent': a ( to 2030-01-01)\n"
    listed = json.loads(run(folder, "search-rules", "list", DOMAIN, "--json"))
    assert [(one["action"], one["address"]) for one in listed] == [
        ("pin", None),
        ("redirect", "/returns"),
    ]
    run(folder, "search-rules", "remove", DOMAIN, "2")
    assert "returns" not in run(folder, "search-rules", "list", DOMAIN)
    assert "needs" in run(folder, *add, "pin", "tent", fails=True)


def test_changes_on_the_command_line_are_lines_of_the_audit_log(folder: Path) -> None:
    run(folder, "synonyms", "add", DOMAIN, "sofa", "couch", "settee")
    run(folder, "synonyms", "remove", DOMAIN, "1")
    run(folder, "synonyms", "remove", DOMAIN, "7", fails=True)
    pin = ("search-rules", "add", DOMAIN, "pin", "tent", "--item", "a", "--json")
    added = json.loads(run(folder, *pin))
    run(folder, "search-rules", "remove", DOMAIN, str(added["id"]))
    run(folder, "settings", DOMAIN, "search_meaning=false", "rec_num=9")
    run(folder, "settings", DOMAIN, "rec_num=many", fails=True)
    run(folder, "rules", "add", DOMAIN, "exclude", "--item", "a")
    run(folder, "rules", "disable", DOMAIN, "1")
    run(folder, "rules", "remove", DOMAIN, "1")

    with open_services_as_owner(folder) as services:
        store = find_store(services.database, DOMAIN)
        with services.database.reading() as connection:
            entries = AuditLogRepository(connection, store.store_id).page(50)

    assert {entry.actor for entry in entries} == {"command line"}
    assert [(entry.action, entry.detail) for entry in reversed(entries)] == [
        ("Saved a synonym or search rule", "sofa = couch, settee"),
        ("Removed a synonym or search rule", "sofa = couch, settee"),
        ("Saved a synonym or search rule", "pin for 'tent': a"),
        ("Removed a synonym or search rule", "pin for 'tent': a"),
        ("Changed the store's settings", "search_meaning=false, rec_num=9"),
        ("Saved a rule", "exclude a"),
        ("Switched a rule on or off", "Rule 1: off"),
        ("Removed a rule", "Rule 1"),
    ]
    named = {action for actions in AUDITED_ACTIONS.values() for action in actions}
    assert {entry.action for entry in entries} <= named
