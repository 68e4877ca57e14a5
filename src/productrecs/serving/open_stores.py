"""Open stores: the stores that this process has in memory.

A store is loaded on first use; the least recently used stores are evicted over one memory
budget. One thread polls the database five times a second and applies changes.
"""

import asyncio
import gc
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from productrecs.core.cache_registry import RegisteredCache
from productrecs.core.errors import ProductRecsError, StorageError, operator_text
from productrecs.core.ids import StoreId
from productrecs.core.outage_log_limiter import OutageLogLimiter
from productrecs.processes.child_process import release_freed_memory
from productrecs.services import Services
from productrecs.serving.cached_store import CachedStore, load_store, refresh_changed_views
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.store_counters_and_versions import view_versions_by_store
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.training.search.multilingual_text_model import MultilingualEmbedder
from productrecs.training.search.store_semantic_spaces import (
    QueryEmbedder,
    QueryEmbedders,
)
from productrecs.training.search.text_embedder import TextEmbedder, TextModel

_log = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.2
STALE_AFTER_SECONDS: Final = 3.5
"""After this the process is not ready: a proxy that checks it twice a second then keeps
every list younger than five seconds."""
MAX_PRELOADED: Final = 20

IDLE_SECONDS: Final = 3_600.0
"""The time without a request after which a store leaves memory.

The `MAX_PRELOADED` stores that were used last stay: a start would load as many.
"""

_POLLS_PER_TURN: Final = 5  # polls in which each store without requests is checked once
_USE_COUNT_SECONDS: Final = 60.0


# Requests leave almost no reference cycles, and a garbage collection pauses every reply by
# about a microsecond per traversed object. So young collections are small, and the oldest
# generation is collected every few hours. Cached objects replace others, so the number of
# live objects grows slowly: 400 more meant 4,000 to traverse.
_GC_THRESHOLDS: Final = (100, 1, 100_000)


