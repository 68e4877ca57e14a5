"""Mail slot request: a signed address of a slot, its parameters and its store."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import msgspec
from fastapi import Depends, Path, Query, Request

from productrecs.core.clock import DAY_MS
from productrecs.features.mail_slots.mail_slot import (
    MAX_POSITIONS,
    PREVIEW_CAMPAIGN,
    CampaignMail,
    MailEngagement,
    MailProduct,
    MailResource,
    UnknownMailSlotError,
    is_mail_proxy,
    is_slot_signature_valid,
    usable_user_id_or_empty,
)
from productrecs.features.recommendations.source_recipes import PageType
from productrecs.features.widgets.price_format import format_widget_price
from productrecs.http.pipeline.route_context import HEAD_ONLY
from productrecs.http.routes.widget.list_parameters import split_item_ids
from productrecs.http.routes.widget.recommendations import MAX_ANCHORS
from productrecs.http.routes.widget.shopper_history_access import IdentityQuery
from productrecs.serving.cached_store import CachedStore

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import ProcessContext, RequestContext
    from productrecs.tenancy.accounts.store import Store
    from productrecs.tenancy.billing.call_meter import CallMeter


class MailProductCard(msgspec.Struct):
    """A product as lists and the catalog have it."""

    id: str
    title: str
    price: float | None = None
    image_url: str | None = None
    product_url: str | None = None
    source: str = ""


_read_card: Final = msgspec.json.Decoder(MailProductCard).decode


class MailSlotQuery(NamedTuple):
    """What an address asks: the slot, and the mail that it stands in."""

    slot: str
    signature: str
    user_id: str  # empty without a usable one
    identity: str
    campaign: str
    item_ids: tuple[str, ...]
    position: int

    @property
    def mail(self) -> CampaignMail:
        """The mail."""
        return CampaignMail.from_parameters(
            self.slot, self.user_id, self.campaign, self.item_ids
        )


async def _parse_mail_query(
    slot: Annotated[
        str, Path(description="The placement's name.", examples=["newsletter"])
    ],
    signature: Annotated[
        str,
        Query(description="Part of the address in the dashboard.", examples=["5f2c"]),
    ] = "",
    user_id: Annotated[
        str,
        Query(
            description=(
                "The shopper's id, by a tag of the mail tool. An e-mail address, or a tag "
                "that was not filled in, counts as none."
            ),
            examples=["c-7"],
        ),
    ] = "",
    campaign: Annotated[
        str,
        Query(
            description="The campaign: each has products of its own.",
            examples=["spring"],
        ),
    ] = "",
    item_ids: Annotated[
        str,
        Query(
            description="Products that the mail is about, such as those of an order.",
            examples=["tent,rope"],
        ),
    ] = "",
    position: Annotated[
        int,
        Query(
            ge=1,
            le=MAX_POSITIONS,
            description="Which product of the list, from 1.",
            examples=[1],
        ),
    ] = 1,
    identity: IdentityQuery = "",
) -> MailSlotQuery:
    """Return what the parameters of an address mean."""
    recipient = usable_user_id_or_empty(user_id)
    anchors = split_item_ids(item_ids)[:MAX_ANCHORS]
    return MailSlotQuery(slot, signature, recipient, identity, campaign, anchors, position)


MailQueryParameters = Annotated[MailSlotQuery, Depends(_parse_mail_query)]


class MailSlotRequest(NamedTuple):
    """A request for a slot whose signature is right, and the store it belongs to."""

    request: Request
    context: "ProcessContext"
    store: "Store"
    cached_store: CachedStore
    query: MailSlotQuery
    now_ms: int

    @property
    def today(self) -> int:
        """The day of UTC, since 1970."""
        return self.now_ms // DAY_MS

    @property
    def asks_for_headers(self) -> bool:
        """Whether it is a HEAD request: programs that test links send it, no reader."""
        return HEAD_ONLY in self.request.scope

    def make_showable_check(self) -> Callable[[str], bool]:
        """Return a check, by id, of whether a product may be shown and bought now."""
        state = self.cached_store.state
        catalog = state.catalog
        buyable = catalog.visible(self.now_ms, hide_sold_out=True)
        eligible = state.eligible_items(self.now_ms, PageType.NO_CONTEXT)

        def may_show_item(item_id: str) -> bool:
            number = catalog.number(item_id)
            is_buyable = number is not None and number < len(buyable)
            return is_buyable and bool(buyable[number]) and eligible.may_show(number or 0)

        return may_show_item

    def find_card(self, product: MailProduct) -> MailProductCard | None:
        """Return a product as the catalog has it now; None if it is not there."""
        catalog = self.cached_store.state.catalog
        number = catalog.number(product.item_id)
        content = None if number is None else catalog.cards[number]
        return None if content is None else _read_card(content + b"}")

    def format_price(self, card: MailProductCard) -> str:
        """Return a product's price as the shop writes it; empty without one."""
        if card.price is None:
            return ""
        return format_widget_price(self.store.settings, card.price)

    def count_engagement(self, resource: MailResource) -> None:
        """Count a loaded picture or a click; not what only asks for the headers."""
        if self.query.campaign == PREVIEW_CAMPAIGN or self.asks_for_headers:
            return
        is_proxy = is_mail_proxy(self.request.headers.get("user-agent", "").encode())
        engagement = MailEngagement(
            self.store.store_id, self.query.slot, self.today, resource, is_proxy
        )
        self.context.write_client.write_later(engagement)


async def verify_slot_request(request: Request, query: MailSlotQuery) -> MailSlotRequest:
    """Return the slot of a signed address.

    Raises:
        UnknownMailSlotError: when the store's slots are off, or the signature is wrong.
    """
    exchange: RequestContext = request.scope["productrecs"]
    context, store = exchange.context, exchange.known_caller.store
    if not store.settings.mail_slots:  # or just switched on
        await context.refresh_accounts()
        store = context.accounts.by_domain(store.domain) or store
    system_ms = context.services.system_clock()
    if not store.settings.mail_slots or not is_slot_signature_valid(
        store.secrets, query.slot, query.signature, system_ms
    ):
        message = (
            "there is no such slot here; the dashboard's page Products in mails switches "
            "slots on and has their addresses"
        )
        raise UnknownMailSlotError(message)
    cached_store = await context.stores.open(store)
    return MailSlotRequest(request, context, store, cached_store, query, context.clock())


async def open_meter_if_within_quota(slot_request: MailSlotRequest) -> "CallMeter | None":
    """Return the store's meter, or None where the plan is used up."""
    context, store = slot_request.context, slot_request.store
    meter = await context.metering.get_or_open_meter(store, context.read)
    notice = meter.check_quota(store.subscription, context.clock())
    return None if notice is not None and notice.is_cut_off else meter
