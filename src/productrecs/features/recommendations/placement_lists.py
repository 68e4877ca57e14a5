"""Placement lists: turns a placement into requests of the list pipeline, and lists it."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from productrecs.features.recommendations.recommend import (
    Decision,
    decide,
    exploration_of,
)
from productrecs.features.recommendations.recommendation_request import (
    ListPlan,
    Pick,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.reranking import within_limits
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.catalog.item_filters import (
    NO_FILTERS,
    Filters,
    PriceRange,
    parse_filters,
)
from productrecs.records.events.shopper_history_cache import ShopperHistory
from productrecs.records.experiments.repository import Exploration
from productrecs.records.placements.placement import (
    Placement,
    RelativeFilter,
    Strategy,
)

PRODUCT: Final = "{product}"  # in a title: the product that the list is about
_CHEAPER, _DEARER = 0.8, 1.2  # a similar price, relative to the product's
_ON_SALE: Final = Filters(on_sale=(True,))


class PlacedRequests(NamedTuple):
    """The requests of one call for a placement."""

    placement: Placement
    num: int
    main: RecommendationRequest | None  # None: the page and shopper say too little
    fallback: RecommendationRequest | None
    about: int | None  # the product that the list is about

    def title(self, shop: StoreState) -> str:
        """Return the list's title; empty if the placement has none that fits."""
        title = self.placement.content.title
        if PRODUCT not in title:
            return title
        return (
            ""
            if self.about is None
            else title.replace(PRODUCT, shop.catalog.title(self.about))
        )


class PlacedDecisions(NamedTuple):
    """A placement's list, and the decisions behind it: the strategy's, the fallback's."""

    picks: list[Pick]
    decisions: tuple[tuple[RecommendationRequest, Decision], ...]


def place_requests(
    shop: StoreState,
    placement: Placement,
    call: RecommendationRequest,
    histories: Sequence[ShopperHistory],
) -> PlacedRequests:
    """Return the requests of a call; its own `num` and `filters` count too."""
    content = placement.content
    usual = content.num or shop.settings.rec_num
    num = call.num or usual
    call = call._replace(num=num, shown=usual if num > usual else None)
    viewed = _latest_viewed(shop, call, histories)
    anchors = shop.catalog.numbers_of([*filter(None, [call.item_id]), *call.basket])
    subject = next(iter(anchors), viewed)
    about = viewed if content.strategy is Strategy.BECAUSE_VIEWED else subject
    main = _request(shop, placement, content.strategy, call, subject, viewed)
    fallback = None
    if content.fallback is not None:
        fallback = _request(shop, placement, content.fallback, call, subject, viewed)
    return PlacedRequests(placement, num, main, fallback, about)


