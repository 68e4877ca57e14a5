"""Does every type of widget have a title in every language we speak?"""

from __future__ import annotations

import pytest

from productrecs.features.widgets.titles import title_of

TYPES = ("recs", "fbt", "cart", "trending", "search", "look")
LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pl", "pt", "sv", "da", "cs", "ja", "ar")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_type_has_its_own_title(language: str) -> None:
    titles = [title_of(widget_type, language) for widget_type in TYPES]

    assert len(set(titles)) == len(TYPES)
    assert all(title == title.strip() != "" for title in titles)


def test_every_language_has_its_own_words() -> None:
    assert len({title_of("recs", language) for language in LANGUAGES}) == len(LANGUAGES)


def test_the_region_and_the_case_of_a_locale_do_not_matter() -> None:
    assert title_of("recs", "de-AT") == title_of("recs", "DE") == title_of("recs", "de")


def test_a_language_we_do_not_speak_is_english() -> None:
    assert title_of("fbt", "eo") == title_of("fbt", "") == "Frequently bought together"


def test_a_type_that_nobody_knows_is_titled_as_recs() -> None:
    assert title_of("footer", "fr") == title_of("recs", "fr")
