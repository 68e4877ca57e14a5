"""What does the background do? Every kind of job and its handler, every regular duty."""

from datetime import timedelta

from productrecs.core.clock import system_ms
from productrecs.entrypoints.services import Services
from productrecs.entrypoints.worker.duties import StoreDuties
from productrecs.entrypoints.worker.loop import Handler, Worker
from productrecs.entrypoints.worker.schedule import Duty, Schedule
from productrecs.storage.duty_turns import DutyTurns
from productrecs.storage.job_queue import JobQueue


def build_worker(services: Services) -> Worker:
    """Return the worker of one process."""
    queue = services.queue
    stores = StoreDuties(services)
    handlers: dict[str, Handler] = {
        "attribute": stores.attribute,
        "clean-jobs": lambda _job, _progress: _clean(queue),
        "erase-shoppers": stores.erase_shoppers,
        "forget-explorations": stores.forget_explorations,
        "forget-receipts": stores.forget_receipts,
        "forget-searches": stores.forget_searches,
        "measure-tests": stores.measure_tests,
        "work-out-customers": stores.work_out_customers,
        "sync-engines": stores.sync_engines,
        "tell-of-plans": stores.tell_of_plans,
        "train": stores.train,
    }
    duties = (
        Duty("attribute", every=timedelta(seconds=10), stores=stores.stores_to_attribute),
        Duty("clean-jobs", every=timedelta(hours=1)),
        Duty(
            "erase-shoppers", every=timedelta(seconds=2), stores=stores.stores_to_erase_in
        ),
        Duty("forget-explorations", every=timedelta(days=1), stores=stores.all_stores),
        Duty("forget-receipts", every=timedelta(hours=1), stores=stores.all_stores),
        Duty("forget-searches", every=timedelta(days=1), stores=stores.all_stores),
        Duty(
            "tell-of-plans",
            every=timedelta(days=1),
            stores=stores.stores_near_their_plans_end,
        ),
        Duty("measure-tests", every=timedelta(hours=1), stores=stores.stores_in_tests),
        Duty(
            "work-out-customers",
            every=timedelta(minutes=10),
            stores=stores.stores_to_work_out,
        ),
        # Everybody's lists follow within a minute: the wait, the rest and the training.
        Duty("train", every=timedelta(seconds=8), stores=stores.stores_to_train),
    )
    turns = DutyTurns(services.database, queue, system_ms)
    return Worker(queue, handlers, Schedule(turns, duties))


def _clean(queue: JobQueue) -> None:
    queue.clean()
