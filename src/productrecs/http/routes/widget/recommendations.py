"""Recommendations: GET /v1/recommendations and GET /v1/trending."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from fastapi import Depends, Query, Request, Response

from productrecs.features.assistants.browser_tools import BrowserTool
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.http.openapi_responses import (
    WARNINGS,
    error_responses,
    recommendations_response,
    ref,
)
from productrecs.http.pipeline.fast_query_reader import (
    BLANK_IS_FALSE,
    FastQueryReader,
    as_dependency,
)
from productrecs.http.pipeline.route_context import FastRouteCall
from productrecs.http.pipeline.route_declaration import EITHER, FastReply, Routes
from productrecs.http.routes.widget.browser_assistant_calls import (
    ASSISTANT,
    AssistantQuery,
    count_browser_assistant_call_if_allowed,
)
from productrecs.http.routes.widget.list_parameters import (
    LOOKS_LIKE_FILTER,
    Excluded,
    FilterQuery,
    Num,
    PriceListQuery,
    Shown,
    apply_price_list,
    check_excluded_count,
    find_cached_store_with_price_list,
    parse_filter_parameters,
    refuse_unknown_filters,
    split_item_ids,
    warn_of_unknown_parameters,
)
from productrecs.http.routes.widget.list_replies import (
    TrendingRequest,
    answer_list,
    answer_trending,
    identities_of,
)
from productrecs.http.routes.widget.shopper_history_access import (
    IDENTITY,
    IdentityQuery,
    SessionQuery,
    determine_history_access,
    determine_history_access_of_request,
)
from productrecs.schemas.validation_errors import InvalidInputError, ValidationProblem

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("widget")

_EXTRA_FIELDS: Final[Mapping[str, Any]] = {
    **WARNINGS,
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
    "bundle": {
        "type": "object",
        "title": "RecommendedBundle",
        "required": ["id", "name", "item_ids", "sum", "price"],
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": ["string", "null"]},
            "item_ids": {"type": "array", "items": {"type": "string"}},
            "sum": {"type": ["number", "null"]},
            "discount_percent": {"type": ["number", "null"]},
            "discount_amount": {"type": ["number", "null"]},
            "price": {"type": ["number", "null"]},
        },
        "description": (
            "With a placement of the strategy `bundle`: the bundle whose other parts are "
            "listed. `item_ids` has all its parts in order, `sum` the sum of their prices, "
            "`price` what is left after the discount. The shop itself applies the discount."
        ),
    },
    "placement": {
        "type": "object",
        "title": "PlacementReply",
        "required": ["name", "title", "num", "minimum"],
        "properties": {
            "name": {"type": "string"},
            "title": {"type": ["string", "null"]},
            "num": {"type": "integer"},
            "minimum": {"type": "integer"},
            "test": {"type": "string"},
            "variant": {"type": "string"},
        },
        "description": (
            "With `placement`: its name, the list's title (null without one), how many "
            "products it shows, and the number below which it is hidden. While a test of "
            "it runs, also the test and the shopper's variant."
        ),
    },
}
MAX_ANCHORS: Final = 50


class ListQuery(NamedTuple):
    """What a call for a list asks; its request has `num` 0 if the call names none."""

    request: RecommendationRequest
    shopper_ids: Mapping[str, str]
    price_list: str


def _read_list_query(  # noqa: PLR0913, PLR0917 - one a query parameter
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
    shown: Shown = None,  # noqa: ARG001 - published, so callers may send it
    anchor: Annotated[  # noqa: FBT002 - a query parameter
        bool,
        BLANK_IS_FALSE,
        Query(
            description="Whether the reply includes the product of `item_id`.",
            examples=[True],
        ),
    ] = False,
    filters: FilterQuery = [],  # noqa: B006 - FastAPI copies it
    placement: Annotated[
        str | None,
        Query(
            description=(
                "A placement's name: its strategy, filters and limits make the list. "
                "It takes the place of `source`."
            ),
            examples=["product-page-1"],
        ),
    ] = None,
    session_id: SessionQuery = "",
    identity: IdentityQuery = "",
    price_list: PriceListQuery = "",
) -> ListQuery:
    """Return what the parameters of `GET /v1/recommendations` mean.

    Raises:
        InvalidInputError: when they do not go together.
    """
    list_request = RecommendationRequest(
        source=source,
        num=num or 0,
        item_id=item_id or None,
        basket=split_item_ids(item_ids),
        identities=identities_of(customer_id, user_id),
        excluded=split_item_ids(excluded),
        with_anchor=anchor,
        filters=parse_filter_parameters(filters),
        placement=placement or "",
    )
    _check_basket_and_anchor(list_request, item_ids)
    check_excluded_count(list_request.excluded, excluded)
    shopper_ids = {
        "customer_id": customer_id or "",
        "user_id": user_id or "",
        "session_id": session_id,
        IDENTITY: identity,
    }
    return ListQuery(list_request, shopper_ids, price_list)


_lists: Final = FastQueryReader(_read_list_query)


def parse_list_request(
    query: Mapping[str, str], default_num: int
) -> RecommendationRequest | None:
    """Return the request that a plain query makes; None leaves it to the route."""
    if ASSISTANT in query or not LOOKS_LIKE_FILTER.isdisjoint(query):
        return None
    if query.get("placement") and query.get("source"):
        return None
    list_query = _lists.read(query)
    return (
        None if list_query is None else _with_default_num(list_query.request, default_num)
    )


def _with_default_num(
    list_request: RecommendationRequest, default_num: int
) -> RecommendationRequest:
    """Return the request with the store's number; a placement has a number of its own."""
    if list_request.num or list_request.placement:
        return list_request
    return list_request._replace(num=default_num)


