"""Bundles: sets proposed from orders, and the bundle that a page shows."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, NamedTuple

from productrecs.engines.registry import BUNDLE, COMPLEMENTARY
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    Pick,
    RecommendationRequest,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.catalog.item import Item
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.catalog.title_words import variant_key
from productrecs.records.placements.bundle import (
    Bundle,
    BundleContent,
    BundlePrice,
    BundleState,
    bundle_price,
    is_offerable,
    sum_of,
)
from productrecs.records.placements.repository import BundleRepository
from productrecs.storage.sql.database import Database

MAX_PROPOSALS: Final = 50
# Share of common words from which titles name designs of one product.
_MIN_COMMON_WORDS: Final = 0.5


class BundleOffer(NamedTuple):
    """An accepted bundle that can be bought now; `missing` parts are not on the page."""

    bundle: Bundle
    missing: tuple[int, ...]
    price: BundlePrice


class BundleProposal(NamedTuple):
    """A set of products that orders contain together.

    `orders` counts the orders of the last year with the whole set. `lift` is a lower bound
    of these orders relative to chance.
    """

    item_ids: tuple[str, ...]
    orders: int
    lift: float


def bundle_offers(
    store: StoreState, anchors: Collection[int], now_ms: int
) -> Iterator[BundleOffer]:
    """Yield the bundles that a page can offer, the most fitting first.

    They contain an anchor and something else, and every part can be bought. Those with more
    anchors come first, then those that begin with one, then the older ones.
    """
    catalog = store.catalog
    anchor_ids = {
        item_id for anchor in anchors if (item_id := catalog.ids[anchor]) is not None
    }
    bundles = {
        bundle.bundle_id: bundle
        for item_id in anchor_ids
        for bundle in store.bundles.get(item_id, ())
    }

    def sort_key(bundle: Bundle) -> tuple[int, bool, int]:
        items = bundle.content.items
        return (
            -len(anchor_ids.intersection(items)),
            items[0] not in anchor_ids,
            bundle.bundle_id,
        )

    is_foreign_currency = catalog.list_currency not in {"", store.settings.currency}
    for bundle in sorted(bundles.values(), key=sort_key):
        if is_foreign_currency and bundle.content.discount_amount is not None:
            continue  # the amount is in the store's currency
        parts = catalog.numbers_of(bundle.content.items)
        missing = tuple(part for part in parts if part not in anchors)
        prices = [float(catalog.prices[part]) for part in parts]
        price = bundle_price(prices, bundle.content)
        if (
            missing
            and can_buy_all(store, bundle.content.items, now_ms)
            and is_offerable(price, bundle.content)
        ):
            yield BundleOffer(bundle, missing, price)


def can_buy_all(store: StoreState, item_ids: Sequence[str], now_ms: int) -> bool:
    """Return whether all these products are in the catalog and can be bought now."""
    numbers = store.catalog.numbers_of(item_ids)
    buyable = store.catalog.visible(now_ms, hide_sold_out=True)
    return len(numbers) == len(item_ids) and all(
        number < len(buyable) and buyable[number] for number in numbers
    )


def bundle_offer_of_list(
    store: StoreState, request: RecommendationRequest, picks: Sequence[Pick], now_ms: int
) -> BundleOffer | None:
    """Return the bundle that a list shows; None for a list of other products."""
    if not picks or picks[0].engine is not EngineName.BUNDLE:
        return None
    anchors = store.catalog.numbers_of([*filter(None, [request.item_id]), *request.basket])
    listed = {pick.item for pick in picks}
    offers = bundle_offers(store, anchors, now_ms)
    return next((offer for offer in offers if set(offer.missing) == listed), None)


def propose_bundles(
    store: StoreState,
    stored: Sequence[Bundle],
    now_ms: int,
) -> list[BundleProposal]:
    """Return the sets that are worth offering, best first.

    Every part can be bought now and is excluded from no list. No part replaces another: no
    variants, no two of a category of which people buy one, no designs of one product. A set
    that contains a rejected one, or more than one product of an accepted one, is left out.
    """
    catalog, sets = store.catalog, store.models.of(BUNDLE)
    catalog_size = len(catalog)
    eligible = store.eligible_items(now_ms, "product")
    buyable = catalog.visible(now_ms, hide_sold_out=True)
    contents = [bundle.content for bundle in stored]
    by_state = {
        state: [frozenset(content.items) for content in contents if content.state is state]
        for state in BundleState
    }
    accepted = by_state[BundleState.ACCEPTED]
    rejected = by_state[BundleState.REJECTED]
    rejected += [frozenset(content.proposed) for content in contents if content.proposed]
    alternatives = _InterchangeableProducts(store)

    def may_use(members: tuple[int, ...]) -> bool:
        if any(
            item >= catalog_size or not (buyable[item] and eligible.may_show(item))
            for item in members
        ):
            return False
        ids = {catalog.ids[item] for item in members}
        if any(bundle <= ids for bundle in rejected) or any(
            len(bundle & ids) > 1 for bundle in accepted
        ):
            return False
        return not any(
            alternatives.are_interchangeable(item, other)
            for item in members
            for other in members
            if item < other
        )

    return [
        BundleProposal(
            tuple(catalog.ids[item] or "" for item in sets.members(index)),
            int(sets.orders[index]),
            float(sets.lifts[index]),
        )
        for index in sets.choose_set_indexes(MAX_PROPOSALS, may_use)
    ]


@dataclass(frozen=True, slots=True)
class BundleOverview:
    """A stored or proposed bundle, as its merchant sees it; amounts are None if unknown.

    `margin` is the price less the cost, known where every product has a cost. `is_shown` is
    whether a page can show the bundle now.
    """

    content: BundleContent
    titles: tuple[str, ...]
    price: BundlePrice
    cost: float | None
    is_shown: bool
    bundle: Bundle | None = None  # None: proposed
    orders: int | None = None
    lift: float | None = None

    @property
    def bundle_id(self) -> int | None:
        """The number of a stored bundle."""
        return None if self.bundle is None else self.bundle.bundle_id

    @property
    def margin(self) -> float | None:
        """The price less the cost."""
        if self.cost is None or self.price.price is None:
            return None
        return round(self.price.price - self.cost, 2)

    def as_fields(self) -> dict[str, object]:
        """Return the bundle's fields, as the API and the command line name them."""
        bundle, content = self.bundle, self.content
        return {
            "id": self.bundle_id,
            "version": None if bundle is None else bundle.version,
            "state": "proposed" if bundle is None else content.state,
            "name": content.name or None,
            "item_ids": content.items,
            "titles": self.titles,
            "orders": self.orders,
            "lift": None if self.lift is None else round(self.lift, 1),
            "sum": self.price.total,
            "discount_percent": content.discount_percent,
            "discount_amount": content.discount_amount,
            "price": self.price.price,
            "cost": self.cost,
            "margin": self.margin,
            "is_shown": bundle is not None and self.is_shown,
        }


