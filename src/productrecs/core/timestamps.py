"""Timestamps: ISO dates and times, and dates as people and programs write them."""

import re
from datetime import UTC, date, datetime, tzinfo
from typing import NamedTuple

_TIME = r"(?:,?[ T]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*(?:([AaPp])\.?[Mm]\.?)?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_TIME}", re.ASCII)
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){_TIME}", re.ASCII)
_YEAR_SHORT = re.compile(
    rf"\d{{1,2}}([-/.])(?:\d{{1,2}}|[A-Za-z]{{3,9}})\1\d{{2}}{_TIME}", re.ASCII
)
_WEEKDAY = r"(?:[A-Za-z]{3,9}\.?,? +)?"
_NAME = r"([A-Za-z]{3,9})\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_NAME_FIRST = re.compile(rf"{_WEEKDAY}{_NAME} {_DAY},? (\d{{4}}){_TIME}", re.ASCII)
_NAME_SECOND = re.compile(rf"{_WEEKDAY}{_DAY}[- ]{_NAME},?[- ](\d{{4}}){_TIME}", re.ASCII)
_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS = 12
_NOON = 12


def parse_timestamp(text: str, zone: tzinfo = UTC) -> int:
    """Return the UTC milliseconds of an ISO date or datetime.

    A text without an offset is read in `zone`; a bare date means midnight there.

    Raises:
        ValueError: when the text is not ISO 8601, or its year is out of range.
    """
    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    try:
        seconds = moment.timestamp()
    except OverflowError as error:
        message = f"the time {text!r} is out of range"
        raise ValueError(message) from error
    return round(seconds * 1000)


def iso(moment_ms: int) -> str:
    """Return `moment_ms` as ISO 8601 in UTC, to the millisecond, ending in `Z`."""
    moment = datetime.fromtimestamp(moment_ms / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def written_date_to_iso(text: str, *, day_first: bool | None = None) -> str | None:
    """Return a date as people and programs write it (`25/10/2026 4:52 pm`) as ISO.

    Dates with points begin with the day; English names of months are read. `day_first`
    resolves ambiguous dates. Return None for unreadable and ambiguous dates.
    """
    stripped = text.strip()
    if found := _YEAR_FIRST.fullmatch(stripped):
        year, _, month, day, *rest = found.groups()
    elif found := _YEAR_LAST.fullmatch(stripped):
        first_number, separator, second_number, year, *rest = found.groups()
        order = True if separator == "." else detect_day_first(stripped)
        order = day_first if order is None else order
        if order is None and first_number != second_number:
            return None
        day, month = (
            (first_number, second_number) if order else (second_number, first_number)
        )
    elif found := _NAME_FIRST.fullmatch(stripped):
        name, day, year, *rest = found.groups()
        month = _month_number(name)
    elif found := _NAME_SECOND.fullmatch(stripped):
        day, name, year, *rest = found.groups()
        month = _month_number(name)
    else:
        return None
    return _date_parts_to_iso((year, month, day), *rest)


def has_short_year(text: str) -> bool:
    """Return whether a text is a date whose year has only two digits, such as `3/10/26`."""
    return _YEAR_SHORT.fullmatch(text.strip()) is not None


def _month_number(name: str) -> str:
    """Return the number of an English month, such as `oct`; `0` for another word."""
    word = name.casefold()
    found = (
        n
        for n, month in enumerate(_MONTH_NAMES, 1)
        if word in {month, month[:3], month[:4]}
    )
    return str(next(found, 0))


def _date_parts_to_iso(
    day: tuple[str, str, str],
    hour: str | None,
    minute: str,
    second: str | None,
    half: str | None,
) -> str | None:
    try:
        day_date = date(*map(int, day))
        if hour is None:
            return day_date.isoformat()
        hours = int(hour) if half is None else int(hour) % _NOON
        hours += _NOON if half in {"p", "P"} else 0
        moment = datetime(  # noqa: DTZ001 - the caller knows the time zone
            day_date.year,
            day_date.month,
            day_date.day,
            hours,
            int(minute),
            int(second or 0),
        )
    except ValueError:
        return None
    return moment.isoformat()


def detect_day_first(text: str) -> bool | None:
    """Return whether `25/10/2026` has the day first; None if ambiguous."""
    found = _YEAR_LAST.fullmatch(text.strip())
    if found is None:
        return None
    first_number, second_number = int(found.group(1)), int(found.group(3))
    if found.group(2) == ".":
        return None  # dates with points never begin with the month
    if (first_number > _MONTHS) == (second_number > _MONTHS):
        return None
    return first_number > _MONTHS


class FileTimeFormat(NamedTuple):
    """The time format of a file, if it is not ISO.

    `pattern` is one such as `%d/%m/%Y %H:%M`. Without one, common formats are parsed;
    `day_first` decides when day and month are ambiguous.
    """

    pattern: str | None = None
    day_first: bool | None = None

    def iso(self, text: str) -> str:
        """Return a time as ISO; unchanged if it cannot be parsed."""
        if self.pattern is not None:
            try:
                return datetime.strptime(text, self.pattern).isoformat()  # noqa: DTZ007
            except ValueError:
                return text
        return written_date_to_iso(text, day_first=self.day_first) or text
