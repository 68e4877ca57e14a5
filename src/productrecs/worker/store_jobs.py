"""Store jobs: the kinds of job about one store, their handlers, and the stores due."""

import logging
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from productrecs.core.clock import HOUR_MS
from productrecs.core.ids import StoreId
from productrecs.core.timestamps import iso
from productrecs.features.attribution.attributor import Attributor, stores_to_attribute
from productrecs.features.attribution.event_purge import purge_events, retention_days
from productrecs.features.attribution.repository import last_purges
from productrecs.features.experiments.experiment_measurement import (
    find_tests_to_measure,
    measure_and_store_test,
    stores_with_tests_to_measure,
)
from productrecs.features.forecast.repository import ForecastRepository
from productrecs.features.forecast.stock_actions import StockAlert, plan_stock_actions
from productrecs.features.privacy.repository import stores_with_unfinished_erasures
from productrecs.features.recommendations.earnings.earnings_replay import (
    replay_earning_weights_and_store_result,
)
from productrecs.features.recommendations.earnings.repository import EarningsRepository
from productrecs.features.recommendations.reranking import compute_earning_index
from productrecs.features.reports.customer_segments_report import (
    compute_and_store_segments,
    stores_due_for_segments,
)
from productrecs.features.webhooks.repository import WebhookRepository, stores_with_webhooks
from productrecs.records.catalog.catalog_push import mark_all_items_changed
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.events.repository import (
    BOT_RETENTION_MS,
    RETRY_WINDOW_MS,
    EventRepository,
)
from productrecs.records.orders.unconfirmed_purchases import (
    apply_order_policy_to_chunk,
    exclude_excess_chunk,
    is_policy_applied,
)
from productrecs.records.purchases.repository import PurchaseRepository
from productrecs.records.search_counts.repository import (
    RETENTION_DAYS,
    SearchCountRepository,
)
from productrecs.services import Services, build_eraser, measure_data
from productrecs.storage.jobs.job_queue import Job, JobQueue, NewJob
from productrecs.storage.jobs.recurring_jobs import RecurringJobEnqueuer
from productrecs.storage.sql.audit_log import AuditLogRepository
from productrecs.storage.sql.idempotency_keys import IdempotencyRepository
from productrecs.storage.sql.storage_usage import store_sizes_of_today_and_purge_older
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store, is_nightly_run_due
from productrecs.training.training_run import CachingTrainer, TrainingDeps, stale_stores
from productrecs.worker.job_schedule import (
    JobSchedule,
    PeriodicJob,
    nightly_periodic_jobs,
)
from productrecs.worker.job_worker import (
    JobHandler,
    JobProgress,
    JobWorker,
    require_store_of_job,
)
from productrecs.worker.object_store_jobs import ObjectStoreJobHandler
from productrecs.worker.webhook_events import write_webhook_messages
from productrecs.worker.weekly_report_mail import (
    mail_due_weekly_reports,
    stores_with_due_weekly_reports,
)

_log = logging.getLogger(__name__)

_ATTRIBUTING_SECONDS: Final = 2.0  # per run, so that training does not wait longer
_PURGING_SECONDS: Final = 20.0  # per run, for the same reason
_RESYNC_PAUSE_SECONDS: Final = 0.2  # time for the processes to read the changes


