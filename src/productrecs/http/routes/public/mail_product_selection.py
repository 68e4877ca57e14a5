"""Mail product selection: chosen when a mail is first opened, and then kept."""

import time
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from productrecs.core.cache_registry import BoundedCache, RegisteredCache
from productrecs.core.errors import StorageError
from productrecs.core.ids import StoreId
from productrecs.features.mail_slots.mail_slot import (
    CampaignMail,
    MailProduct,
    MailProductSelection,
    refresh_mail_products,
)
from productrecs.features.mail_slots.opened_mails.repository import (
    read_day_and_mail_products,
)
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.http.routes.public.mail_slot_request import (
    MailProductCard,
    MailSlotRequest,
)
from productrecs.http.routes.widget.list_replies import answer_list
from productrecs.http.routes.widget.shopper_history_access import (
    IDENTITY,
    determine_history_access_of_request,
)

_CANDIDATES: Final = 20  # of the list: some may be sold out
_UNSAVED_SECONDS: Final = 2.0  # by when a selection is in the database, as a rule


class _RecentSelection(NamedTuple):
    """A selection of this process, and until when it counts before the stored one."""

    selection: MailProductSelection
    until: float


_recent_selections: Final[BoundedCache[tuple[StoreId, CampaignMail], _RecentSelection]] = (
    BoundedCache(RegisteredCache.MAIL_CHOICES)
)


class _RecommendationList(msgspec.Struct):
    recommendations: list[MailProductCard]


_read_list: Final = msgspec.json.Decoder(_RecommendationList).decode


async def load_or_choose_and_store_products(
    slot_request: MailSlotRequest,
    is_still_usable: Callable[[tuple[MailProduct, ...]], bool],
) -> tuple[MailProduct, ...]:
    """Return the products of a mail: those kept if they are fine, else chosen again.

    Whatever is chosen is kept for the mail's other pictures and its links.

    Raises:
        UnknownPlacementError: when they must be chosen, and the placement is gone.
    """
    query, store_id = slot_request.query, slot_request.store.store_id
    day, kept = await _load_selection_day_and_products(slot_request)
    if kept and is_still_usable(kept):
        return kept
    products = refresh_mail_products(
        kept, slot_request.make_showable_check(), await _recommended_products(slot_request)
    )
    if products and products != kept:
        selection = MailProductSelection(store_id, query.mail, day, products)
        until = time.monotonic() + _UNSAVED_SECONDS
        _recent_selections.put((store_id, query.mail), _RecentSelection(selection, until))
        slot_request.context.write_client.write_later(selection)
    return products


async def _load_selection_day_and_products(
    slot_request: MailSlotRequest,
) -> tuple[int, tuple[MailProduct, ...]]:
    """Return the day of a mail's selection, and its products; today and () without one."""
    mail, store_id, today = (
        slot_request.query.mail,
        slot_request.store.store_id,
        slot_request.today,
    )
    recent = _recent_selections.get((store_id, mail))
    if recent is not None and time.monotonic() < recent.until:
        return recent.selection.day, recent.selection.products
    try:
        stored = await slot_request.context.read(
            lambda reader: read_day_and_mail_products(reader, store_id, mail, today)
        )
    except StorageError:
        stored = None  # products are chosen as when the mail was opened first
    if stored is not None:
        return stored
    if recent is not None and recent.selection.day == today:
        return today, recent.selection.products
    return today, ()


async def _recommended_products(slot_request: MailSlotRequest) -> list[MailProduct]:
    query = slot_request.query
    list_request = RecommendationRequest(
        source=Source.MIX,
        num=_CANDIDATES,
        basket=query.item_ids,
        identities=(query.user_id,) if query.user_id else (),
        placement=query.slot,
    )
    shopper = {"user_id": query.user_id, IDENTITY: query.identity}
    access = determine_history_access_of_request(slot_request.request, shopper)
    body = await answer_list(
        slot_request.context, slot_request.cached_store, list_request, access
    )
    return [MailProduct(card.id, card.source) for card in _read_list(body).recommendations]
