"""Feed jobs: a feed is fetched when it is due, and goes live, waits or changes nothing."""

import contextlib
import gzip
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from productrecs.core.clock import DAY_MS, HOUR_MS
from productrecs.features.imports.dashboard_file_import import DashboardFileImporter
from productrecs.features.imports.scheduled_feeds.repository import (
    ScheduledFeedRepository,
    stores_with_due_feed,
)
from productrecs.features.imports.scheduled_feeds.scheduled_feed import (
    FETCH_JOB,
    ScheduledFeed,
    ScheduledFeedFetch,
    ScheduledFetchOutcome,
)
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.uploads import upload_folder
from productrecs.records.uploads.file_import import (
    IMPORT_JOB,
    FileImport,
    ImportOptions,
    ImportStatus,
)
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.services import Services, build_services
from productrecs.settings import Settings, SmtpServer
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.mail_subscriptions.repository import (
    MailSubscriptionRepository,
    MailTopic,
)
from productrecs.tenancy.users.repository import UserRepository
from productrecs.worker.file_import_jobs import (
    build_file_check_worker,
    build_file_import_worker,
)
from productrecs.worker.scheduled_feed_jobs import ALARM_FAILURES, build_feed_worker
from tests.support.dashboard import add_store
from tests.support.feeds import HOST, Answer, FeedHost
from tests.support.service import Service
from tests.support.smtp import MailServer

HEADER = "id,title,price\n"
ROWS = [f"p{number},Product {number},{number}\n" for number in range(1, 6)]
FIVE = HEADER + "".join(ROWS)
XML = """<rss xmlns:g="http://base.google.com/ns/1.0"><channel>
<item><g:id>a</g:id><title>Tent</title><g:price>12.50 EUR</g:price></item>
</channel></rss>"""
BOMB = """<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<rss><channel><item><id>&b;</id></item></channel></rss>"""


@dataclass
class Installation:
    """Workers that do what is due at each call, a mail server, and the host of the feed."""

    services: Services
    host: FeedHost
    mails: MailServer
    store: Store
    now_ms: int = 1_795_900_000_000

    def schedule(self, url: str, **changes: Any) -> None:
        """Enter a feed, due at once."""
        feed = ScheduledFeed(url, "", 60, is_complete=True, next_ms=self.now_ms)
        with self.services.database.transaction() as transaction:
            repository = ScheduledFeedRepository(transaction, self.store.store_id)
            repository.save(replace(feed, **changes))

    def fetch(self) -> ScheduledFeedFetch:
        """Fetch at the next hour, check and import; return the fetch."""
        self.now_ms += HOUR_MS
        with self.services.database.transaction() as transaction:
            self.services.queue.enqueue(transaction, NewJob(self.store.store_id, FETCH_JOB))
        self.work()
        return self.log()[0]

    def work(self) -> None:
        """Let all workers do what is enqueued."""
        files = DashboardFileImporter(self.services.imports)
        for worker in (
            build_feed_worker(self.services),
            build_file_check_worker(self.services, files),
            build_file_import_worker(self.services, files),
        ):
            while worker.run_next_job():
                pass

    def log(self) -> list[ScheduledFeedFetch]:
        """Return the log, newest first."""
        with self.services.database.reading() as connection:
            repository = ScheduledFeedRepository(connection, self.store.store_id)
            return repository.newest_fetches(100)

    def feed(self) -> ScheduledFeed:
        """Return the feed as it is stored."""
        with self.services.database.reading() as connection:
            found = ScheduledFeedRepository(connection, self.store.store_id).find()
        assert found is not None
        return found

    def last_import(self) -> FileImport:
        """Return the newest import."""
        with self.services.database.reading() as connection:
            imports = FileImportRepository(connection, self.store.store_id)
            found = imports.find(imports.latest(1)[0].import_id)
        assert found is not None
        return found

    def prices(self) -> dict[str, float | None]:
        """Return the prices of what shoppers see."""
        with self.services.database.reading() as connection:
            page = CatalogRepository(connection, self.store.store_id).page(-1, 1_000)
        return {
            one.item.item_id: one.item.price
            for one in page
            if one.item.availability != "discontinued"
        }

    def left_files(self) -> list[str]:
        """Return the files in the upload folder."""
        return [
            path.name
            for path in self.services.uploads.iterdir()
            if upload_folder.is_upload_id(path.name)
        ]


