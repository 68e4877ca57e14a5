"""Demand pages: a store's forecast, its back-test in words, and what to order."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from productrecs.application import create_application
from productrecs.dashboard.charts import ExpectedSalesDay
from productrecs.dashboard.formats import Formats
from productrecs.dashboard.pages.analyse.demand_forecast import (
    accuracy_sentences,
    short_season_sentences,
    stock_status_and_colour,
)
from productrecs.dashboard.pages.analyse.product_forecast import (
    count_days_sold_out,
    flat_forecast_reason,
)
from productrecs.storage.sql.tables import forecast_runs
from productrecs.tenancy.accounts.store_management import change_settings, find_store
from productrecs.training.demand.forecast_run import forecast_and_publish
from productrecs.training.demand.repository import track_stock_outs
from tests.api.inside import Inside
from tests.records.orders.import_support import import_text
from tests.support.dashboard import Member, add_store, flat_text, text_of
from tests.support.filled_store import open_store

if TYPE_CHECKING:
    from productrecs.core.report import ReportValue
    from productrecs.tenancy.accounts.store import Store
    from tests.dashboard.conftest import Office

DAYS = 150
ORDERS = "/dashboard/demand/orders"


@pytest.fixture(scope="module")
def selling(office: Office) -> Store:
    """Give a store that sold three lamps a day and has two, and has far too many vases."""
    services = office.services
    made = open_store(services.database, services.clock, office.inside, "demand.example")
    chosen = {"demand_forecast": "true", "currency": "EUR"}
    change_settings(services.database, made.store, chosen)
    products = (("lamp", 2), ("vase", 500))
    items = [
        {"id": name, "title": f"A {name}", "price": 20, "stock_qty": stock}
        for name, stock in products
    ]
    assert made.merchant.push(*items).status == 200
    now = datetime.fromtimestamp(services.clock() / 1000, UTC)
    rows = [
        f"{name}-{back}-{one},{name},{now - timedelta(days=back):%Y-%m-%d}T12:00:00,1,20"
        for back in range(1, DAYS + 1)
        for name, each in (("lamp", 3), ("vase", 1))
        for one in range(each + (back % 7 == 0) * each)
    ]
    header = "order_id,item_id,timestamp,quantity,price\n"
    import_text(services.database, made.store.store_id, header + "\n".join(rows))
    store = find_store(services.database, "demand.example")
    forecast_and_publish(
        services.database, store, services.clock, lambda _share: None, threads=1
    )
    return store


def sold_daily(office: Office, *, soon: int, gone: int) -> Store:
    """Return a store whose products sell daily; it has little stock of them, or none."""
    services = office.services
    made = open_store(services.database, services.clock, office.inside, "daily.example")
    change_settings(services.database, made.store, {"demand_forecast": "true"})
    stocks = {f"soon-{one}": 3 for one in range(soon)} | {
        f"gone-{one}": 0 for one in range(gone)
    }
    items = [
        {"id": one, "title": one, "price": 9, "stock_qty": stock}
        for one, stock in stocks.items()
    ]
    for begin in range(0, len(items), 50):
        assert made.merchant.push(*items[begin : begin + 50]).status == 200
    now = datetime.fromtimestamp(services.clock() / 1000, UTC)
    rows = [
        f"{name}-{back},{name},{now - timedelta(days=back):%Y-%m-%d}T12:00:00,1,9"
        for back in range(1, 61)
        for name in stocks
    ]
    header = "order_id,item_id,timestamp,quantity,price\n"
    import_text(services.database, made.store.store_id, header + "\n".join(rows))
    found = find_store(services.database, "daily.example")
    forecast_and_publish(
        services.database, found, services.clock, lambda _share: None, threads=1
    )
    return found


@pytest.fixture
def owner(office: Office, selling: Store) -> Member:
    return office.member(selling)


def chart_rows(body: str) -> list[list[str]]:
    """Return the rows of the table below a page's first chart."""
    table = re.search(r"data-chart.*?<tbody>(.*?)</tbody>", body, re.S)
    assert table is not None
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in table[1].split("</tr>")[:-1]]


@pytest.mark.parametrize(("days", "sentences"), [(391, 1), (392, 0), (None, 0)])
def test_a_history_without_last_years_season_says_so(
    days: float | None, sentences: int
) -> None:
    assert len(short_season_sentences(days)) == sentences


