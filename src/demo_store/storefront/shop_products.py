"""Shop products: what is on sale now, by department, read from the service's catalog."""

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from demo_store.assortment import ShelfLocation
from demo_store.departments import ALL_PRODUCTS, DEPARTMENTS, DemoProduct
from demo_store.pictures.drawing_files import find_product_drawing
from demo_store.seasonality import season_factor
from demo_store.storefront.assets import HOME
from productrecs.core.iso_dates import window_end_ms, window_start_ms
from productrecs.records.catalog.availability import (
    Availability,
    effective_availability,
    is_buyable,
)
from productrecs.records.catalog.item import Item
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store

_MAX_AGE_SECONDS: Final = 0.3
_ALL: Final = 10_000
_LOW_STOCK: Final = 5
_LOCATIONS: Final[Mapping[str, ShelfLocation]] = {
    product.id: ShelfLocation(department, shelf)
    for department in DEPARTMENTS
    for shelf in department.shelves
    for product in shelf.products
}
_PRODUCTS: Final[Mapping[str, DemoProduct]] = {
    product.id: product for product in ALL_PRODUCTS
}


@dataclass(frozen=True, slots=True)
class ShopProduct:
    """A product of the shop: its catalog item, and where the demo knows it, its shelf."""

    item: Item
    availability: Availability
    product: DemoProduct | None
    location: ShelfLocation | None

    @property
    def id(self) -> str:
        """The id in events and recommendations."""
        return self.item.item_id

    @property
    def url(self) -> str:
        """The address of its page."""
        return self.item.product_url or f"{HOME}/product/{self.id}"

    @property
    def title(self) -> str:
        """Its title."""
        return self.item.title or ""

    @property
    def brand(self) -> str:
        """Its maker; empty if unknown."""
        return self.product.brand if self.product else ""

    @property
    def colour(self) -> str:
        """The name of its colour; empty if unknown."""
        return self.product.colour if self.product else ""

    @property
    def sentence(self) -> str:
        """What is said about it."""
        return self.product.sentence if self.product else self.item.description or ""

    @property
    def picture_url(self) -> str:
        """The address of its picture on cards."""
        return self.item.image_url or ""

    @property
    def large_picture_url(self) -> str:
        """The address of its picture on its own page."""
        return self.picture_url.replace("/pictures/", "/pictures/large/")

    @property
    def old_price(self) -> float:
        """Its price before a reduction; 0 if it is not reduced."""
        before = self.item.list_price or 0.0
        return before if before > self.price else 0.0

    @property
    def price(self) -> float:
        """Its price; 0 if the catalog has none."""
        return self.item.price or 0.0

    @property
    def can_be_bought(self) -> bool:
        """Whether it may go into a cart."""
        return is_buyable(self.availability) and self.item.price is not None

    @property
    def stock_text(self) -> str:
        """Whether it is in stock, in words."""
        if self.availability is Availability.PREORDER:
            return "Pre-order: ships next month"
        if not self.can_be_bought:
            return "Sold out"
        quantity = self.item.stock_qty
        if quantity is not None and 0 < quantity <= _LOW_STOCK:
            return f"Only {quantity} left"
        return "In stock, ships tomorrow"

    @property
    def variant_name(self) -> str:
        """What sets it apart from its variants: the text after the comma, or the colour."""
        _, comma, title_end = self.title.rpartition(", ")
        return title_end if comma else self.colour or self.title

    @property
    def breadcrumbs(self) -> list[tuple[str, str]]:
        """Names and addresses of its department and its shelf."""
        if self.location is None:
            return []
        department, shelf = self.location.department, self.location.shelf
        department_url = f"{HOME}/category/{department.id}"
        return [
            (department.name, department_url),
            (shelf.name, f"{department_url}/{shelf.id}"),
        ]

    @property
    def facts(self) -> dict[str, str]:
        """The table of its page."""
        facts = {"Number": self.item.sku or self.id}
        if self.product is not None:
            facts |= {"Maker": self.brand, "Colour": self.colour}
        if self.location is not None:
            facts["Found in"] = self.location.shelf.name
        return facts | {
            "Delivery": "Free from €50, else €4.90; thirty days to send it back"
        }


