"""List replies: the bodies of recommendations and trending, cached where they may be."""

import asyncio
import logging
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Final, NamedTuple

from productrecs.core.errors import StorageError
from productrecs.core.ids import first_control_code_point
from productrecs.features.recommendations.bundles import bundle_offer_of_list
from productrecs.features.recommendations.candidates import certain_bundle_companions
from productrecs.features.recommendations.placement_lists import (
    build_placement_requests,
    recommend_placement,
)
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    Pick,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import (
    StoreState,
    sold_out_anchor,
)
from productrecs.features.recommendations.sold_out_replacements import (
    starts_with_replacement,
)
from productrecs.features.recommendations.source_recipes import PageType
from productrecs.features.recommendations.trending import trending_list
from productrecs.http.pipeline.route_context import ProcessContext
from productrecs.http.routes.widget.shopper_history_access import (
    NO_HISTORIES,
    ShopperHistoryAccess,
    UsableHistories,
    count_customer_and_read_histories,
    record_and_warn_of_refused_identity,
)
from productrecs.records.catalog.item_filters import NO_FILTERS, Filters
from productrecs.records.experiments.arm_assignment import HoldoutArm, holdout_split
from productrecs.records.experiments.exposures.repository import (
    NOBODY,
    StoredIdentity,
    read_stored_identity,
)
from productrecs.records.placements.placement import Placement
from productrecs.serving.cached_store import CachedStore
from productrecs.serving.card_replies import (
    recommendations_body,
    with_anchor,
    with_placement_and_bundle,
    with_sold_out,
)
from productrecs.serving.list_cache import (
    CachedListInputs,
    FingerprintSource,
    ListFingerprintSource,
    NoFingerprintSource,
)

_log = logging.getLogger(__name__)

_NOTHING: Final = frozenset[int]()
EMPTY_LIST: Final = recommendations_body((), ())


class TrendingRequest(NamedTuple):
    """One call for what trends."""

    num: int
    user_id: str | None = None
    excluded: tuple[str, ...] = ()
    filters: Filters = NO_FILTERS


def try_answer_immediately(
    context: ProcessContext,
    cached_store: CachedStore,
    list_request: RecommendationRequest,
    access: ShopperHistoryAccess,
) -> bytes | None:
    """Return the body of a reply that need not be waited for; None for any other.

    Raises:
        StorageError: when the database could not answer.
    """
    if not list_request.identities:
        body = _anonymous_list_body(context, cached_store, list_request)
        return _add_anchor_and_record_refused_identity(
            context, cached_store, list_request, body, access
        )
    if context.reading is not None:
        return None
    identities, known = list_request.identities, NOBODY
    if is_list_tested(cached_store, list_request.placement):
        store_id = cached_store.state.catalog.store_id
        known = read_stored_identity(context.reader, store_id, identities)
    histories = count_customer_and_read_histories(
        context, cached_store, context.reader, identities, access
    )
    body = _assign_arms_and_build_list_body(
        context, cached_store, list_request, histories, known
    )
    return _add_anchor_and_record_refused_identity(
        context, cached_store, list_request, body, access
    )


async def answer_list(
    context: ProcessContext,
    cached_store: CachedStore,
    list_request: RecommendationRequest,
    access: ShopperHistoryAccess,
) -> bytes:
    """Return the body of a reply; without a shopper it may come from the cache."""
    body = await _read_histories_and_build_list_body(
        context, cached_store, list_request, access
    )
    return _add_anchor_and_record_refused_identity(
        context, cached_store, list_request, body, access
    )


def _add_anchor_and_record_refused_identity(
    context: ProcessContext,
    cached_store: CachedStore,
    list_request: RecommendationRequest,
    body: bytes,
    access: ShopperHistoryAccess,
) -> bytes:
    """Return the reply with the page's product, if requested, and with warnings."""
    body = _with_requested_anchor(body, context, cached_store, list_request)
    return record_and_warn_of_refused_identity(context, cached_store, body, access)


async def _read_histories_and_build_list_body(
    context: ProcessContext,
    cached_store: CachedStore,
    list_request: RecommendationRequest,
    access: ShopperHistoryAccess,
) -> bytes:
    if not list_request.identities:
        return _anonymous_list_body(context, cached_store, list_request)
    identities = list_request.identities
    if not is_list_tested(cached_store, list_request.placement):
        histories = await _try_count_customer_and_read_histories(
            context, cached_store, identities, access
        )
        return _assign_arms_and_build_list_body(
            context, cached_store, list_request, histories, NOBODY
        )
    store_id = cached_store.state.catalog.store_id
    # At the same time, so that the request waits only once for a database that hangs.
    known, histories = await asyncio.gather(
        context.arm_assigner.stored_identity_or_nobody(store_id, identities, context.read),
        _try_count_customer_and_read_histories(context, cached_store, identities, access),
    )
    return _assign_arms_and_build_list_body(
        context, cached_store, list_request, histories, known
    )