def test_the_store_sees_history_band_and_error_in_words(owner: Member) -> None:
    page = owner.get("/dashboard/demand")

    text, body = flat_text(page), page.body.decode()
    assert re.search(r"Expected in 7 days 3\d units", text)  # four a day, once eight
    assert re.search(r"was off by \d+ % of what was sold", text)
    assert re.search(r"\d+ % of the days were within the likely range; 80 %", text)
    assert "own sales" in text
    assert re.search(r"\d+ \w+ 20\d\d is missing: the forecast was made on it", text)
    assert f"The forecast uses {DAYS} days of sales. From 392 days on" in text
    rows = chart_rows(body)
    assert len(rows) == 120 + 28
    assert {row[1] for row in rows[:120]} == {"4", "8"}
    ahead = [float(row[2]) for row in rows[120:]]
    assert min(ahead) == pytest.approx(4.0, abs=0.5)
    expected = re.search(r"Expected in 28 days (\d+) units likely between (\d+) and", text)
    assert expected is not None
    assert sum(ahead) == pytest.approx(float(expected[1]), abs=2), "the line sums to it"
    assert not re.search(r"\bp10\b|\bp90\b|[Mm]edian", text)
    assert 'class="band"' in body  # without JavaScript


def test_products_to_order_come_first_and_overstock_is_shown(owner: Member) -> None:
    rows = re.findall(
        r'<th scope="row".*?</tr>', owner.get("/dashboard/demand").body.decode(), re.S
    )
    assert "A lamp" in rows[0]
    assert "Sells out" in rows[0]
    assert "Overstock" in rows[1]

    page = owner.get("/dashboard/demand?by=overstock_value").body.decode()
    assert page.index("A vase") < page.index("A lamp")
    link = re.search(r'href="(/dashboard/report.csv\?report=demand[^"]*)"', page)
    assert link is not None
    reply = owner.get(link[1].replace("&amp;", "&"))
    (first, second) = csv.DictReader(io.StringIO(reply.body.decode("utf-8-sig")))
    assert (first["item_id"], second["item_id"]) == ("vase", "lamp")


def test_one_product_has_its_chart_its_pace_and_its_order(owner: Member) -> None:
    page = owner.get("/dashboard/demand/product?id=lamp")

    text = flat_text(page)
    assert "The last 30 days 3.40 units a day" in text
    assert "In stock 2" in text
    assert re.search(r"Order \d+ today, for 14 \+ 7 days", text)
    needed = re.search(
        r"Order when stock is down to ([\d.]+): ([\d.]+) expected in 14 days of lead time, "
        r"and ([\d.]+) as safety stock for 95 %",
        text,
    )
    assert needed is not None
    limit, expected, safety = map(float, needed.groups())
    assert limit == pytest.approx(expected + safety, abs=0.11)
    assert expected == pytest.approx(3.4 * 14, rel=0.1)
    assert "Averages of its own sales" in text
    rows = chart_rows(page.body.decode())
    ahead = [float(row[2]) for row in rows[120:]]
    stated = re.search(r"Expected in 28 days ([0-9.]+) units", text)
    assert stated is not None
    assert sum(ahead) == pytest.approx(float(stated[1]), abs=28 * 0.05)
    assert owner.get("/dashboard/demand/product?id=no-such").status == 404
    assert len(rows) == 120 + 28
    sold = [float(row[1]) for row in rows[:120]]
    assert set(sold) == {3.0, 6.0}  # each day, and each seventh
    assert sum(sold[-30:]) / 30 == pytest.approx(3.4)
    assert sold[-7] == 6.0, "seven days before today"


@pytest.mark.parametrize(
    "page", ["/dashboard/demand?", "/dashboard/demand/product?id=lamp&"]
)
@pytest.mark.parametrize(
    ("back", "until", "shown"),
    [(9, 5, 5), (3, None, 3 + 28), (100, -2, 100 + 2), (90, 91, 0)],
)
def test_a_chart_shows_the_dates_that_somebody_chose(
    office: Office, owner: Member, page: str, back: int, until: int | None, shown: int
) -> None:
    today = datetime.fromtimestamp(office.services.clock() / 1000, UTC)

    def day(ago: int | None) -> str:
        return "" if ago is None else f"{today - timedelta(days=ago):%Y-%m-%d}"

    address = f"{page}from={day(back)}&until={day(until)}"
    body = owner.get(address).body.decode()

    rows = re.findall(r"<tr>", body.split('class="compact"')[1].split("</table>")[0])
    if not shown:
        assert "Choose dates among them" in body
        shown = 120 + 28
    assert len(rows) - 1 == shown


