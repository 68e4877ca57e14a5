"""Product search: text candidates, reweighted by click boosts, stock and rules."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, Literal, NamedTuple, Self

import numpy as np

from productrecs.core.cache_registry import Cache, memoized
from productrecs.engines.arrays import Floats, Ints
from productrecs.engines.click_boosts import PURCHASE, ClickBoostModel
from productrecs.engines.personal_search import (
    PersonalSearchOptions,
    ShopperProfile,
    TraitsOf,
    lifted,
)
from productrecs.engines.text.language_detection_and_stemming import (
    AnalysedQuery,
    LanguageAnalyzer,
)
from productrecs.engines.text.query_interpreter import Synonyms
from productrecs.engines.text.search_index import IndexHits, IndexQuery, Relaxed
from productrecs.features.search.search_rule_book import (
    SearchRuleBook,
    address_of,
    items_of,
)
from productrecs.features.search.search_rules import SearchRule, SearchRuleAction
from productrecs.records.catalog.catalog_view import CatalogView, Mask
from productrecs.records.events.shopper_history_cache import ShopperHistory
from productrecs.records.merchandising.rule_book import ListRules
from productrecs.training.search.served_index import ServedIndex
from productrecs.training.trained_models import Ranks
from productrecs.training.tuning.personal_search import LEAST_CHOSEN, choice_weight
from productrecs.training.visual.photo_matcher import PhotoSearch


@dataclass(frozen=True, slots=True)
class PersonalLift:
    """One shopper's profile, and how far it may lift a result."""

    profile: ShopperProfile
    traits_of: TraitsOf
    options: PersonalSearchOptions

    @classmethod
    def of(
        cls, history: ShopperHistory, traits_of: TraitsOf, options: PersonalSearchOptions
    ) -> Self | None:
        """Return the lift of a shopper; None for one who did too little yet."""
        recent = zip(history.recent, map(choice_weight, history.recent_kinds), strict=True)
        chosen = [*recent, *((item, PURCHASE) for item in history.recent_purchases)]
        profile = ShopperProfile.of(chosen, traits_of)
        if profile is None or len(chosen) < LEAST_CHOSEN:
            return None
        return cls(profile, traits_of, options)

    def lift(self, items: Sequence[int], scores: Sequence[float]) -> list[float]:
        """Return the scores of `items`, each raised by its match."""
        matches = self.profile.matches(items, self.traits_of)
        raised = lifted(np.array(scores, dtype=np.float64), matches, self.options)
        return [float(score) for score in raised]


LONGEST_QUERY: Final = 256


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search request for `num` products that match `query`."""

    query: str
    num: int
    in_stock: bool = False


class Hit(NamedTuple):
    """One result: its item number and score."""

    item: int
    score: float


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The products, best first, and how the query was relaxed to find enough."""

    hits: list[Hit]
    relaxed: Relaxed
    address: str | None = None  # redirect address of the merchant's rule


def truncate_query(query: str) -> str:
    """Return a query, cut to the maximum length.

    A trailing blank is kept: it marks the last word as complete.
    """
    return query.lstrip()[:LONGEST_QUERY]


SoldOut = Literal["mixed", "last", "hidden"]

_CANDIDATES: Final = 3  # candidates per wanted product: popularity reorders them
_MIN_CANDIDATES: Final = 30
_MIN_CANDIDATES_REORDERED: Final = (
    200  # minimum candidates if boosts or rules change the order
)
_SOLD_OUT: Final = 0.05  # score factor of sold-out products that come last
_CHOICE: Final = 1.0
"""Score boost at the maximum click boost of 1: doubles the score."""

_POPULARITY: Final = 0.08
"""Maximum score boost by popularity: breaks near ties only."""


@dataclass(frozen=True, slots=True)
class SearchableStore:
    """Search state of one store at one moment."""

    catalog: CatalogView
    index: ServedIndex
    ranks: Ranks  # popularity rank of each item number
    trending: int  # number of trending items
    search_rules: SearchRuleBook
    rules: ListRules | None = None  # exclusions, boosts and buries
    factors: Floats | None = None  # score factors by item; the last one is for newer items
    sold_out: SoldOut = "mixed"
    choices: ClickBoostModel = field(default_factory=ClickBoostModel.empty)
    language_setting: str = (
        ""  # the store's language setting, which the keys of `choices` use
    )
    shopper: PersonalLift | None = None  # set for personal results
    by_meaning: bool = True  # whether products of similar meaning follow the words

    def visible(self, now_ms: int, *, in_stock: bool) -> Mask:
        """Return the mask of items that may be found."""
        hides_sold_out = in_stock or self.sold_out == "hidden"
        visible = self.catalog.visible(now_ms, hide_sold_out=hides_sold_out)
        return visible if self.rules is None else self.rules.shown(visible)

    def click_boosts_of(self, query: AnalysedQuery) -> Mapping[int, float]:
        """Return the click boosts of a query, by item."""
        if not len(self.choices):
            return {}
        named = query.in_language(_language(self.language_setting))
        return self.choices.boosts_of(named.intent)

    def popularity(self, item: int) -> float:
        """Return an item's popularity, from 0 for no sales to 1 for the best seller."""
        if item >= len(self.ranks):
            return 0.0
        rank = int(self.ranks[item])
        if rank >= self.trending:
            return 0.0
        return 1.0 - math.log1p(rank) / math.log1p(self.trending)


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
    shopper: PersonalLift | None = None  # set for personal results

    def factor(self, item: int) -> float:
        """Return the score factor of click boosts, rules and stock."""
        factor = 1.0 + _CHOICE * self.click_boosts.get(item, 0.0)
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
        """Whether click boosts, rules, stock or the shopper change the order."""
        return bool(self.click_boosts) or any(
            one is not None for one in (self.factors, self.buyable, self.shopper)
        )

    @property
    def has_words(self) -> bool:
        """Whether the query has words; without words it returns trending items."""
        return bool(self.query.text.strip())


