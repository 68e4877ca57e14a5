"""Products page: find a product as you type; its stock, price, forecast and picture."""

from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from productrecs.entrypoints.http.dashboard.page import Group, Page, Reply, Visit
from productrecs.entrypoints.http.dashboard.product_rows import product_rows
from productrecs.features.search.product_search import search_catalog
from productrecs.records.catalog.catalog_view import Mask

PRODUCTS_PATH: Final = "/dashboard/products"
PAGE_SIZE: Final = 25
FILTERS: Final = MappingProxyType(
    {
        "": "All products",
        "shown": "Shown in lists",
        "sold_out": "Out of stock",
        "hidden": "Discontinued or outside dates",
    }
)


def show_products(visit: Visit) -> Reply:
    """Show one page of the matching products; htmx requests only the table."""
    shop, query = visit.opened.shop, visit.query["q"]
    chosen = visit.query["show"] if visit.query["show"] in FILTERS else ""
    number = page_number(visit.query["page"])
    among = _among(visit, chosen)
    first = (number - 1) * PAGE_SIZE
    found = search_catalog(
        shop.catalog, visit.opened.index, query, among, slice(first, first + PAGE_SIZE)
    )
    ids = [one for item in found.items if (one := shop.catalog.ids[item]) is not None]
    return visit.render(
        "products_table.html" if visit.is_partial else "products.html",
        rows=product_rows(visit, ids),
        q=query,
        chosen=chosen,
        filters=list(FILTERS.items()),
        total=found.total,
        is_cut=found.is_cut,
        first=first,
        before=_address(query, chosen, number - 1) if number > 1 else "",
        after=(
            _address(query, chosen, number + 1) if first + PAGE_SIZE < found.total else ""
        ),
        catalog_size=len(shop.catalog.numbers),
        has_forecast=visit.store.settings.demand_forecast,
    )


def page_number(text: str) -> int:
    """Return the requested page number, from 1."""
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1  # noqa: PLR2004 - digits of a page


def _among(visit: Visit, chosen: str) -> Mask:
    """Return the mask of a filter, by item number."""
    shop, now_ms = visit.opened.shop, visit.now_ms
    if chosen == "shown":
        return shop.visible(now_ms)
    open_now = shop.catalog.visible(now_ms, hide_sold_out=False)
    if chosen == "sold_out":
        return open_now & ~_fitted(
            shop.catalog.visible(now_ms, hide_sold_out=True), open_now
        )
    present = shop.catalog.present()
    return present & ~_fitted(open_now, present) if chosen == "hidden" else present


def _fitted(mask: Mask, other: Mask) -> Mask:
    """Return a mask padded to the length of another: the catalog may have grown."""
    fitted = other.copy()
    fitted[:] = False
    size = min(len(mask), len(other))
    fitted[:size] = mask[:size]
    return fitted


def _address(query: str, chosen: str, number: int) -> str:
    fields = {"q": query, "show": chosen, "page": str(number) if number > 1 else ""}
    text = urlencode({name: value for name, value in fields.items() if value})
    return f"{PRODUCTS_PATH}?{text}" if text else PRODUCTS_PATH


PAGES: Final = (
    Page(
        PRODUCTS_PATH,
        "Products",
        show_products,
        group=Group.CATALOG,
        shows_pictures=True,
    ),
)
