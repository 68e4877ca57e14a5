"""Store forecast: from history in the store's days, complete and once."""

import subprocess
import sys
from collections import Counter
from datetime import date, timedelta
from typing import Any

import pytest

from productrecs.core.clock import DAY_MS, HOUR_MS, fixed_clock
from productrecs.core.ids import StoreId
from productrecs.core.timestamps import parse_timestamp
from productrecs.engines.demand import backtest
from productrecs.engines.demand.calendar_effects import SpecialDayKind
from productrecs.features.forecast.forecast_replies import (
    item_forecast_reply,
    store_forecast_reply,
)
from productrecs.features.forecast.repository import ForecastRepository
from productrecs.features.recommendations.earnings.repository import EarningsRepository
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.orders.ingest_events_and_orders import ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.records.sales_calendar.calendar_entry import parse_calendar_entry
from productrecs.records.sales_calendar.repository import SalesCalendarRepository
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    StoreDeletedError,
    StoreLogTransaction,
)
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    Registration,
    change_settings,
    delete_store,
    find_store,
    register_store,
)
from productrecs.training.demand import forecast_run as running
from productrecs.training.demand.demand_inputs import DemandInputs, read_demand_inputs
from productrecs.training.demand.forecast_run import forecast_and_publish
from productrecs.training.demand.repository import (
    stores_with_due_forecast,
    track_stock_outs,
)
from productrecs.training.repository import TrainingRepository
from tests.records.orders.import_support import import_text

NIGHT = parse_timestamp("2026-03-02T02:30+01:00")  # a Monday in Berlin
TODAY = date(2026, 3, 2)
HEADER = "order_id,item_id,timestamp,quantity,price\n"
WINTER_STOCK = {"stock_qty": 12, "price": 20.0, "categories": ["Tents"]}


@pytest.fixture
def store(database: Database) -> Store:
    wanted = Registration(
        "shop.example", settings={"timezone": "Europe/Berlin", "demand_forecast": "on"}
    )
    return register_store(database, wanted, fixed_clock(NIGHT - 90 * DAY_MS))[0]


def sell(database: Database, store: Store, *rows: str) -> None:
    import_text(database, store.store_id, HEADER + "\n".join(rows))


def sell_daily(database: Database, store: Store, days: int = 80, each: int = 3) -> None:
    """Let a tent and a lamp be sold each day up to yesterday."""
    rows = [
        f"{item}-{back}-{one},{item},{TODAY - timedelta(days=back)}T18:00:00,1,20"
        for back in range(1, days + 1)
        for item in ("tent", "lamp")
        for one in range(each)
    ]
    sell(database, store, *rows)


def stock(database: Database, store: Store, now: int = NIGHT, **items: Any) -> None:
    patches = [ItemPatch(name, fields) for name, fields in items.items()]
    with database.transaction() as transaction:
        upsert_items(
            StoreLogTransaction(database, transaction, store.store_id), patches, now
        )


def inputs(database: Database, store: Store, now: int = NIGHT) -> DemandInputs:
    return read_demand_inputs(database, store, now)


def run(database: Database, store: Store, now: int = NIGHT) -> None:
    forecast_and_publish(database, store, fixed_clock(now), lambda _share: None, threads=1)


def summary(database: Database, store: Store) -> dict[str, Any]:
    with database.reading() as connection:
        found = ForecastRepository(connection, store.store_id).newest_run()
    return store_forecast_reply(found, "EUR", enabled=True)


def item(database: Database, store: Store, item_id: str, now: int = NIGHT) -> Any:
    with database.reading() as connection:
        repository = ForecastRepository(connection, store.store_id)
        found, made = repository.find_item_forecast(item_id), repository.newest_run()
    assert found is not None
    return item_forecast_reply(found, made, store.settings.zone, now, enabled=True)


def order(
    database: Database, store: Store, price: float, currency: str | None, quantity: int = 1
) -> None:
    """Sync an order of a tent, an hour before the run."""
    line = NewOrderLine("tent", quantity=quantity, price=price)
    bought = NewOrder(f"{currency}-{price}", (line,), currency=currency)
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store.store_id)
        ingest_order(log, bought, NIGHT - HOUR_MS)


