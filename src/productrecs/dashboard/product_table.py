"""Product table: the rows of the dashboard's product tables, read one page at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from productrecs.dashboard.page import Visit
from productrecs.features.forecast.forecast_replies import item_forecast_reply
from productrecs.features.forecast.repository import ForecastRepository
from productrecs.features.recommendations.source_recipes import PageType
from productrecs.features.search.product_search import search_catalog
from productrecs.records.catalog.availability import (
    Availability,
    UnavailableReason,
    effective_availability,
)
from productrecs.records.catalog.item import Item
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.pictures.repository import PictureRepository
from productrecs.records.pictures.stored_pictures import PictureState, PictureStatus

STATES: Final = MappingProxyType(
    {
        Availability.IN_STOCK: ("In stock", "good"),
        Availability.OUT_OF_STOCK: ("Out of stock", "warn"),
        Availability.PREORDER: ("Pre-order", "good"),
        Availability.BACKORDER: ("Back-order", "good"),
        Availability.DISCONTINUED: ("Discontinued", "bad"),
    }
)
_WINDOWS: Final = MappingProxyType(
    {
        UnavailableReason.NOT_YET: ("Not available yet", "warn"),
        UnavailableReason.NO_LONGER: ("No longer available", "bad"),
    }
)


@dataclass(frozen=True, slots=True)
class ProductRow:
    """One product in a table."""

    number: int
    item: Item
    title: str
    picture: str  # its URL; "" if there is none to show
    state: str
    tone: str
    cover_days: float | None
    stockout_day: str | None
    picture_status: str
    picture_tone: str
    picture_reason: str
    bought_with: int  # how many products its lists may show from orders with it
    changed_at: int | None

    @property
    def item_id(self) -> str:
        """The product's id."""
        return self.item.item_id


def known_product_rows(visit: Visit, item_ids: Sequence[str]) -> list[ProductRow]:
    """Return the rows of these products, in this order; unknown ids are omitted."""
    store_id = visit.store.store_id
    with visit.database.reading() as connection:
        catalog = CatalogRepository(connection, store_id)
        found = catalog.find(item_ids).items()
        stored = {item_id: row for item_id, row in found if row.present}
        changed = catalog.changed_at(stored)
        numbers = [row.number for row in stored.values()]
        pictures = PictureRepository(connection, store_id).statuses(numbers)
    eligible = visit.cached_store.state.eligible_items(visit.now_ms, PageType.PRODUCT)
    cover_by_item = _days_of_cover_and_stockout_day(visit, list(stored))
    rows = []
    for item_id in item_ids:
        row = stored.get(item_id)
        if row is None:
            continue
        state, tone = _state_text_and_tone(visit, row.number, row.item)
        status, picture_tone, reason = picture_status_tone_and_reason(
            pictures.get(row.number), row.item
        )
        days, day = cover_by_item.get(item_id, (None, None))
        companions = visit.cached_store.state.models.widest.evident_companions(row.number)
        rows.append(
            ProductRow(
                number=row.number,
                item=row.item,
                title=row.item.title or item_id,
                picture=visit.pictures.address_if_allowed(row.item.image_url),
                state=state,
                tone=tone,
                cover_days=days,
                stockout_day=day,
                picture_status=status,
                picture_tone=picture_tone,
                picture_reason=reason,
                bought_with=sum(map(eligible.may_show, companions.items.tolist())),
                changed_at=changed.get(item_id),
            )
        )
    return rows


def find_product_ids_and_titles(
    visit: Visit, text: str, most: int
) -> list[tuple[str, str]]:
    """Return ids and titles of the products that match the typed text, best first."""
    cached_store = visit.cached_store
    catalog = cached_store.state.catalog
    found = search_catalog(
        catalog, cached_store.index, text, catalog.present(), slice(0, most)
    )
    ids = [one for item in found.items if (one := catalog.ids[item]) is not None]
    with visit.database.reading() as connection:
        stored = CatalogRepository(connection, visit.store.store_id).find(ids)
    return [
        (item_id, stored[item_id].item.title or item_id)
        for item_id in ids
        if item_id in stored
    ]


def titles_of(visit: Visit, item_ids: Sequence[str]) -> dict[str, str]:
    """Return the titles of those products that the catalog has."""
    with visit.database.reading() as connection:
        stored = CatalogRepository(connection, visit.store.store_id).find(item_ids)
    return {
        item_id: row.item.title or item_id for item_id, row in stored.items() if row.present
    }


def picture_status_tone_and_reason(
    status: PictureStatus | None, item: Item
) -> tuple[str, str, str]:
    """Return the status of a product's picture: its text, its tone and its reason."""
    if not item.image_url:
        return "No picture", "warn", "The catalog has no image_url for this product."
    if status is None:
        return "Waiting", "", "The picture will be fetched in a moment."
    if status.is_indexed:
        return "Indexed", "good", status.reason or ""
    if status.state is PictureState.FAILED:
        return "Not fetched", "bad", status.reason or "The picture could not be fetched."
    return "Waiting", "", status.reason or "The picture will be fetched in a moment."


def _state_text_and_tone(visit: Visit, number: int, item: Item) -> tuple[str, str]:
    hidden = visit.cached_store.state.catalog.why_hidden(
        number, visit.now_ms, hide_sold_out=False
    )
    if hidden is not None and hidden in _WINDOWS:
        return _WINDOWS[hidden]
    state = effective_availability(item.availability, item.stock_qty)
    if state is Availability.IN_STOCK and (item.stock_qty or 0) < 0:
        state = Availability.BACKORDER  # sold beyond the stock
    return STATES[state]


def _days_of_cover_and_stockout_day(
    visit: Visit, item_ids: Sequence[str]
) -> dict[str, tuple[float | None, str | None]]:
    """Return days of cover and the stockout day, as in the API's forecast."""
    settings = visit.store.settings
    if not settings.demand_forecast:
        return {}
    with visit.database.reading() as connection:
        repository = ForecastRepository(connection, visit.store.store_id)
        run, items = repository.newest_run(), repository.item_forecasts(item_ids)
    cover_by_item = {}
    for item_forecast in items:
        reply = item_forecast_reply(
            item_forecast, run, settings.zone, visit.now_ms, enabled=True
        )
        cover_by_item[item_forecast.item_id] = (
            reply["days_of_cover"],
            reply["stockout_date"],
        )
    return cover_by_item