@contextlib.contextmanager
def installation(
    folder: Path, url: str | None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Installation]:
    """Give an installation with one store whose owner reads mails of the feed."""
    readers: list[RawReader] = []
    open_reader = Database.raw_reader

    def recorded(database: Database) -> RawReader:
        readers.append(open_reader(database))
        return readers[-1]

    monkeypatch.setattr(Database, "raw_reader", recorded)  # workers never close theirs
    Service(folder, url).prepare()
    with FeedHost() as host, MailServer() as mails:
        settings = Settings(
            data=folder,
            database_url=url,
            feed_hosts=frozenset({HOST}),
            base_url="https://recs.example",
            smtp=SmtpServer(HOST, mails.port, "none", "recs@example.com"),
        )
        services = build_services(settings)
        store = add_store(services, "shop.example")
        found = Installation(services, host, mails, store)
        found.services = replace(
            services, clock=lambda: found.now_ms, system_clock=lambda: found.now_ms
        )
        with services.database.transaction() as transaction:
            users = UserRepository(transaction, store.store_id)
            subscriptions = MailSubscriptionRepository(transaction, store.store_id)
            subscriptions.set_subscription(
                users.all()[0].user_id, MailTopic.SCHEDULED_FEED, is_on=True
            )
        yield found
        for reader in readers:
            reader.close()
        services.close()


