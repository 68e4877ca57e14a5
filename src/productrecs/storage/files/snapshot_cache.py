"""Snapshot cache: local copies of the snapshots in the object store, in the data folder.

A copy has the form that a local snapshot has, so readers do not know whether a model was
trained or fetched on their machine. A thread fetches what readers ask for; until it is
there they serve what they have. Without an object store every snapshot is local, unless
machines that share a database server have a data folder each: then some are missing.
"""

import contextlib
import fcntl
import json
import logging
import os
import secrets
import shutil
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Self

from productrecs.core.errors import operator_text
from productrecs.core.ids import StoreId
from productrecs.storage.files.model_files import (
    large_array_files_by_digest,
    remove_other_models,
)
from productrecs.storage.files.object_store import (
    MissingObjectError,
    ObjectStoreUnavailableError,
)
from productrecs.storage.files.object_store_snapshots import (
    MODELS,
    SEARCH,
    Content,
    FileState,
    InvalidObjectError,
    PackedFileLocation,
    SnapshotName,
    SnapshotStore,
)
from productrecs.storage.files.search_index_files import IndexFolder, try_lock_for_writing

_log = logging.getLogger(__name__)

SHARE_MODELS: Final = (
    "set the same PRODUCTRECS_OBJECTS on all machines, or let them share one data folder"
)
"""The remedy for a missing model."""

FIRST_FETCH_SECONDS: Final = 10.0
"""How long the first use of a store waits for its snapshots."""

_RETRY_SECONDS: Final = 1.0
_MAX_RETRY_SECONDS: Final = 30.0
_LOCAL_WRITER_SECONDS: Final = 2.0
_HELD: Final = "snapshot.json"  # beside an index: which snapshot the folder holds
_LOCK: Final = ".fetching"


@dataclass(slots=True)
class _WantedSnapshot:
    """A wanted snapshot, and when to try next."""

    name: SnapshotName
    not_before: float = 0.0
    delay: float = _RETRY_SECONDS


