"""Results pages: search with filters, facets, sort orders and paging.

`find_products` searches without them.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.array_types_and_sorting import Floats, Ints
from productrecs.engines.text.query_suggestions import QuerySuggestions, Suggestion
from productrecs.engines.text.search_index import IndexHits, IndexQuery, QueryRelaxation
from productrecs.features.search.hits_and_variant_collapse import (
    Hit,
    collapse_variants,
    items_passing_masks,
    with_variant_counts,
)
from productrecs.features.search.product_search import (
    PageSizeAndCandidateLimit,
    ResolvedQuery,
    SearchableStore,
    SearchRequest,
    find_with_filters,
    put_pinned_first,
    read_filters_and_find,
    reorder_page_by_page,
    resolve_query,
    weigh_scores,
)
from productrecs.features.search.query_filters import FIELDS_OF_PRICES, QueryWordFilter
from productrecs.features.search.refinement_question import (
    RefinementQuestion,
    choose_refinement_question,
)
from productrecs.records.catalog.attribute_index import MAX_COUNTED, ValueCount
from productrecs.records.catalog.catalog_view import CatalogView, Mask
from productrecs.records.catalog.item import ATTRIBUTE_FIELDS
from productrecs.records.catalog.item_filters import Filters, attribute_kind, filter_masks
from productrecs.records.catalog.variant_groups import CatalogVariantGroups

_MAX_RANGES: Final = 6
_PERCENTILES: Final = (2.0, 98.0)  # percentile range of prices that the ranges cover
_STEPS: Final = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class PriceRangeCount:
    """The number of results that cost from `low` to below `high`; None means no limit."""

    low: float | None
    high: float | None
    count: int


@dataclass(frozen=True, slots=True)
class PriceFacet:
    """The price distribution of the results; those without a price are not counted."""

    low: float | None
    high: float | None
    ranges: list[PriceRangeCount]


@dataclass(frozen=True, slots=True)
class InStockFacet:
    """The numbers of results in stock and out of stock."""

    yes: int
    no: int


def largest_category_counts(catalog: CatalogView, items: Ints) -> list[ValueCount]:
    """Return the categories of the items, the largest first, at most a hundred."""
    sets = Counter(catalog.categories[item] for item in items.tolist())
    counts: Counter[str] = Counter()
    for names, count in sets.items():
        for name in names:
            counts[name] += count
    ranked = sorted(counts.items(), key=lambda counted: (-counted[1], counted[0]))[
        :MAX_COUNTED
    ]
    return [ValueCount(name, count) for name, count in ranked]


def build_price_facet(catalog: CatalogView, items: Ints) -> PriceFacet:
    """Return the price distribution in up to eight ranges of round prices."""
    prices = catalog.prices[items]
    prices = prices[~np.isnan(prices)]
    if not len(prices):
        return PriceFacet(None, None, [])
    edges, ranges = _price_range_limits(prices), list[PriceRangeCount]()
    for low, high in zip([None, *edges], [*edges, None], strict=True):
        above = np.ones(len(prices), np.bool_) if low is None else prices >= low
        below = np.ones(len(prices), np.bool_) if high is None else prices < high
        count = int((above & below).sum())
        if count and edges:
            ranges.append(PriceRangeCount(low, high, count))
    return PriceFacet(float(prices.min()), float(prices.max()), ranges)


def _price_range_limits(prices: Floats) -> list[float]:
    """Return the limits between ranges: few round prices that cover most of the results."""
    low, high = (float(price) for price in np.percentile(prices, _PERCENTILES))
    if high <= low:
        return []
    target_width = (high - low) / _MAX_RANGES
    scale = 10.0 ** math.floor(math.log10(target_width))
    step = next(
        width * scale for width in _STEPS if width * scale >= target_width * (1 - 1e-9)
    )
    first = math.floor(low / step) + 1
    last = math.ceil(high / step) - 1
    return [round(n * step, 6) for n in range(first, last + 1)]


MAX_OFFSET: Final = 1_000
"""Paging limit in products: each page costs as much as all those before it."""


class Facet(StrEnum):
    """What results can be counted and filtered by."""

    CATEGORIES = "categories"
    PRICE = "price"
    IN_STOCK = "in_stock"
    ON_SALE = "on_sale"
    BRAND = "brand"
    COLOR = "color"
    SIZE = "size"
    MATERIAL = "material"
    ATTRIBUTES = "attributes"  # all other attributes of a product


class SortOrder(StrEnum):
    """The order of results."""

    RELEVANCE = "relevance"
    PRICE_UP = "price_asc"
    PRICE_DOWN = "price_desc"
    NEWEST = "newest"
    BEST_SELLING = "best_selling"


@dataclass(frozen=True, slots=True)
class ResultsPageRequest:
    """A request for a page of results, with the facets and extras to compute."""

    request: SearchRequest
    filters: Filters = field(default_factory=Filters)
    facets: tuple[Facet, ...] = ()
    sort: SortOrder = SortOrder.RELEVANCE
    offset: int = 0
    suggest: int = 0  # maximum number of suggestions
    highlight: bool = False
    counts: bool = False  # whether to return the total
    refine: bool = False  # whether to return the question that narrows the results most
    answered: str = field(default="", compare=False)  # the question that it answers

    @property
    def first_query(self) -> str:
        """The query for the first page of results; empty on later pages."""
        return "" if self.offset else self.request.query


MAX_FILTERED: Final = 20_000
"""Maximum number of results, by rank, that are filtered, counted and sorted."""

AttributeCounts = dict[str, list[ValueCount]]
Counts = list[ValueCount] | AttributeCounts | PriceFacet | InStockFacet
Trending = Callable[[Mask], Iterable[int]]


@dataclass(frozen=True, slots=True)
class ResultsPage:
    """One page of results, with the facets and total of all of them."""

    hits: list[Hit]
    relaxed: QueryRelaxation = QueryRelaxation.NOTHING
    address: str | None = None
    total: int | None = None
    facets: dict[Facet, Counts] = field(default_factory=dict)
    next: list[Suggestion] = field(default_factory=list)
    meant: Suggestion | None = None
    filters: tuple[QueryWordFilter, ...] = ()  # that words of the query name
    is_code: bool = False  # whether the query is the code of these products alone
    refinement: RefinementQuestion | None = None


class _MatchedItems(NamedTuple):
    """All results: by id or sku, with every word, then (if few) with some."""

    items: Ints
    scores: Floats  # falling
    exact: int
    complete: int  # number of exact results and results with every word
    relaxed: QueryRelaxation
    is_code: bool = False

    def filter_by(self, masks: Iterable[Mask]) -> "_MatchedItems":
        """Return the results that pass every mask, in the same order."""
        is_match = np.ones(len(self.items), dtype=np.bool_)
        for mask in masks:
            is_match &= mask.take(self.items, mode="clip") & (self.items < len(mask))
        return self.keep(is_match)

    def keep(self, is_match: Mask) -> "_MatchedItems":
        """Return the results of a mask of these, in the same order."""
        return self._replace(
            items=self.items[is_match],
            scores=self.scores[is_match],
            exact=int(is_match[: self.exact].sum()),
            complete=int(is_match[: self.complete].sum()),
        )


def results_page(
    store: SearchableStore, listing: ResultsPageRequest, now_ms: int, trending: Trending
) -> ResultsPage:
    """Return one page of the results of `find_products`, filtered, sorted and counted.

    Partial matches are included if the filtered results with every word do not fill one
    page. A facet's counts ignore filters of its own kind. `trending` orders the items of a
    mask for a search without words. With suggestions, products that cannot be bought come
    last: what is suggested as one types should be there to buy.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    if listing.suggest and store.sold_out == "mixed":
        store = replace(store, sold_out="last")
    resolved = resolve_query(store, listing.request, now_ms)
    buyable = store.visible(now_ms, in_stock=True)
    masks = filter_masks(store.catalog, listing.filters, buyable)
    if resolved.has_words:
        query, results = _search_remaining_words(store, resolved, listing, masks)
    else:
        query, results = resolved, _trending_matches(resolved, trending)
    matches = results.filter_by(masks.values())
    hits = _with_falling_scores(_page_hits(store, query, listing, matches, masks))
    groups = store.groups_for(listing.request)
    hits = with_variant_counts(groups, hits, [query.visible, *masks.values()])
    suggestions = _suggestions(store, resolved, query.filters, listing.suggest)
    return ResultsPage(
        hits=hits,
        relaxed=results.relaxed,
        address=query.address,
        total=int(groups.mask_first_of_each_group(matches.items).sum())
        if listing.counts
        else None,
        facets={
            facet: _facet_counts(store.catalog, facet, results, masks, buyable)
            for facet in listing.facets
        },
        next=suggestions.next,
        meant=suggestions.meant,
        filters=query.filters,
        is_code=results.is_code,
        refinement=_choose_refinement_of_matches(store, query, matches, masks)
        if listing.refine
        else None,
    )


