"""Mail slots: GET /v1/mail/... are pictures, links and products in newsletters."""

import asyncio
import logging
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlencode

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from productrecs.core.errors import QueueFullError, StorageError
from productrecs.features.mail_slots.mail_slot import (
    PREVIEW_CAMPAIGN,
    WIDGET_PREFIX,
    MailProduct,
    MailResource,
    UnknownMailSlotError,
    slot_path,
    with_mail_utm_parameters,
)
from productrecs.http.openapi_responses import (
    Responses,
    error_responses,
    object_schema,
    success_response,
)
from productrecs.http.pipeline.etag_responses import etag_of, matches_etag
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.route_declaration import PUBLISHABLE, Routes
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_for_reply
from productrecs.http.routes.public.landing_page import IS_DEMO
from productrecs.http.routes.public.mail_product_selection import (
    load_or_choose_and_store_products,
)
from productrecs.http.routes.public.mail_slot_request import (
    MailProductCard,
    MailQueryParameters,
    MailSlotRequest,
    open_meter_if_within_quota,
    verify_slot_request,
)
from productrecs.http.routes.widget.shopper_history_access import IDENTITY
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.pictures.decode_picture import UnreadablePictureError
from productrecs.records.pictures.draw_product_card import (
    MAX_WIDTH,
    MIN_WIDTH,
    ProductCard,
)
from productrecs.records.pictures.fetch_picture import absolute_url
from productrecs.records.placements.placement import UnknownPlacementError
from productrecs.serving.writes.write_messages import WriteKind

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("public")
_log = logging.getLogger(__name__)

_CLICK_SECONDS: Final = 1.0  # how long a reader waits until a click is stored
# A mail's pictures load at once, and again when it is opened again.
_CACHED: Final = "public, max-age=300, must-revalidate"
_SAFE: Final = {
    "x-robots-tag": "noindex",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "cross-origin",
}

_JPEG: Final = "image/jpeg"
_IMAGE_REPLY: Final[Responses] = {
    200: {
        "description": "The picture.",
        "content": {
            _JPEG: {"schema": {"type": "string", "format": "binary"}, "example": "ÿØÿà"}
        },
    },
    302: {"description": "The product's own picture: too many are drawn at once."},
    304: {"description": "The picture is the one that If-None-Match names."},
}


