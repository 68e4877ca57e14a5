"""Catalog view: one store's catalog in memory, updated incrementally.

Arrays are indexed by item number. One thread at a time refreshes; readers take no lock:
fields that make an item visible are written last, fields that hide it first. The catalog
decides: only `visible` items are shown, whatever an engine returns.
"""

import copy
import json
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from productrecs.core.ids import StoreId
from productrecs.core.iso_dates import window_end_ms, window_start_ms
from productrecs.records.catalog.attribute_index import AttributeIndex
from productrecs.records.catalog.availability import (
    Availability,
    UnavailableReason,
    effective_availability,
    is_buyable,
)
from productrecs.records.catalog.item import Attributes, NarrowestCategories, as_attributes
from productrecs.records.catalog.price_lists import (
    NO_PRICES,
    Cards,
    PricedCards,
    PriceLists,
    parse_list_name,
)
from productrecs.records.catalog.repository import rows_after, rows_changed_since
from productrecs.records.catalog.title_words import fold_text, variant_words
from productrecs.records.catalog.variant_groups import NO_GROUPS, CatalogVariantGroups
from productrecs.storage.sql.dialects import RawReader

Mask: TypeAlias = npt.NDArray[np.bool_]

_HIDDEN, _SOLD_OUT, _BUYABLE = 0, 1, 2
_FOREVER: Final = 2**62


@dataclass(frozen=True, slots=True)
class CardFields:
    """The fields of an item that a card shows."""

    item_id: str
    title: str
    price: float | None
    image_url: str | None
    product_url: str | None