def _assign_arms_and_build_list_body(
    context: ProcessContext,
    cached_store: CachedStore,
    list_request: RecommendationRequest,
    histories: UsableHistories,
    known: StoredIdentity,
) -> bytes:
    """Return the body of a shopper's list, by their arms of the store's tests."""
    identities = list_request.identities
    if assign_arm_and_check_held_out(context, cached_store, identities, known):
        return EMPTY_LIST
    placement = None
    test = cached_store.experiments.by_placement.get(list_request.placement)
    if list_request.placement and test is not None:
        store_id = cached_store.state.catalog.store_id
        arm = context.arm_assigner.assign_and_record(
            store_id, test.split, identities, known
        )
        placement = test.placements[arm]
    maker = _make_list_maker(
        context, cached_store, list_request, histories, context.clock(), placement
    )
    return maker.write(maker.pick_and_count())


async def answer_trending(
    context: ProcessContext, cached_store: CachedStore, list_request: TrendingRequest
) -> bytes:
    """Return trending's reply; the shopper's id is used for the holdout only."""
    num, excluded = list_request.num, list_request.excluded
    identities = identities_of(None, list_request.user_id)
    if identities and cached_store.state.settings.holdout_percent:
        store_id = cached_store.state.catalog.store_id
        known = await context.arm_assigner.stored_identity_or_nobody(
            store_id, identities, context.read
        )
        if assign_arm_and_check_held_out(context, cached_store, identities, known):
            return EMPTY_LIST
    now_ms = context.clock()
    if excluded or list_request.filters != NO_FILTERS:
        picks = trending_list(
            cached_store.state, num, now_ms, excluded, list_request.filters
        )
        return recommendations_body(picks, cached_store.state.catalog.cards)
    maker = _ListMaker(
        lambda: trending_list(cached_store.state, num, now_ms),
        lambda picks: recommendations_body(picks, cached_store.state.catalog.cards),
        None,
    )
    # Every sale changes this list, so it is never validated by fingerprint.
    key = (num, cached_store.state.catalog.price_list)
    return _cached_or_computed_body(cached_store, now_ms, key, maker, NoFingerprintSource())


def _with_requested_anchor(
    body: bytes,
    context: ProcessContext,
    cached_store: CachedStore,
    list_request: RecommendationRequest,
) -> bytes:
    """Return the reply with the product of the page, if requested."""
    if not list_request.with_anchor:
        return body
    state = cached_store.state
    anchor = _anchor_number_to_show(state, list_request, context.clock())
    return with_anchor(body, None if anchor is None else state.catalog.cards[anchor])


def _anchor_number_to_show(
    state: StoreState, list_request: RecommendationRequest, now_ms: int
) -> int | None:
    """Return the product of the page, if it is requested and may be shown."""
    if not list_request.with_anchor:
        return None
    item_number = state.catalog.number(list_request.item_id or "")
    page_type = PageType.CART if list_request.basket else PageType.PRODUCT
    eligible = state.eligible_items(now_ms, page_type, list_request.source)
    if item_number is None or not eligible.may_show(item_number):
        return None
    return item_number


def _is_bundle_of_hidden_product(
    state: StoreState, list_request: RecommendationRequest, now_ms: int
) -> bool:
    """Return whether a bundle's list is about a product that may not be shown."""
    is_bundle = list_request.with_anchor and list_request.source is Source.BUY
    is_about_product = is_bundle and bool(list_request.item_id)
    return is_about_product and _anchor_number_to_show(state, list_request, now_ms) is None


class _ListMaker(NamedTuple):
    """How a list is made and written, and the sold-out product that it may be about."""

    pick_and_count: Callable[[], list[Pick]]
    write: Callable[[Sequence[Pick]], bytes]
    sold_out: int | None


