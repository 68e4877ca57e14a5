"""Store cache: the stores that this process has in memory.

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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from productrecs.core.cache_registry import Cache
from productrecs.core.errors import ProductRecsError, StorageError, operator_text
from productrecs.core.ids import StoreId
from productrecs.features.looks.repository import PublishedLooks
from productrecs.features.recommendations.earnings.repository import index_time, read_index
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.features.search.product_search import SearchableStore
from productrecs.features.search.search_rule_book import SearchRuleBook
from productrecs.features.widgets.widget_config import WidgetConfig
from productrecs.http.caches.recommendation_cache import RecommendationCache
from productrecs.http.caches.search_result_cache import SearchCache
from productrecs.http.schemas.product_cards_and_replies import make_card
from productrecs.processes.child_process import release_freed_memory
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.events.shopper_history_cache import ShopperHistories
from productrecs.records.experiments.repository import StoreExperiments
from productrecs.records.merchandising.rule import ListKind
from productrecs.records.merchandising.rule_book import RulesView
from productrecs.records.placements.repository import StorePlacements
from productrecs.services import Services
from productrecs.storage.dialects import RawReader
from productrecs.storage.job_queue import NewJob
from productrecs.storage.model_files import BrokenModelError
from productrecs.storage.snapshots import MODELS, PICTURES, SEARCH, SnapshotName
from productrecs.storage.storage_health import OutageNotes
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.repository import reject_snapshot, store_versions
from productrecs.training.search.multilingual_text_model import MultilingualEmbedder
from productrecs.training.search.served_index import (
    QueryEmbedder,
    QueryEmbedders,
    ServedIndex,
    ServedMeaning,
    index_folder,
)
from productrecs.training.search.text_embedder import TextEmbedder
from productrecs.training.trained_models import TrainedModels, empty_models, models_folder
from productrecs.training.visual.served_visual_model import ServedPictures

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
def _without_gc() -> Iterator[None]:
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


@dataclass(slots=True)
class CachedStore:
    """A store in memory: its views, models and caches."""

    shop: StoreState
    histories: ShopperHistories
    index: ServedIndex
    pictures: ServedPictures
    search_rules: SearchRuleBook = field(default_factory=SearchRuleBook)  # of search
    looks: PublishedLooks = field(default_factory=PublishedLooks)
    placements: StorePlacements = field(default_factory=StorePlacements)
    experiments: StoreExperiments = field(default_factory=StoreExperiments)
    recommendation_cache: RecommendationCache = field(default_factory=RecommendationCache)
    searches: SearchCache = field(default_factory=SearchCache)
    last_use: int = 0  # a counter value at the last use
    refused_model: str = ""  # a damaged model that is not loaded again
    widgets: dict[str, WidgetConfig] = field(default_factory=dict)  # as last read
    earnings_at: int = 0  # when the earning index in use was computed
    versions: tuple[object, ...] | None = None  # of the views, as last read

    def priced(self, name: str) -> "CachedStore":
        """Return this store with the prices of one list; it shares the caches.

        Raises:
            PriceListNameError: when the name has an invalid form.
            UnknownPriceListError: when no item has a price in the list.
        """
        return replace(self, shop=self.shop.priced(name))

    def memory_bytes(self) -> int:
        """Return the approximate memory that an eviction frees, in bytes."""
        views = self.shop.catalog.memory_bytes() + self.histories.memory_bytes()
        caches = (
            self.recommendation_cache.size + self.searches.size + self.index.memory_bytes()
        )
        return views + caches


class StoreCache:
    """The stores that one process has in memory."""

    def __init__(
        self,
        services: Services,
        accounts: AccountDirectory,
        budget_bytes: int = Cache.OPEN_STORES.limit,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start empty; `start` polls the database for changes.

        Over `budget_bytes` the least recently used store is evicted, and stores that are
        idle for `IDLE_SECONDS` by `seconds`.

        Raises:
            ModelFileError: when the operator's text model cannot be used.
        """
        self._queries = _query_embedders(services)
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
        self._outage = OutageNotes()
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
    def refused_models(self) -> int:
        """How many cached stores refused a newer model because it is damaged."""
        return sum(
            bool(cached_store.refused_model) for cached_store in list(self._open.values())
        )

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
            with _without_gc():
                loaded = self._load(store)
            cached_store = self._add(store, loaded)
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
        with _without_gc():
            cached_store = await asyncio.to_thread(self._load, store)
        await asyncio.to_thread(release_freed_memory)
        return self._add(store, cached_store)

    def _add(self, store: Store, cached_store: CachedStore) -> CachedStore:
        with self._change_lock:
            self._open[store.store_id] = cached_store
            self._applied_version = 0  # a setting may have changed while it was loaded
            cached_store.last_use = next(self._uses)
            self._evict()
        return cached_store

    def _evict(self) -> None:
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

    def _record_use_count(self, now: float) -> None:
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
            versions = store_versions(reader, [store_id]).get(store_id)
            _apply_changes(self._services, store_id, cached_store, reader, versions)
        finally:
            reader.close()

    def _poll_changes(self) -> None:
        reader: RawReader | None = None
        while not self._stopping.wait(POLL_SECONDS):
            try:
                reader = reader or self._services.database.raw_reader()
                self._poll_once(reader)
                self._polled_at = time.monotonic()
                if self._outage.has_ended():
                    _log.info("database read again")
            except StorageError as error:
                if self._outage.is_due():
                    facts = {"error": operator_text(error)}
                    _log.warning("database read failed", extra=facts)
                reader = None
            except Exception:
                _log.exception("database read failed")
                reader = None
        if reader is not None:
            reader.close()

    def _poll_once(self, reader: RawReader) -> None:
        # A request may have refreshed the accounts before this thread did.
        self._accounts.refresh(reader)
        if self._applied_version != self._accounts.version:
            self._applied_version = self._accounts.version
            self._apply_settings()
        self._apply_changes(reader)
        self._polls += 1
        if self._polls % _POLLS_PER_TURN == 1:
            self._record_use_count(self._seconds())
            count = len(self._open)
            with self._change_lock:
                self._evict()  # caches grow with requests
            if len(self._open) < count:
                release_freed_memory()

    def _apply_changes(self, reader: RawReader) -> None:
        """Bring the open stores up to date, at a cost that grows little with their number.

        One query reads the versions of all. A store whose versions are the same is checked
        if it was used since the last poll, otherwise once a second.
        """
        open_stores = list(self._open.items())
        versions = store_versions(reader, [store_id for store_id, _ in open_stores])
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
                _apply_changes(self._services, store_id, cached_store, reader, current)
            except ProductRecsError:
                _log.exception("store refresh failed")

    def _apply_settings(self) -> None:
        for store_id, cached_store in list(self._open.items()):
            store = self._accounts.by_id(store_id)
            if (
                store is None
                or store.settings.timezone != cached_store.shop.settings.timezone
            ):
                with self._change_lock:  # deleted, or its time zone changed: reload it
                    self._open.pop(store_id, None)
            else:
                cached_store.shop.settings = store.settings


