"""Query filters: words of a query that name a price, size, brand, colour or material.

"red trainers under 80" is "trainers", red, up to 80. A word becomes a filter only if the
catalog has that value.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.text.clothing_sizes import (
    CHILD_SYSTEMS,
    COUNTRY_SYSTEMS,
    HEIGHT,
    HIGH_SYSTEMS,
    JEANS_SYSTEMS,
    LENGTH,
    NUMBER_SYSTEMS,
    WAIST,
    ClothingSize,
    clothing,
    is_eu_number,
    jeans,
    possible_sizes,
    usual_size_system,
)
from productrecs.engines.text.clothing_sizes import equivalent_sizes as sizes_of_clothes
from productrecs.engines.text.colour_and_material_words import (
    ColourOrMaterialWords,
    attribute_meanings_by_word,
    first_attribute_words,
)
from productrecs.engines.text.highlight import TextSpan
from productrecs.engines.text.price_phrases import may_name_price, price_phrases_in
from productrecs.engines.text.sale_phrases import may_ask_for_sale, sale_phrases_in
from productrecs.engines.text.shoe_sizes import equivalent_sizes as sizes_of_shoes
from productrecs.engines.text.shoe_sizes import shoes
from productrecs.engines.text.size_phrases import (
    SizePhrase,
    may_name_size,
    size_phrases_in,
    sizes_with_systems,
)
from productrecs.engines.text.tokenizer import fold_text, query_words
from productrecs.records.catalog.attribute_index import Items
from productrecs.records.catalog.catalog_view import CatalogView, Mask
from productrecs.records.catalog.item_filters import PriceRange, price_mask
from productrecs.training.search.served_index import ServedIndex


class FilterField(StrEnum):
    """What a query's words may filter by, the least ambiguous first."""

    PRICE = "price"
    ON_SALE = "on_sale"
    SIZE = "size"
    BRAND = "brand"
    COLOR = "color"
    MATERIAL = "material"


ALL_FIELDS: Final = frozenset(FilterField)
FIELDS_OF_PRICES: Final = frozenset({FilterField.PRICE, FilterField.ON_SALE})
"""Those whose words are in no product's text."""
_ORDER: Final = {field: place for place, field in enumerate(FilterField)}
_WORD_FIELDS: Final = frozenset(
    {FilterField.BRAND, FilterField.COLOR, FilterField.MATERIAL}
)
_MAX_WORDS: Final = 4  # maximum number of words of a value
_SAMPLE: Final = 200  # titles that are looked at to see what a word means


@dataclass(frozen=True, slots=True)
class QueryWordFilter:
    """A filter that a query's words name: a value, or prices up to `high`, from `low`."""

    field: FilterField
    text: str  # the words, as typed
    value: str | None = None
    low: float | None = None
    high: float | None = None


class QueryWithAttributesAsWords(NamedTuple):
    """A query whose brands, colours and materials are words, and the items left."""

    text: str
    visible: Mask


class QueryReading(NamedTuple):
    """One way to read a query: its filters, the words that remain, and the items left."""

    text: str
    filters: tuple[QueryWordFilter, ...]
    visible: Mask
    as_words: (
        QueryWithAttributesAsWords | None
    )  # with its brands, colours and materials, if it has any
    needs_every_word: bool  # whether it needs a product with every word that remains


class _FoundFilter(NamedTuple):
    """A filter, where the query names it, and the items that it leaves."""

    filter: QueryWordFilter
    span: TextSpan
    mask: Mask
    is_clear: bool  # whether the words can hardly mean anything else

    def named(self, text: str, span: TextSpan) -> "_FoundFilter":
        """Return this filter as a query names it, by `text` at `span`."""
        return self._replace(filter=replace(self.filter, text=text), span=span)


@dataclass(frozen=True, slots=True)
class QueryFilterContext:
    """What filters are read with: the catalog, its index and the visible items."""

    catalog: CatalogView
    index: ServedIndex
    visible: Mask
    currency: str
    fields: Collection[FilterField] = ALL_FIELDS

    @property
    def usual_size_system(self) -> str:
        """The system of clothing sizes that name none."""
        return usual_size_system(self.currency, self.index.language.code)


