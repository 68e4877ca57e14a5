"""Shopper simulation: a year of bundles, single purchases, repeats and returns."""

from collections.abc import Sequence

from demo_store.assortment_types import DemoProduct
from demo_store.looks import LOOKS
from demo_store.random_choice import happens_with_probability
from demo_store.shoppers import Shopper
from demo_store.shopping_patterns import (
    BUNDLES,
    REPEAT_PURCHASES,
    Bundle,
    RepeatPurchase,
)
from demo_store.simulated_lists import Card, SimulatedLists
from demo_store.simulated_visit import SimulatedVisit
from demo_store.store_history import (
    DAY_MS,
    BasketLine,
    Purchase,
    StoreHistory,
)

BUNDLE_ORDERS, FINDS, CHORE_KEEPERS, STROLLS = 2_250, 1_850, 420, 9_500
LOOKERS, LOOK_DAYS = 3_000, 180  # visits that start at a look, and days with looks
# Orders without a visit: by telephone, or from a browser that blocks scripts.
UNSEEN = 0.35
SENT_BACK = 0.02
BARGAIN, BARGAIN_PRICE = 0.05, 0.9
USED_UP = frozenset({"pasta", "sauces", "coffee-tea", "sweets"})
SET_OF_FOUR = frozenset({"plates"})
BOUGHT_SINGLY = frozenset({"tents"})
# Searches without results.
SOUGHT_IN_VAIN = (
    *("umbrella", "voucher", "bicycle", "trampoline", "microwave", "drone", "laptop"),
    *("aquarium", "skateboard", "headphones", "perfume", "typewriter"),
)
RESULT_OPENED = 0.68
SCROLLED = 0.45  # share of pages on which a list is seen
CLICKED = {
    "fbt": 0.045,
    "recs": 0.035,
    "cart": 0.05,
    "trending": 0.02,
    "look": 0.0,  # see HOTSPOT_OPENED
}  # in the first position
BUTTONS = frozenset({"fbt", "cart"})  # widgets with a button that adds to the cart
ADDED_AT_ONCE = 0.006
HOTSPOT_OPENED = 0.09
CONVINCED = 0.35  # probability of a purchase after a click on a card
WANTED_ANYWAY = 0.35  # probability that a shopper opens the wanted product by its card


def simulate_year(history: StoreHistory) -> None:
    """Fill the history: bundles, single and repeat purchases, browsing, returns."""
    customs = ShopperSimulation(history)
    orders_per_share = BUNDLE_ORDERS / sum(bundle.share for bundle in BUNDLES)
    for bundle in BUNDLES:
        for _ in range(round(bundle.share * orders_per_share)):
            customs.buy_a_bundle(bundle)
    for _ in range(FINDS):
        customs.buy_a_find()
    keepers_per_share = CHORE_KEEPERS / sum(chore.share for chore in REPEAT_PURCHASES)
    for chore in REPEAT_PURCHASES:
        for _ in range(round(chore.share * keepers_per_share)):
            customs.keep_a_chore(chore)
    for _ in range(STROLLS):
        customs.stroll()
    for _ in range(LOOKERS):
        customs.open_a_look()
    customs.send_some_back()


