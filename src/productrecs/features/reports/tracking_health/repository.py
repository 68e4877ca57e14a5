"""Tracking health repository: SQL for hourly counts and the newest records."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS, HOUR_MS
from productrecs.core.ids import StoreId
from productrecs.records.events.event import EventKind
from productrecs.records.events.newest_events.repository import (
    NewestEventRepository,
    UnknownProductCounts,
)
from productrecs.records.purchases.repository import PurchaseRepository
from productrecs.records.purchases.sold_lines.repository import (
    SoldLineRepository,
    SoldLineShopperIds,
)
from productrecs.storage.sql.dialects import put_row
from productrecs.storage.sql.store_counters_and_versions import log_seq
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import event_hours, outcome_days, refused_identities
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.shopper_identity import IdentityVerdict

_SAMPLE: Final = 20_000
_MAX_ENTRIES: Final = 50_000  # log entries
_REFUSED_DAYS: Final = 30  # how long refused identities stay counted


@dataclass(frozen=True, slots=True)
class RefusedIdentityCall:
    """A call whose signed identity proved nothing."""

    store_id: StoreId
    check: IdentityVerdict
    at_ms: int

    @property
    def key(self) -> None:
        """Return None: each call counts."""


def count_refused_identities_and_delete_old(
    transaction: sa.Connection, batch: Sequence[RefusedIdentityCall]
) -> None:
    """Count the calls of any stores, by day and reason, and delete old counts."""
    for store_id, calls in AccountRepository(transaction).lock_each_store(batch):
        counts = Counter((call.at_ms // DAY_MS, call.check.name.lower()) for call in calls)
        for (day, reason), count in sorted(counts.items()):
            put_row(
                transaction,
                refused_identities,
                summed_columns=("calls",),
                store_id=store_id,
                day=day,
                reason=reason,
                calls=count,
            )
        oldest = max(day for day, _ in counts) - _REFUSED_DAYS
        transaction.execute(
            refused_identities.delete().where(
                refused_identities.c.store_id == store_id, refused_identities.c.day < oldest
            )
        )


class TrackingHealthRepository(StoreScopedRepository):
    """One store's counts, inside one transaction; only reads."""

    def event_counts_by_hour_and_kind(
        self, first: int, last: int
    ) -> dict[tuple[int, int], int]:
        """Return live events by hour (of UTC, since 1970) and kind, both ends included."""
        query = sa.select(event_hours.c.hour, event_hours.c.kind, event_hours.c.count)
        query = query.where(
            event_hours.c.store_id == self._store_id,
            event_hours.c.hour >= first,
            event_hours.c.hour <= last,
        )
        rows = self._connection.execute(query)
        return {(int(row[0]), int(row[1])): int(row[2]) for row in rows}

    def first_touchpoint_hour_ms(self) -> int | None:
        """Return the hour in which the store's first live impression or click came."""
        query = sa.select(sa.func.min(event_hours.c.hour)).where(
            event_hours.c.store_id == self._store_id,
            event_hours.c.kind.in_((EventKind.REC_IMPRESSION, EventKind.REC_CLICK)),
        )
        hour = self._connection.execute(query).scalar()
        return None if hour is None else int(hour) * HOUR_MS

    def order_and_line_counts(self, first_day: str, last_day: str) -> tuple[int, int]:
        """Return the number of live orders and of bought lines on these days."""
        days = outcome_days.c
        query = sa.select(sa.func.sum(days.orders), sa.func.sum(days.lines)).where(
            days.store_id == self._store_id, days.day >= first_day, days.day <= last_day
        )
        orders, lines = self._connection.execute(query).one()
        return int(orders or 0), int(lines or 0)

    def unknown_products(self) -> UnknownProductCounts:
        """Return how many of the newest live events name products outside the catalog."""
        return self._newest_events().count_unknown_products(self._since(), _SAMPLE)

    def most_named_unknown_items(self, limit: int) -> list[tuple[str, int]]:
        """Return the non-catalog products with most of the newest live events."""
        return self._newest_events().most_named_unknown_products(
            self._since(), _SAMPLE, limit
        )

    def bot_event_counts(self, since_ms: int) -> list[tuple[str, int]]:
        """Return the bots with the number of their events since then, most first."""
        return self._newest_events().event_counts_by_bot(since_ms)

    def _newest_events(self) -> NewestEventRepository:
        return NewestEventRepository(self._connection, self._store_id)

    def refused_identity_counts(self, since_ms: int) -> list[tuple[str, int]]:
        """Return the reasons with the number of calls since that day, most first."""
        calls = sa.func.sum(refused_identities.c.calls)
        query = (
            sa.select(refused_identities.c.reason, calls)
            .where(
                refused_identities.c.store_id == self._store_id,
                refused_identities.c.day >= since_ms // DAY_MS,
            )
            .group_by(refused_identities.c.reason)
            .order_by(calls.desc(), refused_identities.c.reason)
        )
        return [(row[0], int(row[1])) for row in self._connection.execute(query)]

    def line_count_and_without_order_id(self) -> tuple[int, int]:
        """Return the number of the newest live lines, and of those without an order id."""
        lines = SoldLineRepository(self._connection, self._store_id)
        orders = lines.newest_order_ids(self._since(), _SAMPLE)
        return len(orders), sum(order is None for order in orders)

    def _since(self) -> int:
        return log_seq(self._connection, self._store_id) - _MAX_ENTRIES