def test_money_is_what_was_paid_in_the_stores_currency(
    database: Database, store: Store
) -> None:
    stock(database, store, tent={"price": 100.0}, lamp={"price": 7.0}, mat={"price": 5.0})
    sell_daily(database, store, days=40)  # at 20
    order(database, store, 90.0, "USD", quantity=2)
    order(database, store, 12.0, "EUR", quantity=120)
    order(database, store, 20.0, None)

    run(database, store)

    with database.reading() as connection:
        stocked = ForecastRepository(connection, store.store_id).items_with_expected_sales()
        pages = TrainingRepository(connection, store.store_id).purchase_line_pages(0, 10**6)
        earnings = EarningsRepository(connection, store.store_id).prices_and_costs()
        totals = Counter(row[4] for page in pages for row in page)
    paid = {one.item_id: one.price for one in stocked.items}
    assert paid == pytest.approx({"lamp": 20.0, "mat": 5.0, "tent": 16.017}, abs=0.001)
    known = {one: earnings.prices[place] for one, place in earnings.numbers_by_id.items()}
    assert known == pytest.approx(paid)
    assert totals == {20.0: 241, 200.0: 1, 1440.0: 1}  # two abroad at the usual price


def test_a_store_that_sells_the_same_each_day_gets_that_forecast(
    database: Database, store: Store
) -> None:
    stock(database, store, tent=WINTER_STOCK, lamp={})
    sell_daily(database, store)

    run(database, store)

    forecast = summary(database, store)
    assert forecast["target_mode"] == "units"
    assert forecast["history"][-1] == {"date": "2026-03-01", "actual": 6.0}
    days = forecast["forecast"]
    assert [days[0]["date"], days[-1]["date"], len(days)] == [
        "2026-03-03",
        "2026-03-30",
        28,
    ]
    assert days[5]["mean"] == pytest.approx(6, abs=0.2)
    assert forecast["totals"]["next_7_days"]["p50"] == pytest.approx(42, abs=1)
    one = item(database, store, "tent")
    assert one["forecast"][5]["mean"] == pytest.approx(3, abs=0.2)
    assert one["method"] == "statistical"
    assert one["days_of_cover"] == pytest.approx(4, abs=0.3)
    assert one["stockout_date"] in {"2026-03-06", "2026-03-07"}


def test_a_day_is_the_stores_day_also_where_clocks_change(
    database: Database, store: Store
) -> None:
    # 29 March has 23 hours; these are its first and last minutes, and those around it.
    times = (
        "2026-03-28T23:30:00+01:00",
        "2026-03-29T00:10:00+01:00",
        "2026-03-29T23:50:00+02:00",
        "2026-03-30T00:10:00+02:00",
    )
    sell(database, store, *(f"o{n},tent,{at},1,1" for n, at in enumerate(times)))

    found = inputs(database, store, parse_timestamp("2026-03-31T03:00+02:00"))

    assert found.days.first == date(2026, 3, 28)
    assert found.demand.amounts.tolist() == [[1, 2, 1]]


def test_todays_sales_and_the_futures_do_not_count(
    database: Database, store: Store
) -> None:
    sell(
        database,
        store,
        "a,tent,2026-03-01T12:00:00,1,1",
        "b,tent,2026-03-02T01:00:00,5,1",
        "c,tent,2027-01-01T01:00:00,5,1",
    )

    assert inputs(database, store).demand.amounts.tolist() == [[1]]


def test_returns_are_netted(database: Database, store: Store) -> None:
    sell(
        database,
        store,
        "a,tent,2026-02-27T12:00:00,4,1",
        "b,tent,2026-02-28T12:00:00,3,1",
        "c,tent,2026-03-01T12:00:00,-5,1",
    )

    assert inputs(database, store).demand.amounts.tolist() == [[2, 0, 0]]


def test_lines_are_counted_where_quantities_are_not_known(
    database: Database, store: Store
) -> None:
    known = [f"k{n},tent,2026-03-01T12:00:00,7,1" for n in range(18)]
    sell(database, store, *known, "u,tent,2026-03-01T12:00:00,,1")

    assert inputs(database, store).target_mode == "order_lines"  # 18 of 19: 94.7 %
    assert inputs(database, store).demand.amounts.sum() == 19

    sell(database, store, "k18,tent,2026-03-01T12:00:00,7,1")
    assert inputs(database, store).target_mode == "units"  # 19 of 20: 95 %
    assert inputs(database, store).demand.amounts.sum() == 19 * 7 + 1


