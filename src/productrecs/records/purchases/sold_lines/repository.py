"""Sold line repository: SQL that forecasts, reports and checks read purchases with."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.catalog.repository import items_of_store
from productrecs.records.purchases.repository import PurchaseChannel
from productrecs.storage.sql.dialects import Row
from productrecs.storage.sql.sequence_and_item_numbers import first_live_fact_received_at
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import purchase_lines

_PAGE: Final = 50_000
_TRAINING_PAGE: Final = 2_000  # stays in the cache of the processor: half the time
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
_CHANGED: Final = (
    "SELECT line_seq, ts, item, shopper, quantity, total, currency, basket, void "
    "FROM purchase_lines WHERE store_id = ? AND seq > ? AND seq <= ? AND NOT imported "
    "ORDER BY line_seq"
)
_UNREAD: Final = (
    "SELECT 1 FROM purchase_lines "
    "WHERE store_id = ? AND line_seq > ? AND ts < ? AND NOT imported LIMIT 1"
)
_OF_PERSONS: Final = (
    "SELECT line_seq, person, ts, basket, quantity, total, currency, item "
    "FROM purchase_lines "
    "WHERE store_id = ? AND line_seq > ? AND ts >= ? AND NOT void AND person IS NOT NULL "
    "ORDER BY line_seq LIMIT ?"
)
# A line has a customer if its person is not the session: a user_id, or a file's column.
_OF_CUSTOMERS: Final = (
    "SELECT line_seq, person, ts, basket, quantity, total, currency FROM purchase_lines "
    "WHERE store_id = ? AND line_seq > ? AND NOT void AND person IS NOT NULL "
    "AND shopper IS NOT NULL AND (session IS NULL OR session <> shopper) "
    "ORDER BY line_seq LIMIT ?"
)
# Parts of the statements that read a shopper's history: events and purchases at once.
BUYER_SQL: Final = (
    "SELECT 1 FROM purchase_lines "
    "WHERE store_id = ? AND person = ? AND NOT void "
    "AND (session IS NULL OR session <> person)"
)
"""Whether an order names a customer; takes the store and the name."""


def changed_lines_sql(kind: int) -> str:
    """Return the SQL of the lines that changed after a number, as facts of a kind.

    It takes the store and the number, and gives (kind, seq, ts, item, session, person,
    first seq, null). Lines that were void from the start are left out.
    """
    return (
        f"SELECT {kind}, seq, ts, item, session, person, line_seq, NULL "  # noqa: S608 - a number
        "FROM purchase_lines "
        "WHERE store_id = ? AND seq > ? AND NOT (void AND line_seq = seq)"
    )


def lines_of_person_sql(kind: int, limit: int) -> str:
    """Return the SQL of the newest `limit` lines of a person, as facts of a kind.

    It takes the store and the person, and gives (kind, seq, ts, item, session).
    """
    return (
        f"SELECT {kind}, seq, ts, item, session FROM purchase_lines "  # noqa: S608 - numbers
        f"WHERE store_id = ? AND person = ? AND NOT void ORDER BY seq DESC LIMIT {limit}"
    )


def order_ids_of_lines(store_id: StoreId) -> sa.Subquery:
    """Return the order id of each line of a store, to join with other facts."""
    lines = purchase_lines.c
    query = sa.select(lines.line_seq, lines.order_id).where(lines.store_id == store_id)
    return query.subquery()


class SoldLineShopperIds(NamedTuple):
    """The ids of an order line's shopper, linked customer and session; and its time."""

    shopper: str | None
    person: str | None
    session: str | None
    ts: int


class PurchaseIdentificationCounts(NamedTuple):
    """How the newest live purchases are identified."""

    buys: int  # from buy events
    without_order: int  # those without an order id
    persons: Sequence[str]


class UnconfirmedLineCounts(NamedTuple):
    """Counts of the newest live lines."""

    lines: int
    unconfirmed: int  # of orders that only the publishable key sent
    excess: int  # beyond their networks' shares


