"""Readiness: reports what users meet while the storage fails.

Lists go on without writes, so that a proxy keeps the service; a monitor, which asks
strictly, hears of it at once.
"""

import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from productrecs.cli.main import productrecs
from productrecs.core.errors import (
    DamagedDatabaseError,
    StorageFullError,
    UnconfirmedWriteError,
)
from productrecs.http.pipeline.readiness_checks import UNFIT_SECONDS
from productrecs.storage.sql import integrity_check
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.integrity_check import DamageReportFile, IntegrityChecker
from productrecs.storage.sql.storage_failures import FAILURE_MEMORY_SECONDS, StorageFailures
from tests.support.postgres import Cluster
from tests.support.service import Merchant, Service, eventually
from tests.trust.test_full_disk import RESUMES_WITHIN, fill
from tests.trust.test_outage import without_writes

SAID_WITHIN: Final = 20.0  # six seconds are promised; other tests run beside this one
UNREAD: Final = "uploads"
"""A table that nobody reads while no file is uploaded."""


SHORTER_UNFIT_SECONDS: Final = 8
IMPATIENT: Final = f"""
from productrecs.http.pipeline import readiness_checks
readiness_checks.UNFIT_SECONDS = {SHORTER_UNFIT_SECONDS}
"""


HISTORY: Final = "ix_events_store_id_person_seq_kind_item_ts_session"
"""The index that a known shopper's lists read, and nobody else."""


@dataclass
class LoggedElsewhere(Service):
    """A service whose log is not on the disk that fails."""

    @property
    def log_path(self) -> Path:
        """Where everything that it writes goes."""
        return self.folder.parent.parent / "service.log"


def checks(service: Service, *, strict: bool = False) -> tuple[int, dict[str, str]]:
    """Return the status of readiness, and what each check says."""
    query = "?strict=true" if strict else ""
    reply = service.client().ask("GET", f"/health/ready{query}")
    return reply.status, reply.json["checks"]


def check_said(service: Service, name: str, words: str) -> None:
    """Readiness names the check in both forms; only the strict one turns requests away."""
    eventually(lambda: checks(service, strict=True)[0] == 503, SAID_WITHIN)
    status, named = checks(service)
    assert (status, words in named[name]) == (200, True), named
    assert checks(service, strict=True)[1][name] == named[name]
    others = {check: said for check, said in named.items() if check != name}
    assert set(others.values()) == {"ok"}


def write_both(merchant: Merchant) -> set[int]:
    """Return how an event and a push were answered."""
    event = {"event": "detail-page-view", "item_id": "a", "session_id": "s_1"}
    return {merchant.track(event).status, merchant.push({"id": "c"}).status}


@pytest.mark.parametrize("asks", [True, False], ids=["writes fail", "nobody writes"])
def test_a_full_disk_is_said_and_so_is_its_end(disk: Path, *, asks: bool) -> None:
    with LoggedElsewhere(disk / "data", command="api").prepare() as service:
        merchant = service.register()
        assert merchant.push({"id": "a"}, {"id": "b"}).status == 200
        assert checks(service, strict=True)[0] == 200
        filler = fill(disk)
        if asks:
            eventually(lambda: write_both(merchant) == {503}, SAID_WITHIN)
            assert "disk is full" in checks(service)[1]["writes"]  # at once
        check_said(service, "writes", "full")
        assert set(merchant.trending().ids) == {"a", "b"}

        filler.unlink()

        eventually(lambda: checks(service, strict=True)[0] == 200, RESUMES_WITHIN)
        log = service.log_path.read_text("utf-8")
        assert '"writes failing"' in log
        eventually(lambda: '"writes recovered"' in service.log_path.read_text("utf-8"))


@pytest.mark.postgres
def test_a_full_data_folder_is_said_beside_postgresql(
    disk: Path, migrated_url: str
) -> None:
    folder = LoggedElsewhere(disk / "data", migrated_url, command="api").prepare()
    with folder as service:
        fill(disk)

        check_said(service, "writes", "disk of the data folder is full")


