"""Product search: text candidates, reweighted by click boosts, stock and rules."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Final, Literal, NamedTuple

import numpy as np

from productrecs.engines.array_types_and_sorting import Floats, Ints, Items
from productrecs.engines.click_boosts import ClickBoostModel
from productrecs.engines.text.analysed_query import (
    AnalysedQuery,
)
from productrecs.engines.text.colour_and_material_words import (
    without_excluded_attributes,
)
from productrecs.engines.text.language_detection_and_stemming import (
    cached_language_analyzer,
)
from productrecs.engines.text.query_interpreter import NO_SYNONYMS, Synonyms
from productrecs.engines.text.search_index import IndexHits, IndexQuery, QueryRelaxation
from productrecs.features.search.hits_and_variant_collapse import (
    Hit,
    collapse_variants,
    with_variant_counts,
)
from productrecs.features.search.product_code_search import (
    narrow_to_code_matches,
)
from productrecs.features.search.query_filters import (
    ALL_FIELDS,
    FilterField,
    QueryFilterContext,
    QueryReading,
    QueryWithAttributesAsWords,
    QueryWordFilter,
    possible_readings,
)
from productrecs.features.search.search_rule_set import (
    SearchRuleSet,
    item_ids_of,
    redirect_address,
)
from productrecs.features.search.search_rules import SearchRule, SearchRuleAction
from productrecs.records.catalog.catalog_view import CatalogView, Mask
from productrecs.records.catalog.title_words import fold_text
from productrecs.records.catalog.variant_groups import NO_GROUPS, CatalogVariantGroups
from productrecs.records.merchandising.rules_in_force import ListRuleEffects
from productrecs.training.search.served_index import ServedIndex

LONGEST_QUERY: Final = 256


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search request for `num` products that match `query`."""

    query: str
    num: int
    in_stock: bool = False
    query_filters: frozenset[FilterField] = ALL_FIELDS  # what its words may filter by
    collapse: bool | None = None  # whether variants of a product are one result


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The products, best first, and how the query was relaxed to find enough."""

    hits: list[Hit]
    relaxed: QueryRelaxation
    address: str | None = None  # redirect address of the merchant's rule
    filters: tuple[QueryWordFilter, ...] = ()  # that words of the query name
    is_code: bool = False  # whether the query is the code of these products alone
    has_every_word: bool = True  # whether a product has all words, or is pinned


def truncate_query(query: str) -> str:
    """Return a query, cut to the maximum length.

    A trailing blank is kept: it marks the last word as complete.
    """
    return query.lstrip()[:LONGEST_QUERY]


Collapse = Literal["request", "always", "never"]
SoldOut = Literal["mixed", "last", "hidden"]

_CANDIDATES: Final = 3  # candidates per wanted product: popularity reorders them
_MIN_CANDIDATES: Final = 30
# Minimum candidates if boosts or rules change the order.
_MIN_CANDIDATES_REORDERED: Final = 200
_CANDIDATE_SHARES: Final = (1, 4, 16, 64)  # until enough are no variants of each other
_SOLD_OUT: Final = 0.05  # score factor of sold-out products that come last
_CLICK_BOOST: Final = 1.0
"""Score boost at the maximum click boost of 1: doubles the score."""

_POPULARITY: Final = 0.08
"""Maximum score boost by popularity: breaks near ties only."""


@dataclass(frozen=True, slots=True)
class SearchableStore:
    """Search state of one store at one moment."""

    catalog: CatalogView
    index: ServedIndex
    ranks: Items  # popularity rank of each item number
    trending_count: int  # number of trending items
    search_rules: SearchRuleSet
    rules: ListRuleEffects | None = None  # exclusions, boosts and buries
    factors: Floats | None = None  # score factors by item; the last one is for newer items
    sold_out: SoldOut = "mixed"
    click_boosts: ClickBoostModel = field(default_factory=ClickBoostModel.empty)
    # The store's language setting, which the keys of `click_boosts` use.
    language_setting: str = ""
    by_meaning: bool = True  # whether products of similar meaning follow the words
    currency: str = ""  # of its prices
    query_filters: bool = True  # whether words of a query may be filters
    collapse: Collapse = "request"  # whether variants of a product are one result
    question_weights: Mapping[str, float] = field(default_factory=dict)  # by filter kind

    def groups_for(self, request: SearchRequest) -> CatalogVariantGroups:
        """Return the variant groups of which a request gets one result each."""
        wanted = self.collapse == "always" if request.collapse is None else request.collapse
        is_allowed = wanted and self.collapse != "never"
        return self.catalog.variant_groups if is_allowed else NO_GROUPS

    def visible(self, now_ms: int, *, in_stock: bool) -> Mask:
        """Return the mask of items that may be found."""
        hides_sold_out = in_stock or self.sold_out == "hidden"
        visible = self.catalog.visible(now_ms, hide_sold_out=hides_sold_out)
        return visible if self.rules is None else self.rules.shown_mask(visible)

    def click_boosts_of(self, query: AnalysedQuery) -> Mapping[int, float]:
        """Return the click boosts of a query, by item."""
        if not len(self.click_boosts):
            return {}
        in_store_language = query.in_language(
            cached_language_analyzer(self.language_setting)
        )
        return self.click_boosts.boosts_of(in_store_language.intent)

    def popularity(self, item: int) -> float:
        """Return an item's popularity, from 0 for no sales to 1 for the best seller."""
        if item >= len(self.ranks):
            return 0.0
        rank = int(self.ranks[item])
        if rank >= self.trending_count:
            return 0.0
        return 1.0 - math.log1p(rank) / math.log1p(self.trending_count)

    def sells_well(self, item: int) -> bool:
        """Return whether an item is in the tenth of the trending items that sells most."""
        return item < len(self.ranks) and 10 * int(self.ranks[item]) < self.trending_count


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """One query resolved in one store: visible items, rules, synonyms and boosts."""

    query: AnalysedQuery
    visible: Mask
    synonyms: Synonyms
    pinned: list[int]
    address: str | None  # redirect address
    click_boosts: Mapping[int, float]  # click boosts by item
    factors: Floats | None  # score factors of the merchant's rules, by item
    buyable: Mask | None  # set if sold-out products come last
    filters: tuple[QueryWordFilter, ...] = ()  # that words of the query name
    as_words: QueryWithAttributesAsWords | None = (
        None  # with its brands, colours and materials as words
    )

    def score_factor(self, item: int) -> float:
        """Return the score factor of click boosts, rules and stock."""
        factor = 1.0 + _CLICK_BOOST * self.click_boosts.get(item, 0.0)
        if self.factors is not None:
            factor *= float(self.factors[min(item, len(self.factors) - 1)])
        if self.buyable is not None and not (
            item < len(self.buyable) and self.buyable[item]
        ):
            factor *= _SOLD_OUT
        return factor

    def candidate_limit(self, num: int) -> int:
        """Return the number of candidates that are ranked for `num` products."""
        minimum = _MIN_CANDIDATES_REORDERED if self.has_boosts else _MIN_CANDIDATES
        return max(_CANDIDATES * num, minimum)

    @property
    def has_boosts(self) -> bool:
        """Whether click boosts, rules or stock change the order."""
        has_factors = self.factors is not None or self.buyable is not None
        return bool(self.click_boosts) or has_factors

    @property
    def has_words(self) -> bool:
        """Whether the query has words; without words it returns trending items."""
        return bool(self.query.text.strip())


