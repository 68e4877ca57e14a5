"""List previews: a product page's list with the present rules and with other rules."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from productrecs.entrypoints.http.dashboard.list_reasons import (
    ExplainedList,
    explained_list,
)
from productrecs.entrypoints.http.dashboard.page import Visit
from productrecs.features.recommendations.explain import (
    explain_recommendations,
    explain_trending,
)
from productrecs.features.recommendations.explanation import Explanation
from productrecs.features.recommendations.list_request_and_picks import (
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.catalog.item_filters import NO_FILTERS, Filters
from productrecs.records.merchandising.rule import Rule

TRENDING: Final = "trending"
SOURCES: Final = (
    (Source.MIX.value, "Mix", "What shoppers also buy and view: the usual choice"),
    (Source.BUY.value, "Bought together", "From orders alone, never filled up"),
    (Source.BROWSE.value, "Viewed together", "From what visitors view in one visit"),
    (Source.SIMILAR.value, "Similar", "Products that look like this one"),
)


def make_list(
    visit: Visit,
    shop: StoreState,
    source: str,
    item_id: str | None,
    before: Sequence[str] | None = None,
    filters: Filters = NO_FILTERS,
) -> ExplainedList:
    """Return a source's list on a product's page for a shopper without a history.

    `trending` needs no product. `before` is the list that this one is compared with.
    """
    return explained_list(visit, _explain(visit, shop, source, item_id, filters), before)


def _explain(
    visit: Visit, shop: StoreState, source: str, item_id: str | None, filters: Filters
) -> Explanation:
    num, now_ms = shop.settings.rec_num, visit.now_ms
    if source == TRENDING:
        return explain_trending(shop, num, now_ms, filters)
    request = RecommendationRequest(Source(source), num, item_id, filters=filters)
    return explain_recommendations(shop, request, (), now_ms)


def with_rules(visit: Visit, rules: Sequence[Rule]) -> StoreState:
    """Return the store with exactly these rules."""
    shop = visit.opened.shop
    if shop.rules is None:
        return shop
    reader = visit.database.raw_reader()
    try:
        preview = shop.rules.preview(reader, rules, visit.now_ms)
    finally:
        reader.close()
    return replace(shop, rules=preview)


def with_sold_out(shop: StoreState, *, hidden: bool) -> StoreState:
    """Return the store with products out of stock hidden, or shown."""
    return replace(shop, settings=replace(shop.settings, hide_out_of_stock=hidden))
