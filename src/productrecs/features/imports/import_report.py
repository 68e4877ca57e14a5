"""Import reports: the counts of an import, and its rejected rows."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, BinaryIO, Final, Literal

from productrecs.core.csv_reader import (
    BrokenRow,
    CsvLayout,
    column_names,
    inspect_csv,
    read_head,
    read_rows,
)
from productrecs.core.csv_writer import CsvWriter
from productrecs.core.outbound_http import url_host
from productrecs.core.plural import counted
from productrecs.features.imports.feeds.feed_read_state import FeedReadState
from productrecs.records.orders.order_history_import import RowCountsAndErrors, SkippedRow
from productrecs.tenancy.accounts.store import Store


@dataclass(frozen=True, slots=True)
class DryRunSample:
    """The effect of an import on one row, in a dry run."""

    row: int
    change: Literal["create", "update"]
    id: str
    fields: dict[str, object]


@dataclass(slots=True)
class ItemImportReport(RowCountsAndErrors):
    """The result of an item import; `total` is the size of the catalog after it.

    `folded` rows were merged into the product of another row; `repeated` rows had the id of
    an earlier row, and replaced it; `hidden` products are unpublished and not in this
    catalog; `unchanged` products are stored as they are, counted where only changes are
    stored. Each row is in one of these counts. `removed` products are in no row of a
    complete file. `untitled` of the new ones have no
    title, `unpriced` have no price, and `below_zero` rows have a negative stock.
    `ignored_columns` of the file are not used. `notes` are for a person, and a dry
    run's samples are in `would`, and its `diff` counts what would change.
    """

    created: int = 0
    updated: int = 0
    total: int = 0
    folded: int = 0
    repeated: int = 0
    hidden: int = 0
    unchanged: int = 0
    removed: int = 0
    untitled: int = 0
    unpriced: int = 0
    below_zero: int = 0
    ignored_columns: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    would: list[DryRunSample] = field(default_factory=list)
    diff: Mapping[str, Any] = field(default_factory=dict)


def item_import_notes(
    reading: FeedReadState, store: Store, report: ItemImportReport, *, has_address: bool
) -> list[str]:
    """Return notes for the user on how a file was read.

    With `has_address` the caller chose the start of product addresses.
    """
    notes = []
    if reading.kind:
        notes.append(f"The file was read as {reading.kind}.")
    if reading.ignored:
        notes.append(f"Columns that are not used: {', '.join(reading.ignored)}.")
    notes += reading.notes
    if reading.unreadable_dates:
        notes.append(
            f"{counted(reading.unreadable_dates, 'sale date')} could not be read, such as "
            f"{reading.unreadable_date[:40]!r}: the regular price applies there."
        )
    notes += _unexpected_row_notes(report)
    if reading.has_built_urls and not has_address:
        notes.append(
            f"The file has no product addresses; they start with {reading.address}. "
            "--base-url sets another start."
        )
    other_currencies = sorted(reading.currencies - {reading.currency})
    if other_currencies:
        notes.append(
            f"Prices are in {', '.join(other_currencies)}, and the store's currency is "
            f"{store.settings.currency}: productrecs settings {store.domain} "
            f"currency={other_currencies[0]} changes it, and --price-list "
            f"{other_currencies[0]} stores them as prices of that market."
        )
    return notes


def _unexpected_row_notes(report: ItemImportReport) -> Iterator[str]:
    """Yield notes on rows that can be imported, and may not be what their writer meant."""
    if report.repeated:
        yield (
            f"{counted(report.repeated, 'row')} with the id of an earlier row: the last "
            "one counts."
        )
    if report.untitled:
        yield (
            f"{counted(report.untitled, 'new product')} without a title: their cards "
            "have no name."
        )
    if report.unpriced:
        yield (
            f"{counted(report.unpriced, 'new product')} without a price: their cards "
            "show none."
        )
    if report.removed:
        yield (
            f"{counted(report.removed, 'product')} of the catalog missing from the file, "
            "which is complete: shoppers no longer see them."
        )
    if report.below_zero:
        yield (
            f"{counted(report.below_zero, 'product')} with a stock below 0: shoppers can "
            "still buy such a product, as a back-order. Write 0 if they cannot."
        )


def foreign_link_host_notes(links: Mapping[str, int], domain: str) -> list[str]:
    """Return a note if most product links lead to another host than the shop's."""
    shop = url_host(f"//{domain}")
    host = max(links, key=lambda linked: links[linked], default="")
    if not host or host == shop or not shop:
        return []
    note = (
        f"The product links lead to {host}, and your shop is registered as {shop}. "
        "Browsers keep visits of the two apart: a shopper who moves from one to the other "
        f"counts as another one. Let {shop} redirect to {host}, or the other way round, "
        "and write that host in the links."
    )
    return [note]