def possible_readings(
    context: QueryFilterContext, query_text: str, words: Sequence[str]
) -> list[QueryReading]:
    """Return the ways to read a query, the one with most filters first; often only one.

    The last has no filters, except if the query is one value alone: then its words come
    first, and the filter is for a catalog whose texts do not have them. `words` are those
    of `query_text`.

    Raises:
        BrokenIndexError: when the index is damaged.
    """
    plain = QueryReading(query_text, (), context.visible, None, needs_every_word=False)
    filters = _filters_with_results(context, query_text, words)
    if not filters or context.index.has_code(query_text):
        return [plain]
    filters.sort(
        key=lambda found_filter: (
            not found_filter.is_clear,
            _ORDER[found_filter.filter.field],
        )
    )
    readings = [
        _reading_with_filters(context, query_text, filters[:count])
        for count in range(len(filters), 0, -1)
    ]
    if len(filters) == 1 and not filters[0].is_clear and not readings[0].text:
        return [plain._replace(needs_every_word=True), readings[0]]
    return [*(reading for reading in readings if reading.visible.any()), plain]


def _reading_with_filters(
    context: QueryFilterContext, query_text: str, filters: Sequence[_FoundFilter]
) -> QueryReading:
    prices_and_sizes = [
        found_filter
        for found_filter in filters
        if found_filter.filter.field not in _WORD_FIELDS
    ]
    visible = _apply_filter_masks(context.visible, prices_and_sizes)
    as_words = QueryWithAttributesAsWords(
        _remove_filter_words(query_text, prices_and_sizes), visible
    )
    remaining = _remove_filter_words(query_text, filters)
    if context.index.language.are_stop_words(query_words(remaining)):
        remaining = ""
    return QueryReading(
        remaining,
        tuple(
            found_filter.filter
            for found_filter in sorted(filters, key=lambda found_filter: found_filter.span)
        ),
        _apply_filter_masks(context.visible, filters),
        as_words if len(prices_and_sizes) < len(filters) else None,
        not all(found_filter.is_clear for found_filter in filters),
    )


def _apply_filter_masks(visible: Mask, filters: Sequence[_FoundFilter]) -> Mask:
    for found_filter in filters:
        visible = visible & found_filter.mask
    return visible


def _remove_filter_words(query_text: str, filters: Sequence[_FoundFilter]) -> str:
    """Return a query without some filters; its last word is complete if that goes."""
    end = len(query_text)
    parts = []
    for span in sorted((found_filter.span for found_filter in filters), reverse=True):
        parts.append(query_text[span.end : end])
        end = span.start
    is_typing = not filters or parts[0].strip()
    parts.append(query_text[:end])
    remaining = " ".join(" ".join(reversed(parts)).split()).strip(",;& ")
    return remaining if is_typing and not query_text.endswith(" ") else f"{remaining} "


def _filters_with_results(
    context: QueryFilterContext, query_text: str, words: Sequence[str]
) -> list[_FoundFilter]:
    """Return the filters of a query that leave results, each with its place."""
    filters: list[_FoundFilter] = []
    if FilterField.PRICE in context.fields and may_name_price(query_text, words):
        filters += _price_filters(context, query_text)
    if FilterField.ON_SALE in context.fields and may_ask_for_sale(words):
        filters += _sale_filters(context, query_text, filters)
    attributes = context.catalog.attributes
    if attributes.has_fields:
        if FilterField.SIZE in context.fields and may_name_size(words):
            filters += _size_filters(context, query_text, filters)
        known = first_attribute_words(context.index.language.code)
        if not known.isdisjoint(words) or attributes.may_begin_with(words):
            filters += _brand_color_material_filters(context, query_text, filters)
    # Two colours may be alternatives or both meant: they stay words.
    fields = [found_filter.filter.field for found_filter in filters]
    return [
        found_filter
        for found_filter in filters
        if found_filter.filter.field in FIELDS_OF_PRICES
        or fields.count(found_filter.filter.field) == 1
    ]


def _price_filters(context: QueryFilterContext, query_text: str) -> Iterator[_FoundFilter]:
    for phrase in price_phrases_in(
        query_text, context.currency, context.index.language.code
    ):
        low = -np.inf if phrase.low is None else phrase.low
        high = np.inf if phrase.high is None else phrase.high
        mask = _fit_mask_length(
            price_mask(context.catalog, (PriceRange(low, high),)), context
        )
        if (mask & context.visible).any():
            typed = query_text[phrase.span.start : phrase.span.end]
            price = QueryWordFilter(
                FilterField.PRICE, typed, low=phrase.low, high=phrase.high
            )
            yield _FoundFilter(price, phrase.span, mask, is_clear=True)


