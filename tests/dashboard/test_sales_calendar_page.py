"""Calendar page: a merchant enters campaigns, closed days and a country of holidays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from productrecs.records.sales_calendar.repository import SalesCalendarRepository
from productrecs.tenancy.accounts.store_management import find_store
from tests.support.dashboard import text_of

if TYPE_CHECKING:
    from productrecs.tenancy.accounts.store import Store
    from tests.dashboard.conftest import Office

PAGE = "/dashboard/demand/calendar"
SALE = {
    "kind": "campaign",
    "name": "Summer sale",
    "first_day": "2026-06-01",
    "last_day": "2026-06-14",
    "entry_category": "",
    "expected_change": "",
}


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_a_campaign_is_entered_and_removed(office: Office, store: Store) -> None:
    member = office.member(store)

    added = member.post(f"{PAGE}/add", page=PAGE, **SALE)
    shown = flat(text_of(member.get(PAGE)))
    removed = member.post(f"{PAGE}/remove", page=PAGE, number="1")
    again = member.post(f"{PAGE}/remove", page=PAGE, number="1")

    assert (added.status, removed.status, again.status) == (303, 303, 404)
    assert "Summer sale Campaign all as past campaigns" in shown
    assert "No entries yet" in text_of(member.get(PAGE))


def test_a_wrong_entry_keeps_what_was_typed(office: Office, store: Store) -> None:
    member = office.member(store)

    refused = member.post(f"{PAGE}/add", page=PAGE, **SALE | {"expected_change": "much"})

    assert refused.status == 422
    assert "The expected change is -100 to 900 per cent, or empty." in text_of(refused)
    assert 'value="Summer sale"' in refused.body.decode()
    with office.services.database.reading() as connection:
        assert not SalesCalendarRepository(connection, store.store_id).entries()


def test_the_country_of_the_holidays_is_checked(office: Office, store: Store) -> None:
    member = office.member(store)

    wrong = member.post(f"{PAGE}/country", page=PAGE, holiday_country="DE-XX")
    saved = member.post(f"{PAGE}/country", page=PAGE, holiday_country="de-by")

    assert (wrong.status, saved.status) == (422, 303)
    assert "The country of the holidays must be a country such as DE" in text_of(wrong)
    stored = find_store(office.services.database, store.domain).settings
    assert stored.holiday_country == "DE-BY"
