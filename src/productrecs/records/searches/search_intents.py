"""Search intents: queries with one intent are counted together."""

from collections.abc import Mapping
from typing import Final

from productrecs.engines.text.analysed_query import AnalysedQuery
from productrecs.engines.text.stemming import LanguageAnalyzer
from productrecs.records.searches.repository import OTHER_INTENTS, SearchCount
from productrecs.records.searches.search_counter import ObservedSearch

_LONGEST: Final = 256


def count_by_intent(
    searches: Mapping[ObservedSearch, int], language: LanguageAnalyzer
) -> dict[str, SearchCount]:
    """Return how often each intent was searched for, and by whom."""
    by_intent: dict[str, SearchCount] = {}
    for search, times in searches.items():
        # Email addresses are personal data: no report shows them.
        is_reportable = "@" not in search.text
        intent = (
            AnalysedQuery.of(search.text, language).intent
            if is_reportable
            else OTHER_INTENTS
        )
        text = search.text if is_reportable and intent else ""
        named = frozenset[int]() if search.shopper is None else frozenset((search.shopper,))
        one = SearchCount(
            text,
            searches=times,
            empty=times if search.is_empty else 0,
            unnamed=0 if named else times,
            shoppers=named,
        )
        intent = intent[:_LONGEST]
        known = by_intent.get(intent)
        by_intent[intent] = one if known is None else known.plus(one)
    return by_intent
