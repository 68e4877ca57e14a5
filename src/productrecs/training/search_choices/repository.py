"""Search event repository: SQL of searches and what followed them."""

from collections.abc import Iterator
from typing import Any, Final

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.events.event import EventKind
from productrecs.storage.tables import events, purchase_lines

_PAGE: Final = 50_000


class SearchEventRepository:
    """The search events of one store's log, in one transaction."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def events(self, after_seq: int, up_to_seq: int) -> Iterator[list[tuple[Any, ...]]]:
        """Give pages of (seq, ts, kind, item, term, shopper, session) in log order."""
        kinds = (EventKind.SEARCH_PREF, EventKind.SEARCH_CLICK, EventKind.ADD_TO_CART)
        log = events.c
        query = (
            sa.select(
                log.seq,
                log.ts,
                log.kind,
                log.item,
                log.term,
                log.shopper,
                log.session,
            )
            .where(
                log.store_id == self._store_id,
                log.seq > after_seq,
                log.seq <= up_to_seq,
                log.kind.in_([int(kind) for kind in kinds]),
            )
            .order_by(log.seq)
        )
        yield from self._pages(query)

    def purchases(self, after_seq: int, up_to_seq: int) -> Iterator[list[tuple[Any, ...]]]:
        """Give pages of (line_seq, ts, item, shopper, session, counts) changes."""
        lines = purchase_lines.c
        counts = lines.void.is_(False) & (sa.func.coalesce(lines.quantity, 1) > 0)
        query = (
            sa.select(
                lines.line_seq, lines.ts, lines.item, lines.shopper, lines.session, counts
            )
            .where(
                lines.store_id == self._store_id,
                lines.seq > after_seq,
                lines.seq <= up_to_seq,
            )
            .order_by(lines.seq)
        )
        yield from self._pages(query)

    def _pages(self, query: sa.Select[Any]) -> Iterator[list[tuple[Any, ...]]]:
        result = self._transaction.execution_options(stream_results=True).execute(query)
        for page in result.partitions(_PAGE):
            yield [tuple(row) for row in page]
