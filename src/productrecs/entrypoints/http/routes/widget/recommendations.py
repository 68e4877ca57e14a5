"""Recommendations: GET /v1/recommendations and GET /v1/trending."""

import asyncio
import logging
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, Query, Request, Response
from pydantic import BeforeValidator

from productrecs.core.errors import StorageError
from productrecs.entrypoints.http.caches.recommendation_cache import (
    FingerprintSource,
    ListFingerprint,
    ListInputs,
    NoFingerprint,
)
from productrecs.entrypoints.http.caches.store_cache import CachedStore
from productrecs.entrypoints.http.openapi.responses import (
    error_responses,
    recommendations_response,
    ref,
)
from productrecs.entrypoints.http.pipeline.route_context import Context, RequestContext
from productrecs.entrypoints.http.routes.widget.list_parameters import (
    LOOKS_LIKE_FILTER,
    MAX_EXCLUDED,
    MAX_NUM,
    Excluded,
    FilterQuery,
    Num,
    Shown,
    check_excluded,
    listed_ids,
    read_filters,
    refuse_unknown_filters,
)
from productrecs.entrypoints.http.schemas.product_cards import (
    recommendations_body,
    with_anchor,
    with_sold_out,
)
from productrecs.entrypoints.http.schemas.validation_errors import BodyError, Problem
from productrecs.features.recommendations.pins_and_exploration import exploration_day
from productrecs.features.recommendations.recipes import PageType
from productrecs.features.recommendations.recommend import (
    recommend,
)
from productrecs.features.recommendations.request import (
    Pick,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.features.recommendations.sold_out import (
    leads_with_replacement,
    sold_out_anchor,
)
from productrecs.features.recommendations.trending import trending_list
from productrecs.records.catalog.item_filters import NO_FILTERS, Filters
from productrecs.records.experiments.holdouts_and_explorations import HoldoutTest
from productrecs.records.orders.shopper_history import ShopperHistory

_log = logging.getLogger(__name__)

router = APIRouter(tags=["widget"])

_BESIDE: Final[Mapping[str, Any]] = {
    "anchor": {
        "anyOf": [ref("Product"), {"type": "null"}],
        "description": (
            "With `anchor=true`: the product of `item_id`; null if it may not be shown."
        ),
    },
    "sold_out": {
        "type": "boolean",
        "description": (
            "True where the product of `item_id` cannot be bought and products that can "
            "replace it lead the list. Otherwise absent."
        ),
    },
}
EMPTY_LIST: Final = recommendations_body((), ())
MAX_ANCHORS: Final = 50
_SOURCES: Final[Mapping[str, Source]] = {source.value: source for source in Source}
_NUMS: Final = {str(num): num for num in range(1, MAX_NUM + 1)}
_FILTERING: Final = LOOKS_LIKE_FILTER | {"filter"}
"""Parameters that the fast path leaves to the declared route."""
_SWITCHES: Final = {"true": True, "1": True, "false": False, "0": False, "": False}


def _absent_if_blank(value: object) -> object:
    return False if value == "" else value


@router.get(
    "/v1/recommendations",
    operation_id="recommend",
    summary="Recommend products for a product page, a cart or a shopper",
    responses=recommendations_response("buy", _BESIDE) | error_responses(401, 422, 503),
    response_class=Response,
)
async def declared_recommendations(  # noqa: PLR0913, PLR0917 - one a query parameter
    request: Request,
    num: Num = None,
    source: Annotated[
        Source,
        Query(description="The engines to use; `buy` is never padded.", examples=["mix"]),
    ] = Source.MIX,
    item_id: Annotated[
        str | None, Query(description="The item of the product page.", examples=["tent"])
    ] = None,
    item_ids: Annotated[
        str | None,
        Query(
            description="The items in the cart, comma-separated, up to 50.",
            examples=["tent,rope"],
        ),
    ] = None,
    user_id: Annotated[
        str | None, Query(description="The shopper's id.", examples=["s_4fQ9xZ"])
    ] = None,
    customer_id: Annotated[
        str | None,
        Query(
            description=("The customer id; it takes precedence over the others."),
            examples=["c-7"],
        ),
    ] = None,
    excluded: Excluded = None,
    shown: Shown = None,
    anchor: Annotated[  # noqa: FBT002 - a query parameter
        bool,
        BeforeValidator(_absent_if_blank),
        Query(
            description="Whether the reply includes the product of `item_id`.",
            examples=[True],
        ),
    ] = False,
    filters: FilterQuery = [],  # noqa: B006 - FastAPI copies it
) -> Response:
    """Return products for the request, each with the `source` that suggested it.

    `item_id` is the page's product, `item_ids` the cart's; with neither the list is
    based on the shopper, and without a shopper on what sells. `buy` returns only
    products that were bought together, `browse` uses the shopper's own history,
    `similar` needs `item_id`. With `anchor=true` the reply also has the page's own
    product, as `anchor`; null if it may not be shown.
    """
    exchange: RequestContext = request.scope["productrecs"]
    refuse_unknown_filters(request.query_params)
    wanted = RecommendationRequest(
        source=source,
        num=num or exchange.known_caller.store.settings.rec_num,
        item_id=item_id or None,
        basket=listed_ids(item_ids),
        identities=_identities(customer_id, user_id),
        excluded=listed_ids(excluded),
        shown=shown,
        with_anchor=anchor,
        filters=read_filters(filters),
    )
    _check(wanted, item_ids)
    check_excluded(wanted.excluded, excluded)
    opened = await exchange.context.shops.open(exchange.known_caller.store)
    body = await answer_list(exchange.context, opened, wanted)
    return Response(body, media_type="application/json")


@router.get(
    "/v1/trending",
    operation_id="trending",
    summary="List what sells right now, the same for everybody",
    responses=recommendations_response("trending") | error_responses(401, 422, 503),
    response_class=Response,
)
async def declared_trending(
    request: Request,
    num: Num = None,
    user_id: Annotated[
        str | None,
        Query(
            description=("The session id, used only for the holdout test."),
            examples=["s_4fQ9xZ"],
        ),
    ] = None,
    excluded: Excluded = None,
    filters: FilterQuery = [],  # noqa: B006 - FastAPI copies it
) -> Response:
    """Return the products that trend by the store's metric and look-back window.

    By orders over 30 days, unless the store's settings say otherwise. It is never
    personal; a shopper in the held-out arm of the store's test gets an empty list.
    """
    exchange: RequestContext = request.scope["productrecs"]
    store = exchange.known_caller.store
    refuse_unknown_filters(request.query_params)
    left_out = listed_ids(excluded)
    check_excluded(left_out, excluded)
    opened = await exchange.context.shops.open(store)
    wanted = TrendingRequest(
        num or store.settings.rec_num, user_id, left_out, read_filters(filters)
    )
    body = await answer_trending(exchange.context, opened, wanted)
    return Response(body, media_type="application/json")


def parse_list_request(
    query: Mapping[str, str], default_num: int
) -> RecommendationRequest | None:
    """Return the request that well-formed parameters make; None leaves it to the route."""
    if not _FILTERING.isdisjoint(query):
        return None
    source = _SOURCES.get(query.get("source", "mix"))
    num = _NUMS.get(query["num"]) if "num" in query else default_num
    shown = _NUMS.get(query["shown"], 0) if "shown" in query else None
    basket, excluded = listed_ids(query.get("item_ids")), listed_ids(query.get("exclude"))
    anchor = _SWITCHES.get(query.get("anchor", ""))
    item_id = query.get("item_id") or None
    is_too_long = len(basket) > MAX_ANCHORS or len(excluded) > MAX_EXCLUDED
    if source is None or num is None or shown == 0 or anchor is None or is_too_long:
        return None
    if source is Source.SIMILAR and item_id is None:
        return None
    identities = _identities(query.get("customer_id"), query.get("user_id"))
    return RecommendationRequest(
        source, num, item_id, basket, identities, excluded, shown, anchor
    )


class TrendingRequest(NamedTuple):
    """One call for what trends."""

    num: int
    user_id: str | None = None
    excluded: tuple[str, ...] = ()
    filters: Filters = NO_FILTERS


def parse_trending_request(
    query: Mapping[str, str], default_num: int
) -> TrendingRequest | None:
    """Return the request that well-formed parameters make; None leaves it to the route."""
    num = _NUMS.get(query["num"]) if "num" in query else default_num
    excluded = listed_ids(query.get("exclude"))
    is_filtered = not _FILTERING.isdisjoint(query)
    if is_filtered or num is None or len(excluded) > MAX_EXCLUDED:
        return None
    return TrendingRequest(num, query.get("user_id"), excluded)


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
        _is_held_out(context, opened, wanted.identities),
        _histories(context, opened, wanted.identities),
    )
    return EMPTY_LIST if held_out else _personal(context, opened, wanted, histories)


