"""Sold line repository: SQL that forecasts, reports and checks read purchases with."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.orders.order_and_purchase_ledger import PurchaseChannel
from productrecs.storage.sql.dialects import raw_connection
from productrecs.storage.sql.tables import items, purchase_lines

_PAGE: Final = 50_000
_SAMPLE: Final = 5_000
_SAMPLED_PERSONS: Final = 300
_ORDERS, _ORDER_LINES = 5, 50
_LINES_READ: Final = 20_000  # after an import, most of them are not live
# Raw SQL: Home reads tens of thousands of rows.
_UNCONFIRMED_LINES: Final = (
    "SELECT count(*), count(*) FILTER (WHERE unconfirmed AND channel > 0), "  # noqa: S608 - own words
    "count(*) FILTER (WHERE excess AND NOT void) FROM ("
    "SELECT unconfirmed, channel, excess, void FROM purchase_lines "
    "WHERE store_id = ? AND seq > ? AND NOT imported "
    f"AND (unconfirmed OR NOT void) ORDER BY seq DESC LIMIT {_SAMPLE}) AS newest"
)


class SoldLine(NamedTuple):
    """An order line: its shopper, the linked customer, and the session."""

    shopper: str | None
    person: str | None
    session: str | None
    ts: int


class PurchaseIdentification(NamedTuple):
    """How the newest live purchases are identified."""

    buys: int  # from buy events
    without_order: int  # those without an order id
    persons: Sequence[str]


class UnconfirmedCounts(NamedTuple):
    """Counts of the newest live lines."""

    lines: int
    unconfirmed: int  # of orders that only the publishable key sent
    excess: int  # beyond their networks' shares


class SoldLineRepository:
    """One store's purchase lines, inside one transaction; only reads."""

    def __init__(self, connection: sa.Connection, store_id: StoreId) -> None:
        """Read `store_id`'s rows only."""
        self._connection = connection
        self._store_id = store_id

    def sales(self, since_ms: int, until_ms: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield pages of (item, ts, quantity) of the valid lines in that period."""
        lines = purchase_lines.c
        query = sa.select(lines.item, lines.ts, lines.quantity).where(
            lines.store_id == self._store_id,
            lines.void.is_(False),
            lines.excess.is_(False),
            lines.ts >= since_ms,
            lines.ts < until_ms,
        )
        result = self._connection.execution_options(stream_results=True).execute(query)
        for page in result.partitions(_PAGE):
            yield [tuple(row) for row in page]

    def mean_prices_paid(self, since_ms: int, currency: str) -> dict[int, float]:
        """Return the mean price per unit that was paid for each item since a moment.

        Only lines in the store's `currency` count, and no returns.
        """
        lines = purchase_lines.c
        units = sa.func.sum(sa.func.coalesce(lines.quantity, 1))
        query = (
            sa.select(lines.item, sa.func.sum(lines.total) / units)
            .where(
                lines.store_id == self._store_id,
                lines.void.is_(False),
                lines.ts >= since_ms,
                lines.total.is_not(None),
                sa.func.coalesce(lines.quantity, 1) > 0,
                sa.func.coalesce(lines.currency, "").in_(("", currency)),
            )
            .group_by(lines.item)
        )
        return {int(item): float(price) for item, price in self._connection.execute(query)}

    def order_delay_ms(self) -> int | None:
        """Return how long the quickest of the newest orders took from purchase to receipt.

        Orders that changed since are left out. None: there are too few.
        """
        lines = purchase_lines.c
        newest = (
            sa.select(
                lines.store_id,
                lines.order_id,
                (lines.updated_at - lines.ts).label("delay"),
            )
            .where(
                lines.store_id == self._store_id,
                lines.channel == int(PurchaseChannel.ORDER),
                lines.line_seq == lines.seq,
                ~lines.imported,
                ~lines.void,
            )
            .order_by(lines.seq.desc())
            .limit(_ORDER_LINES)
            .subquery()
        )
        orders = sa.func.count(newest.c.order_id.distinct())
        query = sa.select(orders, sa.func.min(newest.c.delay)).where(
            newest.c.store_id == self._store_id
        )
        count, delay = self._connection.execute(query).one()
        return int(delay) if count >= _ORDERS and delay is not None else None

    def identification(self) -> PurchaseIdentification:
        """Return how the newest live purchases are identified, and who some buyers are."""
        lines = purchase_lines.c
        newest = (
            sa.select(lines.store_id, lines.channel, lines.order_id, lines.person)
            .where(
                lines.store_id == self._store_id,
                lines.imported.is_(False),
                lines.void.is_(False),
            )
            .order_by(lines.seq.desc())
            .limit(_SAMPLE)
            .subquery()
        )
        by_event = newest.c.channel == int(PurchaseChannel.EVENT)
        counts = sa.select(
            sa.func.count().filter(by_event),
            sa.func.count().filter(by_event & newest.c.order_id.is_(None)),
        ).where(newest.c.store_id == self._store_id)
        buys, without_order = self._connection.execute(counts).one()
        persons = (
            sa.select(newest.c.person)
            .where(newest.c.store_id == self._store_id, newest.c.person.is_not(None))
            .distinct()
            .limit(_SAMPLED_PERSONS)
        )
        found = self._connection.execute(persons).scalars().all()
        return PurchaseIdentification(buys, without_order, found)

    def newest_order_ids(self, after_seq: int, limit: int) -> Sequence[str | None]:
        """Return the order ids of the newest valid live lines, None for each without."""
        lines = purchase_lines.c
        query = (
            sa.select(lines.order_id)
            .where(
                lines.store_id == self._store_id,
                lines.seq > after_seq,
                lines.imported.is_(False),
                lines.void.is_(False),
            )
            .order_by(lines.seq.desc())
            .limit(limit)
        )
        return self._connection.execute(query).scalars().all()

    def unconfirmed_counts(self, after_seq: int) -> UnconfirmedCounts:
        """Return how many of the newest live lines anybody may have invented."""
        raw = raw_connection(self._connection)
        (row,) = raw.all(_UNCONFIRMED_LINES, (self._store_id, after_seq))
        return UnconfirmedCounts(*row)

    def newest_lines(self, after_seq: int, since_ms: int) -> list[SoldLine]:
        """Return the newest live lines since then, among the newest lines of all."""
        lines = purchase_lines.c
        newest = (
            sa.select(purchase_lines)
            .where(lines.store_id == self._store_id, lines.seq > after_seq)
            .order_by(lines.seq.desc())
            .limit(_LINES_READ)
            .subquery()
        )
        found = newest.c
        query = (
            sa.select(found.shopper, found.person, found.session, found.ts)
            .where(
                found.store_id == self._store_id,
                found.imported.is_(False),
                found.void.is_(False),
                found.ts >= since_ms,
            )
            .order_by(found.seq.desc())
            .limit(_SAMPLE)
        )
        return [SoldLine._make(row) for row in self._connection.execute(query)]

    def newest_order_lines(self, session: str, limit: int) -> Sequence[sa.RowMapping]:
        """Return the newest lines that the shop sent as orders, with their products.

        With `session`, only those of this session or shopper.
        """
        lines = purchase_lines.c
        query = (
            sa.select(purchase_lines, items.c.item_id, items.c.present)
            .join(
                items,
                (items.c.store_id == lines.store_id) & (items.c.number == lines.item),
            )
            .where(
                lines.store_id == self._store_id,
                lines.channel == PurchaseChannel.ORDER,
                ~lines.imported,
                ~lines.void,
            )
            .order_by(lines.line_seq.desc())
            .limit(limit)
        )
        if session:
            query = query.where((lines.session == session) | (lines.shopper == session))
        return self._connection.execute(query).mappings().all()
