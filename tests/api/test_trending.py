"""GET /v1/trending: by the store's measure, the same for everybody."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from productrecs.tenancy.accounts.store_management import change_settings, find_store
from tests.support.service import Merchant, Service, eventually

ITEMS = ["often", "many", "dear", "carted", "viewed", "old", "new"]


@pytest.fixture(scope="module")
def shop(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Merchant:
    """Return a store in which each measure has another winner."""
    merchant = service.register()
    merchant.push(*({"id": one, "price": 10 * n} for n, one in enumerate(ITEMS)))
    for n in range(4):
        merchant.order(f"often-{n}", {"item_id": "often", "price": 1})
    merchant.order("many", {"item_id": "many", "quantity": 50, "price": 1})
    merchant.order("many-again", {"item_id": "many", "quantity": 1, "price": 1})
    merchant.order("dear", {"item_id": "dear", "quantity": 1, "price": 1_000})
    for n in range(3):
        merchant.track({"event": "add-to-cart", "item_id": "carted", "session_id": f"s{n}"})
        merchant.track(
            {"event": "detail-page-view", "item_id": "carted", "session_id": "s"}
        )
    for n in range(9):
        view = {"event": "detail-page-view", "item_id": "viewed", "session_id": f"s{n}"}
        merchant.track(view)
    _import(service, merchant, tmp_path_factory.mktemp("past") / "past.csv")
    return merchant


def _import(service: Service, merchant: Merchant, file: Path) -> None:
    """Let `old` have sold ten times, 40 days ago."""
    then = (datetime.now(UTC) - timedelta(days=40)).isoformat()
    rows = [f"past-{n},old,{then},1,1000" for n in range(10)]
    file.write_text(
        "\n".join(["order_id,item_id,timestamp,quantity,price", *rows]), "utf-8"
    )
    service.run("import-orders", merchant.account.domain, str(file))


def set_to(service: Service, merchant: Merchant, **settings: str) -> None:
    """Change settings, and let the store learn by them."""
    with service.database() as database:
        change_settings(database, find_store(database, merchant.account.domain), settings)
    service.train(merchant)


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({"trending_metric": "orders"}, ["often", "many", "dear", "carted", "viewed"]),
        ({"trending_metric": "units"}, ["many", "often", "dear", "carted", "viewed"]),
        ({"trending_metric": "revenue"}, ["dear", "many", "often", "carted", "viewed"]),
        (
            {"trending_metric": "orders", "trending_days": "60"},
            ["old", "often", "many", "dear", "carted"],
        ),
        (
            {"trending_metric": "revenue", "trending_days": "60"},
            ["old", "dear", "many", "often", "carted"],
        ),
    ],
)
def test_what_trends_is_by_the_stores_measure_within_its_window(
    service: Service, shop: Merchant, settings: dict[str, str], first: list[str]
) -> None:
    set_to(service, shop, **{"trending_days": "30", "trending_metric": "orders"} | settings)

    for there in service.everywhere(shop):
        eventually(lambda: there.trending(num=5).ids == first)  # noqa: B023 - asked at once


def test_what_costs_less_than_the_least_price_is_passed_over_at_once(
    service: Service, shop: Merchant
) -> None:
    everywhere = service.everywhere(shop)
    with service.database() as database:
        store = find_store(database, shop.account.domain)
        change_settings(database, store, {"trending_min_price": "20"})

    cheap = {"often", "many"}
    eventually(
        lambda: not any(cheap & set(one.trending(num=20).ids) for one in everywhere), 5
    )
    assert set(shop.trending(num=20).ids) == set(ITEMS) - cheap

    with service.database() as database:
        change_settings(database, store, {"trending_min_price": "0"})
    eventually(
        lambda: all(cheap <= set(one.trending(num=20).ids) for one in everywhere), 10
    )


def test_with_no_orders_it_is_carts_then_views_then_the_newest(service: Service) -> None:
    merchant = service.register()
    for one in ("oldest", "older", "viewed", "carted", "newest"):
        merchant.push({"id": one})
    assert merchant.trending().ids == ["newest", "carted", "viewed", "older", "oldest"]
    merchant.track({"event": "detail-page-view", "item_id": "viewed", "session_id": "s"})
    merchant.track({"event": "add-to-cart", "item_id": "carted", "session_id": "s"})

    service.train(merchant)

    expected = ["carted", "viewed", "newest", "older", "oldest"]
    eventually(lambda: merchant.trending().ids == expected)


def test_it_is_the_same_for_everybody(shop: Merchant) -> None:
    shop.order("mine", "viewed", user_id="me")
    plain = shop.trending(num=20)

    for shopper in ("me", "s1", "nobody", ""):
        assert shop.trending(num=20, user_id=shopper).body == plain.body
    assert set(plain.sources) == {"trending"}
