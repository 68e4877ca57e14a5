"""`productrecs feed`: the address of a store's products, and the file that waits."""

import json

import pytest

from productrecs.core.clock import HOUR_MS
from productrecs.features.imports.dashboard_file_import import DashboardFileImporter
from productrecs.features.imports.scheduled_feeds.feed_download import FeedDownloader
from productrecs.features.imports.scheduled_feeds.repository import ScheduledFeedRepository
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.services import Services
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.worker.file_import_jobs import (
    build_file_check_worker,
    build_file_import_worker,
)
from productrecs.worker.scheduled_feed_jobs import build_feed_worker
from tests.cli.conftest import CommandLine
from tests.support.feeds import HOST, FeedHost

URL = "https://shop.example/feed.xml"
FEED = "id,title,price\na,Tent,90\nb,Rope,4\n"


def work(services: Services) -> None:
    """Let the workers fetch, check and import."""
    files = DashboardFileImporter(services.imports)
    for worker in (
        build_feed_worker(services, FeedDownloader({HOST})),
        build_file_check_worker(services, files),
        build_file_import_worker(services, files),
    ):
        while worker.run_next_job():
            pass


def prices(services: Services) -> dict[str, float | None]:
    """Return the prices of the catalog."""
    store = find_store(services.database, "shop.example")
    with services.database.reading() as connection:
        page = CatalogRepository(connection, store.store_id).page(-1, 100)
    return {one.item.item_id: one.item.price for one in page}


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_a_feed_is_set_fetched_held_applied_and_removed(
    shell: CommandLine, shop: str, services: Services
) -> None:
    with FeedHost() as host:
        words = ("feed", "set", shop, host.put(FEED), "--every", "60", "--complete")
        assert f"FEED_HOSTS={HOST}" in shell.refused(*words)
        shell(*words, PRODUCTRECS_FEED_HOSTS=HOST)
        work(services)
        assert prices(services) == {"a": 90, "b": 4}
        shown = shell.json("feed", "show", shop)
        assert (shown["every_minutes"], shown["is_complete"]) == (60, True)
        assert (shown["last_import"], shown["waiting"]) == ("done", None)
        assert shell.refused("feed", "apply", shop).endswith("waits for a yes")

        host.put(FEED.replace("90", "9"))
        shell("feed", "fetch", shop)
        work(services)
        shown = shell.json("feed", "show", shop)
        assert "change the price of 1, of 2" in shown["waiting"]["reason"]
        assert shown["waiting"]["diff"]["price"]["count"] == 1
        assert "waiting: It would remove" in shell("feed", "show", shop)
        assert "not imported: It would remove" in shell.run("doctor").stdout
        shell("feed", "discard", shop)
        assert prices(services)["a"] == 90

        shell("feed", "fetch", shop)
        work(services)
        shell("feed", "apply", shop)
        work(services)
        assert prices(services)["a"] == 9

        host.answers.clear()
        shell("feed", "fetch", shop)
        work(services)
        assert "cannot be fetched: the host answered 404" in shell.run("doctor").stdout
        shell("feed", "remove", shop)
        assert "no scheduled feed" in shell.refused("feed", "show", shop)
        assert "no scheduled feed" in shell.refused("feed", "fetch", shop)
        assert prices(services)["a"] == 9


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_the_hour_of_a_feed_is_kept_until_another_is_set(
    shell: CommandLine, shop: str
) -> None:
    def hour_after(*options: str) -> object:
        shell("feed", "set", shop, URL, *options)
        return json.loads(shell("feed", "show", shop, "--json"))["hour"]

    assert hour_after() is None
    assert hour_after("--hour", "6") == 6
    assert hour_after("--complete") == 6
    assert hour_after("--hour", "0") == 0
    assert hour_after("--hour", "any") is None


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_a_secret_header_is_read_from_standard_input_and_not_shown(
    shell: CommandLine, shop: str, services: Services
) -> None:
    shell("feed", "set", shop, URL, "--header", "-", stdin="X-Key: s3cret\n")

    shown = shell("feed", "show", shop, "--json")
    assert '"has_header": true' in shown
    assert "s3cret" not in shown
    store = find_store(services.database, shop)
    with services.database.reading() as connection:
        feed = ScheduledFeedRepository(connection, store.store_id).find()
    assert feed is not None
    assert services.cipher.decrypt(feed.header) == "X-Key: s3cret"
    assert feed.next_ms <= services.system_clock() + HOUR_MS
    refusal = shell.refused("feed", "set", shop, "http://u:p@shop.example/feed.xml")
    assert "must begin with https://" in refusal