class CatalogView:
    """One store's catalog, by item number."""

    def __init__(
        self, store_id: StoreId, zone: tzinfo, make_card: Callable[[CardFields], bytes]
    ) -> None:
        """Start empty; `refresh` fills it, and `make_card` creates the JSON for replies.

        A card is a JSON object with the item's `title` and `price`, without its closing
        brace.
        """
        self.store_id = store_id
        self.zone = zone
        self.version = 0  # grows with every change that may affect a reply
        self.numbers: dict[str, int] = {}
        self.ids: list[str | None] = []
        self._cards: list[bytes | None] = []
        self.cards: Cards = self._cards
        self.categories: list[tuple[str, ...]] = []
        self.members: dict[str, array[int]] = {}
        self.variants: array[int] = array("q")  # same value: same variant group; 0: none
        self.attributes = AttributeIndex()
        self.prices = np.zeros(0, dtype=np.float64)
        self.list_prices = np.zeros(0, dtype=np.float64)
        self.created = np.zeros(0, dtype=np.int64)
        self.price_lists = PriceLists()
        self.price_list = ""  # the list whose prices these are; empty: the usual prices
        self.list_currency = ""  # the currency of that list
        self.priced_from: CatalogView | None = None
        self._state = np.zeros(0, dtype=np.uint8)
        self._available_from = np.zeros(0, dtype=np.int64)
        self._available_until = np.zeros(0, dtype=np.int64)
        self._make_card = make_card
        self._seq = -1
        self._refreshing = threading.Lock()
        self._category_sets: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._newest: tuple[int, npt.NDArray[np.int64]] = (-1, np.zeros(0, np.int64))
        self._narrowest = (-1, NarrowestCategories(self.categories, self.members))
        self._masks: dict[bool, tuple[int, int, int, Mask]] = {}
        self._differences: array[int] = array("q")  # equal: the same size and colour
        self._variant_changes = 0
        self._variant_groups = (0, NO_GROUPS)
        self._present: tuple[int, Mask] = (-1, np.zeros(0, np.bool_))

    def __len__(self) -> int:
        """Return how many item numbers the view covers, visible or not."""
        return len(self.ids)

    @property
    def seq(self) -> int:
        """The sequence number of the last change in this view."""
        return self._seq

    @property
    def narrowest(self) -> NarrowestCategories:
        """Each item's narrowest category, for the current version."""
        if self._narrowest[0] != self.version:
            self._narrowest = (
                self.version,
                NarrowestCategories(self.categories, self.members),
            )
        return self._narrowest[1]

    @property
    def variant_groups(self) -> CatalogVariantGroups:
        """The present variant groups."""
        changes = self._variant_changes
        if self._variant_groups[0] != changes:
            self._variant_groups = (
                changes,
                CatalogVariantGroups(self.variants, self._differences),
            )
        return self._variant_groups[1]

    def refresh(self, reader: RawReader, catalog_seq: int) -> None:
        """Read changes at least up to `catalog_seq`; the first call reads everything."""
        with self._refreshing:
            if self._seq >= catalog_seq:
                return
            first_time = self._seq < 0
            rows = self._read_all(reader) if first_time else self._changes(reader)
            last_seq = self._seq
            for page in rows:
                self._reserve(max(int(row[0]) for row in page) + 1)
                for row in page:
                    self._apply_row(row)
                    last_seq = max(last_seq, int(row[3]))
            # Items on pages that were already read may have changed meanwhile: read those
            # changes again.
            self._seq = catalog_seq if first_time else max(self._seq, last_seq)
            self.version += 1

    def visible(self, now_ms: int, *, hide_sold_out: bool) -> Mask:
        """Return a read-only mask, by item number, of items visible at `now_ms`."""
        cached = self._masks.get(hide_sold_out)
        if cached and cached[0] == self.version and cached[1] <= now_ms < cached[2]:
            return cached[3]
        version, state = self.version, self._state
        starts = self._available_from[: len(state)]
        ends = self._available_until[: len(state)]
        min_state = _BUYABLE if hide_sold_out else _SOLD_OUT
        mask = (state >= min_state) & (starts <= now_ms) & (ends >= now_ms)
        later = np.concatenate((starts[starts > now_ms], ends[ends >= now_ms] + 1))
        until = int(later.min()) if len(later) else _FOREVER
        self._masks[hide_sold_out] = (version, now_ms, until, mask)
        return mask

    def present(self) -> Mask:
        """Return a read-only mask, by item number, of items in the catalog."""
        if self._present[0] != self.version:
            version, size = self.version, len(self.ids)
            known = (one is not None for one in self.ids)
            self._present = (version, np.fromiter(known, np.bool_, size))
        return self._present[1]

    def why_hidden(
        self, number: int, now_ms: int, *, hide_sold_out: bool
    ) -> UnavailableReason | None:
        """Return why an item is hidden at `now_ms`; None when it is visible."""
        if number >= len(self.ids) or self.ids[number] is None:
            return UnavailableReason.DELETED
        if self._state[number] == _HIDDEN:
            return UnavailableReason.DISCONTINUED
        if now_ms < self._available_from[number]:
            return UnavailableReason.NOT_YET
        if now_ms > self._available_until[number]:
            return UnavailableReason.NO_LONGER
        if hide_sold_out and self._state[number] == _SOLD_OUT:
            return UnavailableReason.SOLD_OUT
        return None

    def is_on_sale(self) -> Mask:
        """Return a mask, by item number, of items priced below their list price."""
        size = len(self.ids)
        return self.prices[:size] < self.list_prices[:size]

    @property
    def usual(self) -> "CatalogView":
        """This catalog with its usual prices, in the store's currency."""
        return self if self.priced_from is None else self.priced_from

    def with_price_list(self, name: str, currency: str) -> "CatalogView":
        """Return this catalog, as it is at this version, with the prices of one list.

        It shares everything else with this one. `currency` is the store's.

        Raises:
            PriceListNameError: when the name has an invalid form.
            UnknownPriceListError: when the list holds no item.
        """
        listed = copy.copy(self)
        list_name = parse_list_name(name)
        listed.prices, listed.list_prices = self.price_lists.prices_with_fallbacks(
            list_name, (listed.prices, listed.list_prices), currency
        )
        listed.list_currency = list_name.currency or currency
        listed.cards = PricedCards(self._cards, listed.prices, listed.list_currency)
        listed.price_list, listed.priced_from = str(list_name), self
        return listed

    def title(self, number: int) -> str:
        """Return the title on an item's card; empty if it has none."""
        card = self.cards[number]
        return "" if card is None else str(json.loads(card + b"}").get("title", ""))

    def number(self, item_id: str) -> int | None:
        """Return the number of a catalog item."""
        return self.numbers.get(item_id)

    def numbers_of(self, item_ids: Iterable[str]) -> list[int]:
        """Return the numbers of the given items that are known to the catalog."""
        known = map(self.numbers.get, item_ids)
        return [number for number in known if number is not None]

    def newest_items(self) -> npt.NDArray[np.int64]:
        """Return the numbers of the catalog's items, newest first."""
        if self._newest[0] != self.version:
            known = np.flatnonzero(self._state)
            order = np.lexsort((-known, -self.created[known]))
            self._newest = (self.version, known[order])
        return self._newest[1]

    def memory_bytes(self) -> int:
        """Return the approximate memory size of the view."""
        in_lists = 2 * self.price_lists.memory_bytes()  # once more for lists in use
        return 800 * len(self.ids) + in_lists

    def _read_all(self, reader: RawReader) -> Iterator[list[tuple[Any, ...]]]:
        after = -1
        while page := rows_after(reader, self.store_id, after):
            after = int(page[-1][0])
            yield page

    def _changes(self, reader: RawReader) -> Iterator[list[tuple[Any, ...]]]:
        rows = rows_changed_since(reader, self.store_id, self._seq)
        if rows:
            yield rows

    def _reserve(self, size: int) -> None:
        missing = size - len(self.ids)
        if missing <= 0:
            return
        if size > len(self.created):
            capacity = max(size, int(len(self.created) * 1.25), 64)
            self.prices = _enlarge_array(self.prices, capacity)
            self.list_prices = _enlarge_array(self.list_prices, capacity)
            self.created = _enlarge_array(self.created, capacity)
            self._available_from = _enlarge_array(self._available_from, capacity)
            self._available_until = _enlarge_array(self._available_until, capacity)
            self._state = _enlarge_array(self._state, capacity)
        self._cards.extend([None] * missing)
        self.categories.extend([()] * missing)
        self.attributes.reserve(size)
        self.variants.extend([0] * missing)
        self._differences.extend([0] * missing)
        self.ids.extend([None] * missing)

    def _apply_row(self, row: Sequence[Any]) -> None:
        number, item_id, present = int(row[0]), row[1], bool(row[2])
        if not present:
            self._remove(number, item_id)
            return
        fields = CardFields(item_id, row[4], row[7], row[6], row[5])
        stated = Availability(row[8]) if row[8] is not None else None
        state = effective_availability(stated, row[9])
        self._cards[number] = self._make_card(fields)
        self.ids[number] = item_id
        attributes = _attributes_from_columns(row[14:19])
        self._set_variant(number, *_variant_group_and_difference(row[4], attributes))
        self._set_categories(number, tuple(json.loads(row[10])))
        self.attributes.put(number, attributes)
        self.prices[number] = np.nan if row[7] is None else row[7]
        self.list_prices[number] = np.nan if row[19] is None else row[19]
        self.price_lists.put(number, row[20])
        self.created[number] = row[13]
        self._available_from[number] = (
            window_start_ms(row[11], self.zone) if row[11] else -_FOREVER
        )
        self._available_until[number] = (
            window_end_ms(row[12], self.zone) if row[12] else _FOREVER
        )
        self._state[number] = _state(state)
        self.numbers[item_id] = number

    def _remove(self, number: int, item_id: str) -> None:
        self._state[number] = _HIDDEN
        self.numbers.pop(item_id, None)
        self._set_variant(number, 0, 0)
        self._set_categories(number, ())
        self.attributes.put(number, ())
        self.price_lists.put(number, NO_PRICES)
        self.ids[number] = None

    def _set_variant(self, number: int, group: int, difference: int) -> None:
        if (self.variants[number], self._differences[number]) != (group, difference):
            self.variants[number], self._differences[number] = group, difference
            self._variant_changes += 1

    def _set_categories(self, number: int, categories: tuple[str, ...]) -> None:
        old = self.categories[number]
        if old == categories:
            return
        for name in old:
            self.members[name].remove(number)
        categories = tuple(dict.fromkeys(categories))
        categories = self._category_sets.setdefault(categories, categories)
        for name in categories:
            self.members.setdefault(name, array("i")).append(number)
        self.categories[number] = categories


