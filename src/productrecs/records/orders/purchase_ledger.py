"""Purchase ledger: counts a purchase once, whichever channels report it.

For one order id and item, order sync replaces `buy` events (sent before or after it), and a
CSV file overwrites both. The lines of one order share a basket.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum

from productrecs.records.orders.repository import PurchaseLine, PurchaseRepository
from productrecs.storage.database import Database


class PurchaseChannel(IntEnum):
    """The channel of a purchase; a higher one replaces a lower one."""

    EVENT = 0
    ORDER = 1
    CSV = 2


class PurchaseLedger:
    """The lines of the orders in one transaction, changed in memory, then written.

    Build it for all order ids of the transaction at once; call `write` at its end.
    """

    def __init__(
        self,
        repository: PurchaseRepository,
        order_ids: Iterable[str],
        items: Collection[int] | None = None,
    ) -> None:
        """Read all lines of these orders; of very long ones, with `items`, only theirs."""
        self._repository = repository
        requested_ids = list(order_ids)
        self._receipts = repository.latest_receipts(requested_ids)
        self._baskets: dict[tuple[str, int], int] = {}
        self._lines: dict[tuple[str, int, int], dict[int, PurchaseLine]] = defaultdict(dict)
        self._added: dict[int, PurchaseLine] = {}
        self._changed: dict[int, PurchaseLine] = {}
        for line in repository.lines_of(requested_ids, items):
            self._add_line(line)

    def receipt(self, order_id: str) -> int:
        """Return the latest receipt of an order: 0 before any order sync."""
        return self._receipts.get(order_id, 0)

    def current_lines(self, order_id: str, receipt: int, item: int) -> list[PurchaseLine]:
        """Return the valid (not void) lines of an order's item, in order."""
        place = self._lines.get((order_id, receipt, item))
        if place is None:
            return []
        return [place[number] for number in sorted(place) if not place[number].void]

    def basket(self, order_id: str, receipt: int, seq: int) -> int:
        """Return the basket number of an order; `seq` for an order without lines."""
        return self._baskets.setdefault((order_id, receipt), seq)

    def put(self, line: PurchaseLine) -> bool:
        """Store `line` unless a higher channel has the line; return whether it did.

        `line_seq` and `seq` of the line are a fresh sequence number; `basket` is set here.
        """
        if line.order_id is None:
            self._added[line.line_seq] = line
            return True
        place = self._lines[(line.order_id, line.receipt, line.item)]
        if any(
            other_line.channel > line.channel and not other_line.void
            for other_line in place.values()
        ):
            return False
        basket = self.basket(line.order_id, line.receipt, line.line_seq)
        if line.basket != basket:
            line = line._replace(basket=basket)
        old = place.get(line.line)
        if old is not None:
            line = line._replace(line_seq=old.line_seq)
        self._set(line, is_new=old is None)
        return True

    def void_others(self, line: PurchaseLine, first: int) -> None:
        """Void the item's lines from number `first` on: they were replaced."""
        place = self._lines[(line.order_id or "", line.receipt, line.item)]
        for other_line in list(place.values()):
            if other_line.line >= first and not other_line.void:
                self._set(other_line._replace(void=True, seq=line.seq), is_new=False)

    def write(self, database: Database, linked: Mapping[str, str]) -> None:
        """Store the changes; `linked` sessions were linked to a customer meanwhile."""
        added = [line.with_customer(linked) for line in self._added.values()]
        self._repository.add(database, added)
        self._repository.change(
            [line.with_customer(linked) for line in self._changed.values()]
        )
        self._added, self._changed = {}, {}

    def _add_line(self, line: PurchaseLine) -> None:
        key = (line.order_id or "", line.receipt)
        if line.basket is not None:
            self._baskets[key] = min(self._baskets.get(key, line.basket), line.basket)
        self._lines[(*key, line.item)][line.line] = line

    def _set(self, line: PurchaseLine, *, is_new: bool) -> None:
        self._add_line(line)
        if is_new or line.line_seq in self._added:
            self._added[line.line_seq] = line
        else:
            self._changed[line.line_seq] = line


def number_repeats(items: Sequence[int]) -> list[tuple[int, int]]:
    """Return each item with its number of earlier occurrences."""
    counts: dict[int, int] = defaultdict(int)
    result = []
    for item in items:
        result.append((item, counts[item]))
        counts[item] += 1
    return result
