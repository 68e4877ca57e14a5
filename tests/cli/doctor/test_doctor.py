"""`productrecs doctor`: finds each kind of problem, and nothing else."""

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import sqlalchemy as sa

from productrecs.cli.doctor import command, disk_and_clock_checks, installation_checks
from productrecs.cli.doctor.repository import task_due_at
from productrecs.core.clock import DAY_MS, HOUR_MS, system_ms
from productrecs.core.errors import StorageBrokenError
from productrecs.core.ids import INSTALLATION
from productrecs.core.timestamps import iso
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import ingest_events, ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.services import Services
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations.schema_upgrade import migrate
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.storage_usage import (
    DataKind,
    StoredDataSize,
    store_sizes_of_today_and_purge_older,
)
from productrecs.storage.sql.tables import jobs, stores
from productrecs.storage.sql.tables.account_and_job_tables import duties
from productrecs.tenancy.accounts.key_misuse.repository import (
    KeyMisuse,
    MisuseKind,
    store_key_misuse,
)
from productrecs.tenancy.accounts.store_management import find_or_create_owner, find_store
from productrecs.tenancy.billing.call_meter import month_at
from productrecs.tenancy.billing.metered_calls.repository import add_calls
from productrecs.tenancy.users.logins.repository import CrossStoreLoginRepository
from productrecs.tenancy.users.second_factors.repository import SecondFactor
from productrecs.tenancy.users.stored_secret_cipher import StoredSecretCipher
from productrecs.tenancy.users.two_factor import new_totp_secret
from productrecs.worker.store_jobs import build_store_job_worker
from tests.cli.conftest import BOTH, CommandLine
from tests.support.service import eventually

VIEW = NewEvent(EventKind.DETAIL_PAGE_VIEW, "item-1", user_id="c-1")
BUY = NewEvent(EventKind.BUY, "item-1", user_id="c-1", order_id="A")


def wrongs(shell: CommandLine, level: str = "wrong", **more: str) -> list[str]:
    """Return what the doctor says of one level, its exit status being as it should."""
    result = shell.run("doctor", "--json", **more)
    findings = json.loads(result.stdout)
    is_ill = any(finding["level"] == "wrong" for finding in findings)
    assert result.exit_code == int(is_ill)
    return [
        f"{finding['subject']}: {finding['message']} -> {finding['remedy']}"
        for finding in findings
        if finding["level"] == level
    ]


def receive(
    services: Services, shop: str, facts: Sequence[NewEvent | NewOrder], at: int
) -> None:
    store = find_store(services.database, shop)
    with services.database.transaction() as transaction:
        log = StoreLogTransaction(services.database, transaction, store.store_id)
        for fact in facts:
            if isinstance(fact, NewOrder):
                ingest_order(log, fact, at)
            else:
                ingest_events(log, [[fact]], at)


@pytest.fixture
def healthy(shell: CommandLine, shop: str, services: Services) -> str:
    """Return a store that lacks nothing."""
    items = [
        {
            "id": f"item-{number}",
            "title": f"Item {number}",
            "product_url": f"https://shop.example/{number}",
            "image_url": f"https://shop.example/{number}.jpg",
        }
        for number in range(50)
    ]
    shell("import-items", shop, "-", stdin="\n".join(map(json.dumps, items)))
    now_ms = system_ms() - HOUR_MS
    receive(
        services,
        shop,
        [VIEW, *[replace(BUY, order_id=f"A-{n}") for n in range(30)]],
        now_ms,
    )
    shell("train", shop)
    return shop


def test_a_new_installation_is_well(shell: CommandLine) -> None:
    assert wrongs(shell) == []


@BOTH
def test_a_store_that_lacks_nothing_is_well(shell: CommandLine, healthy: str) -> None:
    assert wrongs(shell) == wrongs(shell, "note") == []
    printed = shell("doctor")
    assert f"ok     {healthy}: everything is in order; its plan trial ends at " in printed


def test_an_empty_catalog(shell: CommandLine, shop: str) -> None:
    (found,) = wrongs(shell)

    assert "the catalog is empty" in found
    assert f"productrecs import-items {shop} FILE" in found


