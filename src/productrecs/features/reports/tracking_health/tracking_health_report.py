"""Tracking health report: live events of each hour, and problems in the newest ones."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from productrecs.core.clock import HOUR_MS
from productrecs.core.report import (
    Figure,
    FigureDefinition,
    Report,
    ReportValue,
    define_figure,
    share_of,
)
from productrecs.core.timestamps import iso
from productrecs.features.reports.tracking_health.repository import TrackingHealthRepository
from productrecs.features.reports.tracking_health.tracking_issues import (
    find_tracking_issues,
)
from productrecs.records.events.event import EventKind
from productrecs.records.events.newest_events.repository import UnknownProductCounts
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.shopper_identity import IdentityVerdict
from productrecs.tenancy.accounts.store import Store

HOURS: Final = 48
_DAY_HOURS: Final = 24
_WEEK_HOURS: Final = 7 * 24
_EXAMPLES: Final = 10
_KINDS: Final = tuple(kind for kind in EventKind if kind is not EventKind.BUY)
_COLUMNS: Final = (
    FigureDefinition("hour", "time", "the start of the hour, in UTC"),
    FigureDefinition("events", "count", "live events of all kinds except buy"),
    *(
        FigureDefinition(
            kind.wire_name, "count", (f"of these, events of the kind {kind.wire_name}")
        )
        for kind in _KINDS
    ),
)


def recent_tracking_health_report(
    database: Database, store: Store, max_rows: int, now_ms: int
) -> Report:
    """Return the live events of the last 48 hours, and problems in the newest ones."""
    last_hour = now_ms // HOUR_MS
    first_hour = last_hour - HOURS + 1
    today = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(store.settings.zone)
    yesterday = (today.date() - timedelta(days=1)).isoformat()
    with database.reading() as connection:
        repository = TrackingHealthRepository(connection, store.store_id)
        first_compared = last_hour - _WEEK_HOURS - _DAY_HOURS
        counts = repository.event_counts_by_hour_and_kind(first_compared, last_hour)
        orders, lines = repository.order_and_line_counts(
            yesterday, today.date().isoformat()
        )
        unknown = repository.unknown_products()
        examples = repository.most_named_unknown_items(_EXAMPLES)
        newest, without_order_id = repository.line_count_and_without_order_id()
        bots = repository.bot_event_counts(now_ms - _WEEK_HOURS * HOUR_MS)
        refused = repository.refused_identity_counts(now_ms - _WEEK_HOURS * HOUR_MS)
    figures = [
        *_event_flow_figures(counts, last_hour),
        define_figure("orders", "count", orders, "live orders of today and yesterday"),
        define_figure("lines", "count", lines, "lines bought in them"),
        *_unknown_product_figures(unknown),
        define_figure(
            "lines_without_order",
            "share",
            share_of(without_order_id, newest),
            f"of the newest {newest:,} live order lines, those without an order id",
        ),
        define_figure(
            "bot_events",
            "count",
            sum(count for _, count in bots),
            "events of bots in the last 7 days; they are stored and left out of the rest",
        ),
        define_figure(
            "identities_refused",
            "count",
            sum(count for _, count in refused),
            "calls of the last 7 days whose signed identity is wrong or has expired; they "
            "count as unsigned",
        ),
    ]
    hours = range(last_hour, first_hour - 1, -1)
    return Report(
        name="health",
        title="Data from the store",
        figures=tuple(figures),
        columns=_COLUMNS,
        rows=tuple(_hour_row(hour, counts) for hour in hours)[:max_rows],
        notes=(
            *_bot_notes(bots),
            *_refused_identity_notes(refused),
            *_issue_and_example_notes(database, store, now_ms, examples),
        ),
    )


def event_figures_of_24_hours(
    database: Database, store: Store, now_ms: int
) -> tuple[Figure, ...]:
    """Return the report's first figures: live events of 24 hours and of the week before."""
    last = now_ms // HOUR_MS
    with database.reading() as connection:
        repository = TrackingHealthRepository(connection, store.store_id)
        counts = repository.event_counts_by_hour_and_kind(
            last - _WEEK_HOURS - _DAY_HOURS, last
        )
    return tuple(_event_flow_figures(counts, last))


def events_in_24_hours(database: Database, store: Store, now_ms: int) -> int:
    """Return the number of live events of this hour and the 23 before."""
    (day, *_) = event_figures_of_24_hours(database, store, now_ms)
    return int(day.value or 0)


def _event_flow_figures(
    counts: Mapping[tuple[int, int], int], last_hour: int
) -> Iterator[Figure]:
    day = sum(
        count
        for (hour, _), count in counts.items()
        if last_hour - _DAY_HOURS < hour <= last_hour
    )
    before = last_hour - _WEEK_HOURS
    earlier = sum(
        count for (hour, _), count in counts.items() if before - _DAY_HOURS < hour <= before
    )
    yield define_figure(
        "events_24h", "count", day, "live events of this hour and the 23 before"
    )
    yield define_figure(
        "events_week_ago", "count", earlier, "live events of the same hours a week ago"
    )
    yield define_figure(
        "change", "share", share_of(day - earlier, earlier), ("change between the two")
    )


def _unknown_product_figures(counts: UnknownProductCounts) -> Iterator[Figure]:
    yield define_figure(
        "unknown_items",
        "share",
        share_of(counts.unknown, counts.references),
        f"of the newest {counts.references:,} live events with a product, those whose "
        "product is not in the catalog now",
    )


def _hour_row(hour: int, counts: Mapping[tuple[int, int], int]) -> tuple[ReportValue, ...]:
    kinds = [counts.get((hour, int(kind)), 0) for kind in _KINDS]
    return (iso(hour * HOUR_MS), sum(kinds), *kinds)


def _bot_notes(bots: list[tuple[str, int]]) -> Iterator[str]:
    if bots:
        examples_text = ", ".join(f"{name} ({count:,})" for name, count in bots[:_EXAMPLES])
        yield f"Bots of the last 7 days: {examples_text}."


def _refused_identity_notes(refused: list[tuple[str, int]]) -> Iterator[str]:
    if refused:
        reasons = "; ".join(
            f"{IdentityVerdict[reason.upper()]} ({count:,})" for reason, count in refused
        )
        yield f"Signed identities refused in the last 7 days: {reasons}."


def _issue_and_example_notes(
    database: Database, store: Store, now_ms: int, examples: list[tuple[str, int]]
) -> Iterator[str]:
    if examples:
        examples_text = ", ".join(f"{item[:60]!r} ({count})" for item, count in examples)
        yield f"Products that are not in the catalog: {examples_text}."
    for issue in find_tracking_issues(database, store, now_ms):
        yield f"{issue.message}: {issue.remedy}."
