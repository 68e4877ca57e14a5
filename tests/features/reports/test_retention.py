"""Retention: old events go, and every report stays as it was."""

import random
from pathlib import Path

import pytest

from productrecs.core.clock import DAY_MS
from productrecs.core.report import ReportQuery
from productrecs.features.attribution.attributor import Attributor
from productrecs.features.attribution.event_purge import purge_events
from productrecs.features.privacy.repository import ShopperRecordRepository
from productrecs.features.reports.impact.repository import AttributionReportRepository
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.order_and_purchase_ledger import NewOrderLine
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import (
    attribution_marks,
    events,
    experiments,
    outcome_days,
    purchase_lines,
    search_days,
    touch_days,
)
from productrecs.tenancy.accounts.store_management import change_settings
from productrecs.training.fit_models import fit_all_models
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import TrainingDeps, train_store
from tests.features.reports.shop import (
    NOON,
    ReportedStore,
    buy,
    cart,
    click,
    impression,
    search_click,
)
from tests.features.reports.test_attributor import VIEWS, happen, rows

NOW = NOON + 200 * DAY_MS


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> ReportedStore:
    return ReportedStore(database, tmp_path / "trails")


def recompute(shop: ReportedStore) -> None:
    """Let attribution read the log again, as after an erasure, from no files."""
    with shop.database.transaction() as transaction:
        transaction.execute(attribution_marks.update().values(seq=-1))
    Attributor(shop.database, shop.folder / "again", step=7, segment_length=20).catch_up(
        shop.store
    )


def read_on(shop: ReportedStore) -> None:
    Attributor(shop.database, shop.folder, step=7, segment_length=20).catch_up(shop.store)


def times(shop: ReportedStore) -> list[int]:
    return sorted(row.ts for row in rows(shop, events))


@pytest.mark.parametrize(
    ("database_kind", "zone"),
    [
        ("sqlite", "UTC"),
        ("sqlite", "Asia/Kolkata"),
        ("sqlite", "America/New_York"),
        pytest.param("postgres", "America/New_York", marks=pytest.mark.postgres),
    ],
    indirect=["database_kind"],
)
def test_reports_stay_the_same_when_the_log_is_read_again_after_a_purge(
    shop: ReportedStore, zone: str
) -> None:
    rng = random.Random(zone)  # noqa: S311 - a test's dice
    change_settings(shop.database, shop.store, {"timezone": zone})
    moment = NOON
    while moment < NOW:
        happen(shop, rng, moment)
        moment += rng.choice([0, 0, -5, 3_600_000, DAY_MS, 5 * DAY_MS])
    read_on(shop)
    before = {table.name: rows(shop, table) for table in VIEWS}
    stored = times(shop)

    deleted = purge_events(shop.database, shop.store, 90, NOW)
    recompute(shop)

    assert deleted == len(stored) - len(times(shop)) > 0
    assert min(times(shop)) >= NOW - 91 * DAY_MS
    for table in VIEWS:
        assert rows(shop, table) == before[table.name], table.name


def test_another_time_zone_neither_loses_nor_doubles_what_was_counted(
    shop: ReportedStore,
) -> None:
    for hour in range(0, 200 * 24, 31):  # by and by each hour of the day
        at = NOON + hour * 3_600_000
        shop.send(click("tent"), cart("tent"), buy("tent"), at=at)
    read_on(shop)
    counts = totals(shop)

    purge_events(shop.database, shop.store, 90, NOW)
    for zone in ("Pacific/Auckland", "America/Los_Angeles", "Asia/Kolkata", "UTC"):
        change_settings(shop.database, shop.store, {"timezone": zone})
        recompute(shop)
        assert totals(shop) == counts, zone


def totals(shop: ReportedStore) -> tuple[int, int, int, float]:
    days = rows(shop, outcome_days)
    return (
        sum(row.clicked for row in rows(shop, touch_days)),
        sum(row.carts for row in days),
        sum(row.orders_credited for row in days),
        sum(row.revenue for row in days),
    )


def test_a_change_of_an_old_order_keeps_its_recommendation(shop: ReportedStore) -> None:
    shop.send(click("tent"))
    shop.order("A-1", NewOrderLine("tent", 2, 10.0), session="s_1")
    shop.send(click("tent"), at=NOW)
    read_on(shop)
    assert purge_events(shop.database, shop.store, 90, NOW) == 1

    with shop.database.transaction() as transaction:  # the shop's export says less
        seq = StoreLogTransaction(
            shop.database, transaction, shop.store.store_id
        ).take_seqs(1)
        changed = {"seq": seq, "quantity": 1, "total": 10.0}
        transaction.execute(purchase_lines.update().values(changed))
    read_on(shop)
    (first,) = rows(shop, outcome_days)
    recompute(shop)
    (again,) = rows(shop, outcome_days)

    assert (first.day, first.units, first.revenue) == ("2026-03-01", 1, 10.0)
    assert first.orders_credited == again.orders_credited == 1
    assert first == again