def _search_remaining_words(
    store: SearchableStore,
    query: ResolvedQuery,
    listing: ResultsPageRequest,
    masks: Mapping[str, Mask],
) -> tuple[ResolvedQuery, _MatchedItems]:
    """Return the query as read, and the results of the words that remain.

    Partial matches are among them if filters leave few.
    """
    num = listing.request.num
    query, index_hits = read_filters_and_find(
        store, query, listing.request, lambda query: _build_index_query(store, query, num)
    )
    results = _to_matched_items(index_hits)
    has_partial_matches = results.complete < len(results.items)
    if (
        masks
        and not has_partial_matches
        and results.filter_by(masks.values()).complete < num
    ):
        everything = _build_index_query(store, query, MAX_FILTERED)
        index_hits = find_with_filters(store, query, everything, num)
        results = _to_matched_items(index_hits)
    return query, results


def _build_index_query(
    store: SearchableStore, query: ResolvedQuery, min_complete: int
) -> IndexQuery:
    return IndexQuery(
        query.query,
        MAX_FILTERED,
        query.visible,
        query.synonyms,
        min_complete=min_complete,
        with_feedback=not query.has_boosts,
        by_meaning=store.by_meaning,
    )


def _to_matched_items(index_hits: IndexHits) -> _MatchedItems:
    return _MatchedItems(
        np.array(index_hits.items, dtype=np.int64),
        np.array(index_hits.scores, dtype=np.float64),
        index_hits.exact,
        index_hits.with_every_word,
        index_hits.relaxed,
        index_hits.is_code,
    )


