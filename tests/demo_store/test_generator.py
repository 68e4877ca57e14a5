"""Demo data: deterministic, realistic, and without events in the future."""

import json
import re
import zlib
from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from itertools import combinations
from typing import Any

import pytest

from demo_store.assortment import DISCONTINUED, NEW, PREORDER, SCHEDULED
from demo_store.departments import DEPARTMENTS
from demo_store.generator import ORDER_COLUMNS, GeneratedStore, generate_demo_store
from demo_store.shopping_patterns import BUNDLES, PATTERN_ITEM_IDS, PERSONAS
from productrecs.records.search_counts.repository import PHOTO_SEARCHES

NOW = datetime(2026, 5, 20, 15, 30, tzinfo=UTC)


def at(now: datetime) -> int:
    return int(now.timestamp() * 1000)


def held_out(unit: str) -> bool:
    """Hold out some of one in five."""
    return zlib.crc32(unit.encode()) % 5 == 0


def when(entry: dict[str, object] | dict[str, str]) -> datetime:
    return datetime.fromisoformat(str(entry["timestamp"]))


@pytest.fixture(scope="module")
def shop() -> GeneratedStore:
    return generate_demo_store(7, at(NOW), held_out)


@pytest.fixture(scope="module")
def baskets(shop: GeneratedStore) -> list[set[str]]:
    orders: dict[str, set[str]] = defaultdict(set)
    for row in shop.order_rows:
        orders[row["order_id"]].add(row["item_id"])
    return list(orders.values())


def test_the_same_seed_and_moment_give_the_same_shop(shop: GeneratedStore) -> None:
    again = generate_demo_store(7, at(NOW), held_out)

    assert again == shop


def test_another_seed_gives_another_year_in_the_same_departments(
    shop: GeneratedStore,
) -> None:
    other = generate_demo_store(8, at(NOW), held_out)

    assert other.order_rows != shop.order_rows
    assert [item["id"] for item in other.items] == [item["id"] for item in shop.items]


def test_the_shop_has_the_size_that_a_demo_promises(shop: GeneratedStore) -> None:
    customers = {row["customer_id"] for row in shop.order_rows}

    assert len(shop.items) == 400
    assert 5_500 <= len({row["order_id"] for row in shop.order_rows}) <= 6_500
    assert 80_000 <= len(shop.events) <= 120_000
    assert len(customers) > 1_000


def test_every_product_is_described_placed_and_priced(shop: GeneratedStore) -> None:
    ids = [str(item["id"]) for item in shop.items]
    skus = {item["sku"] for item in shop.items}

    assert len(set(ids)) == len(ids) == len(skus)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", product) for product in ids)
    for item in shop.items:
        price, cost, stock = item["price"], item["cost"], item["stock_qty"]
        assert isinstance(price, float)
        assert isinstance(cost, float)
        assert isinstance(stock, int)
        assert 0 < cost < price < 300
        assert stock >= 0
        assert item["title"]
        assert len(str(item["description"])) > 40
        assert item["categories"]
        assert item["brand"]
        assert item["color"]
        assert float(str(item.get("list_price", price + 1))) > price


def test_products_have_the_attributes_that_their_texts_name(shop: GeneratedStore) -> None:
    items = {item["id"]: item for item in shop.items}
    skillet, jumper = items["cast-iron-skillet-26-cm"], items["fishermans-jumper-ink"]

    assert (skillet["brand"], skillet["size"]) == ("Ember & Oak", ["26 cm"])
    assert (jumper["material"], jumper["size"]) == (["lambswool"], [])
    reduced = sum("list_price" in item for item in shop.items)
    assert 30 < reduced < 60
    assert sum(bool(item["material"]) for item in shop.items) > 80


def test_categories_are_paths_with_an_id_beside_each(shop: GeneratedStore) -> None:
    tent = next(item for item in shop.items if item["id"] == "ridge-tent-for-two")

    assert tent["categories"] == ["Outdoor", "Outdoor > Tents and tarps"]
    assert tent["category_ids"] == ["outdoor", "outdoor/tents"]