_NO_TEXT_MODELS: Final = QueryEmbedders()


def load_store(
    services: Services, store: Store, queries: QueryEmbedders = _NO_TEXT_MODELS
) -> CachedStore:
    """Load a store into memory as it is now; `queries` embeds queries for vector search."""
    catalog = CatalogView(store.store_id, store.settings.zone, make_card)
    rules = RulesView(store.store_id, store.settings.zone, catalog)
    cached_store = CachedStore(
        shop=StoreState(catalog, empty_models(), store.settings, rules),
        histories=ShopperHistories(store.store_id),
        index=_served_index(services, store.store_id, queries),
        pictures=ServedPictures(services.pictures, store.store_id),
    )
    reader = services.database.raw_reader()
    try:
        versions = store_versions(reader, [store.store_id]).get(store.store_id)
        services.snapshots.wait(_serving_snapshots(store.store_id, versions))
        _apply_changes(services, store.store_id, cached_store, reader, versions)
    finally:
        reader.close()
    return cached_store


def _serving_snapshots(
    store_id: StoreId, versions: tuple[Any, ...] | None
) -> list[SnapshotName]:
    if versions is None:
        return []
    _, model_id, _, _, visual_id, index_id, *_ = versions
    by_kind = {MODELS: model_id, PICTURES: visual_id, SEARCH: index_id}
    return [SnapshotName(store_id, kind, one) for kind, one in by_kind.items() if one]


def _query_embedders(services: Services) -> QueryEmbedders:
    """Return the text models that are installed; none is loaded yet.

    Raises:
        ModelFileError: when the operator's text model cannot be used.
    """
    model, multilingual = services.text_model(), services.multilingual_model()
    return QueryEmbedders(
        None if model is None else QueryEmbedder(TextEmbedder(model)),
        None if multilingual is None else QueryEmbedder(MultilingualEmbedder(multilingual)),
    )


def _served_index(
    services: Services, store_id: StoreId, queries: QueryEmbedders
) -> ServedIndex:
    folder = index_folder(services.indexes, store_id)
    meaning = None if queries.is_empty else ServedMeaning(folder.folder, queries)
    return ServedIndex(folder, meaning)


def _apply_changes(
    services: Services,
    store_id: StoreId,
    cached_store: CachedStore,
    reader: RawReader,
    versions: tuple[Any, ...] | None,
) -> None:
    """Read the views whose versions changed; `versions` is None when the store is gone."""
    if versions is None:
        return
    catalog_seq, model_id, rules_seq, search_seq, visual_id, index_id, *others = versions
    state = cached_store.shop
    state.catalog.refresh(reader, int(catalog_seq))
    if state.rules is not None:
        state.rules.refresh(reader, int(rules_seq), services.clock())
    _follow_index(services, store_id, cached_store, index_id)
    if cached_store.search_rules.seq != search_seq:
        cached_store.search_rules = SearchRuleBook.load(reader, store_id, int(search_seq))
    _follow_models(services, store_id, cached_store, model_id)
    _refresh_content(cached_store, store_id, reader, *map(int, others))
    _apply_earnings(cached_store, store_id, reader)
    _follow_pictures(services, store_id, cached_store, visual_id)
    snapshots = _serving_snapshots(store_id, versions)
    is_all = all(map(services.snapshots.is_ready, snapshots))
    cached_store.versions = (
        versions if is_all else None
    )  # otherwise the next poll checks it again