@pytest.mark.parametrize("ends", ["killed", "stopped"])
def test_who_starts_on_a_read_only_disk_serves_lists_and_searches_and_says_so(
    disk: Path, ends: str
) -> None:
    with LoggedElsewhere(disk / "data").prepare() as service:
        merchant = service.register()
        merchant.push({"id": "a", "title": "red tent"}, {"id": "b", "title": "blue boat"})
        eventually(lambda: merchant.search("tent").ids == ["a"], SAID_WITHIN)
        processes = service.processes()
        if ends == "stopped":
            service.stop()
        service.kill()
        eventually(lambda: not any(Path(f"/proc/{one}").exists() for one in processes))
        _mount(disk, "remount,ro")

        service.start()

        assert set(merchant.trending().ids) == {"a", "b"}
        assert merchant.search("tent").ids == ["a"]
        assert write_both(merchant) == {503}
        check_said(service, "writes", "read-only")
        service.kill()


def test_a_database_without_its_log_on_a_read_only_disk_names_the_remedy(
    disk: Path,
) -> None:
    folder = disk / "data"
    Service(folder).prepare()
    for ending in ("-wal", "-shm"):  # releases before this one removed both
        (folder / f"productrecs.db{ending}").unlink(missing_ok=True)
    _mount(disk, "remount,ro")

    ended = CliRunner().invoke(productrecs, ["doctor", "--data", str(folder)])

    assert ended.exit_code == 1
    assert "writable and start the service once" in " ".join(ended.output.split())


def _mount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", options, str(disk)], check=True)  # noqa: S607 - root's


@pytest.mark.postgres
def test_a_read_only_postgresql_is_said_and_so_is_its_end(
    data_folder: Path, postgres_cluster: Cluster, migrated_url: str
) -> None:
    with Service(data_folder, migrated_url).prepare() as service:
        merchant = service.register()
        merchant.push({"id": "a"}, {"id": "b"})
        assert len(merchant.trending().ids) == 2
        with without_writes(postgres_cluster, migrated_url):
            eventually(lambda: write_both(merchant) == {503}, SAID_WITHIN)
            check_said(service, "writes", "read-only")
            assert set(merchant.trending().ids) == {"a", "b"}
        eventually(lambda: checks(service, strict=True)[0] == 200, RESUMES_WITHIN)