_PRODUCT_EVENTS: Final = 2_000
_CUSTOMER: Final = "SELECT customer FROM shopper_links WHERE store_id = ? AND session = ?"


class UncountedRecordCounts(NamedTuple):
    """Of the newest live records, how many do not count or are not confirmed."""

    records: int  # events and lines
    excess: int  # of these, beyond their networks' shares
    lines: int
    unconfirmed: int  # lines of orders that only the publishable key sent
    confirmed_at: int | None  # the last order with the secret key


class RecentBuyer(NamedTuple):
    """A recent buyer: the id of the order, the linked customer, and the session."""

    shopper: str
    person: str
    session: str | None
    ts: int


class TouchpointToCheck(NamedTuple):
    """An impression or click: the shopper, and whether it names widget and source."""

    shopper: str
    session: str | None
    is_placed: bool  # has a widget, and a source


class TrackingIssueRepository(StoreScopedRepository):
    """One store's newest live records, inside one transaction; only reads."""

    def __init__(self, connection: sa.Connection, store_id: StoreId) -> None:
        """Read `store_id`'s rows only."""
        super().__init__(connection, store_id)
        self._newest_events = NewestEventRepository(connection, store_id)

    def touchpoints(self) -> list[TouchpointToCheck]:
        """Return the newest clicks and impressions of recommendations."""
        rows = self._newest_events.touchpoints(self._since())
        return [TouchpointToCheck(row[0], row[1], bool(row[2])) for row in rows]

    def has_product_view(self) -> bool:
        """Return whether the newest live events hold a view of a product of the catalog."""
        return self._newest_events.has_product_view(self._since())

    def uncounted_record_counts(self) -> UncountedRecordCounts:
        """Return how many of the newest live records anybody may have invented."""
        since = self._since()
        seen, crowded = self._newest_events.total_and_excess_counts(since)
        lines, unconfirmed, excess = self._sold_lines().unconfirmed_line_counts(since)
        purchases = PurchaseRepository(self._connection, self._store_id)
        return UncountedRecordCounts(
            records=seen + lines,
            excess=crowded + excess,
            lines=lines,
            unconfirmed=unconfirmed,
            confirmed_at=purchases.confirmed_order_at(),
        )

    def unknown_products(self) -> UnknownProductCounts:
        """Return how many of the newest live events name products outside the catalog."""
        return self._newest_events.count_unknown_products(self._since(), _PRODUCT_EVENTS)

    def newest_lines(self, since_ms: int) -> list[SoldLineShopperIds]:
        """Return the newest live order lines since then, among the newest lines of all."""
        return self._sold_lines().shoppers_of_newest_lines(self._since(), since_ms)

    def _sold_lines(self) -> SoldLineRepository:
        return SoldLineRepository(self._connection, self._store_id)

    def has_impressions_under_buying_id(self, buyer: RecentBuyer) -> bool:
        """Return whether a recommendation was shown to the id that the buyer used."""
        shopper_ids = {buyer.shopper, buyer.person}
        return buyer.shopper in self._shoppers_shown_to(
            shopper_ids | set(self._linked_customers(buyer.shopper))
        )

    def other_shopper_ids_with_impressions(self, buyer: RecentBuyer) -> set[str]:
        """Return the buyer's other ids to which recommendations were shown."""
        shopper_ids = {buyer.shopper, buyer.person}
        if buyer.session:
            shopper_ids |= {buyer.session, *self._linked_customers(buyer.session)}
        return self._shoppers_shown_to(shopper_ids) - {buyer.shopper}

    def event_times(self) -> list[int]:
        """Return the times of the newest live events, in the order of receipt."""
        return self._newest_events.times(self._since())

    def _shoppers_shown_to(self, persons: set[str]) -> set[str]:
        return {
            shopper
            for person in sorted(persons)
            for shopper in self._newest_events.shopper_ids_shown_lists(person)
        }

    def _linked_customers(self, session: str) -> list[str]:
        return [row[0] for row in self._raw.all(_CUSTOMER, (self._store_id, session))]

    def _since(self) -> int:
        return log_seq(self._connection, self._store_id) - _MAX_ENTRIES