class ShopProducts:
    """All visible products by id, in the order of the departments."""

    def __init__(self, items: Iterable[Item], now_ms: int, store: Store) -> None:
        """Omit products that are discontinued or outside their sale period at `now_ms`."""
        visible = {item.item_id: item for item in items if _is_visible(item, now_ms, store)}
        in_shelf_order = [item_id for item_id in _LOCATIONS if item_id in visible]
        self._products: Mapping[str, ShopProduct] = {
            item_id: _shop_product(visible[item_id])
            for item_id in (*in_shelf_order, *visible)
        }
        self._today = datetime.fromtimestamp(now_ms / 1000, store.settings.zone).date()

    def get(self, item_id: str) -> ShopProduct | None:
        """Return a visible product, or None."""
        return self._products.get(item_id)

    def visible_products(self, item_ids: Iterable[str]) -> list[ShopProduct]:
        """Return the visible products of the ids, in their order."""
        return [product for item_id in item_ids if (product := self._products.get(item_id))]

    def in_department(
        self, department_id: str, shelf_id: str | None = None
    ) -> list[ShopProduct]:
        """Return the products of a department, or of one of its shelves."""
        return [
            product
            for product in self._products.values()
            if product.location is not None
            and product.location.department.id == department_id
            and shelf_id in {None, product.location.shelf.id}
        ]

    def in_season(self, limit: int) -> list[ShopProduct]:
        """Return products of the season, from several shelves in turn."""
        shelves = [
            (department, shelf)
            for department in DEPARTMENTS
            for shelf in department.shelves
        ]
        shelves.sort(key=lambda place: -season_factor(place[1].season, self._today))
        products_by_shelf = [
            [
                product
                for product in self.in_department(department.id, shelf.id)
                if product.can_be_bought
            ][2:4]
            for department, shelf in shelves[:limit]
        ]
        interleaved = [
            row[row_index]
            for row_index in range(2)
            for row in products_by_shelf
            if row_index < len(row)
        ]
        return interleaved[:limit]

    def variants(self, product: ShopProduct) -> list[ShopProduct]:
        """Return all variants of a product, including itself."""
        if product.product is None or product.location is None:
            return [product]
        drawing = find_product_drawing(product.id).drawing
        return [
            other
            for other in self.in_department(
                product.location.department.id, product.location.shelf.id
            )
            if other.product is not None
            and _first_title_words(other.product) == _first_title_words(product.product)
            and find_product_drawing(other.id).drawing == drawing
        ]


class ShopProductReader:
    """Reads the catalog for page requests, at most a few times a second."""

    def __init__(self, services: Services, store: Store) -> None:
        """Store the arguments; read nothing yet."""
        self._services = services
        self._store = store
        self._read_at = 0.0
        self._products: ShopProducts | None = None

    async def products(self) -> ShopProducts:
        """Return the products on sale, at most a third of a second old."""
        now = time.monotonic()
        if self._products is None or now - self._read_at > _MAX_AGE_SECONDS:
            self._products = await asyncio.to_thread(self._read_shop_products)
            self._read_at = now
        return self._products

    def _read_shop_products(self) -> ShopProducts:
        with self._services.database.reading() as connection:
            stored = CatalogRepository(connection, self._store.store_id).page(-1, _ALL)
        now_ms = self._services.clock()
        return ShopProducts((row.item for row in stored), now_ms, self._store)


def find_product_and_department(item_id: str) -> tuple[DemoProduct, int] | None:
    """Return a product and its department's number; None if it does not exist."""
    location = _LOCATIONS.get(item_id)
    if location is None:
        return None
    return _PRODUCTS[item_id], DEPARTMENTS.index(location.department)


def _shop_product(item: Item) -> ShopProduct:
    return ShopProduct(
        item,
        effective_availability(item.availability, item.stock_qty),
        _PRODUCTS.get(item.item_id),
        _LOCATIONS.get(item.item_id),
    )


def _first_title_words(product: DemoProduct) -> str:
    return " ".join(product.title.split(",")[0].split()[:2])


def _is_visible(item: Item, now_ms: int, store: Store) -> bool:
    zone = store.settings.zone
    availability = effective_availability(item.availability, item.stock_qty)
    if availability is Availability.DISCONTINUED:
        return False
    if item.available_from and window_start_ms(item.available_from, zone) > now_ms:
        return False
    return not item.available_until or window_end_ms(item.available_until, zone) >= now_ms
