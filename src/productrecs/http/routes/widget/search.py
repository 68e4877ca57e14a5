"""Search: GET /v1/search returns the products that match a query."""

import contextlib
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import quote

from fastapi import Depends, Query, Request, Response

from productrecs.core.errors import StorageError
from productrecs.core.ids import first_control_code_point
from productrecs.engines.text.highlight import Highlighter
from productrecs.engines.text.search_index import QueryRelaxation
from productrecs.features.assistants.browser_tools import BrowserTool
from productrecs.features.recommendations.trending import trending_picks_without_rules
from productrecs.features.search.product_search import (
    SearchableStore,
    SearchRequest,
    find_products,
    truncate_query,
)
from productrecs.features.search.query_filters import FIELDS_OF_PRICES
from productrecs.features.search.results_page import (
    MAX_FILTERED,
    ResultsPage,
    ResultsPageRequest,
    results_page,
)
from productrecs.http.openapi_responses import error_responses, search_response
from productrecs.http.pipeline.fast_query_reader import (
    BLANK_IS_FALSE,
    FastQueryReader,
    as_dependency,
)
from productrecs.http.pipeline.process_metrics import CounterMetric
from productrecs.http.pipeline.route_context import (
    FastRouteCall,
    ProcessContext,
    RequestContext,
)
from productrecs.http.pipeline.route_declaration import EITHER, FastReply, Routes
from productrecs.http.pipeline.search_count_recorder import (
    Searcher,
    searcher_of_scope,
)
from productrecs.http.routes.widget.browser_assistant_calls import (
    ASSISTANT,
    AssistantQuery,
    count_browser_assistant_call_if_allowed,
)
from productrecs.http.routes.widget.faceted_search import (
    EXTRA_PROPERTIES,
    AnsweredQuery,
    CollapseQuery,
    FacetsQuery,
    HighlightQuery,
    OffsetQuery,
    QueryFiltersQuery,
    RefineQuery,
    SortQuery,
    SuggestQuery,
    build_page_request,
    encode_results_page,
    filter_kind,
    filter_kind_asked_for,
    filters_and_redirect_fields,
    highlight_products,
    parse_query_filter_fields,
    redirect_of,
)
from productrecs.http.routes.widget.list_parameters import (
    FilterQuery,
    PriceListQuery,
    apply_price_list,
    find_cached_store_with_price_list,
    warn_of_unknown_parameters,
)
from productrecs.http.routes.widget.shopper_history_access import (
    IDENTITY,
    IdentityQuery,
    ShopperHistoryAccess,
    determine_history_access,
    determine_history_access_of_request,
    record_and_warn_of_refused_identity,
)
from productrecs.records.catalog.catalog_view import Mask
from productrecs.records.catalog.repository import read_descriptions
from productrecs.records.experiments.experiment import CONTROL
from productrecs.records.experiments.exposures.repository import StoredIdentity
from productrecs.serving.cached_store import CachedStore, searchable_store
from productrecs.serving.card_replies import (
    search_body,
    trending_search_body,
    with_search_fields,
)
from productrecs.serving.search_cache import (
    SearchState,
    are_same_inputs,
)
from productrecs.tenancy.accounts.store_settings import StoreSettings

routes = Routes("widget")

MAX_NUM: Final = 50
DEFAULT_NUM: Final = 12

_RELAXED, _REDIRECT = b"x-search-relaxed", b"x-search-redirect"
_VARIANT: Final = b"x-search-variant"

_URL_CHARACTERS: Final = "!#$%&'()*+,/:;=?@[]~"  # that a header keeps as they are

Header = tuple[bytes, bytes]


class SearchQuery(NamedTuple):
    """What a call for a search asks; a request without page options has no page."""

    search: SearchRequest | ResultsPageRequest
    shopper_ids: dict[str, str]
    identity: str
    price_list: str


