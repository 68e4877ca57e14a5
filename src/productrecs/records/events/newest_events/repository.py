"""Newest event repository: SQL of bounded reads at the end of a store's log."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa

from productrecs.records.catalog.repository import items_of_store
from productrecs.records.events.event import EventKind
from productrecs.storage.sql.dialects import Row
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import (
    bot_events,
    event_columns,
    event_session,
    event_shopper,
    events,
)

_EVENTS: Final = 20_000
_MAX_TOUCHPOINTS: Final = 5_000
_OF_ONE_BUYER: Final = 300
# Raw SQL: Home and Impact read tens of thousands of rows and ask hundreds of short queries.
_TOUCHPOINTS: Final = (
    f"SELECT {event_shopper()}, {event_session()}, "  # noqa: S608 - own words
    "widget <> '' AND source <> '' FROM events "
    "WHERE store_id = ? AND seq > ? AND NOT imported AND kind IN (9, 10) "
    f"ORDER BY seq DESC LIMIT {_MAX_TOUCHPOINTS}"
)
_TIMES: Final = (
    "SELECT ts FROM events WHERE store_id = ? AND seq > ? AND NOT imported "  # noqa: S608 - own words
    f"ORDER BY seq DESC LIMIT {_EVENTS}"
)
_EXCESS: Final = (
    "SELECT count(*), count(*) FILTER (WHERE excess) FROM (SELECT excess FROM events "  # noqa: S608 - own words
    "WHERE store_id = ? AND seq > ? AND NOT imported "
    f"ORDER BY seq DESC LIMIT {_EVENTS}) AS newest"
)
_SHOWN_TO: Final = (
    f"SELECT DISTINCT {event_shopper()} FROM events WHERE store_id = ? AND seq IN ("  # noqa: S608 - own words
    "SELECT seq FROM events WHERE store_id = ? AND person = ? AND kind IN (9, 10) "
    f"ORDER BY seq DESC LIMIT {_OF_ONE_BUYER})"
)


class UnknownProductCounts(NamedTuple):
    """Counts of the newest events with a product."""

    references: int
    unknown: int  # events whose product is not in the catalog
    example: str = ""  # the id of one such product


class ProductEventSummary(NamedTuple):
    """A sample of a store's newest events that name a product."""

    identified: int
    newest_ts: int | None  # the latest timestamp


