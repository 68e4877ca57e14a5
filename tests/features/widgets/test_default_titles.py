"""Default titles: every widget type, in every language."""

import pytest

from productrecs.features.widgets.widget_settings import default_title

TYPES = ("recs", "fbt", "cart", "trending", "search", "look")
LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pl", "pt", "sv", "da", "cs", "ja", "ar")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_type_has_its_own_title(language: str) -> None:
    titles = [default_title(widget_type, language) for widget_type in TYPES]

    assert len(set(titles)) == len(TYPES)
    assert all(title == title.strip() != "" for title in titles)


def test_every_language_has_its_own_words() -> None:
    assert len({default_title("recs", language) for language in LANGUAGES}) == len(
        LANGUAGES
    )


def test_the_region_and_the_case_of_a_locale_do_not_matter() -> None:
    assert (
        default_title("recs", "de-AT")
        == default_title("recs", "DE")
        == default_title("recs", "de")
    )


def test_a_language_we_do_not_speak_is_english() -> None:
    assert (
        default_title("fbt", "eo")
        == default_title("fbt", "")
        == "Frequently bought together"
    )


def test_an_unknown_type_has_the_title_of_recs() -> None:
    assert default_title("footer", "fr") == default_title("recs", "fr")
