"""Search indexer: keeps search indexes up to date, in one process for each data folder.

With an object store, one process of all machines does it, the holder of a lease: a thread
uploads each index and then moves the pointer in the database.

It has a process of its own because a batch of a thousand products holds Python's global
interpreter lock for tenths of a second, which would delay replies and training. With a text
model, a thread with background priority embeds products' texts.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from productrecs.core.errors import StorageError, operator_text
from productrecs.core.outage_log_limiter import OutageLogLimiter
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.services import Services
from productrecs.storage.files.object_store import ObjectStoreUnavailableError
from productrecs.storage.files.object_store_snapshots import SnapshotStore
from productrecs.storage.files.search_index_files import try_lock_for_writing
from productrecs.storage.jobs.leases import Lease
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.training.search.index_uploader import IndexUploader
from productrecs.training.search.indexer import Indexer, next_retry_seconds
from productrecs.training.search.multilingual_text_model import MultilingualEmbedder
from productrecs.training.search.semantic_space_builder import SemanticSpaceBuilder
from productrecs.training.search.semantic_space_files import (
    LANGUAGES,
    MEANING,
    SemanticSpaceKind,
)
from productrecs.training.search.text_embedder import TextEmbedder, TextEncoder

if TYPE_CHECKING:
    from productrecs.storage.sql.dialects import RawReader

_log = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 0.1
"""The polling interval: a change is found within a second."""

_MAX_PAUSE_SECONDS: Final = 0.8
_PAUSE_FACTOR: Final = 40.0
_TROUBLE_SECONDS: Final = 1.0


def _pause(seconds: float) -> float:
    """Return how long to pause after looking at all stores, which took some seconds."""
    return min(_MAX_PAUSE_SECONDS, max(_PAUSE_SECONDS, _PAUSE_FACTOR * seconds))


class SearchIndexerLoop:
    """Follows every store's catalog until `stop`."""

    def __init__(self, services: Services, stopping: threading.Event | None = None) -> None:
        """Write the indexes of the stores of `services`, until `stopping` is set.

        Raises:
            ModelFileError: when the operator's text model cannot be used.
        """
        self._services = services
        self._outage = OutageLogLimiter()
        self._write_outage = OutageLogLimiter()
        self._retry_seconds = 0.0
        self._models_stamp = services.installed_models.used_models_stamp()
        self._encoders = self._load_encoders()
        self._stopping = stopping or threading.Event()

    def run(self) -> None:
        """Run until `stop` is called; only one process per data folder indexes."""
        while not self._stopping.is_set():
            pause = _TROUBLE_SECONDS
            try:
                if self._services.snapshots.shared is None:
                    self._index_if_sole_writer(None)
                else:
                    self._run_with_lease(self._services.snapshots.shared)
            except OSError as error:
                if self._write_outage.should_log_failure():
                    fields = {"error": operator_text(error)}
                    _log.error("search index write failed", extra=fields)
                pause = self._retry_seconds = next_retry_seconds(self._retry_seconds)
            except ObjectStoreUnavailableError:  # logged once
                pass
            except StorageError as error:
                self._log_outage(error)
            self._stopping.wait(pause)

    def _index_if_sole_writer(self, uploader: IndexUploader | None) -> None:
        """Index unless another process of this machine writes the folder."""
        with try_lock_for_writing(self._services.indexes) as has_lock:
            if has_lock and uploader is not None:
                uploader.fetch_serving_indexes()
            self._retry_seconds = 0.0
            if self._write_outage.should_log_recovery():
                _log.info("search index written again")
            if has_lock:
                self._index_stores(uploader)

    def _run_with_lease(self, shared: SnapshotStore) -> None:
        """Index while this process holds the lease; upload what changes."""
        services = self._services
        lease = Lease(services.database, "search", services.system_clock)
        if not lease.take_or_renew():
            return
        uploader = IndexUploader(services.database, services.indexes, shared, lease)
        thread = threading.Thread(target=uploader.run, name="uploads", daemon=True)
        thread.start()
        try:
            self._index_if_sole_writer(uploader)
        finally:
            uploader.stop()
            thread.join()
            with contextlib.suppress(StorageError):
                lease.release()

    def stop(self) -> None:
        """Let `run` return after the current batch; thread-safe."""
        self._stopping.set()

    def _index_stores(self, uploader: IndexUploader | None) -> None:
        """Update the indexes until a database error, the lease is lost, or `stop`."""
        reader: RawReader | None = None
        indexer: Indexer | None = None
        try:
            reader = self._services.database.raw_reader(is_scan=True)
            accounts = AccountDirectory(self._services.database)
            indexer = Indexer(self._services.indexes, accounts)
            while not self._renew_lease_and_check_over(uploader):
                self._reload_changed_encoders()
                self._remove_meaning_space_without_model()
                with self._embed_in_background():
                    while (
                        not self._renew_lease_and_check_over(uploader)
                        and not self._has_other_models()
                    ):
                        began = time.monotonic()
                        has_read_all = not indexer.run_next_batches(reader)
                        self._log_recovery()
                        if has_read_all:
                            self._stopping.wait(_pause(time.monotonic() - began))
        except StorageError as error:
            self._log_outage(error)
        finally:
            if indexer is not None:
                indexer.close()
            if reader is not None:
                reader.close()

    def _renew_lease_and_check_over(self, uploader: IndexUploader | None) -> bool:
        """Return whether to stop, or the lease is lost; renew it otherwise."""
        if uploader is not None:
            uploader.renew_due_lease_or_stop()
        return self._stopping.is_set() or (
            uploader is not None and uploader.must_stop_indexing
        )

    def _load_encoders(self) -> dict[SemanticSpaceKind, TextEncoder]:
        """Return the text models to embed products with.

        Raises:
            ModelFileError: when the operator's cannot be used.
        """
        encoders = dict[SemanticSpaceKind, TextEncoder]()
        if (model := self._services.load_or_convert_text_model()) is not None:
            # Without the map, pseudo-words are embedded alike before and after the vectors
            # of word pieces are written.
            encoders[MEANING] = TextEmbedder(replace(model, query_map=None))
        if model is None or model.is_packaged:
            multilingual = self._services.load_or_convert_multilingual_model()
            if multilingual is not None:
                encoders[LANGUAGES] = MultilingualEmbedder(multilingual)
        return encoders

    def _has_other_models(self) -> bool:
        return self._services.installed_models.used_models_stamp() != self._models_stamp

    def _reload_changed_encoders(self) -> None:
        """Read which text models should serve, if that changed; without one, wait."""
        if not self._has_other_models():
            return
        self._models_stamp = self._services.installed_models.used_models_stamp()
        try:
            self._encoders = self._load_encoders()
        except ModelFileError:
            _log.exception("text model rejected")  # the one before goes on

    def _remove_meaning_space_without_model(self) -> None:
        """Remove the spaces of a stopped model that no other model follows."""
        settings = self._services.settings
        if settings.has_packaged_search_model and MEANING not in self._encoders:
            for path in self._services.indexes.glob(f"*/{MEANING.space_file}"):
                path.unlink(missing_ok=True)

    def _log_recovery(self) -> None:
        if self._outage.should_log_recovery():
            _log.info("catalog read again")

    def _log_outage(self, error: StorageError) -> None:
        if self._outage.should_log_failure():
            _log.warning("catalog read failed", extra={"error": operator_text(error)})

    @contextlib.contextmanager
    def _embed_in_background(self) -> Iterator[None]:
        """Embed products' texts in a background thread per model while the block runs."""
        ended = threading.Event()
        threads = []
        for kind, encoder in self._encoders.items():
            builder = SemanticSpaceBuilder(self._services.indexes, encoder, kind=kind)
            arguments = (builder, ended)
            threads.append(
                threading.Thread(
                    target=self._run_builder, args=arguments, name=kind.name, daemon=True
                )
            )
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join()

    def _run_builder(self, builder: SemanticSpaceBuilder, over: threading.Event) -> None:
        while not over.is_set() and not builder.is_off:
            try:
                reader = self._services.database.raw_reader(is_scan=True)
                with contextlib.closing(reader):
                    builder.run(reader, over)
            except StorageError as error:
                self._log_outage(error)
                over.wait(_TROUBLE_SECONDS)
