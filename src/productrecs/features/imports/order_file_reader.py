"""Order file reader: order lines of our own CSV layout, a platform's, or a mapped one."""

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from enum import StrEnum
from types import MappingProxyType
from typing import BinaryIO, Final

from productrecs.core.csv_reader import (
    HISTORY_LAYOUT,
    CsvFormat,
    CsvLayout,
    MissingColumnsError,
    column_names,
    detect_time_format,
    inspect_csv,
    read_head,
    read_header,
    read_rows,
)
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.core.timestamps import FileTimeFormat
from productrecs.features.imports.feeds import order_export_reader
from productrecs.features.imports.feeds.column_mapping import ColumnMapping
from productrecs.features.imports.feeds.column_synonyms import order_column_names
from productrecs.features.imports.feeds.order_export_reader import (
    OrderExportReader,
    OrderLineItemMatcher,
    ShopifyOrderReader,
    WooCommerceOrderReader,
    reason_not_bought,
)
from productrecs.features.imports.import_services import ImportServices
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.orders.order_history_import import (
    OrderHistoryImportReport,
    OrderRowReader,
    read_and_count_lines,
    time_column,
)
from productrecs.records.orders.order_history_line import (
    NotAPurchaseError,
    OrderHistoryLine,
    OrderHistoryLineReader,
)
from productrecs.tenancy.accounts.store import Store

_PAGE: Final = 1_000


class EmptyCatalogError(ProductRecsError):
    """An order export names products by SKU and title, and the catalog is empty."""


class NoOrderTimesError(ProductRecsError):
    """No row of the file has a readable time; `reason` says why, without a remedy."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"{reason}. Nothing was imported. Name the column `timestamp`, map it with "
            "--mapping, or set how times are written with --timestamp-format; "
            "--ordered-today imports all lines as orders of today"
        )


class OrderFileFormat(StrEnum):
    """The supported formats of order files."""

    CSV = "csv"
    SHOPIFY = "shopify"
    WOOCOMMERCE = "woocommerce"


NAMED_HISTORY: Final = replace(
    HISTORY_LAYOUT, columns=order_column_names(tuple(HISTORY_LAYOUT.columns))
)
"""An order history whose columns have the names of shop systems and of other languages."""

ORDER_LAYOUTS: Final[Mapping[OrderFileFormat, CsvLayout]] = MappingProxyType(
    {
        OrderFileFormat.CSV: replace(
            NAMED_HISTORY,
            columns=dict(NAMED_HISTORY.columns) | {"status": ("status", "order_status")},
        ),
        OrderFileFormat.SHOPIFY: order_export_reader.SHOPIFY_LAYOUT,
        OrderFileFormat.WOOCOMMERCE: order_export_reader.WOOCOMMERCE_LAYOUT,
    }
)
_EXPORTS: Final[Mapping[OrderFileFormat | None, type[OrderExportReader]]] = (
    MappingProxyType(
        {
            OrderFileFormat.SHOPIFY: ShopifyOrderReader,
            OrderFileFormat.WOOCOMMERCE: WooCommerceOrderReader,
        }
    )
)
_OWN_NAMES: Final = MappingProxyType(
    {
        "order_id": "order",
        "item_id": "item",
        "customer_id": "customer",
        "timestamp": "created",
    }
)
"""Our names of the columns, and the names that the readers of exports have for them."""


@dataclass(frozen=True, slots=True)
class InspectedOrderFile:
    """The format of an order file, and the reader of its rows (one pass)."""

    csv_format: CsvFormat
    reader: Callable[[], OrderRowReader]

    def column_titles(self, file: BinaryIO) -> Mapping[str, str]:
        """Return the file's names of its columns, by ours."""
        titles = self._titles(file)
        places = self.csv_format.columns.items()
        by_name = {name: titles[place] for name, place in places if place < len(titles)}
        return by_name | {
            own: by_name[name] for own, name in _OWN_NAMES.items() if name in by_name
        }

    def unused_columns(self, file: BinaryIO) -> list[str]:
        """Return the file's columns that nothing reads."""
        used = set(self.csv_format.columns.values())
        titles = enumerate(self._titles(file))
        return [title for place, title in titles if title and place not in used]

    def require_a_readable_time(self, file: BinaryIO) -> None:
        """Return if at least one row has a readable time, or no row has a line.

        Raises:
            NoOrderTimesError: when none has one.
        """
        time_index, undated = time_column(self.csv_format), OrderHistoryImportReport()
        reader = self.reader()
        for row in read_rows(file, self.csv_format):
            lines = read_and_count_lines(reader, row, time_index, undated)
            if lines and lines[0].ts_ms is not None:
                return
        if not undated.rows_undated:
            return
        if time_index is None:
            names = ", ".join(filter(None, self._titles(file)))
            reason = f"No column says when the orders were placed (it has {names})"
            raise NoOrderTimesError(reason)
        title = self._titles(file)[time_index]
        example = "it is empty in all rows"
        if undated.undated:
            example = f"row {undated.undated[0].row}: {undated.undated[0].message}"
        reason = f"No row has a readable time in the column {title!r}: {example}"
        raise NoOrderTimesError(reason)

    def _titles(self, file: BinaryIO) -> list[str]:
        return column_names(read_head(file), self.csv_format.separator)


