"""`productrecs explain`: the reply to one call, with the reasons for each product."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

import click
import msgspec

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.engines.registry import BY_NAME
from productrecs.features.recommendations.explain import (
    AppliedRule,
    ComplementaryCategoryPair,
    EngineVote,
    ExplainedProduct,
    HiddenProduct,
    ListExplanation,
    explain_placement,
    explain_recommendations,
    explain_trending,
)
from productrecs.features.recommendations.placement_lists import build_placement_requests
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.records.catalog.item_filters import FilterError, parse_filters
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.experiments.arm_assignment import (
    ArmSplit,
    HoldoutArm,
    draw_arm,
    holdout_split,
)
from productrecs.records.experiments.exposures.repository import read_stored_identity
from productrecs.services import Services
from productrecs.serving.cached_store import load_store
from productrecs.tenancy.accounts.store import Store

_TRENDING = "trending"

TitleOf = Callable[[str], str]


class _ExplainOptions(TypedDict):
    """The options of the request to explain."""

    item: str | None
    cart: tuple[str, ...]
    shopper: str | None
    customer: str | None
    source: str | None
    placement: str | None
    num: int | None
    filters: tuple[str, ...]


class _ExplainedList(NamedTuple):
    """A list with its reasons, and the titles of its products."""

    explanation: ListExplanation
    arm: str | None  # of the holdout test
    test: str  # of the placement; empty without one
    variant: str  # of that test
    titles: dict[str, str]  # of every named product
    unknown_items: list[str]  # named in the call, but not in the catalog
    unknown_shoppers: list[str]  # named in the call, but without any data

    def title_of(self, item_id: str) -> str:
        """Return an id, followed by its title if that differs."""
        title = self.titles.get(item_id, "")
        return f"{item_id} ({title})" if title and title != item_id else item_id


@click.command()
@click.argument("domain")
@click.option("--item", help="The item of the product page (item_id of the request).")
@click.option("--cart", multiple=True, help="An item in the cart; may be repeated.")
@click.option("--shopper", help="The shopper (user_id of the request).")
@click.option("--customer", help="Its customer_id.")
@click.option(
    "--source",
    type=click.Choice([*(source.value for source in Source), _TRENDING]),
    help="The source of the request (default: mix).",
)
@click.option("--placement", help="The placement of the request, in place of its source.")
@click.option(
    "--num",
    type=click.IntRange(1, 20),
    help="The number of products (default: the store's setting).",
)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    help="A filter of the request, such as brand:Acme or price:10..50; may be repeated.",
)
@json_option
@data_option
def explain(
    domain: str, *, as_json: bool, data: Path | None, **call: Unpack[_ExplainOptions]
) -> None:
    """Explain a list: which engine suggested each product, why, and what was removed.

    Shows the list that the service would return for such a request right now.

    Example: productrecs explain shop.example.com --item tent --shopper s_anna
    """
    if call["source"] == Source.SIMILAR and call["item"] is None:
        message = "similar needs --item: the product to find similar products for"
        raise click.UsageError(message)
    try:
        parse_filters(list(call["filters"]))
    except FilterError as error:
        raise click.UsageError(str(error)) from error
    if call["placement"] and call["source"]:
        message = "a placement has its own strategy: leave out --source, or --placement"
        raise click.UsageError(message)
    with open_store(data, domain) as (services, store):
        explained_list = _explain_list(services, store, call)
    if as_json:
        print_json(
            {
                **msgspec.to_builtins(explained_list.explanation),
                "holdout": explained_list.arm,
                "test": explained_list.test,
                "variant": explained_list.variant,
                "titles": explained_list.titles,
                "unknown_items": explained_list.unknown_items,
                "unknown_shoppers": explained_list.unknown_shoppers,
            }
        )
        return
    for line in _explanation_lines(explained_list):
        click.echo(line)


def _explain_list(
    services: Services, store: Store, call: _ExplainOptions
) -> _ExplainedList:
    """Return the list with its reasons, and the shopper's arm of the holdout test."""
    cached_store, now_ms = load_store(services, store), services.clock()
    state, filters = cached_store.state, parse_filters(list(call["filters"]))
    default = 0 if call["placement"] else store.settings.rec_num
    num = call["num"] or default
    shopper_names = tuple(name for name in (call["customer"], call["shopper"]) if name)
    identities = tuple(dict.fromkeys(shopper_names))
    reader = services.database.raw_reader()
    try:
        histories = [cached_store.histories.history_of(name, reader) for name in identities]
        arm, placement = None, None
        if call["placement"]:
            placement = cached_store.placements.find(call["placement"])
        test = cached_store.experiments.by_placement.get(call["placement"] or "")
        if identities:
            stored_identity = read_stored_identity(reader, store.store_id, identities)
            assigned_identity = stored_identity.name or identities[-1]
            if store.settings.holdout_percent:
                arm = draw_arm(store.store_id, _holdout(store), assigned_identity)
            if placement is not None and test is not None:
                placement = test.placements[
                    draw_arm(store.store_id, test.split, assigned_identity)
                ]
    finally:
        reader.close()
    is_trending = call["source"] == _TRENDING
    request = RecommendationRequest(
        Source.MIX if is_trending else Source(call["source"] or Source.MIX),
        num,
        call["item"] or None,
        call["cart"],
        identities,
        filters=filters,
        placement=call["placement"] or "",
    )
    if placement is not None:
        placed_requests = build_placement_requests(state, placement, request, histories)
        explanation = explain_placement(state, placed_requests, histories, now_ms)
    elif is_trending:
        explanation = explain_trending(state, num, now_ms, filters)
    else:
        explanation = explain_recommendations(state, request, histories, now_ms)
    items = dict.fromkeys([*filter(None, [request.item_id]), *request.basket])
    with services.database.reading() as connection:
        catalog = CatalogRepository(connection, store.store_id)
        stored_items = catalog.find([*items, *_mentioned_item_ids(explanation)])
    unknown_shoppers = [
        name
        for name, history in zip(identities, histories, strict=True)
        if not (history.recent or history.bought or history.interest_signals)
    ]
    return _ExplainedList(
        explanation,
        arm,
        "" if placement is None else placement.test,
        "" if placement is None else placement.variant,
        {item_id: stored.item.title for item_id, stored in stored_items.items()},
        [one for one in items if one not in stored_items or not stored_items[one].present],
        unknown_shoppers,
    )