def _follow_index(
    services: Services, store_id: StoreId, cached_store: CachedStore, index_id: str | None
) -> None:
    """Open the latest local search index; ask for the serving one."""
    if index_id:
        index = SnapshotName(store_id, SEARCH, index_id)
        if services.snapshots.is_ready(index) and services.snapshots.is_refused(index):
            _reject_snapshot(services, index)
    cached_store.index.refresh()


def _follow_models(
    services: Services, store_id: StoreId, cached_store: CachedStore, model_id: str | None
) -> None:
    """Open the serving models once they are local."""
    serving_id, snapshots = cached_store.shop.models.model_id, services.snapshots
    if not model_id or model_id in {serving_id, cached_store.refused_model}:
        return
    name = SnapshotName(store_id, MODELS, model_id)
    if not snapshots.is_ready(name):
        return
    _swap_models(cached_store, models_folder(services.models, store_id), model_id)
    if cached_store.refused_model == model_id:
        if snapshots.discard(name):
            cached_store.refused_model = ""  # a damaged local copy is fetched again
        else:
            _enqueue_training(services, store_id)


def _follow_pictures(
    services: Services, store_id: StoreId, cached_store: CachedStore, visual_id: str | None
) -> None:
    """Open the serving visual model once it is local; a damaged one is built again."""
    state, pictures = cached_store.shop, cached_store.pictures
    if visual_id and not pictures.has_followed(visual_id):
        visual = SnapshotName(store_id, PICTURES, visual_id)
        if services.snapshots.is_ready(visual):
            pictures.follow(visual_id)
            if pictures.visual_id != visual_id:
                _reject_snapshot(services, visual)
    if state.models.visual is not pictures.model:
        state.models = replace(state.models, visual=pictures.model)


def _apply_earnings(
    cached_store: CachedStore, store_id: StoreId, reader: RawReader
) -> None:
    """Read the earning index if it changed; only where the store uses it."""
    if not cached_store.shop.settings.earnings_weight:
        cached_store.shop.earnings, cached_store.earnings_at = None, 0
        return
    computed_at = index_time(reader, store_id)
    if computed_at != cached_store.earnings_at:
        cached_store.shop.earnings = read_index(reader, store_id)
        cached_store.earnings_at = computed_at


def _refresh_content(
    cached_store: CachedStore,
    store_id: StoreId,
    reader: RawReader,
    looks_seq: int,
    placements_seq: int,
) -> None:
    """Read the looks, placements and running tests if they changed."""
    if cached_store.looks.seq != looks_seq:
        cached_store.looks = PublishedLooks.load(reader, store_id, looks_seq)
    if cached_store.placements.seq != placements_seq:
        cached_store.placements = StorePlacements.load(reader, store_id, placements_seq)
        cached_store.shop.bundles = cached_store.placements.bundles
        cached_store.experiments = StoreExperiments.load(
            reader, store_id, cached_store.placements
        )


def _enqueue_training(services: Services, store_id: StoreId) -> None:
    """Enqueue a training; skip it while the database is read-only."""
    try:
        with services.database.transaction() as transaction:
            services.queue.enqueue(transaction, NewJob(store_id, "train"))
    except StorageError:
        _log.warning("training request failed", extra={"store": store_id})


def _reject_snapshot(services: Services, name: SnapshotName) -> None:
    """Request a new build of a damaged snapshot, unless the database is read-only."""
    try:
        with services.database.transaction() as transaction:
            reject_snapshot(transaction, name)
        services.snapshots.forget_refusal(name)
    except StorageError:
        _log.warning("training request failed", extra={"store": name.store_id})


def _swap_models(cached_store: CachedStore, folder: Path, model_id: str) -> None:
    try:
        models = TrainedModels.load(folder, model_id)
        cached_store.shop.models = replace(models, visual=cached_store.pictures.model)
        cached_store.refused_model = ""
    except BrokenModelError:
        cached_store.refused_model = model_id
        _log.exception(
            "model rejected",
            extra={"model": model_id},
        )


def searchable_store(
    cached_store: CachedStore, settings: StoreSettings | None = None
) -> SearchableStore:
    """Return the present search state of a store; `settings` are those of a variant."""
    state = cached_store.shop
    settings = settings or state.settings
    models, book = state.models, state.book
    return SearchableStore(
        catalog=state.catalog,
        index=cached_store.index,
        ranks=models.ranks,
        trending_count=len(models.trending),
        search_rules=cached_store.search_rules,
        rules=None if book is None else book.of(ListKind.SEARCH),
        factors=None if book is None else book.rules_of(ListKind.SEARCH).factors,
        sold_out=settings.search_sold_out,
        by_meaning=settings.search_meaning,
        currency=state.catalog.list_currency or settings.currency,
        query_filters=settings.search_query_filters,
        click_boosts=models.click_boosts,
        language_setting=state.settings.language,
    )
