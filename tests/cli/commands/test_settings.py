"""`productrecs settings` and `origins`: show and change."""

import pytest

from productrecs.settings import SETTING_DESCRIPTIONS
from productrecs.tenancy.accounts.store_settings import SETTINGS
from tests.cli.conftest import BOTH, CommandLine


def test_every_setting_is_listed_with_default_and_meaning(
    shell: CommandLine, shop: str
) -> None:
    settings = shell.json("settings", shop)

    assert list(settings) == [setting.name for setting in SETTINGS]
    assert settings["timezone"] == {
        "value": "Europe/Berlin",
        "default": "UTC",
        "meaning": "the time zone in which the store's days start and end",
    }
    text = shell("settings", shop)
    assert all(setting.name in text and setting.meaning in text for setting in SETTINGS)


@pytest.mark.parametrize(
    ("name", "value", "limits"),
    [
        ("PRODUCTRECS_PORT", "abc", "from 0 to 65535"),
        ("PRODUCTRECS_PORT", "65536", "from 0 to 65535"),
        ("PRODUCTRECS_PORT", "²", "from 0 to 65535"),
        ("PRODUCTRECS_WORKERS", "0", "from 1 to 64"),
        ("PRODUCTRECS_BACKUP_KEEP", "-3", "from 1"),
        ("PRODUCTRECS_BACKUP_KEEP", "0", "from 1"),
        ("PRODUCTRECS_CONNECTIONS", "many", "from 0"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "api", "worker"])
def test_an_impossible_number_is_refused_with_its_variable_and_limits(
    shell: CommandLine, command: str, name: str, value: str, limits: str
) -> None:
    refusal = shell.refused(command, **{name: value})

    assert refusal == f"Error: {name} is {value!r}; it must be a whole number {limits}"


@BOTH
def test_settings_are_changed_together(shell: CommandLine, shop: str) -> None:
    printed = shell("settings", shop, "rec_num=12", "hide_out_of_stock=off")
    assert [line.split()[0] for line in printed.splitlines()] == [
        "rec_num=12",
        "hide_out_of_stock=false",
    ]

    settings = shell.json("settings", shop)

    assert (settings["rec_num"]["value"], settings["hide_out_of_stock"]["value"]) == (
        12,
        False,
    )
    assert settings["timezone"]["value"] == "Europe/Berlin"
    assert "hide_out_of_stock=false" in shell("settings", shop)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("rec_num=21", "from 1 to 20"),
        ("rec_num=many", "from 1 to 20"),
        ("colour=red", "rec_num"),
        ("rec_num", "NAME=VALUE"),
        ("timezone=Nowhere", "Europe/Berlin"),
        ("trending_metric=clicks", "orders, units, revenue"),
    ],
)
def test_an_impossible_change_changes_nothing(
    shell: CommandLine, shop: str, change: str, reason: str
) -> None:
    before = shell.json("settings", shop)

    assert reason in shell.refused("settings", shop, "rec_num=3", change)

    assert shell.json("settings", shop) == before


def test_without_a_store_the_installations_knobs_are_shown(shell: CommandLine) -> None:
    settings = shell.json("settings", PRODUCTRECS_PORT="8123")

    assert list(settings) == [
        description.environment for description in SETTING_DESCRIPTIONS
    ]
    assert settings["PRODUCTRECS_PORT"]["value"] == "8123"
    assert settings["PRODUCTRECS_WORKERS"]["value"] == "1"


def test_the_address_of_a_database_is_not_shown(shell: CommandLine) -> None:
    address = "postgresql://me:hidden@db.example/shop"

    assert "hidden" not in shell("settings", DATABASE_URL=address)


@BOTH
def test_origins_are_added_and_removed(shell: CommandLine, shop: str) -> None:
    assert shell.json("origins", shop) == []

    both = ("--add", "https://Shop.example:443/", "--add", "http://b.example:8080")
    assert shell.json("origins", shop, *both) == [
        "http://b.example:8080",
        "https://shop.example",
    ]
    left = shell.json("origins", shop, "--remove", "http://b.example:8080")

    assert left == ["https://shop.example"] == shell.json("origins", shop)
    assert shell("origins", shop) == "https://shop.example\n"


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "*",
        "shop.example",
        "https://",
        "https://a.example/path",
        "https://u@a",
        "ftp://a",
    ],
)
def test_what_is_no_origin_is_refused(shell: CommandLine, shop: str, origin: str) -> None:
    assert "https://" in shell.refused("origins", shop, "--add", origin)

    assert shell.json("origins", shop) == []


def test_an_impossible_clock_is_refused(shell: CommandLine) -> None:
    refused = shell.refused("store", "list", PRODUCTRECS_NOW="soon")

    assert "2011-12-09T12:00:00Z" in refused


def test_a_folder_that_cannot_be_made_is_refused(shell: CommandLine) -> None:
    assert "--data" in shell.refused("store", "list", "--data", "/dev/null/shop")