SHOWN_ERRORS: Final = 100
"""The most errors of an import that its page shows."""


def first_error_cells(errors: Sequence[SkippedRow]) -> list[list[object]]:
    """Return the first errors: the row, its column, the value, and what is wrong."""
    return [
        [error.row, error.column, error.value, error.problem]
        for error in errors[:SHOWN_ERRORS]
    ]


def item_import_row_counts(report: ItemImportReport) -> dict[str, int]:
    """Return the counts of the rows of an item import, as the history has them."""
    unchanged = {"unchanged": report.unchanged} if report.unchanged else {}
    return {
        **unchanged,
        "removed": report.removed,
        "rows": report.rows,
        "inserted": report.created,
        "overwritten": report.updated,
        "folded": report.folded,
        "repeated": report.repeated,
        "left_out": report.hidden,
        "skipped": report.rows_skipped,
    }


MAX_REJECTED_ROWS: Final = 10_000
"""The most rejected rows that are listed; all are counted."""

_MAX_CHARACTERS: Final = 2_000_000
ANY_TABLE: Final = CsvLayout(MappingProxyType({}), (), "", prose=True)


def rejected_rows_csv(
    file: BinaryIO, errors: Sequence[SkippedRow], *, is_table: bool
) -> str:
    """Return the rejected rows with reasons; rows of a table have their original cells.

    Cells are separated as in the table, so that numbers with decimal commas stay numbers.
    """
    if not errors:
        return ""
    reasons = {error.row: error.message for error in errors}
    out = io.StringIO()
    names = column_names(read_head(file)) if is_table else []
    separator = inspect_csv(file, ANY_TABLE).separator if is_table else ","
    writer = CsvWriter(out, ["row", "reason", *names], separator=separator)
    cells_of = dict(_cells_by_row(file, set(reasons))) if is_table else {}
    for row in sorted(reasons):
        writer.write([row, reasons[row], *cells_of.get(row, ())])
        if out.tell() > _MAX_CHARACTERS:
            break
    return out.getvalue()


def _cells_by_row(file: BinaryIO, numbers: set[int]) -> Iterator[tuple[int, list[str]]]:
    characters = 0
    for number, cells in read_rows(file, inspect_csv(file, ANY_TABLE)):
        if number not in numbers or isinstance(cells, BrokenRow):
            continue
        yield number, [_clean(cell) for cell in cells]
        characters += sum(map(len, cells))
        if characters > _MAX_CHARACTERS:
            return


def _clean(cell: str) -> str:
    """Return a cell without lone surrogates, which UTF-8 cannot encode."""
    return cell.encode("utf-8", "replace").decode()


_COMMANDS: Final = (" --base-url sets another start.", ": productrecs settings")


def notes_without_commands(notes: Iterable[str]) -> list[str]:
    """Return notes without command names, for a merchant."""
    texts = []
    for note in notes:
        text = note
        for command in _COMMANDS:
            text = text.partition(command)[0]
        texts.append(text if text.endswith(".") else f"{text}.")
    return texts
