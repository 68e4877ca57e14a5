"""Price format: as readers of each locale write prices."""

from __future__ import annotations

import pytest

from productrecs.features.widgets.price_format import price_locale, price_pattern
from productrecs.features.widgets.translations import LANGUAGES
from productrecs.features.widgets.widget_config import WidgetConfig
from productrecs.tenancy.accounts.store_settings import StoreSettings

BLANK = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("locale", "currency", "form"),
    [
        ("de", "EUR", f"1.234,00{BLANK}€"),
        ("de-AT", "EUR", f"€{BLANK}1.234,00"),
        ("de-DE", "eur", f"1.234,00{BLANK}€"),
        ("EN-gb", "GBP", "£1,234.00"),
        ("en-US", "JPY", "¥1,234"),
        ("pl", "PLN", f"1234,00{BLANK}zł"),
        ("ar", "EUR", None),  # has signs of its own for digits
        ("en-XX", "EUR", None),
        ("en", "XXX", None),
        ("", "EUR", None),
    ],
)
def test_a_place_has_its_own_form_of_a_price(
    locale: str, currency: str, form: str | None
) -> None:
    assert price_pattern(locale, currency) == form


def test_every_language_that_widgets_speak_is_told_but_one() -> None:
    assert [one for one in LANGUAGES if price_pattern(one, "EUR") is None] == ["ar"]


@pytest.mark.parametrize(
    ("page", "shop", "locale"),
    [
        ("", "de", "de"),
        ("fr", "de", "fr"),
        ("en", "en-GB", "en-GB"),
        ("en_US", "en-GB", "en-US"),
    ],
)
def test_the_pages_language_wins_unless_the_shop_says_the_same_more_exactly(
    page: str, shop: str, locale: str
) -> None:
    assert price_locale(page, shop) == locale


def test_a_widget_is_told_the_form_and_the_merchants_own_stays() -> None:
    store = StoreSettings(language="en", currency="EUR")

    def told(config: WidgetConfig, lang: str) -> object:
        strings = config.resolved("recs", store, lang).settings["strings"]
        assert isinstance(strings, dict)
        return strings.get("price")

    assert told(WidgetConfig(), "de-AT") == f"€{BLANK}1.234,00"
    assert told(WidgetConfig({"currency": "XXX"}), "de-AT") is None
    assert told(WidgetConfig({"strings": {"price": "EUR 1 234"}}), "de-AT") == "EUR 1 234"