def _trending_matches(query: ResolvedQuery, trending: Trending) -> _MatchedItems:
    order = dict.fromkeys(islice(trending(query.visible), 2 * MAX_FILTERED))
    items = np.fromiter(order, np.int64, len(order))[:MAX_FILTERED]
    scores = 1.0 / np.arange(1.0, len(items) + 1)
    return _MatchedItems(items, scores, 0, len(items), QueryRelaxation.NOTHING)


def _choose_refinement_of_matches(
    store: SearchableStore,
    query: ResolvedQuery,
    matches: _MatchedItems,
    masks: Mapping[str, Mask],
) -> RefinementQuestion | None:
    known = {*masks, *(word_filter.field.value for word_filter in query.filters)}
    items = matches.items[: matches.complete]
    return choose_refinement_question(
        store.catalog, items, query.click_boosts, known, store.question_weights
    )


def _suggestions(
    store: SearchableStore,
    query: ResolvedQuery,
    filters: tuple[QueryWordFilter, ...],
    limit: int,
) -> QuerySuggestions:
    """Return suggestions for a query as typed; none for a price, which is no word."""
    has_price = any(word_filter.field in FIELDS_OF_PRICES for word_filter in filters)
    if not limit or not query.has_words or has_price:
        return QuerySuggestions([], None)
    return store.index.suggest(query.query, limit, query.visible, query.synonyms)