class PageSizeAndCandidateLimit(NamedTuple):
    """The page size, and the number of candidates for the first page."""

    size: int
    candidate_limit: int


def resolve_query(
    store: SearchableStore, request: SearchRequest, now_ms: int
) -> ResolvedQuery:
    """Return the resolved query of a request at `now_ms`."""
    query = store.index.analyse(
        without_excluded_attributes(request.query, store.index.language.code)
    )
    rules = store.search_rules.active_rules_for(query, now_ms, store.catalog.zone)
    visible = _visible_items(store, request, rules, now_ms)
    return ResolvedQuery(
        query=query,
        visible=visible,
        synonyms=store.search_rules.synonyms_in(query.language),
        pinned=_visible_pinned_items(store, rules, visible),
        address=redirect_address(rules),
        click_boosts=store.click_boosts_of(query),
        factors=store.factors,
        buyable=store.visible(now_ms, in_stock=True) if store.sold_out == "last" else None,
    )


def find_products(
    store: SearchableStore, request: SearchRequest, now_ms: int
) -> SearchResults:
    """Return up to `request.num` products, best first, with falling scores.

    All are visible at `now_ms` and none is excluded by a rule; with `in_stock` all can be
    bought. Products pinned for the query come first, then exact matches of id or sku, then
    the others by text score and click boost. Popularity breaks near ties.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    resolved = resolve_query(store, request, now_ms)
    groups = store.groups_for(request)
    for candidate_factor in (1,) if groups.is_empty else _CANDIDATE_SHARES:
        query, index_hits = read_filters_and_find(
            store,
            resolved,
            request,
            partial(_build_index_query, store, request, candidate_factor),
        )
        results = _rank_hits(store, query, request.num, index_hits, groups)
        limit = candidate_factor * query.candidate_limit(request.num)
        if len(results.hits) >= request.num or len(index_hits.items) < limit:
            break
    return results


def read_filters_and_find(
    store: SearchableStore,
    query: ResolvedQuery,
    request: SearchRequest,
    index_query: Callable[[ResolvedQuery], IndexQuery],
) -> tuple[ResolvedQuery, IndexHits]:
    """Return the query without the words that are filters, and what it then finds.

    A filter that leaves nothing stays a word of the query.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    fields = request.query_filters
    if not (store.query_filters and fields and query.has_words):
        return query, _find_and_narrow_to_code(store, query, index_query(query))
    context = QueryFilterContext(
        store.catalog, store.index, query.visible, store.currency, fields
    )
    possible = possible_readings(context, query.query.text, query.query.words)
    for reading in possible[:-1]:
        read = _apply_reading(store, query, reading)
        index_hits = find_with_filters(store, read, index_query(read), request.num)
        if index_hits.with_every_word or (
            index_hits.items and not reading.needs_every_word
        ):
            return read, index_hits
    read = _apply_reading(store, query, possible[-1])
    return read, find_with_filters(store, read, index_query(read), request.num)


