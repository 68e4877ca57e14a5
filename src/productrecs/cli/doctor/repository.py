"""Doctor repository: bounded SQL reads of a store's newest records."""

from dataclasses import dataclass

import sqlalchemy as sa

from productrecs.core.ids import INSTALLATION
from productrecs.records.catalog.availability import Availability
from productrecs.records.catalog.repository import items_of_store
from productrecs.records.events.newest_events.repository import NewestEventRepository
from productrecs.records.purchases.sold_lines.repository import SoldLineRepository
from productrecs.storage.jobs.job_queue import JobState
from productrecs.storage.sql.store_counters_and_versions import head_fields
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import dashboard_second_factors, jobs
from productrecs.storage.sql.tables.account_and_job_tables import duties


@dataclass(frozen=True, slots=True)
class PurchaseSampleCounts:
    """A sample of a store's newest purchases that were not imported."""

    buys: int  # from buy events
    without_order: int  # those without an order id
    shoppers: int  # distinct shoppers
    without_events: int  # shoppers without any browsing event


@dataclass(frozen=True, slots=True)
class DeadJobsOfKind:
    """Jobs of one kind that failed for good; `error` is that of one of them."""

    kind: str
    count: int
    error: str | None


@dataclass(frozen=True, slots=True)
class IncompleteItemCounts:
    """The numbers of items without a part that shoppers see."""

    items: int
    untitled: int
    unlinked: int
    without_picture: int


class DoctorRepository(StoreScopedRepository):
    """Queries over one store's records, inside one transaction."""

    def count_incomplete_items(self) -> IncompleteItemCounts:
        """Return the gaps of the catalog's visible items."""
        names = ("title", "product_url", "image_url")
        item = items_of_store(*names, "availability", "present", store_id=self._store_id)
        count = sa.func.count
        missing = [
            count().filter(sa.func.coalesce(item.c[name], "") == "") for name in names
        ]
        query = sa.select(count(), *missing)
        shown = sa.func.coalesce(item.c.availability, "") != Availability.DISCONTINUED
        query = query.where(item.c.present.is_(True), shown)
        return IncompleteItemCounts(*map(int, self._connection.execute(query).one()))

    def has_https_product_page(self) -> bool:
        """Return whether the page of any of its items has an https address."""
        item = items_of_store("product_url", store_id=self._store_id)
        is_https = item.c.product_url.startswith("https://")
        query = sa.select(item.c.number).where(is_https)
        return self._connection.execute(query.limit(1)).first() is not None

    def model_id(self) -> str | None:
        """Return the active model, or None before the first one."""
        row = head_fields(self._connection, self._store_id, "model_id")
        return None if row is None else row[0]

    def purchase_sample_counts(self) -> PurchaseSampleCounts:
        """Return how the newest purchases are identified."""
        lines = SoldLineRepository(self._connection, self._store_id)
        buys, without_order, shoppers = lines.purchase_identification()
        newest = NewestEventRepository(self._connection, self._store_id)
        without_events = sum(not newest.has_events_of(one) for one in shoppers)
        return PurchaseSampleCounts(buys, without_order, len(shoppers), without_events)


def dead_jobs_by_kind(connection: sa.Connection) -> list[DeadJobsOfKind]:
    """Return the jobs of the installation that failed for good, by kind."""
    query = (
        sa.select(jobs.c.kind, sa.func.count(), sa.func.max(jobs.c.error))
        .where(jobs.c.state == JobState.DEAD)
        .group_by(jobs.c.kind)
        .order_by(jobs.c.kind)
    )
    return [DeadJobsOfKind(*row) for row in connection.execute(query)]


def count_jobs_due_before(connection: sa.Connection, before_ms: int) -> int:
    """Return how many jobs were due before `before_ms` and have not started."""
    query = sa.select(sa.func.count()).where(
        jobs.c.state == JobState.QUEUED, jobs.c.run_at < before_ms
    )
    return int(connection.execute(query).scalar_one())


def newest_job_created_at(connection: sa.Connection) -> int | None:
    """Return when the newest job was created, or None without one."""
    found: int | None = connection.execute(
        sa.select(sa.func.max(jobs.c.created_at))
    ).scalar()
    return found


def task_due_at(connection: sa.Connection, task: str) -> int | None:
    """Return when the installation's periodic task is due; None before its first run."""
    query = sa.select(duties.c.due_at).where(
        duties.c.store_id == INSTALLATION, duties.c.duty == task
    )
    found: int | None = connection.execute(query).scalar()
    return found


def totp_secrets(connection: sa.Connection) -> list[str]:
    """Return the stored secrets of all logins with a second factor."""
    factors = dashboard_second_factors.c
    query = sa.select(factors.secret).where(factors.enabled_at.is_not(None))
    return list(connection.execute(query).scalars())
