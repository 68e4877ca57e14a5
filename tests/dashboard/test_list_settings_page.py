"""List settings: in force at once, all or none, without a browser."""

import json

import pytest

from productrecs.storage.jobs.job_queue import JobState, count_jobs_by_state
from productrecs.tenancy.accounts.store_management import find_store
from tests.dashboard.conftest import Office
from tests.support.dashboard import text_of
from tests.support.filled_store import Filled, open_store
from tests.support.service import eventually

PAGE = "/dashboard/merchandising/settings"
FIELDS = {
    "rec_num": "3",
    "hide_out_of_stock": "on",
    "visual_recommendations": "on",
    "repeat_after_days": "0",
    "trending_metric": "orders",
    "trending_days": "30",
    "trending_min_price": "0",
    "search_sold_out": "mixed",
    "search_meaning": "on",
    "search_query_filters": "on",
    "search_collapse": "request",
    "customer_lists": "limited",
    "unconfirmed_orders": "auto",
}


@pytest.fixture
def shop(office: Office) -> Filled:
    """Return a store of twelve products, one of them out of stock."""
    office.now_ms += 3_600_000
    services = office.services
    domain = f"settings-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    goods = [{"id": f"p{n}", "title": f"Good {n}", "stock_qty": n} for n in range(12)]
    assert made.merchant.push(*goods).status == 200
    return made


def test_a_saved_setting_is_in_force_and_says_so(office: Office, shop: Filled) -> None:
    member = office.member(shop.store)
    assert len(shop.merchant.recommend(item_id="p1").ids) == 8

    reply = member.post(PAGE, **FIELDS)

    assert reply.status == 303
    assert "follows within a second" in text_of(member.get(PAGE))
    assert eventually(lambda: len(shop.merchant.recommend(item_id="p1").ids) == 3, 5)


def test_a_lowest_price_of_three_decimals_is_shown_so_that_it_is_read_back(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    sent = FIELDS | {"trending_min_price": "12.3450"}
    member.post(PAGE, **sent)

    form = member.get(PAGE).body.decode()

    assert 'value="12.3450"' in form
    assert member.post(PAGE, **sent).status == 303


def test_price_lists_are_named_and_a_groups_prices_made_public(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    assert "No product has a price list" in text_of(member.get(PAGE))
    prices = {"USD": {"price": 9, "list_price": 12.5}, "group:club": 7}
    shop.merchant.push({"id": "p1", "prices": prices}, {"id": "p2", "prices": {"USD": 3}})

    assert "USD (2 products), group:club (1 product)." in text_of(member.get(PAGE))
    page = text_of(member.get("/dashboard/products/item?id=p1"))
    product = " ".join(page.split())
    assert "Price in USD 9.00 USD 12.50 USD" in product
    assert "Price in group:club €7.00" in product
    assert member.post(PAGE, **FIELDS, public_price_groups="Club, x").status == 303
    eventually(lambda: shop.merchant.trending(price_list="group:club").status == 200)
    assert member.post(PAGE, **FIELDS, public_price_groups="a b").status == 422


def test_products_out_of_stock_are_shown_when_the_box_is_not_ticked(
    office: Office, shop: Filled
) -> None:
    fields = {name: text for name, text in FIELDS.items() if name != "hide_out_of_stock"}
    assert "p0" not in shop.merchant.recommend(num=20).ids

    office.member(shop.store).post(PAGE, **fields)

    assert eventually(lambda: "p0" in shop.merchant.recommend(num=20).ids, 5)


def test_an_error_is_shown_beside_its_field_and_nothing_is_stored(
    office: Office, shop: Filled
) -> None:
    wrong = FIELDS | {"rec_num": "99", "trending_days": "many", "search_sold_out": "last"}

    reply = office.member(shop.store).post(PAGE, **wrong)

    assert reply.status == 422
    assert "Products in a list must be a whole number from 1 to 20." in text_of(reply)
    assert "Days that count must be a whole number from 1 to 365." in text_of(reply)
    assert 'value="many"' in reply.body.decode()
    settings = find_store(office.services.database, shop.store.domain).settings
    assert (settings.rec_num, settings.search_sold_out) == (8, "mixed")


def test_trending_is_counted_anew_after_a_change(office: Office, shop: Filled) -> None:
    member = office.member(shop.store)

    member.post(PAGE, **(FIELDS | {"trending_metric": "revenue"}))
    page = text_of(member.get(PAGE))
    member.post(PAGE, **(FIELDS | {"trending_metric": "revenue"}))
    again = text_of(member.get(PAGE))

    assert "Trending is counted anew" in page
    assert "Nothing was changed." in again


def test_unconfirmed_orders_are_left_out_by_one_click(office: Office, shop: Filled) -> None:
    member = office.member(shop.store)
    line = [{"item_id": "p1"}]
    for number in range(30):
        target = shop.merchant.target("/v1/orders")
        sent = json.dumps({"order_id": f"P-{number}", "items": line}).encode()
        assert shop.merchant.client.ask("POST", target, sent).status == 200
    assert "Leave these out" not in text_of(member.get("/dashboard/impact"))
    assert shop.merchant.order("A-1", "p1").status == 200
    assert "Leave these out" in text_of(member.get("/dashboard/impact"))

    reply = member.post("/dashboard/impact/leave-out", what="unconfirmed")

    assert reply.status == 303
    settings = find_store(office.services.database, shop.store.domain).settings
    assert settings.unconfirmed_orders == "ignore"
    shown = text_of(member.get("/dashboard/impact"))
    assert "no longer count" in shown
    assert "Leave these out" not in shown
    assert member.post("/dashboard/impact/leave-out", what="excess").status == 303
    with office.services.database.reading() as connection:
        assert count_jobs_by_state(connection, shop.store.store_id)[JobState.QUEUED] == 1