@pytest.mark.parametrize("page", ["demand?", "demand/product?id=lamp&"])
def test_a_chart_says_which_dates_it_lacks(owner: Member, page: str) -> None:
    early = text_of(owner.get(f"/dashboard/{page}from=2020-01-01&until=2040-01-01"))

    assert "There are days from" in early
    assert "Choose dates among them" not in early


def test_home_counts_what_the_page_demand_counts_beyond_the_first_products(
    office: Office,
) -> None:
    member = office.member(sold_daily(office, soon=103, gone=2))

    home = flat_text(member.get("/dashboard"))
    demand = flat_text(member.get("/dashboard/demand"))

    assert "2 sold out, 103 will sell out before new stock arrives" in demand
    assert re.search(r"and 1 more are sold out", home)
    assert re.search(r"and 102 more will sell out before new stock can arrive", home)


@pytest.mark.parametrize(
    ("due", "every", "status"),
    [(1, 7, "Order soon"), (6, 7, "Order soon"), (7, 7, "Healthy"), (7, 8, "Order soon")],
)
def test_a_product_to_order_before_the_next_order_is_not_called_healthy(
    due: int, every: int, status: str
) -> None:
    today = datetime(2026, 11, 27, tzinfo=UTC).date()
    order_date = f"{today + timedelta(days=due)}"
    row: dict[str, ReportValue] = {"alert": None, "stock_qty": 9, "order_date": order_date}
    row["order_every_days"] = every

    assert stock_status_and_colour(row, today)[0] == status


def test_an_error_like_that_of_simple_methods_is_no_smaller() -> None:
    accuracy = {"wape": 0.2, "bias": -0.08, "coverage_p10_p90": 0.8, "baseline_rmsse": 1.0}
    visit: Any = SimpleNamespace(formats=Formats.plain())

    equal = accuracy_sentences(visit, accuracy | {"rmsse": 0.997})
    better = accuracy_sentences(visit, accuracy | {"rmsse": 0.9})

    assert "Its error was no smaller than that of the better of two" in equal[-1]
    assert "Its error was 10\xa0% smaller than that of the better of two" in better[-1]
    assert "8\xa0% too low. The likely range allows for that" in equal[1]


@pytest.mark.parametrize(
    ("alert", "on_order", "due", "status"),
    [
        ("runs_out", 9, None, "Sells out before goods arrive"),
        ("runs_out", 9, 0, "Sells out"),  # the goods do not suffice: order more today
        ("runs_out", 0, 0, "Sells out"),
        ("out_of_stock", 9, 5, "Sold out, on order"),
        ("overstock", 9, None, "Overstock"),
    ],
)
def test_goods_on_order_show_beside_the_alert(
    alert: str, on_order: int, due: int | None, status: str
) -> None:
    today = datetime(2026, 11, 27, tzinfo=UTC).date()
    order_date = None if due is None else f"{today + timedelta(days=due)}"
    row: dict[str, ReportValue] = {
        "alert": alert,
        "on_order": on_order,
        "stock_qty": 9,
        "order_date": order_date,
    }

    assert stock_status_and_colour(row, today)[0] == status


def test_a_short_history_is_a_warning_and_days_before_it_are_not_shown(
    office: Office, selling: Store
) -> None:
    database, member = office.services.database, office.member(selling)
    runs = forecast_runs.c.store_id == selling.store_id
    with database.transaction() as transaction:
        stored = transaction.execute(sa.select(forecast_runs).where(runs)).mappings().one()
        short = [(day, 0.0) for day, _ in json.loads(stored["history"])[:-15]]
        short += json.loads(stored["history"])[-15:]
        changed = {"history": json.dumps(short), "accuracy": None}
        transaction.execute(forecast_runs.update().where(runs).values(changed))
    try:
        pages = ("", "/orders", "/product?id=lamp")
        demand, orders, product = (
            flat_text(member.get(f"/dashboard/demand{page}")) for page in pages
        )
    finally:
        with database.transaction() as transaction:
            query = forecast_runs.update().where(runs)
            transaction.execute(query.values({one: stored[one] for one in changed}))

    for text in (demand, orders):
        assert "The shop has 15 days of orders. From fewer than 56 days" in text
    assert "It needs 126 days of orders with a lead time of 14 days." in orders
    assert "The store has 15 days." in orders
    assert "61 to 90 days ago" not in product
    assert "31 to 60 days ago" not in product
    assert "The shop has" not in flat_text(member.get("/dashboard/demand"))


