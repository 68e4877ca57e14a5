"""Text folding: words compare as a merchant expects."""

import pytest

from productrecs.records.catalog.title_words import fold_text, folded_words


@pytest.mark.parametrize(
    ("one", "other"),
    [("Café", "cafe"), ("STRASSE", "straße"), (" Sale ", "sale"), ("ｗide", "wide")],
)
def test_case_accents_and_forms_of_letters_do_not_matter(one: str, other: str) -> None:
    assert fold_text(one) == fold_text(other)


def test_words_are_runs_of_letters_and_digits() -> None:
    assert folded_words("Rope, 60 m (Ébène-rouge)") == {"rope", "60", "m", "ebene", "rouge"}
    assert folded_words(" -- ") == frozenset()
    assert folded_words("雨傘 Зонт") == {"雨傘", "зонт"}
