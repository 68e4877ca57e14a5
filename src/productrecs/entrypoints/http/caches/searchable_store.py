"""Searchable store: what a search needs of a store in memory."""

from productrecs.entrypoints.http.caches.store_cache import CachedStore
from productrecs.features.search.product_search import SearchableStore
from productrecs.records.merchandising.rule import ListKind


def searchable_store(opened: CachedStore) -> SearchableStore:
    """Return the search state of a store at this moment."""
    shop = opened.shop
    models, book = shop.models, shop.book
    return SearchableStore(
        catalog=shop.catalog,
        index=opened.index,
        ranks=models.ranks,
        trending=len(models.trending),
        said=opened.said,
        rules=None if book is None else book.of(ListKind.SEARCH),
        factors=None if book is None else book.naming(ListKind.SEARCH).factors,
        sold_out=shop.settings.search_sold_out,
        choices=models.choices,
        told_language=shop.settings.language,
    )