def decide_placement(
    shop: StoreState,
    placed: PlacedRequests,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> PlacedDecisions:
    """Return the list of a placement, with its decisions.

    The strategy's products come first. The fallback fills up the list. A list with fewer
    products than the placement's minimum is empty. A bundle is not filled up.
    """
    content, num = placed.placement.content, placed.num
    picks: list[Pick] = []
    decisions: list[tuple[RecommendationRequest, Decision]] = []
    for request in (placed.main, placed.fallback):
        is_whole = bool(picks) and content.strategy is Strategy.BUNDLE
        if request is None or len(picks) >= num or is_whole:
            continue
        ids = [shop.catalog.ids[pick.item] or "" for pick in picks]
        excluded = (*request.excluded, *ids)
        request = request._replace(excluded=excluded)  # noqa: PLW2901 - the next list's
        decision = decide(shop, request, histories, now_ms)
        more = decision.picks
        if picks and request.plan is not None and request.plan.is_limited:
            more = within_limits(more, decision.eligible, request.plan, picks)
        picks = _joined(picks, more, num)
        decisions.append((request, decision))
    if len(picks) < content.minimum:
        picks = []
    return PlacedDecisions(picks, tuple(decisions))


def recommend_placement(
    shop: StoreState,
    placed: PlacedRequests,
    histories: Sequence[ShopperHistory],
    now_ms: int,
    note: Callable[[Exploration], None] | None = None,
) -> list[Pick]:
    """Return the list of a placement, best first; `note` receives explored items."""
    decided = decide_placement(shop, placed, histories, now_ms)
    listed = {pick.item for pick in decided.picks}
    for _, decision in decided.decisions:
        explored = exploration_of(shop.catalog.store_id, decision, now_ms)
        if note is not None and explored is not None and explored.item in listed:
            note(explored)
    return decided.picks


def _joined(first: list[Pick], then: Sequence[Pick], num: int) -> list[Pick]:
    """Return two lists as one of up to `num` picks, by falling score."""
    joined = list(first)
    for pick in then[: num - len(first)]:
        score = min(pick.score, joined[-1].score) if joined else pick.score
        joined.append(pick._replace(score=score))
    return joined


def _request(
    shop: StoreState,
    placement: Placement,
    strategy: Strategy,
    call: RecommendationRequest,
    subject: int | None,
    viewed: int | None,
) -> RecommendationRequest | None:
    """Return the request of one strategy; None if it lacks the product it is based on."""
    content = placement.content
    fixed = parse_filters(list(content.filters))
    conditions = [fixed]
    for relative in (*content.relative, *_implied(strategy, fixed)):
        filters = _relative(shop, relative, subject)
        if filters is None:
            return None
        conditions.append(filters)
    if strategy is Strategy.ON_SALE:
        conditions.append(_ON_SALE)
    plan = ListPlan(
        placement.name_for_rules,
        strategy,
        tuple(filters for filters in conditions if filters != NO_FILTERS),
        content.most_per_category,
        content.most_per_brand,
    )
    request = call._replace(plan=plan, source=_SOURCES.get(strategy, Source.MIX))
    if strategy is Strategy.SIMILAR and call.item_id is None:
        return None
    if strategy is Strategy.BECAUSE_VIEWED:
        if viewed is None:
            return None
        anchors = (*filter(None, [call.item_id]), *call.basket)
        item_id = shop.catalog.ids[viewed]
        return request._replace(
            item_id=item_id, basket=(), excluded=(*call.excluded, *anchors)
        )
    return request


_SOURCES: Final = {Strategy(source.value): source for source in Source}


def _implied(strategy: Strategy, fixed: Filters) -> list[RelativeFilter]:
    """Return the filter that a strategy means where the merchant's filters name none."""
    if strategy is Strategy.TOP_OF_CATEGORY and not fixed.categories:
        return [RelativeFilter.SAME_CATEGORY]
    has_brand = any(name.casefold() == "brand" for name, _ in fixed.attributes)
    if strategy is Strategy.TOP_OF_BRAND and not has_brand:
        return [RelativeFilter.SAME_BRAND]
    return []


def _relative(
    shop: StoreState, wanted: RelativeFilter, subject: int | None
) -> Filters | None:
    """Return a filter relative to a product; None if the product lacks the field."""
    catalog = shop.catalog
    if subject is None:
        return None
    if wanted is RelativeFilter.SAME_CATEGORY:
        category = catalog.narrowest[subject]
        return Filters(categories=(category,)) if category else None
    if wanted is RelativeFilter.SAME_BRAND:
        brands = catalog.attributes.of(subject).get("brand", [])
        pairs = tuple(("brand", brand) for brand in brands)
        return Filters(attributes=pairs) if pairs else None
    price = float(catalog.prices[subject])
    if not price > 0:  # unknown prices are NaN
        return None
    return Filters(prices=(PriceRange(_CHEAPER * price, _DEARER * price),))


def _latest_viewed(
    shop: StoreState, call: RecommendationRequest, histories: Sequence[ShopperHistory]
) -> int | None:
    """Return the shopper's latest product that is not on the page; None without any."""
    anchors = set(shop.catalog.numbers_of([*filter(None, [call.item_id]), *call.basket]))
    ids = shop.catalog.ids
    for history in histories:
        for item in reversed(history.recent):
            if item not in anchors and item < len(ids) and ids[item] is not None:
                return item
    return None