def _make_list_maker(
    context: ProcessContext,
    cached_store: CachedStore,
    list_request: RecommendationRequest,
    usable: UsableHistories,
    now_ms: int,
    placement: Placement | None = None,
) -> _ListMaker:
    """Return how the list of a call is made; a placement is resolved here.

    `placement` is the one of a test's arm; without it, the stored one of the call counts.

    Raises:
        UnknownPlacementError: when the store has no such placement.
    """
    state = cached_store.state
    placed_requests, histories = None, usable.for_lists
    main_request: RecommendationRequest | None = list_request
    if list_request.placement:
        placement = placement or cached_store.placements.find(list_request.placement)
        placed_requests = build_placement_requests(
            state, placement, list_request, usable.for_display
        )
        if placement.content.shows_history:
            histories = usable.for_display
        main_request = placed_requests.main
    sold_out = (
        None if main_request is None else sold_out_anchor(state, main_request, now_ms)
    )

    is_without_anchor = _is_bundle_of_hidden_product(state, list_request, now_ms)

    def pick_and_count() -> list[Pick]:
        if placed_requests is None:
            picks = recommend(state, list_request, histories, now_ms)
        else:
            picks = recommend_placement(state, placed_requests, histories, now_ms)
        context.process_metrics.count_list(list_request.source, is_empty=not picks)
        return picks

    def write_body(picks: Sequence[Pick]) -> bytes:
        # Nothing completes the page's product if it is not shown.
        certain = (
            _NOTHING
            if is_without_anchor
            else certain_bundle_companions(state, main_request)
        )
        body = recommendations_body(picks, state.catalog.cards, certain)
        if sold_out is not None and starts_with_replacement(state.catalog, sold_out, picks):
            body = with_sold_out(body)
        if placed_requests is None:
            return body
        offer = (
            None
            if main_request is None
            else bundle_offer_of_list(state, main_request, picks, now_ms)
        )
        return with_placement_and_bundle(body, placed_requests, state, offer)

    return _ListMaker(pick_and_count, write_body, sold_out)


def is_list_tested(cached_store: CachedStore, placement: str) -> bool:
    """Return whether a test decides about the lists of a placement; "" without one."""
    tested = cached_store.experiments.by_placement
    is_in_test = bool(placement) and placement in tested
    return is_in_test or cached_store.state.settings.holdout_percent > 0


def assign_arm_and_check_held_out(
    context: ProcessContext,
    cached_store: CachedStore,
    identities: Sequence[str],
    known: StoredIdentity,
) -> bool:
    """Return whether a shopper is in the arm without lists; the assignment is recorded."""
    settings = cached_store.state.settings
    if not settings.holdout_percent:
        return False
    split = holdout_split(settings.holdout_test, settings.holdout_percent)
    store_id = cached_store.state.catalog.store_id
    arm = context.arm_assigner.assign_and_record(store_id, split, identities, known)
    return arm == HoldoutArm.HELD_OUT


def _anonymous_list_body(
    context: ProcessContext, cached_store: CachedStore, list_request: RecommendationRequest
) -> bytes:
    now_ms, state = context.clock(), cached_store.state
    maker = _make_list_maker(context, cached_store, list_request, NO_HISTORIES, now_ms)
    # Each page has its own list, so caching does not pay.
    if list_request.excluded or list_request.filters != NO_FILTERS:
        return maker.write(maker.pick_and_count())
    request_key = (
        list_request.source.value,
        list_request.num,
        list_request.item_id,
        list_request.basket,
        list_request.with_anchor,
        _is_bundle_of_hidden_product(state, list_request, now_ms),
    )
    key = (*request_key, maker.sold_out, state.catalog.price_list)
    if not list_request.placement:
        return _cached_or_computed_body(
            cached_store,
            now_ms,
            key,
            maker,
            ListFingerprintSource(state, list_request, now_ms),
        )
    # Filters depend on prices and attributes, which no fingerprint covers.
    version = cached_store.placements.seq  # of the bundles too
    placed_key = (*key, list_request.placement, version, state.catalog.version)
    return _cached_or_computed_body(
        cached_store, now_ms, placed_key, maker, NoFingerprintSource()
    )


def _cached_or_computed_body(
    cached_store: CachedStore,
    now_ms: int,
    key: Hashable,
    maker: _ListMaker,
    fingerprints: FingerprintSource,
) -> bytes:
    """Return the cached reply for `key`, or compute and cache it."""
    state = cached_store.state
    inputs = CachedListInputs(
        state.visible(now_ms),
        state.models,
        state.settings,
        state.rules_in_force,
        state.earnings,
    )
    now = time.monotonic()
    body = cached_store.recommendation_cache.get(
        inputs, key, now, maker.write, fingerprints
    )
    if body is None:
        picks = maker.pick_and_count()
        body = maker.write(picks)
        cached_store.recommendation_cache.put(key, picks, body, now, fingerprints)
    return body


async def _try_count_customer_and_read_histories(
    context: ProcessContext,
    cached_store: CachedStore,
    identities: Sequence[str],
    access: ShopperHistoryAccess,
) -> UsableHistories:
    try:
        return await context.read(
            lambda reader: count_customer_and_read_histories(
                context, cached_store, reader, identities, access
            )
        )
    except StorageError:
        return NO_HISTORIES  # without the history, the list is a general one
    except Exception:
        _log.exception("shopper history read failed")
        return NO_HISTORIES


def identities_of(customer_id: str | None, user_id: str | None) -> tuple[str, ...]:
    """Return a call's distinct identities, by precedence."""
    return tuple(
        dict.fromkeys(
            name
            for name in (customer_id, user_id)
            if name and first_control_code_point(name) is None
        )
    )
