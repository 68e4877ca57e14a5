"""Ingestion of events and orders: deduplicates and stores them.

Events and orders share this code because a `buy` event and an order line report the same
purchase. The caller opens the transaction; nothing here commits.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from productrecs.records.erasures.repository import ErasedAmongNames, erased_names_in
from productrecs.records.events.append_and_link_events import (
    IdentityLinker,
    LoggedEvent,
    append_bot_events_and_move_sessions,
    append_events,
    is_about_product,
)
from productrecs.records.events.daily_network_caps import (
    DailyNetworkCap,
    DailyNetworkCounts,
)
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.events.repository import EventRepository
from productrecs.records.orders.order_and_purchase_ledger import (
    NewOrder,
    NewOrderLine,
    PurchaseLedger,
    line_total,
    number_occurrences,
)
from productrecs.records.orders.unconfirmed_purchases import (
    UnconfirmedPurchasePolicy,
    record_confirmed_order_time,
)
from productrecs.records.purchases.repository import (
    PurchaseChannel,
    PurchaseLine,
    PurchaseRepository,
)
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction


@dataclass(frozen=True, slots=True)
class OrderReceipt:
    """The result of receiving one order."""

    order_id: str
    items_ingested: int
    duplicate: bool


def ingest_events(
    log: StoreLogTransaction,
    groups: Sequence[Sequence[NewEvent]],
    now_ms: int,
    *,
    imported: bool = False,
    counts: DailyNetworkCounts | None = None,
) -> int:
    """Write events; return the number of new ones.

    A group has the events of one object in the API (an impression shows many items): its
    `event_id` is looked up once. Events without a time get `now_ms`. Events of erased
    shoppers are skipped, see `records/erasures`. Events of bots are stored apart.
    `counts` tell which events are beyond their network's share.
    """
    repository = EventRepository(log.transaction, log.store_id)
    first_seq = log.take_seqs(sum(len(group) for group in groups))
    events = [
        event
        for group in groups
        if not group
        or group[0].event_id is None
        or repository.record_event_id_if_new(group[0].event_id, now_ms)
        for event in group
    ]
    events = _without_erased_shoppers(log, events, now_ms)
    if not events:
        return 0
    item_ids = (event.item_id for event in events if is_about_product(event))
    numbers = log.get_or_create_item_numbers(
        (item_id for item_id in item_ids if item_id), now_ms
    )
    identity_linker = IdentityLinker(repository, events)
    share = DailyNetworkCap(log, counts, now_ms)
    logged = [
        LoggedEvent(
            event=event,
            seq=first_seq + index,
            ts=now_ms if event.ts_ms is None else event.ts_ms,
            person=event.shopper
            if event.bot
            else identity_linker.resolve_person_and_link(event, first_seq + index) or "",
            imported=imported,
            excess=not event.bot
            and share.is_excess_else_count(
                event.network, _visit_or_purchase_unit(event, index), _chosen_items(event)
            ),
        )
        for index, event in enumerate(events)
    ]
    identity_linker.store_links()
    behaviour = [
        entry
        for entry in logged
        if entry.event.kind is not EventKind.BUY and not entry.event.bot
    ]
    append_events(log, behaviour, numbers, identity_linker.linked)
    of_bots = [entry for entry in logged if entry.event.bot]
    if of_bots:
        append_bot_events_and_move_sessions(log, of_bots, numbers, now_ms)
    buys = [entry for entry in logged if entry.event.kind is EventKind.BUY]
    if buys:
        _put_buys(log, buys, numbers, identity_linker, now_ms)
    return len(events)


def _visit_or_purchase_unit(event: NewEvent, number: int) -> str:
    """Return what an event adds to its network's share: a visit, or a purchase."""
    if event.kind is EventKind.BUY:
        return f"buy {event.order_id or number}"
    return event.session_id or event.shopper


def _chosen_items(event: NewEvent) -> tuple[str, ...]:
    """Return the product that a shopper chose; being shown one is no choice.

    Purchases of a product are counted apart from visits of it.
    """
    is_choice = is_about_product(event) and event.kind is not EventKind.REC_IMPRESSION
    if not event.item_id or not is_choice:
        return ()
    is_purchase = event.kind is EventKind.BUY
    return (_purchase_of(event.item_id) if is_purchase else event.item_id,)