def test_every_habit_is_about_products_and_shelves_that_exist(shop: GeneratedStore) -> None:
    ids = {str(item["id"]) for item in shop.items}
    shelves = {shelf.id for department in DEPARTMENTS for shelf in department.shelves}

    liked = {shelf for _, shelves_liked in PERSONAS for shelf in shelves_liked}

    assert ids >= PATTERN_ITEM_IDS
    assert liked == shelves


def test_every_row_and_event_names_a_product_or_category_of_the_shop(
    shop: GeneratedStore,
) -> None:
    ids = {str(item["id"]) for item in shop.items}
    categories = {str(item["category_ids"]).split("'")[-2] for item in shop.items}
    named: dict[object, set[Any]] = defaultdict(set)
    for event in shop.events:
        shown: Any = event.get("item_ids", [event.get("item_id")])
        named[event["event"]].update(shown)

    assert {row["item_id"] for row in shop.order_rows} <= ids
    assert named.pop("category-view") <= categories
    assert named.pop("search-pref") == {None}
    assert "Tarn" in named.pop("metadata-pref")
    assert set().union(*named.values()) <= ids


def test_nothing_happens_after_now_and_everything_within_the_year(
    shop: GeneratedStore,
) -> None:
    moments = [when(event) for event in shop.events]
    moments += [when(row) for row in shop.order_rows]

    assert max(moments) <= NOW
    assert min(moments) >= NOW - timedelta(days=366)
    assert max(moments) > NOW - timedelta(days=1)


def test_rows_and_events_stand_in_the_order_of_their_time(shop: GeneratedStore) -> None:
    rows = [when(row) for row in shop.order_rows]
    events = [when(event) for event in shop.events]

    assert rows == sorted(rows)
    assert events == sorted(events)


def test_an_order_holds_a_product_once_and_has_the_columns_of_an_upload(
    shop: GeneratedStore,
) -> None:
    pairs = Counter((row["order_id"], row["item_id"]) for row in shop.order_rows)

    assert set(pairs.values()) == {1}
    assert all(tuple(row) == ORDER_COLUMNS for row in shop.order_rows)
    assert all(int(row["quantity"]) and float(row["price"]) > 0 for row in shop.order_rows)


def test_events_are_json_with_an_identity_and_the_fields_of_their_kind(
    shop: GeneratedStore,
) -> None:
    for event in shop.events:
        session = event.get("session_id", "s_0" if event["event"] == "buy" else "")
        assert re.fullmatch(r"s_[A-Za-z0-9]+", str(session))
        assert "session_id" in event or "user_id" in event
        if event["event"] == "add-to-cart":
            assert {"item_id", "value", "currency", "quantity"} <= event.keys()
        if event["event"] in {"search-pref", "search-click"}:
            assert event["search_query"]
    assert json.loads(json.dumps(shop.events)) == shop.events


def test_sales_are_buy_events_and_returns_are_order_rows(shop: GeneratedStore) -> None:
    bought = Counter(
        (event["order_id"], event["item_id"], event["quantity"])
        for event in shop.events
        if event["event"] == "buy"
    )

    assert bought == Counter(
        (row["order_id"], row["item_id"], int(row["quantity"]))
        for row in shop.order_rows
        if int(row["quantity"]) > 0
    )


def recommended(shop: GeneratedStore, event: str) -> list[dict[str, Any]]:
    return [one for one in shop.events if one["event"] == event]


def test_lists_are_seen_a_little_clicked_and_never_show_their_own_page(
    shop: GeneratedStore,
) -> None:
    shown = Counter[str]()
    for event in recommended(shop, "rec-impression"):
        shown[event["widget"]] += len(event["item_ids"])
        assert len(event["item_ids"]) == len(event["sources"]) == len(event["positions"])
    clicked = Counter(event["widget"] for event in recommended(shop, "rec-click"))
    page: dict[object, object] = {}
    events: list[dict[str, Any]] = shop.events
    for event in events:
        if event["event"] == "detail-page-view":
            page[event["session_id"]] = event["item_id"]
        elif event["event"] == "rec-impression" and event["widget"] in {"recs", "fbt"}:
            assert page[event["session_id"]] not in event["item_ids"]

    assert shown.keys() == clicked.keys() == {"recs", "fbt", "cart", "trending", "look"}
    assert all(0.01 < clicked[one] / shown[one] < 0.08 for one in shown)


