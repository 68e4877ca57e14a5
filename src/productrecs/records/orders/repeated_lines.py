"""Repeated order lines: the lines of one order and item in a file are added up.

Tills and shop systems write an article on two lines of an order, such as at two prices.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from productrecs.records.orders.order_and_purchase_ledger import line_total
from productrecs.records.orders.order_history_line import OrderHistoryLine

_Value = TypeVar("_Value")


def count_repeated_keys(lines: Iterable[OrderHistoryLine]) -> Mapping[int, int]:
    """Return the line counts of orders' items with several lines, by the key's hash.

    Takes eight bytes of memory per line: a file may hold millions.
    """
    hashes = array("q", (hash(_key(line)) for line in lines))
    keys, counts = np.unique(np.asarray(hashes, np.int64), return_counts=True)
    is_repeated = counts > 1
    return dict(zip(keys[is_repeated].tolist(), counts[is_repeated].tolist(), strict=True))


class RepeatedLineMerger:
    """Passes the lines of a file on, and those of one order and item as their sum.

    `added` counts the lines that became part of another one.
    """

    def __init__(self, counts: Mapping[int, int]) -> None:
        """Expect the lines that `count_repeated_keys` counted; others stay as they are."""
        self._missing = dict(counts)
        self._collected: dict[tuple[str, str], list[OrderHistoryLine]] = defaultdict(list)
        self.added = 0

    def add_up(self, lines: Sequence[OrderHistoryLine]) -> Sequence[OrderHistoryLine]:
        """Return the lines and the sums that are complete with them."""
        if not self._missing:
            return lines
        return [one for line in lines for one in self._collect(line)]

    def take_unfinished_sums(self) -> list[OrderHistoryLine]:
        """Return the sums that are left at the end: two keys had the same hash."""
        left = [_sum_of(lines) for lines in self._collected.values()]
        self.added -= len(left)
        return left

    def _collect(self, line: OrderHistoryLine) -> Sequence[OrderHistoryLine]:
        key = _key(line)
        missing = self._missing.get(hash(key))
        if missing is None:
            return (line,)
        self._missing[hash(key)] = missing - 1
        self._collected[key].append(line)
        if missing > 1:
            self.added += 1
            return ()
        return (_sum_of(self._collected.pop(key)),)


def _key(line: OrderHistoryLine) -> tuple[str, str]:
    return line.order_id, line.item_id


def _sum_of(lines: Sequence[OrderHistoryLine]) -> OrderHistoryLine:
    """Return one line with the units and the revenue of several.

    An unknown quantity counts as 1 next to known ones; the sum of unknown ones is unknown.
    The last known time, customer and currency count.
    """
    parts = [line for line in lines if line.quantity != 0] or lines[-1:]
    totals = [line_total(line.price, line.quantity) for line in parts]
    amounts = [total for total in totals if total is not None]
    units: int | None = sum(1 if line.quantity is None else line.quantity for line in parts)
    prices = {line.price for line in parts}
    price = parts[-1].price
    if all(line.quantity is None for line in parts):
        price, units = (sum(amounts) if amounts else None), None
    elif len(prices) > 1 and units:
        price = round(sum(amounts) / units, 6)
    return OrderHistoryLine(
        *lines[0][:2],
        customer_id=_last_known([line.customer_id for line in lines]),
        ts_ms=_last_known([line.ts_ms for line in lines]),
        quantity=units,
        price=price,
        currency=_last_known([line.currency for line in lines]),
    )


def _last_known(values: Sequence[_Value | None]) -> _Value | None:
    return next((value for value in reversed(values) if value is not None), None)
