"""List explanations: reasons of a list's products for merchants, and previews of lists.

A preview is a product page's list with the present rules and with other rules.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from productrecs.dashboard.page import Visit
from productrecs.engines.registry import BY_NAME
from productrecs.features.recommendations.explain import (
    AppliedRule,
    ExplainedProduct,
    Explanation,
    RefusalReason,
    explain_recommendations,
    explain_trending,
)
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.catalog.availability import HiddenReason
from productrecs.records.catalog.item_filters import NO_FILTERS, Filters
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.merchandising.rule import Rule, RuleAction

NameOf = Callable[[str], str]
_HIDDEN: Final = MappingProxyType(
    {
        RefusalReason.ASKED_ABOUT: "it is the product of the page",
        RefusalReason.BOUGHT: "the shopper has bought it",
        RefusalReason.EXCLUDED: "excluded by a rule",
        RefusalReason.RESTING: "its category was just bought",
        RefusalReason.FILTERED: "does not match the filter",
        HiddenReason.DELETED: "deleted from the catalog",
        HiddenReason.DISCONTINUED: "discontinued",
        HiddenReason.SOLD_OUT: "out of stock",
        HiddenReason.NOT_YET: "not available yet",
        HiddenReason.NO_LONGER: "no longer available",
    }
)
_MOST_NAMED: Final = 2


@dataclass(frozen=True, slots=True)
class ListedProduct:
    """One product of a list, with the reasons for its position."""

    item_id: str
    title: str
    picture: str
    price: float | None
    engine: str
    reasons: tuple[str, ...]
    change: str = ""  # compared with another list: new, up, down


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A candidate that a list does not show, with the reason."""

    item_id: str
    title: str
    why: str


