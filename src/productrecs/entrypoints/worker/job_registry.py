"""Job registry: every kind of background job with its handler, and every periodic job."""

from datetime import timedelta

from productrecs.core.clock import system_ms
from productrecs.entrypoints.services import Services
from productrecs.entrypoints.worker.job_schedule import JobSchedule, PeriodicJob
from productrecs.entrypoints.worker.job_worker import JobHandler, JobWorker
from productrecs.entrypoints.worker.store_jobs import StoreJobs
from productrecs.storage.job_queue import JobQueue
from productrecs.storage.recurring_jobs import PeriodicTasks


def build_worker(services: Services) -> JobWorker:
    """Return the worker of one process."""
    queue = services.queue
    stores = StoreJobs(services)
    handlers: dict[str, JobHandler] = {
        "attribute": stores.attribute,
        "clean-jobs": lambda _job, _progress: _clean(queue),
        "erase-shoppers": stores.erase_shoppers,
        "forget-explorations": stores.purge_explorations,
        "forget-receipts": stores.forget_receipts,
        "forget-searches": stores.forget_searches,
        "measure-tests": stores.measure_holdout_tests,
        "work-out-customers": stores.segment_customers,
        "sync-engines": stores.sync_engines,
        "tell-of-plans": stores.warn_of_ending_plans,
        "train": stores.train,
    }
    duties = (
        PeriodicJob(
            "attribute", every=timedelta(seconds=10), stores=stores.stores_to_attribute
        ),
        PeriodicJob("clean-jobs", every=timedelta(hours=1)),
        PeriodicJob(
            "erase-shoppers", every=timedelta(seconds=2), stores=stores.stores_with_erasures
        ),
        PeriodicJob(
            "forget-explorations", every=timedelta(days=1), stores=stores.all_stores
        ),
        PeriodicJob("forget-receipts", every=timedelta(hours=1), stores=stores.all_stores),
        PeriodicJob("forget-searches", every=timedelta(days=1), stores=stores.all_stores),
        PeriodicJob(
            "tell-of-plans",
            every=timedelta(days=1),
            stores=stores.stores_with_ending_plans,
        ),
        PeriodicJob(
            "measure-tests",
            every=timedelta(hours=1),
            stores=stores.stores_with_holdout_tests,
        ),
        PeriodicJob(
            "work-out-customers",
            every=timedelta(minutes=10),
            stores=stores.stores_to_segment,
        ),
        # Everybody's lists follow within a minute: the wait, the rest and the training.
        PeriodicJob("train", every=timedelta(seconds=8), stores=stores.stores_to_train),
    )
    turns = PeriodicTasks(services.database, queue, system_ms)
    return JobWorker(queue, handlers, JobSchedule(turns, duties))


def _clean(queue: JobQueue) -> None:
    queue.clean()
