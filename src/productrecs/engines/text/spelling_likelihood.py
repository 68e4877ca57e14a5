"""Spelling likelihood: a noisy channel of typos, and a letter model of a catalog's words.

A typed word may be a misspelling of a known one, or a word that the catalog lacks. Which is
likelier follows from both: `appwl` has letters that no word has side by side.

Source: Kernighan, Church and Gale (1990), "A spelling correction program based on a noisy
channel model"; MacKay and Peto (1995), "A hierarchical Dirichlet language model".
"""

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from productrecs.engines.array_types_and_sorting import Floats, Ints

_UTF_16, _ERRORS = "utf-16-le", "surrogatepass"
_BITS: Final = 16  # of a letter in a run of three
_FIRST, _SECOND = 0xFFFF << 2 * _BITS, 0xFFFF << _BITS
_BORDER: Final = "\0\0"  # between words
_SMOOTHING: Final = 5.0  # letters that the estimate of a shorter context counts as
_ALPHABET: Final = 30


class LetterModel:
    """How likely letters follow each other in a catalog's words; thread-safe."""

    def __init__(self, words: Iterable[str]) -> None:
        """Count each run of three letters; each word counts once."""
        text = _BORDER + _BORDER.join(words) + _BORDER
        self._runs, counts = np.unique(_runs_of_three(text), return_counts=True)
        self._cumulative = np.concatenate(([0], np.cumsum(counts)))

    def log_likelihood(self, word: str) -> float:
        """Return the logarithm of the probability of a word's letters, at most 0."""
        runs = _runs_of_three(_BORDER + word + _BORDER)[:-1]
        third = runs << 2 * _BITS & _FIRST
        second_and_third = runs << _BITS & (_FIRST | _SECOND)
        total = self._cumulative[-1]
        alone = (self._count_runs_starting_as(third, 2) + 1) / (total + _ALPHABET)
        after_one = self._smoothed_probability(second_and_third, 1, alone)
        after_two = self._smoothed_probability(runs, 0, after_one)
        return float(np.log(after_two).sum())

    def memory_bytes(self) -> int:
        """Return the memory of the counts."""
        return int(self._runs.nbytes + self._cumulative.nbytes)

    def _smoothed_probability(self, runs: Ints, n_free: int, shorter: Floats) -> Floats:
        """Return the probability of the last letter of `runs` after those before it."""
        before = runs >> (n_free + 1) * _BITS << (n_free + 1) * _BITS
        return (self._count_runs_starting_as(runs, n_free) + _SMOOTHING * shorter) / (
            self._count_runs_starting_as(before, n_free + 1) + _SMOOTHING
        )

    def _count_runs_starting_as(self, starts: Ints, n_free: int) -> Ints:
        """Return how many runs begin as each of `starts`, whatever the last letters are."""
        first = np.searchsorted(self._runs, starts)
        end = np.searchsorted(self._runs, starts + (1 << n_free * _BITS))
        return self._cumulative[end] - self._cumulative[first]


def _runs_of_three(text: str) -> Ints:
    """Return each three neighbouring letters as one number."""
    letters = np.frombuffer(text.encode(_UTF_16, _ERRORS), np.uint16).astype(np.int64)
    return letters[:-2] << 2 * _BITS | letters[1:-1] << _BITS | letters[2:]


# The rows of the common Latin keyboards, and the columns of the first.
_KEYS: Final = (
    "qwertyuiop asdfghjkl zxcvbnm qwertzuiop yxcvbnm azertyuiop qsdfghjklm wxcvbn "
    "qaz wsx edc rfv tgb yhn ujm ik ol aw se dr ft gy hu ji ko lp sz dx fc gv hb jn km"
)
_NEIGHBOURS: Final = frozenset(
    pair for keys in _KEYS.split() for a, b in pairwise(keys) for pair in (a + b, b + a)
)
_SLIPS: Final = 2
# Logarithms of how likely each kind of slip is at one place.
_LEFT_OUT, _PUT_IN = math.log(1 / 4), math.log(1 / 4 / 26)
_SWAPPED, _NEIGHBOUR_KEY = math.log(1 / 4), math.log(1 / 4 / 2)
_OTHER_KEY: Final = math.log(1 / 4 / 26 / 4)


def typo_log_likelihood(typed: str, word: str) -> float:
    """Return the logarithm of how likely a hand that means `word` types `typed`.

    In one or two slips: a letter left out, put in, swapped with the next or replaced by a
    neighbouring key, each anywhere. Another letter instead is unlikely, more slips are
    impossible (minus infinity).
    """
    place = -math.log(max(len(word), 1))
    rows = {(typed, word): 0.0}
    best = -math.inf
    for _ in range(_SLIPS + 1):
        after: dict[tuple[str, str], float] = {}
        for row, likelihood in rows.items():
            left = _without_common_start(*row)
            if left == ("", ""):
                best = max(best, likelihood)
                continue
            for rest, slip in _after_one_slip(*left):
                total = likelihood + slip + place
                after[rest] = max(after.get(rest, -math.inf), total)
        rows = after
    return best


def _without_common_start(typed: str, word: str) -> tuple[str, str]:
    at = next(
        (at for at, (a, b) in enumerate(zip(typed, word, strict=False)) if a != b),
        min(len(typed), len(word)),
    )
    return typed[at:], word[at:]


def _after_one_slip(typed: str, word: str) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield what is left to compare after a slip at the start, of each kind."""
    if typed:
        yield (typed[1:], word), _PUT_IN
    if word:
        yield (typed, word[1:]), _LEFT_OUT
    if typed and word:
        is_near = typed[0] + word[0] in _NEIGHBOURS
        yield (typed[1:], word[1:]), _NEIGHBOUR_KEY if is_near else _OTHER_KEY
    if len(typed) > 1 and typed[:2] == word[:2][::-1]:
        yield (typed[2:], word[2:]), _SWAPPED
