"""Item: one product, and the patch that a push applies to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import msgspec

from productrecs.records.catalog.availability import Availability

if TYPE_CHECKING:
    from collections.abc import Mapping

_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(dict[str, Any]).decode
_LISTS: Final = ("categories", "category_ids")

FIELD_DEFAULTS: Mapping[str, object] = MappingProxyType(
    {
        "sku": None,
        "title": "",
        "product_url": None,
        "image_url": None,
        "price": None,
        "availability": None,  # None is "absent": the effective state then asks the stock
        "stock_qty": None,
        "cost": None,
        "categories": (),
        "category_ids": (),
        "description": None,
        "available_from": None,
        "available_until": None,
    }
)
"""Every field of an item but its id, with the value that `null` returns it to."""


class Patch(Protocol):
    """What one push says of one item."""

    @property
    def item_id(self) -> str:
        """The item's id."""

    @property
    def fields(self) -> Mapping[str, object]:
        """The fields that the push carried, normalised."""

    @property
    def size(self) -> int:
        """How many bytes it takes packed, about."""


@dataclass(frozen=True, slots=True)
class ItemPatch:
    """What one push says of one item: its id and the fields it carried, normalised.

    A field absent from the push is absent from `fields` and keeps its stored value;
    a field pushed as `null` is present with its default.
    """

    item_id: str
    fields: Mapping[str, object]

    @property
    def size(self) -> int:
        """How many characters its texts have."""
        return sum(len(text) for text in self.fields.values() if isinstance(text, str))


@dataclass(frozen=True, slots=True)
class PackedPatch:
    """An `ItemPatch` that takes no more memory than its JSON did.

    Python keeps a text with one emoji in four bytes a character.
    """

    item_id: str
    packed: bytes

    @classmethod
    def of(cls, patch: ItemPatch) -> Self:
        """Pack a patch."""
        return cls(patch.item_id, _pack(patch.fields))

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return len(self.packed)

    @property
    def fields(self) -> Mapping[str, object]:
        """The fields of the push, unpacked at each access."""
        fields = _unpack(self.packed)
        for name in _LISTS:
            if name in fields:
                fields[name] = tuple(fields[name])
        if fields.get("availability") is not None:
            fields["availability"] = Availability(fields["availability"])
        return fields


@dataclass(frozen=True, slots=True)
class Item:
    """One product of a store's catalog, as stored; `availability` is as given or absent."""

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

    def patched(self, patch: Patch) -> Item:
        """Return this item with the fields of `patch` in place of its own."""
        return replace(self, **patch.fields)  # type: ignore[arg-type]  # validated at the border


def new_item(patch: Patch) -> Item:
    """Return the item that `patch` creates: what it does not carry has its default."""
    return Item(patch.item_id).patched(patch)
