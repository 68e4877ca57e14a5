"""Index uploader: uploads the indexes that this machine writes, and moves their pointers.

It runs in a thread beside the indexer while this process holds the lease. A pointer moves
by compare-and-set, so of two processes that both believe to hold the lease one wins and
the other stops.
"""

import contextlib
import logging
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from productrecs.core.errors import StorageError, operator_text
from productrecs.core.ids import StoreId
from productrecs.storage.files.object_store import (
    MissingObjectError,
    ObjectStoreUnavailableError,
)
from productrecs.storage.files.object_store_snapshots import (
    SEARCH,
    FileState,
    InvalidObjectError,
    SnapshotName,
    SnapshotStore,
)
from productrecs.storage.files.search_index_files import IndexFolder
from productrecs.storage.files.snapshot_cache import (
    LocalIndexSnapshot,
    fetch_index,
    upload_index,
)
from productrecs.storage.jobs.leases import Lease
from productrecs.storage.sql.database import Database
from productrecs.training.repository import replace_serving_index, serving_snapshots
from productrecs.training.search.semantic_space_files import space_stamp
from productrecs.training.search.served_index import index_folder

_log = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 0.5
_UPLOAD_SECONDS: Final = 1.0  # between two uploads of a store: a commit takes less
_RENEWAL_SECONDS: Final = 3.0
_RETRY_SECONDS: Final = 5.0

Stamps = tuple[object, ...]


@dataclass(slots=True)
class _UploadState:
    """What was uploaded of a store, and when the next upload may begin."""

    stamps: Stamps = ()
    index_id: str | None = None
    not_before: float = 0.0
    known_digests: dict[tuple[str, FileState], str] = field(default_factory=dict)


class IndexUploader:
    """Uploads indexes until it is stopped, or another process holds the lease."""

    def __init__(
        self, database: Database, root: Path, shared: SnapshotStore, lease: Lease
    ) -> None:
        """Upload what is below `root`; the lease is held."""
        self._database = database
        self._root = root
        self._shared = shared
        self._lease = lease
        self._stores: dict[StoreId, _UploadState] = {}
        self._stopping = threading.Event()
        self._may_upload = threading.Event()
        self._renewed_at = time.monotonic()

    @property
    def must_stop_indexing(self) -> bool:
        """Whether this process must not index any more."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """End `run` after the upload that is in progress."""
        self._stopping.set()

    def renew_due_lease_or_stop(self) -> None:
        """Renew the lease if that is due; call it often, from any thread.

        Raises:
            StorageError: when the database cannot be written.
        """
        if time.monotonic() - self._renewed_at > _RENEWAL_SECONDS:
            self._renewed_at = time.monotonic()
            if not self._lease.take_or_renew():
                self._stopping.set()

    def fetch_serving_indexes(self) -> None:
        """Bring the folder to the indexes that serve, from whichever machine they are.

        A store whose index cannot be had is indexed from its catalog.

        Raises:
            StorageError: when the database or the object store does not answer.
            OSError: when the disk is full or fails.
        """
        with self._database.reading() as connection:
            heads = serving_snapshots(connection)
        for head in heads:
            uploaded = self._stores[head.store_id] = _UploadState(index_id=head.index_id)
            if head.index_id is None:
                continue
            folder = index_folder(self._root, head.store_id)
            snapshot = LocalIndexSnapshot.read(folder.folder)
            if snapshot.name != head.index_id or not snapshot.is_complete:
                name = SnapshotName(head.store_id, SEARCH, head.index_id)
                try:
                    fetch_index(self._shared, folder, name, complete=True)
                except (MissingObjectError, InvalidObjectError) as error:
                    facts = {
                        "store": head.store_id,
                        "kind": SEARCH,
                        "error": operator_text(error),
                    }
                    _log.warning("snapshot rejected", extra=facts)
                    continue
                uploaded.stamps = _stamps(folder)
        self._may_upload.set()

    def run(self) -> None:
        """Renew the lease and upload what changed, until the lease is lost or `stop`."""
        while not self._stopping.wait(_PAUSE_SECONDS):
            try:
                self.renew_due_lease_or_stop()
                if self._may_upload.is_set() and not self.try_uploading_changed_indexes():
                    break
            except ObjectStoreUnavailableError:  # logged once
                self._stopping.wait(_RETRY_SECONDS)
            except (StorageError, OSError) as error:
                _log.warning(
                    "search index write failed", extra={"error": operator_text(error)}
                )
                self._stopping.wait(_RETRY_SECONDS)
        self._stopping.set()

    def try_uploading_changed_indexes(self) -> bool:
        """Upload the changed indexes; return False if another process moved a pointer."""
        with self._database.reading() as connection:
            heads = serving_snapshots(connection)
        for store_id in self._stores.keys() - {head.store_id for head in heads}:
            del self._stores[store_id]
        for head in heads:
            uploaded = self._stores.setdefault(head.store_id, _UploadState())
            if head.index_id is None:  # never uploaded, or a reader found it damaged
                uploaded.index_id = None
            elif head.index_id != uploaded.index_id:
                return False
            if not self._try_uploading_if_changed(head.store_id, uploaded):
                return False
        return True

    def _try_uploading_if_changed(self, store_id: StoreId, uploaded: _UploadState) -> bool:
        folder = index_folder(self._root, store_id)
        stamps, now = _stamps(folder), time.monotonic()
        is_current = uploaded.index_id is not None and stamps == uploaded.stamps
        if stamps[0] is None or is_current or now < uploaded.not_before:
            return True
        uploaded.not_before = now + _UPLOAD_SECONDS
        before = uploaded.index_id
        try:
            snapshot = upload_index(
                self._shared, store_id, folder, before, uploaded.known_digests
            )
        except FileNotFoundError:  # merged meanwhile
            return True
        if snapshot is None:
            return True
        if snapshot.name != before:
            with self._database.transaction() as transaction:
                if not replace_serving_index(transaction, store_id, before, snapshot.name):
                    return False
        with contextlib.suppress(OSError):
            snapshot.write(folder.folder)
        uploaded.stamps, uploaded.index_id = stamps, snapshot.name
        uploaded.known_digests = {
            (path, state): digest
            for (path, state), digest in uploaded.known_digests.items()
            if Path(path).exists()
        }
        return True


def _stamps(folder: IndexFolder) -> Stamps:
    """Return what changes with each change of an index or of its semantic space."""
    return folder.stamp(), space_stamp(folder.folder)
