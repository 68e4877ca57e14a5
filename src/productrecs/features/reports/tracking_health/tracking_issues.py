"""Tracking issues: problems in a store's events and orders that make its figures wrong.

Each issue says how it affects the figures, and how to fix it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from productrecs.core.clock import DAY_MS, MINUTE_MS
from productrecs.features.reports.tracking_health.repository import (
    RecentBuyer,
    TouchpointToCheck,
    TrackingHealthRepository,
    TrackingIssueRepository,
    UncountedRecordCounts,
)
from productrecs.records.events.newest_events.repository import UnknownProductCounts
from productrecs.records.pictures.repository import PictureRepository
from productrecs.records.pictures.stored_pictures import PictureCounts
from productrecs.records.purchases.sold_lines.repository import SoldLineShopperIds
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.shopper_identity import IdentityVerdict
from productrecs.tenancy.accounts.store import Store

MIN_RECORDS: Final = 20  # with fewer records a share is not reliable
BUYERS: Final = 60
MIN_MATCHED_SHARE: Final = 0.05  # minimum share of buyers with a matching recommendation
ANONYMOUS_SHARE: Final = 0.5
INVENTED_SHARE: Final = 0.1  # of the newest records
UNKNOWN_SHARE: Final = 0.2  # of the events that name a product
MAX_BACKWARD_MS: Final = 5 * MINUTE_MS
FAILED_SHARE: Final = 0.1  # of the pictures
FROZEN: Final = 200  # events with the same millisecond
_ZERO: Final = "attribution will be zero because"
_MONTH_MS: Final = 30 * DAY_MS


@dataclass(frozen=True, slots=True)
class TrackingIssue:
    """One data problem; a notice if not `is_serious`."""

    code: str
    is_serious: bool
    message: str
    remedy: str
    leave_out: str = ""  # what one click leaves out: "excess" or "unconfirmed"


def find_tracking_issues(
    database: Database, store: Store, now_ms: int
) -> list[TrackingIssue]:
    """Return the problems in a store's attribution or history; empty without any.

    Reads only the newest records, which takes milliseconds at any log size.
    """
    with database.reading() as connection:
        repository = TrackingIssueRepository(connection, store.store_id)
        since_ms = now_ms - _MONTH_MS
        touchpoints, lines = repository.touchpoints(), repository.newest_lines(since_ms)
        health = TrackingHealthRepository(connection, store.store_id)
        buyers = _newest_buyers(lines, health.first_touchpoint_hour_ms() or 0)
        unmatched = [
            buyer
            for buyer in buyers
            if not repository.has_impressions_under_buying_id(buyer)
        ]
        other_ids = [
            repository.other_shopper_ids_with_impressions(buyer) for buyer in unmatched
        ]
        times, products = repository.event_times(), repository.unknown_products()
        shares = repository.uncounted_record_counts()
        pictures = PictureRepository(connection, store.store_id)
        counts, failure = pictures.counts(), pictures.most_frequent_failure_reason()
        refused = dict(health.refused_identity_counts(now_ms - DAY_MS))
    issues = list(_identity_issues(touchpoints, buyers, unmatched, other_ids))
    without_name = sum(line.shopper is None for line in lines)
    issues += _orders_without_shopper_issues(len(lines), without_name)
    issues += _touchpoint_issues(touchpoints)
    issues += _unknown_product_issues(products)
    issues += _invented_record_issues(store, shares, now_ms)
    issues += _refused_identity_issues(refused)
    issues += _server_clock_issues(times)
    issues += _picture_issues(store, counts, failure)
    return issues


def _newest_buyers(lines: Sequence[SoldLineShopperIds], since_ms: int) -> list[RecentBuyer]:
    """Return the buyers of the newest lines since then, each once."""
    buyers: dict[str, RecentBuyer] = {}
    for shopper, person, session, ts in lines:
        if shopper is not None and ts >= since_ms and len(buyers) < BUYERS:
            buyers.setdefault(shopper, RecentBuyer(shopper, person or shopper, session, ts))
    return list(buyers.values())


def _identity_issues(
    touchpoints: Sequence[TouchpointToCheck],
    buyers: Sequence[RecentBuyer],
    unmatched: Sequence[RecentBuyer],
    other_ids: Sequence[set[str]],
) -> Iterator[TrackingIssue]:
    if len(buyers) < MIN_RECORDS:
        return
    if not touchpoints:
        message = (
            f"{len(buyers)} shoppers bought in the last 30 days, but no widget reports "
            "what it shows: attribution is zero"
        )
        remedy = "embed the widgets, or send rec-impression and rec-click from your own"
        yield TrackingIssue("no_touches", is_serious=False, message=message, remedy=remedy)
        return
    if len(buyers) - len(unmatched) > MIN_MATCHED_SHARE * len(buyers):
        return
    subject = f"none of the newest {len(buyers)} buyers was"
    if len(unmatched) < len(buyers):
        subject = (
            f"only {len(buyers) - len(unmatched)} of the newest {len(buyers)} buyers were"
        )
    with_other_ids = sum(bool(ids) for ids in other_ids)
    cause = _mismatch_cause(touchpoints, unmatched)
    message = f"{subject} shown a recommendation under the id they buy by: {cause}"
    if with_other_ids:
        example = next(
            (buyer, ids) for buyer, ids in zip(unmatched, other_ids, strict=True) if ids
        )
        message += f" ({with_other_ids} were under another id: {_example_pair(*example)})"
    remedy = (
        "give the widgets the customer id that orders carry (data-customer-id, or user_id "
        "of your own events), letter by letter"
    )
    yield TrackingIssue(
        "identities_differ", is_serious=True, message=message, remedy=remedy
    )


def _mismatch_cause(
    touchpoints: Sequence[TouchpointToCheck], unmatched: Sequence[RecentBuyer]
) -> str:
    anonymous = sum(touchpoint.shopper == touchpoint.session for touchpoint in touchpoints)
    identified = sum(buyer.shopper != buyer.session for buyer in unmatched)
    if anonymous > len(touchpoints) / 2 and identified > len(unmatched) / 2:
        return f"{_ZERO} widgets are anonymous while orders have customer ids"
    if anonymous <= len(touchpoints) / 2 and identified <= len(unmatched) / 2:
        return f"{_ZERO} orders are anonymous while widgets carry customer ids"
    return f"{_ZERO} widgets and orders use different ids for the same shoppers"


def _example_pair(buyer: RecentBuyer, ids: set[str]) -> str:
    return f"{_short(buyer.shopper)} bought, {_short(min(ids))} was shown"


def _short(name: str) -> str:
    """Return the start of an id: its format, without identifying a person."""
    return f"{name[:4]}..." if len(name) > len("s_12") else name


def _orders_without_shopper_issues(
    lines: int, without_name: int
) -> Iterator[TrackingIssue]:
    if lines >= MIN_RECORDS and without_name > ANONYMOUS_SHARE * lines:
        message = (
            f"{round(100 * without_name / lines)} % of the bought order lines name no "
            "shopper: they can never be attributed"
        )
        remedy = "send user_id, or else session_id, with each order"
        yield TrackingIssue(
            "orders_without_shopper", is_serious=True, message=message, remedy=remedy
        )


def _touchpoint_issues(
    touchpoints: Sequence[TouchpointToCheck],
) -> Iterator[TrackingIssue]:
    if len(touchpoints) < MIN_RECORDS:
        return
    unplaced = sum(not touchpoint.is_placed for touchpoint in touchpoints)
    if unplaced > ANONYMOUS_SHARE * len(touchpoints):
        message = (
            f"{round(100 * unplaced / len(touchpoints))} % of impressions and clicks "
            "name no widget or source: attribution cannot be split by them"
        )
        remedy = "send widget and sources (for a click: source) as in the reply"
        yield TrackingIssue(
            "touches_without_place", is_serious=False, message=message, remedy=remedy
        )
    if not any(touchpoint.session for touchpoint in touchpoints):
        message = "no widget sends a session id (pr_sid): visits before a sign-in are lost"
        remedy = "send session_id with every event, in addition to user_id"
        yield TrackingIssue("no_sessions", is_serious=False, message=message, remedy=remedy)
    addresses = sum("@" in touchpoint.shopper for touchpoint in touchpoints)
    if addresses > ANONYMOUS_SHARE * len(touchpoints):
        message = "shoppers are identified by their e-mail addresses"
        remedy = "send your internal customer id instead; pages must not contain addresses"
        yield TrackingIssue(
            "addresses_as_ids", is_serious=False, message=message, remedy=remedy
        )


def _unknown_product_issues(counts: UnknownProductCounts) -> Iterator[TrackingIssue]:
    if (
        counts.references < MIN_RECORDS
        or counts.unknown <= UNKNOWN_SHARE * counts.references
    ):
        return
    message = (
        f"{round(100 * counts.unknown / counts.references)} % of the newest events have "
        f"products that are not in the catalog, such as {counts.example[:60]!r}"
    )
    remedy = "push those items, or send the catalog's ids in events"
    yield TrackingIssue("unknown_products", is_serious=True, message=message, remedy=remedy)


def _invented_record_issues(
    store: Store, shares: UncountedRecordCounts, now_ms: int
) -> Iterator[TrackingIssue]:
    """Yield unusual shares of what anybody can send with the publishable key."""
    if shares.excess >= MIN_RECORDS and shares.excess > INVENTED_SHARE * shares.records:
        message = (
            f"{round(100 * shares.excess / shares.records)} % of the newest events and "
            "order lines come from networks with very many visits a day: everybody's "
            "lists leave them out, reports count them"
        )
        remedy = (
            "leave them out of reports too if somebody invents them; if they are shoppers "
            f"of one large network: productrecs settings {store.domain} network_share=500"
        )
        yield TrackingIssue(
            "crowded_networks",
            is_serious=True,
            message=message,
            remedy=remedy,
            leave_out="excess",
        )
    if store.settings.unconfirmed_orders != "auto" or shares.confirmed_at is None:
        return
    is_current = shares.confirmed_at > now_ms - _MONTH_MS
    is_many = shares.unconfirmed > INVENTED_SHARE * shares.lines
    if is_current and is_many and shares.unconfirmed >= MIN_RECORDS:
        message = (
            f"{shares.unconfirmed:,} of the newest {shares.lines:,} order lines came with "
            "the publishable key, and your server did not confirm them: since it sends "
            "orders, they do not count"
        )
        remedy = "leave out the earlier ones too, unless your server sends only some orders"
        yield TrackingIssue(
            "unconfirmed_orders",
            is_serious=True,
            message=message,
            remedy=remedy,
            leave_out="unconfirmed",
        )


def _refused_identity_issues(refused: Mapping[str, int]) -> Iterator[TrackingIssue]:
    calls = sum(refused.values())
    if calls < MIN_RECORDS:
        return
    reason = max(refused, key=lambda refusal: refused[refusal])
    message = (
        f"{calls:,} calls of today and yesterday carry a signed identity that is refused, "
        f"mostly since {IdentityVerdict[reason.upper()]}: they count as unsigned"
    )
    remedy = (
        "sign again when a page is rendered, with the secret key that is in use and the id "
        "exactly as the page sends it"
    )
    yield TrackingIssue(
        "identities_refused", is_serious=True, message=message, remedy=remedy
    )


def _picture_issues(
    store: Store, counts: PictureCounts, failure: str | None
) -> Iterator[TrackingIssue]:
    total = counts.indexed + counts.pending + counts.failed
    if failure is None or counts.failed <= FAILED_SHARE * total:
        return
    message = (
        f"{counts.failed} of {total} product pictures cannot be fetched ({failure}): "
        "search by photo and similar products leave them out"
    )
    remedy = (
        "make them reachable for this service; it tries again within a week, or at once "
        "with the button on the dashboard's page Products or with "
        f"productrecs pictures retry {store.domain}"
    )
    yield TrackingIssue("pictures_fail", is_serious=False, message=message, remedy=remedy)


def _server_clock_issues(times: Sequence[int]) -> Iterator[TrackingIssue]:
    moments = np.array(times, np.int64)
    back = int((np.maximum.accumulate(moments) - moments).max(initial=0))
    if back > MAX_BACKWARD_MS:
        message = (
            f"its newest events jump back by up to {round(back / MINUTE_MS)} minutes: "
            "the clocks of your machines differ, or one was changed"
        )
        remedy = "synchronise every machine of the service with one time server (NTP)"
        yield TrackingIssue(
            "clocks_differ", is_serious=True, message=message, remedy=remedy
        )
    changes = np.flatnonzero(np.diff(moments))
    longest = int(np.diff(changes, prepend=-1, append=len(times) - 1).max(initial=0))
    if longest >= FROZEN:
        message = (
            f"{longest} events in a row have exactly the same time: the clock is frozen"
        )
        remedy = "unset PRODUCTRECS_NOW, which is for replays"
        yield TrackingIssue(
            "clock_stands_still", is_serious=True, message=message, remedy=remedy
        )