def _read_search_query(  # noqa: PLR0913, PLR0917 - one a query parameter
    q: Annotated[
        str,
        Query(
            description="The query; cut at 256 characters. Empty: trending products.",
            examples=["tent for two"],
        ),
    ] = "",
    num: Annotated[
        int, Query(ge=1, le=MAX_NUM, description="How many products.", examples=[6])
    ] = DEFAULT_NUM,
    in_stock: Annotated[  # noqa: FBT002 - a query parameter
        bool,
        BLANK_IS_FALSE,
        Query(description="Only products that can be bought.", examples=[True]),
    ] = False,
    filters: FilterQuery = [],  # noqa: B006 - FastAPI copies it
    facets: FacetsQuery = "",
    sort: SortQuery = None,
    offset: OffsetQuery = None,
    highlight: HighlightQuery = False,  # noqa: FBT002 - a query parameter
    suggest: SuggestQuery = 0,
    query_filters: QueryFiltersQuery = "",
    collapse: CollapseQuery = None,
    refine: RefineQuery = False,  # noqa: FBT002 - a query parameter
    answered: AnsweredQuery = "",
    user_id: Annotated[
        str,
        Query(
            description=(
                "The shopper, with the same id as in events: the search report "
                "then knows which searches led to a click."
            ),
            examples=["s_4fQ9xZ"],
        ),
    ] = "",
    customer_id: Annotated[
        str,
        Query(
            description="The customer, if known; takes precedence over `user_id`.",
            examples=["c-7"],
        ),
    ] = "",
    session_id: Annotated[
        str,
        Query(description="The session, if there is no `user_id`.", examples=["s_4fQ9xZ"]),
    ] = "",
    identity: IdentityQuery = "",
    price_list: PriceListQuery = "",
) -> SearchQuery:
    """Return what the parameters of `GET /v1/search` mean.

    Raises:
        InvalidInputError: when a filter is invalid and its pattern cannot express it.
    """
    fields = parse_query_filter_fields(query_filters)
    search = SearchRequest(truncate_query(q), num, in_stock, fields, collapse)
    listing = build_page_request(
        search,
        filters=filters,
        facets=facets,
        sort=sort,
        offset=offset,
        highlight=highlight,
        suggest=suggest,
        refine=refine,
    )
    if listing is not None and answered:
        listing = replace(listing, answered=filter_kind(answered))
    shopper_ids = {"customer_id": customer_id, "user_id": user_id, "session_id": session_id}
    return SearchQuery(listing or search, shopper_ids, identity, price_list)


_searches: Final = FastQueryReader(_read_search_query)


def parse_search_request(
    query: Mapping[str, str],
) -> SearchRequest | ResultsPageRequest | None:
    """Return the request that a plain query makes; None leaves it to the route."""
    search_query = None if ASSISTANT in query else _searches.read(query)
    return None if search_query is None else search_query.search


async def _search_fast(call: FastRouteCall) -> FastReply | None:
    context, caller, query = call.context, call.caller, call.query
    cached_store = find_cached_store_with_price_list(call)
    asked = None if query is None else parse_search_request(query)
    if query is None or cached_store is None or asked is None:
        return None
    searcher = searcher_of_scope(call.scope, query)
    access = determine_history_access(context, caller, query, call.peer, call.headers)
    return await answer_search(context, cached_store, asked, searcher, access)