async def answer_trending(
    context: Context, opened: CachedStore, wanted: TrendingRequest
) -> bytes:
    """Return trending's reply; the shopper's id is used for the holdout only."""
    num, excluded = wanted.num, wanted.excluded
    identities = _identities(None, wanted.user_id)
    if (
        identities
        and opened.shop.settings.holdout_percent
        and await _is_held_out(context, opened, identities)
    ):
        return EMPTY_LIST
    now_ms = context.clock()
    if excluded or wanted.filters != NO_FILTERS:
        picks = trending_list(opened.shop, num, now_ms, excluded, wanted.filters)
        return recommendations_body(picks, opened.shop.catalog.cards)
    no_fingerprint = NoFingerprint()  # all that sells moves this list
    return _kept_or(
        opened, now_ms, num, lambda: trending_list(opened.shop, num, now_ms), no_fingerprint
    )


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
    now_ms = context.clock()
    picks = _picked(context, opened, wanted, histories, now_ms)
    return _written(opened.shop, picks, sold_out_anchor(opened.shop, wanted, now_ms))


async def _is_held_out(
    context: Context, opened: CachedStore, identities: Sequence[str]
) -> bool:
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
    sold_out = sold_out_anchor(shop, wanted, now_ms)
    # As many lists as there are pages: not worth their place.
    if wanted.excluded or wanted.filters != NO_FILTERS:
        picks = _picked(context, opened, wanted, (), now_ms)
        return _written(shop, picks, sold_out)
    day = exploration_day(shop, now_ms)
    asked = wanted.source.value, wanted.num, wanted.shown, wanted.item_id, wanted.basket
    key = (*asked, day, sold_out)
    return _kept_or(
        opened,
        now_ms,
        key,
        lambda: _picked(context, opened, wanted, (), now_ms),
        ListFingerprint(shop, wanted, now_ms),
        sold_out,
    )


