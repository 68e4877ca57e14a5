"""Request context: a call's anchors, and its shopper's history and interest signals."""

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from productrecs.core.clock import DAY_MS
from productrecs.engines.array_types_and_sorting import (
    MAX_CANDIDATES,
    NO_RANKED,
    RankedItems,
)
from productrecs.engines.browse import InteractionType
from productrecs.engines.buy_again import (
    due_for_repurchase,
    is_habitual_buyer,
    rank_repurchases,
)
from productrecs.engines.rank_fusion import fuse_ranked
from productrecs.engines.registry import BROWSE, BUY_AGAIN
from productrecs.engines.text.analysed_query import (
    AnalysedQuery,
)
from productrecs.engines.text.language_detection_and_stemming import (
    cached_language_analyzer,
)
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
)
from productrecs.features.recommendations.serving_state import EligibleItems, StoreState
from productrecs.features.recommendations.source_recipes import PageType
from productrecs.records.events.event import EventKind, interest_key
from productrecs.records.events.shopper_history_cache import MAX_RECENT, ShopperHistory
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.visit_and_order_items import INTERACTION_BY_EVENT

_SIGNAL_WEIGHT: Final = 0.8  # weight of the latest signal relative to the visit
_DECAY: Final = 0.85  # weight factor of each later interaction
_MAX_LATER_INTERACTIONS: Final = 20  # maximum number of later interactions
_MAX_SIGNALS: Final = 3
_CATEGORY_ITEMS: Final = 20

TermInterest = tuple[int, str, int]
"""A kind of event, its term, and the number of later product interactions."""


def fuse_visit_with_interest_signals(
    visit: RankedItems,
    signals: Sequence[TermInterest],
    eligible: EligibleItems,
    language: str,
) -> RankedItems:
    """Return the visit's candidates fused with those of its interest signals."""
    lists, weights = [visit.items], [1.0]
    for signal in signals[:_MAX_SIGNALS]:
        items = _items_for_signal(signal, eligible, language)
        if items and signal[2] <= _MAX_LATER_INTERACTIONS:
            lists.append(np.array(items, dtype=np.int32))
            weights.append(_SIGNAL_WEIGHT * _DECAY ** signal[2])
    if len(lists) == 1:
        return visit
    support = [visit.support, *[None] * (len(lists) - 1)]
    return fuse_ranked(lists, weights, support)


def _items_for_signal(
    signal: TermInterest, eligible: EligibleItems, language: str
) -> list[int]:
    """Return what others chose after this signal, then the category's top items."""
    kind, term, _ = signal
    if kind == EventKind.SEARCH_PREF:
        click_boosts = eligible.models.click_boosts
        if not len(click_boosts):
            return []
        return list(
            click_boosts.boosts_of(
                AnalysedQuery.of(term, cached_language_analyzer(language)).intent
            )
        )
    indicated_items = list(eligible.models.indicators.boosts_of(interest_key(kind, term)))
    if kind != EventKind.CATEGORY_VIEW:
        return indicated_items
    category_items = eligible.best_of_category(term.strip())[:_CATEGORY_ITEMS]
    return list(dict.fromkeys([*indicated_items, *category_items]))


_MAX_LINES: Final = 2_000  # maximum number of purchase lines for repurchase prediction
_PURCHASE_DECAY_MS: Final = (
    90 * DAY_MS
)  # age at which a purchase counts 1/e (algorithms.md 3.1)
_MIN_WEIGHT: Final = 1e-3
_VISIT_ITEMS: Final = 9  # number of recent items that predict the next item
_NO_WEIGHTS: Final[Mapping[int, float]] = MappingProxyType({})
_NO_INTERACTIONS: Final[Mapping[int, int]] = MappingProxyType({})
_NO_ITEMS: Final = frozenset[int]()


