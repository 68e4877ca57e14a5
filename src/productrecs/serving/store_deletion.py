"""Deletion of a store: its rows, its files, and its test store."""

import contextlib
import logging
import shutil

from productrecs.services import Services
from productrecs.storage.files.object_store import ObjectStoreUnavailableError
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import delete_store, store_and_sandbox
from productrecs.training.trained_models import models_folder

_log = logging.getLogger(__name__)


def delete_store_and_test_store(services: Services, store: Store) -> tuple[Store, ...]:
    """Delete a store and its test store with all their data; return both."""
    deleted = store_and_sandbox(services.database, store)
    for each in deleted:
        delete_store(services.database, each)
        extra = {"store": each.store_id, "domain": each.domain}
        _log.warning("store deleted", extra=extra)
        remove_store_files(services, each)
    return deleted


def remove_store_files(services: Services, store: Store) -> None:
    """Remove a store's models and indexes."""
    folders = (
        models_folder(services.models, store.store_id),
        services.indexes / store.store_id,
        services.touchpoint_folder / store.store_id,
        services.visual_model_folder / store.store_id,
    )
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    if services.snapshots.shared is not None:
        with contextlib.suppress(ObjectStoreUnavailableError):  # a worker does it later
            services.snapshots.shared.remove_store(store.store_id)
