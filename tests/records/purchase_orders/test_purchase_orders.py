"""Purchase orders: goods on order, by hand and from a file."""

import pytest

from productrecs.records.purchase_orders import purchase_order_line
from productrecs.records.purchase_orders.purchase_order_line import (
    OrderedUnits,
    PurchaseOrderLine,
    UnknownPurchaseOrderLineError,
    parse_purchase_orders,
)
from productrecs.records.purchase_orders.repository import (
    PurchaseOrderRepository,
)
from productrecs.records.suppliers.supplier import SupplyInputError
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import delete_store
from tests.records.suppliers.test_suppliers import NOW, store

__all__ = ["store"]

TENT = PurchaseOrderLine("tent", 24, "2026-03-20", "Tents Ltd")
LAMP = PurchaseOrderLine("lamp", 6, "2026-03-10")


def test_goods_on_order_are_added_replaced_and_removed(
    database: Database, store: Store
) -> None:
    with database.transaction() as transaction:
        orders = PurchaseOrderRepository(transaction, store.store_id)
        missing = orders.add(
            [TENT, LAMP, PurchaseOrderLine("ghost", 1, TENT.expected_day)], NOW
        )
        orders.add([PurchaseOrderLine("T-1", 2, "2026-03-21")], NOW)
        first, by_product = orders.lines(), orders.units_on_order()
        orders.replace([LAMP, LAMP], NOW)
        second = orders.lines()
        orders.remove([next(iter(second))])
        with pytest.raises(UnknownPurchaseOrderLineError):
            orders.remove([99])
        left = orders.lines()

    assert missing == ["ghost"]
    assert list(first.values()) == [LAMP, TENT, PurchaseOrderLine("tent", 2, "2026-03-21")]
    assert by_product["tent"] == [
        OrderedUnits(24, "2026-03-20"),
        OrderedUnits(2, "2026-03-21"),
    ]
    assert list(second.values()) == [LAMP, LAMP]
    assert list(left.values()) == [LAMP]


def test_a_store_has_a_bounded_number_of_lines(
    database: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purchase_order_line, "MAX_LINES", 2)
    with database.transaction() as transaction:
        orders = PurchaseOrderRepository(transaction, store.store_id)
        orders.add([TENT, LAMP], NOW)
        with pytest.raises(SupplyInputError, match="at most 2 lines"):
            orders.add([LAMP], NOW)
        orders.replace([LAMP, LAMP], NOW)


def test_a_deleted_store_orders_nothing(database: Database, store: Store) -> None:
    delete_store(database, store)

    with database.transaction() as transaction, pytest.raises(StoreDeletedError):
        PurchaseOrderRepository(transaction, store.store_id).add([TENT], NOW)


def test_a_file_has_products_quantities_and_days() -> None:
    text = "Product;Quantity;Expected_day;Supplier\ntent;24;2026-03-20;Tents Ltd\n"

    assert parse_purchase_orders(text) == [TENT]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (",1,2026-03-20", "line 2: the product has no id or SKU"),
        ("tent,,2026-03-20", "line 2: the quantity is a whole number from 1"),
        ("tent,-1,2026-03-20", "line 2: the quantity is a whole number from 1"),
        ("tent,1,20.3.2026", "line 2: write the expected day as 2026-03-01"),
    ],
)
def test_the_first_wrong_line_of_a_file_is_named(row: str, said: str) -> None:
    with pytest.raises(SupplyInputError, match=said):
        parse_purchase_orders(f"product,quantity,expected_day\n{row}\n")
