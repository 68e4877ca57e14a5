"""Experiment results repository: SQL for what a test's visitors did, and for results."""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.records.catalog.repository import costs_of_items
from productrecs.records.events.event_log.repository import EventLogRepository
from productrecs.records.purchases.sold_lines.repository import SoldLineRepository
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import experiment_days, exposures

_EXPOSURES_SQL: Final = (
    "SELECT identity, arm, unit, first_at FROM exposures "
    "WHERE store_id = ? AND test = ? ORDER BY first_at, arm, identity"
)
_LINKS: Final = "SELECT session, customer FROM shopper_links WHERE store_id = ?"

Row = tuple[Any, ...]


class DailyExperimentResult(NamedTuple):
    """A test's result, as computed on one day."""

    test: str
    day: str
    computed_at: int
    result: dict[str, Any]


class ExperimentResultRepository(StoreScopedRepository):
    """One store's tests and their results, inside one transaction; never commits."""

    def exposures(self, test: str) -> list[Row]:
        """Return (identity, arm, unit, first_at) of a test, the earliest first."""
        return self._raw.all(_EXPOSURES_SQL, (self._store_id, test))

    def links(self) -> list[Row]:
        """Return (session, customer) of every session that is linked to a customer."""
        return self._raw.all(_LINKS, (self._store_id,))

    def pages_of_order_lines(
        self, since_ms: int, after_seq: int = -1
    ) -> Iterator[list[Row]]:
        """Yield pages of purchased order lines since then, in their current state.

        A row is (line_seq, person, ts, basket, quantity, total, currency, cost), with the
        present cost of the product.
        """
        costs = costs_of_items(self._connection, self._store_id)
        sold_lines = SoldLineRepository(self._connection, self._store_id)
        for page in sold_lines.pages_of_lines_with_shopper(since_ms, after_seq):
            yield [(*row[:-1], costs.get(row[-1])) for row in page]

    def pages_of_visitor_events(
        self, kinds: tuple[int, ...], since_seq: int
    ) -> Iterator[list[Row]]:
        """Yield pages of (person, kind, ts) of events of two kinds; without kinds none."""
        log = EventLogRepository(self._connection, self._store_id)
        for page in log.events_of_two_kinds(kinds, since_seq):
            yield [(person, kind, ts) for _, kind, ts, person in page]

    def visits_by_person_and_kind(
        self, widget: str, since_ms: int, after_seq: int
    ) -> list[Row]:
        """Return (person, kind, first ts, last ts, first ts with that widget)."""
        log = EventLogRepository(self._connection, self._store_id)
        return log.visits_by_person_and_kind(widget, since_ms, after_seq)

    def bots(self, since_ms: int) -> Iterator[str]:
        """Yield the names of recognised bots since then."""
        log = EventLogRepository(self._connection, self._store_id)
        yield from log.shopper_ids_of_bots(since_ms)

    def tests_and_first_exposures(self) -> list[tuple[str, int]]:
        """Return every test with assigned visitors, and its start; newest first."""
        began = sa.func.min(exposures.c.first_at)
        query = (
            sa.select(exposures.c.test, began)
            .where(exposures.c.store_id == self._store_id)
            .group_by(exposures.c.test)
            .order_by(began.desc())
        )
        return [(row[0], int(row[1])) for row in self._connection.execute(query)]

    def store_result_of_day(self, result: DailyExperimentResult) -> None:
        """Store a day's result, replacing an earlier one of that day."""
        self._put_row(
            experiment_days,
            test=result.test,
            day=result.day,
            computed_at=result.computed_at,
            result=json.dumps(result.result, allow_nan=False),
        )

    def newest_results(self, test: str, limit: int) -> list[DailyExperimentResult]:
        """Return the newest results of a test, the newest first.

        Results that an earlier version stored in another form are left out.
        """
        days = experiment_days.c
        query = (
            sa.select(days.test, days.day, days.computed_at, days.result)
            .where(days.store_id == self._store_id, days.test == test)
            .order_by(days.day.desc())
            .limit(limit)
        )
        results = [
            DailyExperimentResult(row[0], row[1], int(row[2]), json.loads(row[3]))
            for row in self._connection.execute(query)
        ]
        return [result for result in results if "gate" in result.result]