async def _recommend_fast(call: FastRouteCall) -> FastReply | None:
    context, caller, query = call.context, call.caller, call.query
    cached_store = find_cached_store_with_price_list(call)
    if query is None or cached_store is None:
        return None
    list_request = parse_list_request(query, caller.store.settings.rec_num)
    if list_request is None:
        return None
    access = determine_history_access(context, caller, query, call.peer, call.headers)
    return FastReply(await answer_list(context, cached_store, list_request, access))


@routes.get(
    "/v1/recommendations",
    EITHER,
    widget=True,
    empty=b'{"recommendations":[]}',
    fast_handler=_recommend_fast,
    summary="Recommend products for a product page, a cart or a shopper",
    responses=recommendations_response("buy", _EXTRA_FIELDS)
    | error_responses(401, "placement_unknown", 422, 503),
)
async def recommend(
    request: Request,
    query: Annotated[ListQuery, Depends(as_dependency(_read_list_query))],
    assistant: AssistantQuery = False,  # noqa: FBT002 - a query parameter
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
    list_request = query.request
    if list_request.placement and request.query_params.get("source"):
        message = "a placement has its own strategy: leave out source, or placement"
        source = list_request.source
        problem = ValidationProblem(
            ("query", "source"), message, "value_error", input=source
        )
        raise InvalidInputError([problem])
    store = exchange.known_caller.store
    cached_store = await exchange.context.stores.open(store)
    cached_store = apply_price_list(exchange.known_caller, cached_store, query.price_list)
    access = determine_history_access_of_request(request, query.shopper_ids)
    list_request = _with_default_num(list_request, store.settings.rec_num)
    body = await answer_list(exchange.context, cached_store, list_request, access)
    body = warn_of_unknown_parameters(body, _lists, request.query_params)
    if assistant:
        count_browser_assistant_call_if_allowed(exchange, BrowserTool.RECOMMEND)
    return Response(body, media_type="application/json")


class TrendingQuery(NamedTuple):
    """What a call for trending asks; its request has `num` 0 if the call names none."""

    request: TrendingRequest
    price_list: str


def _read_trending_query(
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
    price_list: PriceListQuery = "",
) -> TrendingQuery:
    """Return what the parameters of `GET /v1/trending` mean.

    Raises:
        InvalidInputError: when too many products are excluded, or a filter is invalid.
    """
    excluded_ids = split_item_ids(excluded)
    check_excluded_count(excluded_ids, excluded)
    trending = TrendingRequest(
        num or 0, user_id, excluded_ids, parse_filter_parameters(filters)
    )
    return TrendingQuery(trending, price_list)


_trending: Final = FastQueryReader(_read_trending_query)


def parse_trending_request(
    query: Mapping[str, str], default_num: int
) -> TrendingRequest | None:
    """Return the request that a plain query makes; None leaves it to the route."""
    if not LOOKS_LIKE_FILTER.isdisjoint(query):
        return None
    trending_query = _trending.read(query)
    if trending_query is None or trending_query.request.num:
        return trending_query and trending_query.request
    return trending_query.request._replace(num=default_num)


async def _list_trending_fast(call: FastRouteCall) -> FastReply | None:
    cached_store = find_cached_store_with_price_list(call)
    if call.query is None or cached_store is None:
        return None
    list_request = parse_trending_request(call.query, call.caller.store.settings.rec_num)
    if list_request is None:
        return None
    return FastReply(await answer_trending(call.context, cached_store, list_request))


@routes.get(
    "/v1/trending",
    EITHER,
    widget=True,
    empty=b'{"recommendations":[]}',
    fast_handler=_list_trending_fast,
    summary="List what sells right now, the same for everybody",
    responses=recommendations_response("trending", WARNINGS)
    | error_responses(401, 422, 503),
)
async def trending(
    request: Request,
    query: Annotated[TrendingQuery, Depends(as_dependency(_read_trending_query))],
) -> Response:
    """Return the products that trend by the store's metric and look-back window.

    By orders over 30 days, unless the store's settings say otherwise. It is never
    personal; a shopper in the held-out arm of the store's test gets an empty list.
    """
    exchange: RequestContext = request.scope["productrecs"]
    store = exchange.known_caller.store
    refuse_unknown_filters(request.query_params)
    cached_store = await exchange.context.stores.open(store)
    cached_store = apply_price_list(exchange.known_caller, cached_store, query.price_list)
    list_request = query.request
    if not list_request.num:
        list_request = list_request._replace(num=store.settings.rec_num)
    body = await answer_trending(exchange.context, cached_store, list_request)
    body = warn_of_unknown_parameters(body, _trending, request.query_params)
    return Response(body, media_type="application/json")


def _check_basket_and_anchor(
    list_request: RecommendationRequest, item_ids: str | None
) -> None:
    if len(list_request.basket) > MAX_ANCHORS:
        message = f"a cart may name at most {MAX_ANCHORS} items"
        problem = ValidationProblem(
            ("query", "item_ids"), message, "too_long", input=item_ids
        )
        raise InvalidInputError([problem])
    if list_request.source is Source.SIMILAR and list_request.item_id is None:
        message = "similar needs item_id: the product to find similar products for"
        problem = ValidationProblem(("query", "item_id"), message, "missing", input=None)
        raise InvalidInputError([problem])