class StoreJobs:
    """The handlers of the jobs about one store, and the stores that need them."""

    def __init__(self, services: Services) -> None:
        """Run jobs for the stores of `services`."""
        self._services = services
        self._accounts = AccountDirectory(services.database)
        deps = TrainingDeps(
            services.database, services.models, services.clock, services.snapshots
        )
        self._trainer = CachingTrainer(deps)
        self._attributor = Attributor(services.database, services.touchpoint_folder)
        self._eraser = build_eraser(services)

    def all_stores(self) -> Sequence[StoreId]:
        """Return every store."""
        self._accounts.refresh()
        return [store.store_id for store in self._accounts.all()]

    def stores_to_train(self) -> Sequence[StoreId]:
        """Return the stores with new events that are not in a training pause."""
        self._accounts.refresh()
        stale = stale_stores(
            self._services.database, self._accounts, self._services.clock()
        )
        return [store_id for store_id in stale if not self._trainer.is_paused(store_id)]

    def train(self, job: Job, progress: JobProgress) -> None:
        """Train the store's models on its log."""
        self._trainer.train(
            require_store_of_job(job, self._accounts), progress.report_or_interrupt
        )

    def stores_to_attribute(self) -> Sequence[StoreId]:
        """Return the stores whose log has unattributed entries."""
        self._accounts.refresh()
        return stores_to_attribute(self._services.database, self._accounts)

    def attribute_purchases(self, job: Job, progress: JobProgress) -> None:
        """Attribute new purchases to recommendations, for a limited time per run."""
        store, until = (
            require_store_of_job(job, self._accounts),
            time.monotonic() + _ATTRIBUTING_SECONDS,
        )
        self._attributor.catch_up(
            store, lambda: progress.stopping or time.monotonic() >= until
        )

    def stores_with_tests_to_measure(self) -> Sequence[StoreId]:
        """Return the stores with a test whose result may have changed."""
        self._accounts.refresh()
        services = self._services
        return stores_with_tests_to_measure(
            services.database, self._accounts.all(), services.clock()
        )

    def measure_and_store_tests(self, job: Job, _progress: JobProgress) -> None:
        """Compute the present results of the store's tests."""
        store, services = require_store_of_job(job, self._accounts), self._services
        now_ms = services.clock()
        for test in find_tests_to_measure(services.database, store, now_ms):
            measure_and_store_test(services.database, store, test, now_ms)

    def stores_to_segment(self) -> Sequence[StoreId]:
        """Return the stores whose nightly window began, or that have grown much."""
        self._accounts.refresh()
        services = self._services
        return stores_due_for_segments(
            services.database, self._accounts.all(), services.clock()
        )

    def segment_customers(self, job: Job, _progress: JobProgress) -> None:
        """Compute the store's customers and segments."""
        store, services = require_store_of_job(job, self._accounts), self._services
        compute_and_store_segments(services.database, store, services.clock())

    def stores_with_ending_plans(self) -> Sequence[StoreId]:
        """Return the stores whose plan ends within three days, or ended recently."""
        self._accounts.refresh()
        now_ms = self._services.clock()
        return [
            store.store_id
            for store in self._accounts.all()
            if store.subscription.is_near_end(now_ms)
        ]

    def log_ending_plan(self, job: Job, _progress: JobProgress) -> None:
        """Log that a store's plan ends or has ended, with the remedy."""
        store = require_store_of_job(job, self._accounts)
        subscription = store.subscription
        facts = {
            "store": store.store_id,
            "domain": store.domain,
            "plan": subscription.plan,
            "ends_at": iso(subscription.ends_at or 0),
            "remedy": f"productrecs store set-plan {store.domain} PLAN",
        }
        if (
            subscription.ends_at is not None
            and subscription.ends_at <= self._services.clock()
        ):
            _log.error("plan ended", extra=facts)
        else:
            _log.warning("plan ending", extra=facts)

    def stores_with_due_earning_index(self) -> Sequence[StoreId]:
        """Return the stores that rank by earnings and whose index is an hour old."""
        self._accounts.refresh()
        before = self._services.clock() - HOUR_MS
        chosen = [store for store in self._accounts.all() if store.settings.earnings_weight]
        with self._services.database.reading() as connection:
            return [
                store.store_id
                for store in chosen
                if EarningsRepository(connection, store.store_id).index_computed_at()
                < before
            ]

    def compute_and_store_earning_index(self, job: Job, _progress: JobProgress) -> None:
        """Compute what the store earns by each product, from margin and forecast."""
        store, services = require_store_of_job(job, self._accounts), self._services
        with services.database.reading() as connection:
            items = EarningsRepository(connection, job.store_id).prices_and_costs()
            forecasts = ForecastRepository(connection, job.store_id)
            run = forecasts.newest_run() if store.settings.demand_forecast else None
            stocked = None if run is None else forecasts.items_with_expected_sales()
        stock_plan = None
        if run is not None and stocked is not None:
            stock_plan = plan_stock_actions(stocked, run, store.settings, services.clock())
        actions = [] if stock_plan is None else stock_plan.top_actions(len(stock_plan))
        running_out, overstocked = (
            [
                items.numbers_by_id[action.item_id]
                for action in actions
                if action.alert is alert
            ]
            for alert in (StockAlert.RUNS_OUT, StockAlert.OVERSTOCK)
        )
        index = compute_earning_index(items.prices, items.costs, running_out, overstocked)
        with services.database.transaction() as transaction:
            earnings = EarningsRepository(transaction, job.store_id)
            earnings.store_index(index, services.clock())

    def replay_earning_weights_of_store(self, job: Job, _progress: JobProgress) -> None:
        """Replay the store's past orders at several weights of earnings."""
        services = self._services
        replay_earning_weights_and_store_result(
            services.database, require_store_of_job(job, self._accounts), services.clock()
        )

    def stores_with_unapplied_order_policy(self) -> Sequence[StoreId]:
        """Return the stores whose setting for unconfirmed orders is not applied yet."""
        self._accounts.refresh()
        with self._services.database.reading() as connection:
            return [
                store.store_id
                for store in self._accounts.all()
                if not is_policy_applied(
                    PurchaseRepository(connection, store.store_id),
                    store.settings.unconfirmed_orders,
                )
            ]

    def apply_order_policy(self, job: Job, progress: JobProgress) -> None:
        """Count or leave out earlier unconfirmed purchases, as the store's setting says."""
        services = self._services
        while not progress.stopping and apply_order_policy_to_chunk(
            services.database, require_store_of_job(job, self._accounts), services.clock()
        ):
            pass

    def exclude_network_excess(self, job: Job, progress: JobProgress) -> None:
        """Leave what crowded networks sent beyond their shares out of reports too."""
        store, services = require_store_of_job(job, self._accounts), self._services
        while not progress.stopping and exclude_excess_chunk(
            services.database, store, services.clock()
        ):
            pass

    def resync_catalog_and_enqueue_training(self, job: Job, progress: JobProgress) -> None:
        """Resync the whole catalog to the engines, then enqueue a training."""
        database, store_id = self._services.database, job.store_id
        for share in mark_all_items_changed(database, store_id):
            progress.report_or_interrupt(share)
            if share < 1:
                time.sleep(_RESYNC_PAUSE_SECONDS)
        with database.transaction() as transaction:
            CatalogRepository(transaction, store_id).record_sync(self._services.clock())
            self._services.queue.enqueue(transaction, NewJob(store_id, "train"))

    def delete_old_search_counts(self, job: Job, _progress: JobProgress) -> None:
        """Purge search counts older than the reports' retention."""
        before = datetime.fromtimestamp(self._services.clock() / 1000, UTC)
        day = (before - timedelta(days=RETENTION_DAYS)).date().isoformat()
        with self._services.database.transaction() as transaction:
            SearchCountRepository(transaction, job.store_id).delete_before(day)

    def stores_with_webhooks(self) -> Sequence[StoreId]:
        """Return the stores that have an address for webhooks."""
        with self._services.database.reading() as connection:
            return stores_with_webhooks(connection)

    def write_webhook_messages(self, job: Job, _progress: JobProgress) -> None:
        """Write a webhook message for each new fact of the store."""
        write_webhook_messages(self._services, require_store_of_job(job, self._accounts))

    def stores_with_due_weekly_reports(self) -> Sequence[StoreId]:
        """Return the stores whose weekly report is due."""
        self._accounts.refresh()
        return stores_with_due_weekly_reports(self._services, self._accounts.all())

    def mail_due_weekly_reports(self, job: Job, _progress: JobProgress) -> None:
        """Mail last week's report to the users who asked for it."""
        mail_due_weekly_reports(self._services, require_store_of_job(job, self._accounts))

    def stores_to_purge_events(self) -> Sequence[StoreId]:
        """Return the stores with a retention whose nightly window began."""
        self._accounts.refresh()
        stores_with_retention = [
            store for store in self._accounts.all() if self._retention_days(store)
        ]
        if not stores_with_retention:
            return []
        now_ms = self._services.clock()
        with self._services.database.reading() as connection:
            last_purges_by_store = last_purges(connection)
        return [
            store.store_id
            for store in stores_with_retention
            if is_nightly_run_due(
                store.settings.zone, last_purges_by_store.get(store.store_id, 0), now_ms
            )
        ]

    def purge_events(self, job: Job, progress: JobProgress) -> None:
        """Purge events older than the retention, for a limited time per run."""
        store, deadline = (
            require_store_of_job(job, self._accounts),
            time.monotonic() + _PURGING_SECONDS,
        )
        if days := self._retention_days(store):
            deleted = purge_events(
                self._services.database,
                store,
                days,
                self._services.clock(),
                lambda: progress.stopping or time.monotonic() >= deadline,
            )
            if deleted:
                facts = {"store": store.store_id, "events": deleted, "days": days}
                _log.info("old events purged", extra=facts)

    def _retention_days(self, store: Store) -> int:
        return retention_days(store, self._services.settings.retention_days)

    def stores_with_erasures(self) -> Sequence[StoreId]:
        """Return the stores with an unfinished erasure."""
        with self._services.database.reading() as connection:
            return stores_with_unfinished_erasures(connection)

    def erase_shoppers(self, job: Job, progress: JobProgress) -> None:
        """Continue the erasure of shoppers; a part may have to wait for a training."""
        self._eraser.continue_erasures(job.store_id, lambda: progress.stopping)

    def purge_old_records(self, job: Job, _progress: JobProgress) -> None:
        """Purge old event ids, bots' events, idempotency keys, audit lines and webhooks."""
        now_ms = self._services.clock()
        with self._services.database.transaction() as transaction:
            events = EventRepository(transaction, job.store_id)
            events.delete_receipts(now_ms - RETRY_WINDOW_MS)
            events.purge_bot_events(now_ms - BOT_RETENTION_MS)
            IdempotencyRepository(transaction, job.store_id).delete_expired(now_ms)
            now_ms = self._services.system_clock()
            AuditLogRepository(transaction, job.store_id).purge(now_ms)
            WebhookRepository(transaction, job.store_id).delete_old_messages(now_ms)


