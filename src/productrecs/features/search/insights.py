"""What do people search for, what do they find, click on, and buy?

Searches are counted as they are answered, one an intent however many letters it took;
clicks are the `search-click` events with their words, and what followed them is what
attribution found in the log. What cannot be told is None, which is not 0.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from productrecs.features.search.repository import Clicks, Credits, SearchClickRepository
from productrecs.records.searches.repository import (
    OTHERS,
    PICTURES,
    Count,
    SearchCountRepository,
)
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.store import Store


class Which(StrEnum):
    """Which searches to list."""

    ALL = "all"  # what was searched for most
    NO_RESULTS = "no-results"
    NO_CLICKS = "no-clicks"  # that found something which nobody clicked on


@dataclass(frozen=True, slots=True)
class QueryInsight:
    """What came of one intent."""

    text: str  # as somebody typed it; empty: all that is not told apart
    searches: int
    empty: int
    clicks: int
    clicked: int  # distinct shoppers and days with a click
    positions: int  # clicks that told one
    position_sum: int
    carts: int  # of products clicked on among its results before, as are the next
    sales: int  # lines bought, no returns
    units: int  # returns taken off
    revenue: float  # returns taken off, in the store's currency

    @property
    def revenue_per_search(self) -> float | None:
        """What a search led to, on average; None where none was counted."""
        return self.revenue / self.searches if self.searches else None

    @property
    def click_through(self) -> float | None:
        """The share of searches that led to a click; None where none was counted."""
        return min(1.0, self.clicked / self.searches) if self.searches else None

    @property
    def mean_position(self) -> float | None:
        """Where in the list was clicked, from 1; None where no click told."""
        return self.position_sum / self.positions if self.positions else None

    @property
    def empty_share(self) -> float | None:
        """The share of searches that found nothing; None where none was counted."""
        return self.empty / self.searches if self.searches else None


@dataclass(frozen=True, slots=True)
class SearchInsights:
    """What came of all searches of some days, and of the listed ones each."""

    total: QueryInsight
    intents: int
    image_clicks: int
    queries: list[QueryInsight]
    more: int  # that would have been listed too
    behind: int  # records whose clicks and sales are not counted yet


_NO_COUNT: Final = Count("", 0, 0)
_NO_CLICKS: Final = Clicks("", 0, 0, 0, 0)
_NO_CREDITS: Final = Credits(0, 0, 0, 0.0)


def search_insights(
    database: Database,
    store: Store,
    days: tuple[str, str],
    which: Which = Which.ALL,
    limit: int = 100,
) -> SearchInsights:
    """Return what was searched for from the first to the last of `days` (2026-03-01).

    Both are days of the store's zone. The searches that were made most come first.
    """
    with database.reading() as connection:
        counts = SearchCountRepository(connection, store.store_id).of_days(*days)
        repository = SearchClickRepository(connection, store.store_id)
        clicks, behind = repository.clicks(*days), repository.behind()
        credited = repository.credits(*days, store.settings.currency)
    image_clicks = clicks.pop(PICTURES, _NO_CLICKS).clicks
    by_intent = {
        intent: _insight(
            intent,
            counts.get(intent, _NO_COUNT),
            clicks.get(intent, _NO_CLICKS),
            credited.get(intent, _NO_CREDITS),
        )
        for intent in counts.keys() | clicks.keys() | credited.keys()
    }
    listed = [one for intent, one in by_intent.items() if intent != OTHERS]
    chosen = sorted(
        (one for one in listed if _is_wanted(one, which)),
        key=lambda one: (-one.searches, -one.clicks, one.text),
    )
    return SearchInsights(
        total=_sum(by_intent.values()),
        intents=len(listed),
        image_clicks=image_clicks,
        queries=chosen[:limit],
        more=max(0, len(chosen) - limit),
        behind=behind,
    )


def _is_wanted(one: QueryInsight, which: Which) -> bool:
    if which is Which.NO_RESULTS:
        return one.empty > 0
    if which is Which.NO_CLICKS:
        return one.searches > one.empty and not one.clicks
    return True


def _insight(intent: str, count: Count, clicks: Clicks, credited: Credits) -> QueryInsight:
    return QueryInsight(
        text=count.text or clicks.text or intent,
        searches=count.searches,
        empty=count.empty,
        clicks=clicks.clicks,
        clicked=clicks.shoppers,
        positions=clicks.positions,
        position_sum=clicks.position_sum,
        carts=credited.carts,
        sales=credited.lines,
        units=credited.units,
        revenue=credited.revenue,
    )


def _sum(insights: Iterable[QueryInsight]) -> QueryInsight:
    every = list(insights)
    return QueryInsight(
        "",
        searches=sum(one.searches for one in every),
        empty=sum(one.empty for one in every),
        clicks=sum(one.clicks for one in every),
        clicked=sum(one.clicked for one in every),
        positions=sum(one.positions for one in every),
        position_sum=sum(one.position_sum for one in every),
        carts=sum(one.carts for one in every),
        sales=sum(one.sales for one in every),
        units=sum(one.units for one in every),
        revenue=math.fsum(one.revenue for one in every),
    )
