"""What does a visit to the demo shop leave behind in the log of events?"""

import random
from datetime import UTC, datetime

from productrecs.entrypoints.demo.catalogue import Product
from productrecs.entrypoints.demo.chance import happens
from productrecs.entrypoints.demo.shoppers import Shopper

Event = dict[str, object]
CURRENCY = "EUR"


class Visit:
    """One sitting at the shop's pages; each step takes its time.

    A shopper with an account is signed in from the start, signs in at the till, or stays
    unknown: events carry the customer's id from then on, and the session's always.
    """

    def __init__(self, shopper: Shopper, starts_ms: int, rng: random.Random) -> None:
        """Open the shop's first page at `starts_ms`."""
        self.shopper = shopper
        self.now_ms = starts_ms
        self.events: list[tuple[int, Event]] = []
        self._rng = rng
        self._session = shopper.device(rng)
        self._customer = shopper.customer if happens(0.4, rng) else None

    def sign_in(self) -> None:
        """Make the account known, where there is one."""
        self._customer = self.shopper.customer

    def open_category(self, category_id: str) -> None:
        """Look at a shelf."""
        self._note("category-view", 12.0, item_id=category_id)

    def search(self, words: str) -> None:
        """Type into the search box."""
        self._note("search-pref", 9.0, search_query=words)

    def open_result(self, product: Product, words: str) -> None:
        """Click on a search result, which opens the product's page."""
        self._note("search-click", 7.0, item_id=product.id, search_query=words)
        self.view(product)

    def view(self, product: Product) -> None:
        """Read a product's page."""
        self._note("detail-page-view", 45.0, item_id=product.id)

    def prefer(self, attribute: str) -> None:
        """Tick a brand or a colour in the filters."""
        self._note("metadata-pref", 8.0, item_id=attribute)

    def add_to_cart(self, product: Product, quantity: int, price: float) -> None:
        """Put some units of a product into the cart."""
        self._note(
            "add-to-cart",
            20.0,
            item_id=product.id,
            value=round(price * quantity, 2),
            currency=CURRENCY,
            quantity=quantity,
        )

    def _note(self, event: str, usual_seconds: float, **fields: object) -> None:
        told: Event = {"event": event, **fields, "session_id": self._session}
        if self._customer:
            told["user_id"] = self._customer
        told["timestamp"] = iso(self.now_ms)
        self.events.append((self.now_ms, told))
        self.now_ms += int(1000 * (2.0 + self._rng.expovariate(1.0 / usual_seconds)))


def iso(moment_ms: int) -> str:
    """Return the moment as ISO text in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(moment_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