def _sale_filters(
    context: QueryFilterContext, query_text: str, earlier_filters: Sequence[_FoundFilter]
) -> list[_FoundFilter]:
    """Return the filter of words such as "on sale"; none where titles have the words."""
    taken = [found_filter.span for found_filter in earlier_filters]
    for phrase, span in sale_phrases_in(query_text, context.index.language.code):
        if any(span.overlaps(other) for other in taken):
            continue
        if len(context.index.items_with_phrase_in_title(frozenset({phrase}))):
            continue
        mask = _fit_mask_length(context.catalog.is_on_sale(), context)
        if not (mask & context.visible).any():
            return []
        typed = query_text[span.start : span.end]
        on_sale = QueryWordFilter(FilterField.ON_SALE, typed, "true")
        return [_FoundFilter(on_sale, span, mask, is_clear=True)]
    return []


def _fit_mask_length(mask: Mask, context: QueryFilterContext) -> Mask:
    """Return a mask of as many items as the visible ones."""
    size = len(context.visible)
    return mask[:size] if len(mask) >= size else np.pad(mask, (0, size - len(mask)))


def _size_filters(
    context: QueryFilterContext, query_text: str, earlier_filters: Sequence[_FoundFilter]
) -> list[_FoundFilter]:
    """Return the sizes of a query, except in the words of `earlier_filters`."""
    taken = [found_filter.span for found_filter in earlier_filters]
    words = query_words(query_text)
    filters: list[_FoundFilter] = []
    last_system: str | None = None  # of the last filter
    for size_phrase in size_phrases_in(query_text):
        span = size_phrase.span
        if any(span.overlaps(other) for other in taken):
            continue
        if not _asks_for_sized_products(size_phrase, words):
            continue
        ids, same = _matching_size_ids_and_equal_sizes(context, size_phrase, words)
        titles = frozenset[str]().union(*map(_size_texts_in_titles, (size_phrase, *same)))
        named = _unplaced_attribute_filter(
            context, FilterField.SIZE, ids, titles, is_clear=size_phrase.is_marked
        )
        if named is None:
            continue
        if (last_system, size_phrase.system) == (WAIST, LENGTH):  # "W32 L34" is one size
            waist = filters.pop()
            span = TextSpan(waist.span.start, span.end)
            named = named._replace(mask=named.mask & waist.mask)
        filters.append(named.named(query_text[span.start : span.end], span))
        last_system = size_phrase.system
    return filters


def _asks_for_sized_products(size: SizePhrase, words: Sequence[str]) -> bool:
    """Return whether a query names the products that have such a size."""
    if size.system in JEANS_SYSTEMS:
        return jeans().is_named(words)
    if size.needs_clothes:
        return clothing().is_named(words)
    return size.system not in COUNTRY_SYSTEMS or any(
        group.is_named(words) for group in (clothing(), shoes())
    )


def _matching_size_ids_and_equal_sizes(
    context: QueryFilterContext, size: SizePhrase, words: Sequence[str]
) -> tuple[set[int], list[SizePhrase]]:
    """Return the ids of the catalog's values of a size, and the sizes that it equals.

    A size is converted if the catalog has none in its system. A number alone, such as
    "trainers 42", is not.
    """
    ids = _size_value_ids(context.catalog, size)
    if not size.is_marked and size.value.isdecimal():
        return ids, []
    same: list[SizePhrase] = []
    if shoes().is_named(words):
        if size.system in COUNTRY_SYSTEMS and not _has_value_in_size_system(
            context, ids, size
        ):
            size = replace(size, system="eu")
            ids = _size_value_ids(context.catalog, size)
        if size.system not in CHILD_SYSTEMS and not _has_value_in_size_system(
            context, ids, size
        ):
            same = _marked_size_phrases(
                sizes_of_shoes(size.value, size.system or "eu", words), size
            )
    elif clothing().is_named(words):
        named = ClothingSize(size.value, size.system)
        meant = possible_sizes(named, words, context.usual_size_system)
        systems = {possible.system for possible in meant}
        ids = {
            value_id
            for value_id in ids
            if _may_be_in_systems(context, value_id, size, systems)
        }
        if not _has_value_in_size_system(context, ids, size):
            same = _marked_size_phrases(sizes_of_clothes(meant, words), size)
    elif jeans().is_named(words) and not ids and size.system in {None, "eu", WAIST}:
        named = ClothingSize(size.value, size.system or "eu")
        same = _marked_size_phrases(sizes_of_clothes([named], words), size)
    return ids.union(*(_converted_size_ids(context, equal) for equal in same)), same


