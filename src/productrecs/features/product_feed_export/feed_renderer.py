"""Feed renderer: one store's products as the text of a feed, with labels and variants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.features.product_feed_export.feed_entries import (
    FeedFormat,
    FeedProductCounts,
    ProductLabeller,
    select_and_count_feed_entries,
)
from productrecs.features.product_feed_export.feed_formats import (
    FeedSeller,
    feed_lines,
    longest_id,
)
from productrecs.records.catalog.item import with_absolute_urls
from productrecs.records.catalog.repository import CatalogRepository

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from productrecs.engines.array_types_and_sorting import Ints, Items
    from productrecs.records.catalog.catalog_view import CatalogView
    from productrecs.records.catalog.item import Item
    from productrecs.storage.sql.database import Database
    from productrecs.tenancy.accounts.store import Store

_PAGE: Final = 500
_MIN_WITH_COST: Final = 9  # products, for three classes of margin


@dataclass(frozen=True, slots=True)
class ProductFeedRenderer:
    """Renders the products that a store sells at a time (UTC ms) as feeds.

    `trending` are sold items, best first. `stock_labels` are those of products
    with a demand forecast.
    """

    database: Database
    store: Store
    catalog: CatalogView
    trending: Items
    stock_labels: Mapping[str, str]
    now_ms: int

    def render_lines_and_count(
        self, feed: FeedFormat, counts: FeedProductCounts
    ) -> Iterator[str]:
        """Yield the text of a feed, and count its products; blocks while it reads.

        Raises:
            StorageError: when the database cannot be read.
        """
        settings = self.store.settings
        seller = FeedSeller(self.store.domain, f"{self._shop_url}/", settings.currency)
        products = select_and_count_feed_entries(
            self._visible_items_with_group(),
            self._build_labeller(),
            longest_id(feed),
            counts,
        )
        return feed_lines(feed, products, seller)

    def _visible_items_with_group(self) -> Iterator[tuple[Item, str]]:
        """Yield the products that pages show, variants together, each with its group."""
        catalog = self.catalog
        numbers = np.flatnonzero(catalog.visible(self.now_ms, hide_sold_out=False))
        groups = catalog.variant_groups.groups_of(numbers)
        firsts = _first_item_of_own_group(numbers, groups)
        order = np.lexsort((numbers, firsts))
        for begin in range(0, len(order), _PAGE):
            chosen = order[begin : begin + _PAGE]
            rows = zip(
                numbers[chosen].tolist(),
                firsts[chosen].tolist(),
                groups[chosen].tolist(),
                strict=True,
            )
            group_ids = {
                item_id: (catalog.ids[first] or "") if group else ""
                for number, first, group in rows
                if (item_id := catalog.ids[number]) is not None
            }
            with self.database.reading() as connection:
                repository = CatalogRepository(connection, self.store.store_id)
                stored_items = repository.find(group_ids)
            for item_id, group_id in group_ids.items():
                stored = stored_items.get(item_id)
                if stored is not None and stored.present:
                    yield with_absolute_urls(stored.item, self.store.domain), group_id

    @property
    def _shop_url(self) -> str:
        return f"https://{self.store.domain}"

    def _build_labeller(self) -> ProductLabeller:
        ranks = {
            item_id: rank
            for rank, number in enumerate(self.trending.tolist())
            if number < len(self.catalog) and (item_id := self.catalog.ids[number])
        }
        with self.database.reading() as connection:
            shares = CatalogRepository(connection, self.store.store_id).margin_shares()
        limits: tuple[float, float] | None = None
        if len(shares) >= _MIN_WITH_COST:
            low, high = np.quantile(shares, [1 / 3, 2 / 3]).tolist()
            limits = (low, high)
        return ProductLabeller(ranks, self.stock_labels, limits)


def _first_item_of_own_group(numbers: Ints, groups: Ints) -> Ints:
    """Return for each item the first item of its variant group; itself without one."""
    firsts = numbers.copy()
    _, first_places, places = np.unique(groups, return_index=True, return_inverse=True)
    has_variants = groups != 0
    firsts[has_variants] = numbers[first_places[places]][has_variants]
    return firsts
