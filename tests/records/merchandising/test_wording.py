"""Are words compared as a merchant means them?"""

from __future__ import annotations

import pytest

from productrecs.records.merchandising.wording import folded, words_of


@pytest.mark.parametrize(
    ("one", "other"),
    [("Café", "cafe"), ("STRASSE", "straße"), (" Sale ", "sale"), ("ｗide", "wide")],
)
def test_case_accents_and_forms_of_letters_do_not_matter(one: str, other: str) -> None:
    assert folded(one) == folded(other)


def test_words_are_what_stands_between_everything_else() -> None:
    assert words_of("Rope, 60 m (Ébène-rouge)") == {"rope", "60", "m", "ebene", "rouge"}
    assert words_of(" -- ") == frozenset()
    assert words_of("雨傘 Зонт") == {"雨傘", "зонт"}
