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
    BoughtTogetherCount,
    CandidateRefusalReason,
    ExplainedProduct,
    ListExplanation,
    explain_recommendations,
    explain_trending,
)
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.catalog.availability import UnavailableReason
from productrecs.records.catalog.item_filters import NO_FILTERS, Filters
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.merchandising.rule import Rule, RuleAction

TitleOf = Callable[[str], str]
_HIDDEN: Final = MappingProxyType(
    {
        CandidateRefusalReason.ASKED_ABOUT: "it is the product of the page",
        CandidateRefusalReason.BOUGHT: "the shopper has bought it",
        CandidateRefusalReason.EXCLUDED: "excluded by a rule",
        CandidateRefusalReason.RESTING: "its category was just bought",
        CandidateRefusalReason.FILTERED: "does not match the filter",
        UnavailableReason.DELETED: "deleted from the catalog",
        UnavailableReason.DISCONTINUED: "discontinued",
        UnavailableReason.SOLD_OUT: "out of stock",
        UnavailableReason.NOT_YET: "not available yet",
        UnavailableReason.NO_LONGER: "no longer available",
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
class OmittedCandidate:
    """A candidate that a list does not show, with the reason."""

    item_id: str
    title: str
    why: str


@dataclass(frozen=True, slots=True)
class ExplainedList:
    """One list with reasons, and its omitted candidates."""

    products: tuple[ListedProduct, ...]
    left_out: tuple[OmittedCandidate, ...]

    @property
    def ids(self) -> list[str]:
        """The ids of the products, in order."""
        return [product.item_id for product in self.products]


def build_explained_list(
    visit: Visit, explanation: ListExplanation, ids_before: Sequence[str] | None = None
) -> ExplainedList:
    """Return an explanation as a page shows it, compared with the list `ids_before`."""
    ids = list(dict.fromkeys(_mentioned_item_ids(explanation)))
    with visit.database.reading() as connection:
        stored = CatalogRepository(connection, visit.store.store_id).find(ids)
    items = {item_id: product.item for item_id, product in stored.items()}

    def title_of(item_id: str) -> str:
        return (items[item_id].title if item_id in items else "") or item_id

    products = []
    for position, product in enumerate(explanation.products):
        item = items.get(product.item_id)
        engine = BY_NAME[product.source]
        products.append(
            ListedProduct(
                item_id=product.item_id,
                title=title_of(product.item_id),
                picture=visit.pictures.address_if_allowed(item.image_url if item else None),
                price=item.price if item else None,
                engine=engine.label,
                reasons=tuple(_product_reasons(visit, product, title_of))
                or (engine.summary.capitalize(),),
                change=""
                if ids_before is None
                else position_change(product.item_id, position, ids_before),
            )
        )
    left_out = tuple(
        OmittedCandidate(product.item_id, title_of(product.item_id), _HIDDEN[product.why])
        for product in explanation.struck
        if product.item_id is not None
        and product.why is not CandidateRefusalReason.ASKED_ABOUT
    )
    return ExplainedList(tuple(products), left_out)


def position_change(item_id: str, place: int, ids_before: Sequence[str]) -> str:
    """Return `new`, `up`, `down` or "", compared with the list before."""
    if item_id not in ids_before:
        return "new"
    old = ids_before.index(item_id)
    return "" if old == place else "up" if place < old else "down"


def _mentioned_item_ids(explanation: ListExplanation) -> Iterator[str]:
    yield from (
        product.item_id for product in explanation.struck if product.item_id is not None
    )
    for product in explanation.products:
        yield product.item_id
        if product.replaces is not None:
            yield product.replaces
        yield from (other.item_id for other in (*product.bought_with, *product.completes))


def _product_reasons(
    visit: Visit, product: ExplainedProduct, title_of: TitleOf
) -> Iterator[str]:
    if product.pinned_by is not None:
        pins = (rule.title for rule in product.rules if rule.action is RuleAction.PIN)
        yield f"Pinned by rule {next(pins, '')}"
    if product.replaces is not None:
        yield f"Can replace {title_of(product.replaces)}, which cannot be bought now"
    if product.bundle is not None:
        yield f"Part of the bundle {product.bundle}"
    yield from _reasons_from_orders(visit, product, title_of)
    yield from _view_and_picture_reasons(visit, product)
    if product.category is not None:
        is_known = product.trending_rank is not None
        yield f"{'Popular in' if is_known else 'Also in'} {product.category}"
    if product.trending_rank is not None and product.source is EngineName.TRENDING:
        yield f"No. {visit.formats.number(product.trending_rank)} in trending"
    yield from product.reasons
    yield from (
        _boost_or_bury_reason(visit, rule) for rule in product.rules if rule.factor != 1
    )


def _reasons_from_orders(
    visit: Visit, product: ExplainedProduct, title_of: TitleOf
) -> Iterator[str]:
    fmt = visit.formats
    for partner in product.bought_with[:_MOST_NAMED]:
        orders = "order holds" if partner.baskets == 1 else "orders hold"
        yield _shared_baskets_text(visit, partner, orders, title_of)
    named_ids = {partner.item_id for partner in product.bought_with}
    for partner in (
        partner for partner in product.completes if partner.item_id not in named_ids
    ):
        orders = "order or cart holds" if partner.baskets == 1 else "orders or carts hold"
        yield _shared_baskets_text(visit, partner, orders, title_of)
    if product.goes_with is not None:
        category_pair = product.goes_with
        yield (
            f"{category_pair.category} and {category_pair.beside} are bought together "
            f"{fmt.number(category_pair.lift, 1)} times as often as by chance"
        )


def _shared_baskets_text(
    visit: Visit, partner: BoughtTogetherCount, baskets_hold: str, title_of: TitleOf
) -> str:
    count, title = visit.formats.number(partner.baskets), title_of(partner.item_id)
    variants = ", variants included" if partner.has_variants else ""
    return f"{count} {baskets_hold} it and {title}{variants}"


def _view_and_picture_reasons(visit: Visit, product: ExplainedProduct) -> Iterator[str]:
    fmt = visit.formats
    if product.seen_by is not None and product.seen_by.visits:
        seen, of = fmt.number(product.seen_by.visits), fmt.number(product.seen_by.of)
        yield f"Viewed in {seen} of {of} similar visits"
    if product.return_share is not None:
        share = fmt.share(product.return_share, 1)
        yield f"Viewed earlier in this visit: {share} of steps go back so far"
    if any(vote.engine is EngineName.SIMILAR for vote in product.voices):
        yield "Its picture looks similar"


def _boost_or_bury_reason(visit: Visit, rule: AppliedRule) -> str:
    word = "Boosted" if rule.action is RuleAction.BOOST else "Buried"
    factor = visit.formats.number(rule.factor, 2)
    return f"{word} by rule {rule.title}: its score is multiplied by {factor}"


TRENDING: Final = "trending"
SOURCES: Final = (
    (Source.MIX.value, "Mix", "What shoppers also buy and view: the usual choice"),
    (Source.BUY.value, "Bought together", "From orders alone, never filled up"),
    (Source.BROWSE.value, "Viewed together", "From what visitors view in one visit"),
    (
        Source.SIMILAR.value,
        "Similar",
        "Products whose pictures look like its own; without pictures as in Mix",
    ),
)


def explain_source_list(
    visit: Visit,
    state: StoreState,
    source: str,
    item_id: str | None,
    ids_before: Sequence[str] | None = None,
    filters: Filters = NO_FILTERS,
) -> ExplainedList:
    """Return a source's list on a product's page for a shopper without a history.

    `trending` needs no product. The list is compared with the one of `ids_before`.
    """
    num, now_ms = state.settings.rec_num, visit.now_ms
    if source == TRENDING:
        explanation = explain_trending(state, num, now_ms, filters)
    else:
        request = RecommendationRequest(Source(source), num, item_id, filters=filters)
        explanation = explain_recommendations(state, request, (), now_ms)
    return build_explained_list(visit, explanation, ids_before)


def state_with_rules(visit: Visit, rules: Sequence[Rule]) -> StoreState:
    """Return the store with exactly these rules."""
    state = visit.cached_store.state
    if state.rules is None:
        return state
    reader = visit.database.raw_reader()
    try:
        preview = state.rules.fixed_view_of_rules_alone(reader, rules, visit.now_ms)
    finally:
        reader.close()
    return replace(state, rules=preview)


def state_with_sold_out(state: StoreState, *, hidden: bool) -> StoreState:
    """Return the store with products out of stock hidden, or shown."""
    return replace(state, settings=replace(state.settings, hide_out_of_stock=hidden))
