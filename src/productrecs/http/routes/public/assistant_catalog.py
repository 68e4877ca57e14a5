"""Assistant catalog: /ucp/... is what shopping assistants call.

It speaks the Universal Commerce Protocol. A store has an address for each version of the
protocol; its profile names them. Whoever may see the shop may call: the replies have what
pages show.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

import msgspec
from fastapi import Path, Request, Response

from productrecs.features.assistants.attributed_assistant_searches import (
    searches_to_count_by_attribution,
)
from productrecs.features.assistants.catalog_calls import (
    UNNAMED_AGENT,
    CatalogCall,
    CatalogLookupCall,
    CatalogProductCall,
    CatalogSearchCall,
    InvalidCatalogCallError,
    agent_of_header,
    parse_catalog_call,
)
from productrecs.features.assistants.related_products_extension import (
    SCHEMA_PATH,
    extension_name,
    extension_schema,
)
from productrecs.features.assistants.repository import AssistantCall
from productrecs.features.assistants.ucp_profile import (
    CatalogOperation,
    UcpVersion,
    UnknownAssistantCatalogError,
    build_ucp_profile,
    failure_reply,
    ucp_reply_member,
)
from productrecs.http.limits.usage_metering import billing_headers
from productrecs.http.openapi_responses import (
    Responses,
    error_responses,
    json_content,
    object_schema,
    success_response,
)
from productrecs.http.pipeline.error_responses import ERROR_FIELDS
from productrecs.http.pipeline.etag_responses import etag_of, matches_etag
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.route_declaration import NONE, Routes
from productrecs.http.pipeline.search_count_recorder import searcher_of_scope
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_for_reply
from productrecs.http.routes.public.widget_scripts import Domain, find_store_with_setting
from productrecs.http.routes.widget.looks import look_image_url
from productrecs.http.transport.request_body import read_body
from productrecs.records.pictures.decode_picture import UnreadablePictureError
from productrecs.schemas.photos import PHOTO_LIMIT, parse_photo_data
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import InvalidInputError
from productrecs.serving.assistant_catalog import AssistantCatalog

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext
    from productrecs.tenancy.accounts.store import Store

routes = Routes("public")

_PROFILE_CACHE: Final = "public, max-age=300"
_CALLS: Final[Mapping[CatalogOperation, type[CatalogCall]]] = {
    CatalogOperation.SEARCH: CatalogSearchCall,
    CatalogOperation.LOOKUP: CatalogLookupCall,
    CatalogOperation.PRODUCT: CatalogProductCall,
}
_encode: Final = msgspec.json.Encoder().encode
_PRICE: Final = {"amount": 19900, "currency": "EUR"}
_PRODUCT: Final = {
    "id": "tent",
    "title": "Tent for two",
    "description": {"plain": "Stands in three minutes."},
    "price_range": {"min": _PRICE, "max": _PRICE},
    "variants": [
        {
            "id": "tent",
            "title": "Tent for two",
            "description": {"plain": "Stands in three minutes."},
            "price": _PRICE,
            "availability": {"available": True, "status": "in_stock"},
        }
    ],
}
_ENVELOPE: Final = ucp_reply_member(UcpVersion.AUGUST_2026, CatalogOperation.SEARCH)

_UCP_OBJECT: Final = object_schema(ucp={})
Version = Annotated[
    str,
    Path(
        description="The version of the protocol: `2026-08-25` or `2026-04-08`.",
        examples=["2026-08-25"],
    ),
]


def request_body_description(example: object, required: str = "") -> dict[str, Any]:
    """Return the description of a call's body."""
    schema: dict[str, Any] = {"type": "object"}
    if required:
        schema |= {"required": [required], "properties": {required: {}}}
    content = json_content(schema, example)
    return {"requestBody": {"required": True, "content": content}}


def _response_descriptions(example: object) -> Responses:
    codes = ("assistant_catalog_unknown", "catalog_call_invalid", "request_too_large")
    errors = error_responses(*codes, 413, 415, 503, "search_rebuilding")
    return success_response("The reply of the protocol.", _UCP_OBJECT, example) | errors