def spoil(folder: Path, table: str) -> None:
    """Write over the first page of a table, as a dying disk does."""
    database = Database.open(None, folder)
    database.overwrite_deleted()  # the file itself holds all there is, and not its log
    with database.reading() as connection:
        size = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
        row = sa.text("SELECT rootpage FROM sqlite_master WHERE name = :name")
        page = connection.execute(row, {"name": table}).scalar_one()
    database.close()
    with (folder / "productrecs.db").open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(range(1, 256)) * (size // 255))


def test_a_damaged_page_is_reported_though_no_query_reads_it(data_folder: Path) -> None:
    with Service(data_folder).prepare() as service:
        merchant = service.register()
        merchant.push({"id": "a"}, {"id": "b"})
        assert len(merchant.trending().ids) == 2
        service.stop()
        spoil(data_folder, UNREAD)

        service.start()

        assert set(merchant.trending().ids) == {"a", "b"}
        check_said(service, "database", "productrecs doctor")
        log = service.log_path.read_text("utf-8")
        assert '"level": "critical"' in log
        assert "restore a backup" in log
        service.stop()

    ended = CliRunner().invoke(productrecs, ["doctor", "--data", str(data_folder)])
    assert ended.exit_code == 1
    assert "restore a backup" in ended.output


@pytest.mark.parametrize(("damaged", "status"), [(HISTORY, 200), ("items", 503)])
def test_a_read_of_damage_is_said_at_once_while_other_reads_go_well(
    data_folder: Path, damaged: str, status: int
) -> None:
    with Service(data_folder, command="api").prepare() as service:  # no worker checks here
        merchant = service.register()
        merchant.push({"id": "a"}, {"id": "b"})
        service.stop()
        spoil(data_folder, damaged)
        service.start()

        reply = merchant.recommend(user_id="s_1")

        assert reply.status == status  # without the history, the list is a general one
        check_said(service, "database", "productrecs doctor")
        assert merchant.recommend(user_id="s_1").status == status


def test_a_write_to_damage_is_refused_and_said(data_folder: Path) -> None:
    with Service(data_folder).prepare() as service:  # another process writes
        merchant = service.register()
        merchant.push({"id": "a"})
        service.stop()
        spoil(data_folder, "events")
        service.start()

        assert (
            merchant.track(
                {"event": "detail-page-view", "item_id": "a", "session_id": "s_1"}
            ).status
            == 503
        )


def test_damage_is_noted_until_a_check_finds_none(
    sqlite_database: Database, data_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    note, watch = (
        DamageReportFile(data_folder),
        IntegrityChecker(sqlite_database, data_folder),
    )
    sqlite_database.overwrite_deleted()
    watch.check_and_report()
    assert note.read() is None
    whole = shutil.copy(data_folder / "productrecs.db", data_folder / "whole")
    spoil(data_folder, UNREAD)

    watch.check_and_report()
    watch.check_and_report()

    assert "is damaged" in str(note.read())
    said = [one for one in caplog.records if one.name == integrity_check.__name__]
    assert len(said) == 1  # an hour passes before it is said again
    sqlite_database.close()
    shutil.copy(whole, data_folder / "productrecs.db")
    IntegrityChecker(Database.open(None, data_folder), data_folder).check_and_report()
    assert note.read() is None


def test_what_cannot_be_read_is_remembered_for_minutes() -> None:
    now = [1_000.0]
    failures = StorageFailures(lambda: now[0])
    failures.record_read_failure(DamagedDatabaseError("a page"))
    now[0] += FAILURE_MEMORY_SECONDS
    assert failures.failed_read is not None
    now[0] += 1
    assert failures.failed_read is None


def test_an_unconfirmed_write_is_remembered_until_another_is_confirmed() -> None:
    now = [1_000.0]
    failures = StorageFailures(lambda: now[0])
    failures.record_write_failure(UnconfirmedWriteError("nobody answers"))
    failures.record_write_success(
        failures.write_failures
    )  # this process's probe goes another way
    assert "nobody answers" in str(failures.failed_write)
    failures.record_confirmed_write()
    assert failures.failed_write is None

    failures.record_write_failure(UnconfirmedWriteError("nobody answers"))
    now[0] += FAILURE_MEMORY_SECONDS + 1
    assert failures.failed_write is None  # nobody writes any more


def test_a_write_that_fails_while_another_is_tried_is_not_forgotten() -> None:
    failures = StorageFailures()
    before = failures.write_failures
    failures.record_write_failure(StorageFullError("full"))
    failures.record_write_success(before)
    assert failures.failed_write is not None
    failures.record_write_success(failures.write_failures)
    assert failures.failed_write is None


def test_both_databases_say_that_they_are_damaged(
    database: Database, data_folder: Path
) -> None:
    if database.dialect.name == "sqlite":
        spoil(data_folder, UNREAD)
    raising = "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = 'XX001'; END $$"
    if database.dialect.name == "sqlite":
        raising = "SELECT * FROM uploads"
    with pytest.raises(DamagedDatabaseError), database.reading() as connection:
        connection.exec_driver_sql(raising)
    assert isinstance(database.failures.failed_read, DamagedDatabaseError)


def test_writes_that_fail_for_half_a_minute_make_it_unready(tmp_path: Path) -> None:
    assert UNFIT_SECONDS == 30
    start = tmp_path / "start"
    start.mkdir()
    (start / "sitecustomize.py").write_text(IMPATIENT)
    service = Service(tmp_path / "data", broken=start).prepare()
    with service, service.database() as other:
        eventually(lambda: checks(service)[0] == 200, SAID_WITHIN)
        began = time.monotonic()
        with other.transaction():  # nobody else can write
            eventually(lambda: checks(service)[1]["writes"] != "ok", 20)
            assert checks(service)[0] == 200
            eventually(lambda: checks(service)[0] == 503, 60)
            assert time.monotonic() - began > SHORTER_UNFIT_SECONDS

        eventually(lambda: checks(service)[0] == 200, 20)