def inspect_order_file(
    services: ImportServices,
    store: Store,
    file: BinaryIO,
    kind: OrderFileFormat | None = None,
    mapping: ColumnMapping | None = None,
    pattern: str | None = None,
) -> InspectedOrderFile:
    """Return how a file is read; without a `kind` its header decides.

    `pattern` is the format of its times, if it is not detected.

    Raises:
        MissingColumnsError: when the header lacks a required column.
        ColumnMappingError: when the mapping names a column that the table lacks.
        EmptyCatalogError: for an export that names products by SKU and title, before the
            store has products.
    """
    zone = store.settings.zone
    chosen = None if mapping is not None else kind or detect_order_format(file)
    is_own = chosen is OrderFileFormat.CSV and _has_our_column_names(file)
    layout = NAMED_HISTORY if is_own else ORDER_LAYOUTS[chosen or OrderFileFormat.CSV]
    if mapping is not None:
        mapping.require_mapped_columns(file)
        layout = mapping.layout
    csv_format = inspect_csv(file, layout)
    if mapping is not None or pattern is not None:
        csv_format = _with_mapping_in_digest(csv_format, f"{mapping!r}{pattern or ''}")
    pattern = pattern or (None if mapping is None else mapping.time_format)
    column = "created" if chosen in _EXPORTS else "timestamp"
    time_format = (
        detect_time_format(file, csv_format, column)
        if pattern is None
        else FileTimeFormat(pattern)
    )
    if is_own:
        columns, separator = csv_format.columns, csv_format.separator
        return InspectedOrderFile(
            csv_format,
            lambda: OrderHistoryLineReader(columns, separator, zone, time_format),
        )
    item_matcher = OrderLineItemMatcher(_ids_skus_and_titles(services, store.store_id))
    export = _EXPORTS.get(chosen)
    if export is None:
        return InspectedOrderFile(
            csv_format,
            lambda: GenericOrderRowReader(
                csv_format, zone, time_format, item_matcher, mapping
            ),
        )
    if item_matcher.is_empty and "item" not in csv_format.columns:
        message = (
            "this export names products by SKU and title, and the catalog is empty; "
            f"first: productrecs import-items {store.domain} PRODUCTS"
        )
        raise EmptyCatalogError(message)
    return InspectedOrderFile(
        csv_format, lambda: export(csv_format, zone, item_matcher, time_format)
    )


def _has_our_column_names(file: BinaryIO) -> bool:
    try:
        read_header(read_head(file), HISTORY_LAYOUT)
    except MissingColumnsError:
        return False
    return True


class GenericOrderRowReader:
    """Reads the rows of a table whose columns are known by name, or mapped.

    A table may name a product by its id, SKU or title, whatever the column is called.
    """

    sums = False

    def __init__(
        self,
        csv_format: CsvFormat,
        zone: tzinfo,
        times: FileTimeFormat,
        names: OrderLineItemMatcher,
        mapping: ColumnMapping | None,
    ) -> None:
        """Read with `mapping`, if any; times without an offset are in `zone`."""
        self._places, self._names, self._mapping = csv_format.columns, names, mapping
        columns = {name: place for place, name in enumerate(self._places)}
        self._reader = OrderHistoryLineReader(columns, csv_format.separator, zone, times)

    def read_lines_of_row(self, cells: list[str]) -> Sequence[OrderHistoryLine]:
        """Return the line of a row.

        Raises:
            UnreadableRowError: when an id is missing or invalid, or a number is not one.
            NotAPurchaseError: when its order was cancelled, refunded or never paid.
        """
        fields = {
            name: cells[index] if index < len(cells) else ""
            for name, index in self._places.items()
        }
        if reason := reason_not_bought(fields.get("status", "").strip()):
            raise NotAPurchaseError(reason)
        if self._mapping is not None:
            fields = self._mapping.translate_values_in_place(fields)
        line = self._reader.read_line(list(fields.values()))
        item_id = self._names.find_item_id(line.item_id, line.item_id, line.item_id)
        return (line if item_id is None else line._replace(item_id=item_id),)


def detect_order_format(file: BinaryIO) -> OrderFileFormat:
    """Return the format of an order file, by its header.

    Raises:
        MissingColumnsError: when the format is unknown.
    """
    is_own = _has_our_column_names(file)
    head = read_head(file)
    is_woocommerce = order_export_reader.is_woocommerce_order_export(head)
    # One WooCommerce export has an `item_id` too: the line number.
    if is_own and not is_woocommerce:
        return OrderFileFormat.CSV
    with contextlib.suppress(MissingColumnsError):
        read_header(head, order_export_reader.SHOPIFY_LAYOUT)
        return OrderFileFormat.SHOPIFY
    if is_woocommerce:
        return OrderFileFormat.WOOCOMMERCE
    try:
        read_header(head, NAMED_HISTORY)
    except MissingColumnsError as error:
        message = (
            f"{error}; order exports of Shopify and WooCommerce are detected by their "
            "columns; for any other table, map its columns with --mapping"
        )
        raise MissingColumnsError(message) from None
    return OrderFileFormat.CSV


def _with_mapping_in_digest(csv_format: CsvFormat, mapping: str) -> CsvFormat:
    """Return a format whose import resumes only with the same file and mapping."""
    combined = hashlib.sha256(f"{csv_format.digest}\n{mapping}".encode())
    return replace(csv_format, digest=combined.hexdigest())


def _ids_skus_and_titles(
    services: ImportServices, store_id: StoreId
) -> Iterator[tuple[str, str | None, str]]:
    after = -1
    while True:
        with services.database.reading() as connection:
            page = CatalogRepository(connection, store_id).page(after, _PAGE)
        for stored in page:
            after = stored.number
            yield stored.item.item_id, stored.item.sku, stored.item.title
        if len(page) < _PAGE:
            return