class NewestEventRepository(StoreScopedRepository):
    """One store's newest events, inside one transaction; only reads.

    Most methods read only live events, after a sequence number.
    """

    def touchpoints(self, after_seq: int) -> list[Row]:
        """Return (shopper, session, has a widget and a source) of touchpoints."""
        return self._raw.all(_TOUCHPOINTS, (self._store_id, after_seq))

    def times(self, after_seq: int) -> list[int]:
        """Return the times of the newest events, in the order of receipt."""
        rows = self._raw.all(_TIMES, (self._store_id, after_seq))
        return [row[0] for row in reversed(rows)]

    def total_and_excess_counts(self, after_seq: int) -> tuple[int, int]:
        """Return how many events there are, and how many beyond their networks' shares."""
        ((count, excess),) = self._raw.all(_EXCESS, (self._store_id, after_seq))
        return count, excess

    def shopper_ids_shown_lists(self, person: str) -> list[str]:
        """Return the ids of a person to which the newest recommendations were shown."""
        rows = self._raw.all(_SHOWN_TO, (self._store_id, self._store_id, person))
        return [row[0] for row in rows]

    def has_product_view(self, after_seq: int) -> bool:
        """Return whether there is a view of a product of the catalog."""
        item = items_of_store("present", store_id=self._store_id)
        query = (
            sa.select(events.c.seq)
            .join(item, item.c.number == events.c.item)
            .where(
                events.c.store_id == self._store_id,
                events.c.seq > after_seq,
                ~events.c.imported,
                events.c.kind == int(EventKind.DETAIL_PAGE_VIEW),
                item.c.present,
            )
        )
        return self._connection.execute(query.limit(1)).first() is not None

    def count_unknown_products(self, after_seq: int, limit: int) -> UnknownProductCounts:
        """Return how many of the newest events name products outside the catalog."""
        newest = self._product_numbers(after_seq, limit)
        item = items_of_store("item_id", "present", store_id=self._store_id)
        is_unknown = item.c.present.is_(False)
        query = sa.select(
            sa.func.count(),
            sa.func.count().filter(is_unknown),
            sa.func.max(item.c.item_id).filter(is_unknown),
        ).select_from(newest.join(item, item.c.number == newest.c.item))
        references, unknown, example = self._connection.execute(query).one()
        return UnknownProductCounts(int(references), int(unknown), example or "")

    def most_named_unknown_products(
        self, after_seq: int, sample: int, limit: int
    ) -> list[tuple[str, int]]:
        """Return the products outside the catalog that most events name."""
        newest, count = self._product_numbers(after_seq, sample), sa.func.count()
        item = items_of_store("item_id", "present", store_id=self._store_id)
        query = (
            sa.select(item.c.item_id, count)
            .select_from(newest.join(item, item.c.number == newest.c.item))
            .where(item.c.present.is_(False))
            .group_by(item.c.item_id)
            .order_by(count.desc(), item.c.item_id)
            .limit(limit)
        )
        return [(row[0], int(row[1])) for row in self._connection.execute(query)]

    def _product_numbers(self, after_seq: int, limit: int) -> sa.Subquery:
        """Return the product numbers of the newest live events, one row per event."""
        return (
            sa.select(events.c.item)
            .where(
                events.c.store_id == self._store_id,
                events.c.seq > after_seq,
                events.c.item.is_not(None),
                events.c.imported.is_(False),
            )
            .order_by(events.c.seq.desc())
            .limit(limit)
            .subquery()
        )

    def latest_events(
        self, limit: int, kind: int | None, shopper: str, item: str
    ) -> Sequence[sa.RowMapping]:
        """Return the newest live events with `item_id` and `present`, newest first.

        Optionally of one kind, of a session or shopper, or about an item or a term.
        """
        product = items_of_store("item_id", "present", store_id=self._store_id)
        item_id = product.c.item_id
        query = (
            sa.select(*event_columns(events), item_id, product.c.present)
            .outerjoin(product, product.c.number == events.c.item)
            .where(events.c.store_id == self._store_id, ~events.c.imported)
            .order_by(events.c.seq.desc())
            .limit(limit)
        )
        if kind is not None:
            query = query.where(events.c.kind == kind)
        if shopper:
            query = query.where(
                (sa.literal_column(event_session(), sa.Text) == shopper)
                | (sa.literal_column(event_shopper(), sa.Text) == shopper)
            )
        if item:
            query = query.where((item_id == item) | (events.c.term == item))
        return self._connection.execute(query).mappings().all()

    def newest_live_at(self) -> int | None:
        """Return the time of the newest live event, or None."""
        query = (
            sa.select(events.c.ts)
            .where(events.c.store_id == self._store_id, events.c.imported.is_(False))
            .order_by(events.c.seq.desc())
            .limit(1)
        )
        found: int | None = self._connection.execute(query).scalar()
        return found

    def summarize_newest_product_events(self) -> ProductEventSummary:
        """Return a sample of the newest events, imported ones too, that name a product."""
        newest = (
            sa.select(events.c.store_id, events.c.ts)
            .where(events.c.store_id == self._store_id, events.c.item.is_not(None))
            .order_by(events.c.seq.desc())
            .limit(_EVENTS)
            .subquery()
        )
        query = sa.select(sa.func.count(), sa.func.max(newest.c.ts)).where(
            newest.c.store_id == self._store_id
        )
        return ProductEventSummary(*self._connection.execute(query).one())

    def has_events_of(self, person: str) -> bool:
        """Return whether a person has any event."""
        query = (
            sa.select(events.c.seq).where(self._own_rows(events, person=person)).limit(1)
        )
        return self._connection.execute(query).first() is not None

    def event_counts_by_bot(self, since_ms: int) -> list[tuple[str, int]]:
        """Return the bots with the number of their events since then, most first."""
        count = sa.func.count()
        query = (
            sa.select(bot_events.c.bot, count)
            .where(bot_events.c.store_id == self._store_id, bot_events.c.ts > since_ms)
            .group_by(bot_events.c.bot)
            .order_by(count.desc(), bot_events.c.bot)
        )
        return [(row[0], int(row[1])) for row in self._connection.execute(query)]
