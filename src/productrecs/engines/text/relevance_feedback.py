"""Relevance feedback: how similar search hits are to the best ones, by their stems.

Two hundred lamps may all match "lamp" equally. Those that share more words with the first
results come first. There is no training: similarity comes from the catalog's texts.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from productrecs.engines.text.index_schema import ProductStems
from productrecs.engines.text.vocabulary import DocumentFrequencies

_FEEDBACK_DOCUMENTS: Final = 20  # feedback documents, weighted by rank
_MAX_BONUS: Final = 0.5  # approximate maximum bonus, as a share of the best score
_LEAD_WEIGHT: Final = 0.5  # weight of the description's beginning relative to the title
_MIN_DOCUMENTS: Final = 2  # minimum number of feedback documents with a stem
_MAX_STEMS: Final = 60
_TOO_COMMON: Final = 0.1  # maximum document frequency of a stem, as a share of products
_MIN_LEAD: Final = 5


def feedback_scores(
    profiles: Sequence[ProductStems],
    scores: Sequence[float],
    terms: DocumentFrequencies,
    product_count: int,
) -> list[float]:
    """Return each hit's score, including its similarity to the best hits.

    Scores are relative to the first one's. Stems are weighted by rarity among all
    `product_count`.
    """

    def rarity(documents: int) -> float:
        return math.log1p(product_count / (documents + 0.5))

    def title_weight(stem: str) -> float:
        return rarity(terms.counts(stem).title)

    def lead_weight(stem: str) -> float:
        documents = terms.counts(stem).description
        return rarity(documents) if documents < _TOO_COMMON * product_count else 0.0

    best_profiles = profiles[:_FEEDBACK_DOCUMENTS]
    title_vector = _best_hits_vector(
        [profile.title for profile in best_profiles], title_weight
    )
    lead_vector = _best_hits_vector(
        [profile.lead for profile in best_profiles], lead_weight
    )
    top_score = scores[0] or 1.0
    return [
        score / top_score
        + _MAX_BONUS
        * (
            _similarity(profile.title, title_vector, 1)
            + _LEAD_WEIGHT * _similarity(profile.lead, lead_vector, _MIN_LEAD)
        )
        for score, profile in zip(scores, profiles, strict=True)
    ]


def _best_hits_vector(
    best_documents: Sequence[frozenset[str]], rarity: Callable[[str], float]
) -> Mapping[str, float]:
    """Return the term vector of the best hits: stems with weights, L2-normalised."""
    weights = [1.0 / math.log2(rank + 2) for rank in range(len(best_documents))]
    counts = Counter(stem for stems in best_documents for stem in stems)
    sums: dict[str, float] = {}
    for weight, stems in zip(weights, best_documents, strict=True):
        for stem in stems:
            if counts[stem] >= _MIN_DOCUMENTS:
                sums[stem] = sums.get(stem, 0.0) + weight
    frequent = sorted(sums, key=lambda stem: (-sums[stem], stem))[:_MAX_STEMS]
    vector = {stem: sums[stem] * rarity(stem) for stem in frequent}
    length = math.sqrt(sum(value * value for value in vector.values())) or 1.0
    return {stem: value / length for stem, value in vector.items()}


def _similarity(
    stems: frozenset[str], vector: Mapping[str, float], min_length: int
) -> float:
    """Return the similarity of a text to the best hits, normalised by its length."""
    common_stems = stems & vector.keys()
    # Sorted, so that the sum does not depend on the hash seed.
    total = math.fsum(vector[stem] for stem in common_stems)
    return total / math.sqrt(max(len(stems), min_length, 1))
