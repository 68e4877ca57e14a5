"""Report: figures and a table, each number with its definition."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from productrecs.core.errors import ProductRecsError

if TYPE_CHECKING:
    from datetime import tzinfo


ReportValue = str | int | float | bool | None

DEFAULT_DAYS: Final = 30
MAX_DAYS: Final = 3_660
DEFAULT_ROWS: Final = 100
MAX_ROWS: Final = 10_000
_LONGEST_NAME: Final = 64


class ReportQueryError(ProductRecsError):
    """A report query is invalid; the message lists the valid values."""


@dataclass(frozen=True, slots=True)
class FigureDefinition:
    """A figure's name, meaning and unit.

    `unit` is one of text, day, time, count, share (0 to 1), money, number.
    """

    name: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its definition; None: no data yet."""

    definition: FigureDefinition
    value: ReportValue


def define_figure(name: str, unit: str, value: ReportValue, meaning: str) -> Figure:
    """Return a figure with its definition."""
    return Figure(FigureDefinition(name, unit, meaning), value)


@dataclass(frozen=True, slots=True)
class Report:
    """Figures, one table, and notes for the reader."""

    name: str
    title: str
    figures: tuple[Figure, ...] = ()
    columns: tuple[FigureDefinition, ...] = ()
    rows: tuple[tuple[ReportValue, ...], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportQuery:
    """A report query: days of the store (inclusive), a grouping, a row limit."""

    first_day: str  # such as 2026-03-01
    last_day: str
    by: tuple[str, ...] = ()  # empty: the report's default
    limit: int = DEFAULT_ROWS
    test: str | None = None  # the experiment; None: the store's current one
    where: tuple[tuple[str, str], ...] = ()  # filters, by name


def parse_report_query(
    now_ms: int,
    zone: tzinfo,
    *,
    first_day: str | None = None,
    last_day: str | None = None,
    by: str | None = None,
    limit: int | None = None,
    test: str | None = None,
) -> ReportQuery:
    """Return the query; the default is the last 30 days, including today.

    `by` names columns, separated by commas.

    Raises:
        ReportQueryError: for invalid days, too many days, or days in the wrong order.
    """
    today = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(zone).date()
    last = today if not last_day else _parse_day(last_day)
    month = timedelta(days=DEFAULT_DAYS - 1)
    earliest = last - month if last - date.min > month else date.min
    first = earliest if not first_day else _parse_day(first_day)
    if first > last:
        message = f"{first} is after {last}: the first day must not be after the last"
        raise ReportQueryError(message)
    if (last - first).days >= MAX_DAYS:
        message = f"from {first} to {last} is more than {MAX_DAYS} days"
        raise ReportQueryError(message)
    requested = DEFAULT_ROWS if limit is None else limit
    if not 1 <= requested <= MAX_ROWS:
        message = f"the number of rows is from 1 to {MAX_ROWS}"
        raise ReportQueryError(message)
    if test and (len(test) > _LONGEST_NAME or not test.isprintable()):
        message = f"a test's name has up to {_LONGEST_NAME} plain characters"
        raise ReportQueryError(message)
    groups = tuple(name.strip() for name in (by or "").split(",") if name.strip())
    return ReportQuery(first.isoformat(), last.isoformat(), groups, requested, test or None)


def _parse_day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        message = f"{text!r} is not a day; write one such as 2026-03-01"
        raise ReportQueryError(message) from error


def share_of(part: float, total: float) -> float | None:
    """Return `part` / `total`; None when `total` is 0."""
    return part / total if total else None
