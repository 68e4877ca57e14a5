"""Missing snapshots: requests those that a machine's own data folder lacks at its start.

A folder may have been replaced while the database server stayed. This happens once in the
life of a worker: two machines that share no files would otherwise replace each other's
models for ever.
"""

import contextlib

from productrecs.core.errors import StorageError
from productrecs.services import Services
from productrecs.storage.files.object_store_snapshots import MODELS
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.training.repository import serving_snapshots, stop_serving_snapshot


def request_missing_snapshots(services: Services) -> None:
    """Request models and visual models that only another machine's folder can have."""
    with (
        contextlib.suppress(StorageError),  # the jobs retrain each model within an hour
        services.database.transaction() as transaction,
    ):
        for store in serving_snapshots(transaction):
            for kind, name in store.names_by_kind().items():
                if not services.snapshots.is_only_on_other_machine(name):
                    continue
                if kind == MODELS:
                    services.queue.enqueue(transaction, NewJob(store.store_id, "train"))
                else:
                    stop_serving_snapshot(transaction, name)