def _variant_group_and_difference(title: str, attributes: Attributes) -> tuple[int, int]:
    """Return two numbers of this process: variants share the first, the second differs.

    Without any shared word, both are 0.
    """
    given = dict(attributes)
    words = variant_words(title, (*given.get("color", ()), *given.get("size", ())))
    brands = tuple(map(fold_text, given.get("brand", ())))
    return (hash((words.shared, brands)), hash(words.differing)) if words.shared else (0, 0)


def _attributes_from_columns(columns: Sequence[Any]) -> Attributes:
    """Return an item's attributes: brand, color, size, material and all others."""
    brand, *lists, other_attributes = columns
    attribute_names = zip(("color", "size", "material"), lists, strict=True)
    return (
        *((("brand", (brand,)),) if brand else ()),
        *(
            (name, tuple(json.loads(text)))
            for name, text in attribute_names
            if text != "[]"
        ),
        *(as_attributes(json.loads(other_attributes)) if other_attributes != "[]" else ()),
    )


def _state(availability: Availability) -> int:
    if availability is Availability.DISCONTINUED:
        return _HIDDEN
    return _BUYABLE if is_buyable(availability) else _SOLD_OUT


def _enlarge_array(values: npt.NDArray[Any], capacity: int) -> npt.NDArray[Any]:
    enlarged = np.zeros(capacity, dtype=values.dtype)
    enlarged[: len(values)] = values
    return enlarged