@routes.get(
    "/v1/mail/image/{slot}",
    PUBLISHABLE,
    summary="Return the picture of a product for a mail",
    responses=_IMAGE_REPLY | error_responses(401, "mail_slot_unknown", 422, 503),
)
async def mail_image(
    request: Request,
    query: MailQueryParameters,
    width: Annotated[
        int,
        Query(
            ge=MIN_WIDTH,
            le=MAX_WIDTH,
            description="The width in pixels; the height is 1.33 times of it.",
            examples=[600],
        ),
    ] = 600,
) -> Response:
    """Return a product's picture with its title and price, as they are now.

    The product is chosen when the mail is opened first, and replaced once it can no longer
    be bought. Where there is none, the picture names the shop.
    """
    slot_request = await verify_slot_request(request, query)
    meter = await open_meter_if_within_quota(slot_request)
    card = None if meter is None else await _load_or_choose_card_at_position(slot_request)
    slot_request.count_engagement(MailResource.IMAGE)
    title, price, picture = slot_request.store.domain, "", ""
    note = "No product for a shopper who is not known."
    if card is not None:
        title, price, picture = (
            card.title,
            slot_request.format_price(card),
            _picture_url(slot_request, card),
        )
        note = "The picture of this product cannot be read."
        if not picture:
            note = "This product has no picture in the catalog."
    if query.campaign != PREVIEW_CAMPAIGN:
        note = ""  # shoppers do not read what a merchant should mend
    try:
        jpeg = await slot_request.context.mail_pictures.draw_card_as_jpeg(
            slot_request.store.store_id,
            picture,
            ProductCard(title, price, width, note),
            _own_host_and_port_if_demo(request),
        )
    except (QueueFullError, UnreadablePictureError):
        if not picture:
            raise
        return RedirectResponse(picture, 302, {**_SAFE, "cache-control": "no-store"})
    if meter is not None:
        meter.count_call()
    tag = etag_of(jpeg)
    headers = {**_SAFE, "etag": tag, "cache-control": _CACHED}
    if matches_etag(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    return Response(jpeg, media_type=_JPEG, headers=headers)


async def _load_or_choose_card_at_position(
    slot_request: MailSlotRequest,
) -> MailProductCard | None:
    """Return the product that a picture shows; None without one."""
    may_show, index = slot_request.make_showable_check(), slot_request.query.position - 1
    try:
        products = await load_or_choose_and_store_products(
            slot_request, lambda kept: index < len(kept) and may_show(kept[index].item_id)
        )
    except UnknownPlacementError:  # it was removed after the mail was sent
        return None
    if index >= len(products) or not may_show(products[index].item_id):
        return None
    return slot_request.find_card(products[index])


def _picture_url(slot_request: MailSlotRequest, card: MailProductCard) -> str:
    url, host = card.image_url or "", _own_host_and_port_if_demo(slot_request.request)
    if host and url.startswith("/"):
        return f"http://{host}{url}"
    return absolute_url(url, slot_request.store.domain) if url else ""


def _own_host_and_port_if_demo(request: Request) -> str:
    """Return this server's host and port if it is the demo shop too; else nothing."""
    if IS_DEMO not in request.scope:
        return ""
    host, port = request.scope["server"]
    return f"{host}:{port}"


@routes.get(
    "/v1/mail/link/{slot}",
    PUBLISHABLE,
    summary="Go to the product that a mail shows",
    responses={302: {"description": "The product's page, or the shop's start page."}}
    | error_responses(401, 422, 503),
)
async def mail_link(request: Request, query: MailQueryParameters) -> Response:
    """Redirect to the page of the product that the picture of this position showed.

    The click counts as one on a recommended product. It is not metered. Where there is no
    product, or slots are off, the link leads to the shop's start page.
    """
    exchange: RequestContext = request.scope["productrecs"]
    store = exchange.known_caller.store
    page = absolute_url("/", store.domain)
    try:
        slot_request = await verify_slot_request(request, query)
    except UnknownMailSlotError:
        pass
    else:
        page = await _resolve_link_and_count_click(slot_request)
    return RedirectResponse(page, 302, {**_SAFE, "cache-control": "no-store"})


async def _resolve_link_and_count_click(slot_request: MailSlotRequest) -> str:
    """Return the page that a link leads to, and count the click."""
    query, index = slot_request.query, slot_request.query.position - 1
    slot_request.count_engagement(MailResource.LINK)
    try:
        products = await load_or_choose_and_store_products(
            slot_request, lambda kept: index < len(kept)
        )
    except UnknownPlacementError:
        products = ()
    card = slot_request.find_card(products[index]) if index < len(products) else None
    if card is not None and query.user_id and not slot_request.asks_for_headers:
        await _store_click(slot_request, products[index])
    page = card.product_url if card is not None else None
    address = absolute_url(page or "/", slot_request.store.domain)
    return with_mail_utm_parameters(
        address,
        query.slot,
        query.position,
        query.campaign,
        counts_on_page=page is not None and not query.user_id,
    )


async def _store_click(slot_request: MailSlotRequest, product: MailProduct) -> None:
    """Store the click of a known shopper; the redirect does not depend on it.

    Another click on the same product of the mail is none: mail servers try links.
    """
    query, context, store_id = (
        slot_request.query,
        slot_request.context,
        slot_request.store.store_id,
    )
    event = NewEvent(
        kind=EventKind.REC_CLICK,
        item_id=product.item_id,
        user_id=query.user_id,
        source=product.source or None,
        position=query.position,
        widget=f"{WIDGET_PREFIX}{query.slot}",
        event_id=f"{query.mail.digest}-{query.position}",
    )
    headers = dict(slot_request.request.scope["headers"])
    groups = context.bots.count_actions_and_mark_bots(store_id, [[event]], headers)
    try:
        async with asyncio.timeout(_CLICK_SECONDS):
            await context.write_client.submit_write(WriteKind.EVENTS, store_id, groups)
    except (StorageError, QueueFullError, TimeoutError):
        _log.warning("mail click not stored", extra={"store": store_id})


_PRODUCT: Final = {
    "type": "object",
    "title": "MailProduct",
    "required": ["position", "id", "title", "image_url", "link_url"],
    "properties": {
        "position": {"type": "integer"},
        "id": {"type": "string"},
        "title": {"type": "string"},
        "price": {"type": ["number", "null"]},
        "price_text": {"type": "string", "description": "As the shop writes prices."},
        "image_url": {"type": "string", "description": "The product's own picture."},
        "link_url": {"type": "string", "description": "Counts the click."},
    },
}
_PRODUCTS_EXAMPLE: Final = {
    "products": [
        {
            "position": 1,
            "id": "tent",
            "title": "Tent for two",
            "price": 149,
            "price_text": "€149.00",
            "image_url": "https://shop.example.com/tent.jpg",
            "link_url": "https://recs.example.com/v1/mail/link/newsletter?position=1",
        }
    ]
}


@routes.get(
    "/v1/mail/products/{slot}",
    PUBLISHABLE,
    empty=b'{"products":[]}',
    summary="Return the products of a mail as JSON",
    responses=success_response(
        "The products, best first.",
        object_schema(products={"type": "array", "items": _PRODUCT}),
        _PRODUCTS_EXAMPLE,
    )
    | error_responses(401, "placement_unknown", "mail_slot_unknown", 422, 503),
)
async def mail_products(request: Request, query: MailQueryParameters) -> Response:
    """Return up to 12 products, for mail tools that fill templates from an address.

    They are those that the pictures and links of the same mail show; `position` is ignored.
    """
    slot_request = await verify_slot_request(request, query)
    may_show = slot_request.make_showable_check()
    products = await load_or_choose_and_store_products(
        slot_request, lambda kept: all(may_show(product.item_id) for product in kept)
    )
    listed = [
        _product_fields(slot_request, position, card)
        for position, product in enumerate(products, 1)
        if may_show(product.item_id)
        and (card := slot_request.find_card(product)) is not None
    ]
    headers = {**_SAFE, "cache-control": "private, no-cache"}
    return json_reply({"products": listed}, headers=headers)


def _product_fields(
    slot_request: MailSlotRequest, position: int, card: MailProductCard
) -> dict[str, object]:
    query = slot_request.query
    parameters = {
        "key": slot_request.store.publishable_key,
        "signature": query.signature,
        "position": position,
        "user_id": query.user_id,
        "campaign": query.campaign,
        "item_ids": ",".join(query.item_ids),
        IDENTITY: query.identity,
    }
    sent = urlencode({name: value for name, value in parameters.items() if value})
    return {
        "position": position,
        "id": card.id,
        "title": card.title,
        "price": card.price,
        "price_text": slot_request.format_price(card),
        "image_url": _picture_url(slot_request, card),
        "link_url": base_url_for_reply(slot_request.request)
        + slot_path(MailResource.LINK, query.slot, sent),
    }
