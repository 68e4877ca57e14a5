"""Product code search: a whole SKU, GTIN or id answers with its product alone."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from productrecs.engines.text.index_schema import exact_key, is_gtin_length
from productrecs.engines.text.search_index import IndexHits, IndexQuery, QueryRelaxation
from productrecs.records.catalog.catalog_view import Mask
from productrecs.training.search.served_index import ServedIndex

_SHORT_CODE: Final = 3  # letters and digits: may be a size or a quantity


def items_with_codes(
    index: ServedIndex, codes: Sequence[str], visible: Mask, limit: int
) -> list[int]:
    """Return up to `limit` visible products that have one of these GTINs, SKUs or ids.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    items = dict[int, None]()
    for code in codes:
        query = IndexQuery(
            index.analyse(code),
            limit,
            visible,
            min_complete=1,
            with_feedback=False,
            by_meaning=False,
        )
        hits = index.find(query)
        items |= dict.fromkeys(hits.items[: hits.exact])
    return list(items)[:limit]


def narrow_to_code_matches(
    index: ServedIndex, query_text: str, visible: Mask, hits: IndexHits
) -> IndexHits:
    """Return the products with the code `query_text` alone; all hits if it may be more.

    Words without a digit, and codes in the title of other products, are more: `iPhone 13`
    may be an id, and a battery is "for DCD771C2". So are short codes and numbers that other
    products have among their words. A GTIN is not.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    key = exact_key(query_text)
    if not hits.exact or not any(map(str.isdigit, key)):
        return hits
    if not is_gtin_length(key):
        is_common = key.isdecimal() or len(key) <= _SHORT_CODE
        if is_common and hits.with_every_word > hits.exact:
            return hits
        exact_items = set(hits.items[: hits.exact])
        titled = index.items_with_phrase_in_title(frozenset({query_text})).tolist()
        if any(
            item < len(visible) and visible[item] and item not in exact_items
            for item in titled
        ):
            return hits
    return replace(
        hits,
        items=hits.items[: hits.exact],
        scores=hits.scores[: hits.exact],
        relaxed=QueryRelaxation.NOTHING,
        with_every_word=hits.exact,
        complete=hits.exact,
        is_code=True,
    )