def test_turned_on_again_the_page_says_when_the_last_forecast_was_made(
    office: Office, selling: Store
) -> None:
    member = office.member(selling)
    for choice in ("off", "on"):
        member.post(f"/dashboard/demand/{choice}", page="/dashboard/demand")

    assert "The forecast is on. The last one was made" in text_of(
        member.get("/dashboard/demand")
    )


def test_a_long_sold_out_product_says_since_when_and_what_is_expected(
    office: Office,
) -> None:
    services = office.services
    made = open_store(services.database, services.clock, office.inside, "forks.example")
    change_settings(services.database, made.store, {"demand_forecast": "true"})
    items = [
        {"id": name, "title": name, "price": 9, "stock_qty": stock}
        for name, stock in (("fork", 0), ("lamp", 15))
    ]
    assert made.merchant.push(*items).status == 200
    now = datetime.fromtimestamp(services.clock() / 1000, UTC)
    rows = [
        f"{name}-{back},{name},{now - timedelta(days=back):%Y-%m-%d}T12:00:00,1,9"
        for name, last in (("fork", 110), ("lamp", 1))
        for back in range(last, 200)
    ]
    header = "order_id,item_id,timestamp,quantity,price\n"
    import_text(services.database, made.store.store_id, header + "\n".join(rows))
    store = find_store(services.database, "forks.example")
    track_stock_outs(services.database, store.store_id, services.clock())
    forecast_and_publish(
        services.database, store, services.clock, lambda _share: None, threads=1
    )
    member = office.member(store)

    product = flat_text(member.get("/dashboard/demand/product?id=fork"))
    sheets = flat_text(member.get("/dashboard/demand/orders"))

    first, last = (f"{day.day} {day:%b %Y}" for day in (now, now - timedelta(days=110)))
    assert f"In stock 0, sold out since {first} or before; last sold on {last}" in product
    assert "It has not sold in the last 90 days." in product
    assert "fork No sale in 90 days" in sheets
    assert "lamp No sale" not in sheets


def test_a_product_gets_its_supplier_on_its_page(owner: Member) -> None:
    product = "/dashboard/demand/product?id=lamp"
    form = product.replace("?", "/supplier?")

    saved = owner.post(form, page=product, supplier="Lamps & Co", pack_size="12")
    page, sheets = owner.get(product).body.decode(), flat_text(owner.get(ORDERS))
    wrong = owner.post(form, page=product, supplier="Lamps & Co", pack_size="many")
    removed = owner.post(form, page=product, supplier="")
    ghost = owner.post(form.replace("lamp", "ghost"), page=product, supplier="A")

    assert (saved.status, wrong.status, removed.status) == (303, 422, 303)
    assert 'name="supplier" value="Lamps &amp; Co"' in page
    assert re.search(r"A lamp lamp \d+ \d+ of 12", sheets)
    assert "The pack size is a whole number" in text_of(wrong)
    assert 'name="supplier" value=""' in owner.get(product).body.decode()
    assert ghost.status == 404
    log = flat_text(owner.get("/dashboard/audit"))
    assert "Saved a product's supplier Lamps & Co: Products: 1" in log
    owner.post(f"{ORDERS}/remove", page=ORDERS, supplier="Lamps & Co")


def test_a_flat_forecast_says_why() -> None:
    sold = [("2026-01-01", 1.0), ("2026-01-02", 0.0)]
    flat_days = [
        ExpectedSalesDay("2026-01-03", 0, 1.0, 2),
        ExpectedSalesDay("2026-01-04", 0, 1.02, 2),
    ]

    reason = flat_forecast_reason(sold, flat_days, 1)
    assert "It sold on 1 of the last 2 days. It was sold out on 1 of them" in reason
    assert "the average of its category counts as well" in reason
    often = [(f"2026-01-{day:02}", 1.0) for day in range(1, 10)]
    assert "category" not in flat_forecast_reason(often, flat_days)
    assert not flat_forecast_reason(
        sold, [flat_days[0], ExpectedSalesDay("2026-01-04", 0, 2.0, 2)]
    )


