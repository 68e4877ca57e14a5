"""Products pages: find products as you type; one product's data and its lists."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urlencode

from productrecs.dashboard.formats import sentence
from productrecs.dashboard.list_explanations import (
    SOURCES,
    ExplainedList,
    explain_source_list,
    state_with_rules,
    state_with_sold_out,
)
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    Visit,
    form_pages,
    parse_whole_number,
)
from productrecs.dashboard.product_table import known_product_rows
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.features.search.product_search import search_catalog
from productrecs.records.catalog.catalog_view import Mask
from productrecs.records.catalog.item_filters import (
    NO_FILTERS,
    FilterError,
    Filters,
    parse_filters,
)
from productrecs.records.catalog.price_lists import parse_list_name
from productrecs.records.merchandising.rule import Rule, RuleAction, RuleContent, RuleTarget
from productrecs.records.merchandising.rule_editor import RuleEditor
from productrecs.records.pictures.fetch_picture import absolute_url
from productrecs.records.pictures.repository import PictureRepository
from productrecs.serving.product_cards import safe_url

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
    state, query = visit.cached_store.state, visit.query["q"]
    chosen = visit.query["show"] if visit.query["show"] in FILTERS else ""
    number = parse_page_number(visit.query["page"])
    filter_mask = _product_filter_mask(visit, chosen)
    first = (number - 1) * PAGE_SIZE
    matches = search_catalog(
        state.catalog,
        visit.cached_store.index,
        query,
        filter_mask,
        slice(first, first + PAGE_SIZE),
    )
    ids = [
        item_id
        for item in matches.items
        if (item_id := state.catalog.ids[item]) is not None
    ]
    return visit.render(
        "products_table.html" if visit.is_partial else "products.html",
        rows=known_product_rows(visit, ids),
        q=query,
        chosen=chosen,
        filters=list(FILTERS.items()),
        total=matches.total,
        is_cut=matches.is_cut,
        first=first,
        before=_table_address(query, chosen, number - 1) if number > 1 else "",
        after=(
            _table_address(query, chosen, number + 1)
            if first + PAGE_SIZE < matches.total
            else ""
        ),
        catalog_size=len(state.catalog.numbers),
        has_forecast=visit.store.settings.demand_forecast,
        **({} if visit.is_partial else _picture_counts_and_failure(visit)),
    )


def _picture_counts_and_failure(visit: Visit) -> dict[str, Any]:
    """Return how many pictures are indexed, waiting and failed, and why most failed."""
    with visit.database.reading() as connection:
        pictures = PictureRepository(connection, visit.store.store_id)
        return {
            "pictures": pictures.counts(),
            "usual_failure": pictures.most_frequent_failure_reason(),
        }


def retry_failed_pictures(visit: Visit) -> Reply:
    """Fetch every picture again that could not be fetched."""
    with visit.database.transaction() as transaction:
        pictures = PictureRepository(transaction, visit.store.store_id)
        count = pictures.retry_failed(visit.system_ms)
    found = visit.formats.count(count, "picture")
    return visit.redirect(PRODUCTS_PATH, f"{found} will be fetched again in a moment.")


def parse_page_number(text: str) -> int:
    """Return the requested page number, from 1."""
    return max(1, parse_whole_number(text, 6) or 1)


def _product_filter_mask(visit: Visit, chosen: str) -> Mask:
    """Return the mask of a filter, by item number."""
    state, now_ms = visit.cached_store.state, visit.now_ms
    if chosen == "shown":
        return state.visible(now_ms)
    open_now = state.catalog.visible(now_ms, hide_sold_out=False)
    if chosen == "sold_out":
        return open_now & ~_resize_mask_like(
            state.catalog.visible(now_ms, hide_sold_out=True), open_now
        )
    present = state.catalog.present()
    return (
        present & ~_resize_mask_like(open_now, present) if chosen == "hidden" else present
    )


def _resize_mask_like(mask: Mask, other: Mask) -> Mask:
    """Return a mask padded to the length of another: the catalog may have grown."""
    fitted = other.copy()
    fitted[:] = False
    size = min(len(mask), len(other))
    fitted[:size] = mask[:size]
    return fitted


def _table_address(query: str, chosen: str, number: int) -> str:
    fields = {"q": query, "show": chosen, "page": str(number) if number > 1 else ""}
    text = urlencode({name: value for name, value in fields.items() if value})
    return f"{PRODUCTS_PATH}?{text}" if text else PRODUCTS_PATH


ITEM_PATH: Final = f"{PRODUCTS_PATH}/item"


@dataclass(frozen=True, slots=True)
class ProductSourceList:
    """One source's list on this product's page; `before` is the present list."""

    name: str
    title: str
    meaning: str
    made: ExplainedList
    before: ExplainedList

    @property
    def lost_titles(self) -> list[str]:
        """The titles of products that would leave the list."""
        kept = set(self.made.ids)
        return [
            product.title for product in self.before.products if product.item_id not in kept
        ]


def item_address(item_id: str) -> str:
    """Return the address of a product's page."""
    return f"{ITEM_PATH}?id={quote(item_id, safe='')}"