def test_who_is_held_out_sees_no_list_and_buys_a_little_less(shop: GeneratedStore) -> None:
    arms = {one.identity: one.is_held_out for one in shop.exposures}
    began = min(one.first_ms for one in shop.exposures)
    during = [event for event in shop.events if at(when(event)) >= began]
    seen = {
        name
        for event in during
        if event["event"] in {"rec-impression", "rec-click"}
        for name in (event.get("user_id"), event["session_id"])
    }
    bought = Counter[bool]()
    for event in during:
        who = event.get("user_id", event.get("session_id"))
        if event["event"] == "buy" and who in arms:
            bought[arms[who]] += 1

    assert not {name for name in seen if name and arms.get(str(name))}
    visitors = Counter({one.unit: one.is_held_out for one in shop.exposures}.values())
    assert 0.15 < visitors[True] / visitors.total() < 0.25
    assert bought[False] / visitors[False] > bought[True] / visitors[True]


def test_searches_are_of_the_events_and_lead_to_clicks_at_times(
    shop: GeneratedStore,
) -> None:
    typed = [one for one in shop.searches if one.words != PHOTO_SEARCHES]

    assert Counter(one.words for one in typed) == Counter(
        event["search_query"] for event in recommended(shop, "search-pref")
    )
    clicks = len(recommended(shop, "search-click"))
    assert 0.5 < clicks / len(typed) < 0.75
    assert 0.01 < sum(one.is_empty for one in typed) / len(typed) < 0.2
    photo_clicks = len(recommended(shop, "image-search-click"))
    assert 0 < photo_clicks == len(shop.searches) - len(typed)


def test_what_belongs_together_is_bought_together(baskets: list[set[str]]) -> None:
    bought = Counter(item for basket in baskets for item in basket)
    together = Counter(
        pair for basket in baskets for pair in combinations(sorted(basket), 2)
    )

    for bundle in BUNDLES:
        first, second = sorted(piece for piece, _ in bundle.item_probabilities[:2])
        both = together[first, second]
        by_chance = bought[first] * bought[second] / len(baskets)
        assert both >= 8, (first, second)
        assert both > 5 * by_chance, (first, second)


def test_strangers_are_not_bought_together(baskets: list[set[str]]) -> None:
    tents = [basket for basket in baskets if "ridge-tent-for-two" in basket]

    with_pegs = sum("steel-pegs-set-of-ten" in basket for basket in tents)
    with_pasta = sum("spaghetti-bronze-cut-500-g" in basket for basket in tents)

    assert with_pegs > len(tents) / 2
    assert with_pasta < len(tents) / 20


def test_things_used_up_are_bought_again_by_the_same_customer(shop: GeneratedStore) -> None:
    beans = defaultdict(set)
    for row in shop.order_rows:
        if row["item_id"] == "house-espresso-beans-1-kg" and row["customer_id"]:
            beans[row["customer_id"]].add(row["order_id"])

    regulars = [customer for customer, orders in beans.items() if len(orders) >= 4]

    assert len(regulars) >= 20


@pytest.mark.parametrize(
    ("product", "high", "low"),
    [
        ("ridge-tent-for-two", (6, 7), (11, 12, 1)),
        ("tomato-seeds-rosa-di-berna", (4, 5), (9, 10, 11)),
        ("wrapping-paper-three-rolls", (11, 12), (4, 5, 6, 7)),
        ("pencils-hb-twelve", (8, 9), (4, 5, 6)),
    ],
)
def test_each_season_sells_its_own(
    shop: GeneratedStore, product: str, high: tuple[int, ...], low: tuple[int, ...]
) -> None:
    sold = Counter(when(row).month for row in shop.order_rows if row["item_id"] == product)

    in_season = sum(sold[month] for month in high) / len(high)
    out_of_season = sum(sold[month] for month in low) / len(low)

    assert in_season > 2 * out_of_season
    assert in_season >= 5


def test_weekends_are_busier_than_weekdays(shop: GeneratedStore) -> None:
    visits = Counter(when(event).weekday() for event in shop.events)

    assert min(visits[5], visits[6]) > max(visits[day] for day in range(4))