class ShopperContext(NamedTuple):
    """A request's anchors, and its shopper's history and signals, in item numbers."""

    anchors: tuple[int, ...]  # the page's item or the cart's; known to the catalog
    recent: Sequence[int]  # the shopper's latest items, newest last
    purchases: Sequence[int]  # newest last; empty if there are anchors
    bought: frozenset[int]  # purchases that the list may not repeat
    visitor: int | None  # code of the visit; its own sessions are left out
    page_type: PageType
    rebuyable: RankedItems = NO_RANKED  # visible items that they rebuy
    has_habits: bool = False  # whether they are habitual repurchasers
    remembered_purchases: tuple[
        int, ...
    ] = ()  # purchases that count in addition to the visit
    purchase_weights: Mapping[int, float] = _NO_WEIGHTS  # weights of `remembered_purchases`
    person: str = ""  # the shopper's identity, if known
    # The strongest above a view, as `InteractionType`.
    interactions: Mapping[int, int] = _NO_INTERACTIONS
    interest_signals: tuple[
        TermInterest, ...
    ] = ()  # searches and category views, newest first
    ignored: Mapping[int, float] = _NO_WEIGHTS  # ignored products and their impressions
    fatigue: Mapping[int, float] = _NO_WEIGHTS  # ignored products and their score factors
    cooldown: frozenset[str] = frozenset()  # just bought or in the cart


