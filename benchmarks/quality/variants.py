"""Sizes and colours that are items of their own: what is bought with a shirt in any size?

An invented garment shop: eighty garments of ten types in up to four colours and five sizes
(some 750 items), three companions each. An order holds a garment, with luck its companions
and something by chance, in the shopper's size four times of five. Learned from the first
four fifths of its orders, asked by each product of the rest. Beside it stands the same
without variants. Online Retail's colours are collected and gain nothing: the guard is that
they lose nothing. The constants were chosen on that set's weeks before the test, and on
other seeds of the shop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from benchmarks.quality.bought_together import CUT, SHOWN, trial
from benchmarks.quality.datasets import age_days, online_retail, online_retail_titles
from benchmarks.quality.statistics import difference
from benchmarks.report import Figure
from productrecs.engines.copurchase import VariantGroups, fit_copurchase
from productrecs.records.catalog.title_words import size_code_in_title, variant_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import Floats, Ints, Items

TYPES: Final = (
    "Shirt",
    "Trousers",
    "Belt",
    "Dress",
    "Jacket",
    "Socks",
    "Hat",
    "Skirt",
    "Sweater",
    "Scarf",
)
NAMES: Final = ("Aldo", "Bera", "Cato", "Dina", "Elva", "Fina", "Gero", "Hilo")
COLOURS: Final = ("black", "white", "navy", "red", "green", "grey")
SIZES: Final = ("XS", "S", "M", "L", "XL")
FEW_SIZES: Final = {"Socks": 3, "Belt": 3, "Hat": 1, "Scarf": 1}
ORDERS: Final = (600, 2_000, 8_000)  # of three shops
ORDERS_A_DAY: Final = 20
_LEARNED: Final = 0.8
_GAIN: Final = 1.5  # times the hits without variants, where orders are few
_KEPT: Final = 0.998  # of them, where there is nothing to gain


@dataclass(frozen=True, slots=True)
class Garment:
    """One product: its colours, how many sizes, and the number of its first item."""

    colours: tuple[str, ...]
    sizes: int
    first: int


class Wardrobe:
    """An invented garment shop, the same for one seed."""

    def __init__(self, seed: int) -> None:
        """Draw the catalog, what sells, and what goes with what."""
        self.rng = np.random.default_rng(seed)
        self.titles: list[str] = []
        self.garment_of: list[int] = []
        self.garments: list[Garment] = []
        for kind in TYPES:
            for name in NAMES:
                self._add(name, kind)
        count = len(self.garments)
        shares = 1.0 / np.arange(1, count + 1) ** 0.7
        self.shares = shares[self.rng.permutation(count)] / shares.sum()
        self.partners = [self._partners(garment) for garment in range(count)]

    def _add(self, name: str, kind: str) -> None:
        drawn = self.rng.choice(COLOURS, int(self.rng.integers(1, 5)), replace=False)
        sizes = FEW_SIZES.get(kind, len(SIZES))
        named = SIZES[1 : 1 + sizes] if 1 < sizes < len(SIZES) else SIZES
        colours, first = tuple(drawn.tolist()), len(self.titles)
        self.garments.append(Garment(colours, sizes, first))
        for colour in colours:
            for size in named if sizes > 1 else ("",):
                self.titles.append(f"{name} {kind} {colour} {size}".strip())
                self.garment_of.append(len(self.garments) - 1)

    def _partners(self, garment: int) -> list[int]:
        others = np.arange(len(self.garments)) // len(NAMES) != garment // len(NAMES)
        chosen: list[int] = self.rng.choice(
            np.flatnonzero(others), 3, replace=False
        ).tolist()
        return chosen

    def order(self) -> list[int]:
        """Return what one shopper buys: item numbers."""
        rng = self.rng
        size, colour = float(np.clip(rng.normal(2, 1), 0, 4)), str(rng.choice(COLOURS))
        first = int(rng.choice(len(self.garments), p=self.shares))
        bought = [first, *(one for one in self.partners[first] if rng.random() < 0.3)]
        while rng.random() < 0.35:
            bought.append(int(rng.choice(len(self.garments), p=self.shares)))
        items = [self._item(one, size, colour) for one in dict.fromkeys(bought)]
        if rng.random() < 0.06:  # the next size too, to send one back
            items.append(self._item(first, min(size + 1, 4), colour))
        return list(dict.fromkeys(items))

    def _item(self, number: int, size: float, colour: str) -> int:
        garment, rng = self.garments[number], self.rng
        if colour in garment.colours and rng.random() < 0.5:
            place = garment.colours.index(colour)
        else:
            shares = 1.0 / np.arange(1, len(garment.colours) + 1)
            place = int(rng.choice(len(shares), p=shares / shares.sum()))
        wanted = size if rng.random() < 0.8 else float(rng.integers(5))
        step = round(wanted * (garment.sizes - 1) / 4)
        return garment.first + place * garment.sizes + step


def variant_groups_of(titles: Sequence[str]) -> VariantGroups:
    """Return which titles are one product's, as training decides it."""
    keys = [variant_key(title) or f"#{number}" for number, title in enumerate(titles)]
    _, where, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    groups = np.where(sizes[where] > 1, where + 1, 0).astype(np.int32)
    return VariantGroups(
        groups, np.array([size_code_in_title(title) for title in titles], np.int32)
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """Hits by length of the list: of the very item, and of its product."""

    items: dict[int, Floats]
    products: dict[int, Floats]
    coverage: float
    groups: Ints


def ask(
    lines: tuple[Ints, Items, Floats],
    variants: VariantGroups | None,
    asked: Sequence[Sequence[int]],
    product_of: Ints,
) -> Outcome:
    """Return how lists learned from `lines` (baskets, items, ages) tell later orders."""
    baskets, items, ages = lines
    model = fit_copurchase(
        baskets, items, ages.astype(np.float32), len(product_of), variants=variants
    ).widest
    questions = list(_questions(asked))
    known = {
        anchor: model.complete([anchor], max(SHOWN)).items for _, anchor, _ in questions
    }
    exact: dict[int, list[bool]] = {length: [] for length in SHOWN}
    alike: dict[int, list[bool]] = {length: [] for length in SHOWN}
    for _, anchor, others in questions:
        wanted = set(product_of[others].tolist()) - {product_of[anchor]}
        for length in SHOWN:
            shown = known[anchor][:length]
            exact[length].append(not set(others).isdisjoint(shown.tolist()))
            alike[length].append(not wanted.isdisjoint(product_of[shown].tolist()))
    met = np.unique(np.concatenate([one[:4] for one in known.values()]))
    return Outcome(
        {length: np.array(hits, np.float64) for length, hits in exact.items()},
        {length: np.array(hits, np.float64) for length, hits in alike.items()},
        len(met) / len(np.unique(items)),
        np.array([group for group, _, _ in questions]),
    )


def _questions(asked: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, list[int]]]:
    for group, order in enumerate(asked):
        for anchor in order:
            yield group, anchor, [item for item in order if item != anchor]


