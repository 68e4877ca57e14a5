"""Rules view: the products of a rule now, by rules, catalog and clock."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from productrecs.core.timestamps import parse_timestamp
from productrecs.records.catalog.catalog_push import remove_item, upsert_items
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.merchandising.rule import (
    ListKind,
    RuleAction,
    RuleContent,
    RuleTarget,
)
from productrecs.records.merchandising.rule_editor import RuleEditor
from productrecs.records.merchandising.rules_in_force import (
    ListRuleEffects,
    RulesInForce,
    RulesView,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store_management import Registration, register_store

NOON = parse_timestamp("2026-03-01T12:00:00+01:00")
CATALOG: dict[str, dict[str, object]] = {
    "tent": {
        "title": "Tent for two",
        "categories": ("Camping", "Zelte"),
        "price": 100.0,
        "brand": "Ridge",
        "color": ("Blue", "Red"),
        "attributes": (("Season", ("Summer",)),),
    },
    "peg": {
        "title": "Tent peg, steel",
        "categories": ("camping",),
        "price": 1.0,
        "brand": "Ridge",
    },
    "cafe": {"title": "Café set", "categories": ("Küche",), "price": 20.0},
    "free": {"title": "Gift", "categories": ("Küche",)},
}


class RuledStore:
    """One store whose views are in memory."""

    def __init__(self, database: Database, reader: RawReader) -> None:
        wanted = Registration("shop.example", settings={"timezone": "Europe/Berlin"})
        self.store = register_store(database, wanted, lambda: NOON)[0]
        self.database = database
        self.rules = RuleEditor(database, self.store, lambda: NOON, "me")
        self.catalog = CatalogView(
            self.store.store_id, self.store.settings.zone, lambda _: b""
        )
        self.view = RulesView(self.store.store_id, self.store.settings.zone, self.catalog)
        self.reader = reader

    def push(self, items: dict[str, dict[str, object]]) -> None:
        """Push items, and let the views follow."""
        patches = [ItemPatch(name, fields) for name, fields in items.items()]
        with self.database.transaction() as transaction:
            upsert_items(
                StoreLogTransaction(self.database, transaction, self.store.store_id),
                patches,
                NOON,
            )
        self.follow()

    def delete(self, item_id: str) -> None:
        """Delete an item, and let the views follow."""
        with self.database.transaction() as transaction:
            remove_item(
                StoreLogTransaction(self.database, transaction, self.store.store_id),
                item_id,
                NOON,
            )
        self.follow()

    def add(self, content: RuleContent) -> int:
        """Add a rule, and let the views follow."""
        rule = self.rules.add(content)
        self.follow()
        return rule.rule_id

    def follow(self, now_ms: int = NOON) -> None:
        """Read on as a process does five times a second."""
        sql = "SELECT catalog_seq, rules_seq FROM store_heads WHERE store_id = ?"
        catalog_seq, rules_seq = self.reader.all(sql, (self.store.store_id,))[0]
        self.catalog.refresh(self.reader, catalog_seq)
        self.view.refresh(self.reader, rules_seq, now_ms)

    def in_force(self, now_ms: int = NOON) -> RulesInForce:
        """Return what the rules say; there must be some."""
        self.follow(now_ms)
        assert self.view.in_force is not None
        return self.view.in_force

    def excluded(self, now_ms: int = NOON) -> list[str]:
        """Return the ids that are excluded from lists without a shopper."""
        return self.names(self.ruled(now_ms).excluded.tolist())

    def ruled(self, now_ms: int = NOON) -> ListRuleEffects:
        """Return what is ruled of lists without a shopper."""
        return self.in_force(now_ms).effects_on_list(ListKind.NO_CONTEXT, ListKind.MIX)

    def names(self, numbers: Sequence[int]) -> list[str]:
        """Return ids by number."""
        return [self.catalog.ids[number] or "?" for number in numbers]


@pytest.fixture
def shop(sqlite_database: Database) -> Iterator[RuledStore]:
    reader = sqlite_database.raw_reader()
    shop = RuledStore(sqlite_database, reader)
    shop.push(CATALOG)
    yield shop
    reader.close()


def exclude(**target: Any) -> RuleContent:
    return RuleContent(RuleAction.EXCLUDE, RuleTarget(**target))


def test_without_rules_nothing_is_in_force(shop: RuledStore) -> None:
    number = shop.add(exclude(items=("tent",)))
    first = shop.view.in_force

    shop.rules.remove(number)
    shop.follow()

    assert first is not None
    assert shop.view.in_force is None


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ({"items": ("peg", "unknown", "tent")}, ["tent", "peg"]),
        ({"items": ("unknown",)}, []),
        ({"categories": ("CAMPING",)}, ["tent", "peg"]),
        ({"categories": ("kuche", "Zelte")}, ["tent", "cafe", "free"]),
        ({"categories": ("camp",)}, []),
        ({"attributes": (("Brand", "RIDGE"),)}, ["tent", "peg"]),
        ({"attributes": (("brand", "Ridge"), ("color", "red"))}, ["tent"]),
        ({"attributes": (("color", "green"), ("color", "blue"))}, ["tent"]),
        ({"attributes": (("season", "summer"), ("color", "green"))}, []),
        ({"attributes": (("brand", "Nobody"),)}, []),
        ({"title_words": ("TENT",)}, ["tent", "peg"]),
        ({"title_words": ("steel tent",)}, ["peg"]),
        ({"title_words": ("cafe",)}, ["cafe"]),
        ({"title_words": ("ten",)}, []),
        ({"price_min": 20}, ["tent", "cafe"]),
        ({"price_max": 20}, ["peg", "cafe"]),
        ({"price_min": 1, "price_max": 1}, ["peg"]),
        ({"price_min": 0, "price_max": 1e9}, ["tent", "peg", "cafe"]),
        ({"categories": ("camping",), "price_min": 2}, ["tent"]),
        ({"items": ("tent", "cafe"), "title_words": ("set",)}, ["cafe"]),
        ({"title_words": ("tent",), "categories": ("küche",)}, []),
    ],
)
def test_a_rule_means_what_fits_all_that_it_says(
    shop: RuledStore, target: dict[str, object], found: list[str]
) -> None:
    shop.add(exclude(**target))

    assert shop.excluded() == found


def test_pins_keep_their_order_and_pass_over_what_is_not_there(shop: RuledStore) -> None:
    items = ("cafe", "unknown", "tent")
    shop.add(RuleContent(RuleAction.PIN, RuleTarget(items=items), position=2))

    pins = shop.ruled().pins

    assert [(pin.place, *shop.names([pin.item])) for pin in pins] == [
        (1, "cafe"),
        (2, "tent"),
    ]


def test_a_rule_follows_its_products(shop: RuledStore) -> None:
    shop.add(exclude(title_words=("tent",), price_max=50))
    assert shop.excluded() == ["peg"]

    shop.push({"tent": {"price": 40.0}, "peg": {"title": "Peg"}})
    assert shop.excluded() == ["tent"]

    shop.push({"new": {"title": "Small tent", "price": 9.0}})
    assert shop.excluded() == ["tent", "new"]

    shop.push({"tent": {"title": "Zelt"}})
    shop.delete("new")
    assert [name for name in shop.excluded() if name != "?"] == []


def test_a_new_category_is_found(shop: RuledStore) -> None:
    shop.add(exclude(categories=("sale",)))
    assert shop.excluded() == []

    shop.push({"tent": {"categories": ("SALE",)}, "peg": {"categories": ("Sale",)}})

    assert shop.excluded() == ["tent", "peg"]


def test_title_words_of_a_later_rule_are_looked_up_in_the_whole_catalog(
    shop: RuledStore,
) -> None:
    first = shop.add(exclude(title_words=("steel",)))
    shop.push({"new": {"title": "Steel cup"}})

    shop.add(exclude(title_words=("cup",)))
    shop.rules.remove(first)
    shop.follow()

    assert shop.excluded() == ["new"]


def test_a_schedule_begins_and_ends_by_itself(shop: RuledStore) -> None:
    shop.add(
        RuleContent(
            RuleAction.EXCLUDE,
            RuleTarget(items=("tent",)),
            starts="2026-03-02",
            ends="2026-03-02",
        )
    )
    shop.add(exclude(items=("peg",)))
    start = parse_timestamp("2026-03-02T00:00:00+01:00")
    end = parse_timestamp("2026-03-03T00:00:00+01:00")

    before = shop.in_force()
    assert shop.excluded() == ["peg"]
    assert shop.in_force(start - 1) is before
    during = shop.in_force(start)
    assert shop.excluded(start) == ["tent", "peg"]
    assert shop.in_force(end - 1) is during
    assert shop.excluded(end) == ["peg"]
    assert shop.excluded(NOON) == ["peg"]  # a clock that is set back


def test_the_book_stays_the_same_until_something_changes(shop: RuledStore) -> None:
    number = shop.add(exclude(items=("tent",)))
    first = shop.in_force()
    shop.follow()
    assert shop.in_force(NOON + 10**9) is first

    shop.push({"peg": {"price": 2.0}})
    assert shop.in_force() is first  # it says nothing else

    shop.push({"new": {"title": "Cup"}})
    second = shop.in_force()
    assert second is not first

    shop.rules.change(number, enabled=False)
    shop.follow()
    assert shop.in_force() is not second
    assert shop.excluded() == []


def test_titles_are_read_only_where_rules_ask_for_words(shop: RuledStore) -> None:
    statements: list[str] = []

    class Noting:
        def all(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
            statements.append(sql)
            return reader.all(sql, parameters)

        def close(self) -> None:
            reader.close()

    reader, shop.reader = shop.reader, Noting()
    shop.add(exclude(items=("tent",), price_max=1e6))
    shop.push({"peg": {"price": 2.0}})
    assert not any("SELECT number, title, present" in sql for sql in statements)

    shop.add(exclude(title_words=("tent",)))

    assert any("SELECT number, title, present" in sql for sql in statements)