@pytest.mark.parametrize(
    ("since", "until", "days"), [(2, None, 2), (3, 2, 2), (9, 8, 0), (9, None, 3)]
)
def test_days_without_stock_are_counted(since: int, until: int | None, days: int) -> None:
    today = datetime(2026, 1, 10, 12, tzinfo=UTC)

    def moment(back: int) -> int:
        return int((today - timedelta(days=back)).timestamp() * 1000)

    sold = [(f"{today - timedelta(days=back):%Y-%m-%d}", 0.0) for back in (3, 2, 1)]
    period = (moment(since), None if until is None else moment(until))

    assert count_days_sold_out([period], sold, UTC) == days


def test_a_healthy_product_is_not_among_those_to_order(owner: Member) -> None:
    page = "/dashboard/demand"
    sent = {"lead_time_days": "14", "service_level": "95", "order_every_days": "7"}

    owner.post(f"{page}/ordering", page=page, **sent, overstock_days="700")
    to_order = owner.get(page).body.decode()
    all_rows = owner.get(f"{page}?by=expected_28_days").body.decode()
    owner.post(f"{page}/ordering", page=page, **sent, overstock_days="90")

    assert "A lamp</a>" in to_order
    assert "A vase</a>" not in to_order
    assert "A vase</a>" in all_rows


def test_a_store_without_forecast_sees_when_one_comes(office: Office, store: Store) -> None:
    member = office.member(store)
    assert "The demand forecast is off" in text_of(member.get("/dashboard/demand"))

    waiting = add_store(office.services, "waiting.example", demand_forecast="true")
    text = text_of(office.member(waiting).get("/dashboard/demand"))
    assert "The first forecast is on its way" in text


def test_an_owner_turns_the_forecast_on_and_off(office: Office, store: Store) -> None:
    member, page = office.member(store), "/dashboard/demand"

    on = member.post(f"{page}/on", page=page)
    waiting = text_of(member.get(page))
    off = member.post(f"{page}/off", page=page)
    warning = "anybody can read past sales, the forecast and stock over the API"

    assert (on.status, off.status) == (303, 303)
    assert "The forecast is on." in waiting
    assert "The first forecast is on its way" in waiting
    assert "The demand forecast is off" in text_of(member.get(page))
    assert warning in text_of(member.get(page))


def test_a_plan_without_forecast_says_so(office: Office, store: Store) -> None:
    plans = dict(office.services.settings.plans)
    plans["unlimited"] = replace(plans["unlimited"], forecast=False)
    settings = replace(office.services.settings, plans=plans)
    services = replace(office.services, settings=settings)
    with Inside(create_application(services, draining=[])) as inside:
        member = Member(inside)
        member.log_in(store.domain)
        page = member.get("/dashboard/demand")
        refused = member.post("/dashboard/demand/on", page="/dashboard/demand")

    assert "Your plan does not include it" in text_of(page)
    assert refused.status == 400
    assert "your plan has no demand forecast" in text_of(refused).lower()
    assert not find_store(services.database, store.domain).settings.demand_forecast


def test_how_the_shop_orders_changes_what_to_order(
    office: Office, owner: Member, selling: Store
) -> None:
    page = "/dashboard/demand"
    sent = {"service_level": "95", "order_every_days": "7", "overstock_days": "90"}

    wrong = owner.post(f"{page}/ordering", page=page, lead_time_days="0", **sent)
    before = flat_text(owner.get(f"{page}/product?id=lamp"))
    saved = owner.post(f"{page}/ordering", page=page, lead_time_days="20", **sent)
    after = flat_text(owner.get(f"{page}/product?id=lamp"))

    assert (wrong.status, saved.status) == (422, 303)
    assert "Lead time, in days must be" in text_of(wrong)
    found = [re.search(r"Order (\d+) today", text) for text in (before, after)]
    few, more = (int(one[1]) for one in found if one is not None)
    assert more > few
    stored = find_store(office.services.database, selling.domain).settings
    assert stored.lead_time_days == 20