def build_store_job_worker(services: Services) -> JobWorker:
    """Return the worker of one process."""
    queue = services.queue
    stores = StoreJobs(services)
    handlers: dict[str, JobHandler] = {
        "apply-order-policy": stores.apply_order_policy,
        "attribute": stores.attribute_purchases,
        "clean-jobs": lambda _job, _progress: _clean_job_queue(queue),
        "erase-shoppers": stores.erase_shoppers,
        "forget-receipts": stores.purge_old_records,
        "forget-searches": stores.delete_old_search_counts,
        "index-earnings": stores.compute_and_store_earning_index,
        "purge-events": stores.purge_events,
        "replay-earnings": stores.replay_earning_weights_of_store,
        "leave-out-excess": stores.exclude_network_excess,
        "mail-weekly-reports": stores.mail_due_weekly_reports,
        "measure-data": lambda _job, _progress: _measure_data(services),
        "measure-tests": stores.measure_and_store_tests,
        "work-out-customers": stores.segment_customers,
        "sync-engines": stores.resync_catalog_and_enqueue_training,
        "tell-of-plans": stores.log_ending_plan,
        "tidy-objects": ObjectStoreJobHandler(services).purge_objects_and_upload_models,
        "train": stores.train,
        "write-webhooks": stores.write_webhook_messages,
    }
    tasks = (
        PeriodicJob(
            "apply-order-policy",
            every=timedelta(seconds=5),
            stores=stores.stores_with_unapplied_order_policy,
        ),
        PeriodicJob(
            "attribute", every=timedelta(seconds=10), stores=stores.stores_to_attribute
        ),
        PeriodicJob("clean-jobs", every=timedelta(hours=1)),
        PeriodicJob(
            "erase-shoppers", every=timedelta(seconds=2), stores=stores.stores_with_erasures
        ),
        _housekeeping_job("forget-receipts", timedelta(hours=1), stores),
        _housekeeping_job("forget-searches", timedelta(days=1), stores),
        PeriodicJob(
            "tell-of-plans",
            every=timedelta(days=1),
            stores=stores.stores_with_ending_plans,
        ),
        PeriodicJob(
            "measure-tests",
            every=timedelta(hours=1),
            stores=stores.stores_with_tests_to_measure,
        ),
        PeriodicJob(
            "index-earnings",
            every=timedelta(minutes=1),
            stores=stores.stores_with_due_earning_index,
        ),
        PeriodicJob(
            "work-out-customers",
            every=timedelta(minutes=10),
            stores=stores.stores_to_segment,
        ),
        PeriodicJob(
            "purge-events", every=timedelta(minutes=1), stores=stores.stores_to_purge_events
        ),
        *nightly_periodic_jobs("measure-data", services.system_clock),
        PeriodicJob(
            "mail-weekly-reports",
            every=timedelta(minutes=10),
            stores=stores.stores_with_due_weekly_reports,
        ),
        PeriodicJob(
            "write-webhooks",
            every=timedelta(minutes=1),
            stores=stores.stores_with_webhooks,
        ),
        PeriodicJob("tidy-objects", every=timedelta(minutes=10)),
        # Lists are at most a minute behind: the interval, the pause and the training.
        PeriodicJob("train", every=timedelta(seconds=8), stores=stores.stores_to_train),
    )
    periodic_tasks = RecurringJobEnqueuer(services.database, queue, services.system_clock)
    return JobWorker(queue, handlers, JobSchedule(periodic_tasks, tasks))


def _housekeeping_job(kind: str, every: timedelta, stores: StoreJobs) -> PeriodicJob:
    return PeriodicJob(kind, every=every, stores=stores.all_stores, spread=True)


def _clean_job_queue(queue: JobQueue) -> None:
    queue.purge_finished()


def _measure_data(services: Services) -> None:
    sizes = measure_data(services)
    with services.database.transaction() as transaction:
        store_sizes_of_today_and_purge_older(transaction, sizes, services.system_clock())
