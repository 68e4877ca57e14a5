"""Order and purchase ledger: counts the lines of an order once in all channels.

For one order id and item, order sync replaces `buy` events (sent before or after it), and a
CSV file overwrites both. The lines of one order share a basket.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from productrecs.records.orders.order_history_line import OrderHistoryLine
from productrecs.records.purchases.repository import (
    PurchaseChannel,
    PurchaseLine,
    PurchaseRepository,
)
from productrecs.storage.sql.database import Database


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
        self._before: dict[int, PurchaseLine] = {}
        for line in repository.lines_of_orders(requested_ids, items):
            self._add_line(line)

    def receipt(self, order_id: str) -> int:
        """Return the latest receipt of an order: 0 before any order sync."""
        return self._receipts.get(order_id, 0)

    def current_lines(self, order_id: str, receipt: int, item: int) -> list[PurchaseLine]:
        """Return the valid (not void) lines of an order's item, in order."""
        lines_of_item = self._lines.get((order_id, receipt, item), {})
        return [line for _, line in sorted(lines_of_item.items()) if not line.void]

    def removed_line(self, order_id: str, receipt: int, item: int) -> list[PurchaseLine]:
        """Return the line of an order's item that was removed, if there is one."""
        lines_of_item = self._lines.get((order_id, receipt, item), {})
        line = lines_of_item.get(0)
        return [] if line is None or not line.void or line.unconfirmed else [line]

    def basket(self, order_id: str, receipt: int, seq: int) -> int:
        """Return the basket number of an order; `seq` for an order without lines."""
        return self._baskets.setdefault((order_id, receipt), seq)

    def put_unless_outranked(self, line: PurchaseLine) -> bool:
        """Store `line` unless a higher channel has the line; return whether it did.

        `line_seq` and `seq` of the line are a fresh sequence number; `basket` is set here.
        """
        if line.order_id is None:
            self._added[line.line_seq] = line
            return True
        lines_of_item = self._lines[(line.order_id, line.receipt, line.item)]
        if any(
            other_line.channel > line.channel
            and (other_line.unconfirmed or not other_line.void)
            for other_line in lines_of_item.values()
        ):
            return False
        basket = self.basket(line.order_id, line.receipt, line.line_seq)
        if line.basket != basket:
            line = line._replace(basket=basket)
        old = lines_of_item.get(line.line)
        if old is not None:
            line = line._replace(line_seq=old.line_seq)
        self._record_line(line, is_new=old is None)
        return True

    def void_lines_from(self, newer: PurchaseLine, first_line: int) -> None:
        """Void the lines of the item of `newer` from number `first_line` on."""
        lines_of_item = self._lines[(newer.order_id or "", newer.receipt, newer.item)]
        for other_line in list(lines_of_item.values()):
            if other_line.line >= first_line and (
                other_line.unconfirmed or not other_line.void
            ):
                voided = other_line._replace(void=True, unconfirmed=False, seq=newer.seq)
                self._record_line(voided, is_new=False)

    def unconfirmed_lines(self, order_id: str) -> list[PurchaseLine]:
        """Return the unconfirmed lines of the latest order with this id."""
        receipt = self.receipt(order_id)
        return [
            line
            for (known_id, known_receipt, _), lines_of_item in self._lines.items()
            if (known_id, known_receipt) == (order_id, receipt)
            for line in lines_of_item.values()
            if line.unconfirmed and line.channel == PurchaseChannel.ORDER
        ]

    def void_and_free_place(self, line: PurchaseLine, seq: int) -> None:
        """Void an order's line for good, and free its place for another one.

        The other line gets its own number in the log: what a shopper did between the two
        came before the purchase.
        """
        del self._lines[(line.order_id or "", line.receipt, line.item)][line.line]
        retired = line._replace(void=True, unconfirmed=False, line=-1 - line.line, seq=seq)
        self._record_line(retired, is_new=False)

    def changes(self) -> list[tuple[PurchaseLine, PurchaseLine]]:
        """Return the changed lines that were stored before: each before and after."""
        return [(self._before[number], line) for number, line in self._changed.items()]

    def write(self, database: Database, linked: Mapping[str, str]) -> None:
        """Store the changes; `linked` sessions were linked to a customer meanwhile."""
        self._repository.change_lines(
            [line.with_customer(linked) for line in self._changed.values()]
        )
        added = [line.with_customer(linked) for line in self._added.values()]
        self._repository.add(database, added)
        self._added, self._changed = {}, {}

    def _add_line(self, line: PurchaseLine) -> None:
        key = (line.order_id or "", line.receipt)
        if line.basket is not None:
            self._baskets[key] = min(self._baskets.get(key, line.basket), line.basket)
        self._lines[(*key, line.item)][line.line] = line

    def _record_line(self, line: PurchaseLine, *, is_new: bool) -> None:
        if not is_new and line.line_seq not in self._added:
            lines_of_item = self._lines[(line.order_id or "", line.receipt, line.item)]
            old = next(
                (one for one in lines_of_item.values() if one.line_seq == line.line_seq),
                line,
            )
            self._before.setdefault(line.line_seq, old)
        self._add_line(line)
        if is_new or line.line_seq in self._added:
            self._added[line.line_seq] = line
        else:
            self._changed[line.line_seq] = line