def _apply_reading(
    store: SearchableStore, query: ResolvedQuery, reading: QueryReading
) -> ResolvedQuery:
    if not reading.filters:
        return query
    return replace(
        query,
        query=store.index.analyse(reading.text),
        visible=reading.visible,
        filters=reading.filters,
        as_words=reading.as_words,
    )


def find_with_filters(
    store: SearchableStore, query: ResolvedQuery, index_query: IndexQuery, num: int
) -> IndexHits:
    """Return the hits of a query; all items of its filters if no words remain.

    Items whose texts also have the words of its brand, colour or material rank higher.
    Without these filters there may be more of the `num` products with every word: then
    there are no hits.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    if query.has_words:
        hits = _find_and_narrow_to_code(store, query, index_query)
    else:
        hits = _most_popular_hits(store, query.visible, index_query.limit)
    if query.as_words is None or hits.exact:
        return hits
    by_words = store.index.find(
        index_query._replace(
            query=store.index.analyse(query.as_words.text),
            visible=query.as_words.visible,
            min_complete=0,
            by_meaning=False,
        )
    )
    if by_words.relaxed is not QueryRelaxation.NOTHING:
        return hits  # the catalog's texts do not have all of the words
    if hits.with_every_word < min(num, by_words.complete):
        return IndexHits([], [])
    return _add_scores_of_other_search(hits, by_words, query.visible)


def _find_and_narrow_to_code(
    store: SearchableStore, query: ResolvedQuery, index_query: IndexQuery
) -> IndexHits:
    hits = store.index.find(index_query)
    if not hits.items:
        hits = _find_whole_query_or_synonym(store, query, index_query)
    if not hits.exact:
        return hits
    return narrow_to_code_matches(store.index, query.query.text, query.visible, hits)


def _find_whole_query_or_synonym(
    store: SearchableStore, query: ResolvedQuery, index_query: IndexQuery
) -> IndexHits:
    """Return the hits of a whole query or, without any, of its first synonym with some.

    Synonyms are off here: as one of them, "coffee grinder" is read as the others alone.
    """
    stems = tuple(query.query.language.stems(query.query.words))
    synonyms = query.synonyms.get(stems, ())
    for words in (query.query.words, *synonyms) if synonyms else ():
        text = store.index.analyse(f"{' '.join(words)} ")
        hits = store.index.find(index_query._replace(query=text, synonyms=NO_SYNONYMS))
        if hits.items:
            return hits
    return IndexHits([], [])


def _most_popular_hits(store: SearchableStore, visible: Mask, limit: int) -> IndexHits:
    items = np.flatnonzero(visible)
    ranks = np.full(len(visible), store.trending_count, dtype=np.int64)
    ranks[: len(store.ranks)] = store.ranks[: len(ranks)]
    items = items[np.argsort(ranks[items], kind="stable")][:limit]
    scores = (1.0 / np.arange(1.0, len(items) + 1)).tolist()
    return IndexHits(items.tolist(), scores, with_every_word=len(items))


def _add_scores_of_other_search(
    hits: IndexHits, others: IndexHits, visible: Mask
) -> IndexHits:
    """Return the hits with every word by the sum of two searches' relative scores."""
    every_word_count, top = hits.with_every_word, max(hits.scores[:1], default=1.0)
    scores = dict(
        zip(hits.items[:every_word_count], hits.scores[:every_word_count], strict=True)
    )
    least = hits.scores[every_word_count - 1] if every_word_count else 0.0
    share = top / max(others.scores[:1], default=1.0)
    for item, score in zip(others.items, others.scores, strict=True):
        if visible[item]:
            scores[item] = scores.get(item, least) + share * score
    ranked = sorted(
        scores.items(), key=lambda item_and_score: (-item_and_score[1], item_and_score[0])
    )
    partial = zip(
        hits.items[every_word_count:], hits.scores[every_word_count:], strict=True
    )
    ranked += [
        item_and_score for item_and_score in partial if item_and_score[0] not in scores
    ]
    return replace(
        hits,
        items=[item for item, _ in ranked],
        scores=[score for _, score in ranked],
        with_every_word=len(scores),
    )


