"""Time windows: when they open and close, in the store's time zone."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from productrecs.core.iso_dates import (
    InvalidDateError,
    normalise_date_or_datetime,
    window_end_ms,
    window_start_ms,
)

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
DAY_MS = 86_400_000


def _ms(iso: str) -> int:
    return round(datetime.fromisoformat(iso).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("2026-03-01", "2026-03-01"),
        (" 2026-03-01\n", "2026-03-01"),
        ("20260301", "2026-03-01"),
        ("2026-W10-1", "2026-03-02"),
        ("2026-03-01T09:30", "2026-03-01T09:30:00"),
        ("2026-03-01 09:30:00", "2026-03-01T09:30:00"),
        ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00+00:00"),
        ("2026-03-01T09:30:00+0100", "2026-03-01T09:30:00+01:00"),
        ("2026-03-01T09:30:00.123456-05:30", "2026-03-01T09:30:00.123456-05:30"),
        ("2026-03-01T09:30:00+01:00:30", "2026-03-01T08:29:30+00:00"),
    ],
)
def test_dates_and_datetimes_have_one_normal_form(text: str, normal: str) -> None:
    assert normalise_date_or_datetime(text) == normal
    assert normalise_date_or_datetime(normal) == normal
    assert len(normal) <= 32


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "2026-02-30",
        "2026-13-01",
        "0000-00-00",
        "01/03/2026",
        "1772323200",
        "2026",
        "2026-03",
        "2026-03-01T25:00",
        "2026-03-01T09:30+25:00",
        "\ud800",
        "10000-01-01",
        "0001-01-01T00:00:00+01:00:01",
        "2026-03-01\0",
    ],
)
def test_anything_else_is_no_date(text: str) -> None:
    with pytest.raises(InvalidDateError, match="write a date such as"):
        normalise_date_or_datetime(text)


@pytest.mark.parametrize(
    ("day", "zone", "first", "after"),
    [
        ("2026-03-01", UTC, "2026-03-01T00:00Z", "2026-03-02T00:00Z"),
        ("2026-03-01", BERLIN, "2026-02-28T23:00Z", "2026-03-01T23:00Z"),
        ("2026-03-29", BERLIN, "2026-03-28T23:00Z", "2026-03-29T22:00Z"),  # 23 hours
        ("2026-10-25", BERLIN, "2026-10-24T22:00Z", "2026-10-25T23:00Z"),  # 25 hours
        ("2024-02-29", NEW_YORK, "2024-02-29T05:00Z", "2024-03-01T05:00Z"),
        ("2026-12-31", NEW_YORK, "2026-12-31T05:00Z", "2027-01-01T05:00Z"),
    ],
)
def test_a_date_means_the_whole_day_in_the_stores_zone(
    day: str, zone: tzinfo, first: str, after: str
) -> None:
    assert window_start_ms(day, zone) == _ms(first)
    assert window_end_ms(day, zone) == _ms(after) - 1


def test_a_datetime_is_an_instant_whatever_the_zone() -> None:
    moment = "2026-03-01T09:30:00+01:00"

    for zone in (UTC, BERLIN, NEW_YORK):
        assert window_start_ms(moment, zone) == window_end_ms(moment, zone) == _ms(moment)


def test_a_datetime_without_offset_is_in_the_stores_zone() -> None:
    assert window_start_ms("2026-07-01T09:30:00", NEW_YORK) == _ms("2026-07-01T13:30Z")


@pytest.mark.parametrize("zone", [UTC, BERLIN, NEW_YORK, ZoneInfo("Pacific/Kiritimati")])
def test_the_last_day_of_the_calendar_means_for_ever(zone: tzinfo) -> None:
    assert window_end_ms("9999-12-31", zone) > _ms("9999-12-30T00:00Z")
    assert window_end_ms("9999-12-31T23:59:59", zone) > _ms("9999-12-30T00:00Z")
    assert window_start_ms("0001-01-01", zone) < _ms("0001-01-03T00:00Z")


@settings(max_examples=150)
@given(st.dates(), st.sampled_from([UTC, BERLIN, NEW_YORK, ZoneInfo("Asia/Kathmandu")]))
def test_every_day_has_a_beginning_and_an_end(day: object, zone: tzinfo) -> None:
    length = window_end_ms(str(day), zone) - window_start_ms(str(day), zone) + 1

    assert DAY_MS - 2 * 3_600_000 <= length <= DAY_MS + 2 * 3_600_000
