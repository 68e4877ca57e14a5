"""Shopper simulation: a year of bundles, single purchases, repeats and returns."""

from collections.abc import Sequence

from demo_store.departments import DemoProduct
from demo_store.looks import LOOKS, expected_look_id
from demo_store.random_choice import happens_with_probability
from demo_store.shoppers import Shopper
from demo_store.shopping_patterns import (
    BUNDLES,
    REPEAT_PURCHASES,
    DemoBundle,
    RepeatPurchase,
)
from demo_store.simulated_lists import Card, SimulatedLists
from demo_store.simulated_visit import SimulatedVisit
from demo_store.store_history import (
    BasketLine,
    Purchase,
    StoreHistory,
)
from productrecs.core.clock import DAY_MS
from productrecs.records.events.event import look_source

BUNDLE_ORDERS, SINGLE_ORDERS, REPEAT_BUYERS, BROWSING_VISITS = 2_250, 1_850, 420, 9_500
LOOK_VISITS, LOOK_DAYS = 3_000, 180  # visits that start at a look, and days with looks
# Orders without a visit: by telephone, or from a browser that blocks scripts.
UNSEEN_SHARE = 0.35
SENT_BACK = 0.02
BARGAIN, BARGAIN_PRICE = 0.05, 0.9
USED_UP = frozenset({"pasta", "sauces", "coffee-tea", "sweets"})
SET_OF_FOUR = frozenset({"plates"})
BOUGHT_SINGLY = frozenset({"tents"})
# Searches without results.
NO_RESULT_QUERIES = (
    *("umbrella", "voucher", "bicycle", "trampoline", "microwave", "drone", "laptop"),
    *("aquarium", "skateboard", "headphones", "perfume", "typewriter"),
)
RESULT_CLICK_RATE = 0.68
SCROLLED = 0.45  # share of pages on which a list is seen
CLICKED = {
    "fbt": 0.045,
    "recs": 0.035,
    "cart": 0.05,
    "trending": 0.02,
    "look": 0.0,  # see HOTSPOT_OPENED
}  # in the first position
BUTTONS = frozenset({"fbt", "cart"})  # widgets with a button that adds to the cart
ADD_FROM_CARD_RATE = 0.006
HOTSPOT_CLICK_RATE = 0.09
CONVINCED = 0.35  # probability of a purchase after a click on a card
# Probability that a shopper opens the wanted product by its card.
CARD_OF_WANTED_RATE = 0.35


def simulate_year(history: StoreHistory) -> None:
    """Fill the history: bundles, single and repeat purchases, browsing, returns."""
    simulation = ShopperSimulation(history)
    orders_per_share = BUNDLE_ORDERS / sum(bundle.share for bundle in BUNDLES)
    for bundle in BUNDLES:
        for _ in range(round(bundle.share * orders_per_share)):
            simulation.buy_bundle(bundle)
    for _ in range(SINGLE_ORDERS):
        simulation.buy_single_item()
    buyers_per_share = REPEAT_BUYERS / sum(
        repeat_purchase.share for repeat_purchase in REPEAT_PURCHASES
    )
    for repeat_purchase in REPEAT_PURCHASES:
        for _ in range(round(repeat_purchase.share * buyers_per_share)):
            simulation.buy_repeatedly(repeat_purchase)
    for _ in range(BROWSING_VISITS):
        simulation.browse_without_purchase()
    for _ in range(LOOK_VISITS):
        simulation.visit_look()
    simulation.return_some_items()


