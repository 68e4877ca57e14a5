"""List replies: the bodies of recommendations and trending, cached where they may be."""

import asyncio
import logging
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Final, NamedTuple

from productrecs.core.errors import StorageError
from productrecs.entrypoints.http.caches.recommendation_cache import (
    FingerprintSource,
    ListFingerprint,
    ListInputs,
    NoFingerprint,
)
from productrecs.entrypoints.http.caches.store_cache import CachedStore
from productrecs.entrypoints.http.pipeline.route_context import Context
from productrecs.entrypoints.http.schemas.product_cards import (
    recommendations_body,
    with_anchor,
    with_placement,
    with_sold_out,
)
from productrecs.features.recommendations.pins_and_exploration import exploration_day
from productrecs.features.recommendations.placements import (
    place_requests,
    recommend_placement,
)
from productrecs.features.recommendations.recipes import PageType
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.request import Pick, RecommendationRequest
from productrecs.features.recommendations.sold_out import (
    leads_with_replacement,
    sold_out_anchor,
)
from productrecs.features.recommendations.trending import trending_list
from productrecs.records.catalog.item_filters import NO_FILTERS, Filters
from productrecs.records.experiments.holdouts_and_explorations import HoldoutTest
from productrecs.records.orders.shopper_history import ShopperHistory

_log = logging.getLogger(__name__)

EMPTY_LIST: Final = recommendations_body((), ())


class TrendingRequest(NamedTuple):
    """One call for what trends."""

    num: int
    user_id: str | None = None
    excluded: tuple[str, ...] = ()
    filters: Filters = NO_FILTERS


def answer_immediately(
    context: Context, opened: CachedStore, wanted: RecommendationRequest
) -> bytes | None:
    """Return the body of a reply that need not be waited for; None for any other.

    Raises:
        StorageError: when the database could not answer.
    """
    if not wanted.identities:
        return _with_anchor(_for_anybody(context, opened, wanted), context, opened, wanted)
    if context.reading is not None or opened.shop.settings.holdout_percent:
        return None
    histories = [opened.histories.of(name, context.reader) for name in wanted.identities]
    body = _personal(context, opened, wanted, histories)
    return _with_anchor(body, context, opened, wanted)


async def answer_list(
    context: Context, opened: CachedStore, wanted: RecommendationRequest
) -> bytes:
    """Return the body of a reply; one that names no shopper may be a moment old."""
    body = await _list(context, opened, wanted)
    return _with_anchor(body, context, opened, wanted)


async def _list(
    context: Context, opened: CachedStore, wanted: RecommendationRequest
) -> bytes:
    if not wanted.identities:
        return _for_anybody(context, opened, wanted)
    if not opened.shop.settings.holdout_percent:
        histories = await _histories(context, opened, wanted.identities)
        return _personal(context, opened, wanted, histories)
    # Together, so that a database that hangs is waited for once.
    held_out, histories = await asyncio.gather(
        is_held_out(context, opened, wanted.identities),
        _histories(context, opened, wanted.identities),
    )
    return EMPTY_LIST if held_out else _personal(context, opened, wanted, histories)


async def answer_trending(
    context: Context, opened: CachedStore, wanted: TrendingRequest
) -> bytes:
    """Return trending's reply; the shopper's id is used for the holdout only."""
    num, excluded = wanted.num, wanted.excluded
    identities = identities_of(None, wanted.user_id)
    if (
        identities
        and opened.shop.settings.holdout_percent
        and await is_held_out(context, opened, identities)
    ):
        return EMPTY_LIST
    now_ms = context.clock()
    if excluded or wanted.filters != NO_FILTERS:
        picks = trending_list(opened.shop, num, now_ms, excluded, wanted.filters)
        return recommendations_body(picks, opened.shop.catalog.cards)
    making = _Making(
        lambda: trending_list(opened.shop, num, now_ms),
        lambda picks: recommendations_body(picks, opened.shop.catalog.cards),
        None,
    )
    # All that sells moves this list, so it has no fingerprint.
    return _kept_or(opened, now_ms, num, making, NoFingerprint())


def _with_anchor(
    body: bytes, context: Context, opened: CachedStore, wanted: RecommendationRequest
) -> bytes:
    """Return the reply with the product of the page, if requested."""
    if not wanted.with_anchor:
        return body
    shop = opened.shop
    number = shop.catalog.number(wanted.item_id or "")
    page_type = PageType.CART if wanted.basket else PageType.PRODUCT
    eligible = shop.eligible(context.clock(), page_type, wanted.source)
    if number is None or not eligible.shows(number):
        return with_anchor(body, None)
    return with_anchor(body, shop.catalog.cards[number])


