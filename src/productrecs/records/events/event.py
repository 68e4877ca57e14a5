"""Event: kinds of behavioural events, the fields of each, and the exported form."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from productrecs.core.timestamps import iso

if TYPE_CHECKING:
    from collections.abc import Mapping


class EventKind(IntEnum):
    """The ten kinds of events. The numbers are stored: never renumber them."""

    DETAIL_PAGE_VIEW = 1
    ADD_TO_CART = 2
    BUY = 3
    CATEGORY_VIEW = 4
    SEARCH_PREF = 5
    SEARCH_CLICK = 6
    IMAGE_SEARCH_CLICK = 7
    METADATA_PREF = 8
    REC_IMPRESSION = 9
    REC_CLICK = 10

    @property
    def wire_name(self) -> str:
        """The value of the field `event` in a request body, such as `add-to-cart`."""
        return self.name.lower().replace("_", "-")


EVENT_KINDS: Mapping[str, EventKind] = MappingProxyType(
    {kind.wire_name: kind for kind in EventKind}
)
"""Every kind by its name in the API."""


class EventSubject(Enum):
    """The subject of an event, which determines its required field."""

    PRODUCT = "product"  # item_id
    PRODUCTS = "products"  # item_ids, or one item_id
    INDICATOR = "indicator"  # item_id, which names a category or an attribute value
    QUERY = "query"  # search_query


EVENT_SUBJECTS: Mapping[EventKind, EventSubject] = MappingProxyType(
    {
        EventKind.DETAIL_PAGE_VIEW: EventSubject.PRODUCT,
        EventKind.ADD_TO_CART: EventSubject.PRODUCT,
        EventKind.BUY: EventSubject.PRODUCT,
        EventKind.CATEGORY_VIEW: EventSubject.INDICATOR,
        EventKind.SEARCH_PREF: EventSubject.QUERY,
        EventKind.SEARCH_CLICK: EventSubject.PRODUCT,
        EventKind.IMAGE_SEARCH_CLICK: EventSubject.PRODUCT,
        EventKind.METADATA_PREF: EventSubject.INDICATOR,
        EventKind.REC_IMPRESSION: EventSubject.PRODUCTS,
        EventKind.REC_CLICK: EventSubject.PRODUCT,
    }
)
"""The required subject of each kind."""

KINDS_WITH_REVENUE = frozenset({EventKind.ADD_TO_CART, EventKind.BUY})
"""The kinds whose value, currency and quantity are stored."""

KINDS_WITH_PLACEMENT = frozenset({EventKind.REC_IMPRESSION, EventKind.REC_CLICK})
"""The kinds whose source and position are stored."""

KINDS_WITH_POSITION = KINDS_WITH_PLACEMENT | {EventKind.SEARCH_CLICK}
"""The kinds whose position is stored."""


CROWDED_NETWORK: Final = "crowded network"
"""The name of bots that are visits beyond their network's share, once set aside."""

INHUMAN_RATE: Final = "inhuman rate"
"""The name of bots that are recognised by their rate alone."""


_LOOK_SOURCE: Final = "look"


def look_source(look_id: int) -> str:
    """Return the source of a look's products, which events echo."""
    return f"{_LOOK_SOURCE}:{look_id}"


def split_source_and_look(source: str | None) -> tuple[str | None, str | None]:
    """Return an event's source, and the id of the look that it names, if any."""
    name, _, look = (source or "").partition(":")
    if name == _LOOK_SOURCE and look:
        return name, look
    return source, None


def interest_key(kind: int, term: str) -> str:
    """Return the key that all spellings of one category, brand or colour share."""
    return f"{int(kind)}:{' '.join(term.casefold().split())}"


@dataclass(frozen=True, slots=True)
class NewEvent:
    """One action of a shopper with one item or term, as received.

    At least one of `user_id` and `session_id` is set, and at least one of `item_id`
    and `term`: `term` is the category, attribute value or query of an indicator,
    or the look in which a product was shown or clicked.
    `value` is the line's revenue in `currency`; `quantity` None means unknown;
    `position` counts from 1. Only imports and demo data set `ts_ms` (UTC): live events
    get the time of receipt. `bot` is the name of the bot that sent it, `network` the
    public network that did. `identity` is the signed identity as sent; `signed` says that
    it proves `user_id`.
    """

    kind: EventKind
    item_id: str | None = None
    term: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    order_id: str | None = None
    value: float | None = None
    currency: str | None = None
    quantity: int | None = None
    source: str | None = None
    position: int | None = None
    widget: str | None = None
    event_id: str | None = None
    ts_ms: int | None = None
    bot: str | None = None
    network: str | None = None
    identity: str | None = None
    signed: bool = False

    @property
    def is_proven(self) -> bool:
        """Whether it is certain that `user_id` is the customer."""
        return self.signed

    @property
    def shopper(self) -> str:
        """The shopper: the customer if known, else the session."""
        return self.user_id or self.session_id or ""


Fields: TypeAlias = dict[str, object]


def exported_event_fields(row: Mapping[str, Any], names: Mapping[int, str]) -> Fields:
    """Return a log row in the import's format; `names` maps numbers to item ids."""
    kind = EventKind(row["kind"])
    item = names.get(row["item"])
    fields: Fields = {
        "event": kind.wire_name,
        **identity_fields(row["shopper"], row["session"]),
    }
    if EVENT_SUBJECTS[kind] is EventSubject.INDICATOR:
        fields["item_id"] = row["term"]
    elif kind is EventKind.REC_IMPRESSION:
        fields["item_ids"] = [item]
        fields["sources"], fields["positions"] = [_sent_source(row)], [row["position"]]
    elif kind is EventKind.REC_CLICK:
        fields |= {"item_id": item, "source": _sent_source(row)}
        fields["position"] = row["position"]
    else:
        fields |= {"item_id": item, "search_query": row["term"]}
        fields |= {"source": row["source"], "position": row["position"]}
    for name in ("value", "currency", "quantity", "widget"):
        fields[name] = row[name]
    return without_empty_fields(fields | {"timestamp": iso(row["ts"])})


def _sent_source(row: Mapping[str, Any]) -> str | None:
    """Return a source as sent, with the look that it named."""
    source, look = row["source"], row["term"]
    return f"{source}:{look}" if source == _LOOK_SOURCE and look else source


def identity_fields(shopper: str, session: str | None) -> Fields:
    """Return the shopper's ids as sent."""
    return {"user_id": None if shopper == session else shopper, "session_id": session}


def without_empty_fields(fields: Fields) -> Fields:
    """Return only the non-empty fields."""
    return {name: value for name, value in fields.items() if value is not None}
