"""Which products does a file of a shop platform, or a feed, hold? Row by row, as offers."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final, TypeAlias

from productrecs.entrypoints.cli.feeds import (
    google,
    magento,
    shopify,
    woocommerce,
    woocommerce_columns,
)
from productrecs.entrypoints.cli.feeds.kinds import SPOKEN, Kind, is_xml
from productrecs.entrypoints.cli.feeds.offer import Offer, Product, Refused
from productrecs.entrypoints.cli.feeds.reading import Reading
from productrecs.entrypoints.cli.feeds.together import products
from productrecs.entrypoints.cli.feeds.wording import UnreadableOfferError
from productrecs.entrypoints.cli.feeds.xml_items import LONGEST_ITEM, read_feed
from productrecs.records.orders.csv_file import BrokenRow, read_rows
from productrecs.records.orders.csv_format import (
    HEAD,
    CsvFormat,
    Layout,
    MissingColumnsError,
    column_names,
    inspect,
)

Cells: TypeAlias = Mapping[str, str]
OnBytes: TypeAlias = Callable[[int], None]
_Row: TypeAlias = tuple[int, Cells | Refused]


@dataclass(frozen=True, slots=True)
class Platform:
    """How the files of one program are read.

    `carries` names the fields of an item that a file is the whole truth of, and the
    columns that then are in it: what is empty there, the product does not have. `survey`
    looks through all rows first, more than once where it must. `title` is the column that
    names a product.
    """

    layout: Layout
    offer: Callable[[int, Cells, Reading], Offer]
    carries: Mapping[str, tuple[str, ...]]
    title: str
    survey: Callable[[Callable[[], Iterable[Cells]], Reading], None] | None = None


PLATFORMS: Final[Mapping[Kind, Platform]] = MappingProxyType(
    {
        Kind.WOOCOMMERCE: Platform(
            woocommerce_columns.LAYOUT,
            woocommerce.offer,
            woocommerce.CARRIED,
            "name",
            woocommerce.survey,
        ),
        Kind.SHOPIFY: Platform(shopify.LAYOUT, shopify.offer, shopify.CARRIED, "title"),
        Kind.MAGENTO: Platform(
            magento.LAYOUT, magento.offer, magento.CARRIED, "name", magento.survey
        ),
        Kind.GOOGLE: Platform(google.LAYOUT, google.offer, MappingProxyType({}), "title"),
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
    reading.kind = SPOKEN[kind]
    size = file.seek(0, 2)
    if kind is Kind.GOOGLE and is_xml(file):
        rows = _xml_rows(file, reading, on_bytes)
        carried = frozenset[str]()
    else:
        written = _format(file, kind, platform.layout)
        _note_columns(file, written, kind, reading)
        reading.separator = written.separator
        if platform.survey is not None:
            platform.survey(lambda: _readable_rows(file, written), reading)
        rows = _table_rows(file, written, on_bytes)
        carried = frozenset(
            name
            for name, columns in platform.carries.items()
            if written.columns.keys() & set(columns)
        )
    return carried, products(_offers(rows, platform, reading), size, folder)


def _format(file: BinaryIO, kind: Kind, layout: Layout) -> CsvFormat:
    written = inspect(file, layout)
    if kind is not Kind.WOOCOMMERCE:
        return written
    if not written.columns.keys() >= {"name", "regular_price"}:
        file.seek(0)
        columns = woocommerce.columns_by_place(file.read(HEAD))
        if columns is not None:
            return replace(
                written, columns=MappingProxyType({**written.columns, **columns})
            )
    if not woocommerce.names_products(written.columns):
        message = (
            "the CSV has no column ID and no column SKU; its first line names them: "
            f"{layout.example}"
        )
        raise MissingColumnsError(message)
    return written


def _note_columns(file: BinaryIO, written: CsvFormat, kind: Kind, reading: Reading) -> None:
    """Note which columns are not used, and what the lack of some means."""
    note_columns(file, written, reading)
    reading.is_untitled = PLATFORMS[kind].title not in written.columns
    if kind is not Kind.WOOCOMMERCE:
        return
    if "id" not in written.columns:
        reading.note(
            "no id",
            "The file has no column ID: products go by their SKU, which your pages must "
            "send then, and have no address. Export the column ID too where you can.",
        )
    if "published" not in written.columns:
        reading.note(
            "published",
            "The file has no column Published: drafts and hidden products cannot be told "
            "from others. Export the columns Published and Visibility in catalog too.",
        )


def note_columns(file: BinaryIO, written: CsvFormat, reading: Reading) -> None:
    """Note which columns of a table are not used."""
    file.seek(0)
    used = set(written.columns.values())
    names = column_names(file.read(HEAD), written.separator)
    reading.ignores(name for place, name in enumerate(names) if place not in used)


def _readable_rows(file: BinaryIO, written: CsvFormat) -> Iterator[Cells]:
    for _, row in _table_rows(file, written, lambda _bytes: None):
        if not isinstance(row, Refused):
            yield row


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


def _xml_rows(file: BinaryIO, reading: Reading, on_bytes: OnBytes) -> Iterator[_Row]:
    names = {
        column: tuple(name.replace("_", "") for name in synonyms)
        for column, synonyms in google.LAYOUT.columns.items()
    }
    known = {name for found in names.values() for name in found}
    for number, item in read_feed(file, on_bytes):
        if item is None:
            message = f"it is over {LONGEST_ITEM} characters"
            yield number, Refused(number, message)
            continue
        plain = {name.replace("_", "").lower(): value for name, value in item.items()}
        reading.ignores(name for name in item if name.replace("_", "").lower() not in known)
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