@BOTH
def test_items_that_shoppers_cannot_make_anything_of(
    shell: CommandLine, healthy: str
) -> None:
    rows = [
        {"id": "item-1", "title": ""},
        {"id": "item-2", "title": None, "product_url": None},
        {"id": "item-3", "image_url": None},
        {"id": "item-4", "title": "", "availability": "discontinued"},
    ]
    shell("import-items", healthy, "-", stdin="\n".join(map(json.dumps, rows)))

    (found,) = wrongs(shell)
    noted = wrongs(shell, "note")

    assert "2 of its 49 items have no title" in found
    assert f"productrecs import-items {healthy} FILE" in found
    assert "1 of its 49 items have no product_url" in noted[0]
    assert "1 of its 49 items have no image_url" in noted[1]


def test_events_that_stopped(shell: CommandLine, healthy: str) -> None:
    later = "2999-01-01T00:00:00Z"
    shell("store", "set-plan", healthy, "unlimited")

    (found,) = wrongs(shell, PRODUCTRECS_NOW=later)

    assert f"{healthy}: no event was received since" in found


@pytest.mark.usefixtures("shop")
def test_no_events_yet_is_only_noted(shell: CommandLine) -> None:
    assert "no event was received from its pages yet" in wrongs(shell, "note")[0]