class SnapshotCache:
    """The local snapshots of one process; safe to use from any thread."""

    def __init__(
        self,
        shared: SnapshotStore | None = None,
        folders: Mapping[str, Path] | None = None,
        *,
        has_shared_database: bool = False,
    ) -> None:
        """Cache snapshots of `shared` below the folder of each kind.

        With `has_shared_database` other machines may publish snapshots too.
        """
        self.shared = shared
        self._may_lack_snapshots = has_shared_database and shared is None
        self._folders = dict(folders or {})
        self._changed = threading.Condition()
        self._wanted: dict[tuple[str, str], _WantedSnapshot] = {}
        self._refused: dict[tuple[str, str], str] = {}  # the last one that cannot be had
        self._discarded: set[SnapshotName] = set()
        self._indexes: dict[str, str] = {}  # the last known index by store
        self._written_locally_until = 0.0
        self._thread: threading.Thread | None = None

    # ----------------------------------------------------------------- reading

    def is_ready_or_request_fetch(self, name: SnapshotName) -> bool:
        """Return whether a snapshot may be opened: it is local, or it cannot be had.

        Otherwise it is fetched in the background.
        """
        if self.shared is None:
            return not self.is_only_on_other_machine(name)
        if self.is_local(name) or self.is_refused(name):
            return True
        if name.kind == SEARCH and time.monotonic() < self._written_locally_until:
            return True
        self._request_fetch(name)
        return False

    def is_only_on_other_machine(self, name: SnapshotName) -> bool:
        """Return whether only another machine's data folder can have a model."""
        return self._may_lack_snapshots and name.kind != SEARCH and not self.is_local(name)

    def is_refused(self, name: SnapshotName) -> bool:
        """Return whether the object store has no intact snapshot of that name."""
        return self._refused.get(name[:2]) == name.name

    def forget_refusal(self, name: SnapshotName) -> None:
        """Let a snapshot be fetched if it serves again: it may have been uploaded again."""
        if self.is_refused(name):
            del self._refused[name[:2]]

    def wait_until_ready(
        self, names: Collection[SnapshotName], seconds: float = FIRST_FETCH_SECONDS
    ) -> None:
        """Wait until the snapshots are ready, unless the object store does not answer."""
        if self.shared is None:
            return
        until = time.monotonic() + seconds
        with self._changed:
            while [name for name in names if not self.is_ready_or_request_fetch(name)]:
                remaining = until - time.monotonic()
                if remaining <= 0 or self.shared.objects.trouble is not None:
                    return
                self._changed.wait(min(remaining, _RETRY_SECONDS))

    def fetch_if_not_local(self, name: SnapshotName) -> None:
        """Fetch a snapshot now, unless it is local or the object store has none.

        Raises:
            ObjectStoreUnavailableError: when the object store does not answer.
            OSError: when the disk is full or fails.
        """
        if self.shared is None or self.is_local(name):
            return
        with contextlib.suppress(MissingObjectError, InvalidObjectError):
            self._fetch(self.shared, name)

    def discard_damaged_once(self, name: SnapshotName) -> bool:
        """Remove a damaged local copy; return whether it may be fetched again: once."""
        if self.shared is None or name in self._discarded or self.is_refused(name):
            return False
        self._discarded.add(name)
        shutil.rmtree(self._folder(name) / name.name, ignore_errors=True)
        return True

    # ----------------------------------------------------------------- writing

    def upload_model(
        self, name: SnapshotName, serving: str | None, *, keep_on_failure: bool = False
    ) -> None:
        """Upload a local model, so that the pointer may move from `serving` to it.

        Raises:
            ObjectStoreUnavailableError: when it is not uploaded; the local copy is gone
                unless `keep_on_failure`.
        """
        if self.shared is None:
            return
        folder = self._folder(name) / name.name
        try:
            files: dict[str, Content] = {path.name: path for path in folder.iterdir()}
            self.shared.publish(name, files, serving=serving)
        except BaseException:
            if not keep_on_failure:
                shutil.rmtree(folder, ignore_errors=True)
            raise

    def check_reachable(self) -> None:
        """Raise unless the object store answers, before work whose result it must take.

        Raises:
            ObjectStoreUnavailableError: when it does not answer.
        """
        if self.shared is not None:
            self.shared.objects.check_reachable()

    def remove_other_uploaded_models(self, store_id: StoreId, model_id: str) -> None:
        """Delete all uploaded models of a store except one, at once: after an erasure.

        Raises:
            ObjectStoreUnavailableError: call it again.
        """
        if self.shared is not None:
            self.shared.remove_other_snapshots(SnapshotName(store_id, MODELS, model_id))

    # ------------------------------------------------------------------ inside

    def _folder(self, name: SnapshotName) -> Path:
        return self._folders[name.kind] / name.store_id

    def is_local(self, name: SnapshotName) -> bool:
        """Return whether the data folder has a snapshot."""
        if name.kind != SEARCH:
            return (self._folder(name) / name.name).exists()
        if self._indexes.get(name.store_id) != name.name:
            self._indexes[name.store_id] = LocalIndexSnapshot.read(self._folder(name)).name
        return self._indexes[name.store_id] == name.name

    def _request_fetch(self, name: SnapshotName) -> None:
        with self._changed:
            wanted = self._wanted.get(name[:2])
            if wanted is not None and wanted.name == name:
                return
            self._wanted[name[:2]] = _WantedSnapshot(name)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._fetch_wanted_forever, name="objects", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def _fetch_wanted_forever(self) -> None:
        while True:
            with self._changed:
                fetch = min(self._wanted.values(), key=lambda w: w.not_before, default=None)
                now = time.monotonic()
                if fetch is None or fetch.not_before > now:
                    self._changed.wait(None if fetch is None else fetch.not_before - now)
                    continue
            is_over = self._fetch_or_delay_retry(fetch)
            with self._changed:
                if is_over and self._wanted.get(fetch.name[:2]) is fetch:
                    del self._wanted[fetch.name[:2]]
                self._changed.notify_all()

    def _fetch_or_delay_retry(self, fetch: _WantedSnapshot) -> bool:
        """Fetch a snapshot; return whether there is nothing left to do."""
        shared, extra = self.shared, {"store": fetch.name.store_id, "kind": fetch.name.kind}
        try:
            if shared is not None and not self.is_local(fetch.name):
                self._fetch(shared, fetch.name)
        except (MissingObjectError, InvalidObjectError) as error:
            self._refused[fetch.name[:2]] = fetch.name.name
            _log.warning("snapshot rejected", extra=extra | {"error": operator_text(error)})
        except ObjectStoreUnavailableError:  # logged once
            fetch.not_before = time.monotonic() + fetch.delay
            fetch.delay = min(2 * fetch.delay, _MAX_RETRY_SECONDS)
            return False
        except OSError as error:
            _log.warning(
                "snapshot write failed", extra=extra | {"error": operator_text(error)}
            )
            fetch.not_before = time.monotonic() + fetch.delay
            return False
        return True

    def _fetch(self, shared: SnapshotStore, name: SnapshotName) -> None:
        if name.kind == SEARCH:
            with try_lock_for_writing(self._folders[SEARCH]) as has_lock:
                if has_lock:
                    fetch_index(shared, IndexFolder(self._folder(name)), name)
                else:  # the indexer of this machine writes the folder itself
                    self._written_locally_until = time.monotonic() + _LOCAL_WRITER_SECONDS
            return
        with _lock_fetching(self._folders[name.kind]):
            if not self.is_local(name):
                _fetch_model(shared, self._folder(name), name)
                remove_other_models(self._folder(name), {name.name})