class ShopperSimulation:
    """The behaviours of this shop's customers; each adds to one history."""

    def __init__(self, history: StoreHistory) -> None:
        """Prepare the products that go together."""
        self._history = history
        self._shop = history.assortment
        self._rng = history.rng
        self._companions: dict[str, list[str]] = {}
        for bundle in BUNDLES:
            item_ids = [item_id for item_id, _ in bundle.item_probabilities]
            for item_id in item_ids:
                other_ids = [other_id for other_id in item_ids if other_id != item_id]
                self._companions.setdefault(item_id, []).extend(other_ids)
        self._lists = SimulatedLists(self._shop, self._companions)

    def buy_bundle(self, bundle: DemoBundle) -> None:
        """Simulate a shopper who buys most of a bundle."""
        products = self._sample_products(bundle.item_probabilities)
        if products:
            day = self._history.random_day(bundle.season)
            buyer = self._history.shoppers.draw_buyer_for_shelf(
                products[0].shelf, self._rng
            )
            if self._draw_true(0.12):
                products.append(self._draw_from_preferred_shelf(buyer, day))
            self._simulate_purchase(buyer, day, products)

    def buy_single_item(self) -> None:
        """Simulate a shopper who buys one product, and sometimes a second one."""
        buyer = self._history.shoppers.draw(self._rng)
        shelf = buyer.shelves.draw(self._rng)
        day = self._history.random_day(self._shop.shelves[shelf].season)
        products = [self._choose_from_shelf(buyer, shelf, day)]
        if self._draw_true(0.3):
            products.append(self._draw_next_viewed(products[0], buyer, day))
        self._simulate_purchase(buyer, day, products)

    def buy_repeatedly(self, repeat_purchase: RepeatPurchase) -> None:
        """Simulate a customer who buys the same product again whenever it runs out."""
        first, _ = repeat_purchase.item_probabilities[0]
        shelf = self._shop.products[first].shelf
        buyer = self._history.shoppers.draw_buyer_for_shelf(shelf, self._rng)
        day = self._rng.uniform(0.0, 0.8) * len(self._history.days)
        while buyer.customer and day < len(self._history.days):
            products = self._sample_products(repeat_purchase.item_probabilities)
            if products and self._draw_true(0.15):
                products.append(self._draw_from_preferred_shelf(buyer, int(day)))
            self._simulate_purchase(buyer, int(day), products)
            day += repeat_purchase.every_days * self._rng.uniform(0.75, 1.3)
            if self._draw_true(0.06):
                return

    def browse_without_purchase(self) -> None:
        """Simulate a visit that ends without a purchase, sometimes with a cart."""
        visitor = self._history.shoppers.draw(self._rng)
        shelf = visitor.shelves.draw(self._rng)
        day = self._history.random_day(self._shop.shelves[shelf].season)
        viewed = self._choose_from_shelf(visitor, shelf, day)
        visit = SimulatedVisit(visitor, self._history.random_time(day), self._rng)
        self._open_first_page(visit, viewed, day)
        self._react_to_cards(visit, self._show_page_cards(visit, viewed, day))
        while self._draw_true(0.68):
            viewed = self._draw_next_viewed(viewed, visitor, day)
            visit.view(viewed)
            self._react_to_cards(visit, self._show_page_cards(visit, viewed, day))
        if self._draw_true(0.2):
            visit.add_to_cart(viewed, 1, viewed.price)
        if visit.tempted and self._draw_true(0.4):
            visit.sign_in()
            self._record_checkout(visit, ())
        self._history.add_visit(visit)

    def visit_look(self) -> None:
        """Simulate a visit that sees a product's look and sometimes opens a hotspot."""
        look = self._rng.choice(LOOKS)
        products = [self._shop.products[piece.item_id] for piece in look.products]
        day = len(self._history.days) - 1 - self._rng.randrange(LOOK_DAYS)
        viewed = self._rng.choice(products)
        visitor = self._history.shoppers.draw_buyer_for_shelf(viewed.shelf, self._rng)
        visit = SimulatedVisit(visitor, self._history.random_time(day), self._rng)
        visit.view(viewed)
        if self._history.record_exposure_to_lists(visit):
            source = look_source(expected_look_id(look, viewed.id))
            cards = [
                Card(product, source, "look", position)
                for position, product in enumerate(products, start=1)
                if product is not viewed and self._shop.is_on_sale(product, day)
            ]
            visit.add_impressions(cards)
            self._react_to_cards(visit, cards)
        if visit.tempted and self._draw_true(0.5):
            visit.sign_in()
            self._record_checkout(visit, ())
        self._history.add_visit(visit)

    def return_some_items(self) -> None:
        """Simulate returns: a few lines of known customers, some days later."""
        for purchase in list(self._history.purchases):
            if purchase.customer and self._draw_true(SENT_BACK):
                line = self._rng.choice(purchase.lines)
                later = purchase.at_ms + self._rng.randint(3 * DAY_MS, 20 * DAY_MS)
                back = BasketLine(line.product, -line.quantity, line.price)
                self._history.add_purchase(
                    Purchase(later, purchase.customer, None, (back,))
                )

    def _draw_true(self, probability: float) -> bool:
        return happens_with_probability(probability, self._rng)

    def _sample_products(
        self, item_probabilities: Sequence[tuple[str, float]]
    ) -> list[DemoProduct]:
        return [
            self._shop.products[item_id]
            for item_id, probability in item_probabilities
            if self._draw_true(probability)
        ]

    def _draw_from_preferred_shelf(self, shopper: Shopper, day: int) -> DemoProduct:
        return self._choose_from_shelf(shopper, shopper.shelves.draw(self._rng), day)

    def _choose_from_shelf(self, shopper: Shopper, shelf: str, day: int) -> DemoProduct:
        """Return one of two products of a shelf: the preferred colour, or the cheaper."""
        first, second = (
            self._shop.draw_from_shelf(shelf, day, self._rng) for _ in range(2)
        )
        if (first.colour == shopper.colour) != (second.colour == shopper.colour):
            return first if first.colour == shopper.colour else second
        return (
            min(first, second, key=lambda product: product.price)
            if shopper.thrifty
            else first
        )

    def _draw_next_viewed(
        self, viewed: DemoProduct, shopper: Shopper, day: int
    ) -> DemoProduct:
        """Return the next viewed product: a companion, a neighbour, or a random one."""
        companions = self._companions.get(viewed.id)
        if companions and self._draw_true(0.3):
            return self._shop.products[self._rng.choice(companions)]
        if self._draw_true(0.7):
            return self._choose_from_shelf(shopper, viewed.shelf, day)
        return self._draw_from_preferred_shelf(shopper, day)

    def _open_first_page(self, visit: SimulatedVisit, goal: DemoProduct, day: int) -> None:
        """Reach a product by search, by its shelf, or directly from another site."""
        location = self._shop.locations[goal.id]
        if self._draw_true(0.3) and self._history.record_exposure_to_lists(visit):
            cards = self._lists.trending_cards(day)[: self._rng.randint(2, 5)]
            visit.add_impressions(cards)
            self._react_to_cards(visit, cards)
        if self._draw_true(0.015):
            visit.search(self._rng.choice(NO_RESULT_QUERIES), is_empty=True)
        if self._draw_true(0.01):
            visit.open_photo_result(goal)
            return
        if self._draw_true(0.22):
            title = goal.title.lower()
            named = [words for words in location.shelf.words if words in title]
            words = self._sometimes_misspell(self._rng.choice((*named, title)))
            visit.search(words)
            if self._draw_true(RESULT_CLICK_RATE):
                visit.open_result(goal, words, 1 + int(self._rng.expovariate(0.6)))
                return
        if self._draw_true(0.5):
            visit.open_category(location.department.category_ids(location.shelf)[-1])
        if self._draw_true(0.1):
            visit.prefer(self._rng.choice((goal.brand, goal.colour)))
        visit.view(goal)

    def _sometimes_misspell(self, words: str) -> str:
        """Return the words as typed: sometimes with two letters swapped."""
        if not self._draw_true(0.08):
            return words
        position = self._rng.randrange(len(words) - 1)
        return (
            words[:position] + words[position + 1] + words[position] + words[position + 2 :]
        )

    def _simulate_purchase(
        self, buyer: Shopper, day: int, products: Sequence[DemoProduct]
    ) -> None:
        lines = tuple(
            self._draw_basket_line(product)
            for product in _without_duplicates_or_second_singles(products)
        )
        if not lines:
            return
        at_ms = self._history.random_time(day)
        if self._draw_true(UNSEEN_SHARE):
            session = None if buyer.customer else buyer.draw_or_add_session(self._rng)
            self._history.add_purchase(Purchase(at_ms, buyer.customer, session, lines))
        else:
            self._simulate_purchase_visit(buyer, at_ms, lines, day)

    def _simulate_purchase_visit(
        self, buyer: Shopper, starts_ms: int, lines: Sequence[BasketLine], day: int
    ) -> None:
        """Log a visit that ends with a purchase, and the products that lists added."""
        visit = SimulatedVisit(buyer, starts_ms, self._rng)
        self._open_first_page(visit, lines[0].product, day)
        cards_by_id = {
            card.product.id: card
            for card in self._show_page_cards(visit, lines[0].product, day)
        }
        for line in lines:
            card = cards_by_id.get(line.product.id)
            if line is not lines[0] and card and self._draw_true(CARD_OF_WANTED_RATE):
                visit.open_card(card)
            elif line is not lines[0] and self._draw_true(0.8):
                visit.view(line.product)
            visit.add_to_cart(line.product, line.quantity, line.price)
        products = [line.product for line in lines]
        cards = [card for card in cards_by_id.values() if card.product not in products]
        if self._draw_true(0.5) and self._history.record_exposure_to_lists(visit):
            in_cart = self._lists.cards_in_cart(products, day)
            if in_cart:
                visit.add_impressions(in_cart)
                cards += in_cart
        self._react_to_cards(visit, cards)
        visit.sign_in()
        self._record_checkout(visit, lines)
        self._history.add_visit(visit)

    def _record_checkout(self, visit: SimulatedVisit, lines: Sequence[BasketLine]) -> None:
        products = [line.product for line in lines]
        added = _without_duplicates_or_second_singles([*products, *visit.tempted])[
            len(products) :
        ]
        basket = (*lines, *(BasketLine(product, 1, product.price) for product in added))
        paid_ms = visit.now_ms + self._rng.randint(30_000, 240_000)
        customer = visit.shopper.customer
        self._history.add_purchase(Purchase(paid_ms, customer, visit.session, basket))

    def _show_page_cards(
        self, visit: SimulatedVisit, product: DemoProduct, day: int
    ) -> list[Card]:
        """Return the cards seen on a product's page, and log their impressions."""
        if not self._draw_true(SCROLLED) or not self._history.record_exposure_to_lists(
            visit
        ):
            return []
        seen_cards: list[Card] = []
        cards = self._lists.cards_on_page(product, day)
        for widget in dict.fromkeys(card.widget for card in cards):
            listed = [card for card in cards if card.widget == widget]
            visible_cards = listed[: self._rng.randint(2, 5)]
            visit.add_impressions(visible_cards)
            seen_cards += visible_cards
        return seen_cards

    def _react_to_cards(self, visit: SimulatedVisit, cards: Sequence[Card]) -> None:
        """Sometimes add one product of a seen list to the cart."""
        for card in cards:
            is_added = card.widget in BUTTONS and self._draw_true(ADD_FROM_CARD_RATE)
            share = CLICKED[card.widget] * card.position**-0.4
            is_clicked = self._draw_true(
                HOTSPOT_CLICK_RATE if card.widget == "look" else share
            )
            if is_clicked and not is_added:
                visit.open_card(card)
                is_added = self._draw_true(CONVINCED)
            if is_added:
                visit.add_to_cart(card.product, 1, card.product.price)
                visit.tempted.append(card.product)
            if is_added or is_clicked:
                return

    def _draw_basket_line(self, product: DemoProduct) -> BasketLine:
        price = product.price
        if self._draw_true(BARGAIN):
            price = round(price * BARGAIN_PRICE, 2)
        return BasketLine(product, self._draw_quantity(product.shelf), price)

    def _draw_quantity(self, shelf: str) -> int:
        if shelf in BOUGHT_SINGLY:
            return 1
        if shelf in SET_OF_FOUR:
            return self._rng.choice((2, 4, 4, 6))
        return self._rng.choice((1, 1, 2, 3) if shelf in USED_UP else (1, 1, 1, 1, 1, 2))


def _without_duplicates_or_second_singles(
    products: Sequence[DemoProduct],
) -> list[DemoProduct]:
    """Return each product once, and one product per shelf of single purchases."""
    remaining: list[DemoProduct] = []
    for product in dict.fromkeys(products):
        is_single = product.shelf in BOUGHT_SINGLY
        if not (is_single and any(other.shelf == product.shelf for other in remaining)):
            remaining.append(product)
    return remaining
