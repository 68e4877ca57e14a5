"""Event purge: removes old events of a store; the sums of their days stay.

A purchase is attributed to what the shopper saw up to 30 days before. So the days of the
oldest events that stay, and of 30 days after them, are settled before anything is
deleted: a later recomputation leaves their sums alone (`settle_days_if_all_read`).
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final

from productrecs.core.clock import DAY_MS
from productrecs.features.attribution.attributor import VERSION
from productrecs.features.attribution.daily_sums import SettledDays
from productrecs.features.attribution.last_touch import WINDOW_MS
from productrecs.features.attribution.repository import (
    AttributionProgress,
    AttributionRepository,
)
from productrecs.records.events.repository import EventRepository
from productrecs.records.experiments.experiment import ExperimentState
from productrecs.records.experiments.repository import ExperimentRepository
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store

BATCH: Final = 1_000
"""Events per transaction: other writes wait for it."""

_LATE_MS: Final = DAY_MS  # how long the events of an ended test may be needed


def retention_days(store: Store, installation_days: int) -> int:
    """Return after how many days the events of a store are purged; 0: never."""
    chosen = [days for days in (store.settings.retention_days, installation_days) if days]
    return min(chosen, default=0)


def purge_events(
    database: Database,
    store: Store,
    retention_days: int,
    now_ms: int,
    is_over: Callable[[], bool] = lambda: False,
) -> int:
    """Delete the events of more than `retention_days` days ago; return their number.

    Nothing is deleted while attribution has not read them, nor of the time of an A/B test
    that still runs. An interrupted purge continues with the next call.
    """
    deleted = 0
    before_ms = _settle_days_and_return_cutoff(database, store, retention_days, now_ms)
    if before_ms is None:
        return 0
    after = -1
    while not is_over():
        with database.reading() as connection:
            events = EventRepository(connection, store.store_id)
            seqs = events.seqs_before(before_ms, after, BATCH)
        if not seqs:
            while database.release_free_pages() and not is_over():
                pass
            with database.transaction() as transaction:
                AttributionRepository(transaction, store.store_id).record_end_of_purge(
                    now_ms
                )
            break
        with database.transaction() as transaction:
            EventRepository(transaction, store.store_id).purge(seqs)
        deleted += len(seqs)
        after = seqs[-1]
    return deleted


def _settle_days_and_return_cutoff(
    database: Database, store: Store, retention_days: int, now_ms: int
) -> int | None:
    """Settle the days of what is purged; return before which time events may go."""
    settings = store.settings
    with database.reading() as connection:
        progress = AttributionRepository(connection, store.store_id).progress()
        tests = ExperimentRepository(connection, store.store_id).all()
    if progress is None or progress != AttributionProgress(
        max(progress.seq, 0), settings.timezone, VERSION, settings.language
    ):
        return None  # the sums are being computed again
    now = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(settings.zone)
    oldest = now.date() - timedelta(days=retention_days)
    for test in tests:
        needed = test.is_open or (
            test.state is ExperimentState.ENDED and (test.ended_at or 0) > now_ms - _LATE_MS
        )
        if needed and test.started_at is not None:
            started = datetime.fromtimestamp(test.started_at / 1000, settings.zone)
            oldest = min(oldest, started.date())
    # One day more: a day may have 25 hours.
    first_open = oldest + timedelta(milliseconds=WINDOW_MS) + timedelta(days=1)
    settled = SettledDays(
        _start_of_day_ms(first_open, settings.zone), first_open.isoformat()
    )
    with database.transaction() as transaction:
        attribution = AttributionRepository(transaction, store.store_id)
        if not attribution.settle_days_if_all_read(progress, settled):
            return None
    return _start_of_day_ms(oldest, settings.zone)


def _start_of_day_ms(day: date, zone: tzinfo) -> int:
    return int(datetime.combine(day, time.min, zone).timestamp() * 1000)
