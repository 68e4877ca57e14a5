"""Object store jobs: purge it, and upload models that only this machine has."""

import logging
from dataclasses import dataclass, field
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.services import (
    Services,
    claim_or_check_shared_objects,
    remove_copies_of_deleted_stores,
)
from productrecs.storage.files.object_store_snapshots import (
    GRACE_SECONDS,
    SEARCH,
    SnapshotName,
    SnapshotStore,
)
from productrecs.storage.jobs.job_queue import Job
from productrecs.training.repository import ServingSnapshots, serving_snapshots
from productrecs.worker.job_worker import JobProgress

_log = logging.getLogger(__name__)

_RUNS_AFTER_A_CHANGE: Final = 4  # runs until everything that a change left is old enough


@dataclass(slots=True)
class ObjectStoreJobHandler:
    """The handler of the job that tidies the object store."""

    services: Services
    grace_seconds: float = GRACE_SECONDS
    _seen: dict[StoreId, tuple[ServingSnapshots, int]] = field(default_factory=dict)

    def purge_objects_and_upload_models(self, _job: Job, progress: JobProgress) -> None:
        """Purge what no reader needs; a store that did not change costs nothing."""
        shared = self.services.snapshots.shared
        if shared is None:
            return
        claim_or_check_shared_objects(self.services)
        stored_ids = shared.store_ids()  # before the stores: a new one is in both
        serving = _serving_snapshots(self.services)
        present_ids = {store_serving.store_id for store_serving in serving}
        self._seen = {
            store_id: seen
            for store_id, seen in self._seen.items()
            if store_id in present_ids
        }
        purged_count = 0
        for number, store_serving in enumerate(serving):
            progress.report_or_interrupt(number / len(serving))
            purged_count += self._purge_and_upload_store(shared, store_serving)
        for deleted_id in stored_ids - present_ids:
            shared.remove_store(deleted_id)
        remove_copies_of_deleted_stores(self.services)
        if purged_count:
            _log.info("objects purged", extra={"objects": purged_count})

    def _purge_and_upload_store(self, shared: SnapshotStore, head: ServingSnapshots) -> int:
        before, runs = self._seen.get(head.store_id, (None, 0))
        runs = runs + 1 if before == head else 1
        self._seen[head.store_id] = head, runs
        if runs > _RUNS_AFTER_A_CHANGE:
            return 0
        names = head.names_by_kind()
        if runs == 1:
            for kind, name in names.items():
                if kind != SEARCH:
                    self._upload_missing(shared, name)
        serving = {kind: name.name for kind, name in names.items()}
        return shared.purge(head.store_id, serving, grace_seconds=self.grace_seconds)

    def _upload_missing(self, shared: SnapshotStore, name: SnapshotName) -> None:
        """Upload a serving model from before the object store was set."""
        if self.services.snapshots.is_local(name) and not shared.has(name):
            self.services.snapshots.upload_model(name, None, keep_on_failure=True)


def _serving_snapshots(services: Services) -> list[ServingSnapshots]:
    with services.database.reading() as connection:
        return serving_snapshots(connection)
