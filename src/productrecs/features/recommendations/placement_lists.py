"""Placement lists: turns a placement into requests of the list pipeline, and lists it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from productrecs.features.recommendations.recommend import (
    ListDecision,
    decide_list,
)
from productrecs.features.recommendations.recommendation_request import (
    Pick,
    RecommendationRequest,
    ResolvedPlacement,
    Source,
)
from productrecs.features.recommendations.reranking import picks_within_limits
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.catalog.item_filters import (
    NO_FILTERS,
    Filters,
    PriceRange,
    parse_filters,
)
from productrecs.records.events.shopper_history_cache import ShopperHistory
from productrecs.records.placements.placement import (
    Placement,
    RelativeFilter,
    Strategy,
)

PRODUCT: Final = "{product}"  # in a title: the product that the list is about
_CHEAPER, _MORE_EXPENSIVE = 0.8, 1.2  # a similar price, relative to the product's
_ON_SALE: Final = Filters(on_sale=(True,))


class PlacementRequests(NamedTuple):
    """The requests of one call for a placement."""

    placement: Placement
    num: int
    main: RecommendationRequest | None  # None: the page and shopper say too little
    fallback: RecommendationRequest | None
    about: int | None  # the product that the list is about

    def title(self, store: StoreState) -> str:
        """Return the list's title; empty if the placement has none that fits."""
        title = self.placement.content.title
        if PRODUCT not in title:
            return title
        return (
            ""
            if self.about is None
            else title.replace(PRODUCT, store.catalog.title(self.about))
        )


class PlacementDecisions(NamedTuple):
    """A placement's list, and the decisions behind it: the strategy's, the fallback's."""

    picks: list[Pick]
    decisions: tuple[tuple[RecommendationRequest, ListDecision], ...]


def build_placement_requests(
    store: StoreState,
    placement: Placement,
    call: RecommendationRequest,
    histories: Sequence[ShopperHistory],
) -> PlacementRequests:
    """Return the requests of a call; its own `num` and `filters` count too."""
    content = placement.content
    default_num = content.num or store.settings.rec_num
    num = call.num or default_num
    call = call._replace(num=num)
    latest_viewed = _latest_viewed_off_page(store, call, histories)
    anchors = store.catalog.numbers_of([*filter(None, [call.item_id]), *call.basket])
    subject = next(iter(anchors), latest_viewed)
    about = latest_viewed if content.strategy is Strategy.BECAUSE_VIEWED else subject
    main = _strategy_request(
        store, placement, content.strategy, call, subject, latest_viewed
    )
    fallback = None
    if content.fallback is not None:
        fallback = _strategy_request(
            store, placement, content.fallback, call, subject, latest_viewed
        )
    return PlacementRequests(placement, num, main, fallback, about)


