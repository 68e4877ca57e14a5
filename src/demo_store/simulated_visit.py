"""Simulated visit: one session in the shop and the events that it logs."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from demo_store.departments import DemoProduct
from demo_store.random_choice import happens_with_probability
from demo_store.shoppers import Shopper
from demo_store.simulated_lists import Card
from productrecs.core.timestamps import iso
from productrecs.records.search_counts.repository import PHOTO_SEARCHES

Event = dict[str, object]
CURRENCY = "EUR"


@dataclass(frozen=True, slots=True)
class SimulatedSearch:
    """A completed search in the search box, for words or with a photo."""

    at_ms: int
    words: str
    is_empty: bool  # no results
    shopper: str


class SimulatedVisit:
    """One session in the shop; each step advances the time.

    A shopper with an account is signed in from the start, signs in at the checkout, or
    stays anonymous. Events always have the session id, and the customer id after sign-in.
    """

    def __init__(self, shopper: Shopper, starts_ms: int, rng: random.Random) -> None:
        """Open the shop's first page at `starts_ms`."""
        self.shopper = shopper
        self.now_ms = starts_ms
        self.events: list[tuple[int, Event]] = []
        self._rng = rng
        self._session = shopper.draw_or_add_session(rng)
        self._customer = shopper.customer if happens_with_probability(0.7, rng) else None
        self.searches: list[SimulatedSearch] = []
        self.tempted: list[DemoProduct] = []  # in the cart because of a list

    @property
    def identities(self) -> tuple[str, ...]:
        """The visitor's ids, the customer id first."""
        return (self._customer, self._session) if self._customer else (self._session,)

    @property
    def session(self) -> str:
        """The session id of the browser."""
        return self._session

    @property
    def unit(self) -> str:
        """The id that the holdout test assigns to an arm."""
        return self.shopper.customer or self._session

    def sign_in(self) -> None:
        """Sign in, if the shopper has an account."""
        self._customer = self.shopper.customer

    def open_category(self, category_id: str) -> None:
        """View a category page."""
        self._add_event("category-view", 12.0, item_id=category_id)

    def search(self, words: str, *, is_empty: bool = False) -> None:
        """Search in the search box."""
        self.searches.append(
            SimulatedSearch(self.now_ms, words, is_empty, self.identities[0])
        )
        self._add_event("search-pref", 9.0, search_query=words)

    def open_result(self, product: DemoProduct, words: str, position: int) -> None:
        """Click on a search result, which opens the product's page."""
        self._add_event(
            "search-click",
            7.0,
            item_id=product.id,
            search_query=words,
            position=position,
            widget="search",
        )
        self.view(product)

    def open_photo_result(self, product: DemoProduct) -> None:
        """Search with a photo, and click on a result, which opens the product's page."""
        self.searches.append(
            SimulatedSearch(
                self.now_ms, PHOTO_SEARCHES, is_empty=False, shopper=self.identities[0]
            )
        )
        self._add_event("image-search-click", 12.0, item_id=product.id, widget="search")
        self.view(product)

    def add_impressions(self, cards: Sequence[Card]) -> None:
        """See cards of one list: log the impression."""
        self._add_event(
            "rec-impression",
            3.0,
            item_ids=[card.product.id for card in cards],
            sources=[card.source for card in cards],
            positions=[card.position for card in cards],
            widget=cards[0].widget,
        )

    def open_card(self, card: Card) -> None:
        """Click on a recommended product, which opens its page."""
        self._add_event(
            "rec-click",
            3.0,
            item_id=card.product.id,
            source=card.source,
            position=card.position,
            widget=card.widget,
        )
        self.view(card.product)

    def view(self, product: DemoProduct) -> None:
        """View a product's page."""
        self._add_event("detail-page-view", 45.0, item_id=product.id)

    def prefer(self, attribute: str) -> None:
        """Select a brand or a colour in the filters."""
        self._add_event("metadata-pref", 8.0, item_id=attribute)

    def add_to_cart(self, product: DemoProduct, quantity: int, price: float) -> None:
        """Add units of a product to the cart."""
        self._add_event(
            "add-to-cart",
            20.0,
            item_id=product.id,
            value=round(price * quantity, 2),
            currency=CURRENCY,
            quantity=quantity,
        )

    def _add_event(self, event: str, mean_seconds: float, **fields: object) -> None:
        event_fields: Event = {
            "event": event,
            **fields,
            **identity_fields(self._customer, self._session),
        }
        event_fields["timestamp"] = iso(self.now_ms)
        self.events.append((self.now_ms, event_fields))
        self.now_ms += int(1000 * (2.0 + self._rng.expovariate(1.0 / mean_seconds)))


def identity_fields(customer: str | None, session: str | None) -> dict[str, str]:
    """Return the known ids of an event."""
    names = {"session_id": session, "user_id": customer}
    return {field: name for field, name in names.items() if name}
