"""Explanation of a list: the engines, evidence and rules behind each product.

The serving functions make the list; this module only reads their decision.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from productrecs.engines.array_types_and_sorting import RankedItems
from productrecs.engines.engine_protocol import (
    CategoryPairLift,
    EngineEvidence,
    Explainer,
    SharedBasketCount,
    SimilarVisitViews,
)
from productrecs.engines.rank_fusion import shares_and_list_indexes
from productrecs.engines.registry import BY_NAME
from productrecs.features.recommendations.bundles import bundle_offer_of_list
from productrecs.features.recommendations.cooldown_and_fatigue import COOLDOWN_FACTOR
from productrecs.features.recommendations.placement_lists import (
    PlacementRequests,
    decide_placement,
)
from productrecs.features.recommendations.recommend import ListDecision, decide_list
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    Pick,
    RecommendationRequest,
)
from productrecs.features.recommendations.reranking import earning_index_of
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.features.recommendations.source_recipes import PageType
from productrecs.features.recommendations.trending import PLACE, trending_list
from productrecs.records.catalog.availability import UnavailableReason
from productrecs.records.catalog.item_filters import NO_FILTERS, Filters
from productrecs.records.events.shopper_history_cache import ShopperHistory
from productrecs.records.merchandising.rule import ListKind, Rule, RuleAction


class CandidateRefusalReason(StrEnum):
    """Why a list does not show a candidate."""

    ASKED_ABOUT = "asked_about"  # an anchor: the page's product, or in the cart
    BOUGHT = "bought"  # and not eligible for repeats yet
    EXCLUDED = "excluded"  # by a rule
    FILTERED = "filtered"  # fails a filter of the call or its placement
    RESTING = "resting"  # on cooldown: of a category just bought or in the cart


@dataclass(frozen=True, slots=True)
class EngineVote:
    """One engine's result for a product: its rank among the candidates, from 1.

    `score` is comparable within that engine only. `share` is its part of the fused score
    before rules apply; None if one engine supplied the list alone.
    """

    engine: EngineName
    rank: int
    score: float
    share: float | None


@dataclass(frozen=True, slots=True)
class BoughtTogetherCount:
    """The number of baskets that hold a product and an anchor.

    With `has_variants`, baskets with a variant of either of them count too.
    """

    item_id: str
    baskets: int
    has_variants: bool = False


@dataclass(frozen=True, slots=True)
class ComplementaryCategoryPair:
    """Two categories that are bought together: the number of baskets, and the lift.

    The first is the product's, the second that of the list's anchors.
    """

    category: str
    beside: str
    baskets: int
    lift: float


@dataclass(frozen=True, slots=True)
class AppliedRule:
    """A rule for a product; `factor` multiplies its score."""

    rule_id: int
    title: str
    action: RuleAction
    factor: float


@dataclass(frozen=True, slots=True)
class ExplainedProduct:
    """One product of the list, and the evidence for it."""

    item_id: str
    source: EngineName
    score: float
    voices: tuple[EngineVote, ...] = ()
    bought_with: tuple[BoughtTogetherCount, ...] = ()
    completes: tuple[
        BoughtTogetherCount, ...
    ] = ()  # co-occurrences with anchors of other categories, in baskets or converted carts
    goes_with: ComplementaryCategoryPair | None = (
        None  # if the categories are the only evidence
    )
    seen_by: SimilarVisitViews | None = None
    return_share: float | None = None  # share of visit steps that return to it
    category: str | None = None  # source category in the backfill
    trending_rank: int | None = None  # rank in the trending list, from 1
    rules: tuple[AppliedRule, ...] = ()
    pinned_by: int | None = None
    tired: float | None = None  # impression fatigue factor of the score
    rests: float | None = None  # cooldown factor of its rank in the backfill
    replaces: str | None = None  # the sold-out product that it can replace
    bundle: str | None = None  # name of the bundle, or its number
    earning: float | None = None  # earning index, where lists follow it: -1 to 1
    reasons: tuple[str, ...] = ()  # sentences of engines with evidence of their own


@dataclass(frozen=True, slots=True)
class HiddenProduct:
    """A candidate or pinned product that is not shown; None where its id is gone."""

    item_id: str | None
    why: CandidateRefusalReason | UnavailableReason
    voices: tuple[EngineVote, ...] = ()
    rules: tuple[AppliedRule, ...] = ()


@dataclass(frozen=True, slots=True)
class ListExplanation:
    """A list with its reasons; `products` are those of the reply, in order.

    `proposals` is the number of candidates of each engine, `weights` the weight of
    each, `below` how many more candidates are ranked below the list.
    """

    source: str
    page_type: str
    products: tuple[ExplainedProduct, ...]
    struck: tuple[HiddenProduct, ...]
    weights: Mapping[str, float]
    proposals: Mapping[str, int]
    below: int
    anchors: tuple[str, ...] = ()
    recent: tuple[str, ...] = ()  # the shopper's latest items, newest first
    placement: str = ""  # a placement's name; `source` is then its strategy
    hidden_below: int | None = None  # the minimum that hides this placement's list


def explain_recommendations(
    store: StoreState,
    request: RecommendationRequest,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> ListExplanation:
    """Return the list that `recommend` returns for the same arguments, with its reasons."""
    return _explain_list(
        store, request, decide_list(store, request, histories, now_ms), now_ms
    )


def explain_placement(
    store: StoreState,
    placed: PlacementRequests,
    histories: Sequence[ShopperHistory],
    now_ms: int,
) -> ListExplanation:
    """Return the list of `recommend_placement` for the same arguments, with its reasons.

    Products of the fallback follow; candidates that were left out are the strategy's.
    """
    placement_decisions = decide_placement(store, placed, histories, now_ms)
    explanations = [
        _explain_list(store, *request_and_decision, now_ms)
        for request_and_decision in placement_decisions.decisions
    ]
    products = {
        product.item_id: product
        for explanation in explanations
        for product in explanation.products
    }
    ids = store.catalog.ids
    content = placed.placement.content
    listed = tuple(
        replace(products[ids[pick.item] or ""], score=pick.score)
        for pick in placement_decisions.picks
    )
    main = explanations[0] if explanations else ListExplanation("", "", (), (), {}, {}, 0)
    is_hidden = not listed and content.minimum > 0
    return replace(
        main,
        source=content.strategy,
        products=listed,
        placement=placed.placement.name,
        hidden_below=content.minimum if is_hidden else None,
    )


def _explain_list(
    store: StoreState, request: RecommendationRequest, decision: ListDecision, now_ms: int
) -> ListExplanation:
    explainer = _DecisionExplainer(store, decision, request, now_ms)
    context = decision.call.context
    hidden = tuple(explainer.hidden_products())
    ids = store.catalog.ids
    picked = {pick.item for pick in decision.picks}
    listable = [
        item for item in decision.ranking.items.tolist() if explainer.could_be_listed(item)
    ]
    return ListExplanation(
        source=request.source,
        page_type=context.page_type,
        products=tuple(explainer.explain_product(pick) for pick in decision.picks),
        struck=hidden,
        weights={engine.value: weight for engine, weight in decision.weights.items()},
        proposals={
            engine.value: len(ranked.items)
            for engine, ranked in zip(decision.weights, decision.candidates, strict=True)
        },
        below=sum(item not in picked for item in listable),
        anchors=_known_ids(ids, context.anchors),
        recent=_known_ids(ids, context.recent[::-1]),
    )


def explain_trending(
    store: StoreState, num: int, now_ms: int, filters: Filters = NO_FILTERS
) -> ListExplanation:
    """Return the list of `trending_list` for the same arguments, with its reasons."""
    in_force, place = store.rules_in_force, ListKind(PLACE)
    picks = trending_list(store, num, now_ms, filters=filters)
    ids = store.catalog.ids
    products = []
    for pick in picks:
        rules = [] if in_force is None else in_force.rules_about_item(pick.item, place)
        products.append(
            ExplainedProduct(
                item_id=ids[pick.item] or "",
                source=pick.engine,
                score=pick.score,
                trending_rank=_trending_rank_from_one(store, pick.item),
                rules=_to_applied_rules(rules),
                pinned_by=_pinning_rule_id(rules),
            )
        )
    struck = [
        HiddenProduct(
            ids[item],
            CandidateRefusalReason.EXCLUDED,
            rules=_to_applied_rules(in_force.rules_about_item(item, place)),
        )
        for item in store.models.trending[:num].tolist()
        if in_force is not None and item in in_force.effects_on_list(place).excluded
    ]
    return ListExplanation(PLACE, PLACE, tuple(products), tuple(struck), {}, {}, 0)


class _DecisionExplainer:
    """Explains one decision, product by product."""

    def __init__(
        self,
        store: StoreState,
        decision: ListDecision,
        request: RecommendationRequest,
        now_ms: int,
    ) -> None:
        self._store = store
        self._decision = decision
        self._request = request
        self._now_ms = now_ms
        self._shown = {pick.item for pick in decision.picks}
        self._source = request.source
        page_type, plan = decision.call.context.page_type, request.plan
        ruled = request.ruled_source
        self._places = (
            ListKind(page_type),
            None if ruled is None else ListKind(ruled),
            "" if plan is None else plan.placement,
        )
        unfiltered = None if plan is None else plan._replace(filters=())
        self._unfiltered = store.eligible_items(now_ms, page_type, ruled, plan=unfiltered)
        self._explainers: dict[str, Explainer] = {}

    def explain_product(self, pick: Pick) -> ExplainedProduct:
        """Return the evidence for one product of the list."""
        rules = self._rules_about(pick.item)
        votes = self._engine_votes(pick.item)
        evidence = self._joined_evidence(pick, votes)
        ids, pair = self._store.catalog.ids, evidence.goes_with
        return ExplainedProduct(
            item_id=ids[pick.item] or "",
            source=pick.engine,
            score=pick.score,
            voices=votes,
            bought_with=self._to_bought_together_counts(pick.item, evidence.bought_with),
            completes=self._to_bought_together_counts(pick.item, evidence.completes),
            goes_with=None if pair is None else self._name_category_pair(pick.item, pair),
            seen_by=evidence.seen_by,
            return_share=evidence.return_share,
            category=evidence.category,
            trending_rank=_trending_rank_from_one(self._store, pick.item),
            rules=_to_applied_rules(rules),
            pinned_by=_pinning_rule_id(rules),
            tired=self._decision.call.context.fatigue.get(pick.item),
            rests=self._cooldown_factor(pick.item),
            replaces=self._replaced_item_id(pick.item),
            bundle=self._bundle_name(),
            earning=earning_index_of(self._store, pick.item),
            reasons=evidence.reasons,
        )

    def _joined_evidence(self, pick: Pick, votes: Sequence[EngineVote]) -> EngineEvidence:
        """Return the evidence of the engines that propose a product."""
        engines = {vote.engine: None for vote in votes} | {pick.engine: None}
        if self._decision.call.context.remembered_purchases:
            engines[EngineName.BUY] = None
        evidence = EngineEvidence()
        for engine in engines:
            evidence = evidence.joined(self._engine_explainer(engine)(pick.item))
        return evidence

    def _engine_explainer(self, name: EngineName) -> Explainer:
        explainer = self._explainers.get(name)
        if explainer is None:
            engine, request = BY_NAME[name], self._decision.call
            explainer = engine.explain(self._store.models.of(engine), request)
            self._explainers[name] = explainer
        return explainer

    def _to_bought_together_counts(
        self, item: int, baskets: Sequence[SharedBasketCount]
    ) -> tuple[BoughtTogetherCount, ...]:
        ids = self._store.catalog.ids
        return tuple(
            BoughtTogetherCount(
                ids[shared.anchor] or "",
                shared.baskets,
                self._has_pooled_variants(item) or self._has_pooled_variants(shared.anchor),
            )
            for shared in baskets
        )

    def _has_pooled_variants(self, item: int) -> bool:
        """Return whether the list counts other products of this title as the product."""
        labels = self._store.catalog.variants
        if not self._decision.call.pools_variants or item >= len(labels):
            return False
        return labels[item] != 0 and labels.count(labels[item]) > 1

    def _name_category_pair(
        self, item: int, pair: CategoryPairLift
    ) -> ComplementaryCategoryPair:
        narrowest = self._decision.call.eligible.narrowest
        return ComplementaryCategoryPair(
            narrowest[item], narrowest[pair.anchor], pair.baskets, pair.lift
        )

    def _bundle_name(self) -> str | None:
        picks = self._decision.picks
        offer = bundle_offer_of_list(self._store, self._request, picks, self._now_ms)
        if offer is None:
            return None
        return offer.bundle.content.name or f"no. {offer.bundle.bundle_id}"

    def hidden_products(self) -> Iterator[HiddenProduct]:
        """Yield candidates and pins that may not be shown, in the order of the fusion."""
        rules = self._decision.call.eligible.rules
        pinned = [pin.item for pin in rules.pins] if rules is not None else []
        for item in dict.fromkeys([*self._decision.ranking.items.tolist(), *pinned]):
            reason = self._hidden_reason(item)
            if reason is not None:
                ids = self._store.catalog.ids
                item_id = ids[item] if item < len(ids) else None
                applied = _to_applied_rules(self._rules_about(item))
                yield HiddenProduct(item_id, reason, self._engine_votes(item), applied)

    def could_be_listed(self, item: int) -> bool:
        """Return whether an item could be in the list."""
        decision = self._decision
        if item in decision.call.not_listable or not decision.call.eligible.may_show(item):
            return False
        return item in self._shown or self._cooldown_factor(item) is None

    def _hidden_reason(
        self, item: int
    ) -> CandidateRefusalReason | UnavailableReason | None:
        if self.could_be_listed(item):
            return None
        if item in self._decision.call.context.anchors:
            return CandidateRefusalReason.ASKED_ABOUT
        if item in self._decision.call.context.bought:
            return CandidateRefusalReason.BOUGHT
        hidden = self._store.catalog.why_hidden(
            item, self._now_ms, hide_sold_out=self._store.settings.hide_out_of_stock
        )
        if hidden is None and self._decision.call.eligible.may_show(item):
            return CandidateRefusalReason.RESTING
        if hidden is None and self._unfiltered.may_show(item):
            return CandidateRefusalReason.FILTERED
        return hidden or CandidateRefusalReason.EXCLUDED

    def _rules_about(self, item: int) -> list[Rule]:
        in_force = self._store.rules_in_force
        return [] if in_force is None else in_force.rules_about_item(item, *self._places)

    def _engine_votes(self, item: int) -> tuple[EngineVote, ...]:
        decision = self._decision
        candidates = decision.candidates
        shares, lists = shares_and_list_indexes(
            [ranked.items for ranked in candidates],
            tuple(decision.weights.values()),
            [ranked.support for ranked in candidates],
        )
        return tuple(
            EngineVote(
                engine,
                rank + 1,
                float(ranked.scores[rank]),
                None if len(candidates) == 1 else float(shares[lists == index][rank]),
            )
            for index, (engine, ranked) in enumerate(
                zip(decision.weights, candidates, strict=True)
            )
            if (rank := _rank_from_zero(ranked, item)) is not None
        )

    def _cooldown_factor(self, item: int) -> float | None:
        context, eligible = self._decision.call.context, self._decision.call.eligible
        if not context.cooldown or eligible.narrowest[item] not in context.cooldown:
            return None
        is_cart = context.page_type is PageType.CART
        if is_cart and eligible.is_bought_with_same_category(item, context.anchors):
            return None
        return COOLDOWN_FACTOR

    def _replaced_item_id(self, item: int) -> str | None:
        if item not in self._decision.replacements:
            return None
        return self._store.catalog.ids[self._decision.call.context.anchors[0]]


def _rank_from_zero(ranked: RankedItems, item: int) -> int | None:
    items: list[int] = ranked.items.tolist()
    return items.index(item) if item in items else None


def _trending_rank_from_one(store: StoreState, item: int) -> int | None:
    ranks = store.models.ranks
    if item >= len(ranks) or ranks[item] >= len(store.models.trending):
        return None
    return int(ranks[item]) + 1


def _to_applied_rules(rules: Sequence[Rule]) -> tuple[AppliedRule, ...]:
    return tuple(
        AppliedRule(rule.rule_id, rule.title, rule.content.action, rule.content.factor)
        for rule in rules
    )


def _pinning_rule_id(rules: Sequence[Rule]) -> int | None:
    pins = (rule.rule_id for rule in rules if rule.content.action is RuleAction.PIN)
    return next(pins, None)


def _known_ids(ids: Sequence[str | None], items: Sequence[int]) -> tuple[str, ...]:
    ids_of_items = (ids[item] for item in items if item < len(ids))
    return tuple(name for name in ids_of_items if name is not None)