@dataclass(frozen=True, slots=True)
class ExplainedList:
    """One list with reasons, and its omitted candidates."""

    products: tuple[ListedProduct, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def ids(self) -> list[str]:
        """The ids of the products, in order."""
        return [one.item_id for one in self.products]


def explained_list(
    visit: Visit, explanation: Explanation, before: Sequence[str] | None = None
) -> ExplainedList:
    """Return an explained list; `before` is the list that it replaces."""
    ids = list(dict.fromkeys(_ids_in(explanation)))
    with visit.database.reading() as connection:
        stored = CatalogRepository(connection, visit.store.store_id).find(ids)
    items = {item_id: one.item for item_id, one in stored.items()}

    def named(item_id: str) -> str:
        return (items[item_id].title if item_id in items else "") or item_id

    products = []
    for place, one in enumerate(explanation.products):
        item = items.get(one.item_id)
        products.append(
            ListedProduct(
                item_id=one.item_id,
                title=named(one.item_id),
                picture=visit.pictures.address(item.image_url if item else None),
                price=item.price if item else None,
                engine=BY_NAME[one.source].label,
                reasons=tuple(_reasons(visit, one, named)) or ("It is new",),
                change="" if before is None else _change(one.item_id, place, before),
            )
        )
    left = tuple(
        LeftOut(one.item_id, named(one.item_id), _HIDDEN[one.why])
        for one in explanation.struck
        if one.item_id is not None and one.why is not RefusalReason.ASKED_ABOUT
    )
    return ExplainedList(tuple(products), left)


def _change(item_id: str, place: int, before: Sequence[str]) -> str:
    if item_id not in before:
        return "new"
    old = before.index(item_id)
    return "" if old == place else "up" if place < old else "down"


def _ids_in(explanation: Explanation) -> Iterator[str]:
    yield from (one.item_id for one in explanation.struck if one.item_id is not None)
    for product in explanation.products:
        yield product.item_id
        if product.replaces is not None:
            yield product.replaces
        yield from (one.item_id for one in (*product.bought_with, *product.completes))


def _reasons(visit: Visit, one: ExplainedProduct, named: NameOf) -> Iterator[str]:
    if one.pinned_by is not None:
        yield f"Pinned by rule {_rule_name(one.rules, RuleAction.PIN)}"
    if one.replaces is not None:
        yield f"Can replace {named(one.replaces)}, which cannot be bought now"
    if one.bundle is not None:
        yield f"Part of the bundle {one.bundle}"
    yield from _orders(visit, one, named)
    yield from _views(visit, one)
    if one.category is not None:
        is_known = one.trending_rank is not None
        yield f"{'Popular in' if is_known else 'Also in'} {one.category}"
    if one.trending_rank is not None and one.source is EngineName.TRENDING:
        yield f"No. {visit.formats.number(one.trending_rank)} in trending"
    yield from one.reasons
    yield from (_weighed(visit, rule) for rule in one.rules if rule.factor != 1)


def _orders(visit: Visit, one: ExplainedProduct, named: NameOf) -> Iterator[str]:
    fmt = visit.formats
    for met in one.bought_with[:_MOST_NAMED]:
        orders = "order holds" if met.baskets == 1 else "orders hold"
        yield f"{fmt.number(met.baskets)} {orders} it and {named(met.item_id)}"
    told = {met.item_id for met in one.bought_with}
    for met in (met for met in one.completes if met.item_id not in told):
        orders = "order or cart holds" if met.baskets == 1 else "orders or carts hold"
        yield f"{fmt.number(met.baskets)} {orders} it and {named(met.item_id)}"
    if one.goes_with is not None:
        kinds = one.goes_with
        yield (
            f"{kinds.category} and {kinds.beside} are bought together "
            f"{fmt.number(kinds.lift, 1)} times as often as by chance"
        )


def _views(visit: Visit, one: ExplainedProduct) -> Iterator[str]:
    fmt = visit.formats
    if one.seen_by is not None and one.seen_by.visits:
        seen, of = fmt.number(one.seen_by.visits), fmt.number(one.seen_by.of)
        yield f"Viewed in {seen} of {of} similar visits"
    if one.return_share is not None:
        share = fmt.share(one.return_share, 1)
        yield f"Viewed earlier in this visit: {share} of steps go back so far"
    if any(vote.engine is EngineName.SIMILAR for vote in one.voices):
        yield "Its picture looks similar"


def _weighed(visit: Visit, rule: AppliedRule) -> str:
    word = "Boosted" if rule.action is RuleAction.BOOST else "Buried"
    factor = visit.formats.number(rule.factor, 2)
    return f"{word} by rule {rule.title}: its score is multiplied by {factor}"


def _rule_name(rules: Sequence[AppliedRule], action: RuleAction) -> str:
    return next((rule.title for rule in rules if rule.action is action), "")


TRENDING: Final = "trending"
SOURCES: Final = (
    (Source.MIX.value, "Mix", "What shoppers also buy and view: the usual choice"),
    (Source.BUY.value, "Bought together", "From orders alone, never filled up"),
    (Source.BROWSE.value, "Viewed together", "From what visitors view in one visit"),
    (Source.SIMILAR.value, "Similar", "Products that look like this one"),
)


def make_list(
    visit: Visit,
    state: StoreState,
    source: str,
    item_id: str | None,
    before: Sequence[str] | None = None,
    filters: Filters = NO_FILTERS,
) -> ExplainedList:
    """Return a source's list on a product's page for a shopper without a history.

    `trending` needs no product. `before` is the list that this one is compared with.
    """
    return explained_list(visit, _explain(visit, state, source, item_id, filters), before)


def _explain(
    visit: Visit, state: StoreState, source: str, item_id: str | None, filters: Filters
) -> Explanation:
    num, now_ms = state.settings.rec_num, visit.now_ms
    if source == TRENDING:
        return explain_trending(state, num, now_ms, filters)
    request = RecommendationRequest(Source(source), num, item_id, filters=filters)
    return explain_recommendations(state, request, (), now_ms)


def with_rules(visit: Visit, rules: Sequence[Rule]) -> StoreState:
    """Return the store with exactly these rules."""
    state = visit.opened.state
    if state.rules is None:
        return state
    reader = visit.database.raw_reader()
    try:
        preview = state.rules.preview(reader, rules, visit.now_ms)
    finally:
        reader.close()
    return replace(state, rules=preview)


def with_sold_out(state: StoreState, *, hidden: bool) -> StoreState:
    """Return the store with products out of stock hidden, or shown."""
    return replace(state, settings=replace(state.settings, hide_out_of_stock=hidden))
