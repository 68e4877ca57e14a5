"""Calendar page: campaigns, closed days and holidays that the forecast knows ahead."""

import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import (
    Page,
    PageOrRecordNotFoundError,
    Reply,
    Visit,
    form_pages,
    parse_row_number,
)
from productrecs.dashboard.pages.catalog.recommendation_and_search_settings import (
    setting_errors,
)
from productrecs.engines.demand.calendar_effects import SpecialDayKind
from productrecs.features.forecast.forecast_replies import HORIZON_DAYS, today_of
from productrecs.features.forecast.repository import ForecastRepository
from productrecs.records.sales_calendar.calendar_entry import (
    CalendarEntry,
    CalendarEntryError,
    CalendarEntryKind,
    parse_calendar_entry,
)
from productrecs.records.sales_calendar.repository import SalesCalendarRepository
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.demand.calendar_events import public_holidays

CALENDAR_PATH: Final = "/dashboard/demand/calendar"
COUNTRY: Final = "holiday_country"
COUNTRY_LABELS: Final = {COUNTRY: "The country of the holidays"}
_KINDS: Final = (("campaign", "Campaign"), ("closure", "Closed"))
_FIELDS: Final = (
    "kind",
    "name",
    "first_day",
    "last_day",
    "entry_category",
    "expected_change",
    "price_change",
)
_CAMPAIGN_FIELDS: Final = _FIELDS[-3:]
_KNOWN_TO_NEXT: Final = (
    "The next forecast uses it: tonight's, or the one that you compute now."
)


@dataclass(frozen=True, slots=True)
class UpcomingCalendarEvent:
    """A holiday, campaign or closure ahead.

    `factor` is that of the last forecast; None if it did not know the event.
    """

    kind: str
    name: str
    first_day: str
    last_day: str
    factor: float | None


def add_calendar_entry(visit: Visit) -> Reply:
    """Store a campaign or closed days."""
    sent = {name: visit.form[name] for name in _FIELDS}
    if sent["kind"] == CalendarEntryKind.CLOSURE:
        sent |= dict.fromkeys(_CAMPAIGN_FIELDS, "")
    try:
        entry = parse_calendar_entry(*sent.values())
        with visit.database.transaction() as transaction:
            calendar = SalesCalendarRepository(transaction, visit.store.store_id)
            same_days = [e.name for e in calendar.entries().values() if entry.overlaps(e)]
            calendar.add(entry, visit.now_ms)
    except CalendarEntryError as error:
        return show_sales_calendar(visit, status=422, sent=sent, error=sentence(error))
    message = f"Added. {_KNOWN_TO_NEXT}"
    if same_days:
        message += (
            f" Some of its days are those of {', '.join(same_days[:3])} too: there the"
            " forecast multiplies the effects. Remove one if they are the same campaign."
        )
    return visit.redirect(CALENDAR_PATH, message)


def remove_calendar_entry(visit: Visit) -> Reply:
    """Delete an entry.

    Raises:
        PageOrRecordNotFoundError: when there is none with this number.
    """
    number = parse_row_number(visit.form["number"])
    with visit.database.transaction() as transaction:
        calendar = SalesCalendarRepository(transaction, visit.store.store_id)
        if number not in calendar.entries():
            message = "This entry is already removed."
            raise PageOrRecordNotFoundError(message)
        calendar.remove(number)
    return visit.redirect(CALENDAR_PATH, "Removed.")


def save_holiday_country(visit: Visit) -> Reply:
    """Store whose public holidays the forecast knows."""
    sent = {COUNTRY: visit.form[COUNTRY]}
    if errors := setting_errors(sent, COUNTRY_LABELS):
        return show_sales_calendar(
            visit, status=422, country=sent[COUNTRY], country_error=errors[COUNTRY]
        )
    visit.change_settings(sent)
    return visit.redirect(CALENDAR_PATH, f"Saved. {_KNOWN_TO_NEXT}")


def queue_forecast(visit: Visit) -> Reply:
    """Queue a forecast, which uses the calendar of now."""
    if not visit.store.settings.demand_forecast:
        raise PageOrRecordNotFoundError
    visit.enqueue_job("forecast")
    message = "A forecast is queued. It takes seconds, in large shops minutes."
    return visit.redirect(CALENDAR_PATH, message)


def upcoming_calendar_events(
    settings: StoreSettings,
    entries: Iterable[CalendarEntry],
    forecast: Sequence[Mapping[str, Any]],
    today: date,
) -> list[UpcomingCalendarEvent]:
    """Return the events of the next 28 days, with what the last forecast made of them.

    Planned prices are those that the last forecast knew.
    """
    last = today + timedelta(days=HORIZON_DAYS - 1)
    event_keys = [
        ("holiday", event.name, day, day)
        for event in public_holidays(settings.holiday_country, today, last)
        for day in [date.fromordinal(event.first).isoformat()]
    ]
    event_keys += [
        (entry.kind.value, entry.name, entry.first_day, entry.last_day)
        for entry in entries
        if entry.first_day <= last.isoformat() and entry.last_day >= today.isoformat()
    ]
    keys = ("kind", "name", "first_day", "last_day")
    event_keys += [
        tuple(known[key] for key in keys)
        for known in forecast
        if known["kind"] == SpecialDayKind.PLANNED_PRICE
        and known["last_day"] >= today.isoformat()
    ]
    factors = {tuple(known[key] for key in keys): known["factor"] for known in forecast}
    events = [UpcomingCalendarEvent(*key, factors.get(key)) for key in event_keys]
    return sorted(events, key=lambda event: (event.first_day, event.name))


def show_sales_calendar(
    visit: Visit,
    status: int = 200,
    sent: Mapping[str, str] | None = None,
    error: str = "",
    country: str | None = None,
    country_error: str = "",
) -> Reply:
    """Show the days ahead, with what the last forecast made of them, and the entries."""
    settings = visit.store.settings
    with visit.database.reading() as connection:
        entries = SalesCalendarRepository(connection, visit.store.store_id).entries()
        run = ForecastRepository(connection, visit.store.store_id).newest_run()
    today = today_of(visit.now_ms, settings.zone)
    forecast = [] if run is None else run.total.get("events", [])
    return visit.render(
        "sales_calendar.html",
        status=status,
        entries=entries,
        events=upcoming_calendar_events(settings, entries.values(), forecast, today),
        is_on=settings.demand_forecast,
        kinds=_KINDS,
        kind_names=dict(_KINDS),
        sent=sent or dict.fromkeys(_FIELDS, ""),
        error=error,
        country=settings.holiday_country if country is None else country,
        country_error=country_error,
        elasticity=0 if run is None else run.total.get("price_elasticity", 0),
        today=today.isoformat(),
        has_holidays=importlib.util.find_spec("holidays") is not None,
    )


PAGES: Final = (
    Page(CALENDAR_PATH, "Calendar", show_sales_calendar),
    *form_pages(
        CALENDAR_PATH,
        "Calendar",
        ("add", add_calendar_entry, "Added to the sales calendar"),
        ("remove", remove_calendar_entry, "Removed from the sales calendar"),
        ("forecast", queue_forecast, "Asked for a forecast"),
        ("country", save_holiday_country, "Changed the country of the holidays"),
    ),
)
