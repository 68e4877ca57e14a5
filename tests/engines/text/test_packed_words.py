"""Packed words: the same results as plain loops over the words."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.engines.text.packed_words import PackedWords
from productrecs.engines.text.tokenizer import is_code
from productrecs.engines.text.vocabulary import Vocabulary, edit_distance

LETTERS = "abcé1\u4e2d\U0001f600"
WORDS = st.text(st.sampled_from(LETTERS), min_size=1, max_size=10)
COUNTS = st.dictionaries(WORDS, st.integers(1, 3), max_size=40)
ALL = 1_000  # more than there are words


def plainly_near(
    counts: Mapping[str, int], typed: str, most: int
) -> list[tuple[str, int, int]]:
    """Return the near words by the reference implementation, the most frequent first."""
    distances = {
        word: edit_distance(list_of_units(typed), list_of_units(word)) for word in counts
    }
    near = [
        (word, distances[word], count)
        for word, count in counts.items()
        if len(list_of_units(word)) >= 4
        and not is_code(word)
        and 0 < distances[word] <= (most if len(list_of_units(word)) > 4 else 1)
    ]
    return sorted(near, key=lambda one: -one[2])


def list_of_units(word: str) -> str:
    """Return a word with two letters for one outside the Basic Multilingual Plane."""
    return "".join(
        letter if ord(letter) < 0x10000 else "\ue000" + chr(0xE000 + ord(letter) % 0x400)
        for letter in word
    )


@given(counts=COUNTS, typed=WORDS, most=st.integers(1, 2))
def test_near_words_are_those_of_the_reference_implementation(
    counts: dict[str, int], typed: str, most: int
) -> None:
    found = PackedWords(counts).words_near(typed, most, ALL)

    assert [tuple(one) for one in found] == plainly_near(counts, typed, most)


@given(counts=COUNTS, text=WORDS, limit=st.integers(1, 5))
def test_starts_and_ends_are_those_of_all_words_compared(
    counts: dict[str, int], text: str, limit: int
) -> None:
    packed = PackedWords(counts)
    frequent = sorted(counts, key=lambda word: -counts[word])

    assert [one.word for one in packed.words_with_start(text, limit)] == [
        word for word in frequent if word.startswith(text)
    ][:limit]
    assert [one.word for one in packed.words_with_end(text, limit)] == [
        word for word in frequent if word.endswith(text)
    ][:limit]
    assert (text in packed) == (text in counts)
    assert all(word in packed for word in counts)
    assert packed.product_counts_by_word() == counts


@given(counts=COUNTS, start=WORDS)
def test_a_start_one_edit_away_is_found(counts: dict[str, int], start: str) -> None:
    found = [one.word for one in PackedWords(counts).words_with_near_start(start, ALL)]

    assert found == [
        word
        for word in sorted(counts, key=lambda word: -counts[word])
        if len(list_of_units(word)) >= 5
        and not is_code(word)
        and list_of_units(word)[0] == list_of_units(start)[0]
        and any(
            edit_distance(list_of_units(start), list_of_units(word)[:end]) <= 1
            for end in range(len(list_of_units(word)) + 1)
        )
    ]


def test_limits_keep_the_most_frequent_of_each_distance() -> None:
    counts = {"lampe": 1, "lamps": 3, "clamp": 2, "lambs": 5, "cramp": 4}

    found = PackedWords(counts).words_near("lamp", 2, 1)

    assert [tuple(one) for one in found] == [("lambs", 2, 5), ("lamps", 1, 3)]


@pytest.mark.parametrize("word", ["", "x" * 255, "\ud800" * 61, "\ud83d"])
def test_odd_words_are_near_none(word: str) -> None:
    packed = PackedWords({word: 1, "lamp": 2} if word else {})

    assert packed.words_near(word, 2, ALL) == packed.words_with_near_start(word, ALL) == []
    assert (word in packed) == bool(word)


def test_new_words_are_found_beside_the_others() -> None:
    older = PackedWords({f"lamp{letter}": 9 for letter in "abcdefgh"})
    vocabulary = Vocabulary((older, PackedWords({"lamps": 12, "lampi": 2})), 2)

    assert vocabulary.has("lampi")
    assert vocabulary.has("lampb")
    assert not vocabulary.has("lamp")
    assert vocabulary.completions("lamp", 2) == ["lamps", "lampa"]
    assert vocabulary.corrections("lamps", 1)[-1].word == "lampi"
    assert vocabulary.mistyped_completions("lmap", 1) == ["lamps"]
    assert vocabulary.words_ending_with("mpi", 3) == ["lampi"]
