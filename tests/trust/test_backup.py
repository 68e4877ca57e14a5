"""Backup of a busy service: everything acknowledged before it began, once."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from productrecs.core.clock import fixed_clock
from productrecs.core.errors import StorageError
from productrecs.core.timestamps import iso
from productrecs.storage.backup.restore_backup import RestoreTarget, restore_backup
from productrecs.storage.sql.tables import events
from tests.storage.backup.test_restore_backup import backed_up, silently
from tests.support.service import Merchant, Service, eventually
from tests.support.uploads import ended, upload
from tests.trust.history import History, Outcome, Verdict
from tests.trust.load import ITEMS, Crowd, receipts, stored

NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC
AT_LEAST = 300  # events and orders between two backups


@pytest.fixture
def service(data_folder: Path, database_url: str | None) -> Iterator[Service]:
    """Give a running service, on each database."""
    with Service(data_folder, database_url).prepare() as service:
        yield service


@pytest.fixture
def sqlite_service(data_folder: Path) -> Iterator[Service]:
    """Give a running service on SQLite."""
    with Service(data_folder).prepare() as service:
        yield service


@pytest.fixture
def merchant(service: Service) -> Merchant:
    """Return a store with products."""
    merchant = service.register()
    merchant.push(*({"id": f"item-{n}", "price": n} for n in range(ITEMS)))
    return merchant


def allowed_later(before: History, after: History) -> History:
    """Return `before`, and what was sent since as what may be there or not."""
    combined = History(dict(before.operations))
    for key, sent in after.operations.items():
        if key not in combined.operations:
            combined.operations[key] = replace(sent, outcome=Outcome.INFO)
    return combined


def judged(history: History, folder: Path, store_id: str) -> Verdict:
    """Compare what a restored folder holds with what was acknowledged."""
    copy = Service(folder)
    with copy.database() as database:
        rows = stored(database, store_id)
        has_receipt = receipts(database, store_id)
    assert has_receipt == {key for key in rows if key.startswith("o-")}
    return history.judge(rows)


def take(merchant: Merchant, crowd: Crowd, copy: Callable[[], Path]) -> Verdict:
    """Copy the data while the crowd shops; return how what is in it compares."""
    with crowd.busy():
        enough = crowd.count + AT_LEAST
        eventually(lambda: crowd.count >= enough, 60)
        before = crowd.history
        folder = copy()
    history = allowed_later(before, crowd.history)
    return judged(history, folder, merchant.account.store_id)


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(1, id="one"),
        # A hundred in all, in parts that can run alone.
        *(
            pytest.param(10, marks=pytest.mark.trust, id=f"part-{part}")
            for part in range(1, 11)
        ),
    ],
)
def test_backups_of_a_busy_service_lack_nothing_and_hold_no_half_order(
    service: Service, merchant: Merchant, tmp_path: Path, times: int
) -> None:
    crowd = Crowd(service, merchant, size=6, seed=5)

    for number in range(times):
        folder = tmp_path / f"restored-{number}"

        def copy(folder: Path = folder, number: int = number) -> Path:
            file = str(tmp_path / f"backup-{number}.tar")
            service.run("backup", file)
            Service(folder).run("restore", file)
            return folder

        verdict = take(merchant, crowd, copy)
        assert verdict.is_clean, f"backup {number}: {verdict}"
        shutil.rmtree(folder)

    assert len(crowd.history.having(Outcome.OK)) >= AT_LEAST * times // 2


def test_control_a_copy_of_the_busy_file_is_not_whole(
    sqlite_service: Service, tmp_path: Path
) -> None:
    merchant = sqlite_service.register()
    crowd = Crowd(sqlite_service, merchant, size=6, seed=6)
    folder = tmp_path / "copy"

    def copy() -> Path:
        folder.mkdir()
        shutil.copy(sqlite_service.folder / "productrecs.db", folder)
        return folder

    try:
        verdict = take(merchant, crowd, copy)
    except (StorageError, AssertionError):  # it cannot even be read, or an order is torn
        return

    assert verdict.lost


def recommended(merchant: Merchant) -> list[list[str]]:
    queries = [{"item_id": f"item-{n}", "num": 20} for n in range(0, ITEMS, 5)]
    return [merchant.recommend(**query).ids for query in queries] + [
        merchant.trending().ids
    ]


def test_a_restored_service_goes_on_where_the_backup_was(
    data_folder: Path, database_url: str | None, tmp_path: Path
) -> None:
    # What is older weighs less: at one moment, so that both learn the same.
    first = Service(data_folder, database_url, command="api", now=iso(NOON)).prepare()
    with first:  # without a worker: what is uploaded waits
        merchant = first.register()
        merchant.push(*({"id": f"item-{n}", "price": n} for n in range(ITEMS)))
        for n in range(60):
            merchant.order(f"o-{n}", *(f"item-{(n * k) % ITEMS}" for k in (1, 2, 3)))
        first.train(merchant, fixed_clock(NOON))
        eventually(lambda: len(set(map(str, recommended(merchant)))) > 5)
        before = recommended(merchant)
        handed_in = upload(merchant, "order_id,item_id\nold,not-in-the-catalog\n")
        first.run("backup", str(tmp_path / "backup.tar.gz"))

    second = Service(tmp_path / "other", now=iso(NOON))
    second.run("restore", str(tmp_path / "backup.tar.gz"))
    with second:
        merchant = merchant.through(second.client())
        eventually(lambda: recommended(merchant) == before, 30, pause=0.2)
        assert merchant.order("o-1", "item-1").json["duplicate"]
        assert ended(merchant, handed_in.json["upload_id"])["lines_imported"] == 1


def grow(service: Service, merchant: Merchant, size: int) -> int:
    """Repeat a store's events until its database has `size` bytes; return how many."""
    store_id = merchant.account.store_id
    mine = events.c.store_id == store_id
    with service.database() as database:
        while (service.folder / "productrecs.db").stat().st_size < size:
            with database.transaction() as transaction:
                last = transaction.execute(
                    sa.select(sa.func.max(events.c.seq)).where(mine)
                ).scalar_one()
                copied = [
                    events.c.seq + last if column is events.c.seq else column
                    for column in events.columns
                ]
                transaction.execute(
                    events.insert().from_select(
                        list(events.columns), sa.select(*copied).where(mine)
                    )
                )
        database.overwrite_deleted()  # the file itself holds all there is, and not its log
    return number_of_events(service)


