"""Attribute index: the attribute values of a catalog, and the items with each value."""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.text.size_phrases import sizes_with_systems
from productrecs.engines.text.tokenizer import fold_text as fold_words
from productrecs.engines.text.tokenizer import query_words
from productrecs.records.catalog.item import ATTRIBUTE_FIELDS, Attributes
from productrecs.records.catalog.title_words import fold_text

MAX_COUNTED: Final = 100
"""The most values per attribute that are counted."""

Mask = npt.NDArray[np.bool_]
Items = npt.NDArray[np.int64]
_WORD: Final = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value, as first written, and its number of items."""

    value: str
    count: int


class AttributeIndex:
    """Each item's attribute values by item number; names and values ignore case.

    One thread at a time changes it; readers take no lock.
    """

    def __init__(self) -> None:
        """Start without items."""
        self._items: list[tuple[int, ...]] = []  # by item number: ids of its values
        self._members: list[array[int]] = []  # by value id: item numbers
        self._names: list[str] = []  # by value id: its attribute, folded
        self._values: list[str] = []  # by value id: as first written
        self._ids: dict[tuple[str, str], int] = {}  # folded
        # By folded name: the name as first written.
        self._titles: dict[str, str] = dict(
            zip(ATTRIBUTE_FIELDS, ATTRIBUTE_FIELDS, strict=True)
        )
        # Values of `ATTRIBUTE_FIELDS` by their folded text; of all but brand by each word.
        self._by_text: dict[str, list[int]] = {}
        self._by_word: dict[tuple[str, str], list[int]] = {}
        self._first_words: set[str] = set()
        self._sets: dict[tuple[int, ...], tuple[int, ...]] = {}  # equal sets are one object

    def reserve(self, size: int) -> None:
        """Reserve space for item numbers below `size`."""
        self._items.extend([()] * (size - len(self._items)))

    def put(self, number: int, attributes: Attributes) -> None:
        """Replace all of an item's attributes."""
        ids = tuple(dict.fromkeys(self._get_or_create_value_ids(attributes)))
        old = self._items[number]
        if old == ids:
            return
        for removed_id in set(old).difference(ids):
            self._members[removed_id].remove(number)
        for new in set(ids).difference(old):
            self._members[new].append(number)
        self._items[number] = self._sets.setdefault(ids, ids)

    def mask(self, name: str, values: Iterable[str], size: int) -> Mask:
        """Return a mask of the item numbers below `size` that have one of the values."""
        mask = np.zeros(size, dtype=np.bool_)
        members = self.items_with(name, values)
        mask[members[members < size]] = True
        return mask

    def items_with(self, name: str, values: Iterable[str]) -> Items:
        """Return the numbers of the items with one of the values; may repeat."""
        folded = fold_text(name)
        found = [np.zeros(0, np.int64)]
        for value in values:
            value_id = self._ids.get((folded, fold_text(value)))
            if value_id is not None:
                found.append(np.array(self._members[value_id], np.int64))
        return np.concatenate(found)

    def value_ids(self, number: int, name: str) -> tuple[int, ...]:
        """Return the ids of an item's values of one attribute, to compare items by."""
        folded, names = fold_text(name), self._names
        return tuple(one for one in self._items[number] if names[one] == folded)

    def ids_of(self, number: int) -> tuple[int, ...]:
        """Return the ids of all values of an item."""
        return self._items[number] if number < len(self._items) else ()

    def name_of(self, one: int) -> str:
        """Return the folded name of the attribute of a value's id."""
        return self._names[one]

    def title_of(self, one: int) -> str:
        """Return the name of the attribute of a value's id, as first written."""
        return self._titles[self._names[one]]

    @property
    def has_fields(self) -> bool:
        """Whether any item had a brand, colour, size or material."""
        return bool(self._by_text)

    def may_begin_with(self, words: Iterable[str]) -> bool:
        """Return whether a brand, colour, size or material begins with one of the words."""
        return not self._first_words.isdisjoint(words)

    def value_ids_with_text(self, text: str) -> Sequence[int]:
        """Return the ids of brands, colours, sizes and materials that read `text`.

        `text` is folded as by the tokenizer.
        """
        return self._by_text.get(text, ())

    def value_ids_with_word(self, name: str, word: str) -> Sequence[int]:
        """Return the ids of colours, sizes or materials that have a folded word."""
        return self._by_word.get((name, word), ())

    def value(self, value_id: int) -> tuple[str, ValueCount]:
        """Return the attribute, the spelling and the number of items of a value's id."""
        count = ValueCount(self._values[value_id], len(self._members[value_id]))
        return self._names[value_id], count

    def mask_of_value_ids(self, ids: Iterable[int], size: int) -> Mask:
        """Return a mask of the item numbers below `size` that have one of the values."""
        mask = np.zeros(size, dtype=np.bool_)
        for value_id in ids:
            members = np.array(self._members[value_id], np.int64)
            mask[members[members < size]] = True
        return mask

    def attributes_of(self, number: int) -> dict[str, list[str]]:
        """Return an item's attributes: names and values as first written."""
        found: dict[str, list[str]] = {}
        for one in self._items[number] if number < len(self._items) else ():
            found.setdefault(self._titles[self._names[one]], []).append(self._values[one])
        return found

    def all_value_counts(self) -> Iterator[tuple[str, ValueCount]]:
        """Yield each value with its attribute's name, and its number of items."""
        for name, value, members in zip(
            self._names, self._values, self._members, strict=False
        ):
            yield self._titles[name], ValueCount(value, len(members))

    def top_value_counts(self, items: Items) -> dict[str, list[ValueCount]]:
        """Return how many of `items` have each value, by attribute as first written.

        Attributes are sorted by their number of items, and an attribute's values by
        frequency, with at most `MAX_COUNTED` values.
        """
        sets = Counter(
            self._items[item] for item in items.tolist() if item < len(self._items)
        )
        values, item_counts = Counter[int](), Counter[str]()
        for ids, count in sets.items():
            for name in {self._names[value_id] for value_id in ids}:
                item_counts[name] += count
            for value_id in ids:
                values[value_id] += count
        counts_by_name: dict[str, list[ValueCount]] = {
            self._titles[name]: []
            for name, _ in sorted(item_counts.items(), key=lambda pair: (-pair[1], pair[0]))
        }
        ranked = sorted(values.items(), key=lambda pair: (-pair[1], self._values[pair[0]]))
        for value_id, count in ranked:
            listed = counts_by_name[self._titles[self._names[value_id]]]
            if len(listed) < MAX_COUNTED:
                listed.append(ValueCount(self._values[value_id], count))
        return counts_by_name

    def _get_or_create_value_ids(self, attributes: Attributes) -> Iterator[int]:
        for name, values in attributes:
            folded = fold_text(name)
            self._titles.setdefault(folded, name)
            for value in values:
                key = (folded, fold_text(value))
                value_id = self._ids.get(key)
                if value_id is None:
                    value_id = len(self._values)
                    self._names.append(folded)
                    self._values.append(value)
                    self._members.append(array("i"))
                    self._index_field_words(value_id, folded, value)
                    self._ids[key] = (
                        value_id  # last: readers must find only complete entries
                    )
                yield value_id

    def _index_field_words(self, value_id: int, name: str, value: str) -> None:
        if name not in ATTRIBUTE_FIELDS:
            return
        text = " ".join(fold_words(value).split())
        self._by_text.setdefault(text, []).append(value_id)
        self._first_words.update(query_words(value)[:1])
        if name == "brand":
            return
        for word in (
            sizes_with_systems(value) if name == "size" else set(_WORD.findall(text))
        ):
            self._by_word.setdefault((name, word), []).append(value_id)