class SoldLineRepository(StoreScopedRepository):
    """One store's purchase lines, inside one transaction; only reads."""

    def pages_of_sales(
        self, since_ms: int, until_ms: int, currency: str
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield pages of (item, ts, quantity, total) of the valid lines in that period.

        The total of a line in another currency than `currency`, the store's, is None.
        """
        lines = purchase_lines.c
        is_own = sa.func.coalesce(lines.currency, "").in_(("", currency))
        total = sa.case((is_own, lines.total))
        query = sa.select(lines.item, lines.ts, lines.quantity, total).where(
            lines.store_id == self._store_id,
            lines.void.is_(False),
            lines.excess.is_(False),
            lines.ts >= since_ms,
            lines.ts < until_ms,
        )
        result = self._connection.execution_options(stream_results=True).execute(query)
        for page in result.partitions(_PAGE):
            yield [tuple(row) for row in page]

    def pages_of_training_lines(
        self, after_seq: int, up_to_seq: int, currency: str
    ) -> Iterator[list[Row]]:
        """Yield pages of the lines that changed in a part of the log, in its order.

        A row is (line_seq, basket, item, quantity, total, ts, void, shopper, session).
        The total of a line in another currency than `currency`, the store's, is the item's
        usual price for its units: totals are summed, and there are no exchange rates.
        """
        lines = purchase_lines.c
        item = items_of_store("price", store_id=self._store_id)
        usual_price = sa.select(item.c.price).where(item.c.number == lines.item)
        total = sa.case(
            (sa.func.coalesce(lines.currency, "").in_(("", currency)), lines.total),
            else_=usual_price.scalar_subquery() * sa.func.coalesce(lines.quantity, 1),
        )
        query = (
            sa.select(
                lines.line_seq,
                lines.basket,
                lines.item,
                lines.quantity,
                total,
                lines.ts,
                sa.or_(lines.void, lines.excess),
                lines.shopper,
                lines.session,
            )
            .where(
                lines.store_id == self._store_id,
                lines.seq > after_seq,
                lines.seq <= up_to_seq,
            )
            .order_by(lines.seq)
        )
        result = self._connection.execution_options(stream_results=True).execute(query)
        for page in result.partitions(_TRAINING_PAGE):
            yield [tuple(row) for row in page]

    def first_live_line_at(self, after_seq: int) -> int | None:
        """Return when the first live line after a number was received or changed.

        None if the next thousand lines have no live one.
        """
        lines = purchase_lines.c
        received = sa.func.coalesce(lines.updated_at, lines.ts)
        return first_live_fact_received_at(
            self._connection, self._store_id, purchase_lines, received, after_seq
        )

    def changed_live_lines(self, after_seq: int, up_to_seq: int) -> list[Row]:
        """Return the current state of the live lines that changed in a part of the log.

        They are (line_seq, ts, item, shopper, quantity, total, currency, basket, void).
        """
        raw = self._raw
        return raw.all(_CHANGED, (self._store_id, after_seq, up_to_seq))

    def has_unread_live_line(self, after_seq: int, before_ms: int) -> bool:
        """Return whether live lines after a number are from before a time."""
        raw = self._raw
        return bool(raw.all(_UNREAD, (self._store_id, after_seq, before_ms)))

    def pages_of_lines_with_shopper(
        self, since_ms: int, after_seq: int = -1
    ) -> Iterator[list[Row]]:
        """Yield pages of the valid lines since then, with a customer or a session.

        A row is (line_seq, person, ts, basket, quantity, total, currency, item).
        """
        after, raw = after_seq, self._raw
        while page := raw.all(_OF_PERSONS, (self._store_id, after, since_ms, _PAGE)):
            yield page
            after = page[-1][0]

    def pages_of_customer_lines(self) -> Iterator[list[Row]]:
        """Yield pages of the valid lines of customers.

        A row is (line_seq, person, ts, basket, quantity, total, currency).
        """
        after, raw = -1, self._raw
        while page := raw.all(_OF_CUSTOMERS, (self._store_id, after, _PAGE)):
            yield page
            after = page[-1][0]

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

    def shortest_order_delay_ms(self) -> int | None:
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

    def purchase_identification(self) -> PurchaseIdentificationCounts:
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
        return PurchaseIdentificationCounts(buys, without_order, found)

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

    def unconfirmed_line_counts(self, after_seq: int) -> UnconfirmedLineCounts:
        """Return how many of the newest live lines anybody may have invented."""
        raw = self._raw
        (row,) = raw.all(_UNCONFIRMED_LINES, (self._store_id, after_seq))
        return UnconfirmedLineCounts(*row)

    def shoppers_of_newest_lines(
        self, after_seq: int, since_ms: int
    ) -> list[SoldLineShopperIds]:
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
        return [SoldLineShopperIds._make(row) for row in self._connection.execute(query)]

    def newest_order_lines(self, session: str, limit: int) -> Sequence[sa.RowMapping]:
        """Return the newest lines that the shop sent as orders, with their products.

        With `session`, only those of this session or shopper.
        """
        lines = purchase_lines.c
        item = items_of_store("item_id", "present", store_id=self._store_id)
        query = (
            sa.select(purchase_lines, item.c.item_id, item.c.present)
            .join(item, item.c.number == lines.item)
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
