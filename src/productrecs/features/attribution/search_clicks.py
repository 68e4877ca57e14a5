"""Search clicks: clicks on search results by query, and how many shoppers clicked."""

from collections import defaultdict
from typing import Final

import numpy as np

from productrecs.core.cache_registry import RegisteredCache
from productrecs.engines.hyperloglog import (
    EMPTY_SKETCH,
    cardinality,
    merge,
    sketch,
)
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.features.attribution.daily_sums import (
    DailySearchClicks,
    LocalDayMapper,
)
from productrecs.features.attribution.repository import (
    AttributionRepository,
    SearchClickColumns,
    SearchKey,
)
from productrecs.features.attribution.touchpoint_index import VisitorHashCache
from productrecs.records.events.event import EventKind
from productrecs.records.search_counts.repository import OTHER_INTENTS, PHOTO_SEARCHES
from productrecs.records.search_counts.search_counter import search_intent

_IMAGE: Final = int(EventKind.IMAGE_SEARCH_CLICK)


class IntentByTerm(dict[str, str]):
    """The intents of recent queries, in one language."""

    def __init__(self, language: str) -> None:
        """Start empty."""
        super().__init__()
        self._language = LanguageAnalyzer(language)

    def __missing__(self, term: str) -> str:
        """Compute the intent of a query."""
        if len(self) >= RegisteredCache.QUERY_INTENTS.limit:
            self.clear()
        intent = self[term] = search_intent(term, self._language)
        return intent


def updated_daily_search_clicks(
    repository: AttributionRepository,
    clicks: SearchClickColumns,
    codes: VisitorHashCache,
    days: LocalDayMapper,
    intents: IntentByTerm,
) -> list[DailySearchClicks]:
    """Return the updated rows of the days and intents that `clicks` belong to."""
    rows: dict[SearchKey, list[int]] = defaultdict(list)
    for row, (ts, kind, term) in enumerate(
        zip(clicks.times, clicks.kinds, clicks.terms, strict=True)
    ):
        if kind == _IMAGE or term:
            intent = PHOTO_SEARCHES if kind == _IMAGE else intents[term or ""]
            rows[days.day_of(ts), intent].append(row)
    stored = {
        (search_day.day, search_day.intent): search_day
        for search_day in repository.daily_search_clicks(rows)
    }
    shoppers = codes.of(clicks.shoppers)
    changed = []
    for key, click_rows in rows.items():
        previous = stored.get(key, DailySearchClicks(*key, "", 0, 0, 0, 0, EMPTY_SKETCH))
        shopper_sketch = merge(
            (previous.shopper_sketch, sketch(shoppers[np.array(click_rows)]))
        )
        positions = [clicks.positions[row] for row in click_rows]
        known_positions = [position for position in positions if position is not None]
        has_own_shoppers = key[1] not in {OTHER_INTENTS, PHOTO_SEARCHES}
        changed.append(
            DailySearchClicks(
                *key,
                text=(clicks.terms[click_rows[-1]] or "") if has_own_shoppers else "",
                clicks=previous.clicks + len(click_rows),
                shoppers=cardinality(shopper_sketch),
                positions=previous.positions + len(known_positions),
                position_sum=previous.position_sum + sum(known_positions),
                shopper_sketch=shopper_sketch,
            )
        )
    return changed