def show_product_and_lists(visit: Visit) -> Reply:
    """Show one product and its lists, now, filtered, or with a what-if change.

    Raises:
        PageOrRecordNotFoundError: when the store has no such product.
    """
    item_id = visit.query["id"]
    rows = known_product_rows(visit, [item_id])
    if not rows:
        message = "There is no product with this id in your catalog."
        raise PageOrRecordNotFoundError(message)
    row, state = rows[0], visit.cached_store.state
    what_if, excluded_id = visit.query["show"], visit.query["item"]
    what_if_state = _what_if_state(visit, what_if, excluded_id)
    if what_if_state is None:
        what_if = excluded_id = ""
    filters, filter_error = _parse_filters_and_error(visit.query["filter"])
    lists = [
        _build_product_source_list(
            visit, state, what_if_state or state, source, item_id, filters
        )
        for source in SOURCES
    ]
    return visit.render(
        "product_item.html",
        title=row.title,
        row=row,
        lists=lists,
        what_if=what_if,
        without=excluded_id,
        filter=visit.query["filter"],
        filter_error=filter_error,
        is_filtered=filters != NO_FILTERS,
        choices=_what_if_choices(state),
        here=item_address(item_id),
        shop_link=_shop_link(visit, row.item.product_url),
        rank=_trending_rank(state, row.number),
        listed=[
            (parse_list_name(source.name).currency, source) for source in row.item.prices
        ],
    )


def _build_product_source_list(
    visit: Visit,
    state: StoreState,
    what_if_state: StoreState,
    source: tuple[str, str, str],
    item_id: str,
    filters: Filters,
) -> ProductSourceList:
    name, title, meaning = source
    now = made = explain_source_list(visit, state, name, item_id)
    if what_if_state is not state or filters != NO_FILTERS:
        made = explain_source_list(visit, what_if_state, name, item_id, now.ids, filters)
    return ProductSourceList(name, title, meaning, made, now)


def _parse_filters_and_error(text: str) -> tuple[Filters, str]:
    """Return the typed filters, one per line, and what is wrong with them."""
    try:
        return parse_filters(
            [line.strip() for line in text.splitlines() if line.strip()]
        ), ""
    except FilterError as error:
        return NO_FILTERS, sentence(error)


def _what_if_choices(state: StoreState) -> list[tuple[str, str]]:
    hidden = state.settings.hide_out_of_stock
    stock = ("stock", "With products out of stock" if hidden else "Without them")
    found = [("", "As shoppers see them now"), stock]
    return (
        [*found, ("rules", "Without your rules")]
        if state.rules_in_force is not None
        else found
    )


def _what_if_state(visit: Visit, what_if: str, excluded_id: str) -> StoreState | None:
    """Return the store with the page's what-if change; None without one."""
    state = visit.cached_store.state
    if excluded_id and state.catalog.number(excluded_id) is not None:
        editor = RuleEditor(visit.database, visit.store, visit.context.clock, "")
        content = RuleContent(RuleAction.EXCLUDE, RuleTarget(items=(excluded_id,)))
        gone = Rule(0, content, visit.now_ms, visit.now_ms)
        return state_with_rules(visit, [*editor.all(), gone])
    if what_if == "stock":
        return state_with_sold_out(state, hidden=not state.settings.hide_out_of_stock)
    return state_with_rules(visit, []) if what_if == "rules" else None


def _shop_link(visit: Visit, product_url: str | None) -> str:
    url = safe_url(product_url)
    return absolute_url(url, visit.store.domain) if url else ""


def _trending_rank(state: StoreState, number: int) -> int | None:
    ranks, trending = state.models.ranks, len(state.models.trending)
    if number >= len(ranks) or ranks[number] >= trending:
        return None
    return int(ranks[number]) + 1


PAGES: Final = (
    Page(
        PRODUCTS_PATH,
        "Products",
        show_products,
        group=NavigationGroup.CATALOG,
        shows_pictures=True,
    ),
    *form_pages(
        PRODUCTS_PATH,
        "Products",
        ("pictures", retry_failed_pictures, "Fetched pictures again"),
    ),
    Page(ITEM_PATH, "Product", show_product_and_lists, shows_pictures=True),
)
