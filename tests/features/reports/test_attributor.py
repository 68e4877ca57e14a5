"""Attribution: credits exactly what section 6 of the interface says."""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.engines.hyperloglog import cardinality, merge
from productrecs.features.attribution import attributor
from productrecs.features.attribution.attributor import Attributor
from productrecs.features.attribution.last_touch import (
    LastTouchpoints,
    OutcomesToAttribute,
    TouchpointSegment,
    attribute_last_touch,
)
from productrecs.records.events.append_and_link_events import link_customer_ids
from productrecs.records.events.event import EventKind
from productrecs.records.orders.order_and_purchase_ledger import NewOrderLine
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import (
    credit_days,
    event_columns,
    event_hours,
    events,
    item_credit_days,
    outcome_days,
    outcomes,
    purchase_lines,
    search_credit_days,
    search_days,
    shopper_days,
    touch_days,
)
from productrecs.tenancy.accounts.store_management import change_settings, delete_store
from tests.features.reports.shop import (
    NOON,
    ReportedStore,
    buy,
    cart,
    click,
    impression,
    search_click,
)

MONTH = 30 * DAY_MS
VIEWS = (
    outcomes,
    credit_days,
    item_credit_days,
    outcome_days,
    touch_days,
    event_hours,
    shopper_days,
    search_days,
    search_credit_days,
)


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> ReportedStore:
    return ReportedStore(database, tmp_path / "trails")


def attribute(shop: ReportedStore, step: int = 50_000, stretch: int = 400_000) -> None:
    attributor = Attributor(shop.database, shop.folder, step, stretch)
    assert attributor.catch_up(shop.store)


def rows(shop: ReportedStore, table: sa.Table) -> list[sa.Row[Any]]:
    query = sa.select(table).where(table.c.store_id == shop.store.store_id)
    with shop.database.reading() as connection:
        return sorted(connection.execute(query), key=repr)


def credited(shop: ReportedStore) -> list[tuple[int, bool | None]]:
    """Return, in the log's order, (kind, clicked) of each outcome; None: not credited."""
    attribute(shop)
    query = sa.select(outcomes.c.kind, outcomes.c.touch, outcomes.c.clicked)
    query = query.where(outcomes.c.store_id == shop.store.store_id)
    with shop.database.reading() as connection:
        found = connection.execute(query.order_by(outcomes.c.fact)).all()
    return [(kind, None if touch is None else clicked) for kind, touch, clicked in found]


CART, SALE = int(EventKind.ADD_TO_CART), int(EventKind.BUY)


def test_a_cart_and_a_sale_after_an_impression_are_credited(shop: ReportedStore) -> None:
    shop.send(impression("tent"), cart("tent"), buy("tent"))

    assert credited(shop) == [(CART, False), (SALE, False)]


def test_a_late_order_is_credited_to_what_came_before_the_purchase(
    shop: ReportedStore,
) -> None:
    bought_ms = NOON - 5 * DAY_MS
    shop.send(click("tent", position=1), at=bought_ms - 9)
    shop.send(click("tent", position=2), click("rope"), at=bought_ms + 9)
    shop.order(
        *("A-1", NewOrderLine("tent"), NewOrderLine("rope")),
        session="s_1",
        ordered_ms=bought_ms,
    )

    assert credited(shop) == [(SALE, True), (SALE, None)]
    assert [row.position for row in rows(shop, credit_days)] == [1]
    assert {row.day for row in rows(shop, outcome_days)} == {"2026-02-24"}


def test_a_squatted_number_does_not_take_the_credit_for_the_shops_order(
    shop: ReportedStore,
) -> None:
    shop.order("A-1", NewOrderLine("tent"), session="s_1", confirmed=False, at=NOON - 9)
    attribute(shop)
    shop.send(click("tent"), at=NOON - 5)
    shop.order("A-1", NewOrderLine("tent", 2, 5.0), session="s_1")

    assert credited(shop) == [(SALE, True)]


def test_a_click_is_credited_before_a_later_impression(shop: ReportedStore) -> None:
    shop.send(click("tent", position=3), impression("tent"), at=NOON - 5)
    shop.send(buy("tent"))

    assert credited(shop) == [(SALE, True)]
    assert [row.position for row in rows(shop, credit_days)] == [3]


def test_the_last_click_is_credited_of_several(shop: ReportedStore) -> None:
    shop.send(click("tent", position=1), click("tent", position=2), at=NOON - 5)
    shop.send(buy("tent"))

    assert credited(shop) == [(SALE, True)]
    assert [row.position for row in rows(shop, credit_days)] == [2]