@BOTH
def test_events_that_name_unknown_products(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    views = [replace(VIEW, item_id=f"sku-{number}") for number in range(40)]
    receive(services, healthy, views, system_ms())

    (found,) = wrongs(shell)

    assert "98 % of the newest events have products that are not in the catalog" in found
    assert "'sku-9'" in found


def test_a_few_unknown_products_are_nothing(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    views = [replace(VIEW, item_id=f"item-{number}") for number in range(50)]
    gone = [replace(VIEW, item_id=f"sku-{number}") for number in range(5)]
    receive(services, healthy, views + gone, system_ms())

    assert wrongs(shell) == []


@BOTH
def test_orders_of_shoppers_who_are_never_seen(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    orders = [
        NewOrder(f"B-{number}", (NewOrderLine("item-1"),), user_id=f"customer-{number}")
        for number in range(30)
    ]
    receive(services, healthy, orders, system_ms())

    (found,) = wrongs(shell)

    assert "none of the customers in its orders appears in its pages' events" in found
    assert "data-customer-id" in found


@BOTH
def test_buys_without_order_ids(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    receive(services, healthy, [replace(BUY, order_id=None)] * 40, system_ms())

    (found,) = wrongs(shell)

    assert "57 % of its buy events have no order_id" in found


def test_events_of_the_future(shell: CommandLine, healthy: str, services: Services) -> None:
    receive(services, healthy, [VIEW], system_ms() + DAY_MS)

    (found,) = wrongs(shell)

    assert "newest event has a future timestamp" in found
    assert "clock" in found


def test_a_time_zone_that_is_none(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    with services.database.transaction() as transaction:
        settings = json.dumps({"timezone": "Mars/Base"})
        transaction.execute(stores.update().values(settings=settings))

    assert any(
        f"productrecs settings {healthy} timezone=" in found for found in wrongs(shell)
    )


def test_an_allowlist_without_the_stores_own_pages(
    shell: CommandLine, healthy: str
) -> None:
    shell("origins", healthy, "--add", "https://other.example")

    (found,) = wrongs(shell, "note")

    assert f"productrecs origins {healthy} --add https://{healthy}" in found


def test_a_plan_that_is_over_or_soon_will_be(shell: CommandLine, healthy: str) -> None:
    shell("store", "set-plan", healthy, "growth", "--until", iso(system_ms() + DAY_MS))
    (soon,) = wrongs(shell, "note")
    shell("store", "suspend", healthy)
    stopped = wrongs(shell, "note")[0]
    later = iso(system_ms() + 2 * DAY_MS)
    over = "\n".join(wrongs(shell, PRODUCTRECS_NOW=later))

    assert "its plan growth ends at" in soon
    assert f"productrecs store set-plan {healthy} PLAN" in soon
    assert stopped.endswith(f"its pages get nothing -> productrecs store resume {healthy}")
    assert "its plan growth ended at" in over


def test_a_quota_and_a_catalog_that_are_nearly_used_up(
    shell: CommandLine, healthy: str, services: Services, tmp_path: Path
) -> None:
    plans = tmp_path / "plans.toml"
    plans.write_text("[trial]\nmonthly_calls = 10\ncatalog_items = 52\n", "utf-8")
    store = find_store(services.database, healthy)
    with services.database.transaction() as transaction:
        month = month_at(system_ms()).name
        add_calls(transaction, {(store.store_id, month): 10})

    calls, items = wrongs(shell, "note", PRODUCTRECS_PLANS=str(plans))

    assert "10 of 10 calls" in calls
    assert "its catalog has 50 of the 52 items of its plan -> delete items, or" in items


def test_a_plan_that_the_configuration_lacks(
    shell: CommandLine, healthy: str, tmp_path: Path
) -> None:
    plans = tmp_path / "plans.toml"
    plans.write_text("[gold]\nmonthly_calls = 1\ncatalog_items = 1\n", "utf-8")
    shell("store", "set-plan", healthy, "gold", PRODUCTRECS_PLANS=str(plans))

    (found,) = wrongs(shell)

    assert "plan 'gold' is not configured: no limits apply" in found
    assert "PRODUCTRECS_PLANS" in found


def test_a_damaged_model(shell: CommandLine, healthy: str, services: Services) -> None:
    path = next(services.models.rglob("model.bin"))
    path.write_bytes(path.read_bytes()[:-1] + b"?")

    (found,) = wrongs(shell)

    assert "checksum" in found
    assert f"productrecs train {healthy}" in found


@BOTH
def test_a_model_that_this_folder_lacks(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    shutil.rmtree(services.models)

    (found,) = wrongs(shell)

    is_shared = services.settings.database_url is not None
    assert ("PRODUCTRECS_OBJECTS" in found) == is_shared
    assert f"productrecs train {healthy}" in found


def test_a_store_that_is_not_retrained_is_reported(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    later = iso(system_ms() + 2 * HOUR_MS)
    receive(services, healthy, [VIEW], system_ms())

    assert wrongs(shell) == []  # a moment ago
    (found,) = wrongs(shell, PRODUCTRECS_NOW=later)

    assert "1 records since" in found
    assert "start productrecs serve" in found


class _Elsewhere(BaseHTTPRequestHandler):
    """Some other program."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """Give the host and port of another program that speaks HTTP."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_an_address_that_leads_elsewhere_or_nowhere(
    shell: CommandLine, elsewhere: str
) -> None:
    (other,) = wrongs(shell, PRODUCTRECS_BASE_URL=f"http://{elsewhere}")
    (untrusted,) = wrongs(shell, PRODUCTRECS_BASE_URL=f"https://{elsewhere}")
    (nobody,) = wrongs(shell, "note", PRODUCTRECS_BASE_URL="http://127.0.0.1:1")

    assert "not from this program" in other
    assert "is not trusted" in untrusted
    assert "PRODUCTRECS_BASE_URL" in nobody


def add_job(
    services: Services, state: str, run_at: int, created_at: int | None = None
) -> None:
    made_at = min(run_at, system_ms()) if created_at is None else created_at
    with services.database.transaction() as transaction:
        row = {
            "store_id": "*",
            "job_id": f"job-{state}",
            "kind": "train",
            "key": "train",
            "state": state,
            "payload": "{}",
            "attempts": 5,
            "run_at": run_at,
            "error": "the model is too small",
            "created_at": made_at,
        }
        transaction.execute(sa.insert(jobs).values(row))


@BOTH
def test_jobs_that_were_given_up(shell: CommandLine, services: Services) -> None:
    add_job(services, "dead", system_ms())

    assert "1 train jobs failed for good: the model is too small" in wrongs(shell)[0]


def test_jobs_without_a_worker_are_reported(shell: CommandLine, services: Services) -> None:
    add_job(services, "queued", system_ms() - HOUR_MS)

    assert "productrecs worker" in wrongs(shell)[0]


def add_turn(services: Services, due_at: int) -> None:
    with services.database.transaction() as transaction:
        row = {"store_id": "*", "duty": installation_checks.HEARTBEAT, "due_at": due_at}
        transaction.execute(sa.insert(duties).values(row))


@BOTH
def test_a_background_that_fell_silent(shell: CommandLine, services: Services) -> None:
    add_turn(services, system_ms() - HOUR_MS)

    (found,) = wrongs(shell)

    assert "did not run: no worker runs -> start productrecs serve" in found


def test_a_background_whose_turn_is_to_come_is_well(
    shell: CommandLine, services: Services
) -> None:
    add_turn(services, system_ms() + HOUR_MS)

    assert wrongs(shell) == []


def test_the_heartbeat_is_a_duty_that_workers_have(services: Services) -> None:
    def turn() -> int | None:
        with services.database.reading() as connection:
            return task_due_at(connection, installation_checks.HEARTBEAT)

    worker = build_store_job_worker(services)
    working = threading.Thread(target=worker.run)
    assert turn() is None
    working.start()
    try:
        eventually(lambda: turn() is not None, 30)
    finally:
        worker.stop()
        working.join()


@BOTH
def test_a_clock_that_was_set_back(shell: CommandLine, services: Services) -> None:
    add_job(services, "done", system_ms(), created_at=system_ms() + DAY_MS)

    (found,) = wrongs(shell)

    assert "clock: the clock says" in found
    assert found.endswith("(timedatectl set-ntp true)")


def test_a_clock_that_was_never_set(
    shell: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_and_clock_checks, "EARLIEST_MS", 1 << 60)

    assert "before this program was released" in wrongs(shell)[0]


def see(services: Services, shop: str, sign: MisuseKind, origin: str, at: int) -> None:
    store = find_store(services.database, shop)
    with services.database.transaction() as transaction:
        store_key_misuse(transaction, [KeyMisuse(store.store_id, sign, origin, at)])


@BOTH
def test_pages_that_the_allowlist_lacks(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    shell("origins", healthy, "--add", f"https://{healthy}")
    see(services, healthy, MisuseKind.FOREIGN_ORIGIN, "https://m.shop.example", system_ms())
    long_ago = system_ms() - 30 * DAY_MS
    see(services, healthy, MisuseKind.FOREIGN_ORIGIN, "https://old.example", long_ago)

    (found,) = wrongs(shell, "note")
    shell("origins", healthy, "--add", "https://m.shop.example")

    assert "sent requests this week: https://m.shop.example -> " in found
    assert found.endswith(f"productrecs origins {healthy} --add https://m.shop.example")
    assert wrongs(shell, "note") == []


@BOTH
def test_a_secret_key_that_others_know(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    see(services, healthy, MisuseKind.LEAKED_SECRET, "https://shop.example", system_ms())

    (found,) = wrongs(shell)
    shell("keys", "rotate", healthy)

    assert "its secret key was exposed in pages of https://shop.example at" in found
    assert found.endswith(f"productrecs keys rotate {healthy}")
    assert wrongs(shell) == []


def test_every_line_that_is_not_well_ends_with_its_remedy(
    shell: CommandLine, shop: str, services: Services
) -> None:
    add_job(services, "dead", system_ms() - HOUR_MS)

    lines = shell.run("doctor", shop).stdout.splitlines()

    ill = [line for line in lines if not line.startswith("ok ")]
    assert len(ill) >= 3  # a job, the empty catalog, no events
    assert all(" -> " in line for line in ill)


def test_jobs_that_wait_their_turn_are_nothing(
    shell: CommandLine, services: Services
) -> None:
    add_job(services, "queued", system_ms() + HOUR_MS)

    assert wrongs(shell) == []


def test_a_full_disk(shell: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation_checks, "MIN_FREE_BYTES", 1 << 60)

    assert "free some space" in wrongs(shell)[0]


def test_a_disk_that_fills_is_noted(
    shell: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation_checks, "MIN_FREE_SHARE", 1.0)

    assert "free some space" in wrongs(shell, "note")[0]


def test_a_clock_that_is_stopped_is_noted(shell: CommandLine) -> None:
    (found,) = wrongs(shell, "note", PRODUCTRECS_NOW="2011-12-09T12:00:00Z")

    assert "2011-12-09T12:00:00.000Z" in found


def test_a_misspelt_setting_is_noted(shell: CommandLine) -> None:
    (found,) = wrongs(
        shell, "note", PRODUCTRECS_PROT="8001", PRODUCTRECS_BENCH_DATA="elsewhere"
    )

    assert "PRODUCTRECS_PROT" in found
    assert "use PRODUCTRECS_PORT, or" in found


def damaged(folder: Path) -> dict[str, str]:
    (folder / "productrecs.db").write_bytes(b"no database at all " * 500)
    return {}


def set_schema(folder: Path, schema: str) -> dict[str, str]:
    database = Database.open(None, folder)
    migrate(database)
    with database.transaction() as transaction:
        change = sa.text("UPDATE alembic_version SET version_num = :schema")
        transaction.execute(change, {"schema": schema})
    database.close()
    return {}


BROKEN: dict[str, tuple[Callable[[Path], dict[str, str]], str]] = {
    "a damaged database": (damaged, "restore a backup"),
    "a newer program's database": (partial(set_schema, schema="9999"), "newer"),
    "a database from before the baseline": (
        partial(set_schema, schema="2026_11_21_0900"),
        "Migrate it with a version of that day first",
    ),
    "an unknown database": (lambda _: {"DATABASE_URL": "mysql://db/x"}, "postgresql://"),
    "an unreachable database": (
        lambda _: {"DATABASE_URL": "postgresql://127.0.0.1:1/x"},
        "make sure that the database runs",
    ),
    "an impossible setting": (lambda _: {"PRODUCTRECS_PORT": "many"}, "PRODUCTRECS_PORT"),
    "an impossible clock": (lambda _: {"PRODUCTRECS_NOW": "soon"}, "PRODUCTRECS_NOW"),
    "an impossible folder": (lambda _: {"PRODUCTRECS_DATA": "/dev/null/x"}, "--data"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_keeps_everything_from_starting_is_found_too(
    shell: CommandLine, data_folder: Path, name: str
) -> None:
    break_it, reason = BROKEN[name]
    environment = break_it(data_folder)

    (found,) = wrongs(shell, **environment)

    assert reason in found


def test_one_store_can_be_looked_at_alone(shell: CommandLine, healthy: str) -> None:
    shell("store", "create", "--domain", "empty.example")

    assert "empty.example" not in shell("doctor", healthy)


def shown(shopper: str, item: str = "item-1", **facts: str | None) -> NewEvent:
    """Return an impression of a widget that has no customer id."""
    fields: dict[str, str | None] = {
        "session_id": shopper,
        "widget": "recs",
        "source": "buy",
        **facts,
    }
    return NewEvent(EventKind.REC_IMPRESSION, item, **fields)  # type: ignore[arg-type]  # a test's shorthand


@BOTH
def test_anonymous_widgets_beside_named_orders(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    facts = [
        fact for n in range(30) for fact in (shown(f"s_{n}"), of_customer(n, f"s_{n}"))
    ]
    receive(services, healthy, facts, system_ms())

    (found,) = wrongs(shell)

    assert (
        "attribution will be zero because widgets are anonymous while orders have "
        "customer ids" in found
    )
    assert "30 were under another id: cust... bought, s_" in found
    assert "data-customer-id" in found


def test_the_same_ids_on_both_sides_are_well(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    facts = [
        fact
        for n in range(30)
        for fact in (shown(f"s_{n}", user_id=f"customer-{n}"), of_customer(n, None))
    ]
    receive(services, healthy, facts, system_ms())

    assert wrongs(shell) == wrongs(shell, "note") == []


def test_sales_without_any_shown_recommendation_are_noted(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    views = [replace(VIEW, user_id=f"customer-{n}") for n in range(30)]
    receive(
        services, healthy, [*views, *(of_customer(n, None) for n in range(30))], system_ms()
    )

    assert (
        "no widget reports what it shows: attribution is zero" in wrongs(shell, "note")[0]
    )


def test_orders_that_name_no_shopper_are_reported(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    orders = [NewOrder(f"B-{n}", (NewOrderLine("item-1"),)) for n in range(60)]
    receive(services, healthy, orders, system_ms())

    (found,) = wrongs(shell)

    assert "67 % of the bought order lines name no shopper" in found


def test_widgets_that_do_not_say_where_and_who(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    facts = [
        shown(f"{n}@example.com", session_id=None, user_id=f"{n}@example.com", source=None)
        for n in range(30)
    ]
    receive(services, healthy, facts, system_ms())

    unplaced, sessions, addresses = wrongs(shell, "note")

    assert "100 % of impressions and clicks name no widget or source" in unplaced
    assert "no widget sends a session id (pr_sid)" in sessions
    assert "shoppers are identified by their e-mail addresses" in addresses


def test_clocks_that_differ_or_stand_still(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    now_ms = system_ms()
    receive(services, healthy, [VIEW], now_ms)
    receive(services, healthy, [VIEW] * 200, now_ms - HOUR_MS)

    differ, still = wrongs(shell)

    assert "its newest events jump back by up to 60 minutes" in differ
    assert "200 events in a row have exactly the same time" in still


@pytest.mark.parametrize(("hours", "quick", "found"), [(49, 0, 1), (49, 1, 0), (5, 0, 0)])
def test_a_clock_ahead_of_the_shops_shows_by_the_times_of_its_orders(
    shell: CommandLine, healthy: str, services: Services, hours: int, quick: int, found: int
) -> None:
    now_ms = system_ms()
    orders = [of_customer(number, "s_1") for number in range(6)]
    for number, order in enumerate(orders):
        delay = 0 if number < quick else hours * HOUR_MS
        sent = replace(order, ordered_ms=now_ms - delay)
        receive(services, healthy, [sent], now_ms)

    late = [one for one in wrongs(shell, "note") if "newest orders arrived" in one]

    assert len(late) == found
    assert all("49 hours" in one and "(timedatectl set-ntp true)" in one for one in late)


def of_customer(number: int, session: str | None) -> NewOrder:
    return NewOrder(
        f"B-{number}", (NewOrderLine("item-1"),), f"customer-{number}", session_id=session
    )


@pytest.mark.parametrize("name", ["IMAGE_MODEL", "IMAGE_DETECTOR", "SEARCH_MODEL"])
def test_a_models_file_that_is_missing(
    shell: CommandLine, tmp_path: Path, name: str
) -> None:
    setting = f"PRODUCTRECS_{name}"

    (found,) = wrongs(shell, **{setting: str(tmp_path / "gone.onnx")})

    assert "gone.onnx" in found
    assert f"correct {setting}" in found


def test_an_http_address_for_pages_of_https(
    shell: CommandLine, healthy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "check_address_and_proxy", lambda _settings: ())

    (found,) = wrongs(shell, PRODUCTRECS_BASE_URL="http://recs.shop.example")

    assert f"{healthy}: its pages are HTTPS, where browsers block http://recs" in found
    assert wrongs(shell, PRODUCTRECS_BASE_URL="https://recs.shop.example") == []
    assert wrongs(shell, PRODUCTRECS_BASE_URL="http://127.0.0.1:8000") == []


def test_second_factors_whose_key_is_missing_or_that_have_none(
    shell: CommandLine, healthy: str, services: Services
) -> None:
    key = "PRODUCTRECS_DASHBOARD_KEY"
    first = {key: "the first key of this service"}
    second = {key: "the second key, a wrong one"}
    store = find_store(services.database, healthy)
    user = find_or_create_owner(services.database, store)
    cipher = StoredSecretCipher(first[key], None)
    for secret in (cipher.encrypt_if_keyed(new_totp_secret()), new_totp_secret()):
        with services.database.transaction() as transaction:
            factor = SecondFactor(user.user_id, secret, 1, 0, ())
            CrossStoreLoginRepository(transaction).put_factor(user, factor)
        if secret.startswith("fernet:"):
            assert wrongs(shell, **first) == []
            (found,) = wrongs(shell, **second)
            assert found.startswith("logins: 1 of 1 secrets of two-factor login cannot be")
            assert "--turn-off-two-factor" in found
    assert wrongs(shell, **first) == []
    is_server = services.settings.database_url is not None
    noted = [one for one in wrongs(shell, "note") if one.startswith("logins: ")]
    warning = "logins: 1 secrets of two-factor login are not encrypted in the database"
    remedy = f"set {key}, the same on every machine"
    assert noted == ([f"{warning} -> {remedy}"] if is_server else [])


def grown(services: Services, bytes_per_day: int, days: int = 6) -> None:
    """Store what measurements of some days would have stored."""
    now_ms = system_ms()
    with services.database.transaction() as transaction:
        for day in range(days):
            size = StoredDataSize(DataKind.MODELS, bytes=bytes_per_day * day)
            at_ms = now_ms - (days - day) * DAY_MS
            store_sizes_of_today_and_purge_older(
                transaction, {INSTALLATION: {size.part: size}}, at_ms
            )


@pytest.mark.parametrize(
    ("days_left", "time_left"), [(5.5, "in 5 days"), (1.0, "within two days"), (20.0, None)]
)
def test_a_disk_that_lasts_less_than_two_weeks_is_found(
    shell: CommandLine, services: Services, days_left: float, time_left: str | None
) -> None:
    free = shutil.disk_usage(services.settings.data).free
    grown(services, int(free / days_left))

    found = [one for one in wrongs(shell) if one.startswith("disk")]

    assert [time_left] == [
        time_left for one in found if f"is full {time_left}" in one
    ] or not time_left
    assert bool(found) == bool(time_left)


def test_it_says_what_each_kind_of_data_takes_and_what_retention_would_save(
    shell: CommandLine, healthy: str, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_ms = system_ms() - 400 * DAY_MS
    receive(services, healthy, [VIEW] * 30, old_ms)
    grown(services, 2_000_000)

    def lines_of(kind: str, part: str, **settings: str) -> list[str]:
        return [one for one in wrongs(shell, kind, **settings) if one.startswith(part)]

    [sizes] = lines_of("ok", "data:")
    [few] = lines_of("ok", "retention:")
    [purged] = lines_of("ok", "retention:", PRODUCTRECS_RETENTION_DAYS="365")
    monkeypatch.setattr(disk_and_clock_checks, "_MANY_OLD_BYTES", 1)
    [many] = lines_of("note", "retention:")
    silent = lines_of("note", "retention:", PRODUCTRECS_RETENTION_DAYS="365")

    assert re.search(r"events [\d.]+ kB \(31 rows\)", sizes)
    assert "2.0 MB more each day" in sizes
    share = r"PRODUCTRECS_RETENTION_DAYS=365 would purge 97 % of them, [\d.]+ kB"
    for said in (few, many):
        assert re.search(r"31 events and impressions take [\d.]+ kB", said)
        assert f"the first is of {iso(old_ms)[:10]}" in said
        assert re.search(share, said)
    assert "the installation purges none" in many
    assert "those of more than 365 days ago are purged each night" in purged
    assert not silent


def test_a_database_that_a_full_disk_keeps_closed_names_the_disk(
    shell: CommandLine, healthy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_data: Path | None) -> Services:
        raise StorageBrokenError("the disk failed to read or write: disk I/O error")

    monkeypatch.setattr(command, "open_services_as_owner", fail)
    monkeypatch.setattr(installation_checks, "MIN_FREE_BYTES", 1 << 60)

    storage, disk = wrongs(shell)[-2:]

    assert healthy
    assert storage.startswith("storage: the disk failed to read or write")
    assert disk.startswith("disk: ")
    assert disk.endswith("free some space; without it nothing can be stored")
