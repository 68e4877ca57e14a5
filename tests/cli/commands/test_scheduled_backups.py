"""Scheduled backups: made each night, rotated, rehearsed, and free of erased shoppers."""

import logging
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from productrecs.core.clock import HOUR_MS, fixed_clock
from productrecs.features.privacy.shopper_erasure import LEDGER_FILE
from productrecs.services import build_services
from productrecs.settings import from_environment
from productrecs.storage.files.object_store import ObjectStore
from productrecs.storage.jobs.job_queue import job_totals_by_kind
from productrecs.tenancy.accounts.store_management import Registration, register_store
from productrecs.worker.scheduled_backups import (
    BACKUP_JOB,
    backup_names,
    backup_schedule,
    build_backup_worker,
    check_backup_place,
    newest_backup_ms,
)
from tests.cli.conftest import BOTH, CommandLine
from tests.support.migrated import bring
from tests.support.stores import new_store

ORDERS = "order_id,item_id,quantity,price,user_id,timestamp\n1,tent,1,99,ada,2026-11-01\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return the folder of the backups, which does not exist yet."""
    return tmp_path / "place"


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_place_that_takes_no_files_is_an_error_in_the_log_at_start(
    place: Path, caplog: pytest.LogCaptureFixture, *, is_folder: bool
) -> None:
    if not is_folder:
        place.write_text("a file")

    check_backup_place(ObjectStore(f"file://{place}"))

    errors = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert [one.msg for one in errors] == ["backup place unusable"] * (not is_folder)
    assert all(str(place) in vars(one)["error"] for one in errors)
    assert not is_folder or list(place.iterdir()) == []


def test_without_a_place_the_command_says_how_to_name_one(shell: CommandLine) -> None:
    assert "set PRODUCTRECS_BACKUP" in shell.refused("backup")
    assert "set PRODUCTRECS_BACKUP" in shell.refused("backup", "verify")


@BOTH
def test_the_newest_backups_stay_and_the_newest_is_verified(
    shell: CommandLine, shop: str, place: Path
) -> None:
    environment = {"PRODUCTRECS_BACKUP": str(place), "PRODUCTRECS_BACKUP_KEEP": "2"}
    archives = place / "backups"
    first = archives / shell.json("backup", **environment)["file"]
    older = [f"productrecs-2026-01-0{day}T020000Z.tar.gz" for day in (1, 2)]
    for name in older:
        shutil.copy(first, archives / name)
    first.unlink()
    (archives / "notes.txt").write_text("not a backup")

    last = shell.json("backup", "create", **environment)["file"]

    kept = {one.name for one in archives.iterdir()}
    assert kept == {older[1], last, "notes.txt"}
    said = shell.json("backup", "verify", "--restore", **environment)
    assert (said["file"], said["restored"], said["rows"]["stores"]) == (last, True, 1)
    assert shell.json("backup", "verify", last, **environment)["restored"] is False
    assert shop in shell("store", "list")


@pytest.mark.parametrize("command", [("verify",), ("verify", "--restore")])
def test_a_damaged_backup_is_found(
    shell: CommandLine, place: Path, command: tuple[str, ...]
) -> None:
    environment = {"PRODUCTRECS_BACKUP": str(place)}
    name = shell.json("backup", **environment)["file"]
    archive = place / "backups" / name
    content = bytearray(archive.read_bytes())
    content[-20] ^= 0xFF
    archive.write_bytes(content)

    said = shell.refused("backup", *command, **environment)

    assert "damaged" in said
    other = shell.refused("backup", "verify", "productrecs.tar", **environment)
    assert f"the newest is {name}" in other


@BOTH
def test_a_shopper_erased_after_the_backup_does_not_return_elsewhere(
    shell: CommandLine,
    shop: str,
    place: Path,
    tmp_path: Path,
    write: Callable[[str, str | bytes], str],
) -> None:
    environment = {"PRODUCTRECS_BACKUP": str(place)}
    shell("import-orders", shop, write("orders.csv", ORDERS))
    name = shell.json("backup", **environment)["file"]
    shell("shopper", "erase", shop, "--user", "ada", **environment)
    there = tmp_path / "there"
    command = ("restore", str(place / "backups" / name), "--data", str(there))
    elsewhere: dict[str, str | None] = {"DATABASE_URL": None, "PRODUCTRECS_DATA": None}

    shown = CommandLine(elsewhere).json(*command)
    rehearsed = shell.json("backup", "verify", "--restore", **environment)

    assert shown["names_erased_again"] == 1
    assert rehearsed["names_erased_again"] == 1
    exported = CommandLine({**elsewhere, "PRODUCTRECS_DATA": str(there)})(
        "shopper", "export", shop, "--user", "ada"
    )
    assert "tent" not in exported