def test_sales_of_a_look_stay_when_its_clicks_are_purged(shop: ReportedStore) -> None:
    seen = click("tent", widget="look", source="look", term="7")
    shop.send(seen, buy("tent"))
    shop.send(click("mug"), at=NOW)
    read_on(shop)
    purge_events(shop.database, shop.store, 90, NOW)

    with shop.database.reading() as connection:
        found = AttributionReportRepository(connection, shop.store.store_id).look_spot_sums(
            ReportQuery("2026-03-01", "2026-03-31")
        )

    assert {spot: sums.sales for spot, sums in found.items()} == {("7", "tent"): 1}


def test_an_erasure_deletes_rare_queries_of_days_that_are_purged(
    shop: ReportedStore,
) -> None:
    at = {"anna's tent": NOON, "mug": NOW}
    for words, moment in at.items():
        shop.send(search_click("tent", "s_1", words), at=moment)
    read_on(shop)
    purge_events(shop.database, shop.store, 90, NOW)
    assert {row.text for row in rows(shop, search_days)} == set(at)

    with shop.database.transaction() as transaction:
        shoppers = ShopperRecordRepository(transaction, shop.store.store_id)
        shoppers.delete_rare_settled_queries(10)
        shoppers.reset_attribution()
    read_on(shop)

    assert {row.text for row in rows(shop, search_days)} == {"mug"}


def test_events_that_attribution_has_not_read_stay(shop: ReportedStore) -> None:
    shop.send(click("tent"))
    assert purge_events(shop.database, shop.store, 90, NOW) == 0  # it never ran
    read_on(shop)
    shop.send(click("tent"))
    assert purge_events(shop.database, shop.store, 90, NOW) == 0
    read_on(shop)
    change_settings(shop.database, shop.store, {"timezone": "Asia/Tokyo"})
    assert purge_events(shop.database, shop.store, 90, NOW) == 0  # it begins again
    read_on(shop)
    assert purge_events(shop.database, shop.store, 90, NOW) == 2


def test_the_events_of_a_running_test_stay(shop: ReportedStore) -> None:
    shop.send(click("tent"))
    shop.send(click("tent"), at=NOON + 50 * DAY_MS)
    read_on(shop)
    running = {
        "store_id": shop.store.store_id,
        "name": "t",
        "number": 1,
        "subject": "search",
        "content": '{"subject": "search", "variants": []}',
        "state": "running",
        "created_at": NOON,
        "started_at": NOON + 40 * DAY_MS,
        "started_seq": 1,
        "winner": "",
    }
    with shop.database.transaction() as transaction:
        transaction.execute(experiments.insert().values(running))

    assert purge_events(shop.database, shop.store, 90, NOW) == 1
    assert times(shop) == [NOON + 50 * DAY_MS]


def test_a_purge_goes_in_small_transactions_and_continues_after_a_stop(
    shop: ReportedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("productrecs.features.attribution.event_purge.BATCH", 10)
    for _ in range(25):
        shop.send(impression("tent"))
    shop.send(impression("tent"), imported=True, at=NOW)
    read_on(shop)
    stops = iter([False, False, True])

    assert purge_events(shop.database, shop.store, 90, NOW, lambda: next(stops)) == 20
    assert purge_events(shop.database, shop.store, 90, NOW) == 5
    assert times(shop) == [NOW]


def test_what_is_purged_is_in_no_model_that_is_trained_afterwards(
    shop: ReportedStore, tmp_path: Path
) -> None:
    deps = TrainingDeps(shop.database, tmp_path / "models", lambda: NOW)
    cached = TrainingInputs()
    for at, item in ((NOON, "old"), (NOW, "new")):
        view = NewEvent(EventKind.DETAIL_PAGE_VIEW, item_id=item, session_id="s_1")
        shop.send(view, buy(item), at=at)
    read_on(shop)
    train_store(deps, shop.store, cached, lambda _: None)
    purge_events(shop.database, shop.store, 90, NOW)

    anew = TrainingInputs()
    for inputs in (cached, anew):
        train_store(deps, shop.store, inputs, lambda _: None)

    first, second = (
        fit_all_models(one, 2, shop.store.settings, NOW) for one in (cached, anew)
    )
    assert first.keys() == second.keys()
    assert all((first[name] == second[name]).all() for name in first)
    assert len(cached.purchases.items) == 2  # orders stay
