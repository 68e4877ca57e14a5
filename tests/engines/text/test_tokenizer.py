"""Tokenizer: how texts and queries are split and normalised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.engines.text import tokenizer
from productrecs.engines.text.language_detection_and_stemming import (
    LanguageAnalyzer,
    detect_language,
)
from productrecs.engines.text.tokenizer import (
    MAX_WORD_LENGTH,
    fold_text,
    indexed_words,
    query_words,
)


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("65w", "Charger, 65 watts"),
        ("65 w", "Charger 65W"),
        ("10 mm", "bolt 10mm"),
        ("10mm", "bolt 10 millimetres"),
        ("1/2 inch", 'pipe 1/2"'),
        ("0.5 in", "pipe ½ inch"),
        ("1,5 l", "bottle 1.5 litre"),
        ("1 1/2 inch", 'hose 1-1/2"'),
        ("16 gb", "card 16GB"),
        ("8 ft", "tree 8'"),
        ("2000 mah", "battery 2,000mAh"),
        ("t-shirt", "T-Shirt"),
        ("tshirt", "a T-Shirt"),
        ("wr44526", "rack WR-44526"),
        ("44526", "rack WR-44526"),
        ("pro8200", "Pro8200 projector"),
        ("8200", "Pro8200 projector"),
        ("women", "Women’s shoe"),
        ("mobel", "Möbel"),
        ("strasse", "Straße"),
        ("creme", "Crème brûlée"),
        ("rock roll", "Rock &amp; Roll"),
        ("東京", "東京タワー"),
    ],
)
def test_spellings_of_one_thing_meet(typed: str, written: str) -> None:
    assert set(query_words(typed)) <= set(indexed_words(written))


@pytest.mark.parametrize(
    ("one", "other"),
    [("65w", "65v"), ("10mm", "10cm"), ("16gb", "16"), ("5 in 1", "5 inch"), ("c", "cc")],
)
def test_what_differs_stays_apart(one: str, other: str) -> None:
    assert not set(query_words(one)) & set(query_words(other)) - {"1"}


def test_markup_is_no_text() -> None:
    assert query_words("<p class='big'>Warm<br/>socks</p> 3 < 5") == [
        "warm",
        "socks",
        "3",
        "5",
    ]


texts = st.lists(
    st.sampled_from(
        ["5", "in", "1", "1/2", 'inch"', "mm,", "(red)", "t-shirt", "65w", "x", "women's"]
    )
    | st.text("aé5'\"-/. ü東,", max_size=6),
    max_size=8,
).map(" ".join)


@given(texts)
def test_what_needs_no_care_is_cut_as_with_all_care(text: str) -> None:
    careful = [word for word, _ in tokenizer._words_by_all_rules(fold_text(text))]  # noqa: SLF001

    assert query_words(text) == careful


@given(st.text(max_size=300))
def test_any_text_is_cut_and_no_word_is_long_or_blank(text: str) -> None:
    for word in (*query_words(text), *indexed_words(text)):
        assert 0 < len(word) <= 2 * MAX_WORD_LENGTH
        assert not any(one.isspace() for one in word)
        assert word == word.lower()


def test_forms_of_a_word_have_one_stem_in_its_language() -> None:
    assert len(set(LanguageAnalyzer("en").stems(["battery", "batteries"]))) == 1
    assert len(set(LanguageAnalyzer("de-AT").stems(["schuhe", "schuhen"]))) == 1
    assert LanguageAnalyzer("tlh").stems(["batteries"]) == ["batteries"]


def test_fillers_are_left_out_unless_there_is_nothing_else() -> None:
    english = LanguageAnalyzer("en")

    assert english.without_stop_words(["bag", "for", "the", "beach"]) == ["bag", "beach"]
    assert english.without_stop_words(["the", "for"]) == ["the", "for"]


def test_the_given_language_is_kept_unless_the_texts_clearly_have_another() -> None:
    german = ["Das ist eine Jacke mit Kapuze für die kalten Tage und den Regen"] * 20
    english = ["This is a jacket with a hood for cold days and the rain"] * 20

    assert detect_language(german, "en") == "de"
    assert detect_language(english, "en") == "en"
    assert detect_language(german[:2], "en") == "en"  # too little to say
    assert detect_language(["Nike Air Max 90"] * 200, "fr") == "fr"
    assert detect_language(english, "ja") == "ja"  # whose small words are not known here


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t-shirt", ["t", "shirt", "tshirt"]),
        ("Tops/Tees & Tanks", ["tops", "tees", "tanks"]),  # a path, and no word of both
        ("black+decker", ["black", "decker"]),
        ("WR/44526", ["wr", "44526", "wr44526"]),
    ],
)
def test_what_a_hyphen_links_is_one_word_too_and_what_a_slash_parts_is_not(
    text: str, words: list[str]
) -> None:
    assert indexed_words(text) == words