_PROFILE_REPLY: Final[Responses] = {
    **success_response("The profile.", _UCP_OBJECT, {"ucp": {"version": "2026-08-25"}}),
    304: {"description": "The profile is the one that If-None-Match names."},
    **error_responses("assistant_catalog_unknown"),
}


@routes.get(
    "/ucp/{store_domain}/.well-known/ucp",
    NONE,
    summary="Return the store's profile for shopping assistants",
    responses=_PROFILE_REPLY,
)
async def assistant_profile(request: Request, store_domain: Domain) -> Response:
    """Return the profile in the newest version, which names the older ones.

    The shop serves it at `/.well-known/ucp` of its own domain.
    """
    return await _profile_reply(request, store_domain, None)


@routes.get(
    "/ucp/{store_domain}/{version}/.well-known/ucp",
    NONE,
    summary="Return the store's profile for shopping assistants in one version",
    responses=_PROFILE_REPLY,
)
async def assistant_profile_of_version(
    request: Request, store_domain: Domain, version: Version
) -> Response:
    """Return the profile that describes exactly one version of the protocol."""
    return await _profile_reply(request, store_domain, version)


async def _profile_reply(request: Request, domain: str, version: str | None) -> Response:
    exchange: RequestContext = request.scope["productrecs"]
    store = await find_store_open_to_assistants(exchange, domain)
    known = None if version is None else parse_ucp_version(version)
    body = _encode(build_ucp_profile(base_url_for_reply(request), store.domain, known))
    tag = etag_of(body)
    headers = {"etag": tag, "cache-control": _PROFILE_CACHE}
    if matches_etag(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


@routes.get(
    SCHEMA_PATH,
    NONE,
    operation_id="assistant_related_products_schema",
    summary="Return the schema of searches for related products",
    responses=success_response(
        "A JSON Schema.", {"type": "object"}, {"version": "2026-11-29"}
    ),
)
async def related_products_schema(request: Request) -> Response:
    """Return the schema of this service's own extension of the catalog search.

    The profile of a store names it where this service has a domain and HTTPS.
    """
    headers = {"cache-control": _PROFILE_CACHE}
    return json_reply(extension_schema(base_url_for_reply(request)), headers=headers)


@routes.post(
    "/ucp/{store_domain}/{version}/catalog/search",
    NONE,
    summary="Search products for a shopping assistant",
    responses=_response_descriptions({"ucp": _ENVELOPE, "products": [_PRODUCT]}),
    openapi_extra=request_body_description({"query": "tent for two"}),
)
async def assistant_search(
    request: Request, store_domain: Domain, version: Version
) -> Response:
    """Return the products that match a query, filters or both, ten a page.

    Typing mistakes are corrected; `context.intent` moves products of that meaning up.
    In place of `query`, `like`, `complements` or `looks` asks for related products.
    """
    return await _answer_rest_call(request, store_domain, version, CatalogOperation.SEARCH)


@routes.post(
    "/ucp/{store_domain}/{version}/catalog/lookup",
    NONE,
    summary="Return products by ids for a shopping assistant",
    responses=_response_descriptions({"ucp": _ENVELOPE, "products": [_PRODUCT]}),
    openapi_extra=request_body_description({"ids": ["tent"]}, "ids"),
)
async def assistant_lookup(
    request: Request, store_domain: Domain, version: Version
) -> Response:
    """Return the products of up to 50 ids of products and variants, each once."""
    return await _answer_rest_call(request, store_domain, version, CatalogOperation.LOOKUP)


@routes.post(
    "/ucp/{store_domain}/{version}/catalog/product",
    NONE,
    summary="Return one product with its options for a shopping assistant",
    responses=_response_descriptions({"ucp": _ENVELOPE, "product": _PRODUCT}),
    openapi_extra=request_body_description({"id": "tent"}, "id"),
)
async def assistant_product(
    request: Request, store_domain: Domain, version: Version
) -> Response:
    """Return a product, and which of its variants fit the options selected so far."""
    return await _answer_rest_call(request, store_domain, version, CatalogOperation.PRODUCT)


async def _answer_rest_call(
    request: Request, domain: str, version: str, operation: CatalogOperation
) -> Response:
    request.scope[ERROR_FIELDS] = partial(
        _refusal_fields, parse_ucp_version(version), operation
    )
    admitted = await AssistantRequest.admit(request, domain, version)
    admitted.agent = agent_of_header(request.headers.get("ucp-agent", ""))
    reply = await admitted.answer_and_meter(operation, await admitted.read_body(request))
    return json_reply(reply, headers=admitted.reply_headers)


def _refusal_fields(
    version: UcpVersion, operation: CatalogOperation, code: str, detail: str
) -> dict[str, Any]:
    """Return what the protocol wants in the body of an error, beside its code."""
    return failure_reply(version, operation, code, detail) | {"content": detail}


async def find_store_open_to_assistants(exchange: "RequestContext", domain: str) -> "Store":
    """Return the store of an address, if assistants may call it.

    Raises:
        UnknownAssistantCatalogError: when there is no such store, or it is switched off.
    """
    store = await find_store_with_setting(
        exchange.context, domain, lambda on: on.shopping_assistants
    )
    if store is None:
        message = (
            "there is no catalog for shopping assistants here; the dashboard's page "
            "Shopping assistants switches it on and has its addresses"
        )
        raise UnknownAssistantCatalogError(message)
    return store


def parse_ucp_version(text: str) -> UcpVersion:
    """Return a version of the protocol.

    Raises:
        UnknownAssistantCatalogError: when this service does not speak it.
    """
    try:
        return UcpVersion(text)
    except ValueError as error:
        known = " and ".join(UcpVersion)
        message = f"this catalog speaks the versions {known} of the protocol"
        raise UnknownAssistantCatalogError(message) from error


@dataclass(slots=True)
class AssistantRequest:
    """One admitted call of an assistant."""

    exchange: "RequestContext"
    store: "Store"
    version: UcpVersion
    scope: Any
    reply_headers: dict[str, str]
    base_url: str  # of this service
    agent: str = UNNAMED_AGENT

    @classmethod
    async def admit(cls, request: Request, domain: str, version: str) -> Self:
        """Return the call of a request, counted against the store's rate limit.

        Raises:
            UnknownAssistantCatalogError: when there is nothing at its address.
            TooManyRequestsError: when assistants of the store have to wait.
        """
        exchange: RequestContext = request.scope["productrecs"]
        spoken = parse_ucp_version(version)
        store = await find_store_open_to_assistants(exchange, domain)
        base_url = base_url_for_reply(request)
        admitted = cls(exchange, store, spoken, request.scope, {}, base_url)
        rates = exchange.context.rates
        level = rates.check_key(f"assistants {store.store_id}") if rates else None
        if level is not None:
            level.limit.count(level)
        return admitted

    async def read_body(self, request: Request) -> object:
        """Return the JSON of a request's body.

        Raises:
            InvalidCatalogCallError: when it is not JSON.
        """
        headers, claim = request.scope["headers"], self.exchange.claim
        body = await read_body(request.receive, headers, PHOTO_LIMIT, claim, weight=2)
        try:
            return parse_json(body)
        except InvalidInputError as error:
            message = f"not JSON: {error.problems[0].msg}"
            raise InvalidCatalogCallError(message) from error

    async def answer_and_meter(
        self, operation: CatalogOperation, body: object
    ) -> dict[str, Any]:
        """Return the reply to a call, and meter it.

        Raises:
            InvalidCatalogCallError, TooManyLookupIdsError: when the call is wrong.
        """
        call, context = parse_catalog_call(body, _CALLS[operation]), self.exchange.context
        meter = await context.metering.get_or_open_meter(self.store, context.read)
        notice = meter.check_quota(self.store.subscription, context.clock())
        if notice is not None:
            self.reply_headers |= {
                name.decode(): value.decode() for name, value in billing_headers(notice)
            }
            if notice.is_cut_off:
                return self._cut_off_reply(operation)
        reply = await self._compute_reply_and_count_search(operation, call)
        meter.count_call()
        self._record_call(operation, call)
        return reply

    def _record_call(self, operation: CatalogOperation, call: CatalogCall) -> None:
        context, store_id = self.exchange.context, self.store.store_id
        now_ms = context.clock()
        answered = AssistantCall.of(store_id, operation, self.agent, now_ms)
        context.write_client.write_later(answered)
        if isinstance(call, CatalogSearchCall) and not call.offset_from_cursor():
            for search in searches_to_count_by_attribution(
                store_id, call.attribution, now_ms
            ):
                context.write_client.write_later(search)

    def _cut_off_reply(self, operation: CatalogOperation) -> dict[str, Any]:
        if operation is CatalogOperation.PRODUCT:
            message = "the catalog cannot be read at present"
            return failure_reply(self.version, operation, "unavailable", message)
        return {"ucp": ucp_reply_member(self.version, operation), "products": []}

    async def _compute_reply_and_count_search(
        self, operation: CatalogOperation, call: CatalogCall
    ) -> dict[str, Any]:
        context = self.exchange.context
        catalog = AssistantCatalog(
            context.services.database,
            self.store,
            await context.stores.open(self.store),
            call,
            self.agent,
            context.clock(),
        ).in_preferred_currency()
        if isinstance(call, CatalogSearchCall) and call.is_related:
            reply = await self._related_reply_and_count_photo_search(catalog, call)
        elif isinstance(call, CatalogSearchCall):
            hits, total = await context.search_pool.run(lambda: catalog.search_items(call))
            searcher = searcher_of_scope(self.scope, None)
            if call.words and not call.offset_from_cursor():
                store_id = self.store.store_id
                context.searches.count_search_unless_bot(
                    store_id, call.words, searcher, is_empty=not hits
                )
            reply = await asyncio.to_thread(lambda: catalog.page_reply(call, hits, total))
        elif isinstance(call, CatalogLookupCall):
            reply = await asyncio.to_thread(lambda: catalog.lookup_reply(call))
        elif isinstance(call, CatalogProductCall):
            found = await asyncio.to_thread(lambda: catalog.product_reply(call))
            if found is None:
                message = f"Product not found: {call.id}"
                return failure_reply(self.version, operation, "not_found", message)
            reply = found
        is_related = isinstance(call, CatalogSearchCall) and call.is_related
        extension = extension_name(self.base_url) if is_related else None
        return {"ucp": ucp_reply_member(self.version, operation, extension)} | reply

    async def _related_reply_and_count_photo_search(
        self, catalog: AssistantCatalog, call: CatalogSearchCall
    ) -> dict[str, Any]:
        context, store = self.exchange.context, self.store
        if call.photo is None:
            items = await asyncio.to_thread(lambda: catalog.related_items(call))
        else:
            photo, store_id = _decode_base64_photo(call.photo), store.store_id
            context.photo_pool.check_capacity(store_id)
            try:
                items = await context.photo_pool.run(
                    store_id, lambda client: catalog.items_like_photo(photo, client)
                )
            except UnreadablePictureError as error:
                raise InvalidCatalogCallError(str(error)) from error
            context.searches.count_photo_search_unless_bot(
                store_id, searcher_of_scope(self.scope, None)
            )
        page = items[call.offset_from_cursor() :][: call.limit]
        written = await asyncio.to_thread(
            lambda: catalog.page_reply(call, page, len(items))
        )
        looks = catalog.look_reply(call, partial(look_image_url, self.base_url, store))
        return written | looks


def _decode_base64_photo(image: str) -> bytes:
    """Return the file of a photo in base64.

    Raises:
        InvalidCatalogCallError: when it is none.
        PictureTooLargeError: when it has more than 10 MiB.
    """
    try:
        return parse_photo_data({"image": image})
    except InvalidInputError as error:
        message = f"$.like.image: {error.problems[0].msg}"
        raise InvalidCatalogCallError(message) from error