class Pages(NamedTuple):
    """The page size, and the number of candidates for the first page."""

    size: int
    candidate_limit: int


def resolve_query(
    shop: SearchableStore, request: SearchRequest, now_ms: int
) -> ResolvedQuery:
    """Return the resolved query of a request at `now_ms`."""
    query = shop.index.analyse(request.query)
    rules = shop.search_rules.rules_for(query, now_ms, shop.catalog.zone)
    visible = _shown(shop, request, rules, now_ms)
    return ResolvedQuery(
        query=query,
        visible=visible,
        synonyms=shop.search_rules.synonyms_in(query.language),
        pinned=_pinned(shop, rules, visible),
        address=address_of(rules),
        click_boosts=shop.click_boosts_of(query),
        factors=shop.factors,
        buyable=shop.visible(now_ms, in_stock=True) if shop.sold_out == "last" else None,
        shopper=shop.shopper,
    )


def find_products(
    shop: SearchableStore, request: SearchRequest, now_ms: int
) -> SearchResults:
    """Return up to `request.num` products, best first, with falling scores.

    All are visible at `now_ms` and none is excluded by a rule; with `in_stock` all can be
    bought. Products pinned for the query come first, then exact matches of id or sku, then
    the others by text score and click boost. Popularity breaks near ties.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    query = resolve_query(shop, request, now_ms)
    found = shop.index.find(_index_query(shop, query, request))
    return _ranked(shop, query, request.num, found)


def _index_query(
    shop: SearchableStore, query: ResolvedQuery, request: SearchRequest
) -> IndexQuery:
    """Return the query for the index."""
    candidate_limit = query.candidate_limit(request.num)
    return IndexQuery(
        query.query,
        candidate_limit,
        query.visible,
        query.synonyms,
        # Partial matches never move above a full page of complete ones, unless boosts
        # apply.
        min_complete=candidate_limit if query.has_boosts else request.num,
        with_feedback=not query.has_boosts,
        by_meaning=shop.by_meaning,
    )


def hits_for_anybody(
    shop: SearchableStore, text: str, now_ms: int
) -> tuple[list[int], list[float]]:
    """Return what a query finds without click boosts, best first, and the scores.

    Without them, because click boosts have learned from the clicks that a backtest repeats.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    request = SearchRequest(f"{truncate_query(text).strip()} ", _MIN_CANDIDATES)
    plain = replace(shop, choices=ClickBoostModel.empty(), shopper=None)
    query = resolve_query(plain, request, now_ms)
    found = shop.index.find(_index_query(plain, query, request))
    if found.exact:
        return [], []  # an id or SKU: its product comes first, whoever searches
    scores = weigh_scores(plain, query, found.items, found.scores)
    ranked = sorted(
        zip(found.items, scores, strict=True), key=lambda one: (-one[1], one[0])
    )
    return [item for item, _ in ranked], [score for _, score in ranked]


def _ranked(
    shop: SearchableStore, query: ResolvedQuery, num: int, found: IndexHits
) -> SearchResults:
    """Return the first `num` hits after all boosts and factors."""
    scores = weigh_scores(shop, query, found.items, found.scores)
    named = list(map(Hit, found.items[: found.exact], scores[: found.exact]))
    # Best first, ties by item number; no more than `num` are shown.
    lower_scores = [-score for score in scores[found.exact :]]
    partial_matches = sorted(zip(lower_scores, found.items[found.exact :], strict=True))[
        :num
    ]
    hits = [*named, *(Hit(item, -score) for score, item in partial_matches)]
    return SearchResults(with_pins(query.pinned, hits)[:num], found.relaxed, query.address)


def weigh_scores(
    shop: SearchableStore,
    query: ResolvedQuery,
    items: Sequence[int],
    scores: Sequence[float],
) -> list[float]:
    """Return the scores of `items` after boosts, factors and popularity."""
    if shop.trending:
        popularity = shop.popularity
        scores = [
            score * (1.0 + _POPULARITY * popularity(item))
            for item, score in zip(items, scores, strict=True)
        ]
    if query.has_boosts:
        factor = query.factor
        pairs = zip(items, scores, strict=True)
        scores = [score * factor(item) for item, score in pairs]
    if query.shopper is not None:
        scores = query.shopper.lift(items, scores)
    return list(scores)


