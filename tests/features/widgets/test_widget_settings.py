"""Widget translations: complete in every language, with the merchant's own texts."""

import re

import pytest

from productrecs.features.widgets.price_format import choose_price_locale, sample_price
from productrecs.features.widgets.widget_config import WidgetConfig
from productrecs.features.widgets.widget_settings import LANGUAGES, widget_texts
from productrecs.tenancy.accounts.store_settings import StoreSettings

TYPES = ("recs", "search", "look")
STORE = StoreSettings(language="de")


def holes(word: str) -> list[str]:
    """Return what a widget puts into a word."""
    return sorted(re.findall(r"\{\w\}", word))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("widget_type", TYPES)
def test_every_text_is_translated_into_every_language(
    language: str, widget_type: str
) -> None:
    english, words = widget_texts(widget_type, "en"), widget_texts(widget_type, language)

    assert words.keys() == english.keys()
    for name, word in words.items():
        assert word.strip() == word != ""
        assert holes(word) == holes(english[name])


def test_there_are_as_many_languages_as_of_titles() -> None:
    assert len(LANGUAGES) >= 8
    assert len({widget_texts("recs", one)["add"] for one in LANGUAGES}) == len(LANGUAGES)


def test_words_are_in_the_pages_language_else_in_the_shops() -> None:
    def said(lang: str) -> tuple[object, object]:
        settings = WidgetConfig().with_defaults("trending", STORE, lang).settings
        strings = settings["strings"]
        assert isinstance(strings, dict)
        return settings["title"], strings["next"]

    assert said("fr-CA") == ("Tendances du moment", "Suivant")
    assert said("") == said("eo") == ("Gerade beliebt", "Weiter")


def test_the_merchants_own_words_stay() -> None:
    config = WidgetConfig({"strings": {"add": "Her damit"}, "title": "Mehr"})

    settings = config.with_defaults("recs", STORE, "en").settings

    assert settings["title"] == "Mehr"
    assert isinstance(settings["strings"], dict)
    assert settings["strings"] | {"add": "Her damit", "next": "Next"} == settings["strings"]


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
    assert sample_price(locale, currency) == form


def test_every_widget_language_but_one_has_a_price_pattern() -> None:
    assert [one for one in LANGUAGES if sample_price(one, "EUR") is None] == ["ar"]


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
    assert choose_price_locale(page, shop) == locale


def test_a_widget_gets_the_price_form_and_the_merchants_own_stays() -> None:
    store = StoreSettings(language="en", currency="EUR")

    def price_form(config: WidgetConfig, lang: str) -> object:
        strings = config.with_defaults("recs", store, lang).settings["strings"]
        assert isinstance(strings, dict)
        return strings.get("price")

    assert price_form(WidgetConfig(), "de-AT") == f"€{BLANK}1.234,00"
    assert price_form(WidgetConfig({"currency": "XXX"}), "de-AT") is None
    assert (
        price_form(WidgetConfig({"strings": {"price": "EUR 1 234"}}), "de-AT")
        == "EUR 1 234"
    )


def test_the_shops_own_form_of_a_price_holds_in_every_language_for_its_currency() -> None:
    store = StoreSettings(language="en", currency="EUR", price_format="1.234,00 €")

    def price_form(config: WidgetConfig, lang: str) -> object:
        strings = config.with_defaults("recs", store, lang).settings["strings"]
        assert isinstance(strings, dict)
        return strings.get("price")

    assert (
        price_form(WidgetConfig(), "en") == price_form(WidgetConfig(), "xx") == "1.234,00 €"
    )
    assert price_form(WidgetConfig({"currency": "USD"}), "en") == "$1,234.00"
    assert (
        price_form(WidgetConfig({"strings": {"price": "EUR 1 234"}}), "en") == "EUR 1 234"
    )
