"""Product file reader: yields the products of a platform's export or a feed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final, TypeAlias

from productrecs.core.csv_reader import (
    BrokenRow,
    CsvFormat,
    CsvLayout,
    MissingColumnsError,
    column_names,
    inspect_csv,
    read_head,
    read_rows,
)
from productrecs.features.imports.feeds import (
    google_merchant_products,
    magento_products,
    shopify_products,
    woocommerce_products,
)
from productrecs.features.imports.feeds.feed_read_state import FeedReadState
from productrecs.features.imports.feeds.format_detection import (
    FORMAT_TITLES,
    ItemFileFormat,
    is_xml,
)
from productrecs.features.imports.feeds.product_grouping import (
    FeedOffer,
    FeedProduct,
    RejectedRow,
    merge_offers_by_product,
)
from productrecs.features.imports.feeds.value_parsing import InvalidOfferError
from productrecs.features.imports.feeds.xml_feed import MAX_ITEM_BYTES, read_xml_feed_items

Cells: TypeAlias = Mapping[str, str]
OnBytes: TypeAlias = Callable[[int], None]
_Row: TypeAlias = tuple[int, Cells | RejectedRow]


@dataclass(frozen=True, slots=True)
class PlatformFileFormat:
    """How the files of one platform are read.

    `provided_fields` maps item fields to the columns that define them: if such a column is
    empty, the product does not have the field. `collect` reads all rows first, more than
    once if necessary. `title` is the column with the product's name.
    """

    layout: CsvLayout
    offer: Callable[[int, Cells, FeedReadState], FeedOffer]
    provided_fields: Mapping[str, tuple[str, ...]]
    title: str
    collect: Callable[[Callable[[], Iterable[Cells]], FeedReadState], None] | None = None


PLATFORMS: Final[Mapping[ItemFileFormat, PlatformFileFormat]] = MappingProxyType(
    {
        ItemFileFormat.WOOCOMMERCE: PlatformFileFormat(
            woocommerce_products.LAYOUT,
            woocommerce_products.read_offer,
            woocommerce_products.PROVIDED_FIELDS,
            "name",
            woocommerce_products.collect_parents_and_price_facts,
        ),
        ItemFileFormat.SHOPIFY: PlatformFileFormat(
            shopify_products.LAYOUT,
            shopify_products.read_offer,
            shopify_products.PROVIDED_FIELDS,
            "title",
        ),
        ItemFileFormat.MAGENTO: PlatformFileFormat(
            magento_products.LAYOUT,
            magento_products.read_offer,
            magento_products.PROVIDED_FIELDS,
            "name",
            magento_products.collect_parents_of_variations,
        ),
        ItemFileFormat.GOOGLE: PlatformFileFormat(
            google_merchant_products.LAYOUT,
            google_merchant_products.read_offer,
            google_merchant_products.PROVIDED_FIELDS,
            "title",
        ),
    }
)


def read_provided_fields_and_products(
    file: BinaryIO,
    kind: ItemFileFormat,
    reading: FeedReadState,
    folder: Path,
    on_bytes: OnBytes,
) -> tuple[frozenset[str], Iterator[FeedProduct | RejectedRow]]:
    """Return the fields that the file defines, and its products one by one.

    Large files are sorted below `folder`.

    Raises:
        MissingColumnsError: when a table lacks a required column.
        BrokenFeedError: at the place where XML is not well-formed; earlier items stay.
        NotAFeedError: when XML holds no item.
    """
    platform = PLATFORMS[kind]
    reading.kind = FORMAT_TITLES[kind]
    size = file.seek(0, 2)
    if kind is ItemFileFormat.GOOGLE and is_xml(file):
        rows = _read_xml_rows(file, reading, on_bytes)
        provided = frozenset(platform.provided_fields)
    else:
        csv_format = _inspect_product_table(file, kind, platform.layout)
        _note_unused_and_missing_columns(file, csv_format, kind, reading)
        reading.separator = csv_format.separator
        if platform.collect is not None:
            platform.collect(lambda: _readable_rows(file, csv_format), reading)
        rows = _read_table_rows(file, csv_format, on_bytes)
        provided = frozenset(
            name
            for name, columns in platform.provided_fields.items()
            if csv_format.columns.keys() & set(columns)
        )
    return provided, merge_offers_by_product(
        _read_offers_or_reject(rows, platform, reading), size, folder
    )


def _inspect_product_table(
    file: BinaryIO, kind: ItemFileFormat, layout: CsvLayout
) -> CsvFormat:
    csv_format = inspect_csv(file, layout)
    if kind is not ItemFileFormat.WOOCOMMERCE:
        return csv_format
    if not csv_format.columns.keys() >= {"name", "regular_price"}:
        columns = woocommerce_products.columns_by_position_of_full_export(read_head(file))
        if columns is not None:
            return replace(
                csv_format, columns=MappingProxyType({**csv_format.columns, **columns})
            )
    if not woocommerce_products.names_products(csv_format.columns):
        message = (
            "the CSV has no column ID and no column SKU; its first line names the "
            f"columns: {layout.example}"
        )
        raise MissingColumnsError(message)
    return csv_format


def _note_unused_and_missing_columns(
    file: BinaryIO, csv_format: CsvFormat, kind: ItemFileFormat, reading: FeedReadState
) -> None:
    """Record unused columns, and what missing columns mean."""
    note_column_titles_and_unused(file, csv_format, reading)
    reading.is_untitled = PLATFORMS[kind].title not in csv_format.columns
    if kind is not ItemFileFormat.WOOCOMMERCE:
        return
    if "id" not in csv_format.columns:
        reading.add_note_once(
            "no id",
            "The file has no column ID: products get their SKU as id (your pages must "
            "send it) and no address. Export the column ID too if you can.",
        )
    if "published" not in csv_format.columns:
        reading.add_note_once(
            "published",
            "The file has no column Published: drafts and hidden products cannot be "
            "recognised. Export the columns Published and Visibility in catalog too.",
        )


def note_column_titles_and_unused(
    file: BinaryIO, csv_format: CsvFormat, reading: FeedReadState
) -> None:
    """Record the unused columns of a table."""
    used = set(csv_format.columns.values())
    names = column_names(read_head(file), csv_format.separator)
    columns = csv_format.columns.items()
    reading.titles |= {name: names[at] for name, at in columns if at < len(names)}
    reading.add_ignored_columns(
        name for place, name in enumerate(names) if place not in used
    )


def _readable_rows(file: BinaryIO, csv_format: CsvFormat) -> Iterator[Cells]:
    for _, row in _read_table_rows(file, csv_format, lambda _bytes: None):
        if not isinstance(row, RejectedRow):
            yield row


def _read_offers_or_reject(
    rows: Iterator[_Row], platform: PlatformFileFormat, reading: FeedReadState
) -> Iterator[FeedOffer | RejectedRow]:
    for number, cells in rows:
        if isinstance(cells, RejectedRow):
            yield cells
            continue
        try:
            yield platform.offer(number, cells, reading)
        except InvalidOfferError as error:
            yield RejectedRow(number, str(error))


def _read_table_rows(
    file: BinaryIO, csv_format: CsvFormat, on_bytes: OnBytes
) -> Iterator[_Row]:
    for number, cells in read_rows(file, csv_format, on_bytes):
        if isinstance(cells, BrokenRow):
            yield number, RejectedRow(number, cells.message)
        elif not _is_encodable(cells):
            yield number, RejectedRow(number, "it has characters that are not text")
        else:
            yield (
                number,
                {
                    name: cells[index]
                    for name, index in csv_format.columns.items()
                    if index < len(cells)
                },
            )


def _read_xml_rows(
    file: BinaryIO, reading: FeedReadState, on_bytes: OnBytes
) -> Iterator[_Row]:
    names = {
        column: tuple(name.replace("_", "") for name in synonyms)
        for column, synonyms in google_merchant_products.LAYOUT.columns.items()
    }
    known_columns = {name for synonyms in names.values() for name in synonyms}
    for number, item in read_xml_feed_items(file, on_bytes):
        if item is None:
            message = f"it is longer than {MAX_ITEM_BYTES} characters"
            yield number, RejectedRow(number, message)
            continue
        simplified = {name.replace("_", "").lower(): value for name, value in item.items()}
        reading.add_ignored_columns(
            name for name in item if name.replace("_", "").lower() not in known_columns
        )
        yield (
            number,
            {
                column: next(simplified[name] for name in synonyms if name in simplified)
                for column, synonyms in names.items()
                if any(name in simplified for name in synonyms)
            },
        )


def _is_encodable(cells: list[str]) -> bool:
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return False
    return True
