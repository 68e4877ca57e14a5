"""Price format: how prices are written in a locale, or as in a sample like `1.234,00 €`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Final, Self

from productrecs.tenancy.accounts.store_settings import StoreSettings

_SAMPLE_WHOLE: Final = ("1", "234")
_PRICES_FILE: Final = resources.files(__package__) / "prices.json"
_BY_LOCALE: Final[Mapping[str, Mapping[str, str | None]]] = json.loads(
    _PRICES_FILE.read_text("utf-8")
)


def sample_price(locale: str, currency: str) -> str | None:
    """Return 1234 written as a price, such as `1.234,00 €`; None for unknown locales."""
    language, _, place = locale.partition("-")
    by_language = _BY_LOCALE.get(language.lower())
    by_locale = _BY_LOCALE.get(f"{language.lower()}-{place.upper()}") if place else {}
    if by_language is None or by_locale is None:
        return None
    name = currency.upper()
    return by_locale.get(name, by_language.get(name))


def price_locales() -> list[str]:
    """Return the language tags whose prices are known, such as de and de-CH."""
    return list(_BY_LOCALE)


def choose_price_locale(page_locale: str, fallback_locale: str) -> str:
    """Return the locale for prices, as widgets choose it: the page's, else the other.

    If both have the same language, a locale with a region takes precedence.
    """
    page, fallback = page_locale.replace("_", "-"), fallback_locale.replace("_", "-")
    is_vaguer = bool(page) and fallback.lower().startswith(f"{page.lower()}-")
    return fallback if is_vaguer or not page else page


@dataclass(frozen=True, slots=True)
class PriceFormat:
    """The separators of a price, its decimal places, and what stands around the number."""

    grouping: str
    point: str
    places: int
    around: str  # with {} for the number

    @classmethod
    def of_sample(cls, sample: str | None, currency: str) -> Self:
        """Return the format of 1234 written as a price; a plain one without a sample."""
        if sample is None:
            return cls(",", ".", 2, f"{{}}\N{NO-BREAK SPACE}{currency.replace('{', '')}")
        begin = sample.index(_SAMPLE_WHOLE[0])
        group_at = sample.index(_SAMPLE_WHOLE[1])
        grouping = sample[begin + 1 : group_at]
        rest = sample[group_at + 3 :]
        zeros = rest.count("0")
        point = rest[: rest.index("0")] if zeros else "."
        end = group_at + 3 + (len(point) + zeros if zeros else 0)
        return cls(grouping or ",", point, zeros, f"{sample[:begin]}{{}}{sample[end:]}")

    @classmethod
    def of_store_language(cls, settings: StoreSettings) -> Self:
        """Return the format of a store's language and currency."""
        sample = sample_price(settings.language, settings.currency)
        sample = sample or sample_price("en", settings.currency)
        return cls.of_sample(sample, settings.currency)

    @classmethod
    def of_store_pages(cls, settings: StoreSettings) -> Self:
        """Return the format of prices in the store's pages."""
        if not settings.price_format:
            return cls.of_store_language(settings)
        return cls.of_sample(settings.price_format, settings.currency)

    def format_number(self, value: float, places: int) -> str:
        """Return a number with its thousands grouped."""
        text = f"{value:,.{places}f}"
        swapped = text.replace(",", "\0").replace(".", self.point)
        return swapped.replace("\0", self.grouping).replace("-", "\N{MINUS SIGN}")

    def format_price(self, value: float) -> str:
        """Return a price with its currency."""
        return self.around.format(self.format_number(value, self.places))


def format_widget_price(settings: StoreSettings, value: float) -> str:
    """Return a price as the store's widgets write it.

    A price with cents is not written in a format without them.
    """
    prices = PriceFormat.of_store_pages(settings)
    if round(value, prices.places) != value:
        prices = PriceFormat.of_store_language(settings)
    return prices.format_price(value)