class Case(NamedTuple):
    """A shop's past and later orders, and what it sells; `least` is what hits must keep."""

    title: str
    lines: tuple[Ints, Items, Floats]
    asked: Sequence[Sequence[int]]
    titles: Sequence[str]
    product_of: Ints
    least: float


def invented(seed: int, count: int) -> Case:
    """Return a garment shop of so many orders."""
    shop = Wardrobe(seed)
    orders, until = [shop.order() for _ in range(count)], int(count * _LEARNED)
    codes = np.repeat(np.arange(until), [len(one) for one in orders[:until]])
    return Case(
        f"garments, {len(shop.titles)} items, {count} orders",
        (
            codes,
            np.array([item for one in orders[:until] for item in one], np.int32),
            (until - codes) / ORDERS_A_DAY,
        ),
        [one for one in orders[until:] if len(one) > 1],
        shop.titles,
        np.array(shop.garment_of),
        _GAIN if count < ORDERS[-1] else 1.0,
    )


def real() -> Case:
    """Return Online Retail, whose colours are mostly collected."""
    test, titles = trial(online_retail(), CUT), online_retail_titles()
    baskets, items, times = test.orders.lines_of(test.learned)
    groups = variant_groups_of(titles).groups
    return Case(
        f"Online Retail from {CUT}",
        (baskets, items, age_days(times, test.now_ms)),
        [order.tolist() for order in test.asked],
        titles,
        np.where(groups > 0, groups, -np.arange(1, len(titles) + 1)),
        _KEPT,
    )


def measure(report: Report) -> None:
    """Add hits in garment shops of three sizes, and on Online Retail."""
    for case in (*(invented(seed, count) for seed, count in enumerate(ORDERS, 21)), real()):
        _add(report, case)


def _add(report: Report, case: Case) -> None:
    product_of = case.product_of
    mine = ask(case.lines, variant_groups_of(case.titles), case.asked, product_of)
    before = ask(case.lines, None, case.asked, product_of)
    shown = f"coverage of the first four {mine.coverage:.3f}, before {before.coverage:.3f}"
    for what, hits, theirs in (
        ("the item", mine.items, before.items),
        ("its product", mine.products, before.products),
    ):
        for length in SHOWN[1:]:
            value, floor = float(hits[length].mean()), float(theirs[length].mean())
            gain = difference(hits[length], theirs[length], mine.groups)
            report.add(
                Figure(
                    f"variants, {case.title}, {what}, hit@{length}",
                    value,
                    "share",
                    floor,
                    value / floor,
                    f">= {case.least} x without",
                    value >= case.least * floor,
                    f"{len(mine.groups)} anchors; {gain}; {shown}",
                )
            )
