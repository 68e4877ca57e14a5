"""Cached store: a store's views, models and caches in memory, and how they follow changes.

Each view has a version in the database. A view is read again when its version changed, and
a model or an index is opened once its snapshot is on this machine.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from productrecs.core.errors import StorageError
from productrecs.core.ids import StoreId
from productrecs.engines.registry import SIMILAR
from productrecs.features.looks.repository import PublishedLooks
from productrecs.features.recommendations.earnings.repository import (
    index_computed_at,
    read_earning_index,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.features.search.product_search import SearchableStore
from productrecs.features.search.refinement_question import question_weights
from productrecs.features.search.search_rule_set import SearchRuleSet
from productrecs.features.widgets.widget_config import WidgetConfig
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.events.shopper_history_cache import ShopperHistoryCache
from productrecs.records.experiments.repository import RunningExperiments
from productrecs.records.merchandising.rule import ListKind
from productrecs.records.merchandising.rules_in_force import RulesView
from productrecs.records.placements.repository import PlacementsAndBundles
from productrecs.records.search_counts.repository import read_question_counts
from productrecs.services import Services
from productrecs.serving.list_cache import ListCache
from productrecs.serving.product_cards import encode_card_start
from productrecs.serving.search_cache import SearchCache
from productrecs.storage.files.model_files import BrokenModelError
from productrecs.storage.files.object_store_snapshots import (
    MODELS,
    PICTURES,
    SEARCH,
    SnapshotName,
)
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.store_counters_and_versions import (
    ViewVersions,
    view_versions_by_store,
)
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.repository import stop_serving_snapshot
from productrecs.training.search.served_index import ServedIndex, index_folder
from productrecs.training.search.store_semantic_spaces import (
    QueryEmbedders,
    StoreSemanticSpaces,
)
from productrecs.training.trained_models import TrainedModels, empty_models, models_folder
from productrecs.training.visual.served_visual_model import ServedVisualModel

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class CachedStore:
    """A store in memory: its views, models and caches."""

    state: StoreState
    histories: ShopperHistoryCache
    index: ServedIndex
    pictures: ServedVisualModel
    search_rules: SearchRuleSet = field(default_factory=SearchRuleSet)  # of search
    looks: PublishedLooks = field(default_factory=PublishedLooks)
    placements: PlacementsAndBundles = field(default_factory=PlacementsAndBundles)
    experiments: RunningExperiments = field(default_factory=RunningExperiments)
    recommendation_cache: ListCache = field(default_factory=ListCache)
    searches: SearchCache = field(default_factory=SearchCache)
    last_use: int = 0  # a counter value at the last use
    refused_model: str = ""  # a damaged model that is not loaded again
    lacks_models: bool = False  # none serves: only another machine's data folder has them
    widgets: dict[str, WidgetConfig] = field(default_factory=dict)  # as last read
    earnings_at: int = 0  # when the earning index in use was computed
    question_weights: Mapping[str, float] = field(default_factory=dict)  # of search
    questions_read_for: str | None = ""  # the serving models when they were read
    versions: ViewVersions | None = None  # of the views, as last read

    def with_price_list(self, name: str) -> "CachedStore":
        """Return this store with the prices of one list; it shares the caches.

        Raises:
            PriceListNameError: when the name has an invalid form.
            UnknownPriceListError: when no item has a price in the list.
        """
        return replace(self, state=self.state.with_price_list(name))

    def memory_bytes(self) -> int:
        """Return the approximate memory that an eviction frees, in bytes."""
        views = self.state.catalog.memory_bytes() + self.histories.memory_bytes()
        caches = (
            self.recommendation_cache.size + self.searches.size + self.index.memory_bytes()
        )
        return views + caches


_QUESTION_DAYS: Final = 90
_NO_TEXT_MODELS: Final = QueryEmbedders()


def load_store(
    services: Services, store: Store, queries: QueryEmbedders = _NO_TEXT_MODELS
) -> CachedStore:
    """Load a store into memory as it is now; `queries` embeds queries for vector search."""
    catalog = CatalogView(store.store_id, store.settings.zone, encode_card_start)
    rules = RulesView(store.store_id, store.settings.zone, catalog)
    cached_store = CachedStore(
        state=StoreState(catalog, empty_models(), store.settings, rules),
        histories=ShopperHistoryCache(store.store_id),
        index=_make_served_index(services, store.store_id, queries),
        pictures=ServedVisualModel(services.visual_model_folder, store.store_id),
    )
    reader = services.database.raw_reader()
    try:
        versions = view_versions_by_store(reader, [store.store_id]).get(store.store_id)
        services.snapshots.wait_until_ready(
            _serving_snapshot_names(store.store_id, versions)
        )
        refresh_changed_views(services, store.store_id, cached_store, reader, versions)
    finally:
        reader.close()
    return cached_store


def _serving_snapshot_names(
    store_id: StoreId, versions: ViewVersions | None
) -> list[SnapshotName]:
    if versions is None:
        return []
    by_kind = {
        MODELS: versions.model_id,
        PICTURES: versions.visual_id,
        SEARCH: versions.index_id,
    }
    return [
        SnapshotName(store_id, kind, snapshot_id)
        for kind, snapshot_id in by_kind.items()
        if snapshot_id
    ]


def _make_served_index(
    services: Services, store_id: StoreId, queries: QueryEmbedders
) -> ServedIndex:
    folder = index_folder(services.indexes, store_id)
    meaning = None if queries.is_empty else StoreSemanticSpaces(folder.folder, queries)
    return ServedIndex(folder, meaning)


def refresh_changed_views(
    services: Services,
    store_id: StoreId,
    cached_store: CachedStore,
    reader: RawReader,
    versions: ViewVersions | None,
) -> None:
    """Read the views whose versions changed; `versions` is None when the store is gone."""
    if versions is None:
        return
    state, model_id = cached_store.state, versions.model_id
    _refresh_catalog_and_rules(
        services, state, reader, versions.catalog_seq, versions.rules_seq
    )
    _reject_damaged_and_refresh_index(services, store_id, cached_store, versions.index_id)
    if cached_store.search_rules.seq != versions.search_seq:
        cached_store.search_rules = SearchRuleSet.load(
            reader, store_id, versions.search_seq
        )
    _open_models_or_enqueue_training(services, store_id, cached_store, model_id)
    if cached_store.questions_read_for != model_id:
        days = _first_and_last_question_day(services.clock())
        counts = read_question_counts(reader, store_id, days)
        cached_store.question_weights = question_weights(counts)
        cached_store.questions_read_for = model_id
    _refresh_looks_placements_and_tests(
        cached_store, store_id, reader, versions.looks_seq, versions.placements_seq
    )
    _refresh_earnings(cached_store, store_id, reader)
    _open_pictures_or_request_build(services, store_id, cached_store, versions.visual_id)
    snapshots = _serving_snapshot_names(store_id, versions)
    are_ready = all(map(services.snapshots.is_ready_or_request_fetch, snapshots))
    cached_store.lacks_models = not cached_store.state.models.model_id and any(
        map(services.snapshots.is_only_on_other_machine, snapshots)
    )
    cached_store.versions = (
        versions if are_ready else None
    )  # otherwise the next poll checks it again


def _first_and_last_question_day(now_ms: int) -> tuple[str, str]:
    """Return the days whose answers count; the last one is today in every time zone."""
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    first, last = today - timedelta(days=_QUESTION_DAYS), today + timedelta(days=1)
    return first.isoformat(), last.isoformat()


def _refresh_catalog_and_rules(
    services: Services,
    state: StoreState,
    reader: RawReader,
    catalog_seq: int,
    rules_seq: int,
) -> None:
    """Read new products and rules; no list shows a new product that a new rule excludes.

    A rule that excludes hides products added later until it is resolved again: so new
    rules are resolved before the new products, and once more after them.
    """
    if state.rules is None:
        state.catalog.refresh(reader, catalog_seq)
        return
    state.rules.refresh(reader, rules_seq, services.clock())
    state.catalog.refresh(reader, catalog_seq)
    state.rules.refresh(reader, rules_seq, services.clock())


def _reject_damaged_and_refresh_index(
    services: Services, store_id: StoreId, cached_store: CachedStore, index_id: str | None
) -> None:
    """Request a new build of a damaged search index; open the latest local one."""
    if index_id:
        index = SnapshotName(store_id, SEARCH, index_id)
        if services.snapshots.is_ready_or_request_fetch(
            index
        ) and services.snapshots.is_refused(index):
            _request_new_build(services, index)
    cached_store.index.refresh()


def _open_models_or_enqueue_training(
    services: Services, store_id: StoreId, cached_store: CachedStore, model_id: str | None
) -> None:
    """Open the serving models once they are local."""
    serving_id, snapshots = cached_store.state.models.model_id, services.snapshots
    if not model_id or model_id in {serving_id, cached_store.refused_model}:
        return
    name = SnapshotName(store_id, MODELS, model_id)
    if not snapshots.is_ready_or_request_fetch(name):
        return
    _load_models_or_refuse(cached_store, models_folder(services.models, store_id), model_id)
    if cached_store.refused_model == model_id:
        if snapshots.discard_damaged_once(name):
            cached_store.refused_model = ""  # a damaged local copy is fetched again
        else:
            _enqueue_training(services, store_id)


def _open_pictures_or_request_build(
    services: Services, store_id: StoreId, cached_store: CachedStore, visual_id: str | None
) -> None:
    """Open the serving visual model once it is local; a damaged one is built again."""
    state, pictures = cached_store.state, cached_store.pictures
    if visual_id and not pictures.has_opened_or_refused(visual_id):
        visual = SnapshotName(store_id, PICTURES, visual_id)
        if services.snapshots.is_ready_or_request_fetch(visual):
            pictures.open_published_model(visual_id)
            if pictures.visual_id != visual_id:
                _request_new_build(services, visual)
    if state.models.visual is not pictures.model:
        state.models = state.models.replacing(SIMILAR, pictures.model)


def _refresh_earnings(
    cached_store: CachedStore, store_id: StoreId, reader: RawReader
) -> None:
    """Read the earning index if it changed; only where the store uses it."""
    if not cached_store.state.settings.earnings_weight:
        cached_store.state.earnings, cached_store.earnings_at = None, 0
        return
    computed_at = index_computed_at(reader, store_id)
    if computed_at != cached_store.earnings_at:
        cached_store.state.earnings = read_earning_index(reader, store_id)
        cached_store.earnings_at = computed_at


def _refresh_looks_placements_and_tests(
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
        cached_store.placements = PlacementsAndBundles.load(
            reader, store_id, placements_seq
        )
        cached_store.state.bundles = cached_store.placements.bundles
        cached_store.experiments = RunningExperiments.load(
            reader, store_id, cached_store.placements
        )


def _enqueue_training(services: Services, store_id: StoreId) -> None:
    """Enqueue a training; skip it while the database is read-only."""
    try:
        with services.database.transaction() as transaction:
            services.queue.enqueue(transaction, NewJob(store_id, "train"))
    except StorageError:
        _log.warning("training request failed", extra={"store": store_id})


def _request_new_build(services: Services, name: SnapshotName) -> None:
    """Request a new build of a damaged snapshot, unless the database is read-only."""
    try:
        with services.database.transaction() as transaction:
            stop_serving_snapshot(transaction, name)
        services.snapshots.forget_refusal(name)
    except StorageError:
        _log.warning("training request failed", extra={"store": name.store_id})


def _load_models_or_refuse(cached_store: CachedStore, folder: Path, model_id: str) -> None:
    try:
        models = TrainedModels.load(folder, model_id)
        cached_store.state.models = models.replacing(SIMILAR, cached_store.pictures.model)
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
    state = cached_store.state
    settings = settings or state.settings
    models, in_force = state.models, state.rules_in_force
    return SearchableStore(
        catalog=state.catalog,
        index=cached_store.index,
        ranks=models.ranks,
        trending_count=len(models.trending),
        search_rules=cached_store.search_rules,
        rules=None if in_force is None else in_force.effects_on_list(ListKind.SEARCH),
        factors=None
        if in_force is None
        else in_force.effects_of_rules_naming(ListKind.SEARCH).factors,
        sold_out=settings.search_sold_out,
        by_meaning=settings.search_meaning,
        currency=state.catalog.list_currency or settings.currency,
        query_filters=settings.search_query_filters,
        collapse=settings.search_collapse,
        click_boosts=models.click_boosts,
        language_setting=state.settings.language,
        question_weights=cached_store.question_weights,
    )