def number_occurrences(items: Sequence[int]) -> list[tuple[int, int]]:
    """Return each item with its number of earlier occurrences."""
    counts: dict[int, int] = defaultdict(int)
    result = []
    for item in items:
        result.append((item, counts[item]))
        counts[item] += 1
    return result


@dataclass(frozen=True, slots=True)
class NewOrderLine:
    """One line of an order; a `quantity` of None is unknown.

    `price` is per unit, `total` is the line's revenue, both in the order's currency.
    """

    item_id: str
    quantity: int | None = None
    price: float | None = None
    total: float | None = None


@dataclass(frozen=True, slots=True)
class NewOrder:
    """One order with its lines in the order sent; an item may have several lines."""

    order_id: str
    lines: tuple[NewOrderLine, ...]
    user_id: str | None = None
    session_id: str | None = None
    currency: str | None = None
    ordered_ms: int | None = None  # the time of purchase, if it was not just now
    confirmed: bool = True  # sent with the secret key
    network: str | None = None  # the public network that sent it
    identity: str | None = None  # the signed identity as sent
    signed: bool = False  # `identity` proves `user_id`

    @property
    def is_proven(self) -> bool:
        """Whether it is certain that `user_id` is the customer."""
        return self.confirmed or self.signed

    @property
    def shopper(self) -> str | None:
        """The customer when known, else the session, else None."""
        return self.user_id or self.session_id


def line_total(price: float | None, quantity: int | None) -> float | None:
    """Return a missing line revenue: price x units, an unknown quantity counts as 1.

    None without a price.
    """
    return None if price is None else price * (quantity or 1)


_RECEIPT = 0  # a new receipt after seven days is not the order in the history


class OrderLineOutcome(Enum):
    """The effect of a line on the stored purchases."""

    ADDED = "added"
    CHANGED = "changed"
    REPEATED = "repeated"  # this import has stored the line before
    KNOWN = "known"


