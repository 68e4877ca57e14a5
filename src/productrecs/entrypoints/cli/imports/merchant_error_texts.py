"""Merchant texts: errors and notes of an import for a reader without a command line."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.cli.feeds.column_mapping import MappingError
from productrecs.entrypoints.cli.feeds.format_detection import UnknownItemFormatError
from productrecs.entrypoints.cli.feeds.xml_feed import BrokenFeedError, NotAFeedError
from productrecs.entrypoints.cli.imports.import_report import UntitledTableError
from productrecs.entrypoints.cli.imports.import_source import NotAnArrayError
from productrecs.entrypoints.cli.imports.order_file_reader import EmptyCatalogError
from productrecs.records.catalog.push_items import CatalogLimitError
from productrecs.records.orders.csv_format import MissingColumnsError

_CHOOSE: Final = (
    "The columns of this file were not recognised. Choose below which column is which, "
    "then check it again."
)
MERCHANT_TEXTS: Final[Mapping[type[ProductRecsError], str]] = MappingProxyType(
    {
        MissingColumnsError: _CHOOSE,
        UnknownItemFormatError: _CHOOSE,
        MappingError: "",
        UntitledTableError: "The file has no column with product titles, and none of its "
        "products is in your catalog. Choose the column for title below.",
        EmptyCatalogError: "This export names products by SKU and title, and your catalog "
        "is empty. Import your products first.",
        CatalogLimitError: "The file has more new products than your plan allows. Nothing "
        "was imported. Choose a larger plan, or import fewer products.",
        NotAnArrayError: "",
        BrokenFeedError: "",
        NotAFeedError: "",
    }
)
_COMMANDS: Final = (" --base-url sets another start.", ": productrecs settings")


def merchant_text(error: ProductRecsError) -> str:
    """Return what is wrong with a file, and what to do."""
    known = next(
        (MERCHANT_TEXTS[kind] for kind in MERCHANT_TEXTS if type(error) is kind), ""
    )
    text = known or str(error)
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def merchant_notes(notes: Iterable[str]) -> list[str]:
    """Return notes without the commands that they name."""
    found = []
    for note in notes:
        text = note
        for command in _COMMANDS:
            text = text.partition(command)[0]
        found.append(text if text.endswith(".") else f"{text}.")
    return found
