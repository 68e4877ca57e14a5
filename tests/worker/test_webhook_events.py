"""Webhook events: each fact becomes one message, also after a kill; old facts do not."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from productrecs.core.clock import DAY_MS, system_ms
from productrecs.core.timestamps import iso
from productrecs.features.experiments.repository import (
    DailyExperimentResult,
    ExperimentResultRepository,
)
from productrecs.features.webhooks.repository import WebhookRepository
from productrecs.features.webhooks.webhook import (
    WebhookEndpoint,
    WebhookEndpointState,
    WebhookEvent,
    new_secret,
)
from productrecs.records.search_counts.repository import SearchCount, SearchCountRepository
from productrecs.records.uploads.file_import import ImportStatus, NewFileImport
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.upload_folder import new_upload_id
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.tenancy.accounts.key_misuse.repository import (
    KeyMisuse,
    KeyMisuseRepository,
    MisuseKind,
)
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.tenancy.billing.metered_calls.repository import add_calls
from productrecs.tenancy.billing.plans_and_subscriptions import parse_plans
from productrecs.worker import webhook_events
from productrecs.worker.webhook_events import write_webhook_messages
from tests.support.dashboard import add_store
from tests.support.migrated import bring
from tests.worker.test_alert_mails import forecast, stock

NOW_MS = 1_795_995_180_000  # a Sunday, 29 November 2026, 23:33 UTC


class Scanner:
    """A service at a time of the test's, a store with an endpoint, and one without."""

    def __init__(self, services: Services) -> None:
        self.now = [NOW_MS]
        self.services = replace(services, clock=lambda: self.now[0])
        self.store = add_store(self.services, "a.example", demand_forecast="true")
        self.other = add_store(self.services, "b.example", demand_forecast="true")
        self._read = 0

    def add_endpoint(self) -> None:
        """Add an address, from whose time on facts count."""
        endpoint = WebhookEndpoint(
            "e",
            "https://hooks.example/",
            new_secret(),
            WebhookEndpointState.ON,
            self.now[0],
        )
        with self.services.database.transaction() as transaction:
            WebhookRepository(transaction, self.store.store_id).add_endpoint(endpoint)

    def scan(self) -> list[tuple[str, dict[str, Any]]]:
        """Run the sources of both stores; return the new messages of the first."""
        for store in (self.store, self.other):
            fresh = find_store(self.services.database, store.domain)
            write_webhook_messages(self.services, fresh)
        with self.services.database.reading() as connection:
            found = WebhookRepository(connection, self.store.store_id).newest_messages(
                "e", 100
            )
            assert (
                WebhookRepository(connection, self.other.store_id).source_positions() == {}
            )
        new = [one for one in reversed(found) if one.number > self._read]
        self._read = max([self._read, *(one.number for one in new)])
        return [(one.event.value, json.loads(one.body)["data"]) for one in new]


@pytest.fixture
def scanner(tmp_path: Path, database_url: str | None) -> Iterator[Scanner]:
    plans = parse_plans("[small]\nmonthly_calls = 1000\ncatalog_items = 100\n")
    bring(tmp_path, database_url)
    services = build_services(Settings(tmp_path, database_url, plans=plans))
    with contextlib.closing(services):
        yield Scanner(services)


def import_file(scanner: Scanner, store: Store, status: ImportStatus) -> str:
    new = NewFileImport(new_upload_id(), "a.csv", 1, "a@a.example", scanner.now[0])
    with scanner.services.database.transaction() as transaction:
        imports = FileImportRepository(transaction, store.store_id)
        imports.add(new)
        imports.change_status(
            new.import_id,
            [ImportStatus.CHECKING],
            status,
            result={"counts": {"rows": 7}},
            ended_at=scanner.now[0],
        )
    return new.import_id


def test_without_an_address_nothing_is_written(scanner: Scanner) -> None:
    import_file(scanner, scanner.store, ImportStatus.DONE)

    assert scanner.scan() == []


def test_an_address_gets_no_message_that_it_leaves_out(scanner: Scanner) -> None:
    scanner.add_endpoint()
    scanner.scan()
    with scanner.services.database.transaction() as transaction:
        webhooks = WebhookRepository(transaction, scanner.store.store_id)
        webhooks.set_excluded_events("e", {WebhookEvent.IMPORT_FINISHED})
    scanner.now[0] += 1
    import_file(scanner, scanner.store, ImportStatus.DONE)
    import_file(scanner, scanner.store, ImportStatus.FAILED)

    assert [event for event, _ in scanner.scan()] == ["import.failed"]