def _kept_or(
    opened: CachedStore,
    now_ms: int,
    key: Hashable,
    make: Callable[[], list[Pick]],
    rests_on: FingerprintSource,
    sold_out: int | None = None,
) -> bytes:
    """Return the cached reply for `key`, or compute and cache it."""
    shop = opened.shop
    moment = ListInputs(shop.visible(now_ms), shop.models, shop.settings, shop.book)
    now = time.monotonic()

    def write(picks: Sequence[Pick]) -> bytes:
        return _written(shop, picks, sold_out)

    body = opened.recommendation_cache.get(moment, key, now, write, rests_on)
    if body is None:
        picks = make()
        body = write(picks)
        opened.recommendation_cache.put(key, picks, body, now, rests_on)
    return body


def _written(shop: StoreState, picks: Sequence[Pick], sold_out: int | None) -> bytes:
    """Return the reply, marked if it starts with replacements of a sold-out product."""
    body = recommendations_body(picks, shop.catalog.cards)
    if sold_out is None or not leads_with_replacement(shop.catalog, sold_out, picks):
        return body
    return with_sold_out(body)


def _picked(
    context: Context,
    opened: CachedStore,
    wanted: RecommendationRequest,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> list[Pick]:
    note = context.write_client.write_later
    picks = recommend(opened.shop, wanted, histories, now_ms, note)
    context.request_metrics.listed(wanted.source, is_empty=not picks)
    return picks


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


def _identities(customer_id: str | None, user_id: str | None) -> tuple[str, ...]:
    named = (name for name in (customer_id, user_id) if name and "\0" not in name)
    return tuple(dict.fromkeys(named))


def _check(wanted: RecommendationRequest, item_ids: str | None) -> None:
    if len(wanted.basket) > MAX_ANCHORS:
        message = f"a cart may name at most {MAX_ANCHORS} items"
        problem = Problem(("query", "item_ids"), message, "too_long", input=item_ids)
        raise BodyError([problem])
    if wanted.source is Source.SIMILAR and wanted.item_id is None:
        message = "similar needs item_id: the product to find similar products for"
        problem = Problem(("query", "item_id"), message, "missing", input=None)
        raise BodyError([problem])
