"""Price format: how a price is written in a locale and currency.

`prices.json` beside this file says how 1234 is written, by locale and currency; a country
is listed where it differs from its language. A browser can compute this itself, but is slow
at the first price of a page (decision 0084).
"""

import json
from collections.abc import Mapping
from importlib import resources
from typing import Final

_FILE: Final = resources.files(__package__) / "prices.json"
_BY_LOCALE: Final[Mapping[str, Mapping[str, str | None]]] = json.loads(
    _FILE.read_text("utf-8")
)


def price_pattern(locale: str, currency: str) -> str | None:
    """Return 1234 written as a price, such as `1.234,00 €`; None for unknown locales."""
    language, _, place = locale.partition("-")
    usual = _BY_LOCALE.get(language.lower())
    own = _BY_LOCALE.get(f"{language.lower()}-{place.upper()}") if place else {}
    if usual is None or own is None:
        return None
    name = currency.upper()
    return own.get(name, usual.get(name))


def price_locale(of_page: str, of_shop: str) -> str:
    """Return the locale for prices as widgets choose it: the page's, else the shop's.

    Where both are one language, one that names a place says more.
    """
    page, shop = of_page.replace("_", "-"), of_shop.replace("_", "-")
    is_vaguer = bool(page) and shop.lower().startswith(f"{page.lower()}-")
    return shop if is_vaguer or not page else page