def paginate(hits: Sequence[Hit], exact: int, pages: Pages, until: int) -> list[Hit]:
    """Return the first `until` results, in pages.

    The first page is that of `find_products`, and each page continues where the previous
    one ended: boosts move a product only a few positions across pages.
    """
    ranked = list(hits[:exact])
    following = list(hits[exact:])
    num = pages.size
    pool = following[: max(pages.candidate_limit - exact, 0)]
    remaining = iter(following[len(pool) :])
    while pool and len(ranked) < until:
        pool.sort(key=_by_score)
        ranked += pool[:num]
        pool = [*pool[num:], *islice(remaining, num)]
    return ranked[:until]


@memoized(Cache.LANGUAGES)
def _language(tag: str) -> LanguageAnalyzer:
    return LanguageAnalyzer(tag)


def _by_score(hit: Hit) -> tuple[float, int]:
    return (-hit.score, hit.item)


def _shown(
    shop: SearchableStore, request: SearchRequest, rules: list[SearchRule], now_ms: int
) -> Mask:
    """Return the visible items, without those that rules hide for this query."""
    visible = shop.visible(now_ms, in_stock=request.in_stock)
    hidden = [shop.catalog.number(one) for one in items_of(rules, SearchRuleAction.HIDE)]
    numbers = [one for one in hidden if one is not None and one < len(visible)]
    if not numbers:
        return visible
    visible_items = visible.copy()
    visible_items[numbers] = False
    return visible_items


def _pinned(shop: SearchableStore, rules: list[SearchRule], visible: Mask) -> list[int]:
    numbers = (shop.catalog.number(one) for one in items_of(rules, SearchRuleAction.PIN))
    present = (one for one in numbers if one is not None and one < len(visible))
    return [one for one in dict.fromkeys(present) if visible[one]]


def with_pins(pinned: list[int], hits: list[Hit]) -> list[Hit]:
    """Return the pinned products followed by the others, scores falling."""
    if not pinned:
        return hits
    top = max((hit.score for hit in hits), default=0.0) + 1.0
    first = [Hit(item, top + len(pinned) - n) for n, item in enumerate(pinned)]
    pinned_items = set(pinned)
    return [*first, *(hit for hit in hits if hit.item not in pinned_items)]


def find_by_photo(
    photo: bytes,
    photo_search: PhotoSearch,
    catalog: CatalogView,
    rules: ListRules | None,
    now_ms: int,
    *,
    num: int,
    in_stock: bool,
) -> list[Hit]:
    """Return up to `num` products, most similar first; scores are similarities, 0 to 1.

    All are visible at `now_ms` and none is excluded by a rule; with `in_stock` all can
    be bought. None while the store has no indexed pictures.

    Raises:
        NotAPictureError: when it is not a picture, or decoding exceeds a limit.
        PictureTooLargeError: when it has too many pixels.
    """
    visible = catalog.visible(now_ms, hide_sold_out=in_stock)
    if rules is not None:
        visible = rules.shown(visible)
    found = photo_search.alike(photo, num, visible)
    return [
        Hit(*one) for one in zip(found.items.tolist(), found.scores.tolist(), strict=True)
    ]


MAX_FOUND: Final = 1_000


@dataclass(frozen=True, slots=True)
class CatalogMatches:
    """The item numbers of one page, and the total number of matches."""

    items: list[int]
    total: int
    is_cut: bool  # whether there are more matches than the paging limit


def search_catalog(
    catalog: CatalogView,
    index: ServedIndex,
    text: str,
    subset: Mask,
    page: slice,
) -> CatalogMatches:
    """Return one page of the products in `subset` that match `text`, best first.

    A product with exactly this id comes first, even before it is indexed. The rest has the
    search index's order over ids, SKUs and words. Without a text all of `subset` is listed,
    newest first.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    query = truncate_query(text).strip()
    if not query:
        numbers = _newest_first(catalog, subset)
        return CatalogMatches(numbers[page].tolist(), len(numbers), is_cut=False)
    words = index.analyse(query)
    index_query = IndexQuery(
        words, MAX_FOUND, subset, min_complete=1, with_feedback=False, by_meaning=False
    )
    found = dict.fromkeys(index.find(index_query).items)
    named = catalog.number(query)
    if named is not None and named < len(subset) and subset[named]:
        found = {named: None, **found}
    items = list(found)
    return CatalogMatches(items[page], len(items), is_cut=len(items) >= MAX_FOUND)


def _newest_first(catalog: CatalogView, subset: Mask) -> Ints:
    numbers = np.flatnonzero(subset)
    order: Ints = numbers[np.lexsort((-numbers, -catalog.created[numbers]))]
    return order
