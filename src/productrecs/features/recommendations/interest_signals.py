"""Interest signals: candidates from the categories and searches that a shopper viewed."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from productrecs.core.caches import Cache, memoized
from productrecs.engines.arrays import Ranked
from productrecs.engines.fusion import fuse
from productrecs.engines.text.analysed_query import AnalysedQuery
from productrecs.engines.text.stemming import LanguageAnalyzer
from productrecs.features.recommendations.eligible_items import EligibleItems
from productrecs.records.events.event import EventKind, interest_key

_WEIGHT: Final = 0.8  # of a sign that is the last thing done, beside the visit itself
_FADING: Final = 0.85  # with everything done since
_OLDEST: Final = 20  # things done since, after which it says nothing
_SIGNS: Final = 3
_OF_CATEGORY: Final = 20

InterestSignal = tuple[int, str, int]
"""A kind of event, its term, and how many things were done with products since."""


def with_interest_signals(
    visit: Ranked, looks: Sequence[InterestSignal], eligible: EligibleItems, language: str
) -> Ranked:
    """Return the visit's candidates fused with those of its interest signals."""
    lists, weights = [visit.items], [1.0]
    for look in looks[:_SIGNS]:
        items = _told_by(look, eligible, language)
        if items and look[2] <= _OLDEST:
            lists.append(np.array(items, dtype=np.int32))
            weights.append(_WEIGHT * _FADING ** look[2])
    if len(lists) == 1:
        return visit
    fused = fuse(lists, weights)
    return Ranked(fused.items, fused.scores.astype(np.float32))


def _told_by(look: InterestSignal, eligible: EligibleItems, language: str) -> list[int]:
    """Return what others chose after this signal, then the category's top items."""
    kind, term, _ = look
    if kind == EventKind.SEARCH_PREF:
        choices = eligible.models.choices
        if not len(choices):
            return []
        return list(choices.lifts_of(AnalysedQuery.of(term, _language(language)).intent))
    learned = list(eligible.models.signs.lifts_of(interest_key(kind, term)))
    if kind != EventKind.CATEGORY_VIEW:
        return learned
    of_category = eligible.best_of_category(term.strip())[:_OF_CATEGORY]
    return list(dict.fromkeys([*learned, *of_category]))


@memoized(Cache.LANGUAGES)
def _language(tag: str) -> LanguageAnalyzer:
    return LanguageAnalyzer(tag)
