"""Supplier repository: SQL of suppliers and of the terms of products."""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.catalog.repository import items_of_store
from productrecs.records.suppliers.supplier import (
    MAX_SUPPLIERS,
    ProductTerms,
    Supplier,
    SupplyInputError,
    UnknownSupplierError,
)
from productrecs.storage.sql.sequence_and_item_numbers import lock_existing_head
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import product_terms, suppliers

_supplier, _terms = suppliers.c, product_terms.c
_SUPPLIER_FIELDS: tuple[str, ...] = (
    *("lead_time_days", "order_every_days"),
    *("minimum_order", "budget"),
)


class TermsAssignmentResult(NamedTuple):
    """Products that `assign_terms` could not find, and suppliers that it added."""

    missing_products: list[str]
    new_suppliers: list[str]


class SupplierRepository(StoreScopedRepository):
    """One store's suppliers, inside one transaction; never commits."""

    def suppliers(self) -> list[Supplier]:
        """Return the suppliers by name."""
        query = (
            sa.select(_supplier.name, *(_supplier[name] for name in _SUPPLIER_FIELDS))
            .where(_supplier.store_id == self._store_id)
            .order_by(_supplier.name)
        )
        return [Supplier(*row) for row in self._connection.execute(query)]

    def product_counts(self) -> dict[str, int]:
        """Return how many products each supplier has."""
        query = (
            sa.select(_terms.supplier, sa.func.count())
            .where(_terms.store_id == self._store_id)
            .group_by(_terms.supplier)
        )
        return {name: int(count) for name, count in self._connection.execute(query)}

    def product_terms(self, item_id: str) -> ProductTerms | None:
        """Return the terms of a product; None when nobody is its supplier."""
        item = items_of_store("item_id", store_id=self._store_id)
        query = (
            sa.select(
                item.c.item_id, _terms.supplier, _terms.pack_size, _terms.minimum_quantity
            )
            .join_from(product_terms, item, _terms.item == item.c.number)
            .where(_terms.store_id == self._store_id, item.c.item_id == item_id)
        )
        row = self._connection.execute(query).first()
        return None if row is None else ProductTerms(*row)

    def remove_product_terms(self, item_id: str) -> None:
        """Delete the terms of a product, if there are any."""
        number = item_numbers_by_id_or_sku(self._connection, self._store_id).get(item_id)
        self._delete_rows(product_terms, item=number)

    def save(self, supplier: Supplier) -> None:
        """Store a supplier; replace the one of the same name.

        Raises:
            SupplyInputError: when the store has too many.
            StoreDeletedError: when the store was deleted.
        """
        lock_existing_head(self._connection, self._store_id)
        self._save([supplier])

    def remove(self, name: str) -> None:
        """Delete a supplier with the terms of its products.

        Raises:
            UnknownSupplierError: when there is none of this name.
        """
        if not self._delete_rows(suppliers, name=name):
            message = f"there is no supplier {name!r}"
            raise UnknownSupplierError(message)
        self._delete_rows(product_terms, supplier=name)

    def assign_terms(self, terms: Sequence[ProductTerms]) -> TermsAssignmentResult:
        """Store the terms of products; return what was not stored before.

        Suppliers that are not stored yet are added, with the terms of the store's settings.

        Raises:
            SupplyInputError: when the store would have too many suppliers.
            StoreDeletedError: when the store was deleted.
        """
        lock_existing_head(self._connection, self._store_id)
        known = {supplier.name for supplier in self.suppliers()}
        numbers = item_numbers_by_id_or_sku(self._connection, self._store_id)
        found = [one for one in terms if one.product in numbers]
        added = sorted({one.supplier for one in found} - known)
        self._save([Supplier(name) for name in added])
        for one in found:
            self._put_row(
                product_terms,
                item=numbers[one.product],
                supplier=one.supplier,
                pack_size=one.pack_size,
                minimum_quantity=one.minimum_quantity,
            )
        missing = [one.product for one in terms if one.product not in numbers]
        return TermsAssignmentResult(missing, added)

    def _save(self, changed: Sequence[Supplier]) -> None:
        for supplier in changed:
            self._put_row(
                suppliers,
                name=supplier.name,
                **{name: getattr(supplier, name) for name in _SUPPLIER_FIELDS},
            )
        count = self._connection.execute(
            sa.select(sa.func.count()).where(_supplier.store_id == self._store_id)
        ).scalar_one()
        if count > MAX_SUPPLIERS:
            message = f"a store has at most {MAX_SUPPLIERS} suppliers"
            raise SupplyInputError(message)


def item_numbers_by_id_or_sku(
    connection: sa.Connection, store_id: StoreId
) -> dict[str, int]:
    """Return the numbers of the catalog's products by SKU and by id."""
    item = items_of_store("item_id", "sku", "present", store_id=store_id)
    query = sa.select(item.c.number, item.c.item_id, item.c.sku).where(
        item.c.present.is_(True)
    )
    rows = list(connection.execute(query))
    by_sku = {sku: int(number) for number, _, sku in rows if sku}
    return by_sku | {item_id: int(number) for number, item_id, _ in rows}
