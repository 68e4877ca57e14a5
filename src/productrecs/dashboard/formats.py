"""Formats: money, numbers, dates and times in the store's language; errors as sentences."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from typing import Final, Self

from productrecs.core.errors import ProductRecsError
from productrecs.features.widgets.price_format import PriceFormat, price_locales
from productrecs.storage.sql.storage_usage import to_readable_unit
from productrecs.tenancy.accounts.currency_language_and_zone_codes import known_codes
from productrecs.tenancy.accounts.store_settings import StoreSettings

NOTHING: Final = "–"  # noqa: RUF001 - a table's placeholder for a missing value
_MINUTE_SECONDS: Final = 60
_HOUR_SECONDS: Final = 3_600
_DAY_SECONDS: Final = 86_400
_MANY_DAYS: Final = 30


@dataclass(frozen=True, slots=True)
class Formats:
    """How prices and numbers are written, the store's currency, and its time zone."""

    prices: PriceFormat
    currency: str
    zone: tzinfo

    @classmethod
    def plain(cls) -> Self:
        """Return the formats of pages without a store."""
        return cls(PriceFormat(",", ".", 2, "{}"), "", UTC)

    @classmethod
    def of(cls, settings: StoreSettings) -> Self:
        """Return the formats of a store."""
        prices = PriceFormat.of_store_language(settings)
        return cls(prices, settings.currency, settings.zone)

    def number(self, value: float | None, places: int = 0) -> str:
        """Return a number with its thousands grouped."""
        return NOTHING if value is None else self.prices.format_number(value, places)

    def count(self, value: float | None, noun: str) -> str:
        """Return a number with its noun, such as `1 click` and `2 clicks`."""
        return f"{self.number(value)} {noun if value == 1 else f'{noun}s'}"

    def size(self, value: float) -> str:
        """Return bytes as kB, MB or GB."""
        number, unit = to_readable_unit(value)
        return f"{self.number(number, 1)}\N{NO-BREAK SPACE}{unit}"

    def month(self, value: str) -> str:
        """Return a month such as `November 2026` from `2026-11`."""
        return f"{date.fromisoformat(f'{value}-01'):%B %Y}"

    def money(self, value: float | None, currency: str = "") -> str:
        """Return an amount in the store's currency, or in another one."""
        if value is None:
            return NOTHING
        if currency and currency != self.currency:
            return f"{self.number(value, 2)} {currency}"
        return self.prices.format_price(value)

    def share(self, value: float | None, places: int = 1) -> str:
        """Return a fraction from 0 to 1 as a percentage."""
        if value is None:
            return NOTHING
        return f"{self.number(value * 100, places)}\N{NO-BREAK SPACE}%"

    def day(self, value: str | date | None) -> str:
        """Return a day such as `23 Nov 2026`."""
        if not value:
            return NOTHING
        day = date.fromisoformat(value[:10]) if isinstance(value, str) else value
        return f"{day.day} {day:%b %Y}"

    def time(self, moment_ms: int | None) -> str:
        """Return a moment in the store's time zone, such as `23 Nov 2026, 14:05`."""
        if moment_ms is None:
            return NOTHING
        moment = datetime.fromtimestamp(moment_ms / 1000, UTC).astimezone(self.zone)
        return f"{self.day(moment.date())}, {moment:%H:%M}"

    def ago(self, moment_ms: int | None, now_ms: int) -> str:
        """Return the time since a moment as text; the day if it is long ago."""
        if moment_ms is None:
            return "never"
        seconds = max(0, now_ms - moment_ms) // 1000
        if seconds < _MINUTE_SECONDS:
            return "just now"
        if seconds < _HOUR_SECONDS:
            return f"{seconds // _MINUTE_SECONDS} min ago"
        if seconds < _DAY_SECONDS:
            return f"{seconds // _HOUR_SECONDS} h ago"
        days = seconds // _DAY_SECONDS
        if days < _MANY_DAYS:
            return f"{days} {'day' if days == 1 else 'days'} ago"
        moment = datetime.fromtimestamp(moment_ms / 1000, UTC).astimezone(self.zone)
        return self.day(moment.date())

    def value(self, value: object, unit: str) -> str:
        """Return a report's value by the unit of its definition."""
        if value is None or value == "":
            return NOTHING
        if isinstance(value, bool):
            return "yes" if value else "no"
        if not isinstance(value, int | float):
            return self._format_text_value(str(value), unit)
        if unit in {"money", "share"}:
            return self.money(value) if unit == "money" else self.share(value)
        return self.number(value, 0 if unit == "count" or value == int(value) else 1)

    def _format_text_value(self, value: str, unit: str) -> str:
        if unit != "time":
            return self.day(value) if unit == "day" else value
        return self.time(int(datetime.fromisoformat(value).timestamp() * 1000))


def sentence(message: ProductRecsError | str) -> str:
    """Return an error, or its message, as a sentence."""
    text = str(message)
    return f"{text[:1].upper()}{text[1:]}."


def currency_options() -> list[tuple[str, str]]:
    """Return every currency by its code."""
    return [(code, f"{code}: {name}") for code, name in known_codes().currencies.items()]


def language_options(chosen: str = "") -> list[tuple[str, str]]:
    """Return the tag and the name of each language that a store may have, by name."""
    known = known_codes()
    tags = {*price_locales(), *filter(None, [chosen])}
    return [
        (tag, known.language_name(tag)) for tag in sorted(tags, key=known.language_name)
    ]
