"""Pending table erasure: a table that waits for import loses an erased shopper's rows."""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO, Final

from productrecs.core.csv_reader import (
    BrokenRow,
    CsvFormat,
    CsvLayout,
    inspect_csv,
    read_rows,
)
from productrecs.core.csv_writer import CsvWriter
from productrecs.features.imports.import_services import ImportServices
from productrecs.records.erasures.repository import ErasedNameRepository, name_digest
from productrecs.tenancy.accounts.store import Store

NO_LAYOUT: Final = CsvLayout({}, (), "")
_CUSTOMER: Final = ("customer_id", "customer")
_ORDER: Final = ("order_id", "order")

IsErased = Callable[[str], bool]


def build_erased_name_test(
    services: ImportServices, store: Store, moment_ms: int
) -> IsErased | None:
    """Return the test whether a name was erased since then; None if no name was."""
    with services.database.reading() as connection:
        erased_at = ErasedNameRepository(connection, store.store_id).all_erased_at()
    digests = {digest for digest, at in erased_at.items() if at >= moment_ms}
    return (lambda name: name_digest(store.store_id, name) in digests) if digests else None


class ErasedShopperRows:
    """The rows of a table that name an erased shopper, and all rows of their orders.

    Without a column of customers any cell can name one, but a number is no name there.
    """

    def __init__(self, file: BinaryIO, layout: CsvLayout, is_erased: IsErased) -> None:
        """Read the whole file once."""
        self._file = file
        self._format = inspect_csv(file, replace(layout, required=()))
        self._is_erased = is_erased
        self._customer_index = _first_column_index(self._format, _CUSTOMER)
        self._order_index = _first_column_index(self._format, _ORDER)
        self._orders: set[str] = set()
        for cells, is_erased_row in self._rows_and_is_erased():
            if is_erased_row and self._order_index is not None:
                self._orders.add(_cell(cells, self._order_index))
        self._orders.discard("")
        self.count = sum(is_erased for _, is_erased in self._rows_and_is_erased())

    def write_other_rows(self, target: BinaryIO) -> None:
        """Write the file without them; blank lines keep the numbers of the other rows."""
        text = io.TextIOWrapper(
            target, self._format.encoding, self._format.errors, newline=""
        )
        for line in self._header_lines():
            text.write(line)
        writer = CsvWriter(text, separator=self._format.separator)
        number = self._format.header_lines
        for at, cells in read_rows(self._file, self._format):
            text.write("\n" * (at - number - 1))
            number = at
            if isinstance(cells, BrokenRow) or self._is_row_of_erased_shopper(cells):
                text.write("\n")  # a broken row may name an erased shopper
            else:
                writer.write(cells)
        text.flush()
        text.detach()

    def _rows_and_is_erased(self) -> Iterator[tuple[list[str], bool]]:
        for _, cells in read_rows(self._file, self._format):
            if not isinstance(cells, BrokenRow):
                yield cells, self._is_row_of_erased_shopper(cells)

    def _is_row_of_erased_shopper(self, cells: list[str]) -> bool:
        if (
            self._order_index is not None
            and _cell(cells, self._order_index) in self._orders
        ):
            return True
        if self._customer_index is not None:
            return self._is_erased(_cell(cells, self._customer_index))
        return any(
            self._is_erased(cell) for cell in map(str.strip, cells) if _is_name(cell)
        )

    def _header_lines(self) -> Iterator[str]:
        self._file.seek(0)
        text = io.TextIOWrapper(self._file, self._format.encoding, self._format.errors)
        for _ in range(self._format.header_lines):
            yield text.readline()
        text.detach()


def _first_column_index(csv_format: CsvFormat, names: Sequence[str]) -> int | None:
    places = (csv_format.columns.get(name) for name in names)
    return next((place for place in places if place is not None), None)


def _cell(cells: Sequence[str], place: int) -> str:
    return cells[place].strip() if place < len(cells) else ""


def _is_name(cell: str) -> bool:
    return bool(cell) and not cell.replace(".", "").replace(",", "").isdecimal()
