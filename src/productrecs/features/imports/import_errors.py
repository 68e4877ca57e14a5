"""Import errors: why nothing of a file can be imported, with the remedy for its reader."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from productrecs.core.csv_reader import MissingColumnsError
from productrecs.core.errors import ProductRecsError
from productrecs.features.imports.feeds.column_mapping import ColumnMappingError
from productrecs.features.imports.feeds.column_synonyms import FIELD_TITLES
from productrecs.features.imports.feeds.feed_read_state import FeedReadState
from productrecs.features.imports.feeds.format_detection import UnknownItemFormatError
from productrecs.features.imports.feeds.xml_feed import BrokenFeedError, NotAFeedError
from productrecs.features.imports.import_services import ImportServices
from productrecs.features.imports.json_array_reader import BrokenJsonArrayError
from productrecs.features.imports.order_file_reader import (
    EmptyCatalogError,
    NoOrderTimesError,
)
from productrecs.records.catalog.catalog_push import CatalogLimitError
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store


class NoTitleColumnError(ProductRecsError):
    """The table has no column of product titles."""


def missing_titles_error(reading: FeedReadState) -> NoTitleColumnError:
    """Return the error for a table without titles, with the remedy."""
    ignored = f" (it has {', '.join(reading.ignored)})" if reading.ignored else ""
    title = next(iter(reading.ignored), "...")
    return NoTitleColumnError(
        f"the file has no column that says what products are called{ignored}, and the "
        "catalog holds none of its products; nothing was imported. Name the column title, "
        f'or write a mapping file: [items] id = "..." title = "{title}" and give it with '
        "--mapping"
    )


def catalog_limit_error(
    services: ImportServices, store: Store, catalog_size: int, new_count: int
) -> CatalogLimitError:
    """Return the error for a file with too many new products, with the remedy."""
    plans = services.plans
    with services.database.reading() as connection:
        plan = plans[AccountRepository(connection).subscription(store.store_id).plan]
    fitting_plans = [
        candidate
        for candidate in plans.values()
        if candidate.catalog_items is None
        or candidate.catalog_items >= catalog_size + new_count
    ]
    larger = min(
        fitting_plans,
        key=lambda candidate: candidate.catalog_items or float("inf"),
        default=None,
    )
    remedy = "import fewer products"
    if larger is not None:
        remedy = f"productrecs store set-plan {store.domain} {larger.name}"
    return CatalogLimitError(
        f"the file has {new_count:,} new products and the catalog holds {catalog_size:,}; "
        f"the plan {plan.name} allows {plan.catalog_items:,}. Nothing was imported; choose "
        f"a plan that fits: {remedy}"
    )


_CHOOSE: Final = (
    "The columns of this file were not recognised. Choose below which column is which, "
    "then check it again."
)
MERCHANT_TEXTS: Final[Mapping[type[ProductRecsError], str]] = MappingProxyType(
    {
        MissingColumnsError: _CHOOSE,
        UnknownItemFormatError: _CHOOSE,
        ColumnMappingError: "",
        NoTitleColumnError: "The file has no column with product titles, and none of its "
        "products is in your catalog. Choose the column for title below.",
        EmptyCatalogError: "This export names products by SKU and title, and your catalog "
        "is empty. Import your products first.",
        CatalogLimitError: "The file has more new products than your plan allows. Nothing "
        "was imported. Choose a larger plan, or import fewer products.",
        NoOrderTimesError: "",
        BrokenJsonArrayError: "",
        BrokenFeedError: "",
        NotAFeedError: "",
    }
)
_NO_COLUMNS: Final = (MissingColumnsError, UnknownItemFormatError)


def missing_fields_text(error: ProductRecsError, preview: Mapping[str, Any]) -> str:
    """Return which required fields no column has; "" if that is not the problem."""
    missing = [
        FIELD_TITLES.get(name, name)
        for name in preview["required"]
        if name not in preview["mapping"]
    ]
    if not isinstance(error, _NO_COLUMNS) or not missing or not preview["columns"]:
        return ""
    return (
        f"No column of this file was recognised as {' or '.join(missing)}, which is "
        "required. Choose below which column it is, then check the file again."
    )


def problem_text_for_merchant(error: ProductRecsError) -> str:
    """Return the problem of a file and the remedy, for a merchant."""
    translated = next(
        (MERCHANT_TEXTS[kind] for kind in MERCHANT_TEXTS if type(error) is kind), ""
    )
    if isinstance(error, NoOrderTimesError):
        translated = (
            f"{error.reason}. Choose the column of the date and how it is written below, "
            "or say that all of it happened today."
        )
    text = translated or str(error)
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")
