"""Assistant catalog: what a store's pages show, found for shopping assistants.

It is the same search as in the shop. Variants of a product are one result. A product
without a price is left out, as the protocol has none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from productrecs.core.currency_digits import digits_after_point
from productrecs.features.assistants.catalog_calls import (
    MAX_OFFSET,
    CatalogLookupCall,
    CatalogProductCall,
    CatalogSearchCall,
    cursor_after,
)
from productrecs.features.assistants.catalog_products import (
    GROUP_PREFIX,
    OfferedItem,
    OfferedProduct,
    ProductSerializer,
    build_offered_product,
    matching_variants,
    relax_selection,
)
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.trending import trending_picks_without_rules
from productrecs.features.search.photo_search import find_products_by_photo
from productrecs.features.search.product_search import (
    SearchRequest,
    truncate_query,
)
from productrecs.features.search.results_page import (
    MAX_FILTERED,
    ResultsPage,
    ResultsPageRequest,
    results_page,
)
from productrecs.records.catalog.availability import effective_availability
from productrecs.records.catalog.item import with_absolute_urls
from productrecs.records.catalog.item_filters import (
    Filters,
    PriceRange,
    filter_masks,
)
from productrecs.records.catalog.price_lists import (
    PriceListNameError,
    UnknownPriceListError,
)
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.pictures.fetch_picture import absolute_url
from productrecs.serving.cached_store import CachedStore, searchable_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from productrecs.features.assistants.catalog_calls import CatalogCall
    from productrecs.features.looks.look import Look
    from productrecs.features.search.product_search import SearchableStore
    from productrecs.records.catalog.catalog_view import CatalogView, Mask
    from productrecs.records.catalog.repository import StoredItem
    from productrecs.storage.sql.database import Database
    from productrecs.tenancy.accounts.store import Store
    from productrecs.training.visual.photo_worker_owner import PhotoWorkerOwner

MAX_VARIANTS: Final = 100
"""The most variants of one product in a reply."""

MAX_RELATED: Final = 50
"""The most products that are related to others, over all pages."""

_RERANKED: Final = 100  # results that the shopper's intent reorders
_RANK_OFFSET: Final = 60  # of reciprocal rank fusion
_PRICE_FILTER_IGNORED: Final = {
    "type": "info",
    "code": "price_filter_ignored",
    "content": "The price filter was ignored: context.currency is missing, or is not a "
    "currency of this shop.",
}

Reply = dict[str, Any]


@dataclass(frozen=True)
class AssistantCatalog:
    """One store's catalog at one moment (UTC ms), for one call."""

    database: Database
    store: Store
    cached_store: CachedStore
    call: CatalogCall
    agent: str  # the assistant that calls
    now_ms: int

    def in_preferred_currency(self) -> AssistantCatalog:
        """Return this catalog with the prices of the currency that the call prefers.

        A store without such prices keeps its own: each price says which currency it is in.
        """
        wanted = self.call.currency
        if not wanted or wanted == self.store.settings.currency:
            return self
        try:
            priced = self.cached_store.with_price_list(wanted)
        except (PriceListNameError, UnknownPriceListError):
            return self
        return replace(self, cached_store=priced)

    def search_items(self, call: CatalogSearchCall) -> tuple[list[int], int]:
        """Return the items of one page, and how many products match in all.

        Raises:
            BrokenIndexError: when the index is damaged.
        """
        page = self._results_page(call, call.offset_from_cursor(), call.limit)
        return [hit.item for hit in page.hits], page.total or 0

    def page_reply(
        self, call: CatalogSearchCall, items: Sequence[int], total_count: int
    ) -> Reply:
        """Return the page of products that `search_items` found; blocks while it reads.

        Raises:
            StorageError: when the database cannot be read.
        """
        products = self._read_products({self._product_key(item): item for item in items})
        end = call.offset_from_cursor() + len(items)
        pagination: dict[str, Any] = {"has_next_page": False, "total_count": total_count}
        if items and end < min(total_count, MAX_OFFSET):
            pagination |= {"has_next_page": True, "cursor": cursor_after(end)}
        written = [
            self._serializer.product_fields(product) for product in products.values()
        ]
        unknown_ids = [
            name
            for name in call.anchor_ids
            if self._item_shown_without_filters(name) is None
        ]
        return {
            "products": written,
            "pagination": pagination,
        } | self._messages_field(unknown_ids)

    def related_items(self, call: CatalogSearchCall) -> list[int]:
        """Return the items that are like, complete or look with the call's products.

        The first item of each product stands for it. Blocks while lists are computed.
        """
        numbers = [
            self._item_shown_without_filters(anchor_id) for anchor_id in call.anchor_ids
        ]
        catalog = self._catalog
        anchors = [catalog.ids[number] or "" for number in numbers if number is not None]
        if not anchors:
            return []
        if call.looks:
            look = self._look_of(call)
            spots = look.content.hotspots if look else ()
            found = (catalog.number(spot.item_id) for spot in spots)
            return self._shown_items_one_per_product(
                number for number in found if number is not None
            )
        has_one = len(anchors) == 1
        request = RecommendationRequest(
            Source.SIMILAR if call.like else Source.BUY,
            MAX_RELATED,
            item_id=anchors[0] if has_one else None,
            basket=() if has_one else tuple(anchors),
            filters=self._filters_requiring_price,
        )
        picks = recommend(self.cached_store.state, request, (), self.now_ms)
        return self._shown_items_one_per_product(
            pick.item for pick in picks if pick.engine is not EngineName.TRENDING
        )

    def items_like_photo(self, photo: bytes, client: PhotoWorkerOwner) -> list[int]:
        """Return the items whose pictures look like a photo; blocks while it is read.

        Raises:
            UnreadablePictureError: when it is not a picture.
            PictureTooLargeError: when it has too many pixels.
            BrokenIndexError: when the search index is damaged.
        """
        pictures = client.search_in(self.cached_store.pictures)
        index = self.cached_store.index
        catalog = self.cached_store.state.catalog
        hits = find_products_by_photo(
            photo, pictures, index, catalog, self._visible, MAX_RELATED
        )
        return self._shown_items_one_per_product(hit.item for hit in hits)

    def _shown_items_one_per_product(self, items: Iterable[int]) -> list[int]:
        """Return the items that may be shown, one of each product."""
        visible, first = self._visible, dict[str, int]()
        for item in items:
            if item < len(visible) and visible[item]:
                first.setdefault(self._product_key(item), item)
        return list(first.values())

    def look_reply(
        self, call: CatalogSearchCall, image_url_of: Callable[[Look], str]
    ) -> Reply:
        """Return the look that a call asks for, with the products that can be shown."""
        if not call.looks:
            return {}
        look = self._look_of(call)
        if look is None:
            return {"looks": []}
        shown = self._visible
        spots = [
            {"label": spot.label, "box": list(spot.box), "variant_id": spot.item_id}
            for spot in look.content.hotspots
            if (number := self._catalog.number(spot.item_id)) is not None
            and number < len(shown)
            and shown[number]
        ]
        fields = {
            "id": str(look.look_id),
            "title": look.content.title,
            "image_url": absolute_url(image_url_of(look), self.store.domain),
            "hotspots": spots,
        }
        return {"looks": [fields]}

    def _look_of(self, call: CatalogSearchCall) -> Look | None:
        newest = self.cached_store.looks.newest
        wanted = call.looks.id if call.looks else ""
        return newest.get(wanted) or newest.get(wanted.removeprefix(GROUP_PREFIX))

    def _item_shown_without_filters(self, wanted_id: str) -> int | None:
        """Return the item of an id if a page may show it, whatever the call's filters."""
        number = self._catalog.number(wanted_id)
        if number is None:
            number = self._catalog.number(wanted_id.removeprefix(GROUP_PREFIX))
        shown = self._searchable.visible(self.now_ms, in_stock=False)
        if number is None or number >= len(shown) or not shown[number]:
            return None
        return number

    def _results_page(
        self, call: CatalogSearchCall, offset: int, limit: int
    ) -> ResultsPage:
        searchable = self._searchable
        reranks = call.intent and offset + limit <= _RERANKED
        request = SearchRequest(
            truncate_query(call.words), _RERANKED if reranks else limit, collapse=True
        )
        listing = ResultsPageRequest(
            request,
            self._filters_requiring_price,
            offset=0 if reranks else offset,
            counts=True,
        )
        page = results_page(searchable, listing, self.now_ms, self._trending)
        if not reranks:
            return page
        items = self._rerank_by_intent([hit.item for hit in page.hits], call.intent)
        hits = {hit.item: hit for hit in page.hits}
        chosen = [hits[item] for item in items[offset : offset + limit]]
        return replace(page, hits=chosen)

    def _trending(self, visible: Mask) -> Iterator[int]:
        picks = trending_picks_without_rules(self.cached_store.state, visible, MAX_FILTERED)
        return (pick.item for pick in picks)

    def _rerank_by_intent(self, items: Sequence[int], intent: str) -> list[int]:
        """Return results in the order that their own and the intent's ranks give."""
        searchable = self._searchable
        if not searchable.by_meaning:
            return list(items)
        found = np.zeros(len(self._catalog), np.bool_)
        found[list(items)] = True
        similar = searchable.index.similar_to(truncate_query(intent), found, len(items))
        scores = {item: 1 / (_RANK_OFFSET + rank) for rank, item in enumerate(items)}
        for rank, item in enumerate(similar.items):
            scores[item] += 1 / (_RANK_OFFSET + rank)
        return sorted(items, key=lambda item: -scores[item])

    def lookup_reply(self, call: CatalogLookupCall) -> Reply:
        """Return the products of ids, each once; blocks while it reads.

        Raises:
            StorageError: when the database cannot be read.
        """
        inputs: dict[str, dict[int, list[dict[str, str]]]] = {}
        unknown_ids: list[str] = []
        for wanted_id in dict.fromkeys(call.ids):
            number, is_variant = self._item_and_is_variant(wanted_id)
            if number is None:
                unknown_ids.append(wanted_id)
                continue
            match = {"id": wanted_id, "match": "exact" if is_variant else "featured"}
            of_product = inputs.setdefault(self._product_key(number), {})
            of_product.setdefault(number, []).append(match)
        products = self._read_products({key: min(items) for key, items in inputs.items()})
        written = [
            self._with_requested_variants(product, inputs[key])
            for key, product in products.items()
        ]
        return {"products": written} | self._messages_field(unknown_ids)

    def _with_requested_variants(
        self, product: OfferedProduct, inputs: Mapping[int, list[dict[str, str]]]
    ) -> Reply:
        """Return a product with the variants that were asked for, and by which ids."""
        by_id = {self._catalog.ids[number]: matches for number, matches in inputs.items()}
        written = self._serializer.product_fields(product)
        written["variants"] = [
            variant | {"inputs": by_id[variant["id"]]}
            for variant in written["variants"]
            if variant["id"] in by_id
        ]
        return written

    def product_reply(self, call: CatalogProductCall) -> Reply | None:
        """Return one product in full, None if there is none; blocks while it reads.

        Raises:
            StorageError: when the database cannot be read.
        """
        number, is_variant = self._item_and_is_variant(call.id)
        if number is None:
            return None
        found = self._read_products({self._product_key(number): number})
        product = next(iter(found.values()), None)
        if product is None:
            return None
        featured = product.variants[0]
        own = product.options.get(featured.item.item_id, {})
        selected = own
        if call.selected and not is_variant:
            selected = relax_selection(product, call.selected, call.preferences)
        shown = matching_variants(product, selected)
        shown.sort(key=lambda variant: (not variant.is_buyable, variant is not featured))
        if is_variant:
            shown.sort(key=lambda variant: variant is not featured)
        return {
            "product": self._serializer.detail_fields(product, selected, shown)
        } | self._messages_field([])

    def _item_and_is_variant(self, wanted_id: str) -> tuple[int | None, bool]:
        """Return the item of an id, and whether the id is its own or its product's."""
        visible = self._visible
        number = self._catalog.number(wanted_id)
        if number is not None and number < len(visible) and visible[number]:
            return number, True
        if not wanted_id.startswith(GROUP_PREFIX):
            return None, False
        number = self._catalog.number(wanted_id.removeprefix(GROUP_PREFIX))
        members = [] if number is None else self._shown_group_members(number)
        if not members:
            return None, False
        buyable = self._searchable.visible(self.now_ms, in_stock=True)
        return next((member for member in members if buyable[member]), members[0]), False

    def _shown_group_members(self, item: int) -> list[int]:
        """Return the shown items of an item's variant group; itself without one."""
        visible, groups = self._visible, self._catalog.variant_groups
        group = int(groups.groups_of(np.array([item]))[0])
        members = np.sort(groups.members(group)).tolist() if group else [item]
        return [member for member in members if member < len(visible) and visible[member]]

    def _product_key(self, item: int) -> str:
        """Return the id of an item's product."""
        groups, ids = self._catalog.variant_groups, self._catalog.ids
        group = int(groups.groups_of(np.array([item]))[0])
        if not group:
            return ids[item] or ""
        members = np.sort(groups.members(group)).tolist()
        first = next((ids[member] for member in members if ids[member] is not None), "")
        return f"{GROUP_PREFIX}{first}"

    def _read_products(self, featured: Mapping[str, int]) -> dict[str, OfferedProduct]:
        """Return products by id; each is given with its featured item."""
        members = {
            key: sorted(
                self._shown_group_members(number), key=lambda member: member != number
            )[:MAX_VARIANTS]
            for key, number in featured.items()
        }
        ids = self._catalog.ids
        item_ids = {ids[number] for numbers in members.values() for number in numbers}
        with self.database.reading() as connection:
            repository = CatalogRepository(connection, self.store.store_id)
            stored = repository.find(item_id for item_id in item_ids if item_id is not None)
        products: dict[str, OfferedProduct] = {}
        for key, numbers in members.items():
            offered = list(self._offered_items(numbers, stored))
            if offered:
                products[key] = build_offered_product(key, offered)
        return products

    def _offered_items(
        self, numbers: Iterable[int], stored: Mapping[str, StoredItem]
    ) -> Iterator[OfferedItem]:
        catalog = self._catalog
        for number in numbers:
            found = stored.get(catalog.ids[number] or "")
            if found is None or not found.present:
                continue
            item, price = found.item, float(catalog.prices[number])
            usual = float(catalog.list_prices[number])
            yield OfferedItem(
                with_absolute_urls(item, self.store.domain),
                price,
                usual if usual > price else None,
                effective_availability(item.availability, item.stock_qty),
            )

    def _messages_field(self, unknown_ids: Sequence[str]) -> Reply:
        """Return the messages of a reply, if there are any."""
        messages = [
            {"type": "info", "code": "not_found", "content": unknown_id}
            for unknown_id in unknown_ids
        ]
        if self.call.wanted.price is not None and self._minor_digits is None:
            messages.append(_PRICE_FILTER_IGNORED)
        return {"messages": messages} if messages else {}

    @property
    def _catalog(self) -> CatalogView:
        return self.cached_store.state.catalog

    @property
    def _currency(self) -> str:
        return self._catalog.list_currency or self.store.settings.currency

    @property
    def _minor_digits(self) -> int | None:
        """The digits of price filters; None if they are in another currency."""
        is_known = self.call.currency == self._currency
        return digits_after_point(self._currency) if is_known else None

    @cached_property
    def _filters_requiring_price(self) -> Filters:
        """The call's filters; products without a price are always left out."""
        filters = self.call.wanted.to_catalog_filters(self._minor_digits)
        return replace(filters, prices=filters.prices or (PriceRange(0.0, float("inf")),))

    @cached_property
    def _visible(self) -> Mask:
        """The items that a page may show and that pass the call's filters."""
        searchable = self._searchable
        visible = searchable.visible(self.now_ms, in_stock=False)
        buyable = searchable.visible(self.now_ms, in_stock=True)
        masks = filter_masks(searchable.catalog, self._filters_requiring_price, buyable)
        for mask in masks.values():
            size = min(len(visible), len(mask))
            visible = visible[:size] & mask[:size]
        return visible

    @cached_property
    def _searchable(self) -> SearchableStore:
        return searchable_store(self.cached_store)

    @property
    def _serializer(self) -> ProductSerializer:
        return ProductSerializer(self._currency, self.store.domain, self.agent)