@routes.get(
    "/v1/search",
    EITHER,
    widget=True,
    empty=b'{"results":[]}',
    sends_timing=True,
    fast_handler=_search_fast,
    summary="Search products, also while the shopper types",
    responses=search_response(EXTRA_PROPERTIES)
    | error_responses(401, 422, 503, "search_rebuilding"),
)
async def search(
    request: Request,
    query: Annotated[SearchQuery, Depends(as_dependency(_read_search_query))],
    assistant: AssistantQuery = False,  # noqa: FBT002 - a query parameter
) -> Response:
    """Return the products that match the query, best first.

    Typing mistakes are corrected, and the last word may be unfinished. A whole SKU,
    GTIN or id answers with its product alone, and `redirect` is the product's page. If no
    word matches, `results` is empty.

    Words that name a price, size, brand, colour or material may filter the results:
    `filters` in the reply says which.

    Optional: filters, facets, sorting, paging, highlights and suggestions; the reply
    has only what was requested.
    """
    exchange: RequestContext = request.scope["productrecs"]
    cached_store = await exchange.context.stores.open(exchange.known_caller.store)
    cached_store = apply_price_list(exchange.known_caller, cached_store, query.price_list)
    searcher = searcher_of_scope(request.scope, query.shopper_ids)
    access = determine_history_access_of_request(
        request, query.shopper_ids | {IDENTITY: query.identity}
    )
    reply = await answer_search(
        exchange.context, cached_store, query.search, searcher, access
    )
    if assistant:
        count_browser_assistant_call_if_allowed(exchange, BrowserTool.SEARCH)
    headers = {name.decode(): value.decode() for name, value in reply.headers}
    body = warn_of_unknown_parameters(reply.body, _searches, request.query_params)
    return Response(body, media_type="application/json", headers=headers)


class SearchTestArm(NamedTuple):
    """What a shopper's arm of the test of search gets; without a test, the settings."""

    settings: StoreSettings
    name: str = ""
    test: str = ""

    @property
    def headers(self) -> tuple[Header, ...]:
        """The header that names the test and the arm."""
        if not self.name:
            return ()
        return ((_VARIANT, f"{self.test}={self.name}".encode()),)


def _is_search_tested(
    cached_store: CachedStore,
    search: SearchRequest | ResultsPageRequest,
    searcher: Searcher,
) -> bool:
    """Return whether a test of search decides about a reply."""
    is_running = cached_store.experiments.search is not None
    return is_running and _is_shopper_id(searcher) and bool(_query_of(search).strip())


def _is_shopper_id(searcher: Searcher) -> bool:
    return isinstance(searcher, str) and first_control_code_point(searcher) is None


def _assign_and_record_search_arm(
    context: ProcessContext, cached_store: CachedStore, shopper: str, known: StoredIdentity
) -> SearchTestArm:
    """Return a shopper's arm of the running test of search, and record the exposure."""
    test, settings = cached_store.experiments.search, cached_store.state.settings
    if test is None:
        return SearchTestArm(settings)
    store_id = cached_store.state.catalog.store_id
    name = context.arm_assigner.assign_and_record(store_id, test.split, (shopper,), known)
    changes: Mapping[str, Any] = test.settings[name]
    return SearchTestArm(
        replace(settings, **changes) if changes else settings, name, test.name
    )


def _find_cached_reply_and_count(
    context: ProcessContext,
    cached_store: CachedStore,
    search: SearchRequest | ResultsPageRequest,
    searcher: Searcher,
    arm: SearchTestArm,
) -> FastReply | None:
    state = _search_state(cached_store, context.clock())
    cached = cached_store.searches.get(
        state, _key_in_store_cache(cached_store, search, arm)
    )
    if cached is None:
        return None
    reply = _unpack_reply_with_arm_headers(cached, arm)
    _count_search_and_question(context, cached_store, search, reply, searcher)
    return reply


def _query_of(search: SearchRequest | ResultsPageRequest) -> str:
    return search.query if isinstance(search, SearchRequest) else search.request.query


async def answer_search(
    context: ProcessContext,
    cached_store: CachedStore,
    search: SearchRequest | ResultsPageRequest,
    searcher: Searcher,
    access: ShopperHistoryAccess,
) -> FastReply:
    """Return the reply to a search, and count it as `searcher`'s.

    Raises:
        QueueFullError: when too many searches wait.
        BrokenIndexError: when the index turns out to be damaged.
    """
    reply = await _find_or_compute_reply_and_count(context, cached_store, search, searcher)
    body = record_and_warn_of_refused_identity(context, cached_store, reply.body, access)
    return reply._replace(body=body)