def test_what_was_shown_after_the_sale_earns_nothing(shop: ReportedStore) -> None:
    shop.send(buy("tent"), click("tent"))

    assert credited(shop) == [(SALE, None)]


@pytest.mark.parametrize(("age", "is_credited"), [(MONTH, True), (MONTH + 1, False)])
def test_credit_reaches_back_thirty_days(
    shop: ReportedStore,
    age: int,
    is_credited: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    shop.send(click("tent"), at=NOON - age)
    shop.send(buy("tent"))

    assert credited(shop) == [(SALE, True if is_credited else None)]


@pytest.mark.parametrize("other", [click("stove"), click("tent", shopper="s_2")])
def test_another_product_or_shopper_earns_nothing(shop: ReportedStore, other: Any) -> None:
    shop.send(other, buy("tent"))

    assert credited(shop) == [(SALE, None)]


def test_anonymous_widgets_and_named_orders_never_meet(shop: ReportedStore) -> None:
    shop.send(click("tent", "s_1"))
    shop.order("A-1", NewOrderLine("tent", 1, 5.0), user="anna", session="s_1")

    assert credited(shop) == [(SALE, None)]


def test_one_namespace_holds_both_kinds_of_ids(shop: ReportedStore) -> None:
    shop.send(click("tent", "s_1"))
    shop.send(buy("tent", None, user_id="s_1"))

    assert credited(shop) == [(SALE, True)]


@pytest.mark.parametrize(
    ("shown_to", "links", "buyer", "is_one"),
    [
        ("7", [], "c_7", False),
        ("7", [("7", "c_7")], "c_7", True),
        ("c_7", [("7", "c_7")], "7", True),  # a page from a cache
        ("7", [("7", "c_7"), ("c_7", "d_7")], "d_7", True),
        ("7", [("7", "c_7"), ("u7", "c_7")], "u7", True),
        ("8", [("7", "c_7")], "c_7", False),
    ],
)
def test_former_ids_that_the_shops_server_linked_are_one_customer(
    shop: ReportedStore,
    shown_to: str,
    links: list[tuple[str, str]],
    buyer: str,
    is_one: bool,  # noqa: FBT001 - a table
) -> None:
    shop.send(click("tent", shown_to), search_click("tent", shown_to, "tents"))
    for link in links:
        with shop.database.transaction() as transaction:
            log = StoreLogTransaction(shop.database, transaction, shop.store.store_id)
            assert link_customer_ids(log, [link]) == 1
    shop.send(impression("tent", buyer))
    shop.order("A-1", NewOrderLine("tent"), user=buyer)

    assert credited(shop) == [(SALE, is_one)]  # whether the click, or the impression
    assert len(rows(shop, search_credit_days)) == is_one


def test_a_purchase_that_comes_twice_is_credited_once(shop: ReportedStore) -> None:
    shop.send(click("tent"), buy("tent", order_id="A-1"))
    attribute(shop)
    shop.order("A-1", NewOrderLine("tent", 2, 5.0), session="s_1", at=NOON + 1)

    assert credited(shop) == [(SALE, True)]
    (row,) = rows(shop, credit_days)
    assert (row.units, row.revenue, row.revenue_clicked) == (2, 10.0, 10.0)


def test_imported_history_takes_no_part(shop: ReportedStore) -> None:
    shop.send(click("tent"), imported=True)
    shop.send(buy("tent"))
    shop.send(click("stove"))
    shop.send(buy("stove"), imported=True)
    shop.history("order_id,item_id,customer_id\nA-1,stove,s_1\n")

    assert credited(shop) == [(SALE, None)]
    assert [(row.shown, row.clicked) for row in rows(shop, touch_days)] == [(0, 1)]


def test_a_file_that_overwrites_a_live_sale_moves_its_revenue(shop: ReportedStore) -> None:
    shop.send(click("tent"), buy("tent", order_id="A-1"))
    attribute(shop)
    shop.history("order_id,item_id,quantity,price\nA-1,tent,3,7.00\n")

    assert credited(shop) == [(SALE, True)]
    (row,) = rows(shop, credit_days)
    assert (row.units, row.revenue, row.revenue_clicked) == (3, 21.0, 21.0)


def test_revenue_is_kept_by_currency(shop: ReportedStore) -> None:
    shop.send(click("tent"), buy("tent", currency="USD"), buy("tent"))
    attribute(shop)

    assert sorted((row.currency, row.revenue) for row in rows(shop, credit_days)) == [
        ("", 10.0),
        ("USD", 10.0),
    ]


def test_days_are_the_stores(shop: ReportedStore) -> None:
    change_settings(shop.database, shop.store, {"timezone": "Pacific/Auckland"})
    shop.send(click("tent"), buy("tent"))
    attribute(shop)

    assert {row.day for row in rows(shop, credit_days)} == {"2026-03-02"}


def test_another_zone_sorts_the_past_into_its_days_too(shop: ReportedStore) -> None:
    shop.send(click("tent"), buy("tent"))
    attribute(shop)
    change_settings(shop.database, shop.store, {"timezone": "Pacific/Auckland"})
    attribute(shop)

    for table in (credit_days, outcome_days, touch_days):
        assert {row.day for row in rows(shop, table)} == {"2026-03-02"}


def test_a_deleted_store_leaves_nothing(shop: ReportedStore) -> None:
    shop.send(click("tent"), buy("tent"))
    attribute(shop)
    delete_store(shop.database, shop.store)

    with shop.database.reading() as connection:
        for table in VIEWS:
            assert not connection.execute(sa.select(table)).all()


# ------------------------------------------------ reading on equals reading it all


Credit = tuple[tuple[int, bool] | None, tuple[int, bool] | None]


def expected(shop: ReportedStore) -> dict[int, Credit]:
    """Return the credit of each live outcome, by the rule's own words and nothing else.

    And beside it the click on a search's result that came last before it.
    """
    with shop.database.reading() as connection:
        log = connection.execute(
            sa.select(*event_columns(events)).where(~events.c.imported)
        ).all()
        lines = connection.execute(
            sa.select(purchase_lines).where(
                ~purchase_lines.c.imported, ~purchase_lines.c.void
            )
        ).all()
    touches = [row for row in log if row.kind in {9, 10}]
    facts = [(row.seq, row.ts, row.item, row.shopper) for row in log if row.kind == CART]
    facts += [(row.line_seq, row.ts, row.item, row.shopper) for row in lines]
    found = [row for row in log if row.kind == 6 and row.term]
    return {fact[0]: (best(touches, *fact), best(found, *fact)) for fact in facts}


def best(
    touches: list[Any], seq: int, ts: int, item: int, shopper: str | None
) -> tuple[int, bool] | None:
    earlier = [
        (touch.kind == 10, touch.seq)
        for touch in touches
        if touch.shopper == shopper
        and touch.item == item
        and touch.seq < seq
        and 0 <= ts - touch.ts <= MONTH
    ]
    if not earlier:
        return None
    clicked, place = max(earlier)
    return place, clicked


def happen(shop: ReportedStore, rng: random.Random, moment: int) -> None:
    """Let something happen: events and orders, late, early, doubled and overwritten."""
    who, item = rng.choice(["s_1", "s_2", "anna"]), rng.choice(["tent", "stove", "mug"])
    place = {
        "widget": rng.choice(["recs", "fbt", None]),
        "source": rng.choice(["buy", "browse"]),
        "position": rng.choice([None, 1, 2]),
    }
    order = rng.choice(["A-1", "A-2", "A-3", "A-4", None])
    value = rng.choice([0.1, 0.2, 0.3, 1e12, None])
    ways: list[Callable[[], None]] = [
        lambda: shop.send(click(item, who, **place), at=moment),
        lambda: shop.send(impression(item, who, **place), at=moment),
        lambda: shop.send(cart(item, who, value=value), at=moment),
        lambda: shop.send(buy(item, who, value=value, order_id=order), at=moment),
        lambda: shop.order(
            order or "A-5",
            NewOrderLine(item, rng.choice([None, 2]), value),
            NewOrderLine(item, 1, 0.1),
            user=rng.choice([None, who]),
            session=rng.choice([None, "s_1"]),
            currency=rng.choice([None, "USD"]),
            at=moment,
        ),
        lambda: shop.history(
            "order_id,item_id,customer_id,quantity,price,timestamp\n"
            f"{order or 'A-6'},{item},{who},{rng.choice([1, 3, -1])},0.3,"
            f"{rng.choice(['', '2026-02-10', '2026-03-03T12:00:00'])}\n",
            at=moment,
        ),
        lambda: shop.send(click(item, who), cart(item, who), at=moment, imported=True),
        lambda: shop.send(search_click(item, who, rng.choice(QUERIES)), at=moment),
        lambda: shop.send(search_click(item, who, "mug"), at=moment, imported=True),
    ]
    rng.choices(ways, [6, 6, 4, 4, 4, 2, 1, 4, 1])[0]()


QUERIES = ("tents", "Tent", "a mug", "anna@example.org", "the", None)


def differs(database: Database, folder: Path, seed: int) -> str | None:
    """Return what of a random past is computed differently, read on or read at once."""
    rng = random.Random(seed)  # noqa: S311 - a test's dice
    shop = ReportedStore(database, folder / f"trails-{seed}", f"shop{seed}.example")
    reading_on = Attributor(database, shop.folder, step=3, segment_length=7)
    moment = NOON
    for _ in range(rng.randint(1, 25)):
        moment += rng.choice([0, 0, -5, 1_000, DAY_MS, 8 * DAY_MS])  # clocks go back
        happen(shop, rng, moment)
        if rng.random() < 0.4:
            reading_on.catch_up(shop.store)
        if rng.random() < 0.1:  # the process was started anew
            reading_on = Attributor(database, shop.folder, step=3, segment_length=7)
    reading_on.catch_up(shop.store)
    read_on = {table.name: rows(shop, table) for table in VIEWS}
    found = {
        row.fact: (
            None if row.touch is None else (row.touch, bool(row.clicked)),
            None if row.search is None else (row.search, False),
        )
        for row in read_on["outcomes"]
    }
    if found != expected(shop):
        return "the credits are not the rule's"
    if sums_of(read_on["outcomes"]) != {
        tuple(row[1:6]): row.revenue for row in read_on["credit_days"] if row.lines
    }:
        return "the sums are not those of the credits"
    if met_of(read_on["shopper_days"]) != met_of(log_of(shop)):
        return "the shoppers are not those of the log"
    forget_views(shop)
    Attributor(database, folder / f"anew-{seed}").catch_up(shop.store)
    anew = {table.name: rows(shop, table) for table in VIEWS}
    delete_store(database, shop.store)
    return None if anew == read_on else "reading it all gives something else"


@pytest.mark.parametrize(
    "rounds", [12, pytest.param(400, marks=pytest.mark.trust)], ids=["short", "long"]
)
def test_reading_on_equals_reading_it_all_and_the_rules_own_words(
    database: Database, tmp_path: Path, rounds: int
) -> None:
    for seed in range(rounds):
        assert differs(database, tmp_path, seed) is None, seed


def test_several_at_once_count_nothing_twice(shop: ReportedStore) -> None:
    rng = random.Random(11)  # noqa: S311 - a test's dice
    for number in range(40):
        happen(shop, rng, NOON + number)
    several = [
        Attributor(shop.database, shop.folder, step=3, segment_length=7) for _ in range(3)
    ]

    with ThreadPoolExecutor(3) as threads:
        assert all(threads.map(lambda one: one.catch_up(shop.store), several))

    together = {table.name: rows(shop, table) for table in VIEWS}
    forget_views(shop)
    attribute(shop)
    assert {table.name: rows(shop, table) for table in VIEWS} == together


def test_an_attribution_that_forgets_old_stretches_is_caught(
    sqlite_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(
        stretches: Sequence[TouchpointSegment], wanted: OutcomesToAttribute
    ) -> LastTouchpoints:
        return attribute_last_touch(stretches[-1:], wanted)

    monkeypatch.setattr(attributor, "attribute_last_touch", forgetful)

    assert any(differs(sqlite_database, tmp_path, seed) for seed in range(25))


def log_of(shop: ReportedStore) -> list[Any]:
    """Return the live touches of the log."""
    query = sa.select(*event_columns(events)).where(
        ~events.c.imported, events.c.kind.in_((9, 10))
    )
    with shop.database.reading() as connection:
        return list(connection.execute(query))


def met_of(met: list[Any]) -> tuple[int, int]:
    """Return how many shoppers were shown something and clicked, of crowds or touches."""
    if met and hasattr(met[0], "shopper"):
        kinds = [{row.shopper for row in met if row.kind == kind} for kind in (9, 10)]
        return len(kinds[0]), len(kinds[1])
    crowds = ([row.shown for row in met], [row.clicked for row in met])
    return cardinality(merge(crowds[0])), cardinality(merge(crowds[1]))


def sums_of(found: list[sa.Row[Any]]) -> dict[tuple[Any, ...], float]:
    """Return the revenue of each place, where there is a sale."""
    values: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    sold: set[tuple[Any, ...]] = set()
    for row in found:
        if row.kind != SALE or row.touch is None:
            continue
        place = (row.day, row.widget, row.source, row.position, row.currency)
        values[place].append(row.value)
        if row.units > 0:
            sold.add(place)
    return {place: math.fsum(values[place]) for place in sold}


def forget_views(shop: ReportedStore) -> None:
    marks = sa.text("DELETE FROM attribution_marks WHERE store_id = :store")
    with shop.database.transaction() as transaction:
        transaction.execute(marks, {"store": shop.store.store_id})
        for table in VIEWS:
            transaction.execute(
                table.delete().where(table.c.store_id == shop.store.store_id)
            )
