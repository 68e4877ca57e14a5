"""Shoppers: simulated customers and guests, their tastes and their activity."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase, digits

from demo_store.random_choice import WeightedChoice, happens_with_probability
from demo_store.shopping_patterns import PERSONAS

SHOPPERS = 3_000
ALPHABET = ascii_lowercase + digits


@dataclass(slots=True)
class Shopper:
    """A person: a customer with an account, or a guest.

    `shelves` are the preferred ones. `devices` are the session ids of the person's
    browsers; a guest's browser sometimes gets a new one.
    """

    customer: str | None
    shelves: WeightedChoice[str]
    activity: float
    colour: str
    thrifty: bool
    devices: list[str] = field(default_factory=list)

    def draw_or_add_session(self, rng: random.Random) -> str:
        """Return the session id of one of the person's browsers, which may be new."""
        if not self.devices or happens_with_probability(
            0.12 if self.customer else 0.3, rng
        ):
            self.devices.append("s_" + "".join(rng.choices(ALPHABET, k=14)))
        return (
            self.devices[-1]
            if happens_with_probability(0.8, rng)
            else rng.choice(self.devices)
        )


class ShopperPopulation:
    """All shoppers, sampled by taste and activity."""

    def __init__(
        self, shoppers: Sequence[Shopper], preferred_shelves: Sequence[tuple[str, ...]]
    ) -> None:
        """Group the shoppers by preferred shelves.

        `preferred_shelves` is parallel to `shoppers`.
        """
        self.shoppers = shoppers
        self._preferred_shelves = preferred_shelves
        self._by_activity_choice = _by_activity(shoppers)
        shoppers_by_shelf: dict[str, list[Shopper]] = {}
        for shopper, shelves in zip(shoppers, preferred_shelves, strict=True):
            for shelf in shelves:
                shoppers_by_shelf.setdefault(shelf, []).append(shopper)
        self._fans = {
            shelf: _by_activity(shelf_shoppers)
            for shelf, shelf_shoppers in shoppers_by_shelf.items()
        }

    def most_active_customer(self, shelves: tuple[str, ...]) -> Shopper:
        """Return the most active customer with an account who prefers these shelves."""
        candidates = [
            shopper
            for shopper, own_shelves in zip(
                self.shoppers, self._preferred_shelves, strict=True
            )
            if shopper.customer and own_shelves[: len(shelves)] == shelves
        ]
        return max(candidates, key=lambda shopper: shopper.activity)

    def draw(self, rng: random.Random) -> Shopper:
        """Return a random shopper, weighted by activity."""
        return self._by_activity_choice.draw(rng)

    def draw_buyer_for_shelf(self, shelf: str, rng: random.Random) -> Shopper:
        """Return a random buyer for a shelf, nearly always one who prefers it."""
        fans = self._fans.get(shelf)
        return (
            fans.draw(rng)
            if fans and happens_with_probability(0.9, rng)
            else self.draw(rng)
        )


def create_shoppers(colours: Sequence[str], rng: random.Random) -> ShopperPopulation:
    """Return the shoppers: three in four have an account, a few are very active."""
    personas = WeightedChoice((shelves, share) for share, shelves in PERSONAS)
    shoppers, preferred_shelves = [], []
    for number in range(SHOPPERS):
        own_shelves = personas.draw(rng)
        other_shelves = personas.draw(rng)[:2]
        weights = [(shelf, 1.0 / rank) for rank, shelf in enumerate(own_shelves, start=1)]
        weights += [(shelf, 0.25) for shelf in other_shelves]
        shoppers.append(
            Shopper(
                customer=f"c{10_001 + number}"
                if happens_with_probability(0.75, rng)
                else None,
                shelves=WeightedChoice(weights),
                activity=rng.lognormvariate(0.0, 0.8),
                colour=rng.choice(colours),
                thrifty=happens_with_probability(0.4, rng),
            )
        )
        preferred_shelves.append((*own_shelves, *other_shelves))
    return ShopperPopulation(shoppers, preferred_shelves)


def _by_activity(shoppers: Sequence[Shopper]) -> WeightedChoice[Shopper]:
    return WeightedChoice((shopper, shopper.activity) for shopper in shoppers)