def _purchase_of(item_id: str) -> str:
    return f"purchase of {item_id}"


def ingest_order(
    log: StoreLogTransaction,
    order: NewOrder,
    now_ms: int,
    counts: DailyNetworkCounts | None = None,
) -> OrderReceipt:
    """Write a whole order, or nothing if it was received within seven days.

    An order by the secret key confirms the same one by the publishable key; one that
    differs takes its place. `counts` tell whether it is beyond its network's share.
    """
    purchases = PurchaseRepository(log.transaction, log.store_id)
    first_seq = log.take_seqs(len(order.lines))
    if order.confirmed:
        record_confirmed_order_time(purchases, now_ms)
    receipt = purchases.number_receipt_unless_repeated_recently(order.order_id, now_ms)
    duplicate = OrderReceipt(order.order_id, items_ingested=0, duplicate=True)
    if receipt is None and not order.confirmed:
        return duplicate
    ledger = PurchaseLedger(purchases, [order.order_id])
    if receipt is None:
        earlier = ledger.unconfirmed_lines(order.order_id)
        if not earlier:
            return duplicate
        receipt, seq = earlier[0].receipt, log.take_seqs(len(earlier))
        if _has_same_lines(log, order, earlier, now_ms):
            _confirm_lines(log, ledger, order, earlier, seq, now_ms)
            return duplicate
        for index, line in enumerate(earlier):
            ledger.void_and_free_place(line, seq + index)
        first_seq = log.take_seqs(len(order.lines))  # after what was retired
        purchases.restart_receipt_window(order.order_id, now_ms)
    network = None if order.confirmed else order.network
    share = DailyNetworkCap(log, counts, now_ms)
    items = (_purchase_of(line.item_id) for line in order.lines)
    excess = share.is_excess_else_count(network, f"order {order.order_id}", items)
    _put_order(log, ledger, order, receipt, first_seq, now_ms, is_excess=excess)
    return OrderReceipt(order.order_id, items_ingested=len(order.lines), duplicate=False)


def _put_order(
    log: StoreLogTransaction,
    ledger: PurchaseLedger,
    order: NewOrder,
    receipt: int,
    first_seq: int,
    now_ms: int,
    *,
    is_excess: bool,
) -> None:
    order = _without_erased_order_names(log, order, now_ms, is_repeated=receipt > 0)
    void = (
        not order.confirmed and UnconfirmedPurchasePolicy(log, now_ms).leaves_out_orders()
    )
    identity_linker = IdentityLinker(
        EventRepository(log.transaction, log.store_id), [order]
    )
    person = identity_linker.resolve_person_and_link(order, first_seq)
    identity_linker.store_links()
    items = log.get_or_create_item_numbers((line.item_id for line in order.lines), now_ms)
    item_lines = number_occurrences([items[line.item_id] for line in order.lines])
    for index, (line, (item, line_number)) in enumerate(
        zip(order.lines, item_lines, strict=True)
    ):
        # A CSV line takes precedence over order sync: it is already stored.
        ledger.put_unless_outranked(
            PurchaseLine(
                line_seq=first_seq + index,
                seq=first_seq + index,
                basket=None,
                order_id=order.order_id,
                receipt=receipt,
                item=item,
                line=line_number,
                channel=PurchaseChannel.ORDER,
                void=void,
                ts=now_ms if order.ordered_ms is None else order.ordered_ms,
                quantity=line.quantity,
                price=line.price,
                total=revenue(line),
                currency=order.currency,
                shopper=order.shopper,
                person=person,
                session=order.session_id,
                imported=False,
                updated_at=now_ms,
                unconfirmed=not order.confirmed,
                excess=is_excess,
            )
        )
    ledger.write(log.database, identity_linker.linked)


def _has_same_lines(
    log: StoreLogTransaction, order: NewOrder, earlier: Sequence[PurchaseLine], now_ms: int
) -> bool:
    """Return whether an order has the lines of an earlier one, in any order."""
    items = log.get_or_create_item_numbers((line.item_id for line in order.lines), now_ms)
    sent = Counter(
        (items[line.item_id], line.quantity, line.price, revenue(line))
        for line in order.lines
    )
    known = Counter((line.item, line.quantity, line.price, line.total) for line in earlier)
    return sent == known and order.currency == earlier[0].currency


