"""Live events page: the last events and orders, with verdicts and remedies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from productrecs.core.clock import DAY_MS
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    Reply,
    Visit,
    parse_whole_number,
)
from productrecs.features.live_events.live_event import (
    ORDER,
    LiveEvent,
    LiveEventVerdict,
    client_hash,
)
from productrecs.features.live_events.repository import (
    MAX_EVENTS,
    LiveEventRepository,
)
from productrecs.records.events.event import EVENT_KINDS

EVENTS_PATH: Final = "/dashboard/events"
_ACCOUNT: Final = "/dashboard/account"
_KINDS: Final = (*EVENT_KINDS, ORDER)


@dataclass(frozen=True, slots=True)
class LiveEventVerdictDisplay:
    """The display of a verdict: its badge, the remedy, and a link."""

    label: str
    tone: str = ""
    remedy: str = ""
    action: str = ""
    path: str = ""


JUDGEMENTS: Final[Mapping[LiveEventVerdict, LiveEventVerdictDisplay]] = MappingProxyType(
    {
        LiveEventVerdict.ACCEPTED: LiveEventVerdictDisplay("Accepted", "good"),
        LiveEventVerdict.UNKNOWN_ITEM: LiveEventVerdictDisplay(
            "Unknown product",
            "warn",
            "Stored, but the product is not in your catalog. Send the product, or let "
            "your page send the id that the catalog has.",
            "Import products",
            "/dashboard/imports",
        ),
        LiveEventVerdict.NO_ORDER_ID: LiveEventVerdictDisplay(
            "No order id",
            "warn",
            "Stored, but a purchase without order_id is not used for products bought "
            "together. Send order_id with each purchase.",
            "Guide: orders",
            "/guides/orders",
        ),
        LiveEventVerdict.DUPLICATE: LiveEventVerdictDisplay(
            "Duplicate",
            "",
            "Counted once. The widgets send an event a second time when a shopper leaves "
            "the page, in case the first was lost. Events of your own code need an "
            "event_id each.",
            "Guide: events",
            "/guides/events",
        ),
        LiveEventVerdict.NO_SHOPPER: LiveEventVerdictDisplay(
            "No shopper",
            "warn",
            "Stored, but an order without user_id and session_id follows no "
            "recommendation. Send the customer's id, or the pr_sid of the widgets.",
            "Guide: orders",
            "/guides/orders",
        ),
        LiveEventVerdict.ORDER_AGAIN: LiveEventVerdictDisplay(
            "Duplicate",
            "",
            "An order of this id came in the last seven days, so it counts once. If it is "
            "another order, send it with an id of its own.",
            "Guide: orders",
            "/guides/orders",
        ),
        LiveEventVerdict.BUY_AGAIN: LiveEventVerdictDisplay(
            "Replaces a purchase",
            "warn",
            "A purchase of this product came before with the same order_id. Only this one "
            "counts. Send one event for each product of an order, with its quantity.",
            "Guide: events",
            "/guides/events#the-kinds",
        ),
        LiveEventVerdict.FOREIGN_ORIGIN: LiveEventVerdictDisplay(
            "Other origin",
            "warn",
            "Stored, but the page is not on your list of origins, so it may not read "
            "replies. Add its address to the list.",
            "Origins",
            f"{_ACCOUNT}#origins",
        ),
        LiveEventVerdict.BOT: LiveEventVerdictDisplay(
            "Bot",
            "",
            "Stored, but left out of learning, statistics and quotas.",
            "Guide: bots",
            "/guides/events#bots",
        ),
        LiveEventVerdict.IDENTITY: LiveEventVerdictDisplay(
            "Wrong signature",
            "warn",
            "Stored, but the signature does not prove whose event it is, so it counts as "
            "not signed. Sign the id exactly as it is sent, with the secret key that is in "
            "use, each time a page is rendered.",
            "Guide: sign an id",
            "/guides/keys#sign-a-customers-id",
        ),
        LiveEventVerdict.CLOCK: LiveEventVerdictDisplay(
            "Wrong time",
            "warn",
            "Stored with the time of its arrival, since its own is too far from it. Send "
            "events at once; past events are imported instead.",
            "Guide: events",
            "/guides/events",
        ),
        LiveEventVerdict.INVALID: LiveEventVerdictDisplay(
            "Invalid", "bad", "Not stored. Correct this:", "Fields", "/guides/events"
        ),
        LiveEventVerdict.NOT_STORED: LiveEventVerdictDisplay(
            "Not stored",
            "bad",
            "Another event of the same request is invalid, so none was stored. Correct "
            "that one and send all again.",
        ),
        LiveEventVerdict.KEY_REFUSED: LiveEventVerdictDisplay(
            "Key refused",
            "bad",
            "Your page sent a key that no store has, or none. Copy your publishable key.",
            "Keys",
            f"{_ACCOUNT}#keys",
        ),
        LiveEventVerdict.REFUSED: LiveEventVerdictDisplay(
            "Refused", "bad", "Not stored. Send it again."
        ),
    }
)

_REFUSED: Final = frozenset(
    {
        LiveEventVerdict.INVALID,
        LiveEventVerdict.NOT_STORED,
        LiveEventVerdict.KEY_REFUSED,
        LiveEventVerdict.REFUSED,
    }
)
_VERDICTS: Final = [
    (
        verdict.value,
        "Duplicate order" if verdict is LiveEventVerdict.ORDER_AGAIN else it.label,
    )
    for verdict, it in JUDGEMENTS.items()
]


@dataclass(frozen=True, slots=True)
class LiveEventRow:
    """One event in the page's table."""

    event: LiveEvent
    time: str
    shown: LiveEventVerdictDisplay


