"""Engine protocol: how every source of recommended products is trained, asked, explained.

Engines take arrays and item numbers, and give arrays and item numbers: they know no
database, clock or HTTP. `registry.py` lists them all.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import (
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
)

from productrecs.engines.array_types_and_sorting import (
    NO_RANKED,
    Arrays,
    Bools,
    Floats,
    Ints,
    Items,
    RankedItems,
    Scores,
)
from productrecs.engines.copurchase import CopurchaseOptions, VariantGroups
from productrecs.engines.item_fingerprints import Words

Model = TypeVar("Model")


Metric: TypeAlias = Literal["orders", "units", "revenue"]
MAX_ORDER: Final = 400  # maximum length of an order that the whole store shares


class PurchaseLines(Protocol):
    """Order lines as parallel arrays [n]; `baskets` below 0 and `buyers` 0 are unknown."""

    baskets: Ints
    items: Items
    quantities: Ints  # below 0: returned
    totals: Floats  # in the store's currency; nan: unknown
    times: Ints  # UTC milliseconds
    is_active: Bools
    buyers: Ints


class BasketLines(NamedTuple):
    """Lines of baskets, as parallel arrays; ages are relative to the newest purchase."""

    baskets: Ints
    items: Items
    ages_days: Scores
    buyers: Ints  # 0: unknown


class FitFingerprint(NamedTuple):
    """What a fit depends on: `objects` compare by identity, so they must not change."""

    objects: tuple[object, ...]
    values: Hashable = ()

    def is_same(self, other: "FitFingerprint") -> bool:
        """Return whether both are of the same objects and equal values."""
        are_same = list(map(id, self.objects)) == list(map(id, other.objects))
        return are_same and self.values == other.values


class TrendingInputs(NamedTuple):
    """The trending window, and what happened in it."""

    metric: Metric
    since_ms: int  # since_ms < time <= now_ms
    carted: Ints  # [n_items]
    viewed: Ints  # [n_items]


@dataclass(frozen=True, slots=True, eq=False)
class FitInputs:
    """What an engine can be fitted to: one store's items, purchases and visits.

    `categories` and `variants` are by item number. The functions return lines of orders,
    and of orders with the carts of the same visit (None if carts add nothing).
    """

    n_items: int
    now_ms: int
    newest_purchase_ms: int
    purchases: PurchaseLines
    has_categories: bool
    categories: Items  # below 0: unknown
    variants: VariantGroups
    copurchase_options: CopurchaseOptions
    sessions: Arrays  # the session index, joined from the partitions of the events
    trending: TrendingInputs
    cart_event_count: int
    order_lines: Callable[[], BasketLines]
    order_lines_with_visit_carts: Callable[[], BasketLines | None]

    @property
    def purchase_fingerprint(self) -> FitFingerprint:
        """What the fits to purchases, categories and variants depend on."""
        return FitFingerprint(
            (self.purchases, self.categories, self.variants),
            (self.n_items, self.newest_purchase_ms, self.copurchase_options),
        )


class EligibleProducts(Protocol):
    """The products that a list may show; orders are best first and may repeat items."""

    visible: Bools  # by item number

    def may_show(self, item: int) -> bool:
        """Return whether an item may be shown."""

    def trending_then_newest(self) -> Iterator[int]:
        """Yield trending items, then the rest of the catalog, newest first."""

    def newest(self, limit: int) -> Ints:
        """Return the newest items."""

    def smallest_categories_of_anchors(self, anchors: Sequence[int]) -> list[str]:
        """Return some categories of the anchors, those with the fewest items first."""

    def categories_of(self, item: int) -> Sequence[str]:
        """Return the categories of an item."""

    def best_of_category(self, name: str) -> list[int]:
        """Return the best items of a category."""


@dataclass(slots=True, kw_only=True)
class ListContext:
    """What a list is made for: products, a visit and a shopper, in item numbers."""

    anchors: tuple[int, ...]  # the page's product or the cart's
    basket: tuple[int, ...]  # the anchors, else what the shopper bought
    visit: tuple[int, ...]  # the latest items, newest last
    now_ms: int
    is_only_engine: bool = False  # no other engine supplies candidates
    pools_variants: bool = True  # co-purchases count by variant group
    visitor: int | None = None  # whose own sessions are left out
    interactions: Mapping[int, int] = field(default_factory=dict)  # above a view, by item
    rebuyable: RankedItems = NO_RANKED  # what the shopper buys again

    def companions_of_purchases(self) -> RankedItems:
        """Return what is bought together with the purchases that count beside the visit."""
        return NO_RANKED

    def with_interest_signals(self, candidates: RankedItems) -> RankedItems:
        """Return candidates with those of the shopper's searches and category views."""
        return candidates