def _marked_size_phrases(
    sizes: Iterable[tuple[str, str | None]], typed: SizePhrase
) -> list[SizePhrase]:
    return [SizePhrase(*size, is_marked=True, span=typed.span) for size in sizes]


def _size_value_ids(catalog: CatalogView, size: SizePhrase) -> set[int]:
    """Return the ids of the catalog's values of a size, in its system if they name one."""
    ids = catalog.attributes.value_ids_with_word(FilterField.SIZE, size.value)
    if size.system is None:
        return set(ids)
    systems = {
        value_id: _named_size_system(catalog, value_id, size.value) for value_id in ids
    }
    plain = {value_id for value_id in ids if systems[value_id] is None}
    same = {value_id for value_id in ids if systems[value_id] == size.system}
    return same | plain if size.system == HEIGHT else same or plain


def _may_be_in_systems(
    context: QueryFilterContext, value_id: int, size: SizePhrase, systems: Set[str | None]
) -> bool:
    """Return whether a value of clothes may be a size in one of some systems, or in none.

    A plain 38 is one of the store's usual system, or of EU where that counts lower.
    """
    system = _named_size_system(context.catalog, value_id, size.value)
    if system is not None or not systems:
        return not systems or system in systems
    usual = context.usual_size_system
    if not is_eu_number(size.value) or usual not in HIGH_SYSTEMS:
        return True
    return bool(systems & {"eu", usual}) or not systems <= NUMBER_SYSTEMS


def _named_size_system(catalog: CatalogView, value_id: int, value: str) -> str | None:
    """Return the system in which a value of the catalog names a size, if it says so."""
    return sizes_with_systems(catalog.attributes.value(value_id)[1].value)[value]


def _has_value_in_size_system(
    context: QueryFilterContext, ids: Collection[int], size: SizePhrase
) -> bool:
    """Return whether values of the catalog are a size in the system that is asked for."""
    if size.system is None:
        return bool(ids)
    systems = {
        _named_size_system(context.catalog, value_id, size.value) for value_id in ids
    }
    if None in systems and context.usual_size_system in COUNTRY_SYSTEMS:
        systems |= {"eu", context.usual_size_system}
    return size.system in systems or (size.system == HEIGHT and bool(ids))


def _converted_size_ids(context: QueryFilterContext, size: SizePhrase) -> set[int]:
    """Return the ids of the values of a size, those that name no system if it is usual.

    A plain 42 is a height, or a size of the store's usual system, or of EU where that
    counts lower; a plain 8 is one of UK where prices are in GBP.
    """
    usual = context.usual_size_system
    plain = {HEIGHT, WAIST, None, usual, "eu" if usual not in COUNTRY_SYSTEMS else usual}
    allowed = {size.system, None} if size.system in plain else {size.system}
    ids = context.catalog.attributes.value_ids_with_word(FilterField.SIZE, size.value)
    return {
        value_id
        for value_id in ids
        if _named_size_system(context.catalog, value_id, size.value) in allowed
    }


def _size_texts_in_titles(size: SizePhrase) -> frozenset[str]:
    """Return the texts by which a title names a size."""
    value = size.value
    if size.system in CHILD_SYSTEMS:
        return frozenset(
            {f"{value} {size.system}", f"{value}{size.system}", f"age {value}"}
        )
    if size.system is not None:
        return frozenset({f"{size.system} {value}", f"{value} {size.system}"})
    if len(value) == 1 and value.isdigit():
        return frozenset({f"size {value}"})
    counted = f"{len(value) - 1}{value[-2:]}" if value.startswith("xx") else value
    return frozenset({value, counted})


def _unplaced_attribute_filter(
    context: QueryFilterContext,
    field: FilterField,
    ids: Collection[int],
    titles: frozenset[str],
    *,
    is_clear: bool,
) -> _FoundFilter | None:
    """Return a filter on values of an attribute; None if it is none of the catalog's.

    Items pass that have one of the values, or one of `titles` in their title.
    """
    size, attributes = len(context.visible), context.catalog.attributes
    mask = attributes.mask_of_value_ids(ids, size)
    if not (mask & context.visible).any():
        return None
    titled = context.index.items_with_phrase_in_title(titles)
    if not is_clear and not _do_titles_mean_values(
        context.catalog, field, frozenset(ids), titled
    ):
        return None
    mask[titled[titled < size]] = True
    counts = [attributes.value(value_id)[1] for value_id in ids]
    value = max(counts, key=lambda value_id: (value_id.count, -len(value_id.value))).value
    return _FoundFilter(QueryWordFilter(field, "", value), TextSpan(0, 0), mask, is_clear)