def _build_index_query(
    store: SearchableStore,
    request: SearchRequest,
    candidate_factor: int,
    query: ResolvedQuery,
) -> IndexQuery:
    """Return the query for the index, with `candidate_factor` times the usual hits."""
    candidate_limit = candidate_factor * query.candidate_limit(request.num)
    return IndexQuery(
        query.query,
        candidate_limit,
        query.visible,
        query.synonyms,
        # Partial matches never move above a full page of complete ones, unless boosts
        # apply.
        min_complete=candidate_limit if query.has_boosts else request.num,
        with_feedback=not query.has_boosts,
        by_meaning=store.by_meaning,
    )


def _rank_hits(
    store: SearchableStore,
    query: ResolvedQuery,
    num: int,
    index_hits: IndexHits,
    groups: CatalogVariantGroups,
) -> SearchResults:
    """Return the first hits after all boosts and factors."""
    scores = weigh_scores(store, query, index_hits.items, index_hits.scores)
    exact_hits = list(
        map(Hit, index_hits.items[: index_hits.exact], scores[: index_hits.exact])
    )
    # Best first, ties by item number; no more than `num` are shown.
    lower_scores = [-score for score in scores[index_hits.exact :]]
    other_hits = sorted(
        zip(lower_scores, index_hits.items[index_hits.exact :], strict=True)
    )
    if groups.is_empty:
        other_hits = other_hits[:num]
    hits = [*exact_hits, *(Hit(item, -score) for score, item in other_hits)]
    hits = collapse_variants(groups, put_pinned_first(query.pinned, hits))[:num]
    return SearchResults(
        with_variant_counts(groups, hits, [query.visible]),
        index_hits.relaxed,
        query.address,
        query.filters,
        index_hits.is_code,
        has_every_word=bool(query.pinned or index_hits.complete)
        or index_hits.relaxed in {QueryRelaxation.NOTHING, QueryRelaxation.SPELLING},
    )


def weigh_scores(
    store: SearchableStore,
    query: ResolvedQuery,
    items: Sequence[int],
    scores: Sequence[float],
) -> list[float]:
    """Return the scores of `items` after boosts, factors and popularity."""
    if store.trending_count:
        popularity = store.popularity
        scores = [
            score * (1.0 + _POPULARITY * popularity(item))
            for item, score in zip(items, scores, strict=True)
        ]
    if query.has_boosts:
        factor = query.score_factor
        pairs = zip(items, scores, strict=True)
        scores = [score * factor(item) for item, score in pairs]
    return list(scores)


