"""Widget translations: complete in every language, with the merchant's own texts."""

from __future__ import annotations

import re

import pytest

from productrecs.features.widgets.translations import LANGUAGES, translations
from productrecs.features.widgets.widget_config import WidgetConfig
from productrecs.tenancy.accounts.store_settings import StoreSettings

TYPES = ("recs", "search", "look")
STORE = StoreSettings(language="de")


def holes(word: str) -> list[str]:
    """Return what a widget puts into a word."""
    return sorted(re.findall(r"\{\w\}", word))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("widget_type", TYPES)
def test_every_word_is_said_in_every_language(language: str, widget_type: str) -> None:
    english, words = translations(widget_type, "en"), translations(widget_type, language)

    assert words.keys() == english.keys()
    for name, word in words.items():
        assert word.strip() == word != ""
        assert holes(word) == holes(english[name])


def test_there_are_as_many_languages_as_of_titles() -> None:
    assert len(LANGUAGES) >= 8
    assert len({translations("recs", one)["add"] for one in LANGUAGES}) == len(LANGUAGES)


def test_words_are_in_the_pages_language_else_in_the_shops() -> None:
    def said(lang: str) -> tuple[object, object]:
        settings = WidgetConfig().resolved("trending", STORE, lang).settings
        strings = settings["strings"]
        assert isinstance(strings, dict)
        return settings["title"], strings["next"]

    assert said("fr-CA") == ("Tendances du moment", "Suivant")
    assert said("") == said("eo") == ("Gerade beliebt", "Weiter")


def test_the_merchants_own_words_stay() -> None:
    config = WidgetConfig({"strings": {"add": "Her damit"}, "title": "Mehr"})

    settings = config.resolved("recs", STORE, "en").settings

    assert settings["title"] == "Mehr"
    assert isinstance(settings["strings"], dict)
    assert settings["strings"] | {"add": "Her damit", "next": "Next"} == settings["strings"]