def number_of_events(service: Service) -> int:
    with service.database() as database, database.reading() as connection:
        count = sa.select(sa.func.count()).select_from(events)
        return int(connection.execute(count).scalar_one())


@pytest.mark.trust
@pytest.mark.parametrize("gigabytes", [1, 10])
def test_ten_gigabytes_are_restored_within_ten_minutes(
    data_folder: Path, tmp_path: Path, gigabytes: int
) -> None:
    service, target = Service(data_folder).prepare(), tmp_path / "backup.tar"
    merchant = service.register()
    with service:
        for n in range(40):
            view = {"event": "detail-page-view", "session_id": f"s_{n}"}
            merchant.track(
                *(view | {"item_id": f"item-{n * k % ITEMS}"} for k in range(50))
            )
        service.stop()
    before = grow(service, merchant, gigabytes << 30)
    with service.database() as database:
        size = backed_up(database, target).stat().st_size
    shutil.rmtree(data_folder)
    restored = tmp_path / "restored"
    restored.mkdir()

    began = time.monotonic()
    restore_backup(target, RestoreTarget(restored, None), silently)
    seconds = time.monotonic() - began

    print(f"{before} events, {size >> 20} MiB, restored in {seconds:.0f} s")  # noqa: T201 - the figures
    assert number_of_events(Service(restored)) == before
    assert seconds <= 60 * gigabytes