def reorder_page_by_page(
    hits: Sequence[Hit], exact: int, pages: PageSizeAndCandidateLimit, until: int
) -> list[Hit]:
    """Return the first `until` results, in the order of their pages.

    The first page is that of `find_products`, and each page continues where the previous
    one ended: boosts move a product only a few positions across pages.
    """
    ranked = list(hits[:exact])
    other_hits = list(hits[exact:])
    num = pages.size
    pool = other_hits[: max(pages.candidate_limit - exact, 0)]
    remaining = iter(other_hits[len(pool) :])
    while pool and len(ranked) < until:
        pool.sort(key=_by_score)
        ranked += pool[:num]
        pool = [*pool[num:], *islice(remaining, num)]
    return ranked[:until]


def _by_score(hit: Hit) -> tuple[float, int]:
    return (-hit.score, hit.item)


def _visible_items(
    store: SearchableStore, request: SearchRequest, rules: list[SearchRule], now_ms: int
) -> Mask:
    """Return the visible items, without those that rules hide for this query."""
    visible = store.visible(now_ms, in_stock=request.in_stock)
    hidden = map(store.catalog.number, item_ids_of(rules, SearchRuleAction.HIDE))
    numbers = [number for number in hidden if number is not None and number < len(visible)]
    if not numbers:
        return visible
    mask = visible.copy()
    mask[numbers] = False
    return mask


def _visible_pinned_items(
    store: SearchableStore, rules: list[SearchRule], visible: Mask
) -> list[int]:
    numbers = map(store.catalog.number, item_ids_of(rules, SearchRuleAction.PIN))
    known = (number for number in numbers if number is not None and number < len(visible))
    return [number for number in dict.fromkeys(known) if visible[number]]


def put_pinned_first(pinned: list[int], hits: list[Hit]) -> list[Hit]:
    """Return the pinned products followed by the others, scores falling."""
    if not pinned:
        return hits
    top = max((hit.score for hit in hits), default=0.0) + 1.0
    pinned_hits = [Hit(item, top + len(pinned) - n) for n, item in enumerate(pinned)]
    pinned_items = set(pinned)
    return [*pinned_hits, *(hit for hit in hits if hit.item not in pinned_items)]


MAX_FOUND: Final = 1_000


@dataclass(frozen=True, slots=True)
class CatalogSearchPage:
    """The item numbers of one page, and the total number of matches."""

    items: list[int]
    total: int
    is_cut: bool  # whether there are more matches than the paging limit


def search_catalog(
    catalog: CatalogView,
    index: ServedIndex,
    query_text: str,
    subset: Mask,
    page: slice,
) -> CatalogSearchPage:
    """Return one page of the products in `subset` that match `query_text`, best first.

    A product with exactly this id comes first, even before it is indexed, then those whose
    title begins with the text. The rest has the search index's order over ids, SKUs and
    words. Without a text all of `subset` is listed,
    newest first.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    query = truncate_query(query_text).strip()
    if not query:
        all_numbers = _newest_first(catalog, subset)
        return CatalogSearchPage(all_numbers[page].tolist(), len(all_numbers), is_cut=False)
    words = index.analyse(query)
    index_query = IndexQuery(
        words, MAX_FOUND, subset, min_complete=1, with_feedback=False, by_meaning=False
    )
    hits, start = index.find(index_query).items, fold_text(query)
    first = [item for item in hits if fold_text(catalog.title(item)).startswith(start)]
    numbers = dict.fromkeys([*first, *hits])
    exact_number = catalog.number(query)
    if exact_number is not None and exact_number < len(subset) and subset[exact_number]:
        numbers = {exact_number: None, **numbers}
    items = list(numbers)
    return CatalogSearchPage(items[page], len(items), is_cut=len(items) >= MAX_FOUND)


def _newest_first(catalog: CatalogView, subset: Mask) -> Ints:
    numbers = np.flatnonzero(subset)
    order: Ints = numbers[np.lexsort((-numbers, -catalog.created[numbers]))]
    return order