@pytest.fixture
def shop(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """Give an installation on SQLite, where the database makes no difference."""
    with installation(data_folder, None, monkeypatch) as found:
        yield found


@pytest.fixture
def any_shop(
    data_folder: Path, database_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Installation]:
    """Give an installation on each database."""
    with installation(data_folder, database_url, monkeypatch) as found:
        yield found


def test_a_feed_goes_live_and_is_fetched_again_only_when_it_changed(
    any_shop: Installation,
) -> None:
    any_shop.schedule(any_shop.host.put(FIVE, ETag='"1"'))

    assert any_shop.fetch().outcome is ScheduledFetchOutcome.RECEIVED
    assert any_shop.prices() == {f"p{number}": number for number in range(1, 6)}
    assert any_shop.last_import().status is ImportStatus.DONE
    assert any_shop.fetch().outcome is ScheduledFetchOutcome.UNCHANGED  # by its ETag
    any_shop.host.put(FIVE, ETag='"2"')
    assert any_shop.fetch().outcome is ScheduledFetchOutcome.UNCHANGED  # by its content
    any_shop.host.put(FIVE.replace("Product 1,1", "Product 1,7"), ETag='"3"')
    assert any_shop.fetch().outcome is ScheduledFetchOutcome.RECEIVED

    assert any_shop.prices()["p1"] == 7
    assert any_shop.last_import().result["counts"] == {
        "rows": 5,
        "inserted": 0,
        "removed": 0,
        "overwritten": 1,
        "unchanged": 4,
        "folded": 0,
        "repeated": 0,
        "left_out": 0,
        "skipped": 0,
    }
    assert any_shop.left_files() == []
    assert any_shop.mails.mails == []


def test_a_feed_is_read_as_the_merchant_chose_for_a_file_with_its_headings(
    shop: Installation,
) -> None:
    table = "Nr;Was;Wert\n1;Tent;12,50\n"
    shop.schedule(shop.host.put(table, "/a.csv"))
    shop.fetch()
    waiting = shop.last_import()
    assert "Product id" in waiting.result["problem"]
    mapping = {"id": "Nr", "title": "Was", "price": "Wert"}
    choices = ImportOptions("items", "columns", mapping)
    with shop.services.database.transaction() as transaction:
        imports = FileImportRepository(transaction, shop.store.store_id)
        queued = ImportStatus.QUEUED
        imports.change_status(
            waiting.import_id, (ImportStatus.CHECKED,), queued, choices=choices
        )
        shop.services.queue.enqueue(transaction, NewJob(shop.store.store_id, IMPORT_JOB))
    shop.work()

    assert shop.prices() == {"1": 12.5}
    shop.host.put(table + "2;Rope;14\n", "/a.csv")
    shop.fetch()

    assert shop.prices() == {"1": 12.5, "2": 14}


def test_a_feed_is_due_at_its_interval(shop: Installation) -> None:
    shop.schedule(shop.host.put(FIVE), every_minutes=1440)
    database = shop.services.database
    assert shop.fetch().outcome is ScheduledFetchOutcome.RECEIVED

    for hours, is_due in ((23, False), (24, True)):
        moment = shop.now_ms + hours * HOUR_MS
        assert (shop.store.store_id in stores_with_due_feed(database, moment)) is is_due
    shop.fetch()  # an hour later it is not due yet, although there is a job
    assert len(shop.log()) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("feed.xml", XML),
        ("feed.xml.gz", gzip.compress(XML.encode())),
        ("feed", "id\ttitle\tprice\tlink\na\tTent\t12.50 EUR\thttps://shop.example/a\n"),
        ("feed.csv", "id,title,price\na,Tent,12.50\n"),
        ("feed?type=json", '{"id": "a", "title": "Tent", "price": 12.5}\n'),
        ("feed", '[{"id": "a", "title": "Tent", "price": 12.5}]'),
        ("feed.csv", "Handle,Title,Variant Price\na,Tent,12.50\n"),
        ("feed.csv", "ID,Type,SKU,Name,Published,Regular price\na,simple,a,Tent,1,12.50\n"),
        ("feed.csv", "id;title;price\na;Tent;12,50\n".encode("utf-16")),
    ],
)
def test_the_format_is_recognised(
    shop: Installation, name: str, content: str | bytes
) -> None:
    shop.schedule(shop.host.put(content, f"/{name}"))

    shop.fetch()

    assert shop.prices() == {"a": 12.5}, shop.last_import()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(Answer(b""), "empty", id="empty"),
        pytest.param(Answer(b" \n"), "empty", id="blank"),
        pytest.param(Answer(HEADER.encode()), "no rows", id="no rows"),
        pytest.param(Answer(b"<rss><channel></channel></rss>"), "no <item>", id="no item"),
        pytest.param(Answer(XML[:-30].encode()), "not well-formed", id="cut off XML"),
        pytest.param(
            Answer(gzip.compress(FIVE.encode())[:-9]),
            "not a complete gzip",
            id="cut off gzip",
        ),
        pytest.param(Answer(FIVE.encode()[:40], length=99), "whole file", id="cut off"),
        pytest.param(Answer(BOMB.encode()), "declares entities", id="entity bomb"),
        pytest.param(Answer(b"<html><body>Log in"), "web page", id="web page"),
        pytest.param(Answer(b"\x00\xff\xfe\x80" * 99), "", id="binary"),
        pytest.param(Answer(b"id,title\n,A\n,B\n"), "No row of", id="no valid row"),
        pytest.param(Answer(status=503), "answered 503", id="outage"),
    ],
)
def test_a_broken_feed_changes_nothing_and_says_why(
    shop: Installation, answer: Answer, words: str
) -> None:
    shop.schedule(shop.host.put(FIVE))
    shop.fetch()
    before = shop.prices()
    shop.host.answers["/feed.csv"] = answer

    fetch = shop.fetch()

    assert shop.prices() == before
    result = shop.last_import().result
    problem = fetch.problem or str(result.get("problem") or result.get("brake"))
    assert words in problem
    assert problem != "None"