def _holdout(store: Store) -> ArmSplit:
    return holdout_split(store.settings.holdout_test, store.settings.holdout_percent)


def _mentioned_item_ids(explanation: ListExplanation) -> Iterator[str]:
    """Yield the ids of all products in the reasons."""
    yield from (*explanation.anchors, *explanation.recent)
    yield from (one.item_id for one in explanation.struck if one.item_id is not None)
    for product in explanation.products:
        yield product.item_id
        for one in (*product.bought_with, *product.completes):
            yield one.item_id


def _explanation_lines(explained_list: _ExplainedList) -> Iterator[str]:
    explanation, title_of = explained_list.explanation, explained_list.title_of
    for item_id in explained_list.unknown_items:
        yield f"UNKNOWN: {item_id} is not in the catalog; the id is ignored"
    for shopper in explained_list.unknown_shoppers:
        yield f"UNKNOWN: no event or order has the shopper {shopper}"
    yield from _header_lines(explanation, title_of)
    yield from _arm_lines(explained_list)
    if not explanation.products:
        yield (
            "the list is empty"
            if not explanation.hidden_below
            else f"the list is empty: it has fewer than {explanation.hidden_below} products"
        )
    for place, product in enumerate(explanation.products, 1):
        engine = BY_NAME[product.source]
        reasons = "; ".join(_reason_texts(product, title_of)) or engine.summary
        yield f"{place:>3}. {title_of(product.item_id)}  {product.source}: {reasons}"
    if explanation.below:
        yield f"     {explanation.below} more candidates are ranked below"
    for hidden in explanation.struck:
        reasons = "; ".join([_hidden_reason(hidden), *map(_vote_text, hidden.voices)])
        title = title_of(hidden.item_id) if hidden.item_id else "(deleted)"
        yield f"  -  {title}  {reasons}"


