"""Purchase order repository: SQL of the goods that a store has ordered."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, TypeAlias

import sqlalchemy as sa

from productrecs.records.catalog.repository import items_of_store
from productrecs.records.purchase_orders.purchase_order_line import (
    OrderedUnits,
    PurchaseOrderLine,
    UnknownPurchaseOrderLineError,
    check_line_limit,
)
from productrecs.records.suppliers.repository import item_numbers_by_id_or_sku
from productrecs.records.suppliers.supplier import SupplyInputError
from productrecs.storage.sql.sequence_and_item_numbers import lock_existing_head
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import purchase_order_lines

_line: Final = purchase_order_lines.c


MissingProducts: TypeAlias = list[str]
"""Ids and SKUs that the catalog lacks; their lines are not stored."""


class PurchaseOrderRepository(StoreScopedRepository):
    """One store's purchase orders, inside one transaction; never commits."""

    def lines(self) -> dict[int, PurchaseOrderLine]:
        """Return the lines by number, the earliest expected day first."""
        item = items_of_store("item_id", store_id=self._store_id)
        query = (
            sa.select(
                _line.number,
                item.c.item_id,
                _line.quantity,
                _line.expected_day,
                _line.supplier,
            )
            .join_from(purchase_order_lines, item, _line.item == item.c.number)
            .where(_line.store_id == self._store_id)
            .order_by(_line.expected_day, _line.number)
        )
        rows = self._connection.execute(query)
        return {int(number): PurchaseOrderLine(*fields) for number, *fields in rows}

    def units_on_order(self) -> dict[str, list[OrderedUnits]]:
        """Return what has not arrived, by the product's id."""
        found: dict[str, list[OrderedUnits]] = defaultdict(list)
        for line in self.lines().values():
            found[line.product].append(OrderedUnits(line.quantity, line.expected_day))
        return found

    def add_line(self, line: PurchaseOrderLine, now_ms: int) -> None:
        """Store one more line.

        Raises:
            SupplyInputError: when the catalog lacks the product, or with too many lines.
            StoreDeletedError: when the store was deleted.
        """
        if self.add([line], now_ms):
            message = f"your catalog has no product {line.product}"
            raise SupplyInputError(message)

    def add(self, lines: Sequence[PurchaseOrderLine], now_ms: int) -> MissingProducts:
        """Store more lines; return the products that the catalog lacks.

        Raises:
            SupplyInputError: when the store would have too many.
            StoreDeletedError: when the store was deleted.
        """
        lock_existing_head(self._connection, self._store_id)
        count, highest = self._connection.execute(
            sa.select(sa.func.count(), sa.func.max(_line.number)).where(
                _line.store_id == self._store_id
            )
        ).one()
        check_line_limit(lines, int(count))
        numbers = item_numbers_by_id_or_sku(self._connection, self._store_id)
        found = [line for line in lines if line.product in numbers]
        if found:
            rows = [
                {
                    "store_id": self._store_id,
                    "number": int(highest or 0) + 1 + place,
                    "item": numbers[line.product],
                    "supplier": line.supplier,
                    "quantity": line.quantity,
                    "expected_day": line.expected_day,
                    "created_at": now_ms,
                }
                for place, line in enumerate(found)
            ]
            self._connection.execute(purchase_order_lines.insert(), rows)
        return [line.product for line in lines if line.product not in numbers]

    def replace(self, lines: Sequence[PurchaseOrderLine], now_ms: int) -> MissingProducts:
        """Store these lines instead of all others; return as `add` does.

        Raises:
            SupplyInputError: when there are too many.
            StoreDeletedError: when the store was deleted.
        """
        lock_existing_head(self._connection, self._store_id)
        self._delete_rows(purchase_order_lines)
        return self.add(lines, now_ms)

    def remove(self, numbers: Sequence[int]) -> None:
        """Delete lines: they arrived, or will not.

        Raises:
            UnknownPurchaseOrderLineError: when there is none of these numbers.
        """
        if not self._delete_rows(purchase_order_lines, _line.number.in_(numbers)):
            message = f"there is no purchase order line {', '.join(map(str, numbers))}"
            raise UnknownPurchaseOrderLineError(message)