def _do_titles_mean_values(
    catalog: CatalogView, field: FilterField, ids: frozenset[int], titled: Items
) -> bool:
    """Return whether a word in titles means these values rather than something else.

    A brand "Home" is not what a "home office" names: more titles with the word are of
    other brands than there are products of that one. Products without any value of the
    attribute do not count.
    """
    step = max(1, len(titled) // _SAMPLE)
    values = [catalog.attributes.value_ids(item, field) for item in titled[::step].tolist()]
    others = step * sum(bool(own) and ids.isdisjoint(own) for own in values)
    return others <= sum(catalog.attributes.value(value_id)[1].count for value_id in ids)


# Words before a value that belong to it: "in red", "aus Leder", "by Nike".
_PREPOSITIONS: Final = "in aus von en de of from by van z ze w av af fra fran da di em i"
_LINKS: Final = frozenset(_PREPOSITIONS.split())
_PIECE: Final = re.compile(r"[^\s.,;:!?()\[\]\"]+(?:[.,:][^\s.,;:!?()\[\]\"]+)*")


class _QueryWord(NamedTuple):
    """A piece of a query between blanks: its folded text, and its place."""

    text: str
    span: TextSpan


def _brand_color_material_filters(
    context: QueryFilterContext, query_text: str, earlier_filters: Sequence[_FoundFilter]
) -> Iterator[_FoundFilter]:
    """Yield the brands, colours and materials of a query; long names before short ones.

    Words of `earlier_filters` are skipped.
    """
    taken = [found_filter.span for found_filter in earlier_filters]
    pieces = [
        _QueryWord(fold_text(match.group()).strip(), TextSpan(*match.span()))
        for match in _PIECE.finditer(query_text)
    ]
    meanings = attribute_meanings_by_word(context.index.language.code)
    for size in range(min(_MAX_WORDS, len(pieces)), 0, -1):
        for first in range(len(pieces) - size + 1):
            phrase = " ".join(piece.text for piece in pieces[first : first + size])
            ids = context.catalog.attributes.value_ids_with_text(phrase)
            if not ids and phrase not in meanings:
                continue
            span = TextSpan(pieces[first].span.start, pieces[first + size - 1].span.end)
            is_stop_word = context.index.language.are_stop_words([phrase])
            if is_stop_word or any(span.overlaps(other) for other in taken):
                continue
            named = _largest_filter_of_phrase(
                context, phrase, ids, meanings.get(phrase, ())
            )
            if named is None:
                continue
            before = [piece for piece in pieces[:first] if piece.text in _LINKS][-1:]
            if before and before[0] == pieces[first - 1]:
                span = TextSpan(before[0].span.start, span.end)
            taken.append(span)
            yield named.named(query_text[span.start : span.end], span)


def _largest_filter_of_phrase(
    context: QueryFilterContext,
    phrase: str,
    value_ids: Sequence[int],
    meanings: Sequence[ColourOrMaterialWords],
) -> _FoundFilter | None:
    """Return the filter of one word or name, by the attribute with most items."""
    attributes = context.catalog.attributes
    by_field: dict[str, set[int]] = {}
    titles: dict[str, frozenset[str]] = {}
    for value_id in value_ids:
        by_field.setdefault(attributes.value(value_id)[0], set()).add(value_id)
    for name, words, all_words in meanings:
        if phrase not in words and len(
            context.index.items_with_phrase_in_title(frozenset({phrase}))
        ):
            continue  # a word of a third language that titles of this store have
        titles[name] = words
        for word in all_words:
            same = (
                *attributes.value_ids_with_text(word),
                *attributes.value_ids_with_word(name, word),
            )
            of_name = {
                value_id for value_id in same if attributes.value(value_id)[0] == name
            }
            by_field.setdefault(name, set()).update(of_name)
    best: _FoundFilter | None = None
    for name in by_field.keys() & _WORD_FIELDS & set(context.fields):
        candidate = _unplaced_attribute_filter(
            context,
            FilterField(name),
            by_field[name],
            titles.get(name, frozenset()) | {phrase},
            is_clear=False,
        )
        if candidate is not None and (
            best is None or candidate.mask.sum() > best.mask.sum()
        ):
            best = candidate
    return best
