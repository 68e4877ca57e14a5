"""Store settings: only known codes are stored; weeks begin on the store's day."""

import re
from datetime import date

import pytest

from productrecs.tenancy.accounts.store_settings import (
    SettingError,
    StoreSettings,
    parse_setting,
    resolve_settings,
)


@pytest.mark.parametrize(
    ("name", "text", "near"),
    [
        ("currency", "EURO", "EUR (Euro)"),
        ("currency", "dollar", "USD"),
        ("currency", "POINTS", "ISO 4217"),
        ("timezone", "Europe/Berln", "Europe/Berlin"),
        ("timezone", "berlin", "Europe/Berlin"),
        ("language", "german", "de (German)"),
        ("language", "xx", "such as en"),
        ("language", "en-XX", "such as en"),
        ("week_start", "1", "one of monday, tuesday"),
        ("contact_email", "call us", "such as help@shop.example.com"),
        ("holiday_country", "Germany", "the nearest: DE (Germany)"),
        ("holiday_country", "DE-XX", "the code of a country, such as DE"),
    ],
)
def test_an_unknown_code_is_refused_and_the_nearest_named(
    name: str, text: str, near: str
) -> None:
    with pytest.raises(SettingError, match=re.escape(near)):
        parse_setting(name, text)


@pytest.mark.parametrize(
    ("name", "text", "stored"),
    [
        ("currency", " eur ", "EUR"),
        ("currency", "XOF", "XOF"),
        ("timezone", "America/Argentina/Buenos_Aires", None),
        ("language", "zh-Hant-TW", None),
        ("language", "gsw", None),
        ("contact_email", " Help@Shop.example ", "help@shop.example"),
        ("contact_email", "", None),
        ("holiday_country", " de-by ", "DE-BY"),
        ("holiday_country", "GB", None),
        ("holiday_country", "", None),
    ],
)
def test_a_known_code_is_stored(name: str, text: str, stored: str | None) -> None:
    assert parse_setting(name, text) == (stored or text)


@pytest.mark.parametrize(
    ("week_start", "day", "first"),
    [
        ("monday", "2026-11-28", "2026-11-23"),  # a Saturday
        ("monday", "2026-11-29", "2026-11-23"),
        ("sunday", "2026-11-29", "2026-11-29"),
        ("sunday", "2026-11-28", "2026-11-22"),
        ("saturday", "2026-11-28", "2026-11-28"),
        ("saturday", "2026-11-27", "2026-11-21"),
    ],
)
def test_a_week_begins_on_the_stores_first_day(
    week_start: str, day: str, first: str
) -> None:
    settings = StoreSettings(week_start=week_start)
    assert settings.week_of(date.fromisoformat(day)) == date.fromisoformat(first)


@pytest.mark.parametrize("name", ["learned_order", "explore_percent", "personal_search"])
def test_a_stored_setting_that_is_gone_is_ignored(name: str) -> None:
    assert resolve_settings({name: False, "rec_num": 5}) == StoreSettings(rec_num=5)
    with pytest.raises(SettingError, match="there is no setting"):
        parse_setting(name, "false")