@contextmanager
def _exclude_loaded_from_gc() -> Iterator[None]:
    """Exclude the objects loaded in the block from garbage collection for good.

    A large catalog has hundreds of thousands of objects: traversing them paused every
    request for 70 ms. Reference counting still frees them.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*_GC_THRESHOLDS)
        gc.enable()


class OpenStores:
    """The stores that one process has in memory."""

    def __init__(
        self,
        services: Services,
        accounts: AccountDirectory,
        budget_bytes: int = RegisteredCache.OPEN_STORES.limit,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start empty; `start` polls the database for changes.

        Over `budget_bytes` the least recently used store is evicted, and stores that are
        idle for `IDLE_SECONDS` by `seconds`.

        Raises:
            ModelFileError: when the operator's text model cannot be used.
        """
        self._queries = query_embedders(services)
        self._services = services
        self._accounts = accounts
        self._budget = budget_bytes
        self._seconds = seconds
        self._open: dict[StoreId, CachedStore] = {}
        self._uses = itertools.count()
        self._idle_before = 0  # a counter value: stores last used before it are idle
        self._use_counts: deque[tuple[float, int]] = deque()  # counter values, by time
        self._last_polled_use = 0  # the counter at the last poll
        self._polls = 0
        self._loading: dict[StoreId, asyncio.Task[CachedStore]] = {}
        self._change_lock = threading.Lock()
        self._stopping = threading.Event()
        self._polled_at = 0.0
        self._applied_version = 0  # version of the accounts whose settings are applied
        self._outage = OutageLogLimiter()
        self._thread = threading.Thread(
            target=self._poll_changes, name="follow", daemon=True
        )

    def start(self) -> None:
        """Start polling the database for changes."""
        self._polled_at = time.monotonic()
        self._thread.start()

    def close(self) -> None:
        """Stop polling."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    @property
    def count(self) -> int:
        """How many stores are in memory."""
        return len(self._open)

    @property
    def refused_models_count(self) -> int:
        """How many cached stores refused a newer model because it is damaged."""
        return sum(
            bool(cached_store.refused_model) for cached_store in list(self._open.values())
        )

    @property
    def lacking_models_count(self) -> int:
        """How many cached stores have models that only another machine's folder holds."""
        return sum(cached_store.lacks_models for cached_store in list(self._open.values()))

    @property
    def is_current(self) -> bool:
        """Whether the database answered within the last seconds."""
        return time.monotonic() - self._polled_at < STALE_AFTER_SECONDS

    def get(self, store: Store) -> CachedStore | None:
        """Return the store if it is in memory."""
        cached_store = self._open.get(store.store_id)
        if cached_store is not None:
            cached_store.last_use = next(self._uses)
        return cached_store

    async def open(self, store: Store) -> CachedStore:
        """Return the store, loaded into memory first if necessary."""
        cached_store = self.get(store)
        if cached_store is not None:
            return cached_store
        task = self._loading.get(store.store_id)
        if task is None:
            task = asyncio.create_task(self._load_in_thread(store))
            self._loading[store.store_id] = task
            task.add_done_callback(lambda _: self._loading.pop(store.store_id, None))
        return await asyncio.shield(task)

    def open_blocking(self, store: Store) -> CachedStore:
        """Return the store as `open` does, in a thread that may block."""
        cached_store = self.get(store)
        if cached_store is None:
            with _exclude_loaded_from_gc():
                loaded = self._load(store)
            cached_store = self._add_and_evict(store, loaded)
        return cached_store

    async def preload(self) -> None:
        """Load this installation's stores, up to a number and half of the budget."""
        for store in self._accounts.all()[:MAX_PRELOADED]:
            if (
                sum(cached_store.memory_bytes() for cached_store in self._open.values())
                < self._budget // 2
            ):
                await self.open(store)

    async def refresh(self, store: Store) -> None:
        """Apply the latest changes of one store, so that the caller sees them at once."""
        cached_store = self._open.get(store.store_id)
        if cached_store is not None:
            await asyncio.to_thread(self._refresh_store, store.store_id, cached_store)

    def refresh_blocking(self, store: Store) -> None:
        """Apply the latest changes as `refresh` does, in a thread that may block."""
        cached_store = self._open.get(store.store_id)
        if cached_store is not None:
            self._refresh_store(store.store_id, cached_store)

    async def _load_in_thread(self, store: Store) -> CachedStore:
        with _exclude_loaded_from_gc():
            cached_store = await asyncio.to_thread(self._load, store)
        await asyncio.to_thread(release_freed_memory)
        return self._add_and_evict(store, cached_store)

    def _add_and_evict(self, store: Store, cached_store: CachedStore) -> CachedStore:
        with self._change_lock:
            self._open[store.store_id] = cached_store
            self._applied_version = 0  # a setting may have changed while it was loaded
            cached_store.last_use = next(self._uses)
            self._evict_over_budget_and_idle()
        return cached_store

    def _evict_over_budget_and_idle(self) -> None:
        """Evict the least recently used stores over the budget, and idle ones."""
        total = sum(cached_store.memory_bytes() for cached_store in self._open.values())
        least_recent_first = sorted(
            self._open, key=lambda store_id: self._open[store_id].last_use
        )
        for store_id in least_recent_first[:-1]:
            is_idle = self._open[store_id].last_use < self._idle_before
            if total <= self._budget and not (is_idle and len(self._open) > MAX_PRELOADED):
                return
            total -= self._open.pop(store_id).memory_bytes()

    def _update_idle_threshold(self, now: float) -> None:
        """Record the counter once a minute, to know which stores were used since."""
        if not self._use_counts or now - self._use_counts[-1][0] >= _USE_COUNT_SECONDS:
            self._use_counts.append((now, next(self._uses)))
        while self._use_counts and now - self._use_counts[0][0] >= IDLE_SECONDS:
            self._idle_before = self._use_counts.popleft()[1]

    def _load(self, store: Store) -> CachedStore:
        return load_store(self._services, store, self._queries)

    def _refresh_store(self, store_id: StoreId, cached_store: CachedStore) -> None:
        reader = self._services.database.raw_reader()
        try:
            versions = view_versions_by_store(reader, [store_id]).get(store_id)
            refresh_changed_views(self._services, store_id, cached_store, reader, versions)
        finally:
            reader.close()

    def _poll_changes(self) -> None:
        reader: RawReader | None = None
        while not self._stopping.wait(POLL_SECONDS):
            try:
                reader = reader or self._services.database.raw_reader()
                self._refresh_and_evict_once(reader)
                self._polled_at = time.monotonic()
                if self._outage.should_log_recovery():
                    _log.info("database read again")
            except StorageError as error:
                if self._outage.should_log_failure():
                    facts = {"error": operator_text(error)}
                    _log.warning("database read failed", extra=facts)
                reader = None
            except Exception:
                _log.exception("database read failed")
                reader = None
        if reader is not None:
            reader.close()

    def _refresh_and_evict_once(self, reader: RawReader) -> None:
        # A request may have refreshed the accounts before this thread did.
        self._accounts.refresh(reader)
        if self._applied_version != self._accounts.version:
            self._applied_version = self._accounts.version
            self._apply_settings_or_evict()
        self._refresh_open_stores(reader)
        self._polls += 1
        if self._polls % _POLLS_PER_TURN == 1:
            self._update_idle_threshold(self._seconds())
            count = len(self._open)
            with self._change_lock:
                self._evict_over_budget_and_idle()  # caches grow with requests
            if len(self._open) < count:
                release_freed_memory()

    def _refresh_open_stores(self, reader: RawReader) -> None:
        """Bring the open stores up to date, at a cost that grows little with their number.

        One query reads the versions of all. A store whose versions are the same is checked
        if it was used since the last poll, otherwise once a second.
        """
        open_stores = list(self._open.items())
        versions = view_versions_by_store(reader, [store_id for store_id, _ in open_stores])
        used_before, self._last_polled_use = self._last_polled_use, next(self._uses)
        for number, (store_id, cached_store) in enumerate(open_stores):
            current = versions.get(store_id)
            is_due = (
                cached_store.last_use >= used_before
                or current != cached_store.versions
                or (number + self._polls) % _POLLS_PER_TURN == 0
            )
            if not is_due:
                continue
            try:
                refresh_changed_views(
                    self._services, store_id, cached_store, reader, current
                )
            except ProductRecsError:
                _log.exception("store refresh failed")

    def _apply_settings_or_evict(self) -> None:
        for store_id, cached_store in list(self._open.items()):
            store = self._accounts.by_id(store_id)
            if (
                store is None
                or store.settings.timezone != cached_store.state.settings.timezone
            ):
                with self._change_lock:  # deleted, or its time zone changed: reload it
                    self._open.pop(store_id, None)
            else:
                cached_store.state.settings = store.settings


def query_embedders(services: Services) -> QueryEmbedders:
    """Return the text models that are installed; none is loaded yet.

    Raises:
        ModelFileError: when the operator's text model cannot be used.
    """
    embedders: dict[str, QueryEmbedder] = {}

    def add(model: TextModel) -> QueryEmbedder:
        added = QueryEmbedder(
            TextEmbedder(model), is_of_operators_model=not model.is_packaged
        )
        return embedders.setdefault(model.name, added)

    def load_embedder_of_model(name: str) -> QueryEmbedder | None:
        if (known := embedders.get(name)) is not None:
            return known
        model = services.load_text_model_named(name)
        return None if model is None else add(model)

    model, multilingual = (
        services.load_or_convert_text_model(),
        services.load_or_convert_multilingual_model(),
    )
    return QueryEmbedders(
        None if model is None else add(model),
        None if multilingual is None else QueryEmbedder(MultilingualEmbedder(multilingual)),
        load_embedder_of_model if services.settings.has_packaged_search_model else None,
    )