def decide_placement(
    store: StoreState,
    placed: PlacementRequests,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> PlacementDecisions:
    """Return the list of a placement, with its decisions.

    The strategy's products come first. The fallback fills up the list. A list with fewer
    products than the placement's minimum is empty. A bundle is not filled up.
    """
    content, num = placed.placement.content, placed.num
    picks: list[Pick] = []
    decisions: list[tuple[RecommendationRequest, ListDecision]] = []
    for request in (placed.main, placed.fallback):
        is_complete = bool(picks) and content.strategy is Strategy.BUNDLE
        if request is None or len(picks) >= num or is_complete:
            continue
        ids = [store.catalog.ids[pick.item] or "" for pick in picks]
        excluded = (*request.excluded, *ids)
        request = request._replace(excluded=excluded)  # noqa: PLW2901 - the next list's
        decision = decide_list(store, request, histories, now_ms)
        new_picks = decision.picks
        if picks and request.plan is not None and request.plan.is_limited:
            new_picks = picks_within_limits(
                new_picks, decision.call.eligible, request.plan, picks
            )
        picks = _append_picks(picks, new_picks, num)
        decisions.append((request, decision))
    if len(picks) < content.minimum:
        picks = []
    return PlacementDecisions(picks, tuple(decisions))


def recommend_placement(
    store: StoreState,
    placed: PlacementRequests,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> list[Pick]:
    """Return the list of a placement, best first."""
    return decide_placement(store, placed, histories, now_ms).picks


def _append_picks(first: list[Pick], added: Sequence[Pick], num: int) -> list[Pick]:
    """Return two lists as one of up to `num` picks, by falling score."""
    picks = list(first)
    for pick in added[: num - len(first)]:
        score = min(pick.score, picks[-1].score) if picks else pick.score
        picks.append(pick._replace(score=score))
    return picks


def _strategy_request(
    store: StoreState,
    placement: Placement,
    strategy: Strategy,
    call: RecommendationRequest,
    subject: int | None,
    latest_viewed: int | None,
) -> RecommendationRequest | None:
    """Return the request of one strategy; None if it lacks the product it is based on."""
    content = placement.content
    own_filters = parse_filters(list(content.filters))
    conditions = [own_filters]
    for relative_filter in (*content.relative, *_implied_filters(strategy, own_filters)):
        filters = _resolve_relative_filter(store, relative_filter, subject)
        if filters is None:
            return None
        conditions.append(filters)
    if strategy is Strategy.ON_SALE:
        conditions.append(_ON_SALE)
    plan = ResolvedPlacement(
        placement.name_for_rules,
        strategy,
        tuple(filters for filters in conditions if filters != NO_FILTERS),
        content.most_per_category,
        content.most_per_brand,
    )
    request = call._replace(plan=plan, source=_SOURCE_BY_STRATEGY.get(strategy, Source.MIX))
    if strategy is Strategy.SIMILAR and call.item_id is None:
        return None
    if strategy is Strategy.BECAUSE_VIEWED:
        if latest_viewed is None:
            return None
        anchors = (*filter(None, [call.item_id]), *call.basket)
        item_id = store.catalog.ids[latest_viewed]
        return request._replace(
            item_id=item_id, basket=(), excluded=(*call.excluded, *anchors)
        )
    return request


_SOURCE_BY_STRATEGY: Final = {Strategy(source.value): source for source in Source}


def _implied_filters(strategy: Strategy, own_filters: Filters) -> list[RelativeFilter]:
    """Return the filter that a strategy means where the merchant's filters name none."""
    if strategy is Strategy.TOP_OF_CATEGORY and not own_filters.categories:
        return [RelativeFilter.SAME_CATEGORY]
    has_brand = any(name.casefold() == "brand" for name, _ in own_filters.attributes)
    if strategy is Strategy.TOP_OF_BRAND and not has_brand:
        return [RelativeFilter.SAME_BRAND]
    return []


def _resolve_relative_filter(
    store: StoreState, relative_filter: RelativeFilter, subject: int | None
) -> Filters | None:
    """Return a filter relative to a product; None if the product lacks the field."""
    catalog = store.catalog
    if subject is None:
        return None
    if relative_filter is RelativeFilter.SAME_CATEGORY:
        category = catalog.narrowest[subject]
        return Filters(categories=(category,)) if category else None
    if relative_filter is RelativeFilter.SAME_BRAND:
        brands = catalog.attributes.attributes_of(subject).get("brand", [])
        pairs = tuple(("brand", brand) for brand in brands)
        return Filters(attributes=pairs) if pairs else None
    price = float(catalog.prices[subject])
    if not price > 0:  # unknown prices are NaN
        return None
    return Filters(prices=(PriceRange(_CHEAPER * price, _MORE_EXPENSIVE * price),))


def _latest_viewed_off_page(
    store: StoreState, call: RecommendationRequest, histories: Sequence[ShopperHistory]
) -> int | None:
    """Return the shopper's latest product that is not on the page; None without any."""
    anchors = set(store.catalog.numbers_of([*filter(None, [call.item_id]), *call.basket]))
    ids = store.catalog.ids
    for history in histories:
        for item in reversed(history.recent):
            if item not in anchors and item < len(ids) and ids[item] is not None:
                return item
    return None