def _arm_lines(explained: _ExplainedList) -> Iterator[str]:
    if explained.variant:
        yield f"test {explained.test}: this shopper gets the variant {explained.variant}"
    if explained.arm == HoldoutArm.HELD_OUT:
        yield "HELD OUT: this shopper gets an empty list; without the test:"


def _header_lines(explanation: ListExplanation, title_of: TitleOf) -> Iterator[str]:
    about = ", ".join(map(title_of, explanation.anchors)) or "no product"
    if explanation.placement:
        yield f"placement {explanation.placement}"
    yield f"{explanation.source}, page type {explanation.page_type}, about {about}"
    if explanation.recent:
        yield (
            "the shopper's latest products: "
            f"{', '.join(map(title_of, explanation.recent[:9]))}"
        )
    for engine, count in explanation.proposals.items():
        weight = explanation.weights[engine]
        yield f"{engine} proposed {count} products (weight {weight:g})"


def _reason_texts(product: ExplainedProduct, title_of: TitleOf) -> Iterator[str]:
    if product.pinned_by is not None:
        yield f"pinned by rule {product.pinned_by}"
    if product.replaces is not None:
        yield f"can replace {title_of(product.replaces)}, which cannot be bought now"
    if product.bundle is not None:
        yield f"part of the bundle {product.bundle}"
    yield from map(_vote_text, product.voices)
    yield from _evidence_texts(product, title_of)
    if product.tired is not None:
        yield (
            f"x{product.tired:.2f}, impression fatigue: shown repeatedly and never clicked"
        )
    if product.earning is not None:
        yield f"{product.earning:+.2f}, earning index: margin and stock, from -1 to +1"
    if product.rests is not None:
        yield (
            f"x{product.rests:.2f}, purchase cooldown: its category was just bought or "
            "is in the cart"
        )
    yield from (
        _rule_text(rule) for rule in product.rules if rule.rule_id != product.pinned_by
    )


def _evidence_texts(product: ExplainedProduct, title_of: TitleOf) -> Iterator[str]:
    for partner in product.bought_with[:3]:
        variants = ", variants included" if partner.has_variants else ""
        yield f"in {partner.baskets} baskets with {title_of(partner.item_id)}{variants}"
    for partner in product.completes[:3]:
        cooccurrence = f"in {partner.baskets} baskets or carts with it"
        yield f"completes {title_of(partner.item_id)}: {cooccurrence}"
    if product.goes_with is not None:
        yield _category_pair_text(product.goes_with)
    yield from _visit_evidence_texts(product)
    yield from product.reasons
    if product.category is not None:
        yield f"in the category {product.category}"
    if product.trending_rank is not None:
        yield f"no. {product.trending_rank} in trending"


def _visit_evidence_texts(product: ExplainedProduct) -> Iterator[str]:
    if product.seen_by is None:
        return
    if product.return_share is not None:
        yield f"viewed in this visit: {product.return_share:.1%} of steps go back so far"
    if product.seen_by.visits:
        yield f"seen in {product.seen_by.visits} of {product.seen_by.of} visits like this"
    elif not product.bought_with and product.return_share is None:
        yield "follows the products that such visits see next"


def _category_pair_text(pair: ComplementaryCategoryPair) -> str:
    cooccurrence = f"{pair.baskets} times together, {pair.lift:.1f} x chance"
    return f"{pair.category} go with {pair.beside}: {cooccurrence}"


def _vote_text(vote: EngineVote) -> str:
    return f"no. {vote.rank} of {vote.engine}"


def _hidden_reason(hidden: HiddenProduct) -> str:
    words = hidden.why.value.replace("_", " ")
    rules = [rule for rule in hidden.rules if rule.action == "exclude"]
    if hidden.why != "excluded" or not rules:
        return words
    return f"{words} by rule {rules[0].rule_id} ({rules[0].title})"


def _rule_text(rule: AppliedRule) -> str:
    return f"x{rule.factor:.3g} by rule {rule.rule_id} ({rule.title})"