def test_lines_of_more_than_90_days_ago_do_not_decide_what_is_counted(
    database: Database, store: Store
) -> None:
    sell(database, store, "a,tent,2025-11-01T12:00:00,,1", "b,tent,2026-03-01T12:00:00,2,1")

    assert inputs(database, store).target_mode == "units"


def test_windows_are_left_out_of_what_is_learned_and_are_0_ahead(
    database: Database, store: Store
) -> None:
    stock(database, store, lamp={}, tent={"available_until": "2026-03-09"})
    sell_daily(database, store)

    run(database, store)

    days = item(database, store, "tent")["forecast"]
    assert [day["date"] for day in days if day["mean"] > 0] == [
        f"2026-03-0{day}" for day in range(3, 10)
    ]
    # A window that opens again is followed at once, without another run.
    stock(database, store, tent={"available_until": "2026-03-05"})
    days = item(database, store, "tent")["forecast"]
    assert [day["date"] for day in days if day["mean"] > 0][-1] == "2026-03-05"


def test_days_without_stock_are_censored(database: Database, store: Store) -> None:
    stock(database, store, NIGHT - 9 * DAY_MS, tent={"stock_qty": 3}, lamp={})
    sell_daily(database, store, days=60)
    stock(database, store, NIGHT - 8 * DAY_MS, tent={"stock_qty": 0})
    assert track_stock_outs(database, store.store_id, NIGHT - 8 * DAY_MS) == 1
    assert track_stock_outs(database, store.store_id, NIGHT - 7 * DAY_MS) == 0
    stock(database, store, NIGHT - 5 * DAY_MS, tent={"stock_qty": 9})
    assert track_stock_outs(database, store.store_id, NIGHT - 5 * DAY_MS) == 1

    found = inputs(database, store)

    tent = found.demand.on_sale[0 if found.demand.on_sale[1].all() else 1]
    assert (~tent).nonzero()[0].tolist() == [52, 53, 54, 55]  # 22 to 25 February


@pytest.mark.parametrize(
    ("each", "masked"), [(20, 1), (2, 11)], ids=["a slow product", "a fast product"]
)
def test_silence_before_a_stock_out_counts_as_one_only_where_sales_were_due(
    database: Database, store: Store, each: int, masked: int
) -> None:
    stock(database, store, NIGHT - 70 * DAY_MS, tent={"stock_qty": 3}, lamp={})
    sell(
        database,
        store,
        *(
            f"tent-{back},tent,{TODAY - timedelta(days=back)}T18:00:00,1,20"
            for back in range(12, 80)
            if (back - 12) % each == 0
        ),
        *(
            f"lamp-{back},lamp,{TODAY - timedelta(days=back)}T18:00:00,1,20"
            for back in range(1, 80)
        ),
    )
    stock(database, store, NIGHT - DAY_MS, tent={"stock_qty": 0})
    track_stock_outs(database, store.store_id, NIGHT - DAY_MS)

    found = inputs(database, store)

    with database.reading() as connection:
        tent = CatalogRepository(connection, store.store_id).find(["tent"])["tent"]
    (row,) = (found.numbers == tent.number).nonzero()[0]
    assert int((~found.demand.on_sale[row][-20:]).sum()) == masked


def test_an_unsold_product_of_the_first_catalog_is_no_new_product(
    database: Database, store: Store
) -> None:
    sell_daily(database, store)
    stock(database, store, NIGHT - 6 * DAY_MS, tent={}, lamp={})
    stock(database, store, NIGHT - 5 * DAY_MS, vase={})
    stock(database, store, NIGHT - 2 * DAY_MS, kite={})

    found = inputs(database, store)

    rows = dict(zip(found.numbers.tolist(), found.demand.on_sale, strict=True))
    with database.reading() as connection:
        stored = CatalogRepository(connection, store.store_id).find(["vase", "kite"])
    assert rows[stored["vase"].number].all()
    assert rows[stored["kite"].number].sum() <= 2
    run(database, store)
    expected = {
        name: sum(day["mean"] for day in item(database, store, name)["forecast"])
        for name in ("vase", "kite")
    }
    assert expected["vase"] < 2 < expected["kite"]


