"""Shoppers: the simulated customers and guests, their tastes and how often they come."""

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
    """A person: a customer with an account, or one who always stays a guest.

    `shelves` are what the person likes. `devices` are the session ids of the browsers in
    use; a guest's browser forgets now and then.
    """

    customer: str | None
    shelves: WeightedChoice[str]
    activity: float
    colour: str
    thrifty: bool
    devices: list[str] = field(default_factory=list)

    def device(self, rng: random.Random) -> str:
        """Return the session id of the browser that the person uses this time."""
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
    """Everyone who shops here, drawn by what they like and how often they come."""

    def __init__(
        self, shoppers: Sequence[Shopper], likes: Sequence[tuple[str, ...]]
    ) -> None:
        """Sort the shoppers by the shelves they like; `likes` stands beside `shoppers`."""
        self.shoppers = shoppers
        self._likes = likes
        self._anyone = _by_activity(shoppers)
        fans: dict[str, list[Shopper]] = {}
        for shopper, shelves in zip(shoppers, likes, strict=True):
            for shelf in shelves:
                fans.setdefault(shelf, []).append(shopper)
        self._fans = {shelf: _by_activity(found) for shelf, found in fans.items()}

    def most_active(self, shelves: tuple[str, ...]) -> Shopper:
        """Return who comes most of those with an account who like these shelves best."""
        alike = [
            shopper
            for shopper, liked in zip(self.shoppers, self._likes, strict=True)
            if shopper.customer and liked[: len(shelves)] == shelves
        ]
        return max(alike, key=lambda shopper: shopper.activity)

    def someone(self, rng: random.Random) -> Shopper:
        """Return a shopper, active ones oftener."""
        return self._anyone.draw(rng)

    def someone_who_likes(self, shelf: str, rng: random.Random) -> Shopper:
        """Return a buyer for something on the shelf, nearly always one who likes it."""
        fans = self._fans.get(shelf)
        return (
            fans.draw(rng)
            if fans and happens_with_probability(0.9, rng)
            else self.someone(rng)
        )


def create_shoppers(colours: Sequence[str], rng: random.Random) -> ShopperPopulation:
    """Return the shoppers: three in four have an account, a few come much oftener."""
    personas = WeightedChoice((shelves, float(share)) for share, shelves in PERSONAS)
    shoppers, likes = [], []
    for number in range(SHOPPERS):
        liked = personas.draw(rng)
        aside = personas.draw(rng)[:2]
        weights = [(shelf, 1.0 / rank) for rank, shelf in enumerate(liked, start=1)]
        weights += [(shelf, 0.25) for shelf in aside]
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
        likes.append((*liked, *aside))
    return ShopperPopulation(shoppers, likes)


def _by_activity(shoppers: Sequence[Shopper]) -> WeightedChoice[Shopper]:
    return WeightedChoice((shopper, shopper.activity) for shopper in shoppers)