async def _find_or_compute_reply_and_count(
    context: ProcessContext,
    cached_store: CachedStore,
    search: SearchRequest | ResultsPageRequest,
    searcher: Searcher,
) -> FastReply:
    arm = SearchTestArm(cached_store.state.settings)
    if _is_search_tested(cached_store, search, searcher):
        store_id = cached_store.state.catalog.store_id
        known = await context.arm_assigner.stored_identity_or_nobody(
            store_id, (str(searcher),), context.read
        )
        arm = _assign_and_record_search_arm(context, cached_store, str(searcher), known)
    cached = _find_cached_reply_and_count(context, cached_store, search, searcher, arm)
    if cached is not None:
        return cached
    state = _search_state(cached_store, context.clock())
    searchable = searchable_store(cached_store, arm.settings)
    reply = await _compute_reply(context, cached_store, search, searchable)
    context.process_metrics.add(CounterMetric.SEARCHES)
    context.process_metrics.add(
        CounterMetric.SEARCHES_EMPTY, reply.body.startswith(_EMPTY_BODY)
    )
    _count_search_and_question(context, cached_store, search, reply, searcher)
    _cache_reply_if_unchanged(
        context, cached_store, _key_in_store_cache(cached_store, search, arm), reply, state
    )
    return reply._replace(headers=(*reply.headers, *arm.headers))


async def _compute_reply(
    context: ProcessContext,
    cached_store: CachedStore,
    search: SearchRequest | ResultsPageRequest,
    searchable: SearchableStore,
) -> FastReply:
    now_ms = context.clock()
    if isinstance(search, ResultsPageRequest):
        return await _results_page_reply(context, cached_store, searchable, search, now_ms)
    if not search.query.strip():
        if not searchable.groups_for(search).is_empty:
            page = ResultsPageRequest(search)
            return await _results_page_reply(
                context, cached_store, searchable, page, now_ms
            )
        return FastReply(_trending_body(cached_store, search, now_ms))
    return await context.search_pool.run(
        lambda: _product_search_reply(searchable, search, now_ms)
    )


def _cache_reply_if_unchanged(
    context: ProcessContext,
    cached_store: CachedStore,
    key: Hashable,
    reply: FastReply,
    state_before: SearchState,
) -> None:
    """Cache a reply if nothing has changed since its `state`."""
    # A rule can start or end without a change of the cached state, so replies with rules
    # are not cached.
    if not cached_store.search_rules.rules and are_same_inputs(
        state_before, _search_state(cached_store, context.clock())
    ):
        cached_store.searches.put(state_before, key, _pack_reply(reply))


def _key_in_store_cache(
    cached_store: CachedStore,
    search: SearchRequest | ResultsPageRequest,
    arm: SearchTestArm,
) -> Hashable:
    """Return the key of a reply; the control has that of shoppers without a test."""
    price_list = cached_store.state.catalog.price_list
    variant = "" if arm.name == CONTROL else arm.name
    return (price_list, variant, search) if price_list or variant else search


def _count_search_and_question(
    context: ProcessContext,
    cached_store: CachedStore,
    search: SearchRequest | ResultsPageRequest,
    reply: FastReply,
    searcher: Searcher,
) -> None:
    """Count a search for words; further pages of one are not another."""
    query = search.query if isinstance(search, SearchRequest) else search.first_query
    if query and not query.isspace():
        is_redirect = any(name == _REDIRECT for name, _ in reply.headers)
        is_empty = reply.body.startswith(_EMPTY_BODY) and not is_redirect
        store_id = cached_store.state.catalog.store_id
        context.searches.count_search_unless_bot(
            store_id, query, searcher, is_empty=is_empty
        )
        if isinstance(search, ResultsPageRequest):
            asked = filter_kind_asked_for(reply.body) if search.refine else ""
            context.searches.count_question_unless_bot(
                store_id,
                query,
                searcher,
                asked,
                search.filters.attribute_and_category_kinds,
                search.answered,
            )


_EMPTY_BODY: Final = search_body((), ())[:-1]


