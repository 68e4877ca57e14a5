"""ISO dates: the first and the last millisecond of a date in a store's time zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from productrecs.core.errors import ProductRecsError

if TYPE_CHECKING:
    from datetime import tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_DATE_LENGTH = len("2026-03-01")
_FIRST_MS = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
_LAST_MS = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND


class InvalidDateError(ProductRecsError):
    """The text is neither an ISO date nor an ISO datetime."""


def normalise_date_or_datetime(text: str) -> str:
    """Return an ISO date as `YYYY-MM-DD`, an ISO datetime as `YYYY-MM-DDTHH:MM:SS[...]`.

    A datetime keeps its offset; one without is interpreted later, in the store's zone.

    Raises:
        InvalidDateError: when the text is neither.
    """
    stripped = text.strip()
    try:
        return date.fromisoformat(stripped).isoformat()
    except ValueError:
        pass
    try:
        return _utc_if_offset_has_seconds(datetime.fromisoformat(stripped)).isoformat()
    except (ValueError, OverflowError):
        message = (
            "write a date such as 2026-03-01, or a date and time such as 2026-03-01T09:00"
        )
        raise InvalidDateError(message) from None


def window_start_ms(iso_text: str, zone: tzinfo) -> int:
    """Return the first UTC millisecond of a window that opens at a normalised text.

    A date opens at its midnight in `zone`, a datetime at its instant.
    """
    if len(iso_text) == _DATE_LENGTH:
        return _midnight_ms(date.fromisoformat(iso_text), zone)
    return _instant_ms(datetime.fromisoformat(iso_text), zone)


def window_end_ms(iso_text: str, zone: tzinfo) -> int:
    """Return the last UTC millisecond of a window that closes at a normalised text.

    A date closes with the last millisecond of its day in `zone`, a datetime at its
    instant; both still belong to the window.
    """
    if len(iso_text) != _DATE_LENGTH:
        return _instant_ms(datetime.fromisoformat(iso_text), zone)
    day = date.fromisoformat(iso_text)
    if day == date.max:
        return _LAST_MS
    return _midnight_ms(day + timedelta(days=1), zone) - 1


def _utc_if_offset_has_seconds(moment: datetime) -> datetime:
    """Return `moment` in UTC if its offset has seconds, which feeds never intend."""
    offset = moment.utcoffset()
    return moment.astimezone(UTC) if offset and offset % timedelta(minutes=1) else moment


def _midnight_ms(day: date, zone: tzinfo) -> int:
    return _instant_ms(datetime.combine(day, time.min), zone)


def _instant_ms(moment: datetime, zone: tzinfo) -> int:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
    try:
        return (aware - _EPOCH) // _MILLISECOND
    except OverflowError:  # the zone's offset moves year 1 or 9999 out of range
        return _FIRST_MS if moment.year == 1 else _LAST_MS
