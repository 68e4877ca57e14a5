"""Catalog search: every product that matches a query, hidden ones included, for merchants.

Shoppers' search leaves out what cannot be shown and obeys rules; a merchant looks for a
product because of just that.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from productrecs.engines.arrays import Ints
from productrecs.engines.text.search_index import IndexQuery
from productrecs.features.search.request import truncate_query
from productrecs.records.catalog.catalog_view import CatalogView, Mask
from productrecs.training.search.served_index import ServedIndex

MOST_FOUND: Final = 1_000


@dataclass(frozen=True, slots=True)
class CatalogMatches:
    """The item numbers of one page, and how many products match in all."""

    items: list[int]
    total: int
    is_cut: bool  # whether more match than can be paged through


def search_catalog(
    catalog: CatalogView,
    index: ServedIndex,
    text: str,
    among: Mask,
    page: slice,
) -> CatalogMatches:
    """Return one page of the products in `among` that match `text`, best first.

    A product with exactly this id comes first, also before it is indexed; then the order
    is that of the search's own index, which knows ids, SKUs and words. Without a text all
    of `among` is listed, the newest first.

    Raises:
        BrokenIndexError: when the index turns out to be damaged.
    """
    query = truncate_query(text).strip()
    if not query:
        numbers = _newest_first(catalog, among)
        return CatalogMatches(numbers[page].tolist(), len(numbers), is_cut=False)
    words = index.analyse(query)
    wanted = IndexQuery(
        words, MOST_FOUND, among, enough=1, by_likeness=False, by_meaning=False
    )
    found = dict.fromkeys(index.find(wanted).items)
    named = catalog.number(query)
    if named is not None and named < len(among) and among[named]:
        found = {named: None, **found}
    items = list(found)
    return CatalogMatches(items[page], len(items), is_cut=len(items) >= MOST_FOUND)


def _newest_first(catalog: CatalogView, among: Mask) -> Ints:
    numbers = np.flatnonzero(among)
    order: Ints = numbers[np.lexsort((-numbers, -catalog.created[numbers]))]
    return order
