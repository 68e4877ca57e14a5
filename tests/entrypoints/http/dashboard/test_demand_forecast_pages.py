"""Demand pages: a store's forecast, its back-test in words, and what to order."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from productrecs.entrypoints.http.application import create_application
from productrecs.tenancy.accounts.store_management import change_settings, find_store
from productrecs.training.demand.forecast_run import forecast_store
from tests.api.inside import Inside
from tests.records.orders.import_support import import_text
from tests.support.dashboard import Member, add_store, text_of
from tests.support.filled_store import open_store

if TYPE_CHECKING:
    from productrecs.tenancy.accounts.store import Store
    from tests.entrypoints.http.dashboard.conftest import Office

DAYS = 150


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
    forecast_store(services.database, store, services.clock, lambda _share: None, threads=1)
    return store


@pytest.fixture
def owner(office: Office, selling: Store) -> Member:
    return office.member(selling)


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_the_store_sees_history_band_and_error_in_words(owner: Member) -> None:
    page = owner.get("/dashboard/demand")

    text, body = flat(text_of(page)), page.body.decode()
    assert re.search(r"Expected in 7 days 3\d units", text)  # four a day, once eight
    assert re.search(r"was off by \d+ % of what was sold", text)
    assert re.search(r"\d+ % of the days were within the band; 80 %", text)
    assert "Statistical methods" not in text
    points = json.loads(re.search(r"data-series='([^']+)'", body)[1])  # type: ignore[index]
    assert [len(one) for one in points] == [120 + 28] * 5
    assert set(points[1][:120]) == {4.0, 8.0}
    assert min(points[4][120:]) == pytest.approx(4.0, abs=0.5)  # the median
    assert 'class="band"' in body  # without JavaScript


def test_what_to_order_comes_first_and_overstock_is_told(owner: Member) -> None:
    rows = re.findall(
        r'<th scope="row".*?</tr>', owner.get("/dashboard/demand").body.decode(), re.S
    )
    assert "A lamp" in rows[0]
    assert "Runs out" in rows[0]
    assert "Overstock" in rows[1]

    page = owner.get("/dashboard/demand?by=overstock_value").body.decode()
    assert page.index("A vase") < page.index("A lamp")
    link = re.search(r'href="(/dashboard/report.csv\?report=demand[^"]*)"', page)
    assert link is not None
    reply = owner.get(link[1].replace("&amp;", "&"))
    (first, second) = csv.DictReader(io.StringIO(reply.body.decode()))
    assert (first["item_id"], second["item_id"]) == ("vase", "lamp")


def test_one_product_has_its_chart_its_pace_and_its_order(owner: Member) -> None:
    page = owner.get("/dashboard/demand/product?id=lamp")

    text = flat(text_of(page))
    assert "The last 30 days 3.40 units a day" in text
    assert "In stock 2" in text
    assert re.search(r"Order \d+ by \d+ \w{3} \d{4}", text)
    assert "Statistical methods" in text
    assert owner.get("/dashboard/demand/product?id=no-such").status == 404
    series = re.search(r"data-series='([^']+)'", page.body.decode())
    assert series is not None
    points = json.loads(series[1])
    assert [len(one) for one in points] == [120 + 28] * 5
    sold = points[1][:120]
    assert set(sold) == {3.0, 6.0}  # each day, and each seventh
    assert sum(sold[-30:]) / 30 == pytest.approx(3.4)
    assert sold[-7] == 6.0, "seven days before today"


def test_a_store_without_forecast_is_told_how_one_comes(
    office: Office, store: Store
) -> None:
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

    assert (on.status, off.status) == (303, 303)
    assert "The forecast is on." in waiting
    assert "The first forecast is on its way" in waiting
    assert "The demand forecast is off" in text_of(member.get(page))


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
    before = flat(text_of(owner.get(f"{page}/product?id=lamp")))
    saved = owner.post(f"{page}/ordering", page=page, lead_time_days="20", **sent)
    after = flat(text_of(owner.get(f"{page}/product?id=lamp")))

    assert (wrong.status, saved.status) == (422, 303)
    assert "Lead time, in days must be" in text_of(wrong)
    found = [re.search(r"Order (\d+) by", text) for text in (before, after)]
    few, more = (int(one[1]) for one in found if one is not None)
    assert more > few
    stored = find_store(office.services.database, selling.domain).settings
    assert stored.lead_time_days == 20