class ShopperSimulation:
    """The behaviours of this shop's customers; each adds to one history."""

    def __init__(self, history: StoreHistory) -> None:
        """Prepare the products that go together."""
        self._history = history
        self._shop = history.assortment
        self._rng = history.rng
        self._companions: dict[str, list[str]] = {}
        for bundle in BUNDLES:
            pieces = [piece for piece, _ in bundle.pieces]
            for piece in pieces:
                others = [other for other in pieces if other != piece]
                self._companions.setdefault(piece, []).extend(others)
        self._lists = SimulatedLists(self._shop, self._companions)

    def buy_a_bundle(self, bundle: Bundle) -> None:
        """Simulate a shopper who buys most of a bundle."""
        pieces = self._some_of(bundle.pieces)
        if pieces:
            day = self._history.day_in(bundle.season)
            buyer = self._history.crowd.someone_who_likes(pieces[0].shelf, self._rng)
            if self._happens(0.12):
                pieces.append(self._find(buyer, day))
            self._purchase(buyer, day, pieces)

    def buy_a_find(self) -> None:
        """Simulate a shopper who buys one product, and sometimes a second one."""
        buyer = self._history.crowd.someone(self._rng)
        shelf = buyer.shelves.draw(self._rng)
        day = self._history.day_in(self._shop.shelves[shelf].season)
        found = [self._choose(buyer, shelf, day)]
        if self._happens(0.3):
            found.append(self._next_to(found[0], buyer, day))
        self._purchase(buyer, day, found)

    def keep_a_chore(self, chore: RepeatPurchase) -> None:
        """Simulate a customer who buys the same product again whenever it runs out."""
        first, _ = chore.pieces[0]
        shelf = self._shop.products[first].shelf
        keeper = self._history.crowd.someone_who_likes(shelf, self._rng)
        day = self._rng.uniform(0.0, 0.8) * len(self._history.days)
        while keeper.customer and day < len(self._history.days):
            pieces = self._some_of(chore.pieces)
            if pieces and self._happens(0.15):
                pieces.append(self._find(keeper, int(day)))
            self._purchase(keeper, int(day), pieces)
            day += chore.every_days * self._rng.uniform(0.75, 1.3)
            if self._happens(0.06):
                return

    def stroll(self) -> None:
        """Simulate a visit that ends without a purchase, sometimes with a cart."""
        visitor = self._history.crowd.someone(self._rng)
        shelf = visitor.shelves.draw(self._rng)
        day = self._history.day_in(self._shop.shelves[shelf].season)
        seen = self._choose(visitor, shelf, day)
        visit = SimulatedVisit(visitor, self._history.moment(day), self._rng)
        self._arrive(visit, seen, day)
        self._tempt(visit, self._cards_on(visit, seen, day))
        while self._happens(0.68):
            seen = self._next_to(seen, visitor, day)
            visit.view(seen)
            self._tempt(visit, self._cards_on(visit, seen, day))
        if self._happens(0.2):
            visit.add_to_cart(seen, 1, seen.price)
        if visit.tempted and self._happens(0.4):
            visit.sign_in()
            self._pay(visit, ())
        self._history.remember(visit)

    def open_a_look(self) -> None:
        """Simulate a visit that sees a product's look and sometimes opens a hotspot."""
        look = self._rng.choice(LOOKS)
        pieces = [self._shop.products[piece.item_id] for piece in look.pieces]
        day = len(self._history.days) - 1 - self._rng.randrange(LOOK_DAYS)
        seen = self._rng.choice(pieces)
        visitor = self._history.crowd.someone_who_likes(seen.shelf, self._rng)
        visit = SimulatedVisit(visitor, self._history.moment(day), self._rng)
        visit.view(seen)
        if self._history.sees_lists(visit):
            cards = [
                Card(product, "look", "look", position)
                for position, product in enumerate(pieces, start=1)
                if product is not seen and self._shop.on_sale(product, day)
            ]
            visit.see(cards)
            self._tempt(visit, cards)
        if visit.tempted and self._happens(0.5):
            visit.sign_in()
            self._pay(visit, ())
        self._history.remember(visit)

    def send_some_back(self) -> None:
        """Simulate returns: a few lines of known customers, some days later."""
        for purchase in list(self._history.purchases):
            if purchase.customer and self._happens(SENT_BACK):
                line = self._rng.choice(purchase.lines)
                later = purchase.at_ms + self._rng.randint(3 * DAY_MS, 20 * DAY_MS)
                back = BasketLine(line.product, -line.quantity, line.price)
                self._history.sell(Purchase(later, purchase.customer, None, (back,)))

    def _happens(self, chance: float) -> bool:
        return happens_with_probability(chance, self._rng)

    def _some_of(self, pieces: Sequence[tuple[str, float]]) -> list[DemoProduct]:
        return [
            self._shop.products[piece] for piece, chance in pieces if self._happens(chance)
        ]

    def _find(self, shopper: Shopper, day: int) -> DemoProduct:
        return self._choose(shopper, shopper.shelves.draw(self._rng), day)

    def _choose(self, shopper: Shopper, shelf: str, day: int) -> DemoProduct:
        """Return one of two products of a shelf: the preferred colour, or the cheaper."""
        one, other = (self._shop.pick(shelf, day, self._rng) for _ in range(2))
        if (one.colour == shopper.colour) != (other.colour == shopper.colour):
            return one if one.colour == shopper.colour else other
        return (
            min(one, other, key=lambda product: product.price) if shopper.thrifty else one
        )

    def _next_to(self, seen: DemoProduct, shopper: Shopper, day: int) -> DemoProduct:
        """Return the next viewed product: a companion, a neighbour, or a random one."""
        companions = self._companions.get(seen.id)
        if companions and self._happens(0.3):
            return self._shop.products[self._rng.choice(companions)]
        if self._happens(0.7):
            return self._choose(shopper, seen.shelf, day)
        return self._find(shopper, day)

    def _arrive(self, visit: SimulatedVisit, goal: DemoProduct, day: int) -> None:
        """Reach a product by search, by its shelf, or directly from another site."""
        place = self._shop.places[goal.id]
        if self._happens(0.3) and self._history.sees_lists(visit):
            cards = self._lists.trending(day)[: self._rng.randint(2, 5)]
            visit.see(cards)
            self._tempt(visit, cards)
        if self._happens(0.015):
            visit.search(self._rng.choice(SOUGHT_IN_VAIN), is_empty=True)
        if self._happens(0.01):
            visit.open_photo_result(goal)
            return
        if self._happens(0.22):
            words = self._typed(self._rng.choice((*place.shelf.words, goal.title.lower())))
            visit.search(words)
            if self._happens(RESULT_OPENED):
                visit.open_result(goal, words, 1 + int(self._rng.expovariate(0.6)))
                return
        if self._happens(0.5):
            visit.open_category(place.department.category_ids(place.shelf)[-1])
        if self._happens(0.1):
            visit.prefer(self._rng.choice((goal.brand, goal.colour)))
        visit.view(goal)

    def _typed(self, words: str) -> str:
        """Return the words as typed: sometimes with two letters swapped."""
        if not self._happens(0.08):
            return words
        at = self._rng.randrange(len(words) - 1)
        return words[:at] + words[at + 1] + words[at] + words[at + 2 :]

    def _purchase(self, buyer: Shopper, day: int, products: Sequence[DemoProduct]) -> None:
        lines = tuple(self._line(product) for product in _without_seconds(products))
        if not lines:
            return
        at_ms = self._history.moment(day)
        if self._happens(UNSEEN):
            session = None if buyer.customer else buyer.device(self._rng)
            self._history.sell(Purchase(at_ms, buyer.customer, session, lines))
        else:
            self._shop_for(buyer, at_ms, lines, day)

    def _shop_for(
        self, buyer: Shopper, starts_ms: int, lines: Sequence[BasketLine], day: int
    ) -> None:
        """Log a visit that ends with a purchase, and the products that lists added."""
        visit = SimulatedVisit(buyer, starts_ms, self._rng)
        self._arrive(visit, lines[0].product, day)
        seen = {
            card.product.id: card for card in self._cards_on(visit, lines[0].product, day)
        }
        for line in lines:
            card = seen.get(line.product.id)
            if line is not lines[0] and card and self._happens(WANTED_ANYWAY):
                visit.open_card(card)
            elif line is not lines[0] and self._happens(0.8):
                visit.view(line.product)
            visit.add_to_cart(line.product, line.quantity, line.price)
        wanted = [line.product for line in lines]
        cards = [card for card in seen.values() if card.product not in wanted]
        if self._happens(0.5) and self._history.sees_lists(visit):
            in_cart = self._lists.in_cart(wanted, day)
            if in_cart:
                visit.see(in_cart)
                cards += in_cart
        self._tempt(visit, cards)
        visit.sign_in()
        self._pay(visit, lines)
        self._history.remember(visit)

    def _pay(self, visit: SimulatedVisit, lines: Sequence[BasketLine]) -> None:
        wanted = [line.product for line in lines]
        added = _without_seconds([*wanted, *visit.tempted])[len(wanted) :]
        basket = (*lines, *(BasketLine(product, 1, product.price) for product in added))
        paid_ms = visit.now_ms + self._rng.randint(30_000, 240_000)
        customer = visit.shopper.customer
        self._history.sell(Purchase(paid_ms, customer, visit.session, basket))

    def _cards_on(
        self, visit: SimulatedVisit, product: DemoProduct, day: int
    ) -> list[Card]:
        """Return the cards seen on a product's page, and log their impressions."""
        if not self._happens(SCROLLED) or not self._history.sees_lists(visit):
            return []
        seen: list[Card] = []
        cards = self._lists.on_page(product, day)
        for widget in dict.fromkeys(card.widget for card in cards):
            listed = [card for card in cards if card.widget == widget]
            in_sight = listed[: self._rng.randint(2, 5)]
            visit.see(in_sight)
            seen += in_sight
        return seen

    def _tempt(self, visit: SimulatedVisit, cards: Sequence[Card]) -> None:
        """Sometimes add one product of a seen list to the cart."""
        for card in cards:
            is_wanted = card.widget in BUTTONS and self._happens(ADDED_AT_ONCE)
            share = CLICKED[card.widget] * card.position**-0.4
            is_opened = self._happens(HOTSPOT_OPENED if card.widget == "look" else share)
            if is_opened and not is_wanted:
                visit.open_card(card)
                is_wanted = self._happens(CONVINCED)
            if is_wanted:
                visit.add_to_cart(card.product, 1, card.product.price)
                visit.tempted.append(card.product)
            if is_wanted or is_opened:
                return

    def _line(self, product: DemoProduct) -> BasketLine:
        price = product.price
        if self._happens(BARGAIN):
            price = round(price * BARGAIN_PRICE, 2)
        return BasketLine(product, self._quantity(product.shelf), price)

    def _quantity(self, shelf: str) -> int:
        if shelf in BOUGHT_SINGLY:
            return 1
        if shelf in SET_OF_FOUR:
            return self._rng.choice((2, 4, 4, 6))
        return self._rng.choice((1, 1, 2, 3) if shelf in USED_UP else (1, 1, 1, 1, 1, 2))


def _without_seconds(products: Sequence[DemoProduct]) -> list[DemoProduct]:
    """Return each product once, and one product per shelf of single purchases."""
    kept: list[DemoProduct] = []
    for product in dict.fromkeys(products):
        is_single = product.shelf in BOUGHT_SINGLY
        if not (is_single and any(one.shelf == product.shelf for one in kept)):
            kept.append(product)
    return kept
