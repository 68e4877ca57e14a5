"""Ranking jobs: train a store's ranking on clicks, in a process of its own."""

from collections.abc import Sequence

from productrecs.core.ids import StoreId
from productrecs.entrypoints.services import Services
from productrecs.entrypoints.worker.command_process import run_store_command, store_of_job
from productrecs.entrypoints.worker.job_worker import JobProgress
from productrecs.storage.job_queue import Job
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.training.ranking.ranking_due_stores import stores_to_rank


class RankingJobs:
    """The handler of the job that learns an order, and which stores need it."""

    def __init__(self, services: Services) -> None:
        """Learn for the stores of `services`."""
        self._services = services
        self._accounts = AccountDirectory(services.database)

    def stores_to_rank(self) -> Sequence[StoreId]:
        """Return the stores whose clicks say enough and were not asked for a day."""
        self._accounts.refresh()
        services = self._services
        return stores_to_rank(
            services.database, self._accounts.all(), services.clock(), services.models
        )

    def learn_order(self, job: Job, progress: JobProgress) -> None:
        """Learn a store's order in a process of its own."""
        store = store_of_job(job, self._accounts)
        run_store_command("learn-order", store, self._services.settings.data, progress)
