"""Simulated lists: the products in the lists of the demo shop's pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from demo_store.assortment import Assortment
from demo_store.departments import DemoProduct
from demo_store.random_choice import seeded_random
from demo_store.shopping_patterns import BUNDLES

MOST, BUNDLE, IN_CART, TRENDING = 6, 3, 3, 6


@dataclass(frozen=True, slots=True)
class Card:
    """A recommended product with its position in a list, from 1."""

    product: DemoProduct
    source: str
    widget: str
    position: int


class SimulatedLists:
    """The lists of this shop's widgets on a day."""

    def __init__(
        self, assortment: Assortment, companions: Mapping[str, Sequence[str]]
    ) -> None:
        """Show products bought together first: `companions` by product."""
        self._shop = assortment
        self._companions = {
            product: list(dict.fromkeys(companion_ids))
            for product, companion_ids in companions.items()
        }
        self._trending: dict[int, list[Card]] = {}

    def cards_on_page(self, product: DemoProduct, day: int) -> list[Card]:
        """Return the bundle, if there is one, and the list of a product's page."""
        companions = self._bought_together_with([product], day)
        bundle = companions[:BUNDLE] if len(companions) > 1 else []
        products_and_engines = [
            (companion, "buy") for companion in companions if companion not in bundle
        ]
        products_and_engines += [
            (companion, "similar" if position < BUNDLE else "category")
            for position, companion in enumerate(self._shelf_neighbours(product, day))
            if companion not in companions
        ]
        return [
            *_cards([(companion, "buy") for companion in bundle], "fbt"),
            *_cards(products_and_engines[:MOST], "recs"),
        ]

    def cards_in_cart(self, products: Sequence[DemoProduct], day: int) -> list[Card]:
        """Return the list of a cart."""
        companions = self._bought_together_with(products, day)[:IN_CART]
        return _cards([(companion, "complementary") for companion in companions], "cart")

    def trending_cards(self, day: int) -> list[Card]:
        """Return the trending list of the week of a day."""
        week = day // 7
        if week not in self._trending:
            rng = seeded_random(week, "trending")
            leading = [bundle.item_probabilities[0][0] for bundle in BUNDLES]
            products = [
                self._shop.products[item_id] for item_id in rng.sample(leading, TRENDING)
            ]
            cards = [(product, "trending") for product in products]
            self._trending[week] = _cards(cards, "trending")
        return self._trending[week]

    def _bought_together_with(
        self, products: Sequence[DemoProduct], day: int
    ) -> list[DemoProduct]:
        """Return products bought together with the given ones."""
        companion_ids = dict.fromkeys(
            companion_id
            for product in products
            for companion_id in self._companions.get(product.id, ())
        )
        companions = [self._shop.products[companion_id] for companion_id in companion_ids]
        return [
            companion
            for companion in companions
            if companion not in products and self._shop.is_on_sale(companion, day)
        ]

    def _shelf_neighbours(self, product: DemoProduct, day: int) -> list[DemoProduct]:
        """Return a product's neighbours on its shelf, the nearest first."""
        shelf = self._shop.shelves[product.shelf].products
        place = shelf.index(product)
        neighbours = (*shelf[place + 1 :], *shelf[:place])
        return [
            companion for companion in neighbours if self._shop.is_on_sale(companion, day)
        ]


def _cards(listed: Sequence[tuple[DemoProduct, str]], widget: str) -> list[Card]:
    return [
        Card(product, source, widget, position)
        for position, (product, source) in enumerate(listed, start=1)
    ]
