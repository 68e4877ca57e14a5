"""Autocomplete options: what fields of forms offer as one types, and what they show.

A field names a kind: `product`, `category`, `attribute` or `filter`. The reply has the
options that match the typed text, or those of the values that the field already has.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import nsmallest
from types import MappingProxyType
from typing import Final

from productrecs.dashboard.page import Page, Reply, Visit
from productrecs.dashboard.product_table import find_product_ids_and_titles
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
class AutocompleteOption:
    """One option of a field: the value that the form sends, and what a person reads."""

    value: str
    label: str
    note: str = ""
    picture: str = ""
    has_picture: bool = False  # of a product; it may have none to show
    is_known: bool = True  # False: the catalog has nothing of this name


def show_autocomplete_options(visit: Visit) -> Reply:
    """Show the options of a field."""
    kind, text = visit.query["kind"], visit.query["q"]
    values = visit.query.all("of")[:_MOST_VALUES]
    known, matching = _KINDS.get(kind, _KINDS["product"])
    options = known(visit, values) if values else matching(visit, text)
    return visit.render("suggestions.html", options=options)


def _product_options(visit: Visit, item_ids: tuple[str, ...]) -> list[AutocompleteOption]:
    with visit.database.reading() as connection:
        stored = CatalogRepository(connection, visit.store.store_id).find(item_ids)
    present = {item_id: row.item for item_id, row in stored.items() if row.present}
    return [
        AutocompleteOption(
            item_id,
            present[item_id].title or item_id,
            item_id,
            visit.pictures.address_if_allowed(present[item_id].image_url),
            has_picture=True,
        )
        if item_id in present
        else AutocompleteOption(item_id, item_id, "Not in your catalog", is_known=False)
        for item_id in item_ids
    ]


def _matching_product_options(visit: Visit, text: str) -> list[AutocompleteOption]:
    found = find_product_ids_and_titles(visit, text, _MOST) if text else []
    return _product_options(visit, tuple(item_id for item_id, _ in found))


def _category_options(visit: Visit, names: tuple[str, ...]) -> list[AutocompleteOption]:
    return [_category_option(visit, name, name) for name in names]


def _category_option(
    visit: Visit, name: str, value: str, label_prefix: str = ""
) -> AutocompleteOption:
    count = int(category_mask(visit.cached_store.state.catalog, (name,)).sum())
    return AutocompleteOption(
        value,
        f"{label_prefix}{name}",
        _product_count_text(visit, count),
        is_known=count > 0,
    )


def _matching_category_options(visit: Visit, text: str) -> list[AutocompleteOption]:
    return [
        AutocompleteOption(
            category.value, category.value, _product_count_text(visit, category.count)
        )
        for _, category in _matching_values(text, _category_counts(visit))
    ]


def _attribute_options(visit: Visit, lines: tuple[str, ...]) -> list[AutocompleteOption]:
    return [_attribute_option(visit, *parse_attribute(line), line) for line in lines]


def _attribute_option(
    visit: Visit, name: str, attribute_value: str, option_value: str
) -> AutocompleteOption:
    count = len(
        set(
            visit.cached_store.state.catalog.attributes.items_with(
                name, [attribute_value]
            ).tolist()
        )
    )
    label = f"{_attribute_title(name)}: {attribute_value}"
    return AutocompleteOption(
        option_value, label, _product_count_text(visit, count), is_known=count > 0
    )


def _matching_attribute_options(visit: Visit, text: str) -> list[AutocompleteOption]:
    values = visit.cached_store.state.catalog.attributes.all_value_counts()
    return [
        AutocompleteOption(
            f"{name}: {value.value}",
            f"{_attribute_title(name)}: {value.value}",
            _product_count_text(visit, value.count),
        )
        for name, value in _matching_values(text, values)
    ]


def _filter_options(visit: Visit, texts: tuple[str, ...]) -> list[AutocompleteOption]:
    return [_filter_option(visit, text) for text in texts]


def filter_label(visit: Visit, text: str) -> str:
    """Return a filter in words, such as `Brand: Acme`."""
    return _filter_option(visit, text).label


def _filter_option(visit: Visit, text: str) -> AutocompleteOption:
    if text in _SWITCHES:
        return AutocompleteOption(text, _SWITCHES[text])
    try:
        parsed = parse_filters([text])
    except FilterError:
        return AutocompleteOption(
            text, text, "Not a filter: choose one from the list", is_known=False
        )
    value = text.partition(":")[2].strip()
    if parsed.categories:
        return _category_option(visit, value, text, "Category: ")
    if parsed.attributes:
        return _attribute_option(visit, *parsed.attributes[0], text)
    low, _, high = value.partition("..")
    is_open, high = high.startswith("<"), high.removeprefix("<")
    upto = f"{'below' if is_open else 'up to'} {high}" if high else ""
    return AutocompleteOption(
        text, " ".join(filter(None, ["Price", f"from {low}" if low else "", upto]))
    )


def _matching_filter_options(visit: Visit, text: str) -> list[AutocompleteOption]:
    folded = fold_text(text)
    options = [
        AutocompleteOption(value, label)
        for value, label in _SWITCHES.items()
        if folded and folded in fold_text(label)
    ]
    number = text.replace(",", ".")
    if number.isascii() and number.replace(".", "", 1).isdigit():
        price = number.strip(".")
        options += [
            _filter_option(visit, f"price:..{price}"),
            _filter_option(visit, f"price:{price}.."),
        ]
    options += [
        AutocompleteOption(
            f"categories:{option.value}", f"Category: {option.value}", option.note
        )
        for option in _matching_category_options(visit, text)
    ]
    for option in _matching_attribute_options(visit, text):
        name, value = parse_attribute(option.value)
        options.append(
            AutocompleteOption(f"{attribute_kind(name)}:{value}", option.label, option.note)
        )
    return options[: 2 * _MOST]


def _category_counts(visit: Visit) -> Iterator[tuple[str, ValueCount]]:
    for name, items in list(visit.cached_store.state.catalog.members.items()):
        yield "", ValueCount(name, len(items))


def _matching_values(
    text: str, values: Iterator[tuple[str, ValueCount]]
) -> list[tuple[str, ValueCount]]:
    """Return the values that hold the text: those that begin with it first."""
    folded = fold_text(text)

    def rank(name_and_value: tuple[str, ValueCount]) -> tuple[bool, int, str]:
        _, value = name_and_value
        return not fold_text(value.value).startswith(folded), -value.count, value.value

    def holds(name: str, value: ValueCount) -> bool:
        return value.count > 0 and folded in fold_text(f"{name}: {value.value}")

    return nsmallest(
        _MOST,
        (name_and_value for name_and_value in values if holds(*name_and_value)),
        key=rank,
    )


def _attribute_title(name: str) -> str:
    """Return an attribute's name as a label: those of its own fields with a capital."""
    return name.capitalize() if name in ATTRIBUTE_FIELDS else name


def _product_count_text(visit: Visit, count: int) -> str:
    if not count:
        return "Not in your catalog"
    return visit.formats.count(count, "product")


_KINDS: Final[
    dict[
        str,
        tuple[
            Callable[[Visit, tuple[str, ...]], list[AutocompleteOption]],
            Callable[[Visit, str], list[AutocompleteOption]],
        ],
    ]
] = {
    "product": (_product_options, _matching_product_options),
    "category": (_category_options, _matching_category_options),
    "attribute": (_attribute_options, _matching_attribute_options),
    "filter": (_filter_options, _matching_filter_options),
}

PAGES: Final = (Page(SUGGEST_PATH, "Suggestions", show_autocomplete_options),)
