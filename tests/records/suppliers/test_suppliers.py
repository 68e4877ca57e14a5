"""Suppliers: their terms, those of products, and the file that says who supplies what."""

import pytest

from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.suppliers.repository import SupplierRepository
from productrecs.records.suppliers.supplier import (
    MAX_SUPPLIERS,
    ProductTerms,
    Supplier,
    SupplyInputError,
    UnknownSupplierError,
    parse_product_terms,
    parse_supplier,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    StoreDeletedError,
    StoreLogTransaction,
)
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    delete_store,
)
from tests.support.stores import new_store

NOW = 1_772_000_000_000


@pytest.fixture
def store(database: Database) -> Store:
    made = new_store(database)
    items = [ItemPatch("tent", {"sku": "T-1"}), ItemPatch("lamp", {"sku": "tent"})]
    with database.transaction() as transaction:
        upsert_items(StoreLogTransaction(database, transaction, made.store_id), items, NOW)
    return made


def test_a_supplier_is_saved_changed_and_removed(database: Database, store: Store) -> None:
    with database.transaction() as transaction:
        suppliers = SupplierRepository(transaction, store.store_id)
        suppliers.save(Supplier("Tents Ltd", 21, 14, 500.0))
        suppliers.save(Supplier("Tents Ltd", None, 30, 0.0, 900.0))
        stored = suppliers.suppliers()
        suppliers.remove("Tents Ltd")
        left = suppliers.suppliers()
        with pytest.raises(UnknownSupplierError):
            suppliers.remove("Tents Ltd")

    assert stored == [Supplier("Tents Ltd", None, 30, 0.0, 900.0)]
    assert left == []


def test_products_are_assigned_by_id_before_sku(database: Database, store: Store) -> None:
    terms = [
        ProductTerms("tent", "Tents Ltd", 6, 12),
        ProductTerms("T-1", "Other"),
        ProductTerms("no-such", "Ghost"),
    ]
    with database.transaction() as transaction:
        suppliers = SupplierRepository(transaction, store.store_id)
        missing, new = suppliers.assign_terms(terms)
        names = [one.name for one in suppliers.suppliers()]
        counts = suppliers.product_counts()

    assert missing == ["no-such"]
    assert new == ["Other", "Tents Ltd"]
    assert names == ["Other", "Tents Ltd"]  # a supplier of nothing is not added
    assert counts == {"Other": 1}  # the last line of a product counts


def test_removing_a_supplier_removes_the_terms_of_its_products(
    database: Database, store: Store
) -> None:
    with database.transaction() as transaction:
        suppliers = SupplierRepository(transaction, store.store_id)
        suppliers.assign_terms([ProductTerms("tent", "Tents Ltd")])
        suppliers.remove("Tents Ltd")

        assert not suppliers.product_counts()


def test_stores_have_suppliers_of_their_own(database: Database, store: Store) -> None:
    other = new_store(database, "b.example")
    with database.transaction() as transaction:
        own = SupplierRepository(transaction, store.store_id)
        own.assign_terms([ProductTerms("tent", "Tents Ltd")])
        others = SupplierRepository(transaction, other.store_id)

        assert others.assign_terms([ProductTerms("tent", "Tents Ltd")]) == (
            ["tent"],
            [],
        )
        assert not others.suppliers()
        with pytest.raises(UnknownSupplierError):
            others.remove("Tents Ltd")


def test_there_is_a_limit_and_a_deleted_store_takes_none(
    database: Database, store: Store
) -> None:
    with database.transaction() as transaction:
        suppliers = SupplierRepository(transaction, store.store_id)
        for number in range(MAX_SUPPLIERS):
            suppliers.save(Supplier(f"Supplier {number}"))
        with pytest.raises(SupplyInputError, match="at most 500"):
            suppliers.save(Supplier("One more"))
    delete_store(database, store)
    with pytest.raises(StoreDeletedError), database.transaction() as transaction:
        SupplierRepository(transaction, store.store_id).save(Supplier("Tents Ltd"))


def test_empty_terms_are_those_of_the_store() -> None:
    assert parse_supplier(" Tents Ltd ") == Supplier("Tents Ltd", None, None, 0.0)
    assert parse_supplier("A", "21", "7", "99,5") == Supplier("A", 21, 7, 99.5)
    assert parse_supplier("A", budget="1.500,00") == Supplier("A", budget=1500.0)
    assert parse_supplier("A", budget="0").budget is None


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("",), "a supplier's name has 1 to 100 characters"),
        (("A", "0"), "the lead time is a whole number from 1 to 365"),
        (("A", "", "week"), "the days between two orders is a whole number"),
        (("A", "", "", "€200"), "as a number without a currency, such as 200"),
        (("A", "", "", "-1"), "the minimum order is an amount of at least 0"),
        (("A", "", "", "inf"), "write the minimum order as a number"),
        (("A", "", "", "", "1.234"), "write the budget as a number"),
    ],
)
def test_an_invalid_supplier_is_refused(texts: tuple[str, ...], message: str) -> None:
    with pytest.raises(SupplyInputError, match=message):
        parse_supplier(*texts)


@pytest.mark.parametrize(
    "text",
    [
        "product,supplier,pack_size\ntent,Tents Ltd,6\nlamp,Lamps,\n",
        "\ufeffSupplier;Product;Pack_size\nTents Ltd;tent;6\nLamps;lamp;\n",
    ],
)
def test_a_file_is_read_as_spreadsheets_write_it(text: str) -> None:
    assert parse_product_terms(text) == [
        ProductTerms("tent", "Tents Ltd", 6, 0),
        ProductTerms("lamp", "Lamps", 1, 0),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line of the file names the columns product, supplier"),
        ("sku,from\na,b\n", "the first line of the file names the columns"),
        ("product,supplier\n,A\n", "line 2: the product has no id or SKU"),
        ("product,supplier\ntent\n", "line 2: a supplier's name"),
        ("product,supplier,pack_size\ntent,A,0\n", "line 2: the pack size is a whole"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(SupplyInputError, match=message):
        parse_product_terms(text)
