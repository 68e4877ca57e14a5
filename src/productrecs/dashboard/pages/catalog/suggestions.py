"""Suggestions: what the fields of forms offer while somebody types, and what they show.

A field names a kind: `product`, `category`, `attribute` or `filter`. The reply has the
options that match the typed text, or those of the values that the field already has.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import nsmallest
from types import MappingProxyType
from typing import Final

from productrecs.dashboard.page import Page, Reply, Visit
from productrecs.dashboard.product_table import matching_products
from productrecs.records.catalog.attribute_index import ValueCount
from productrecs.records.catalog.item import ATTRIBUTE_FIELDS
from productrecs.records.catalog.item_filters import (
    FilterError,
    FilterKind,
    attribute_kind,
    category_mask,
    parse_filters,
)
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.catalog.title_words import fold_text
from productrecs.records.merchandising.rule import parse_attribute

SUGGEST_PATH: Final = "/dashboard/suggest"
_MOST: Final = 8
_MOST_VALUES: Final = 100
_SWITCHES: Final = MappingProxyType(
    {
        f"{FilterKind.ON_SALE}:true": "On sale",
        f"{FilterKind.ON_SALE}:false": "Not on sale",
        f"{FilterKind.IN_STOCK}:true": "In stock",
        f"{FilterKind.IN_STOCK}:false": "Out of stock",
    }
)


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a field: the value that the form sends, and what a person reads."""

    value: str
    label: str
    note: str = ""
    picture: str = ""
    has_picture: bool = False  # of a product; it may have none to show
    is_known: bool = True  # False: the catalog has nothing of this name


def show_options(visit: Visit) -> Reply:
    """Show the options of a field."""
    kind, text = visit.query["kind"], visit.query["q"]
    values = visit.query.all("of")[:_MOST_VALUES]
    known, matching = _KINDS.get(kind, _KINDS["product"])
    found = known(visit, values) if values else matching(visit, text)
    return visit.render("suggestions.html", options=found)


def _products(visit: Visit, item_ids: tuple[str, ...]) -> list[Option]:
    with visit.database.reading() as connection:
        stored = CatalogRepository(connection, visit.store.store_id).find(item_ids)
    present = {one: row.item for one, row in stored.items() if row.present}
    return [
        Option(
            one,
            present[one].title or one,
            one,
            visit.pictures.address(present[one].image_url),
            has_picture=True,
        )
        if one in present
        else _unknown(one)
        for one in item_ids
    ]


def _matching_products(visit: Visit, text: str) -> list[Option]:
    ids = [one for one, _ in matching_products(visit, text, _MOST)] if text else []
    return _products(visit, tuple(ids))


def _categories(visit: Visit, names: tuple[str, ...]) -> list[Option]:
    return [_category(visit, name, name) for name in names]


def _category(visit: Visit, name: str, value: str, before: str = "") -> Option:
    count = int(category_mask(visit.opened.state.catalog, (name,)).sum())
    return Option(value, f"{before}{name}", _count(visit, count), is_known=count > 0)


def _matching_categories(visit: Visit, text: str) -> list[Option]:
    return [
        Option(one.value, one.value, _count(visit, one.count))
        for _, one in _matches(text, _all_categories(visit))
    ]


def _attributes(visit: Visit, lines: tuple[str, ...]) -> list[Option]:
    return [_attribute(visit, *parse_attribute(line), line) for line in lines]


def _attribute(visit: Visit, name: str, text: str, value: str) -> Option:
    count = len(set(visit.opened.state.catalog.attributes.items(name, [text]).tolist()))
    label = f"{_title(name)}: {text}"
    return Option(value, label, _count(visit, count), is_known=count > 0)


def _matching_attributes(visit: Visit, text: str) -> list[Option]:
    values = visit.opened.state.catalog.attributes.values()
    return [
        Option(
            f"{name}: {one.value}", f"{_title(name)}: {one.value}", _count(visit, one.count)
        )
        for name, one in _matches(text, values)
    ]


def _filters(visit: Visit, texts: tuple[str, ...]) -> list[Option]:
    return [_filter(visit, text) for text in texts]


def filter_label(visit: Visit, text: str) -> str:
    """Return a filter in words, such as `Brand: Acme`."""
    return _filter(visit, text).label


def _filter(visit: Visit, text: str) -> Option:
    if text in _SWITCHES:
        return Option(text, _SWITCHES[text])
    try:
        parsed = parse_filters([text])
    except FilterError:
        return Option(text, text, "Not a filter: choose one from the list", is_known=False)
    value = text.partition(":")[2].strip()
    if parsed.categories:
        return _category(visit, value, text, "Category: ")
    if parsed.attributes:
        return _attribute(visit, *parsed.attributes[0], text)
    low, _, high = value.partition("..")
    is_open, high = high.startswith("<"), high.removeprefix("<")
    upto = f"{'below' if is_open else 'up to'} {high}" if high else ""
    return Option(
        text, " ".join(filter(None, ["Price", f"from {low}" if low else "", upto]))
    )


def _matching_filters(visit: Visit, text: str) -> list[Option]:
    folded = fold_text(text)
    found = [
        Option(value, label)
        for value, label in _SWITCHES.items()
        if folded and folded in fold_text(label)
    ]
    number = text.replace(",", ".")
    if number.isascii() and number.replace(".", "", 1).isdigit():
        price = number.strip(".")
        found += [_filter(visit, f"price:..{price}"), _filter(visit, f"price:{price}..")]
    found += [
        Option(f"categories:{one.value}", f"Category: {one.value}", one.note)
        for one in _matching_categories(visit, text)
    ]
    for one in _matching_attributes(visit, text):
        name, value = parse_attribute(one.value)
        found.append(Option(f"{attribute_kind(name)}:{value}", one.label, one.note))
    return found[: 2 * _MOST]


def _all_categories(visit: Visit) -> Iterator[tuple[str, ValueCount]]:
    for name, items in list(visit.opened.state.catalog.members.items()):
        yield "", ValueCount(name, len(items))


def _matches(
    text: str, values: Iterator[tuple[str, ValueCount]]
) -> list[tuple[str, ValueCount]]:
    """Return the values that hold the text: those that begin with it first."""
    folded = fold_text(text)

    def rank(found: tuple[str, ValueCount]) -> tuple[bool, int, str]:
        _, one = found
        return not fold_text(one.value).startswith(folded), -one.count, one.value

    def holds(name: str, one: ValueCount) -> bool:
        return one.count > 0 and folded in fold_text(f"{name}: {one.value}")

    return nsmallest(_MOST, (found for found in values if holds(*found)), key=rank)


def _title(name: str) -> str:
    """Return an attribute's name as a label: those of its own fields with a capital."""
    return name.capitalize() if name in ATTRIBUTE_FIELDS else name


def _count(visit: Visit, count: int) -> str:
    if not count:
        return "Not in your catalog"
    return visit.formats.count(count, "product")


def _unknown(value: str) -> Option:
    return Option(value, value, "Not in your catalog", is_known=False)


_KINDS: Final[
    dict[
        str,
        tuple[
            Callable[[Visit, tuple[str, ...]], list[Option]],
            Callable[[Visit, str], list[Option]],
        ],
    ]
] = {
    "product": (_products, _matching_products),
    "category": (_categories, _matching_categories),
    "attribute": (_attributes, _matching_attributes),
    "filter": (_filters, _matching_filters),
}

PAGES: Final = (Page(SUGGEST_PATH, "Suggestions", show_options),)
