"""Which lines of orders does a file hold? Of our own layout, a shop's, or a mapped one."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import BinaryIO, Final

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.entrypoints.cli.feeds import shopify_orders
from productrecs.entrypoints.cli.feeds.mapping import ColumnMapping
from productrecs.entrypoints.cli.feeds.shopify_orders import ItemNames, ShopifyOrders
from productrecs.entrypoints.services import Services
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.orders.csv_format import (
    HEAD,
    HISTORY,
    CsvFormat,
    MissingColumnsError,
    inspect,
    read_header,
)
from productrecs.records.orders.csv_line import HistoryLine, LineReader
from productrecs.records.orders.order_history import RowReader
from productrecs.tenancy.accounts.store import Store

_PAGE: Final = 1_000


class EmptyCatalogError(ProductRecsError):
    """Orders that name products by SKU and title came before the products."""


class OrderKind(StrEnum):
    """The kinds of tables that orders come in."""

    CSV = "csv"
    SHOPIFY = "shopify"


@dataclass(frozen=True, slots=True)
class OrderFile:
    """How a file of orders is written, and what reads its rows, once through."""

    written: CsvFormat
    reader: Callable[[], RowReader]


def open_orders(
    services: Services,
    store: Store,
    file: BinaryIO,
    kind: OrderKind | None = None,
    mapping: ColumnMapping | None = None,
) -> OrderFile:
    """Return how a file is to be read; without a `kind` its header tells.

    Raises:
        MissingColumnsError: when the header lacks a required column.
        MappingError: when the mapping names a column that the table lacks.
        EmptyCatalogError: for a Shopify export, before the store has products.
    """
    zone = store.settings.zone
    if mapping is not None:
        mapping.check(file)
        written = _apart(inspect(file, mapping.layout), repr(mapping))
        return OrderFile(written, lambda: MappedReader(written, mapping, store))
    if (kind or _recognise(file)) is OrderKind.SHOPIFY:
        written = inspect(file, shopify_orders.LAYOUT)
        names = ItemNames(_known(services, store.store_id))
        if names.is_empty:
            message = (
                "this export names products by SKU and title, and the catalog is empty; "
                f"first: productrecs import-items {store.domain} PRODUCTS"
            )
            raise EmptyCatalogError(message)
        return OrderFile(written, lambda: ShopifyOrders(written, zone, names))
    written = inspect(file)
    return OrderFile(written, lambda: LineReader(written.columns, written.separator, zone))


class MappedReader:
    """Reads the rows of a table whose columns and words somebody else chose."""

    def __init__(self, written: CsvFormat, mapping: ColumnMapping, store: Store) -> None:
        """Read by `mapping`; times without an offset are in the store's zone."""
        self._mapping = mapping
        self._places = written.columns
        here = {name: place for place, name in enumerate(written.columns)}
        self._reader = LineReader(here, written.separator, store.settings.zone)

    def read(self, cells: list[str]) -> HistoryLine:
        """Return what a row says.

        Raises:
            UnreadableRowError: when an id is missing or impossible, or a number is none.
        """
        told = {
            name: cells[place] if place < len(cells) else ""
            for name, place in self._places.items()
        }
        told = self._mapping.translated(told)
        if self._mapping.moment is not None:
            told["timestamp"] = _iso(told.get("timestamp", ""), self._mapping.moment)
        return self._reader.read(list(told.values()))


def _recognise(file: BinaryIO) -> OrderKind:
    file.seek(0)
    head = file.read(HEAD)
    try:
        read_header(head, HISTORY)
    except MissingColumnsError as error:
        try:
            read_header(head, shopify_orders.LAYOUT)
        except MissingColumnsError:
            message = (
                f"{error}; an orders export of Shopify is known by its columns, and for "
                "any other table --mapping says which column is what"
            )
            raise MissingColumnsError(message) from None
        return OrderKind.SHOPIFY
    return OrderKind.CSV


def _apart(written: CsvFormat, mapping: str) -> CsvFormat:
    """Return a format whose import goes on only with the same file and the same mapping."""
    both = hashlib.sha256(f"{written.digest}\n{mapping}".encode())
    return replace(written, digest=both.hexdigest())


def _known(services: Services, store_id: StoreId) -> Iterator[tuple[str, str | None, str]]:
    after = -1
    while True:
        with services.database.reading() as connection:
            page = CatalogRepository(connection, store_id).page(after, _PAGE)
        for one in page:
            after = one.number
            yield one.item.item_id, one.item.sku, one.item.title
        if len(page) < _PAGE:
            return


def _iso(text: str, form: str) -> str:
    """Return a time that is written in `form` as ISO; as it is where it is not."""
    try:
        return datetime.strptime(text.strip(), form).isoformat()  # noqa: DTZ007 - a zone's
    except ValueError:
        return text