class ListRequest(ListContext, ABC):
    """A context with the store's products."""

    __slots__ = ()

    eligible: EligibleProducts
    recent: Sequence[int]  # the shopper's latest items, newest last

    @abstractmethod
    def best_sellers(self, limit: int) -> Iterable[int]:
        """Return the store's best sellers by its own metric, before rules reorder them."""

    @abstractmethod
    def backfill_anchors(self) -> Sequence[int]:
        """Return the items whose categories fill the list up, most relevant first."""

    @abstractmethod
    def missing_bundle_parts(self) -> Iterable[int]:
        """Return the missing parts of the bundle that the list can show whole."""


class SharedBasketCount(NamedTuple):
    """How many baskets hold an explained item and this anchor."""

    anchor: int
    baskets: int


class CategoryPairLift(NamedTuple):
    """How much likelier than by chance an item's category is bought with an anchor's."""

    anchor: int
    baskets: int
    lift: float


def shared_basket_counts(
    count_shared_baskets: Callable[[int, int], int], anchors: Sequence[int], item: int
) -> tuple[SharedBasketCount, ...]:
    """Return the counts of the anchors that share a basket with an item, highest first."""
    counts = [
        SharedBasketCount(anchor, count_shared_baskets(anchor, item)) for anchor in anchors
    ]
    return tuple(
        sorted(
            (count for count in counts if count.baskets), key=lambda count: -count.baskets
        )
    )


@dataclass(frozen=True, slots=True)
class SimilarVisitViews:
    """How many of the similar visits viewed a product."""

    visits: int
    of: int


@dataclass(frozen=True, slots=True)
class EngineEvidence:
    """Why an engine proposes an item; `reasons` are sentences of its own."""

    bought_with: tuple[SharedBasketCount, ...] = ()
    completes: tuple[SharedBasketCount, ...] = ()  # anchors of other categories
    goes_with: CategoryPairLift | None = None  # if the categories are the only evidence
    seen_by: SimilarVisitViews | None = None
    return_share: float | None = None  # share of visit steps that return to it
    category: str | None = None  # whose best sellers it is one of
    reasons: tuple[str, ...] = ()

    def joined(self, other: "EngineEvidence") -> "EngineEvidence":
        """Return the evidence of both; each kind comes from one engine."""
        return EngineEvidence(
            **{
                part.name: getattr(other, part.name) or getattr(self, part.name)
                for part in fields(self)
            }
        )


NO_EVIDENCE: Final = EngineEvidence()
Explainer = Callable[[int], EngineEvidence]


class Engine(Generic[Model]):
    """One source of products. A subclass overrides what it has.

    `Model` is what `load` returns. `weights` is the engine's weight in `mix`, by page type.
    A filler backfills short lists, and changes with the whole store.
    """

    name: ClassVar[str]  # the `source` of its products on the wire
    label: ClassVar[str]  # for merchants
    summary: ClassVar[str]  # for people: which products it recommends
    guide: ClassVar[str] = "recommendations"  # the guide page that describes it
    is_filler: ClassVar[bool] = False
    is_trained: ClassVar[bool] = True  # by the training job, not by its own schedule
    # Separately, against popularity; its candidates depend only on the `ListContext`.
    is_evaluated: ClassVar[bool] = False
    weights: ClassVar[Mapping[str, float]] = MappingProxyType({})

    def fingerprint(self, inputs: FitInputs) -> FitFingerprint | None:
        """Return what a new fit depends on; None to fit at every training."""
        return None

    def fit(self, inputs: FitInputs, fitted_arrays: Arrays) -> Arrays:
        """Return the arrays to store; `fitted_arrays` are those of earlier engines."""
        return {}

    def load(self, arrays: Arrays, loaded_models: Mapping[str, Any]) -> Model:
        """Return the model of the stored arrays of all engines; of none, an empty one.

        `loaded_models` has the models of the engines before it.

        Raises:
            KeyError, ValueError, TypeError: when its arrays are incomplete.
        """
        return cast("Model", None)  # an engine without a model

    def item_hashes(self, arrays: Arrays) -> Iterator[Words]:
        """Yield hashes [n_items] of what each item's candidates depend on, of all arrays.

        While they are equal, a cached list of the item is valid.
        """
        yield from ()

    def candidates(self, model: Model, request: ListRequest) -> RankedItems:
        """Return the items for a list, before any filter."""
        return NO_RANKED

    def backfill(
        self, model: Model, eligible: EligibleProducts, anchors: Sequence[int]
    ) -> Iterator[int]:
        """Yield items for the end of a short list; an item may repeat."""
        yield from ()

    def explain(self, model: Model, request: ListRequest) -> Explainer:
        """Return a function that explains an item which this engine proposes."""
        return lambda _: NO_EVIDENCE