class OrderLineMerger:
    """Merges the lines of one chunk into the ledger."""

    def __init__(
        self,
        ledger: PurchaseLedger,
        items: Mapping[str, int],
        persons: Mapping[str, str],
        undated_ms: int,
        updated_ms: int,
        since_seq: int | None = None,
    ) -> None:
        """Give each new line without a time `undated_ms`.

        The import has changed the log from `since_seq` on; None: nobody asks.

        `items` maps item ids to numbers; `persons` maps shoppers to the names by which
        they are known, if different; `updated_ms` is the time of the change.
        """
        self._ledger = ledger
        self._items = items
        self._persons = persons
        self._undated_ms = undated_ms
        self._updated_ms = updated_ms
        self._since_seq = since_seq

    def merge_line(self, line: OrderHistoryLine, seq: int) -> OrderLineOutcome:
        """Store a line, numbered `seq` if new; return the outcome."""
        item = self._items[line.item_id]
        earlier_lines = self._ledger.current_lines(line.order_id, _RECEIPT, item)
        if line.quantity == 0:
            return self._void_lines(earlier_lines, seq)
        was_removed = not earlier_lines
        if was_removed:
            earlier_lines = self._ledger.removed_line(line.order_id, _RECEIPT, item)
        if not earlier_lines:
            added = self._new_purchase_line(line, item, seq)
            self._ledger.put_unless_outranked(added)
            self._ledger.void_lines_from(added, first_line=1)
            return OrderLineOutcome.ADDED
        before = earlier_lines[0] if len(earlier_lines) == 1 else merge_lines(earlier_lines)
        after = self._updated_line(before, line)
        is_repeated = self._is_ours(before)
        if after == earlier_lines[0]:
            return OrderLineOutcome.REPEATED if is_repeated else OrderLineOutcome.KNOWN
        after = after._replace(seq=seq, updated_at=self._updated_ms)
        self._ledger.put_unless_outranked(after)
        self._ledger.void_lines_from(after, first_line=1)
        if is_repeated:
            return OrderLineOutcome.REPEATED
        return OrderLineOutcome.ADDED if was_removed else OrderLineOutcome.CHANGED

    def _is_ours(self, line: PurchaseLine) -> bool:
        """Return whether this import has stored a line before."""
        is_csv = line.channel == PurchaseChannel.CSV
        return is_csv and self._since_seq is not None and line.seq >= self._since_seq

    def _void_lines(self, lines: Sequence[PurchaseLine], seq: int) -> OrderLineOutcome:
        """Void all lines of an order's item: nothing of it is left."""
        if not lines:
            return OrderLineOutcome.KNOWN
        removed = lines[0]._replace(seq=seq, updated_at=self._updated_ms)
        self._ledger.void_lines_from(removed, first_line=0)
        return OrderLineOutcome.CHANGED

    def _new_purchase_line(
        self, line: OrderHistoryLine, item: int, seq: int
    ) -> PurchaseLine:
        customer = line.customer_id
        return PurchaseLine(
            line_seq=seq,
            seq=seq,
            basket=self._ledger.basket(line.order_id, _RECEIPT, seq),
            order_id=line.order_id,
            receipt=_RECEIPT,
            item=item,
            line=0,
            channel=PurchaseChannel.CSV,
            void=False,
            ts=self._undated_ms if line.ts_ms is None else line.ts_ms,
            quantity=line.quantity,
            price=line.price,
            total=line_total(line.price, line.quantity),
            currency=line.currency,
            shopper=customer,
            person=self._person(customer),
            session=None,
            imported=True,
            updated_at=self._updated_ms,
            unconfirmed=False,
            excess=False,
        )

    def _updated_line(self, before: PurchaseLine, line: OrderHistoryLine) -> PurchaseLine:
        """Return `before` updated by `line`; it stays marked as live if it was."""
        quantity = before.quantity if line.quantity is None else line.quantity
        price = before.price if line.price is None else line.price
        total = before.total
        if price is not None and (line.price is not None or line.quantity is not None):
            total = line_total(price, quantity)
        customer = line.customer_id
        return before._replace(
            line=0,
            channel=PurchaseChannel.CSV,
            ts=before.ts if line.ts_ms is None else line.ts_ms,
            void=False,
            quantity=quantity,
            price=price,
            total=total,
            currency=line.currency or before.currency,
            shopper=customer or before.shopper,
            person=self._person(customer) or before.person,
            unconfirmed=False,
            excess=False,
        )

    def _person(self, customer: str | None) -> str | None:
        return None if customer is None else self._persons.get(customer, customer)


def merge_lines(lines: Sequence[PurchaseLine]) -> PurchaseLine:
    """Return several lines of one order and item as one, with summed units and revenue.

    An unknown quantity counts as 1 next to known ones; the sum of unknown ones is unknown.
    """
    has_quantity = any(line.quantity is not None for line in lines)
    units = sum(line.quantity or 1 for line in lines)
    totals = [line.total for line in lines if line.total is not None]
    prices = {line.price for line in lines}
    total = sum(totals) if totals else None
    return lines[0]._replace(
        quantity=units if has_quantity else None,
        price=prices.pop() if len(prices) == 1 else _average(total, units),
        total=total,
    )


def _average(total: float | None, units: int) -> float | None:
    return None if total is None or units == 0 else total / units
