"""Explanation types: a list's products and candidates, and the evidence for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from productrecs.features.recommendations.list_request_and_picks import Engine
from productrecs.records.catalog.availability import HiddenReason
from productrecs.records.merchandising.rule import RuleAction


class RefusalReason(StrEnum):
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

    engine: Engine
    rank: int
    score: float
    share: float | None


@dataclass(frozen=True, slots=True)
class BoughtWith:
    """The number of baskets that hold a product and an anchor."""

    item_id: str
    baskets: int


@dataclass(frozen=True, slots=True)
class GoesWith:
    """Two categories that are bought together: the number of baskets, and the lift.

    The first is the product's, the second that of the list's anchors.
    """

    category: str
    beside: str
    baskets: int
    lift: float


@dataclass(frozen=True, slots=True)
class SeenBy:
    """How many of the similar visits viewed a product."""

    visits: int
    of: int


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
    source: Engine
    score: float
    voices: tuple[EngineVote, ...] = ()
    bought_with: tuple[BoughtWith, ...] = ()
    completes: tuple[
        BoughtWith, ...
    ] = ()  # co-occurrences with anchors of other categories, in baskets or converted carts
    goes_with: GoesWith | None = None  # if the categories are the only evidence
    seen_by: SeenBy | None = None
    return_share: float | None = None  # share of visit steps that return to it
    category: str | None = None  # source category in the backfill
    trending_rank: int | None = None  # rank in the trending list, from 1
    rules: tuple[AppliedRule, ...] = ()
    pinned_by: int | None = None
    tired: float | None = None  # impression fatigue factor of the score
    rests: float | None = None  # cooldown factor of its rank in the backfill
    tried: float | None = None  # exploration probability of a new product today
    replaces: str | None = None  # the sold-out product that it can replace
    bundle: str | None = None  # name of the bundle, or its number
    earning: float | None = None  # earning index, where lists follow it: -1 to 1


@dataclass(frozen=True, slots=True)
class HiddenProduct:
    """A candidate or pinned product that is not shown; None where its id is gone."""

    item_id: str | None
    why: RefusalReason | HiddenReason
    voices: tuple[EngineVote, ...] = ()
    rules: tuple[AppliedRule, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
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
    is_learned: bool = False  # whether the learned ranker ordered the candidates
    anchors: tuple[str, ...] = ()
    recent: tuple[str, ...] = ()  # the shopper's latest items, newest first
    placement: str = ""  # a placement's name; `source` is then its strategy
    hidden_below: int | None = None  # the minimum that hides this placement's list
