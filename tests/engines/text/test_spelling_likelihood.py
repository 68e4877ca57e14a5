"""Spelling likelihood: which typos are likely, and which letters are those of a word."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.engines.text.spelling_likelihood import LetterModel, typo_log_likelihood

WORDS = st.lists(st.text("ab", min_size=1, max_size=5), max_size=10)


@pytest.mark.parametrize(
    ("word", "likelier", "less_likely"),
    [
        ("tent", "tnet", "tenxt"),  # swapped; a letter put in
        ("hammer", "hamer", "hammmer"),  # a letter left out; one put in
        ("hammer", "jammer", "dammer"),  # j is beside h on a keyboard
        ("hammer", "hammwr", "jammwr"),  # one slip; two
        ("tent", "tet", "textt"),
    ],
)
def test_the_likelier_slip_of_a_hand_has_the_higher_likelihood(
    word: str, likelier: str, less_likely: str
) -> None:
    likelihoods = [typo_log_likelihood(typed, word) for typed in (likelier, less_likely)]

    assert 0 > likelihoods[0] > likelihoods[1] > -math.inf


@pytest.mark.parametrize("typed", ["hammerers", "hm", "", "xxxmer"])
def test_three_slips_are_none(typed: str) -> None:
    assert typo_log_likelihood(typed, "hammer") == -math.inf


def test_a_word_as_it_is_written_has_no_slip() -> None:
    assert typo_log_likelihood("hammer", "hammer") == 0


@pytest.mark.parametrize(
    ("likelier", "less_likely"),
    [
        ("apple", "appwl"),  # no word has "ppw"
        ("maple", "mpael"),
        ("grape", "grpae"),
        ("a", "\u4e2d"),
        ("plum", "plumplum"),
    ],
)
def test_letters_that_words_have_side_by_side_are_likelier(
    likelier: str, less_likely: str
) -> None:
    letters = LetterModel(["apple", "grape", "staple", "map", "plum"])

    assert letters.log_likelihood(likelier) > letters.log_likelihood(less_likely)


@given(words=WORDS)
def test_the_probabilities_of_all_short_words_sum_to_less_than_one(
    words: list[str],
) -> None:
    letters = LetterModel(words)
    short = ("".join(some) for size in range(1, 6) for some in product("ab", repeat=size))

    assert 0 < sum(math.exp(letters.log_likelihood(word)) for word in short) < 1


def test_the_memory_of_the_counts_is_told() -> None:
    assert LetterModel(["apple"]).memory_bytes() > LetterModel([]).memory_bytes() > 0
