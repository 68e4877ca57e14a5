"""Tuning jobs: tune a store's hyperparameters once a week, in a process of its own."""

from collections.abc import Sequence

from productrecs.core.ids import StoreId
from productrecs.entrypoints.services import Services
from productrecs.entrypoints.worker.command_process import run_store_command, store_of_job
from productrecs.entrypoints.worker.job_worker import JobProgress
from productrecs.storage.job_queue import Job, NewJob
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.training.tuning.tune_store import stores_to_tune


class TuningJobs:
    """The handler of the job that chooses constants, and which stores need it."""

    def __init__(self, services: Services) -> None:
        """Choose for the stores of `services`."""
        self._services = services
        self._accounts = AccountDirectory(services.database)

    def stores_to_tune(self) -> Sequence[StoreId]:
        """Return the stores whose past should be asked again."""
        return stores_to_tune(self._services.database, self._services.clock())

    def choose(self, job: Job, progress: JobProgress) -> None:
        """Choose in a process of its own, then let the store learn by it."""
        store = store_of_job(job, self._accounts)
        run_store_command("tune", store, self._services.settings.data, progress)
        with self._services.database.transaction() as transaction:
            self._services.queue.enqueue(transaction, NewJob(job.store_id, "train"))