def bundle_overviews(
    database: Database, store: StoreState, now_ms: int
) -> list[BundleOverview]:
    """Return the store's bundles, the oldest first, then the proposals, best first."""
    store_id = store.catalog.store_id
    with database.reading() as connection:
        stored = BundleRepository(connection, store_id).all()
        proposals = propose_bundles(store, stored, now_ms)
        contents = [
            *(bundle.content for bundle in stored),
            *(BundleContent(proposal.item_ids) for proposal in proposals),
        ]
        ids = {item_id for content in contents for item_id in content.items}
        rows_by_id = CatalogRepository(connection, store_id).find(ids)
    items = {item_id: row.item for item_id, row in rows_by_id.items() if row.present}
    evidence = _orders_and_lift_by_set(store, [content.items for content in contents])
    overviews = []
    for bundle, content in zip_longest(stored, contents):
        orders_and_lift = evidence.get(frozenset(content.items))
        overviews.append(
            build_bundle_overview(store, items, content, now_ms, bundle, orders_and_lift)
        )
    return overviews


def build_bundle_overview(
    store: StoreState,
    items: Mapping[str, Item],
    content: BundleContent,
    now_ms: int,
    bundle: Bundle | None = None,
    orders_and_lift: tuple[int, float] | None = None,
) -> BundleOverview:
    """Return a bundle with titles, price and cost, from the catalog's items by id.

    Without a `bundle` it is a proposal, or is not saved yet.
    """
    parts = [items.get(item_id) for item_id in content.items]
    price = bundle_price([None if part is None else part.price for part in parts], content)
    titles = [part.title if part is not None else "" for part in parts]
    return BundleOverview(
        content=content,
        titles=tuple(
            title or item_id for title, item_id in zip(titles, content.items, strict=True)
        ),
        price=price,
        cost=sum_of([None if part is None else part.cost for part in parts]),
        is_shown=content.state is BundleState.ACCEPTED
        and can_buy_all(store, content.items, now_ms)
        and is_offerable(price, content),
        bundle=bundle,
        orders=None if orders_and_lift is None else orders_and_lift[0],
        lift=None if orders_and_lift is None else orders_and_lift[1],
    )


def _orders_and_lift_by_set(
    store: StoreState, item_id_sets: Sequence[tuple[str, ...]]
) -> dict[frozenset[str], tuple[int, float]]:
    """Return the number of orders and the lift of the sets that the model knows.

    A set with a deleted product is none of these.
    """
    sets, ids = store.models.of(BUNDLE), store.catalog.ids
    wanted = {frozenset(ids_of_set) for ids_of_set in item_id_sets}
    evidence = {}
    for index in range(len(sets.orders)):
        members = sets.members(index)
        item_ids = frozenset(ids[item] or "" for item in members if item < len(ids))
        if len(item_ids) == len(members) and item_ids in wanted:
            evidence[item_ids] = int(sets.orders[index]), float(sets.lifts[index])
    return evidence


def are_designs_of_one_product(title: str, other_title: str) -> bool:
    """Return whether titles name designs of one product: they share half their words.

    Words for sizes and colours do not count.
    """
    words = set(variant_key(title).split())
    other_words = set(variant_key(other_title).split())
    return len(words & other_words) >= _MIN_COMMON_WORDS * max(len(words | other_words), 1)


class _InterchangeableProducts:
    """Which products replace each other; titles are read once."""

    def __init__(self, store: StoreState) -> None:
        self._store = store
        self._titles: dict[int, str] = {}

    def are_interchangeable(self, item: int, other: int) -> bool:
        """Return whether people choose between two products rather than buy both."""
        catalog = self._store.catalog
        if catalog.variants[item] and catalog.variants[item] == catalog.variants[other]:
            return True
        if catalog.narrowest[item] != catalog.narrowest[other]:
            return False
        if not self._store.models.of(COMPLEMENTARY).model.combines_with_own_category(item):
            return True
        return are_designs_of_one_product(self._title(item), self._title(other))

    def _title(self, item: int) -> str:
        if item not in self._titles:
            self._titles[item] = self._store.catalog.title(item)
        return self._titles[item]


def first_listable_missing_parts(
    store: StoreState,
    anchors: Collection[int],
    now_ms: int,
    may_list: Callable[[int], bool],
    num: int,
) -> tuple[int, ...]:
    """Return the missing parts of the first bundle that a list of `num` can show whole."""
    for offer in bundle_offers(store, anchors, now_ms):
        if len(offer.missing) <= num and all(map(may_list, offer.missing)):
            return offer.missing
    return ()
