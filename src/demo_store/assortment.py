"""Assortment: the products on sale on each day, and their catalog items."""

import random
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from demo_store.departments import (
    ALL_PRODUCTS,
    DEPARTMENTS,
    DemoProduct,
    Department,
    Shelf,
)
from demo_store.looks import LOOKS
from demo_store.random_choice import WeightedChoice
from demo_store.shopping_patterns import PATTERN_ITEM_IDS

MATERIALS = (
    *("beech", "brass", "canvas", "ceramic", "copper", "cork", "cotton", "enamel", "glass"),
    *("lambswool", "leather", "linen", "merino", "oak", "porcelain", "steel", "stoneware"),
    *("walnut", "wax", "wool"),
)
_SIZE = re.compile(r"\b\d+(?:\.\d+)? (?:cl|cm|g|kg|l|m|ml|mm)\b")
NEW, SCHEDULED, DISCONTINUED, SOLD_OUT, PREORDER = 12, 5, 6, 10, 3


@dataclass(frozen=True, slots=True)
class SalePeriod:
    """When a product may be sold: from day `first` to day `last` of the history."""

    first: int
    last: int
    state: str = "in_stock"


@dataclass(frozen=True, slots=True)
class ShelfLocation:
    """The shelf of a product and its place on it."""

    department: Department
    shelf: Shelf


class Assortment:
    """The shop's products with their sale periods, sampled by shelf."""

    def __init__(self, sale_periods: Mapping[str, SalePeriod], rng: random.Random) -> None:
        """Assign each product a place and a popularity on its shelf."""
        self.products: dict[str, DemoProduct] = {}
        self.locations: dict[str, ShelfLocation] = {}
        self.shelves: dict[str, Shelf] = {}
        self._sale_periods = sale_periods
        self._choices: dict[str, WeightedChoice[DemoProduct]] = {}
        for department in DEPARTMENTS:
            for shelf in department.shelves:
                self._add_products(ShelfLocation(department, shelf), rng)

    def _add_products(self, location: ShelfLocation, rng: random.Random) -> None:
        products = list(location.shelf.products)
        self.shelves[location.shelf.id] = location.shelf
        for product in products:
            self.products[product.id] = product
            self.locations[product.id] = location
        ranks = list(range(1, len(products) + 1))
        rng.shuffle(ranks)
        self._choices[location.shelf.id] = WeightedChoice(
            (product, rank**-0.7) for product, rank in zip(products, ranks, strict=True)
        )

    def sale_period(self, product: DemoProduct) -> SalePeriod:
        """Return the product's sale period."""
        return self._sale_periods[product.id]

    def is_on_sale(self, product: DemoProduct, day: int) -> bool:
        """Return whether the product is on sale on a day of the history."""
        sale_period = self._sale_periods[product.id]
        return sale_period.first <= day <= sale_period.last

    def draw_from_shelf(self, shelf: str, day: int, rng: random.Random) -> DemoProduct:
        """Return a random product of the shelf on sale that day, weighted by popularity."""
        choice = self._choices[shelf]
        product = choice.draw(rng)
        while not self.is_on_sale(product, day):
            product = choice.draw(rng)
        return product


def create_assortment(days: Sequence[date], rng: random.Random) -> Assortment:
    """Return the assortment over a history of `days`, the last being today.

    Products of bundles, repeat purchases and looks are always on sale. Some others are new,
    not yet released, discontinued or sold out. Each shelf always has products on sale.
    """
    sale_periods = {product.id: SalePeriod(0, len(days)) for product in ALL_PRODUCTS}
    sale_periods.update(_limited_sale_periods(len(days) - 1, rng))
    return Assortment(sale_periods, rng)