def test_a_machine_adds_to_the_list_of_erasures_of_others(
    shell: CommandLine, shop: str, place: Path, write: Callable[[str, str | bytes], str]
) -> None:
    environment = {"PRODUCTRECS_BACKUP": str(place)}
    of_others = '{"store_id": "st_other", "name": "digest", "erased_at": 1}'
    (place / "erased").mkdir(parents=True)
    (place / "erased" / LEDGER_FILE).write_text(f"{of_others}\n")
    shell("import-orders", shop, write("orders.csv", ORDERS))
    shell("shopper", "erase", shop, "--user", "ada", **environment)

    shell("backup", **environment)
    shell("backup", **environment)

    lines = (place / "erased" / LEDGER_FILE).read_text().splitlines()
    assert of_others in lines
    assert len(lines) == len(set(lines)) == 2


def test_a_place_that_is_no_address_stops_the_program_at_its_start(
    shell: CommandLine,
) -> None:
    said = shell.refused("store", "list", PRODUCTRECS_BACKUP="ftp://backups")

    assert "PRODUCTRECS_BACKUP is 'ftp://backups'; write s3://bucket/prefix" in said


def test_another_installations_backups_are_never_rotated_away(
    shell: CommandLine, place: Path, tmp_path: Path
) -> None:
    environment = {"PRODUCTRECS_BACKUP": str(place), "PRODUCTRECS_BACKUP_KEEP": "1"}
    name = shell.json("backup", **environment)["file"]
    bring(tmp_path / "other")
    other = CommandLine({"PRODUCTRECS_DATA": str(tmp_path / "other")})

    said = other.refused("backup", **environment)

    assert "belongs to another installation" in said
    assert (place / "backups" / name).exists()


@pytest.mark.parametrize(
    ("created", "hour", "intervals"),  # the hours between backups that are due at an hour
    [
        (None, 26, []),
        (3, 3, [1]),
        (3, 26, [1]),
        (3, 27, [12, 12]),  # at night, and for a missed night
        (3, 35, [12]),
    ],
)
def test_backups_begin_with_the_first_store_and_are_hourly_for_a_day(
    tmp_path: Path, created: int | None, hour: int, intervals: list[int]
) -> None:
    bring(tmp_path / "data")
    settings = from_environment({}, tmp_path / "data")
    services = build_services(replace(settings, now_ms=hour * HOUR_MS))
    services = replace(services, system_clock=services.clock)
    if created is not None:
        for number in range(2):
            registration = Registration(f"{number}.example")
            at_ms = (created + 9 * number) * HOUR_MS
            register_store(services.database, registration, fixed_clock(at_ms))

    due = [task.every for task in backup_schedule(services) if task.stores()]
    services.close()

    assert due == [timedelta(hours=number) for number in intervals]


def test_the_doctor_misses_no_backup_before_the_first_store(
    shell: CommandLine, place: Path
) -> None:
    environment = {"PRODUCTRECS_BACKUP": str(place)}

    before = shell.run("doctor", **environment).output
    shell("store", "create", "--domain", "shop.example")
    after = shell.run("doctor", **environment).output

    assert "the first one is made when there is a store" in before
    assert "there is no backup in" in after


@pytest.mark.parametrize("object_address", ["folder", "moto"], indirect=True)
def test_the_worker_stores_the_first_backup_at_once_and_says_when(
    tmp_path: Path, object_address: str
) -> None:
    bring(tmp_path / "data")
    environment = {"PRODUCTRECS_BACKUP": object_address}
    services = build_services(from_environment(environment, tmp_path / "data"))
    new_store(services.database)
    worker = build_backup_worker(services)
    working = threading.Thread(target=worker.run)
    place = services.backups
    assert place is not None
    working.start()
    try:
        for _ in range(600):
            with services.database.reading() as connection:
                totals = {one.kind: one for one in job_totals_by_kind(connection)}
            if BACKUP_JOB in totals:
                break
            working.join(0.1)
    finally:
        worker.stop()
        working.join()
    newest = newest_backup_ms(place)
    names = backup_names(place)
    services.close()

    assert len(names) == 1
    assert totals[BACKUP_JOB].done == 1
    assert newest is not None
    assert totals[BACKUP_JOB].done_at is not None
    assert 0 <= totals[BACKUP_JOB].done_at - newest < 60_000