def _confirm_lines(
    log: StoreLogTransaction,
    ledger: PurchaseLedger,
    order: NewOrder,
    earlier: Sequence[PurchaseLine],
    first_seq: int,
    now_ms: int,
) -> None:
    """Let the lines of an earlier order count; whose they are, `order` knows better."""
    order = _without_erased_order_names(
        log, order, now_ms, is_repeated=earlier[0].receipt > 0
    )
    identity_linker = IdentityLinker(
        EventRepository(log.transaction, log.store_id), [order]
    )
    person = identity_linker.resolve_person_and_link(order, first_seq)
    identity_linker.store_links()
    for index, line in enumerate(earlier):
        confirmed = line._replace(
            void=False,
            unconfirmed=False,
            excess=False,
            seq=first_seq + index,
            updated_at=now_ms,
        )
        if order.shopper is not None:
            confirmed = confirmed._replace(
                shopper=order.shopper, person=person, session=order.session_id
            )
        if order.ordered_ms is not None:
            confirmed = confirmed._replace(ts=order.ordered_ms)
        ledger.put_unless_outranked(confirmed)
    ledger.write(log.database, identity_linker.linked)


def _without_erased_shoppers(
    log: StoreLogTransaction, events: list[NewEvent], now_ms: int
) -> list[NewEvent]:
    """Return the events except those of erased shoppers."""
    names = (name for event in events for name in (event.user_id, event.session_id))
    erased = erased_names_in(log, names)
    if not erased:
        return events
    anonymised = (_without_erased_names(event, erased, now_ms) for event in events)
    return [event for event in anonymised if event is not None]


def _without_erased_names(
    event: NewEvent, erased: ErasedAmongNames, now_ms: int
) -> NewEvent | None:
    event_ms = now_ms if event.ts_ms is None else event.ts_ms
    if erased.covers(event.shopper, event_ms):
        return None
    if erased.covers(event.session_id, event_ms):  # another customer, at their browser
        return replace(event, session_id=None)
    return event


def _without_erased_order_names(
    log: StoreLogTransaction, order: NewOrder, now_ms: int, *, is_repeated: bool
) -> NewOrder:
    """Return an order without erased names.

    The time of a repeated order is unknown, so a repeat never restores an erased name.
    """
    erased = erased_names_in(log, (order.user_id, order.session_id))
    if not erased:
        return order
    bought_ms = now_ms if order.ordered_ms is None else order.ordered_ms
    event_ms = None if is_repeated else bought_ms
    if erased.covers(order.shopper, event_ms):
        return replace(order, user_id=None, session_id=None)
    if erased.covers(order.session_id, event_ms):
        return replace(order, session_id=None)
    return order


def revenue(line: NewOrderLine) -> float | None:
    """Return a line's revenue: its total, else price x quantity (unknown counts as 1)."""
    return line.total if line.total is not None else line_total(line.price, line.quantity)


def _put_buys(
    log: StoreLogTransaction,
    buys: Sequence[LoggedEvent],
    numbers: dict[str, int],
    identity_linker: IdentityLinker,
    now_ms: int,
) -> None:
    order_ids = [entry.event.order_id for entry in buys if entry.event.order_id]
    ledger = PurchaseLedger(PurchaseRepository(log.transaction, log.store_id), order_ids)
    void = UnconfirmedPurchasePolicy(log, now_ms).leaves_out_buys()
    for entry in buys:
        event = entry.event
        units = event.quantity or 1
        ledger.put_unless_outranked(
            PurchaseLine(
                line_seq=entry.seq,
                seq=entry.seq,
                basket=None,
                order_id=event.order_id or None,
                receipt=ledger.receipt(event.order_id) if event.order_id else 0,
                item=numbers[event.item_id or ""],
                line=0,
                channel=PurchaseChannel.EVENT,
                void=void and not entry.imported,
                ts=entry.ts,
                quantity=event.quantity,
                price=None if event.value is None else event.value / units,
                total=event.value,
                currency=event.currency,
                shopper=event.shopper,
                person=entry.person,
                session=event.session_id,
                imported=entry.imported,
                updated_at=now_ms,
                unconfirmed=not entry.imported,
                excess=entry.excess,
            )
        )
    ledger.write(log.database, identity_linker.linked)