def _page_hits(
    store: SearchableStore,
    query: ResolvedQuery,
    listing: ResultsPageRequest,
    page_results: _MatchedItems,
    masks: Mapping[str, Mask],
) -> list[Hit]:
    offset, num = listing.offset, listing.request.num
    groups = store.groups_for(listing.request)
    if listing.sort is not SortOrder.RELEVANCE:
        tiers = (
            page_results.items[: page_results.complete],
            page_results.items[page_results.complete :],
        )
        items = np.concatenate([_sort_items(store, listing.sort, tier) for tier in tiers])
        items = items[groups.mask_first_of_each_group(items)]
        ranked = enumerate(items[: offset + num].tolist())
        return [Hit(item, 1.0 / (1.0 + rank)) for rank, item in ranked][offset:]
    pins = items_passing_masks(
        np.array(query.pinned, dtype=np.int64), list(masks.values())
    ).tolist()
    until = offset + num + len(pins)
    pages = PageSizeAndCandidateLimit(num, query.candidate_limit(num))
    last_rank = (
        until + pages.candidate_limit + num
    )  # lowest rank that boosts may lift to the page
    hits = _first_hits_per_group(store, query, page_results, groups, last_rank)
    if query.has_words or query.filters:
        exact = int(
            groups.mask_first_of_each_group(page_results.items[: page_results.exact]).sum()
        )
        hits = reorder_page_by_page(hits, exact, pages, until)
    return collapse_variants(groups, put_pinned_first(pins, hits))[offset : offset + num]


def _first_hits_per_group(
    store: SearchableStore,
    query: ResolvedQuery,
    results: _MatchedItems,
    groups: CatalogVariantGroups,
    num: int,
) -> list[Hit]:
    """Return at least the first `num` results, one for each group, with their scores."""
    end = num
    while True:
        items, scores = results.items[:end].tolist(), results.scores[:end].tolist()
        if query.has_words or query.filters:
            scores = weigh_scores(store, query, items, scores)
        hits = collapse_variants(groups, list(map(Hit, items, scores)))
        if len(hits) >= num or end >= len(results.items):
            return hits
        end *= 4


def _sort_items(store: SearchableStore, sort: SortOrder, items: Ints) -> Ints:
    """Return the items in another order; ties keep their order."""
    catalog = store.catalog
    if sort is SortOrder.NEWEST:
        keys = -catalog.created[items].astype(np.float64)
    elif sort is SortOrder.BEST_SELLING:
        keys = np.array([-store.popularity(item) for item in items.tolist()])
    else:
        prices = catalog.prices[items]
        keys = prices if sort is SortOrder.PRICE_UP else -prices
    return items[np.argsort(keys, kind="stable")]  # products without a price come last


def _with_falling_scores(hits: list[Hit]) -> list[Hit]:
    """Return the hits with non-increasing scores across pages."""
    result: list[Hit] = []
    for hit in hits:
        score = min(hit.score, result[-1].score) if result else hit.score
        result.append(Hit(hit.item, score))
    return result


def _facet_counts(
    catalog: CatalogView,
    facet: Facet,
    results: _MatchedItems,
    masks: Mapping[str, Mask],
    buyable: Mask,
) -> Counts:
    other_masks = [mask for name, mask in masks.items() if name != facet]
    items = results.filter_by(other_masks).items
    if facet is Facet.CATEGORIES:
        return largest_category_counts(catalog, items)
    if facet is Facet.PRICE:
        return build_price_facet(catalog, items)
    if facet is Facet.IN_STOCK or facet is Facet.ON_SALE:
        mask = buyable if facet is Facet.IN_STOCK else catalog.is_on_sale()
        match_count = len(items_passing_masks(items, [mask]))
        return InStockFacet(match_count, len(items) - match_count)
    if facet is not Facet.ATTRIBUTES:
        return catalog.attributes.top_value_counts(items).get(facet.value, [])
    return _other_attribute_counts(catalog, results, masks)


def _other_attribute_counts(
    catalog: CatalogView, results: _MatchedItems, masks: Mapping[str, Mask]
) -> AttributeCounts:
    """Return the counts of all other attributes, the most frequent first.

    A filtered attribute is counted without its own filter.
    """
    counts = {
        name: values
        for name, values in catalog.attributes.top_value_counts(
            results.filter_by(masks.values()).items
        ).items()
        if name not in ATTRIBUTE_FIELDS
    }
    for filtered_kind in masks:
        other_masks = [mask for name, mask in masks.items() if name != filtered_kind]
        for name in counts:
            if attribute_kind(name) == filtered_kind:
                items = results.filter_by(other_masks).items
                counts[name] = catalog.attributes.top_value_counts(items).get(name, [])
    return counts