def test_the_days_ahead_have_what_the_calendar_knows(
    database: Database, store: Store
) -> None:
    stock(database, store, tent={"categories": ["Outdoor", "Tents"]}, lamp={})
    sell_daily(database, store)
    entries = (
        ("campaign", "Tent week", "2026-03-05", "2026-03-06", "Outdoor", "100"),
        ("closure", "Move", "2026-03-10"),
        ("campaign", "Long ago", "2025-03-10"),
    )
    with database.transaction() as transaction:
        calendar = SalesCalendarRepository(transaction, store.store_id)
        for entry in entries:
            calendar.add(parse_calendar_entry(*entry), NIGHT)

    run(database, store)

    tents, lamps = (
        {day["date"]: day["mean"] for day in item(database, store, name)["forecast"]}
        for name in ("tent", "lamp")
    )
    total = {day["date"]: day["mean"] for day in summary(database, store)["forecast"]}
    assert tents["2026-03-05"] == pytest.approx(2 * tents["2026-03-04"], rel=0.01)
    assert lamps["2026-03-05"] == pytest.approx(lamps["2026-03-04"], rel=0.01)
    assert total["2026-03-05"] == pytest.approx(1.5 * total["2026-03-04"], rel=0.01)
    assert tents["2026-03-10"] == lamps["2026-03-10"] == total["2026-03-10"] == 0
    with database.reading() as connection:
        made = ForecastRepository(connection, store.store_id).newest_run()
    assert made is not None
    assert [(one["name"], one["factor"]) for one in made.total["events"]] == [
        ("Tent week", 2.0),
        ("Move", 0.0),
    ]


