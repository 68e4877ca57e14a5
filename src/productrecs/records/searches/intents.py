"""Search intents: queries with one intent are counted together."""

from collections.abc import Mapping
from typing import Final

from productrecs.engines.text.language import Language
from productrecs.engines.text.query import AnalysedQuery
from productrecs.records.searches.repository import OTHERS, Count
from productrecs.records.searches.tally import Searched

_LONGEST: Final = 256


def counted_by_intent(
    searches: Mapping[Searched, int], language: Language
) -> dict[str, Count]:
    """Return how often each intent was searched for, and by whom."""
    by_intent: dict[str, Count] = {}
    for search, times in searches.items():
        # Whoever searches for an address of mail is not to be read in a report.
        is_told = "@" not in search.text
        intent = AnalysedQuery.of(search.text, language).intent if is_told else OTHERS
        text = search.text if is_told and intent else ""
        named = frozenset[int]() if search.shopper is None else frozenset((search.shopper,))
        one = Count(
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
