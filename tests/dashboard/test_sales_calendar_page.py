"""Calendar page: a merchant enters campaigns, closed days and a country of holidays."""

from datetime import date, timedelta

import pytest
import sqlalchemy as sa

from productrecs.dashboard.pages.analyse.sales_calendar import upcoming_calendar_events
from productrecs.features.forecast.forecast_replies import today_of
from productrecs.records.sales_calendar.calendar_entry import (
    CalendarEntry,
    CalendarEntryKind,
)
from productrecs.records.sales_calendar.repository import SalesCalendarRepository
from productrecs.storage.sql.tables import jobs
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.tenancy.accounts.store_settings import StoreSettings
from tests.dashboard.conftest import Office
from tests.support.dashboard import add_store, flat_text, text_of

PAGE = "/dashboard/demand/calendar"
SALE = {
    "kind": "campaign",
    "name": "Summer sale",
    "first_day": "2026-06-01",
    "last_day": "2026-06-14",
    "entry_category": "",
    "expected_change": "",
}


def test_a_campaign_is_entered_and_removed(office: Office, store: Store) -> None:
    member = office.member(store)

    added = member.post(f"{PAGE}/add", page=PAGE, **SALE)
    shown = flat_text(member.get(PAGE))
    removed = member.post(f"{PAGE}/remove", page=PAGE, number="1")
    again = member.post(f"{PAGE}/remove", page=PAGE, number="1")

    assert (added.status, removed.status, again.status) == (303, 303, 404)
    assert "Summer sale Campaign all as past campaigns" in shown
    assert "No entries yet" in text_of(member.get(PAGE))


def test_a_closed_day_takes_nothing_of_a_campaign(office: Office, store: Store) -> None:
    member = office.member(store)
    closed = {"kind": "closure", "name": "Inventory", "last_day": ""}
    of_campaign = {"entry_category": "Lamps", "expected_change": "x", "price_change": "y"}

    added = member.post(f"{PAGE}/add", page=PAGE, **SALE | closed | of_campaign)
    shown = flat_text(member.get(PAGE))

    assert added.status == 303
    assert "Inventory Closed all" in shown
    assert "The next forecast uses it: tonight" in shown
    member.post(f"{PAGE}/remove", page=PAGE, number="1")


@pytest.mark.parametrize(
    ("second", "warns"),
    [
        ({"name": "Sunday sale"}, True),
        ({"name": "Sunday sale", "entry_category": "Lamps"}, True),
        ({"name": "Later", "first_day": "2027-01-01", "last_day": ""}, False),
    ],
)
def test_entries_on_the_same_days_are_named(
    office: Office, store: Store, second: dict[str, str], *, warns: bool
) -> None:
    member = office.member(store)

    for entry in (SALE, SALE | second):
        member.post(f"{PAGE}/add", page=PAGE, **entry)

    said = "Some of its days are those of Summer sale too" in text_of(member.get(PAGE))
    assert said is warns


def test_a_campaign_with_a_price_says_what_the_forecast_makes_of_it(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    tomorrow = today_of(office.services.clock(), store.settings.zone) + timedelta(days=1)
    days = {"first_day": tomorrow.isoformat(), "last_day": ""}

    member.post(f"{PAGE}/add", page=PAGE, **SALE | days | {"price_change": "-20"})
    shown = flat_text(member.get(PAGE))

    assert "Campaign all as past campaigns (prices -20 %)" in shown
    assert "a price change alone changes nothing yet" in shown


def test_a_wrong_entry_keeps_what_was_typed(office: Office, store: Store) -> None:
    member = office.member(store)

    refused = member.post(f"{PAGE}/add", page=PAGE, **SALE | {"expected_change": "much"})

    assert refused.status == 422
    assert "The expected change is -100 to 900 per cent, or empty." in text_of(refused)
    assert 'value="Summer sale"' in refused.body.decode()
    with office.services.database.reading() as connection:
        assert not SalesCalendarRepository(connection, store.store_id).entries()


def test_days_ahead_come_from_the_calendar_before_a_forecast_knows_them(
    office: Office,
) -> None:
    ahead = add_store(office.services, "ahead.example", demand_forecast="true")
    member = office.member(ahead)
    today = today_of(office.services.clock(), ahead.settings.zone)
    first, after = (today + timedelta(days=count) for count in (27, 28))
    before = flat_text(member.get(PAGE))
    for name, day in (("Summer sale", first), ("Too late", after)):
        days = {"name": name, "first_day": day.isoformat(), "last_day": after.isoformat()}
        member.post(f"{PAGE}/add", page=PAGE, **SALE | days)

    shown = flat_text(member.get(PAGE)).partition("Campaigns and closed days")[0]

    assert "No holiday, campaign or closed day." in before
    assert "Summer sale the next forecast uses it" in shown
    assert "Too late" not in shown


def test_days_ahead_are_holidays_and_entries_with_the_factor_of_the_last_forecast() -> None:
    settings = StoreSettings(holiday_country="DE")
    sale = CalendarEntry(CalendarEntryKind.CAMPAIGN, "Sale", "2026-12-20", "2026-12-24")
    past = CalendarEntry(CalendarEntryKind.CLOSURE, "Past", "2026-12-01", "2026-12-02")
    days = {"first_day": "2026-12-20", "last_day": "2026-12-24"}
    price: dict[str, object] = {
        "kind": "planned_price",
        "name": "Planned price of 2 products, -20 %",
    }
    forecast: list[dict[str, object]] = [
        {"kind": "campaign", "name": "Sale", **days, "factor": 1.4},
        price | days | {"factor": 1.2},
        price | {"first_day": "2026-12-01", "last_day": "2026-12-02", "factor": 1.2},
    ]

    found = upcoming_calendar_events(settings, [past, sale], forecast, date(2026, 12, 3))

    assert [(one.kind, one.first_day, one.factor) for one in found] == [
        ("planned_price", "2026-12-20", 1.2),
        ("campaign", "2026-12-20", 1.4),
        ("holiday", "2026-12-25", None),
        ("holiday", "2026-12-26", None),
    ]


def test_the_country_of_the_holidays_is_checked(office: Office, store: Store) -> None:
    member = office.member(store)

    wrong = member.post(f"{PAGE}/country", page=PAGE, holiday_country="DE-XX")
    saved = member.post(f"{PAGE}/country", page=PAGE, holiday_country="de-by")

    assert (wrong.status, saved.status) == (422, 303)
    assert "The country of the holidays must be the code of a country" in text_of(wrong)
    stored = find_store(office.services.database, store.domain).settings
    assert stored.holiday_country == "DE-BY"


def test_a_forecast_is_computed_on_request(office: Office, store: Store) -> None:
    member = office.member(store)
    refused = member.post(f"{PAGE}/forecast", page=PAGE)
    member.post("/dashboard/demand/on", page="/dashboard/demand")
    queued = member.post(f"{PAGE}/forecast", page=PAGE)
    with office.services.database.reading() as connection:
        query = sa.select(jobs.c.kind).where(jobs.c.store_id == store.store_id)
        kinds = connection.execute(query).scalars().all()

    assert (refused.status, queued.status) == (404, 303)
    assert "forecast" in kinds
    assert "enter an expected change too" in text_of(member.get(PAGE))


def test_a_number_of_any_length_is_no_entry(office: Office, store: Store) -> None:
    member = office.member(store)

    removed = member.post(f"{PAGE}/remove", page=PAGE, number="9" * 5_000)

    assert removed.status == 404