def _fetch_model(shared: SnapshotStore, folder: Path, name: SnapshotName) -> None:
    """Write a model's files as its trainer does; link those that an older model has."""
    snapshot = shared.read_manifest(name)
    draft = folder / f".draft-{name.name}-{secrets.token_hex(4)}"
    draft.mkdir(parents=True)
    try:
        local_files = {
            digest: path
            for model in folder.iterdir()
            for digest, path in large_array_files_by_digest(model).items()
        }
        wanted: list[tuple[PackedFileLocation, Path]] = []
        for path, packed_file in snapshot.files.items():
            target = draft / Path(path).name
            if packed_file.sha256 not in local_files or not _try_link(
                local_files[packed_file.sha256], target
            ):
                wanted.append((packed_file, target))
        shared.download(name, wanted)
        draft.rename(folder / name.name)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _try_link(source: Path, target: Path) -> bool:
    """Link an unchanged file of the previous model; the reader verifies it."""
    try:
        target.hardlink_to(source)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _lock_fetching(folder: Path) -> Iterator[None]:
    """Let the processes of this machine fetch one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# ---------------------------------------------------------------- search index


@dataclass(frozen=True, slots=True)
class LocalIndexSnapshot:
    """The index snapshot that a store's folder holds, and the SHA-256 of each file."""

    name: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    is_complete: bool = False  # with the files that only the indexer reads

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return what a folder holds."""
        try:
            return cls(**json.loads((folder / _HELD).read_bytes()))
        except (OSError, ValueError, TypeError):
            return cls()

    def write(self, folder: Path) -> None:
        """Record what a folder holds.

        Raises:
            OSError: when the disk is full or fails.
        """
        draft = folder / f"{_HELD}.{os.getpid()}"
        draft.write_text(json.dumps(asdict(self)), "utf-8")
        draft.replace(folder / _HELD)


def upload_index(
    shared: SnapshotStore,
    store_id: StoreId,
    folder: IndexFolder,
    serving: str | None,
    known_digests: dict[tuple[str, FileState], str],
) -> LocalIndexSnapshot | None:
    """Upload the serving index of a folder; return it, None without one.

    The caller moves the pointer from `serving` to it, then writes what is returned.

    Raises:
        ObjectStoreUnavailableError: when it is not uploaded.
        FileNotFoundError: when a file was merged meanwhile; call it again.
    """
    files = folder.files_to_copy()
    if not files:
        return None
    name = SnapshotName(store_id, SEARCH, "")
    name, snapshot = shared.publish(
        name, files, serving=serving, known_digests=known_digests
    )
    digests = {path: packed_file.sha256 for path, packed_file in snapshot.files.items()}
    return LocalIndexSnapshot(name.name, digests, is_complete=True)


def fetch_index(
    shared: SnapshotStore,
    folder: IndexFolder,
    name: SnapshotName,
    *,
    complete: bool = False,
) -> None:
    """Make a folder hold an index snapshot; the caller has the lock for writing.

    Readers see it when the last file, the pointer, is replaced. Without `complete`, files
    are left out that only an indexer reads.

    Raises:
        MissingObjectError, InvalidObjectError: when it cannot be had.
        ObjectStoreUnavailableError: when the object store does not answer.
        OSError: when the disk is full or fails.
    """
    snapshot, held = shared.read_manifest(name), LocalIndexSnapshot.read(folder.folder)
    needed = {
        path: packed_file
        for path, packed_file in snapshot.files.items()
        if complete or not folder.is_only_for_indexer(path)
    }
    missing = [
        path
        for path, packed_file in needed.items()
        if folder.is_rewritten(path)
        or held.files.get(path) != packed_file.sha256
        or not _has_size(folder.folder / path, packed_file.size)
    ]
    # Segments, then the library's metadata that names them, then the pointer.
    missing.sort(key=folder.writing_order_key)
    shared.download(
        name, [(snapshot.files[path], folder.folder / path) for path in missing]
    )
    folder.remove_unlisted(snapshot.files)
    digests = {path: packed_file.sha256 for path, packed_file in needed.items()}
    LocalIndexSnapshot(name.name, digests, is_complete=complete).write(folder.folder)


def _has_size(path: Path, size: int) -> bool:
    """Return whether a file that is written once is here already."""
    try:
        return path.stat().st_size == size
    except OSError:
        return False
