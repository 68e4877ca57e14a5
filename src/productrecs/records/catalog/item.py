"""Item: one product, its categories, its variant group and its patch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeAlias

import msgspec

from productrecs.records.catalog.availability import Availability
from productrecs.records.catalog.price_lists import (
    ListPrices,
    as_list_prices,
    merge_prices,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(dict[str, Any]).decode
LIST_FIELDS: Final = ("categories", "category_ids", "color", "size", "material")
"""The fields that hold lists of strings."""

ATTRIBUTE_FIELDS: Final = ("brand", "color", "size", "material")
"""The attributes with their own fields; `attributes` holds all others by name."""

FIELD_DEFAULTS: Mapping[str, object] = MappingProxyType(
    {
        "sku": None,
        "title": "",
        "product_url": None,
        "image_url": None,
        "price": None,
        "availability": None,  # None means absent: the effective state depends on stock
        "stock_qty": None,
        "cost": None,
        "categories": (),
        "category_ids": (),
        "description": None,
        "available_from": None,
        "available_until": None,
        "brand": None,
        "gtin": None,
        "color": (),
        "size": (),
        "material": (),
        "attributes": (),
        "list_price": None,
        "prices": (),
        "planned_price": None,
        "planned_price_from": None,
        "planned_price_until": None,
    }
)
"""Every field of an item except its id, with the value that `null` resets it to."""


Attributes: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Attribute names, each with its values, in the order of the push."""


_PUSHED_FORMS: Final[Mapping[str, Callable[[Any], object]]] = MappingProxyType(
    {
        "attributes": dict,
        "prices": lambda prices: {
            one.name: {"price": one.price, "list_price": one.list_price} for one in prices
        },
    }
)
"""Fields that are stored in another form than they are pushed in."""


def pushed_fields(item: Item) -> dict[str, Any]:
    """Return an item's id and fields in the form of a push."""
    fields = {name: getattr(item, name) for name in FIELD_DEFAULTS}
    fields |= {name: form(fields[name]) for name, form in _PUSHED_FORMS.items()}
    return {"id": item.item_id} | fields


def with_absolute_urls(item: Item, domain: str) -> Item:
    """Return an item whose paths (`/p/tent`) are addresses in the shop of a domain."""

    def whole(url: str | None) -> str | None:
        if url is None or not url.startswith("/"):
            return url
        return f"https:{url}" if url.startswith("//") else f"https://{domain}{url}"

    return replace(
        item, product_url=whole(item.product_url), image_url=whole(item.image_url)
    )


def as_attributes(pairs: Iterable[Sequence[Any]]) -> Attributes:
    """Return attributes from their stored form: pairs of a name and values."""
    return tuple((str(name), tuple(values)) for name, values in pairs)


class PushedItem(Protocol):
    """The fields of one item in a push."""

    @property
    def item_id(self) -> str:
        """The item's id."""

    @property
    def fields(self) -> Mapping[str, object]:
        """The normalised fields in the push."""

    @property
    def size(self) -> int:
        """The approximate packed size in bytes."""


@dataclass(frozen=True, slots=True)
class ItemPatch:
    """One item of a push: its id and its normalised fields.

    A field that is absent from the push is absent from `fields` and stays unchanged;
    a field pushed as `null` is present with its default.
    """

    item_id: str
    fields: Mapping[str, object]

    @property
    def size(self) -> int:
        """The number of characters in its texts."""
        return sum(len(text) for text in self.fields.values() if isinstance(text, str))


@dataclass(frozen=True, slots=True)
class PackedItemPatch:
    """An `ItemPatch` that takes no more memory than its JSON.

    Python stores a text with one emoji in four bytes per character.
    """

    item_id: str
    packed: bytes

    @classmethod
    def of(cls, patch: ItemPatch) -> Self:
        """Pack a patch."""
        return cls(patch.item_id, _pack(patch.fields))

    @property
    def size(self) -> int:
        """The packed size in bytes."""
        return len(self.packed)

    @property
    def fields(self) -> Mapping[str, object]:
        """The fields of the push, unpacked at each access."""
        return unpack_fields_in_place(_unpack(self.packed))


def unpack_fields_in_place(fields: dict[str, Any]) -> dict[str, Any]:
    """Change packed fields of an item, such as lists to tuples; return them."""
    for name in LIST_FIELDS:
        if name in fields:
            fields[name] = tuple(fields[name])
    if "attributes" in fields:
        fields["attributes"] = as_attributes(fields["attributes"])
    if "prices" in fields:
        fields["prices"] = as_list_prices(fields["prices"])
    if fields.get("availability") is not None:
        fields["availability"] = Availability(fields["availability"])
    return fields


@dataclass(frozen=True, slots=True)
class Item:
    """One stored product of a catalog; `availability` is as given, or absent."""

    item_id: str
    sku: str | None = None
    title: str = ""
    product_url: str | None = None
    image_url: str | None = None
    price: float | None = None
    availability: Availability | None = None
    stock_qty: int | None = None
    cost: float | None = None
    categories: tuple[str, ...] = ()
    category_ids: tuple[str, ...] = ()
    description: str | None = None
    available_from: str | None = None
    available_until: str | None = None
    brand: str | None = None
    gtin: str | None = None
    color: tuple[str, ...] = ()
    size: tuple[str, ...] = ()
    material: tuple[str, ...] = ()
    attributes: Attributes = ()
    list_price: float | None = None
    prices: ListPrices = ()
    planned_price: float | None = None
    planned_price_from: str | None = None
    planned_price_until: str | None = None

    def with_patch(self, patch: PushedItem) -> Item:
        """Return this item with its fields replaced by those of `patch`.

        Prices are merged: a list that the patch does not name keeps its price.
        """
        fields: dict[str, Any] = dict(patch.fields)
        if "prices" in fields:
            fields["prices"] = merge_prices(self.prices, fields["prices"])
        return replace(self, **fields)


def new_item(patch: PushedItem) -> Item:
    """Return the item that `patch` creates, with defaults for missing fields."""
    return Item(patch.item_id).with_patch(patch)


class NarrowestCategories(dict[int, str]):
    """The narrowest category of each item, computed on first access; empty for none."""

    def __init__(
        self, categories: Sequence[tuple[str, ...]], members: Mapping[str, Sequence[int]]
    ) -> None:
        """Start empty, from each item's categories and each category's items."""
        super().__init__()
        self._categories, self._members = categories, members
        self._of_all: dict[tuple[str, ...], str] = {}

    def __missing__(self, item: int) -> str:
        """Compute and cache an item's narrowest category; ties go to the first name."""
        names = self._categories[item]
        name = self._of_all.get(names)
        if name is None:
            members = self._members
            name = min(names, key=lambda one: (len(members[one]), one), default="")
            self._of_all[names] = name
        self[item] = name
        return name