def test_evenings_are_busier_than_nights(shop: GeneratedStore) -> None:
    hours = Counter(when(event).hour for event in shop.events)

    assert hours[20] > 5 * hours[3]


def test_a_shopper_keeps_to_what_that_shopper_likes(shop: GeneratedStore) -> None:
    place = {str(item["id"]): str(item["category_ids"]) for item in shop.items}
    seen: dict[object, list[str]] = defaultdict(list)
    for event in shop.events:
        if event["event"] == "detail-page-view" and "user_id" in event:
            seen[event["user_id"]].append(place[str(event["item_id"])])
    faithful = [
        Counter(shelves).most_common(1)[0][1] / len(shelves)
        for shelves in seen.values()
        if len(shelves) >= 20
    ]

    assert len(faithful) > 50
    # Chance alone would give a shopper's best of 39 shelves about one view in eight.
    assert sum(faithful) / len(faithful) > 0.3


def test_a_customer_is_recognised_from_the_session_in_which_they_sign_in(
    shop: GeneratedStore,
) -> None:
    before: set[object] = set()
    signed_in: set[object] = set()
    for event in shop.events:
        if "session_id" in event:
            (signed_in if "user_id" in event else before).add(event["session_id"])

    assert len(before & signed_in) > 300
    assert len(before - signed_in) > 300


def test_some_products_are_new_and_some_not_yet_out(shop: GeneratedStore) -> None:
    today = NOW.date()
    opens = [
        date.fromisoformat(str(item["available_from"]))
        for item in shop.items
        if "available_from" in item
    ]
    first_seen: dict[object, date] = {}
    for event in shop.events:
        if event["event"] in {"detail-page-view", "add-to-cart"}:
            first_seen.setdefault(event["item_id"], when(event).date())
    scheduled = {item["id"] for item in shop.items if "available_from" in item}

    assert len(opens) == SCHEDULED
    assert min(opens) > today
    assert not scheduled & first_seen.keys()
    recent = [day for day in first_seen.values() if day >= today - timedelta(days=41)]
    assert NEW // 2 <= len(recent) <= NEW + PREORDER + 4


def test_discontinued_products_are_no_longer_bought(shop: GeneratedStore) -> None:
    gone = {item["id"] for item in shop.items if item.get("availability") == "discontinued"}
    late = [
        row
        for row in shop.order_rows
        if row["item_id"] in gone
        and int(row["quantity"]) > 0
        and when(row) > NOW - timedelta(days=29)
    ]

    assert len(gone) == DISCONTINUED
    assert not late


def test_what_goes_with_things_is_never_sold_out_or_gone(shop: GeneratedStore) -> None:
    missing = {
        item["id"]
        for item in shop.items
        if not item["stock_qty"] or "availability" in item or "available_from" in item
    }

    assert missing
    assert not missing & PATTERN_ITEM_IDS


def test_a_return_follows_its_order_and_never_joins_a_basket(shop: GeneratedStore) -> None:
    sold: dict[tuple[str, str], datetime] = {}
    returns = []
    for row in shop.order_rows:
        key = (row["customer_id"], row["item_id"])
        if int(row["quantity"]) < 0:
            returns.append(row)
            assert when(row) > sold[key]
        else:
            sold.setdefault(key, when(row))
    lines = Counter(row["order_id"] for row in shop.order_rows)

    assert 40 <= len(returns) <= 160
    assert {lines[row["order_id"]] for row in returns} == {1}


@pytest.mark.parametrize(
    "now",
    [datetime(2027, 1, 1, 0, 0, 1, tzinfo=UTC), datetime(2028, 2, 29, 23, tzinfo=UTC)],
)
def test_the_shop_opens_on_any_day(now: datetime) -> None:
    shop = generate_demo_store(7, at(now), held_out)

    assert max(when(event) for event in shop.events) <= now
    assert len(shop.events) > 45_000


def test_no_basket_has_two_tents(baskets: list[set[str]]) -> None:
    tents = {"ridge-tent-for-two", "ridge-tent-for-four", "solo-trekking-tent"}

    assert sum(len(basket & tents) == 1 for basket in baskets) > 100
    assert not [basket for basket in baskets if len(basket & tents) > 1]