async def _results_page_reply(
    context: ProcessContext,
    cached_store: CachedStore,
    searchable: SearchableStore,
    listing: ResultsPageRequest,
    now_ms: int,
) -> FastReply:
    """Return the reply to a search with page options."""
    store_id = searchable.catalog.store_id

    def trending_items_without_rules(visible: Mask) -> Iterator[int]:
        return (
            pick.item
            for pick in trending_picks_without_rules(
                cached_store.state, visible, MAX_FILTERED
            )
        )

    page = await context.search_pool.run(
        lambda: results_page(searchable, listing, now_ms, trending_items_without_rules)
    )
    descriptions: dict[int, str] = {}
    if listing.highlight:
        item_numbers = [hit.item for hit in page.hits]
        with contextlib.suppress(StorageError):  # titles are in memory
            descriptions = await context.read(
                lambda reader: read_descriptions(reader, store_id, item_numbers)
            )
    body = await context.search_pool.run(
        lambda: _highlight_and_encode_page(searchable, listing, page, descriptions)
    )
    return FastReply(
        body, _relaxation_and_redirect_headers(page.relaxed, redirect_of(searchable, page))
    )


def _highlight_and_encode_page(
    searchable: SearchableStore,
    listing: ResultsPageRequest,
    page: ResultsPage,
    descriptions: Mapping[int, str],
) -> bytes:
    if not listing.highlight:
        return encode_results_page(searchable, listing, page, None)
    synonyms = searchable.search_rules.synonyms_in(searchable.index.language)
    query_without_prices = listing.request.query
    for word_filter in page.filters:
        if word_filter.field in FIELDS_OF_PRICES:
            query_without_prices = query_without_prices.replace(word_filter.text, " ")
    terms = searchable.index.interpret(
        searchable.index.analyse(query_without_prices), synonyms
    )
    marker = Highlighter.for_terms(terms, searchable.index.language)
    return encode_results_page(
        searchable,
        listing,
        page,
        highlight_products(searchable, page, marker, descriptions),
    )


def _pack_reply(reply: FastReply) -> bytes:
    """Return a reply as bytes for the cache; no header has a line break."""
    lines = [b"%b=%b" % header for header in reply.headers]
    return b"\r".join(lines) + b"\n" + reply.body


def _unpack_reply_with_arm_headers(packed: bytes, arm: SearchTestArm) -> FastReply:
    lines, _, body = packed.partition(b"\n")
    names_and_values = [line.partition(b"=") for line in lines.split(b"\r") if lines]
    headers = [(name, value) for name, _, value in names_and_values]
    return FastReply(body, (*headers, *arm.headers))


def _product_search_reply(
    searchable: SearchableStore, search: SearchRequest, now_ms: int
) -> FastReply:
    results = find_products(searchable, search, now_ms)
    body = search_body(results.hits, searchable.catalog.cards)
    body = with_search_fields(body, filters_and_redirect_fields(searchable, results))
    return FastReply(
        body,
        _relaxation_and_redirect_headers(results.relaxed, redirect_of(searchable, results)),
    )


def _relaxation_and_redirect_headers(
    relaxed: QueryRelaxation, address: str | None
) -> list[Header]:
    headers: list[Header] = []
    if relaxed is not QueryRelaxation.NOTHING:
        headers.append((_RELAXED, relaxed.value.encode()))
    if address is not None:
        headers.append((_REDIRECT, quote(address, safe=_URL_CHARACTERS).encode()))
    return headers


def _trending_body(cached_store: CachedStore, search: SearchRequest, now_ms: int) -> bytes:
    visible = searchable_store(cached_store).visible(now_ms, in_stock=search.in_stock)
    return trending_search_body(
        trending_picks_without_rules(cached_store.state, visible, search.num),
        cached_store.state.catalog.cards,
    )


def _search_state(cached_store: CachedStore, now_ms: int) -> SearchState:
    state = cached_store.state
    shown = state.catalog.visible(now_ms, hide_sold_out=False)
    buyable = state.catalog.visible(now_ms, hide_sold_out=True)
    version, rules = cached_store.index.version, cached_store.search_rules
    return (
        shown,
        buyable,
        state.models,
        state.settings,
        version,
        rules,
        state.rules_in_force,
    )
