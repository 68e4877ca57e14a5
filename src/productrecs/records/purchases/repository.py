"""Purchase repository: SQL of order receipts, purchase lines and import progress."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple, Self

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import (
    FIELD_PLACEHOLDER,
    LOOKUP_PLACEHOLDER,
    ROWS_PLACEHOLDER,
    Row,
    upsert,
)
from productrecs.storage.sql.shopper_row_export_and_erasure import (
    TableWithShopperIds,
    chunks,
)
from productrecs.storage.sql.store_counters_and_versions import (
    head_fields,
    record_confirmed_order_time,
)
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import imports, order_receipts, purchase_lines

IDEMPOTENCY_WINDOW_MS: Final = 7 * DAY_MS
_CHUNK: Final = 400
_MAX_LINES: Final = 1_000  # lines of an order that are read in full
_HISTORY: Final = "orders"
FIRST_PAGE_KEY: Final = ("", -1, -1, -1)
# The lines of a session that was linked to a customer follow it.
_LINK: Final = (
    f"UPDATE purchase_lines SET person = given.value ->> 1 FROM {ROWS_PLACEHOLDER} "  # noqa: S608 - own words
    "WHERE store_id = ? AND person = given.value ->> 0"
)


class PurchaseChannel(IntEnum):
    """The channel of a purchase; a higher one replaces a lower one."""

    EVENT = 0
    ORDER = 1
    CSV = 2


class PurchaseLine(NamedTuple):
    """One row of `purchase_lines`, without the store's id, in the order of its columns.

    A tuple, not a dataclass: an import creates millions, in a third of the time.
    """

    line_seq: int
    seq: int
    basket: int | None
    order_id: str | None
    receipt: int
    item: int
    line: int
    channel: int
    void: bool
    ts: int
    quantity: int | None
    price: float | None
    total: float | None
    currency: str | None
    shopper: str | None
    person: str | None
    session: str | None
    imported: bool
    updated_at: int | None
    unconfirmed: bool
    excess: bool

    @property
    def is_confirmed(self) -> bool:
        """Whether the secret key or a file sent it."""
        return not self.unconfirmed and self.channel != PurchaseChannel.EVENT

    def with_customer(self, linked: Mapping[str, str]) -> Self:
        """Return the line with its person replaced by the linked customer."""
        person = linked.get(self.person or "")
        return self if person is None else self._replace(person=person)


@dataclass(frozen=True, slots=True)
class OrderPageQuery:
    """The orders to list: those after an id and a receipt."""

    after: tuple[str, int]
    limit: int
    updated_after: int = -1
    confirmed: bool | None = None  # None: both


@dataclass(frozen=True, slots=True)
class OrderImportProgress:
    """The progress of an order history import, with the counts of new and changed lines."""

    digest: str
    submitted_at: int
    rows_done: int = 0
    lines_added: int = 0
    lines_changed: int = 0
    lines_repeated: int = 0


_NAMES: Final = PurchaseLine._fields
# Each is looked up.
_ORDERS: Final = f"FROM {ROWS_PLACEHOLDER} CROSS JOIN {LOOKUP_PLACEHOLDER}"
_LINES: Final = (
    f"SELECT {', '.join(f'found.{name}' for name in _NAMES)} "
    f"{_ORDERS} purchase_lines AS found "
    f"WHERE found.store_id = ? AND found.order_id = given.value ->> 0 {FIELD_PLACEHOLDER}"
)
_ENDLESS: Final = (
    f"SELECT found.order_id {_ORDERS} purchase_lines AS found "
    f"WHERE found.store_id = ? AND found.order_id = given.value ->> 0 {FIELD_PLACEHOLDER} "
    f"GROUP BY found.order_id HAVING count(*) > {_MAX_LINES}"
)
_RECEIPTS: Final = (
    f"SELECT found.order_id, found.receipt {_ORDERS} order_receipts AS found "
    f"WHERE found.store_id = ? AND found.order_id = given.value ->> 0 {FIELD_PLACEHOLDER}"
)


class PurchaseRepository(StoreScopedRepository):
    """One store's purchases, inside one transaction; never commits."""

    def number_receipt_unless_repeated_recently(
        self, order_id: str, now_ms: int
    ) -> int | None:
        """Record an order; return its receipt number (0, 1, ...), None for a duplicate.

        A repeat within seven days is a duplicate and does not extend the window; at
        exactly seven days it is a new order.
        """
        added = upsert(self._connection, order_receipts).values(
            store_id=self._store_id, order_id=order_id, receipt=0, received_at=now_ms
        )
        query = added.on_conflict_do_update(
            index_elements=["store_id", "order_id"],
            set_={"received_at": now_ms, "receipt": order_receipts.c.receipt + 1},
            where=order_receipts.c.received_at <= now_ms - IDEMPOTENCY_WINDOW_MS,
        ).returning(order_receipts.c.receipt)
        return self._connection.execute(query).scalar()

    def restart_receipt_window(self, order_id: str, now_ms: int) -> None:
        """Let the seven days of an order begin now: it takes another's place."""
        self._update_rows(
            order_receipts, order_receipts.c.order_id == order_id, received_at=now_ms
        )

    def confirmed_order_at(self) -> int | None:
        """Return about when the last order came with the secret key; None: never."""
        row = head_fields(self._connection, self._store_id, "confirmed_order_at")
        return None if row is None else row[0]

    def record_confirmed_order_time(self, now_ms: int, if_before_ms: int) -> None:
        """Record the time of such an order, unless a time after `if_before_ms` is known."""
        record_confirmed_order_time(self._connection, self._store_id, now_ms, if_before_ms)

    def unconfirmed_lines(self, *, void: bool, limit: int) -> list[PurchaseLine]:
        """Return up to `limit` unconfirmed lines that count, or that do not (`void`)."""
        lines = purchase_lines.c
        return self._select_lines(lines.unconfirmed, lines.void.is_(void), limit=limit)

    def excess_lines(self, limit: int) -> list[PurchaseLine]:
        """Return up to `limit` lines that count, beyond their networks' shares."""
        lines = purchase_lines.c
        return self._select_lines(
            lines.unconfirmed, lines.void.is_(False), lines.excess, limit=limit
        )

    def latest_receipts(self, order_ids: Iterable[str]) -> dict[str, int]:
        """Return the latest order sync receipt of each order."""
        return dict(self._rows_of_orders(_RECEIPTS, dict.fromkeys(order_ids)))

    def lines_of_orders(
        self, order_ids: Iterable[str], items: Collection[int] | None = None
    ) -> list[PurchaseLine]:
        """Return every line of these orders, including void ones and all receipts.

        With `items`, orders of more than 1,000 lines are read in part: the lines of these
        items, and one line to identify the basket.
        """
        distinct_ids = list(dict.fromkeys(order_ids))
        very_long = set() if items is None else self._very_long_orders(distinct_ids)
        if very_long:
            distinct_ids = [
                order_id for order_id in distinct_ids if order_id not in very_long
            ]
        lines = [
            _to_purchase_line(row) for row in self._rows_of_orders(_LINES, distinct_ids)
        ]
        numbers = sorted(set(items or ()))
        for order_id in sorted(very_long):
            order = purchase_lines.c.order_id == order_id
            lines += self._select_lines(order, limit=1)
            for start in range(0, len(numbers), _CHUNK):
                number_chunk = numbers[start : start + _CHUNK]
                lines += self._select_lines(order, purchase_lines.c.item.in_(number_chunk))
        return lines

    def lines_stored_in(
        self, first_seq: int, last_seq: int, numbers: Collection[int]
    ) -> list[PurchaseLine]:
        """Return the lines first stored in a part of the log, and those numbered so."""
        number = purchase_lines.c.line_seq
        return self._select_lines(number.between(first_seq, last_seq) | number.in_(numbers))

    def page_of_order_lines(
        self, after: tuple[str, int, int, int], limit: int
    ) -> list[PurchaseLine]:
        """Return up to `limit` valid order lines after `after`.

        They are sorted by order id, receipt, item and line, and `after` is such a key;
        `FIRST` is before all.
        """
        columns = purchase_lines.c
        key = (columns.order_id, columns.receipt, columns.item, columns.line)
        query = (
            sa.select(*[columns[name] for name in _NAMES])
            .where(
                columns.store_id == self._store_id,
                columns.order_id.is_not(None),
                columns.void.is_(False),
                sa.tuple_(*key) > sa.tuple_(*map(sa.literal, after)),
            )
            .order_by(*key)
            .limit(limit)
        )
        return [PurchaseLine(*row) for row in self._connection.execute(query)]

    def next_order_ids_and_receipts(self, page: OrderPageQuery) -> list[tuple[str, int]]:
        """Return the next orders by id and receipt; a `buy` event's order id is one too."""
        columns = purchase_lines.c
        key = (columns.order_id, columns.receipt)
        changed = sa.func.max(sa.func.coalesce(columns.updated_at, columns.ts))
        unconfirmed = sa.or_(columns.unconfirmed, columns.channel == PurchaseChannel.EVENT)
        query = (
            sa.select(*key)
            .where(
                columns.store_id == self._store_id,
                columns.order_id.is_not(None),
                sa.or_(columns.void.is_(False), columns.unconfirmed),
                sa.tuple_(*key) > sa.tuple_(*map(sa.literal, page.after)),
            )
            .group_by(*key)
            .having(changed > page.updated_after)
            .order_by(*key)
            .limit(page.limit)
        )
        if page.confirmed is not None:
            count = sa.func.sum(sa.case((unconfirmed, 1), else_=0))
            query = query.having(count == 0 if page.confirmed else count > 0)
        return [(row[0], row[1]) for row in self._connection.execute(query)]

    def lines_from_buy_events(self, after_seq: int, limit: int) -> list[PurchaseLine]:
        """Return up to `limit` lines that only `buy` events reported, by `seq`."""
        columns = purchase_lines.c
        query = (
            sa.select(*[columns[name] for name in _NAMES])
            .where(
                columns.store_id == self._store_id,
                columns.seq > after_seq,
                columns.channel == PurchaseChannel.EVENT,
                columns.void.is_(False),
            )
            .order_by(columns.seq)
            .limit(limit)
        )
        return [PurchaseLine(*row) for row in self._connection.execute(query)]

    def _select_lines(
        self, *conditions: sa.ColumnElement[bool], limit: int | None = None
    ) -> list[PurchaseLine]:
        columns = [purchase_lines.c[name] for name in _NAMES]
        query = sa.select(*columns).where(
            purchase_lines.c.store_id == self._store_id, *conditions
        )
        return [PurchaseLine(*row) for row in self._connection.execute(query.limit(limit))]

    def _rows_of_orders(self, text: str, order_ids: Iterable[str]) -> list[Row]:
        order_rows = [[order_id] for order_id in order_ids]
        return self._raw.all(text, (order_rows, self._store_id)) if order_rows else []

    def _very_long_orders(self, order_ids: Sequence[str]) -> set[str]:
        return {row[0] for row in self._rows_of_orders(_ENDLESS, order_ids)}

    def add(self, database: Database, lines: Sequence[PurchaseLine]) -> None:
        """Store new lines."""
        rows = [(self._store_id, *line) for line in lines]
        database.insert_rows(self._connection, purchase_lines, rows)

    def change_lines(self, lines: Sequence[PurchaseLine]) -> None:
        """Store changed lines, found by their `line_seq`."""
        if not lines:
            return
        changed = [name for name in _NAMES if name != "line_seq"]
        query = (
            purchase_lines.update()
            .where(
                purchase_lines.c.store_id == sa.bindparam("own_store"),
                purchase_lines.c.line_seq == sa.bindparam("own_line"),
            )
            .values({name: sa.bindparam(f"new_{name}") for name in changed})
        )
        self._connection.execute(
            query,
            [
                {"own_store": self._store_id, "own_line": line.line_seq}
                | {f"new_{name}": getattr(line, name) for name in changed}
                for line in lines
            ],
        )

    def move_lines_to_customers(self, links: Sequence[tuple[str, str, int]]) -> None:
        """Move the lines of sessions to customers; a link begins with these two."""
        self._raw.run(_LINK, (list(links), self._store_id))

    def clear_customer_of_lines(self, shopper_ids: Sequence[str], limit: int) -> int:
        """Clear the customer of up to `limit` of a shopper's lines; return how many."""
        lines = purchase_lines.c
        for some in chunks(shopper_ids):
            found = (
                sa.select(lines.line_seq)
                .where(lines.store_id == self._store_id, lines.person.in_(some))
                .limit(limit)
            )
            if count := self._update_rows(
                purchase_lines,
                lines.line_seq.in_(found),
                shopper=None,
                person=None,
                session=None,
            ):
                return count
        return 0

    def count_buys_and_orders(self, after_ms: int, until_ms: int) -> tuple[int, int]:
        """Return the numbers of `buy` events and of orders in that period.

        A `buy` without an order id counts as an order; an order of returns only does not.
        Reads all of the store's lines, which may take seconds.
        """
        lines = purchase_lines.c
        is_counted = sa.and_(~lines.void, sa.func.coalesce(lines.quantity, 1) > 0)
        is_single_line = sa.and_(is_counted, lines.basket.is_(None))
        query = sa.select(
            sa.func.count(sa.case((lines.channel == PurchaseChannel.EVENT, 1))),
            sa.func.count(sa.distinct(sa.case((is_counted, lines.basket)))),
            sa.func.count(sa.case((is_single_line, 1))),
        ).where(lines.store_id == self._store_id, lines.ts > after_ms, lines.ts <= until_ms)
        buys, baskets, single = self._connection.execute(query).one()
        return int(buys), int(baskets) + int(single)

    def import_progress(self, digest: str) -> OrderImportProgress | None:
        """Return the progress of an order history import; None if it has not begun."""
        query = sa.select(
            imports.c.submitted_at,
            imports.c.lines_done,
            imports.c.lines_added,
            imports.c.lines_changed,
            imports.c.lines_repeated,
        ).where(self._own_rows(imports, kind=_HISTORY, digest=digest))
        row = self._connection.execute(query).first()
        return None if row is None else OrderImportProgress(digest, *map(int, row))

    def store_import_progress(self, progress: OrderImportProgress) -> None:
        """Store an import's progress, in the transaction of its lines."""
        self._put_row(
            imports,
            kept_columns=("submitted_at",),
            kind=_HISTORY,
            digest=progress.digest,
            submitted_at=progress.submitted_at,
            lines_done=progress.rows_done,
            lines_added=progress.lines_added,
            lines_changed=progress.lines_changed,
            lines_repeated=progress.lines_repeated,
        )

    def delete_import_progress(self, digest: str) -> None:
        """Delete the progress of a completed import."""
        self._delete_rows(imports, kind=_HISTORY, digest=digest)


def shopper_lines(transaction: sa.Connection, store_id: StoreId) -> TableWithShopperIds:
    """Return a store's lines as rows of shoppers."""
    return TableWithShopperIds(transaction, store_id, purchase_lines)


def _to_purchase_line(row: Row) -> PurchaseLine:
    """Return a row of the raw driver as a line; SQLite returns booleans as numbers."""
    line = PurchaseLine(*row)
    return line._replace(
        void=bool(line.void),
        imported=bool(line.imported),
        unconfirmed=bool(line.unconfirmed),
        excess=bool(line.excess),
    )