def _personal(
    context: Context,
    opened: CachedStore,
    wanted: RecommendationRequest,
    histories: Sequence[ShopperHistory],
) -> bytes:
    making = _making(context, opened, wanted, histories, context.clock())
    return making.write(making.pick())


class _Making(NamedTuple):
    """How a list is made and written, and the sold-out product that it may be about."""

    pick: Callable[[], list[Pick]]
    write: Callable[[Sequence[Pick]], bytes]
    sold_out: int | None


def _making(
    context: Context,
    opened: CachedStore,
    wanted: RecommendationRequest,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> _Making:
    """Return how the list of a call is made; a placement is resolved here.

    Raises:
        UnknownPlacementError: when the store has no such placement.
    """
    shop, note = opened.shop, context.write_client.write_later
    placed = None
    main: RecommendationRequest | None = wanted
    if wanted.placement:
        placement = opened.placements.find(wanted.placement)
        placed = place_requests(shop, placement, wanted, histories)
        main = placed.main
    sold_out = None if main is None else sold_out_anchor(shop, main, now_ms)

    def pick() -> list[Pick]:
        if placed is None:
            picks = recommend(shop, wanted, histories, now_ms, note)
        else:
            picks = recommend_placement(shop, placed, histories, now_ms, note)
        context.request_metrics.listed(wanted.source, is_empty=not picks)
        return picks

    def write(picks: Sequence[Pick]) -> bytes:
        body = recommendations_body(picks, shop.catalog.cards)
        if sold_out is not None and leads_with_replacement(shop.catalog, sold_out, picks):
            body = with_sold_out(body)
        return body if placed is None else with_placement(body, placed, shop)

    return _Making(pick, write, sold_out)


async def is_held_out(
    context: Context, opened: CachedStore, identities: Sequence[str]
) -> bool:
    """Return whether a shopper is in the arm of the holdout test without lists."""
    settings = opened.shop.settings
    return await context.holdout_assigner.is_held_out(
        opened.shop.catalog.store_id,
        HoldoutTest(settings.holdout_test, settings.holdout_percent),
        identities,
        context.read,
    )


def _for_anybody(
    context: Context, opened: CachedStore, wanted: RecommendationRequest
) -> bytes:
    now_ms, shop = context.clock(), opened.shop
    making = _making(context, opened, wanted, (), now_ms)
    # As many lists as there are pages: not worth their place.
    if wanted.excluded or wanted.filters != NO_FILTERS:
        return making.write(making.pick())
    asked = wanted.source.value, wanted.num, wanted.shown, wanted.item_id, wanted.basket
    key = (*asked, exploration_day(shop, now_ms), making.sold_out)
    if not wanted.placement:
        return _kept_or(opened, now_ms, key, making, ListFingerprint(shop, wanted, now_ms))
    # Filters depend on prices and attributes, which no fingerprint covers.
    version = opened.placements.find(wanted.placement).version
    placed_key = (*key, wanted.placement, version, shop.catalog.version)
    return _kept_or(opened, now_ms, placed_key, making, NoFingerprint())


def _kept_or(
    opened: CachedStore,
    now_ms: int,
    key: Hashable,
    making: _Making,
    rests_on: FingerprintSource,
) -> bytes:
    """Return the cached reply for `key`, or compute and cache it."""
    shop = opened.shop
    moment = ListInputs(
        shop.visible(now_ms), shop.models, shop.settings, shop.book, shop.earnings
    )
    now = time.monotonic()
    body = opened.recommendation_cache.get(moment, key, now, making.write, rests_on)
    if body is None:
        picks = making.pick()
        body = making.write(picks)
        opened.recommendation_cache.put(key, picks, body, now, rests_on)
    return body


async def _histories(
    context: Context, opened: CachedStore, identities: Sequence[str]
) -> list[ShopperHistory]:
    try:
        return await context.read(
            lambda reader: [opened.histories.of(name, reader) for name in identities]
        )
    except StorageError:
        return []  # a list that knows less beats none
    except Exception:
        _log.exception("shopper history read failed")
        return []


def identities_of(customer_id: str | None, user_id: str | None) -> tuple[str, ...]:
    """Return a call's distinct identities, by precedence."""
    named = (name for name in (customer_id, user_id) if name and "\0" not in name)
    return tuple(dict.fromkeys(named))
