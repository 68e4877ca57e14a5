"""Photo search: products by a photo's barcode, by the words printed on it, and by its look.

A barcode names its product. Printed words are compared with titles and codes, and what they
show is added to the similarity of the pictures.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from productrecs.engines.text.search_index import IndexQuery
from productrecs.engines.text.tokenizer import is_code, query_words
from productrecs.engines.text.vocabulary import edit_distance
from productrecs.features.search.hits_and_variant_collapse import Hit
from productrecs.features.search.product_code_search import items_with_codes
from productrecs.features.search.product_search import truncate_query
from productrecs.records.catalog.catalog_view import CatalogView, Mask
from productrecs.training.search.served_index import ServedIndex
from productrecs.training.visual.photo_matcher import PhotoSearch

_MIN_LETTERS: Final = 3  # a shorter word is a part of another, or noise
_MIN_LETTERS_TO_CORRECT: Final = 5
_MIN_CODE: Final = 5  # letters and digits of a code that is looked up
_MAX_WORDS: Final = 16  # the largest printed words are searched for
_CANDIDATES: Final = 60
_SIMILAR: Final = 50  # similar products that printed words may reorder
_CORRECTED: Final = 0.8  # share of a word of which one letter was misread
_TITLE_WORDS: Final = 5  # rarest words of a title of which all count as the whole title
_MIN_EVIDENCE: Final = 0.3  # below this share of a title the words are chance


def find_products_by_photo(
    photo: bytes,
    photo_search: PhotoSearch,
    index: ServedIndex,
    catalog: CatalogView,
    visible: Mask,
    num: int,
) -> list[Hit]:
    """Return up to `num` visible products, best first; scores are 0 to 1.

    A product whose barcode the photo shows comes first, with a score of 1; without indexed
    pictures it is the only one. Where the photo shows text, the share of a product's title
    in it is added to the similarity.

    Raises:
        UnreadablePictureError: when it is not a picture, or decoding exceeds a limit.
        PictureTooLargeError: when it has too many pixels.
        BrokenIndexError: when the search index is damaged.
    """
    photo_result = photo_search.similar_items(photo, max(num, _SIMILAR), visible)
    ranked = photo_result.ranked
    similar = dict(zip(ranked.items.tolist(), ranked.scores.tolist(), strict=True))
    evidence = printed_evidence(photo_result.lines, index, catalog, visible)
    if evidence:
        similar = _add_evidence(similar, evidence)
    hits = dict.fromkeys(items_with_codes(index, photo_result.codes, visible, num), 1.0)
    for item, score in similar.items():
        hits.setdefault(item, score)
    return [Hit(*pair) for pair in islice(hits.items(), num)]


def _add_evidence(
    similar: Mapping[int, float], evidence: Mapping[int, float]
) -> dict[int, float]:
    """Return both together, best first; their sum is capped at 1, and scores fall."""
    sums = {
        item: similar.get(item, 0.0) + evidence.get(item, 0.0)
        for item in dict.fromkeys([*similar, *evidence])
    }
    order = sorted(sums, key=lambda item: -sums[item])  # stable: similarity breaks ties
    return {item: min(1.0, sums[item]) for item in order}


def printed_evidence(
    lines: Sequence[str], index: ServedIndex, catalog: CatalogView, visible: Mask
) -> dict[int, float]:
    """Return products by how much of their titles is printed, 0 to 1.

    A product whose code is printed has 1. The title's words are weighted by their rarity
    among the candidates: the brand of ten candidates says less than the flavour of one.

    Raises:
        BrokenIndexError: when the search index is damaged.
    """
    printed = list(dict.fromkeys(word for line in lines for word in query_words(line)))
    words = [word for word in printed if len(word) >= _MIN_LETTERS or is_code(word)]
    if not words:
        return {}
    codes = [
        code
        for code in dict.fromkeys(code for line in lines for code in line.split())
        if is_code(code) and len(code) >= _MIN_CODE
    ]
    evidence = dict.fromkeys(items_with_codes(index, codes, visible, _CANDIDATES), 1.0)
    for item, share in _printed_title_shares(words, index, catalog, visible).items():
        evidence.setdefault(item, share)
    return evidence


def _printed_title_shares(
    words: Sequence[str], index: ServedIndex, catalog: CatalogView, visible: Mask
) -> dict[int, float]:
    query = IndexQuery(
        index.analyse(truncate_query(" ".join(words[:_MAX_WORDS]))),
        _CANDIDATES,
        visible,
        with_feedback=False,
        by_meaning=False,
    )
    titles = {item: _title_words(catalog, item) for item in index.find(query).items}
    counts = Counter(word for title in titles.values() for word in title)
    matches = {word: _printed_word_score(word, words) for word in counts}
    shares = {
        item: _printed_share_of_title(title, matches, counts, len(titles))
        for item, title in titles.items()
    }
    return {item: share for item, share in shares.items() if share >= _MIN_EVIDENCE}


def _title_words(catalog: CatalogView, item: int) -> frozenset[str]:
    """Return the words of a product's title and brand."""
    brand = " ".join(catalog.attributes.attributes_of(item).get("brand", ()))
    return frozenset(query_words(f"{catalog.title(item)} {brand}"))


def _printed_share_of_title(
    title: Iterable[str],
    matches: Mapping[str, float],
    counts: Mapping[str, int],
    title_count: int,
) -> float:
    weights = {word: math.log1p(title_count / counts[word]) for word in title}
    whole = sum(sorted(weights.values(), reverse=True)[:_TITLE_WORDS])
    matched = sum(weight * matches[word] for word, weight in weights.items())
    return min(1.0, matched / whole) if whole else 0.0


def _printed_word_score(word: str, printed: Sequence[str]) -> float:
    """Return 1 for a printed word, less for a misread one, else 0.

    Text detection often joins words, so a long word may be part of a printed one.
    """
    if word in printed:
        return 1.0
    if len(word) < _MIN_LETTERS_TO_CORRECT or is_code(word):
        return 0.0
    for other in printed:
        if word in other:
            return 1.0
        is_near = abs(len(word) - len(other)) <= 1 and edit_distance(word, other) <= 1
        if is_near:
            return _CORRECTED
    return 0.0
