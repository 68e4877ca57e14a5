"""Simulated lists: the products in the lists of the demo shop's pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from demo_store.assortment import Assortment
from demo_store.assortment_types import DemoProduct
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
            product: list(dict.fromkeys(others)) for product, others in companions.items()
        }
        self._trending: dict[int, list[Card]] = {}

    def on_page(self, product: DemoProduct, day: int) -> list[Card]:
        """Return the bundle, if there is one, and the list of a product's page."""
        together = self._with([product], day)
        bundle = together[:BUNDLE] if len(together) > 1 else []
        listed = [(other, "buy") for other in together if other not in bundle]
        listed += [
            (other, "similar" if place < BUNDLE else "category")
            for place, other in enumerate(self._beside(product, day))
            if other not in together
        ]
        return [
            *_cards([(other, "buy") for other in bundle], "fbt"),
            *_cards(listed[:MOST], "recs"),
        ]

    def in_cart(self, products: Sequence[DemoProduct], day: int) -> list[Card]:
        """Return the list of a cart."""
        others = self._with(products, day)[:IN_CART]
        return _cards([(other, "complementary") for other in others], "cart")

    def trending(self, day: int) -> list[Card]:
        """Return the trending list of the week of a day."""
        week = day // 7
        if week not in self._trending:
            rng = seeded_random(week, "trending")
            leading = [bundle.pieces[0][0] for bundle in BUNDLES]
            products = [self._shop.products[one] for one in rng.sample(leading, TRENDING)]
            cards = [(product, "trending") for product in products]
            self._trending[week] = _cards(cards, "trending")
        return self._trending[week]

    def _with(self, products: Sequence[DemoProduct], day: int) -> list[DemoProduct]:
        """Return products bought together with the given ones."""
        found = dict.fromkeys(
            other for one in products for other in self._companions.get(one.id, ())
        )
        others = [self._shop.products[other] for other in found]
        return [
            other
            for other in others
            if other not in products and self._shop.on_sale(other, day)
        ]

    def _beside(self, product: DemoProduct, day: int) -> list[DemoProduct]:
        """Return a product's neighbours on its shelf, the nearest first."""
        shelf = self._shop.shelves[product.shelf].products
        place = shelf.index(product)
        around = (*shelf[place + 1 :], *shelf[:place])
        return [other for other in around if self._shop.on_sale(other, day)]


def _cards(listed: Sequence[tuple[DemoProduct, str]], widget: str) -> list[Card]:
    return [
        Card(product, source, widget, position)
        for position, (product, source) in enumerate(listed, start=1)
    ]
