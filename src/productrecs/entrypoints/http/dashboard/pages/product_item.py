"""Product page: one product's data, and each source's recommendations with reasons."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from productrecs.entrypoints.http.dashboard.list_reasons import (
    SOURCES,
    ExplainedList,
    make_list,
    with_rules,
    with_sold_out,
)
from productrecs.entrypoints.http.dashboard.page import NotFoundError, Page, Reply, Visit
from productrecs.entrypoints.http.dashboard.pages.products import PRODUCTS_PATH
from productrecs.entrypoints.http.dashboard.product_rows import product_rows
from productrecs.entrypoints.http.schemas.product_cards_and_replies import safe_url
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.catalog.item_filters import (
    NO_FILTERS,
    FilterError,
    Filters,
    parse_filters,
)
from productrecs.records.catalog.price_lists import parse_list_name
from productrecs.records.merchandising.rule import (
    Rule,
    RuleAction,
    RuleContent,
    RuleTarget,
)
from productrecs.records.merchandising.rule_editor import RuleEditor
from productrecs.records.pictures.fetch_picture import absolute_url

ITEM_PATH: Final = f"{PRODUCTS_PATH}/item"


@dataclass(frozen=True, slots=True)
class SourceList:
    """One source's list on this product's page; `before` is the present list."""

    name: str
    title: str
    meaning: str
    made: ExplainedList
    before: ExplainedList

    @property
    def gone(self) -> list[str]:
        """The titles of products that would leave the list."""
        kept = set(self.made.ids)
        return [one.title for one in self.before.products if one.item_id not in kept]


def item_address(item_id: str) -> str:
    """Return the address of a product's page."""
    return f"{ITEM_PATH}?id={quote(item_id, safe='')}"


def show_item(visit: Visit) -> Reply:
    """Show one product and its lists, now, filtered, or with a what-if change.

    Raises:
        NotFoundError: when the store has no such product.
    """
    item_id = visit.query["id"]
    rows = product_rows(visit, [item_id])
    if not rows:
        message = "There is no product with this id in your catalog."
        raise NotFoundError(message)
    row, shop = rows[0], visit.opened.shop
    what_if, without = visit.query["show"], visit.query["item"]
    other = _imagined(visit, what_if, without)
    if other is None:
        what_if = without = ""
    filters, filter_error = _filters(visit.query["filter"])
    lists = [
        _source(visit, shop, other or shop, one, (item_id, filters)) for one in SOURCES
    ]
    return visit.render(
        "product_item.html",
        title=row.title,
        row=row,
        lists=lists,
        what_if=what_if,
        without=without,
        filter=visit.query["filter"],
        filter_error=filter_error,
        is_filtered=filters != NO_FILTERS,
        choices=_choices(shop),
        here=item_address(item_id),
        shop_link=_link(visit, row.item.product_url),
        rank=_rank(shop, row.number),
        listed=[(parse_list_name(one.name).currency, one) for one in row.item.prices],
    )


def _source(
    visit: Visit,
    shop: StoreState,
    other: StoreState,
    source: tuple[str, str, str],
    wanted: tuple[str, Filters],
) -> SourceList:
    name, title, meaning = source
    item_id, filters = wanted
    now = made = make_list(visit, shop, name, item_id)
    if other is not shop or filters != NO_FILTERS:
        made = make_list(visit, other, name, item_id, now.ids, filters)
    return SourceList(name, title, meaning, made, now)


def _filters(text: str) -> tuple[Filters, str]:
    """Return the typed filters, one per line, and what is wrong with them."""
    try:
        return parse_filters([one.strip() for one in text.splitlines() if one.strip()]), ""
    except FilterError as error:
        return NO_FILTERS, f"{str(error)[:1].upper()}{str(error)[1:]}."


def _choices(shop: StoreState) -> list[tuple[str, str]]:
    hidden = shop.settings.hide_out_of_stock
    stock = ("stock", "With products out of stock" if hidden else "Without them")
    found = [("", "As shoppers see them now"), stock]
    return [*found, ("rules", "Without your rules")] if shop.book is not None else found


def _imagined(visit: Visit, what_if: str, without: str) -> StoreState | None:
    """Return the store with the page's what-if change; None without one."""
    shop = visit.opened.shop
    if without and shop.catalog.number(without) is not None:
        editor = RuleEditor(visit.database, visit.store, visit.context.clock, "")
        content = RuleContent(RuleAction.EXCLUDE, RuleTarget(items=(without,)))
        gone = Rule(0, content, visit.now_ms, visit.now_ms)
        return with_rules(visit, [*editor.all(), gone])
    if what_if == "stock":
        return with_sold_out(shop, hidden=not shop.settings.hide_out_of_stock)
    return with_rules(visit, []) if what_if == "rules" else None


def _link(visit: Visit, product_url: str | None) -> str:
    url = safe_url(product_url)
    return absolute_url(url, visit.store.domain) if url else ""


def _rank(shop: StoreState, number: int) -> int | None:
    ranks, trending = shop.models.ranks, len(shop.models.trending)
    if number >= len(ranks) or ranks[number] >= trending:
        return None
    return int(ranks[number]) + 1


PAGES: Final = (Page(ITEM_PATH, "Product", show_item, shows_pictures=True),)