def resolve_context(
    store: StoreState,
    request: RecommendationRequest,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> ShopperContext:
    """Return the call's context; ids that the catalog does not know are ignored."""
    anchors = _anchor_numbers(store, request)
    recent = _interleave_newest_last([history.recent for history in histories])
    if request.basket:
        page_type = PageType.CART
    elif request.item_id:
        page_type = PageType.PRODUCT
    else:
        has_history = len(recent) or any(history.interest_signals for history in histories)
        page_type = PageType.SHOPPER if has_history else PageType.NO_CONTEXT
    if not histories:
        return ShopperContext(anchors, recent, recent, _NO_ITEMS, None, page_type)
    rebuyable, has_habits = (
        (NO_RANKED, False)
        if anchors
        else _rebuyable_items_and_is_habitual(store, histories)
    )
    return ShopperContext(
        anchors=anchors,
        recent=recent,
        purchases=()
        if anchors
        else _interleave_newest_last([history.recent_purchases for history in histories]),
        bought=_unrepeatable_items(store.settings, histories, now_ms),
        visitor=_current_visitor(histories),
        page_type=page_type,
        rebuyable=rebuyable,
        has_habits=has_habits,
        person=histories[0].person,
        interest_signals=_interest_signals(histories),
        interactions=_strongest_interactions(histories)
        if store.models.of(BROWSE).weights_interactions
        else _NO_INTERACTIONS,
    )


def _anchor_numbers(store: StoreState, request: RecommendationRequest) -> tuple[int, ...]:
    """Return the numbers of the request's items, each once."""
    number_of = store.catalog.number
    names = (request.item_id, *request.basket) if request.item_id else request.basket
    if len(names) == 1:
        number = number_of(names[0])
        return () if number is None else (number,)
    numbers = dict.fromkeys([number_of(name) for name in names])
    return tuple([number for number in numbers if number is not None])


def with_remembered_purchases(
    context: ShopperContext, histories: Sequence[ShopperHistory]
) -> ShopperContext:
    """Return a context based on the shopper's purchases; newer ones weigh more."""
    purchases = tuple(dict.fromkeys(context.purchases))
    return context._replace(
        remembered_purchases=purchases, purchase_weights=_purchase_weights(histories)
    )


def with_purchases_due(
    store: StoreState,
    context: ShopperContext,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> ShopperContext:
    """Return a context whose `rebuyable` are the purchases that are due again.

    They may be listed although the shopper bought them.
    """
    lines = sorted(
        (bought_at, item)
        for history in histories
        for item, bought_at in zip(
            history.bought[-_MAX_LINES:], history.bought_at[-_MAX_LINES:], strict=True
        )
    )
    times, items = np.array(lines, np.int64).reshape(-1, 2).T
    due = due_for_repurchase(
        items, times, store.models.of(BUY_AGAIN), now_ms, MAX_CANDIDATES
    )
    return context._replace(rebuyable=due, bought=_NO_ITEMS)


def _purchase_weights(histories: Sequence[ShopperHistory]) -> dict[int, float]:
    """Return the weights of purchases: 1 for the newest, less for older ones."""
    times: dict[int, int] = {}
    for history in histories:
        lines = zip(history.recent_purchases, history.bought_at[-MAX_RECENT:], strict=False)
        for item, bought_at in lines:
            times[item] = max(bought_at, times.get(item, bought_at))
    newest = max(times.values(), default=0)
    return {
        item: max(math.exp((bought_at - newest) / _PURCHASE_DECAY_MS), _MIN_WEIGHT)
        for item, bought_at in times.items()
    }


def _interleave_newest_last(lists: Sequence[Sequence[int]]) -> Sequence[int]:
    """Return the lists merged from their newest ends, the first list's newest last."""
    if len(lists) <= 1:
        return lists[0][:] if lists else ()  # a copy: the history may grow
    columns = zip_longest(*(reversed(items) for items in lists))
    newest_first = [item for column in columns for item in column if item is not None]
    return newest_first[::-1]


def context_basket(context: ShopperContext) -> tuple[int, ...]:
    """Return the basket to complete: the call's items, else the shopper's own."""
    return context.anchors or tuple(dict.fromkeys(context.purchases))


def context_visit(context: ShopperContext) -> tuple[int, ...]:
    """Return the visit to compare with past sessions, newest item last."""
    return (*context.recent[-_VISIT_ITEMS:], *context.anchors)[-_VISIT_ITEMS:]


def context_anchors(context: ShopperContext) -> tuple[int, ...]:
    """Return the items whose categories supply the backfill, most relevant first."""
    return context.anchors or tuple(context.recent[: -_VISIT_ITEMS - 1 : -1])


def _unrepeatable_items(
    settings: StoreSettings, histories: Sequence[ShopperHistory], now_ms: int
) -> frozenset[int]:
    """Return items that the store's settings do not allow to be shown again yet."""
    if settings.allow_repeat_recommendations:
        return _NO_ITEMS
    days = settings.repeat_after_days
    if not days:
        return _NO_ITEMS.union(*[history.bought for history in histories])
    since_ms = now_ms - days * DAY_MS
    return _NO_ITEMS.union(*[history.purchases_since(since_ms) for history in histories])


def _current_visitor(histories: Sequence[ShopperHistory]) -> int | None:
    """Return the visitor of the current visit: that of the newest interaction."""
    current = max(
        (history for history in histories if history.recent),
        key=lambda history: history.newest_ms,
        default=None,
    )
    return None if current is None else current.visitor


def _interest_signals(histories: Sequence[ShopperHistory]) -> tuple[TermInterest, ...]:
    """Return the shopper's searches and category views, newest first."""
    return tuple(
        [
            (signal.kind, signal.term, history.action_count - signal.action_count)
            for history in histories
            for signal in reversed(history.interest_signals)
        ]
    )


def _strongest_interactions(histories: Sequence[ShopperHistory]) -> dict[int, int]:
    """Return the strongest interaction above a view with each of the newest items."""
    strongest: dict[int, int] = {}
    for history in histories:
        for item, kind in zip(history.recent, history.recent_kinds, strict=False):
            interaction = INTERACTION_BY_EVENT.get(kind, InteractionType.VIEWED)
            if interaction > strongest.get(item, InteractionType.VIEWED):
                strongest[item] = interaction
    return strongest


def _rebuyable_items_and_is_habitual(
    store: StoreState, histories: Sequence[ShopperHistory]
) -> tuple[RankedItems, bool]:
    """Return the visible items that the shopper rebuys, and whether it is a habit."""
    settings = store.settings
    if not (settings.allow_repeat_recommendations or settings.repeat_after_days):
        return NO_RANKED, False
    history = max(
        (candidate for candidate in histories if candidate.bought_at),
        key=lambda history: history.bought_at[-1],
        default=None,
    )
    if history is None:
        return NO_RANKED, False
    items = np.array(history.bought[-_MAX_LINES:], dtype=np.int64)
    times = np.array(history.bought_at[-_MAX_LINES:], dtype=np.int64)
    rebuyable = rank_repurchases(items, times, store.models.ranks, MAX_CANDIDATES)
    return rebuyable, is_habitual_buyer(items, times)
