"""Pseudo-relevance feedback: reranks deep results by their similarity to the best ones.

Two hundred lamps may all match "lamp" equally. Those that share more words with the first
results come first. There is no training: similarity comes from the catalog's texts.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from productrecs.engines.text.document_frequency import DocumentFrequencies
from productrecs.engines.text.index_schema import TermProfile

FEEDBACK_DEPTH: Final = 36
"""The first results keep their order: they mostly fill the first page."""

RERANK_DEPTH: Final = 200
"""Maximum number of results to rerank: shoppers rarely page further."""

_BEST: Final = 20  # feedback documents, weighted by rank
_SHARE: Final = 0.25  # approximate maximum bonus, as a share of the best score
_LEAD_WEIGHT: Final = 0.5  # weight of the description's beginning relative to the title
_MIN_DOCUMENTS: Final = 2  # minimum number of feedback documents with a stem
_MAX_STEMS: Final = 60
_TOO_COMMON: Final = 0.1  # maximum document frequency of a stem, as a share of products
_MIN_LEAD: Final = 5


def rerank_by_feedback(
    gists: Sequence[TermProfile],
    scores: Sequence[float],
    terms: DocumentFrequencies,
    products: int,
) -> list[float]:
    """Return each hit's score, including its similarity to the best hits.

    Scores are relative to the first one's. Stems are weighted by rarity among all
    `products`.
    """

    def rarity(documents: int) -> float:
        return math.log1p(products / (documents + 0.5))

    def of_title(stem: str) -> float:
        return rarity(terms.counts(stem).title)

    def lead_weight(stem: str) -> float:
        documents = terms.counts(stem).description
        return rarity(documents) if documents < _TOO_COMMON * products else 0.0

    best = gists[:_BEST]
    title = _profile([one.title for one in best], of_title)
    lead = _profile([one.lead for one in best], lead_weight)
    top = scores[0] or 1.0
    return [
        score / top
        + _SHARE
        * (_share(one.title, title, 1) + _LEAD_WEIGHT * _share(one.lead, lead, _MIN_LEAD))
        for score, one in zip(scores, gists, strict=True)
    ]


def _profile(
    best: Sequence[frozenset[str]], rarity: Callable[[str], float]
) -> Mapping[str, float]:
    """Return the term vector of the best hits: stems with weights, L2-normalised."""
    weights = [1.0 / math.log2(place + 2) for place in range(len(best))]
    counts = Counter(stem for stems in best for stem in stems)
    sums: dict[str, float] = {}
    for weight, stems in zip(weights, best, strict=True):
        for stem in stems:
            if counts[stem] >= _MIN_DOCUMENTS:
                sums[stem] = sums.get(stem, 0.0) + weight
    frequent = sorted(sums, key=lambda stem: (-sums[stem], stem))[:_MAX_STEMS]
    profile = {stem: sums[stem] * rarity(stem) for stem in frequent}
    length = math.sqrt(sum(value * value for value in profile.values())) or 1.0
    return {stem: value / length for stem, value in profile.items()}


def _share(stems: frozenset[str], profile: Mapping[str, float], minimum: int) -> float:
    """Return the similarity of a text to the best hits, normalised by its length."""
    common_stems = stems & profile.keys()
    # Sorted, so that the sum does not depend on the hash seed.
    total = math.fsum(profile[stem] for stem in common_stems)
    return total / math.sqrt(max(len(stems), minimum, 1))
