"""Shop items: the products on sale now, by department, read from the service's catalog."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from demo_store.assortment import ShelfLocation
from demo_store.assortment_types import DemoProduct
from demo_store.departments import DEPARTMENTS
from demo_store.pictures.drawing_files import drawing_of_product
from demo_store.seasonality import season_factor
from demo_store.storefront.http_messages import HOME
from productrecs.core.time_window import window_end_ms, window_start_ms
from productrecs.entrypoints.services import Services
from productrecs.records.catalog.availability import (
    Availability,
    effective_availability,
    is_buyable,
)
from productrecs.records.catalog.item import Item
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.tenancy.accounts.store import Store

_MAX_AGE_SECONDS: Final = 0.3
_ALL: Final = 10_000
_LOW_STOCK: Final = 5


@dataclass(frozen=True, slots=True)
class ShopItem:
    """A product of the shop: its catalog item, its department and its shelf."""

    item: Item
    state: Availability
    product: DemoProduct | None
    place: ShelfLocation | None

    @property
    def id(self) -> str:
        """The id in events and recommendations."""
        return self.item.item_id

    @property
    def address(self) -> str:
        """Its page."""
        return self.item.product_url or f"{HOME}/product/{self.id}"

    @property
    def price(self) -> float:
        """Its price; 0 if the catalog has none."""
        return self.item.price or 0.0

    @property
    def can_be_bought(self) -> bool:
        """Whether it may go into a cart."""
        return is_buyable(self.state) and self.item.price is not None

    @property
    def stock_text(self) -> str:
        """The stock text."""
        if self.state is Availability.PREORDER:
            return "Pre-order: ships next month"
        if not self.can_be_bought:
            return "Sold out"
        quantity = self.item.stock_qty
        if quantity is not None and 0 < quantity <= _LOW_STOCK:
            return f"Only {quantity} left"
        return "In stock, ships tomorrow"


class ShopItems:
    """All visible products by id, in the order of the departments."""

    def __init__(self, items: Iterable[Item], now_ms: int, store: Store) -> None:
        """Omit products that are discontinued or outside their sale period at `now_ms`."""
        items_by_id = {
            item.item_id: item for item in items if _is_open(item, now_ms, store)
        }
        placed = {one: place for one, place in _PLACES.items() if one in items_by_id}
        self._goods: Mapping[str, ShopItem] = {
            item_id: _shop_item(items_by_id[item_id]) for item_id in (*placed, *items_by_id)
        }
        self._today = datetime.fromtimestamp(now_ms / 1000, store.settings.zone).date()

    def get(self, item_id: str) -> ShopItem | None:
        """Return a visible product, or None."""
        return self._goods.get(item_id)

    def some(self, item_ids: Iterable[str]) -> list[ShopItem]:
        """Return the visible products of the ids, in their order."""
        return [
            shop_item for one in item_ids if (shop_item := self._goods.get(one)) is not None
        ]

    def on(self, department: str, shelf: str | None = None) -> list[ShopItem]:
        """Return the products of a department, or of one of its shelves."""
        return [
            shop_item
            for shop_item in self._goods.values()
            if shop_item.place is not None
            and shop_item.place.department.id == department
            and shelf in {None, shop_item.place.shelf.id}
        ]

    def in_season(self, limit: int) -> list[ShopItem]:
        """Return products of the season, from several shelves in turn."""
        shelves = [
            (department.id, shelf)
            for department in DEPARTMENTS
            for shelf in department.shelves
        ]
        shelves.sort(key=lambda one: -season_factor(one[1].season, self._today))
        rows = [
            [
                shop_item
                for shop_item in self.on(department, shelf.id)
                if shop_item.can_be_bought
            ][2:4]
            for department, shelf in shelves[:limit]
        ]
        interleaved = [
            row[row_index] for row_index in range(2) for row in rows if row_index < len(row)
        ]
        return interleaved[:limit]

    def siblings(self, shop_item: ShopItem) -> list[ShopItem]:
        """Return all variants of a product, including itself."""
        if shop_item.product is None or shop_item.place is None:
            return [shop_item]
        stem = _stem(shop_item.product)
        drawing = drawing_of_product(shop_item.id).drawing
        return [
            sibling
            for sibling in self.on(shop_item.place.department.id, shop_item.place.shelf.id)
            if sibling.product is not None
            and _stem(sibling.product) == stem
            and drawing_of_product(sibling.id).drawing == drawing
        ]


class ShopItemReader:
    """Reads the catalog for page requests, at most a few times a second."""

    def __init__(self, services: Services, store: Store) -> None:
        """Store the arguments; read nothing yet."""
        self._services = services
        self._store = store
        self._read_at = 0.0
        self._goods: ShopItems | None = None

    async def goods(self) -> ShopItems:
        """Return the products on sale, at most a third of a second old."""
        now = time.monotonic()
        if self._goods is None or now - self._read_at > _MAX_AGE_SECONDS:
            self._goods = await asyncio.to_thread(self._read)
            self._read_at = now
        return self._goods

    def _read(self) -> ShopItems:
        with self._services.database.reading() as connection:
            stored = CatalogRepository(connection, self._store.store_id).page(-1, _ALL)
        now_ms = self._services.clock()
        return ShopItems((one.item for one in stored), now_ms, self._store)


_PLACES: Final[Mapping[str, ShelfLocation]] = {
    product.id: ShelfLocation(department, shelf)
    for department in DEPARTMENTS
    for shelf in department.shelves
    for product in shelf.products
}
_PRODUCTS: Final[Mapping[str, DemoProduct]] = {
    product.id: product
    for department in DEPARTMENTS
    for shelf in department.shelves
    for product in shelf.products
}


def product_of(item_id: str) -> tuple[DemoProduct, int] | None:
    """Return a product and its department's number; None if it does not exist."""
    place = _PLACES.get(item_id)
    if place is None:
        return None
    return _PRODUCTS[item_id], DEPARTMENTS.index(place.department)


def cheapest_first(goods: Sequence[ShopItem]) -> list[ShopItem]:
    """Return the products by price."""
    return sorted(goods, key=lambda shop_item: shop_item.price)


def _shop_item(item: Item) -> ShopItem:
    state = effective_availability(item.availability, item.stock_qty)
    return ShopItem(item, state, _PRODUCTS.get(item.item_id), _PLACES.get(item.item_id))


def _stem(product: DemoProduct) -> str:
    return " ".join(product.title.split(",")[0].split()[:2])


def _is_open(item: Item, now_ms: int, store: Store) -> bool:
    zone = store.settings.zone
    if (
        effective_availability(item.availability, item.stock_qty)
        is Availability.DISCONTINUED
    ):
        return False
    if item.available_from and window_start_ms(item.available_from, zone) > now_ms:
        return False
    return not item.available_until or window_end_ms(item.available_until, zone) >= now_ms