def watch_and_show_live_events(visit: Visit) -> Reply:
    """Show the last events; htmx polls for newer ones."""
    store_id = visit.store.store_id
    visit.context.live_view_recorder.watch_store(store_id)
    agent = visit.request.headers.get("user-agent", "")
    own_client = client_hash(store_id, visit.client_address, agent)
    query, page_filters = visit.query, _read_live_event_filters(visit)
    filters = {name: page_filters[name] for name in ("verdict", "kind", "session", "item")}
    filters["client"] = own_client if page_filters["mine"] else ""
    after = query["after"] if visit.is_partial else ""
    with visit.database.reading() as connection:
        repository = LiveEventRepository(connection, store_id)
        events = (
            repository.latest_recorded(visit.now_ms, after, **filters)
            if visit.is_partial
            else repository.latest_with_stored(visit.now_ms, **filters)
        )
    shown_until = _stored_events_shown_until_ms(visit, events)
    if visit.is_partial:
        events = [event for event in events if not _was_shown_before(event, shown_until)]
    cursor = max((event.entry_id for event in events), default=after)
    set_filters = {name: value for name, value in page_filters.items() if value}
    position = {"after": cursor, "until": shown_until}
    return visit.render(
        "events_more.html" if visit.is_partial else "events.html",
        rows=[_live_event_row(visit, event) for event in events],
        poll=f"{EVENTS_PATH}?{urlencode({**set_filters, **position})}",
        address=f"{EVENTS_PATH}?{urlencode(set_filters)}",
        asked=page_filters,
        is_filtered=bool(set_filters.keys() - {"pause"}),
        verdicts=[("", "Any"), *_VERDICTS],
        kinds=[("", "Any"), *((kind, kind) for kind in _KINDS)],
        most=MAX_EVENTS,
    )


def _stored_events_shown_until_ms(visit: Visit, events: Sequence[LiveEvent]) -> int:
    """Return the time up to which the page showed the stored events."""
    if not visit.is_partial:
        return max((event.at_ms for event in events if not event.entry_id), default=0)
    return parse_whole_number(visit.query["until"]) or 0


def _was_shown_before(event: LiveEvent, until_ms: int) -> bool:
    """Return whether the page showed a recorded event before it was recorded."""
    is_stored = event.verdict not in {*_REFUSED, LiveEventVerdict.ORDER_AGAIN}
    return is_stored and event.at_ms <= until_ms


def _read_live_event_filters(visit: Visit) -> dict[str, str]:
    """Return the filters of the query; unknown values are ignored."""
    query = visit.query
    verdict = query["verdict"]
    return {
        "verdict": verdict
        if verdict in {verdict.value for verdict in LiveEventVerdict}
        else "",
        "kind": query["kind"] if query["kind"] in _KINDS else "",
        "session": query["session"][:128],
        "item": query["item"][:128],
        "mine": "on" if query["mine"] else "",
        "pause": "on" if query["pause"] else "",
    }


def _live_event_row(visit: Visit, event: LiveEvent) -> LiveEventRow:
    moment = datetime.fromtimestamp(event.at_ms / 1000, UTC)
    time = f"{moment.astimezone(visit.store.settings.zone):%H:%M:%S}"
    if visit.now_ms - event.at_ms >= DAY_MS:
        time = visit.formats.time(event.at_ms)
    return LiveEventRow(event, time, JUDGEMENTS[event.verdict])


PAGES: Final = (
    Page(EVENTS_PATH, "Events", watch_and_show_live_events, group=NavigationGroup.CONNECT),
)