def test_imports_that_end_are_told_once_each_by_their_outcome(scanner: Scanner) -> None:
    import_file(scanner, scanner.store, ImportStatus.DONE)
    scanner.now[0] += 1
    scanner.add_endpoint()
    assert scanner.scan() == []
    done = import_file(scanner, scanner.store, ImportStatus.DONE)
    failed = import_file(scanner, scanner.store, ImportStatus.FAILED)
    import_file(scanner, scanner.store, ImportStatus.CHECKED)
    import_file(scanner, scanner.other, ImportStatus.DONE)

    messages = scanner.scan()

    assert [(event, data["import_id"]) for event, data in messages] == [
        ("import.finished", done),
        ("import.failed", failed),
    ]
    assert messages[0][1]["counts"] == {"rows": 7}
    assert scanner.scan() == []


def test_an_import_that_ends_before_the_first_scan_is_told(scanner: Scanner) -> None:
    scanner.add_endpoint()
    done = import_file(scanner, scanner.store, ImportStatus.DONE)

    assert [data["import_id"] for _, data in scanner.scan()] == [done]


def test_a_killed_scan_loses_no_fact_and_tells_none_twice(
    scanner: Scanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanner.add_endpoint()
    scanner.scan()
    done = import_file(scanner, scanner.store, ImportStatus.DONE)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(WebhookRepository, "set_source_position", die)
        with pytest.raises(KeyboardInterrupt):
            scanner.scan()

    assert [data["import_id"] for _, data in scanner.scan()] == [done]
    stale = webhook_events._store_messages_unless_stored  # noqa: SLF001 - as a worker that stood still
    message = webhook_events._NewWebhookMessage(WebhookEvent.PING, {})  # noqa: SLF001
    found = (["x"], [message])
    assert stale(scanner.services, scanner.store, "file_imports", [], found) == 0
    assert scanner.scan() == []


def test_a_product_that_will_sell_out_is_told_once_until_it_is_in_order(
    scanner: Scanner,
) -> None:
    services, store = scanner.services, scanner.store
    stock(services, store, lamp=2, vase=900)
    forecast(services, store)
    scanner.now[0] += 1
    scanner.add_endpoint()
    scans = [scanner.scan()]
    for vase in (900, 3, 3, 900, 3):
        scanner.now[0] += DAY_MS
        stock(services, store, lamp=2, vase=vase)
        forecast(services, store)
        scans.append(scanner.scan())

    titles = [
        [product["item_id"] for _, data in one for product in data["products"]]
        for one in scans
    ]
    assert titles == [[], [], ["vase"], [], [], ["vase"]]
    event, data = scans[2][0]
    assert event == "stockout.foreseen"
    assert data["products_total"] == 1
    assert data["products"][0]["stock"] == 3
    assert data["products"][0]["order_quantity"] > 0


def test_the_quota_is_told_at_80_and_at_100_percent_once_a_month(scanner: Scanner) -> None:
    scanner.add_endpoint()
    database, store_id = scanner.services.database, scanner.store.store_id
    with database.transaction() as transaction:
        accounts = AccountRepository(transaction)
        subscription = replace(scanner.store.subscription, plan="small", ends_at=None)
        accounts.set_subscription(store_id, subscription)
    percents = []
    for calls in (799, 1, 100, 100, 50):
        with database.transaction() as transaction:
            add_calls(transaction, {(store_id, "2026-11"): calls})
        percents.append([data["percent"] for _, data in scanner.scan()])
    scanner.now[0] += 2 * DAY_MS
    percents.append([data["percent"] for _, data in scanner.scan()])
    with database.transaction() as transaction:
        add_calls(transaction, {(store_id, "2026-12"): 1_200})
    percents.append([data["percent"] for _, data in scanner.scan()])

    assert percents == [[], [80], [], [100], [], [], [100]]


def test_a_key_in_a_wrong_place_is_told_once_for_each_place(scanner: Scanner) -> None:
    scanner.add_endpoint()
    store_id, pages = scanner.store.store_id, "https://a.example"
    exposures = []
    for sign, value in (
        (MisuseKind.FOREIGN_ORIGIN, "https://b.example"),
        (MisuseKind.LEAKED_SECRET, pages),
        (MisuseKind.LEAKED_SECRET, pages),
        (MisuseKind.LEAKED_SECRET, ""),
    ):
        scanner.now[0] += DAY_MS
        misuse = KeyMisuse(store_id, sign, value, scanner.now[0])
        with scanner.services.database.transaction() as transaction:
            KeyMisuseRepository(transaction, store_id).add([misuse])
        exposures.append([one for one in scanner.scan() if one[0] == "key.exposed"])

    assert [[(data["place"], data["origin"]) for _, data in one] for one in exposures] == [
        [],
        [("page", pages)],
        [],
        [("address", None)],
    ]


def test_the_end_of_a_plan_is_told_once_before_it(scanner: Scanner) -> None:
    scanner.add_endpoint()
    store_id, ends_at = scanner.store.store_id, NOW_MS + 10 * DAY_MS
    ends = []
    later = NOW_MS + 12 * DAY_MS
    for day, end in ((0, ends_at), (8, ends_at), (9, ends_at), (11, ends_at), (11, later)):
        scanner.now[0] = NOW_MS + day * DAY_MS
        subscription = replace(scanner.store.subscription, ends_at=end)
        with scanner.services.database.transaction() as transaction:
            AccountRepository(transaction).set_subscription(store_id, subscription)
        ends.append([data["ends_at"] for _, data in scanner.scan()])

    assert ends == [[], [iso(ends_at)], [], [], [iso(later)]]


def test_searches_without_results_are_told_when_the_stores_week_has_ended(
    scanner: Scanner,
) -> None:
    scanner.add_endpoint()
    assert scanner.scan() == []
    with scanner.services.database.transaction() as transaction:
        counts = SearchCountRepository(transaction, scanner.store.store_id)
        counts.add("2026-11-22", {"early": SearchCount("early", 9, 9)})
        counts.add("2026-11-23", {"kayak": SearchCount("kayak", 3, 3)})
        counts.add("2026-11-29", {"tent": SearchCount("Tent", 5, 0)})
        counts.add("2026-11-30", {"late": SearchCount("late", 9, 9)})
    assert scanner.scan() == []

    scanner.now[0] += DAY_MS
    messages = scanner.scan()

    assert messages == [
        (
            "searches.without_results",
            {
                "first_day": "2026-11-23",
                "last_day": "2026-11-29",
                "searches": 8,
                "searches_without_results": 3,
                "queries": [{"query": "kayak", "searches": 3, "without_results": 3}],
            },
        )
    ]
    assert scanner.scan() == []
    scanner.now[0] += 14 * DAY_MS
    assert scanner.scan() == []  # a week without such searches


def test_a_test_that_can_be_stopped_is_told_once(scanner: Scanner) -> None:
    scanner.add_endpoint()
    services, store = scanner.services, scanner.store
    with services.database.transaction() as transaction:
        AccountRepository(transaction).merge_settings(
            store.store_id, {"holdout_percent": "10", "holdout_test": "winter"}
        )
    scans = []
    for verdict in ("collecting", "more", "more"):
        scanner.now[0] += DAY_MS
        metric = {"verdict": verdict, "difference": 1.0, "lift": 0.12}
        metric |= {"lift_low": -1.0, "lift_high": 1.0}
        result = {
            "gate": 1,
            "goal": "revenue",
            "is_mismatched": False,
            "metrics": {"shown": {"revenue": metric}},
        }
        stored = DailyExperimentResult(
            "winter", iso(scanner.now[0])[:10], scanner.now[0], result
        )
        with services.database.transaction() as transaction:
            ExperimentResultRepository(transaction, store.store_id).store_result_of_day(
                stored
            )
        scans.append(scanner.scan())

    assert [len(one) for one in scans] == [0, 1, 0]
    event, data = scans[1][0]
    assert (event, data["test"], data["goal"]) == ("test.decided", "winter", "revenue")
    assert data["advice"] == "Stop: recommendations bring more revenue (+12.0%)."


def test_the_messages_have_the_time_of_the_machine(scanner: Scanner) -> None:
    scanner.add_endpoint()
    import_file(scanner, scanner.store, ImportStatus.DONE)
    scanner.scan()
    with scanner.services.database.reading() as connection:
        (message,) = WebhookRepository(connection, scanner.store.store_id).newest_messages(
            "e", 5
        )

    assert abs(message.next_at - system_ms()) < DAY_MS