@pytest.mark.parametrize("source", ["campaign", "planned price", "both"])
def test_a_sale_price_ahead_sells_what_reduced_prices_sold(
    database: Database, store: Store, source: str
) -> None:
    names = [f"tent-{number}" for number in range(8)]
    rows = [
        f"{name}-{back}-{one},{name},{TODAY - timedelta(days=back)}T18:00:00,1,{price}"
        for number, name in enumerate(names)
        for back in range(1, 81)
        for price in [16 if back // 8 == number + 1 else 20]  # a week at 20 % less
        for one in range(6 if price < 20 else 3)
    ]
    sell(database, store, *rows)
    facts: dict[str, Any] = {name: {"price": 20.0} for name in names}
    if source != "campaign":
        planned = {
            "planned_price": 16.0,
            "planned_price_from": "2026-03-05",
            "planned_price_until": "2026-03-06T23:59:59+01:00",
        }
        facts = {name: fields | planned for name, fields in facts.items()}
    stock(database, store, **facts)
    sale = parse_calendar_entry(
        "campaign", "Sale", "2026-03-05", "2026-03-06", price_change="-20"
    )
    if source != "planned price":
        with database.transaction() as transaction:
            SalesCalendarRepository(transaction, store.store_id).add(sale, NIGHT)

    run(database, store)

    with database.reading() as connection:
        made = ForecastRepository(connection, store.store_id).newest_run()
    assert made is not None
    event = {
        "kind": "planned_price" if source == "planned price" else "campaign",
        "name": "Planned price of 8 products, -20 %"
        if source == "planned price"
        else "Sale",
        "first_day": "2026-03-05",
        "last_day": "2026-03-06",
        "factor": pytest.approx(2, rel=0.15),
    }
    assert made.total["events"] == [event]  # once, also where the campaign plans it too
    assert 0.8 ** made.total["price_elasticity"] == pytest.approx(2, rel=0.15)


@pytest.mark.parametrize(
    ("facts", "campaign", "expected"),
    [
        ({"price": 20.0}, None, [(0, 27, 0.8)]),
        ({"price": 16.0, "list_price": 20.0}, None, [(-4, 27, 0.8)]),  # it has begun
        ({"price": 16.0}, None, []),
        ({"price": 20.0, "planned_price": 90.0}, None, []),  # no price of this product
        ({"price": 20.0}, ("2026-03-10", "2026-03-11"), [(0, 7, 0.8), (10, 27, 0.8)]),
    ],
)
def test_a_planned_price_counts_from_its_first_day_outside_campaigns(
    database: Database,
    store: Store,
    facts: dict[str, float],
    campaign: tuple[str, str] | None,
    expected: list[tuple[int, int, float]],
) -> None:
    sell_daily(database, store)
    first = "2026-02-26" if "list_price" in facts else "2026-03-02"
    planned: dict[str, Any] = {"planned_price": 16.0, "planned_price_from": first}
    planned["planned_price_until"] = "2026-03-29"
    stock(database, store, tent=planned | facts)
    if campaign is not None:
        with database.transaction() as transaction:
            SalesCalendarRepository(transaction, store.store_id).add(
                parse_calendar_entry("campaign", "Sale", *campaign), NIGHT
            )

    events = inputs(database, store).events

    found = [
        (event.first - TODAY.toordinal(), event.last - TODAY.toordinal(), event.price)
        for event in events
        if event.kind is SpecialDayKind.PLANNED_PRICE
    ]
    assert found == expected


def test_the_holidays_are_those_of_the_country_and_its_region(
    database: Database, store: Store
) -> None:
    sell_daily(database, store)
    change_settings(database, store, {"holiday_country": "DE-BY"})
    bavaria = find_store(database, store.domain)

    found = inputs(database, bavaria, NIGHT)
    none = inputs(database, store, NIGHT)

    days = [date.fromordinal(one.first).isoformat() for one in found.events]
    assert "2026-01-06" in days  # Epiphany, a holiday of Bavaria
    assert not none.events


def test_an_interrupted_run_goes_on_from_its_backtest(
    database: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    sell_daily(database, store)
    backtests = []
    judge = backtest.run_backtest

    def counted(*arguments: Any) -> Any:
        backtests.append(1)
        return judge(*arguments)

    def stop_at_half(share: float) -> None:
        if share >= 0.9:
            raise KeyboardInterrupt

    monkeypatch.setattr(running, "run_backtest", counted)
    clock = fixed_clock(NIGHT)
    with pytest.raises(KeyboardInterrupt):
        forecast_and_publish(database, store, clock, stop_at_half, threads=1)
    assert summary(database, store)["generated_at"] is None

    run(database, store)
    assert len(backtests) == 1
    assert summary(database, store)["generated_at"] == "2026-03-02T01:30:00.000Z"

    run(database, store, NIGHT + HOUR_MS)  # the draft is gone with the run that used it
    assert len(backtests) == 2


def test_a_deleted_store_is_not_forecast(database: Database, store: Store) -> None:
    sell_daily(database, store, days=40)
    delete_store(database, store)

    with pytest.raises(StoreDeletedError):
        run(database, store)


def test_a_store_is_due_at_once_and_then_at_its_own_night(
    database: Database, store: Store
) -> None:
    tokyo, _ = register_store(
        database,
        Registration("jp.example", settings={"timezone": "Asia/Tokyo"}),
        fixed_clock(NIGHT),
    )
    stores = [store, change_settings(database, tokyo, {"demand_forecast": "true"})]
    idle, _ = register_store(database, Registration("idle.example"), fixed_clock(NIGHT))

    def due(moment: str) -> list[StoreId]:
        return stores_with_due_forecast(database, [*stores, idle], parse_timestamp(moment))

    assert due("2026-03-02T15:00Z") == [store.store_id, tokyo.store_id]
    for one in stores:
        run(database, one, parse_timestamp("2026-03-02T15:00Z"))  # midnight in Tokyo
    assert due("2026-03-02T16:30Z") == []
    assert due("2026-03-03T00:59Z") == []
    assert due("2026-03-03T01:30Z") == [store.store_id]
    assert due("2026-03-03T16:59Z") == [store.store_id]
    assert due("2026-03-03T17:30Z") == [store.store_id, tokyo.store_id]


def test_the_library_of_trees_is_loaded_by_who_learns_only() -> None:
    program = (
        "import sys, productrecs.application\n"
        "import productrecs.worker.child_process_jobs\n"
        "import productrecs.worker.store_jobs\n"
        "print('lightgbm' in sys.modules)"
    )

    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert process.stdout.strip() == "False"
