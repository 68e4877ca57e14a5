"""What do people search for, what do they find, and what do they click on?

Searches are counted as they are answered, one an intent however many letters it took;
clicks are the `search-click` events with their words. What cannot be told is None, which is
not 0.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import Final

from productrecs.engines.text.intent import intent_of
from productrecs.engines.text.language import Language
from productrecs.features.search.repository import Click, SearchClickRepository
from productrecs.records.searches.repository import OTHERS, Count, SearchCountRepository
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


_NOTHING: Final = QueryInsight("", 0, 0, 0, 0, 0, 0)


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
    first, last = days
    since_ms, until_ms = _bounds(first, last, store.settings.zone)
    with database.reading() as connection:
        counts = SearchCountRepository(connection, store.store_id).of_days(first, last)
        repository = SearchClickRepository(connection, store.store_id)
        clicks = list(repository.clicks(since_ms, until_ms))
        image_clicks = repository.image_clicks(since_ms, until_ms)
    by_intent = _together(counts, clicks, Language(store.settings.language), store)
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
    )


def _is_wanted(one: QueryInsight, which: Which) -> bool:
    if which is Which.NO_RESULTS:
        return one.empty > 0
    if which is Which.NO_CLICKS:
        return one.searches > one.empty and not one.clicks
    return True


def _together(
    counts: Mapping[tuple[str, str], Count],
    clicks: Iterable[Click],
    language: Language,
    store: Store,
) -> dict[str, QueryInsight]:
    """Return what is known of each intent."""
    searched: dict[str, Count] = {}
    for (_day, intent), count in counts.items():
        before = searched.get(intent)
        searched[intent] = count if before is None else before.plus(count)
    intents: dict[str, str] = {}
    clicked: dict[str, list[Click]] = defaultdict(list)
    for click in clicks:
        if click.term not in intents:
            is_told = "@" not in click.term  # else it is counted with the others
            intents[click.term] = intent_of(click.term, language) if is_told else OTHERS
        clicked[intents[click.term]].append(click)
    return {
        intent: _insight(searched.get(intent), clicked.get(intent, []), store.settings.zone)
        for intent in searched.keys() | clicked.keys()
    }


def _insight(count: Count | None, clicks: list[Click], zone: tzinfo) -> QueryInsight:
    days = {
        (
            click.shopper,
            datetime.fromtimestamp(click.ts / 1000, UTC).astimezone(zone).date(),
        )
        for click in clicks
    }
    told = [click.position for click in clicks if click.position is not None]
    text = count.text if count else (clicks[-1].term if clicks else "")
    return QueryInsight(
        text=text,
        searches=count.searches if count else 0,
        empty=count.empty if count else 0,
        clicks=len(clicks),
        clicked=len(days),
        positions=len(told),
        position_sum=sum(told),
    )


def _day(ts: int, zone: tzinfo) -> date:
    return datetime.fromtimestamp(ts / 1000, UTC).astimezone(zone).date()


def _sum(insights: Iterable[QueryInsight]) -> QueryInsight:
    total = _NOTHING
    for one in insights:
        total = QueryInsight(
            "",
            total.searches + one.searches,
            total.empty + one.empty,
            total.clicks + one.clicks,
            total.clicked + one.clicked,
            total.positions + one.positions,
            total.position_sum + one.position_sum,
        )
    return total


def _bounds(first: str, last: str, zone: tzinfo) -> tuple[int, int]:
    """Return the milliseconds in which days of a zone begin and end, the end excluded."""
    begins = datetime.combine(date.fromisoformat(first), time.min, zone)
    following = date.fromisoformat(last)
    if following < date.max:
        following += timedelta(days=1)
    ends = datetime.combine(following, time.min, zone)
    return int(begins.timestamp() * 1000), int(ends.timestamp() * 1000)