def test_a_packed_bomb_is_given_up(
    shop: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = "productrecs.features.imports.dashboard_file_import.MAX_UPLOAD_BYTES"
    monkeypatch.setattr(limit, 8 << 20)
    member = gzip.compress(bytes(1 << 20))
    shop.schedule(shop.host.put(member * 10_000, "/feed.csv.gz"))  # 10 GB

    shop.fetch()

    assert "unpacks to more than 8 MiB" in str(shop.last_import().result["problem"])


def test_a_feed_that_would_remove_or_reprice_much_waits_for_a_yes(
    any_shop: Installation,
) -> None:
    any_shop.schedule(any_shop.host.put(FIVE))
    any_shop.fetch()
    any_shop.host.put(HEADER + "".join(ROWS[:2]))

    any_shop.fetch()

    held = any_shop.last_import()
    assert held.status is ImportStatus.CHECKED
    assert "remove 3 products and change the price of 0" in held.result["brake"]
    assert held.preview["diff"]["removed"]["count"] == 3
    assert len(any_shop.prices()) == 5
    [mail] = any_shop.mails.mails
    assert "your product feed waits" in mail["subject"]
    assert "remove 3 products" in mail.get_content()
    assert "https://recs.example/dashboard/imports/scheduled-feed" in mail.get_content()

    any_shop.host.put(FIVE.replace("Product 1,1", "Product 1,7"))
    any_shop.fetch()  # the shop has mended its feed: the one that waits is replaced

    assert any_shop.prices()["p1"] == 7
    with any_shop.services.database.reading() as connection:
        imports = FileImportRepository(connection, any_shop.store.store_id)
        assert imports.find(held.import_id) is None
    assert any_shop.left_files() == []


def test_the_team_hears_of_a_feed_that_keeps_failing_once(shop: Installation) -> None:
    shop.schedule(shop.host.url("/gone.csv"))

    for _ in range(ALARM_FAILURES + 2):
        assert shop.fetch().outcome is ScheduledFetchOutcome.FAILED

    [mail] = shop.mails.mails
    assert "your product feed fails" in mail["subject"]
    assert shop.feed().failures == ALARM_FAILURES + 2
    shop.host.put(FIVE, "/gone.csv")
    shop.fetch()
    assert shop.feed().failures == 0


def test_columns_that_a_merchant_has_chosen_are_used_again(shop: Installation) -> None:
    shop.schedule(shop.host.put("number,what\na,Tent\nb,Rope\nc,Mug\n"))
    shop.fetch()
    waiting = shop.last_import()
    assert waiting.status is ImportStatus.CHECKED
    choices = replace(
        waiting.choices, format="columns", mapping={"id": "number", "title": "what"}
    )
    with shop.services.database.transaction() as transaction:
        FileImportRepository(transaction, shop.store.store_id).change_status(
            waiting.import_id,
            (ImportStatus.CHECKED,),
            ImportStatus.CHECKING,
            choices=choices,
        )
        shop.services.queue.enqueue(transaction, NewJob(shop.store.store_id, "check-files"))
    shop.work()
    assert set(shop.prices()) == {"a", "b", "c"}

    shop.host.put("number,what\na,Tent\nb,Rope\nc,Mug\nd,Lamp\n")
    shop.fetch()

    assert set(shop.prices()) == {"a", "b", "c", "d"}


def test_a_feed_that_is_not_complete_removes_nothing(shop: Installation) -> None:
    shop.schedule(shop.host.put(FIVE), is_complete=False)
    shop.fetch()
    shop.host.put(HEADER + ROWS[0])

    shop.fetch()

    assert len(shop.prices()) == 5


def test_another_store_with_the_same_ids_is_not_touched(any_shop: Installation) -> None:
    mine, other = any_shop.store, add_store(any_shop.services, "other.example")
    any_shop.schedule(any_shop.host.put(FIVE))
    any_shop.fetch()
    any_shop.store = other
    any_shop.schedule(any_shop.host.put(HEADER + "p1,Stolen,99\n", "/other.csv"))

    any_shop.fetch()

    assert any_shop.prices() == {"p1": 99}
    any_shop.store = mine
    assert any_shop.prices() == {f"p{number}": number for number in range(1, 6)}
    assert len(any_shop.log()) == 1


def test_two_workers_record_one_fetch(any_shop: Installation) -> None:
    any_shop.schedule(any_shop.host.put(FIVE))
    feed = any_shop.feed()
    results = []

    def record() -> None:
        with any_shop.services.database.transaction() as transaction:
            repository = ScheduledFeedRepository(transaction, any_shop.store.store_id)
            after = replace(feed, next_ms=feed.next_ms + HOUR_MS)
            fetch = ScheduledFeedFetch(any_shop.now_ms, ScheduledFetchOutcome.UNCHANGED)
            results.append(repository.record_fetch_unless_changed(feed, after, fetch))

    threads = [threading.Thread(target=record) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(results) == [False, True]
    assert len(any_shop.log()) == 1


def test_the_log_has_the_fetches_of_30_days(shop: Installation) -> None:
    shop.schedule(shop.host.url("/none"))
    first = shop.fetch()
    shop.now_ms += 30 * DAY_MS

    shop.fetch()

    assert first not in shop.log()
    assert len(shop.log()) == 1