def _limited_sale_periods(today: int, rng: random.Random) -> dict[str, SalePeriod]:
    limits = (
        [("new", today - rng.randint(3, 40), today) for _ in range(NEW)]
        + [("scheduled", today + rng.randint(7, 40), today + 400) for _ in range(SCHEDULED)]
        + [("discontinued", 0, today - rng.randint(30, 200)) for _ in range(DISCONTINUED)]
        + [("sold_out", 0, today - rng.randint(1, 12)) for _ in range(SOLD_OUT)]
        + [("preorder", today - rng.randint(2, 9), today) for _ in range(PREORDER)]
    )
    chosen = rng.sample(_products_with_limited_sale(), len(limits))
    return {
        product.id: SalePeriod(first, last, state)
        for product, (state, first, last) in zip(chosen, limits, strict=True)
    }


def _products_with_limited_sale() -> list[DemoProduct]:
    look_ids = {piece.item_id for look in LOOKS for piece in look.products}
    always_sold_ids = PATTERN_ITEM_IDS | look_ids
    return [
        product
        for department in DEPARTMENTS
        for shelf in department.shelves
        # The first three products of a shelf are always on sale, so that no shelf is empty.
        for product in shelf.products[3:]
        if product.id not in always_sold_ids
    ]


def build_catalog_items(
    assortment: Assortment,
    days: Sequence[date],
    sold_units: Mapping[str, int],
    rng: random.Random,
) -> list[dict[str, object]]:
    """Return every product as an object of `POST /v1/items`; units are by id."""
    return [
        _catalog_item(assortment, product, days, sold_units.get(product.id, 0), rng)
        for product in assortment.products.values()
    ]


def _catalog_item(
    assortment: Assortment,
    product: DemoProduct,
    days: Sequence[date],
    sold_units: int,
    rng: random.Random,
) -> dict[str, object]:
    location = assortment.locations[product.id]
    is_sold_out = assortment.sale_period(product).state == "sold_out"
    stock = 0 if is_sold_out else _stock_quantity(sold_units / len(days), rng)
    return {
        "id": product.id,
        "sku": _sku(location, product),
        "title": product.title,
        "product_url": f"/demo/product/{product.id}",
        "image_url": f"/demo/pictures/{product.id}.webp",
        "price": product.price,
        **_price_reduction_fields(product),
        "brand": product.brand,
        "color": [product.colour],
        "size": _SIZE.findall(product.title),
        "material": _materials(product),
        "cost": round(product.price * rng.uniform(0.36, 0.62), 2),
        "stock_qty": stock,
        "categories": location.department.category_names(location.shelf),
        "category_ids": location.department.category_ids(location.shelf),
        "description": _description(product, location),
        **_availability_fields(assortment.sale_period(product), days),
    }


def _price_reduction_fields(product: DemoProduct) -> dict[str, object]:
    """Return the list price of every ninth product, which it was sold at before."""
    if zlib.crc32(product.id.encode()) % 9:
        return {}
    return {"list_price": round(product.price * 1.25)}


def _materials(product: DemoProduct) -> list[str]:
    """Return the materials that a product's title and sentence name."""
    words = set(re.findall(r"[a-z]+", f"{product.title} {product.sentence}".lower()))
    return [name for name in MATERIALS if name in words]


def _stock_quantity(daily_sales: float, rng: random.Random) -> int:
    """Return the stock of a product that sells `daily_sales` a day.

    Mostly for 1-2 months.
    """
    return rng.randint(2, 9) + int(daily_sales * 50 * rng.lognormvariate(0, 0.7))


def _sku(location: ShelfLocation, product: DemoProduct) -> str:
    number = location.shelf.products.index(product) + 1
    aisle = location.department.shelves.index(location.shelf) + 1
    return f"{location.department.id[:3].upper()}-{aisle}{number:02d}"


def _description(product: DemoProduct, location: ShelfLocation) -> str:
    shelf, department = location.shelf.name.lower(), location.department.name.lower()
    return (
        f"{product.sentence} By {product.brand}, in {product.colour}. "
        f"Find it among {shelf} in {department}."
    )


def _availability_fields(
    sale_period: SalePeriod, days: Sequence[date]
) -> dict[str, object]:
    if sale_period.state == "scheduled":
        first_day = days[-1] + timedelta(days=sale_period.first - len(days) + 1)
        return {"available_from": first_day.isoformat()}
    if sale_period.state in {"discontinued", "preorder"}:
        return {"availability": sale_period.state}
    return {}
