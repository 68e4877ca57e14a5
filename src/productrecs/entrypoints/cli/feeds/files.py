"""Which products does a file of a shop platform, or a feed, hold? Row by row, as offers."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final, TypeAlias

from productrecs.entrypoints.cli.feeds import google, magento, shopify, woocommerce
from productrecs.entrypoints.cli.feeds.kinds import Kind, is_xml
from productrecs.entrypoints.cli.feeds.offer import Offer, Product, Refused
from productrecs.entrypoints.cli.feeds.reading import Reading
from productrecs.entrypoints.cli.feeds.together import products
from productrecs.entrypoints.cli.feeds.wording import UnreadableOfferError
from productrecs.entrypoints.cli.feeds.xml_items import LONGEST_ITEM, read_feed
from productrecs.records.orders.csv_file import BrokenRow, read_rows
from productrecs.records.orders.csv_format import HEAD, CsvFormat, Layout, inspect

Cells: TypeAlias = Mapping[str, str]
OnBytes: TypeAlias = Callable[[int], None]
_Row: TypeAlias = tuple[int, Cells | Refused]


@dataclass(frozen=True, slots=True)
class Platform:
    """How the files of one program are read.

    `carries` names the fields of an item that a file is the whole truth of, and the
    columns that then are in it: what is empty there, the product does not have. `survey`
    looks through all rows first.
    """

    layout: Layout
    offer: Callable[[int, Cells, Reading], Offer]
    carries: Mapping[str, tuple[str, ...]]
    survey: Callable[[Iterable[Cells], Reading], None] | None = None


PLATFORMS: Final[Mapping[Kind, Platform]] = MappingProxyType(
    {
        Kind.WOOCOMMERCE: Platform(
            woocommerce.LAYOUT, woocommerce.offer, woocommerce.CARRIED
        ),
        Kind.SHOPIFY: Platform(shopify.LAYOUT, shopify.offer, shopify.CARRIED),
        Kind.MAGENTO: Platform(
            magento.LAYOUT, magento.offer, magento.CARRIED, magento.survey
        ),
        Kind.GOOGLE: Platform(google.LAYOUT, google.offer, MappingProxyType({})),
    }
)


def read_products(
    file: BinaryIO, kind: Kind, reading: Reading, folder: Path, on_bytes: OnBytes
) -> tuple[frozenset[str], Iterator[Product | Refused]]:
    """Return the fields that the file is the whole truth of, and its products, one by one.

    Large files are sorted out below `folder`.

    Raises:
        MissingColumnsError: when a table lacks a column of its kind.
        BrokenFeedError: where XML ends being any; what came before stays.
        NotAFeedError: when XML holds no item.
    """
    platform = PLATFORMS[kind]
    size = file.seek(0, 2)
    if kind is Kind.GOOGLE and is_xml(file):
        rows = _xml_rows(file, on_bytes)
        carried = frozenset[str]()
    else:
        written = _format(file, kind, platform.layout)
        reading.separator = written.separator
        if platform.survey is not None:
            seen = (row for _, row in _table_rows(file, written, lambda _bytes: None))
            platform.survey((row for row in seen if not isinstance(row, Refused)), reading)
        rows = _table_rows(file, written, on_bytes)
        carried = frozenset(
            name
            for name, columns in platform.carries.items()
            if written.columns.keys() & set(columns)
        )
    return carried, products(_offers(rows, platform, reading), size, folder)


def _format(file: BinaryIO, kind: Kind, layout: Layout) -> CsvFormat:
    written = inspect(file, layout)
    if kind is Kind.WOOCOMMERCE and "type" not in written.columns:
        file.seek(0)
        columns = woocommerce.columns_by_place(file.read(HEAD))
        return written if columns is None else replace(written, columns=columns)
    return written


def _offers(
    rows: Iterator[_Row], platform: Platform, reading: Reading
) -> Iterator[Offer | Refused]:
    for number, cells in rows:
        if isinstance(cells, Refused):
            yield cells
            continue
        try:
            yield platform.offer(number, cells, reading)
        except UnreadableOfferError as error:
            yield Refused(number, str(error))


def _table_rows(file: BinaryIO, written: CsvFormat, on_bytes: OnBytes) -> Iterator[_Row]:
    for number, cells in read_rows(file, written, on_bytes):
        if isinstance(cells, BrokenRow):
            yield number, Refused(number, cells.message)
        elif not _is_unicode(cells):
            yield number, Refused(number, "it holds characters that are no text")
        else:
            yield (
                number,
                {
                    name: cells[place]
                    for name, place in written.columns.items()
                    if place < len(cells)
                },
            )


def _xml_rows(file: BinaryIO, on_bytes: OnBytes) -> Iterator[_Row]:
    names = {
        column: tuple(name.replace("_", "") for name in synonyms)
        for column, synonyms in google.LAYOUT.columns.items()
    }
    for number, item in read_feed(file, on_bytes):
        if item is None:
            message = f"it is over {LONGEST_ITEM} characters"
            yield number, Refused(number, message)
            continue
        plain = {name.replace("_", "").lower(): value for name, value in item.items()}
        yield (
            number,
            {
                column: next(plain[name] for name in found if name in plain)
                for column, found in names.items()
                if any(name in plain for name in found)
            },
        )


def _is_unicode(cells: list[str]) -> bool:
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return False
    return True
