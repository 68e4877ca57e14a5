"""How does a store come to its constants? In a process of its own, once a week."""

from collections.abc import Sequence

from productrecs.core.ids import StoreId
from productrecs.entrypoints.services import Services
from productrecs.entrypoints.worker.child import run_verb, store_of
from productrecs.entrypoints.worker.loop import Progress
from productrecs.storage.job_queue import Job, NewJob
from productrecs.tenancy.accounts.directory import AccountDirectory
from productrecs.training.constants.choose import stores_to_choose_for


class ConstantsDuties:
    """The handler of the job that chooses constants, and which stores need it."""

    def __init__(self, services: Services) -> None:
        """Choose for the stores of `services`."""
        self._services = services
        self._accounts = AccountDirectory(services.database)

    def stores_to_choose_for(self) -> Sequence[StoreId]:
        """Return the stores whose past should be asked again."""
        return stores_to_choose_for(self._services.database, self._services.clock())

    def choose(self, job: Job, progress: Progress) -> None:
        """Choose in a process of its own, then let the store learn by it."""
        store = store_of(job, self._accounts)
        run_verb("tune", store, self._services.settings.data, progress)
        with self._services.database.transaction() as transaction:
            self._services.queue.enqueue(transaction, NewJob(job.store_id, "train"))
