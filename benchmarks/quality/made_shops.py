"""Which shops do we make up? Seeded order histories of different kinds of shops.

A grocer: popularity by a power law, bestsellers in every second basket, segments of
shoppers, aisles, what goes with what, and households that buy the same again. A hardware
shop: each order is for a project, screws and tape go with everything. A garment shop: as in
`variants`. An electronics shop: few products an order, a device and what belongs to it.
Nothing in them is measured; only their kinds differ. The same seed makes the same shop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.quality.datasets import DAY_MS, Orders
from benchmarks.quality.variants import Wardrobe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from productrecs.engines.array_types_and_sorting import Floats, Ints

BEGIN_MS: Final = 1_700_000_000_000
DAYS: Final = 360


def power_law(rng: np.random.Generator, size: int, power: float, flat: float) -> Floats:
    """Return shares of `size` products in drawn order; `flat` ranks are nearly equal."""
    shares = 1.0 / (np.arange(size) + 1.0 + flat) ** power
    shares = shares[rng.permutation(size)]
    return shares / shares.sum()


def grocer(seed: int) -> Orders:
    """Return a grocer's orders: long baskets, bestsellers, habits, aisles."""
    shop, rng = _Grocer(seed), np.random.default_rng([seed, 1])
    baskets: list[list[int]] = []
    times: list[int] = []
    customers: list[int] = []
    for customer in range(1, shop.households + 1):
        household = shop.household()
        count = 1 + int(rng.lognormal(1.6, 0.8))
        days = np.sort(rng.integers(0, DAYS, min(count, 40)))
        for day in days.tolist():
            baskets.append(household())
            times.append(BEGIN_MS + day * DAY_MS + customer)
            customers.append(customer)
    return orders_of(baskets, times, customers, shop.items)


class _Grocer:
    """What a grocer sells, and how households choose."""

    items: Final = 4_000
    households: Final = 2_500

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        rng = self.rng
        self.shares = power_law(rng, self.items, 0.9, 5.0)
        self.aisles = rng.choice(100, self.items, p=power_law(rng, 100, 0.6, 3.0))
        self.of_aisle = [np.flatnonzero(self.aisles == one) for one in range(100)]
        self.partners = rng.choice(self.items, (self.items, 3), p=self.shares)
        # A segment (organic, family, student) likes aisles, and products within them.
        self.segments = [
            np.exp(rng.normal(0, 0.7, 100))[self.aisles]
            * np.exp(rng.normal(0, 0.7, self.items))
            for _ in range(8)
        ]

    def household(self) -> Callable[[], list[int]]:
        """Return what makes one household's baskets."""
        rng = self.rng
        liked = self.shares * self.segments[int(rng.integers(8))]
        liked = liked * np.exp(rng.normal(0, 0.8, 100))[self.aisles]
        liked /= liked.sum()
        habits = rng.choice(self.items, int(rng.integers(10, 60)), replace=False, p=liked)
        weights = power_law(rng, len(habits), 0.7, 1.0)
        size, habit = rng.gamma(3.0, 3.5), rng.uniform(0.3, 0.8)

        def basket() -> list[int]:
            bought: list[int] = []
            for _ in range(1 + int(rng.poisson(size))):
                drawn = rng.random()
                if drawn < habit:
                    bought.append(int(rng.choice(habits, p=weights)))
                elif bought and drawn < habit + 0.15:
                    beside = bought[int(rng.integers(len(bought)))]
                    bought.append(int(self.partners[beside, int(rng.integers(3))]))
                elif bought and drawn < habit + 0.25:
                    near = self.of_aisle[self.aisles[bought[-1]]]
                    bought.append(int(rng.choice(near)))
                else:
                    bought.append(int(rng.choice(self.items, p=liked)))
            return bought

        return basket


def hardware(seed: int) -> Orders:
    """Return a hardware shop's orders: projects, and consumables with all of them."""
    rng = np.random.default_rng(seed)
    items, count = 3_000, 15_000
    shares = power_law(rng, items, 0.7, 10.0)
    consumables = np.argsort(-shares, kind="stable")[:15]
    projects = [
        rng.choice(items, int(rng.integers(12, 60)), replace=False, p=shares)
        for _ in range(150)
    ]
    known = power_law(rng, len(projects), 0.8, 3.0)
    needs = [power_law(rng, len(one), 0.8, 2.0) for one in projects]
    baskets = []
    for _ in range(count):
        number = int(rng.choice(len(projects), p=known))
        size = 1 + int(rng.poisson(rng.gamma(1.5, 1.8)))
        bought = rng.choice(projects[number], size, p=needs[number]).tolist()
        if rng.random() < 0.3:
            bought.append(int(rng.choice(consumables)))
        while rng.random() < 0.25:
            bought.append(int(rng.choice(items, p=shares)))
        baskets.append(bought)
    return orders_of(baskets, _spread(count), [0] * count, items)


def garments(seed: int) -> Orders:
    """Return a garment shop's orders."""
    shop, count = Wardrobe(seed), 12_000
    baskets = [shop.order() for _ in range(count)]
    return orders_of(baskets, _spread(count), [0] * count, len(shop.titles))


def electronics(seed: int) -> Orders:
    """Return an electronics shop's orders: a device and what belongs to it."""
    rng = np.random.default_rng(seed)
    items, count = 2_500, 12_000
    shares = power_law(rng, items, 0.9, 8.0)
    devices = rng.permutation(items)[:400]
    for_device = shares[devices] / shares[devices].sum()
    belongs = [rng.choice(items, 12, replace=False, p=shares) for _ in devices]
    wanted = power_law(rng, 12, 1.0, 0.5)
    baskets = []
    for _ in range(count):
        bought = []
        if rng.random() < 0.6:
            device = int(rng.choice(len(devices), p=for_device))
            bought.append(int(devices[device]))
            with_it = 1 + int(rng.poisson(0.9))
            bought += rng.choice(belongs[device], with_it, p=wanted).tolist()
        while not bought or rng.random() < 0.35:
            bought.append(int(rng.choice(items, p=shares)))
        baskets.append(bought)
    return orders_of(baskets, _spread(count), [0] * count, items)


KINDS: Final[dict[str, Callable[[int], Orders]]] = {
    "grocer": grocer,
    "hardware": hardware,
    "garments": garments,
    "electronics": electronics,
}


def orders_of(
    baskets: Sequence[Sequence[int]],
    times: Sequence[int],
    customers: Sequence[int],
    n_items: int,
) -> Orders:
    """Return orders of baskets, by time; a product counts once in an order."""
    order = np.lexsort((np.arange(len(times)), np.array(times, np.int64)))
    contents = [sorted(set(baskets[one])) for one in order.tolist()]
    return Orders(
        np.repeat(np.arange(len(contents)), [len(one) for one in contents]),
        np.array([item for one in contents for item in one], np.int32),
        np.array(times, np.int64)[order],
        n_items,
        np.array(customers, np.int64)[order],
    )


def _spread(count: int) -> Sequence[int]:
    """Return the times of `count` orders, evenly over the days."""
    times: Ints = BEGIN_MS + (np.arange(count) * (DAYS * DAY_MS / count)).astype(np.int64)
    spread: list[int] = times.tolist()
    return spread
