"""Semantic expansion: catalog words that are close in meaning to a word the catalog lacks.

"Fridge" finds refrigerators. A text embedding model supplies the distances. A backtest on
the catalog's own words sets the threshold, and decides whether the model is used at all: it
must distinguish invented words from real ones, and find again what exact words find.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
"""One row a text, each of length 1."""

Embed = Callable[[Sequence[str]], Vectors]
Holders = Callable[[str, int], frozenset[int]]
"""The first products, up to a number, whose texts hold a word."""

MAX_WORDS: Final = 3  # kin of one word
MIN_LETTERS: Final = 3
TESTED: Final = 100
_INVENTED_FOUND: Final = 0.02
"""So few of the invented words may be kin to any."""

_LEAST_LIKENESS: Final = 0.2  # whatever invented words reach
_MARGIN: Final = 0.01  # vectors are kept in half the digits
_FOUND_AGAIN: Final = 0.5
"""Of the hidden words that have kin, so many must find a product that they are in."""

_LEAST_ANSWERED: Final = 10  # hidden words, below which nothing is proved
_FIRST, _ALL = 10, 10_000
_SEED: Final = 11


@dataclass(frozen=True, slots=True)
class RelatedWords:
    """The words of one catalog with their vectors, and how near kin must be."""

    words: tuple[str, ...]
    vectors: Vectors
    least: float  # they must be nearer

    def of(self, vector: npt.NDArray[np.float32]) -> list[str]:
        """Return the words within the threshold of a vector, the nearest first."""
        if not self.words:
            return []
        likeness = self.vectors @ vector
        nearest = np.argsort(-likeness, kind="stable")[:MAX_WORDS]
        return [self.words[n] for n in nearest if likeness[n] > self.least]


@dataclass(frozen=True, slots=True)
class ExpansionBacktest:
    """How a model did on one catalog."""

    least: float  # likeness that only few invented words reach
    answered: int  # hidden words that have kin
    found_again: int  # ... whose kin find a product that the word itself is in

    @property
    def is_passed(self) -> bool:
        """Whether words of this catalog may be read by their kin."""
        if self.answered < _LEAST_ANSWERED:
            return False
        return self.found_again >= _FOUND_AGAIN * self.answered


def backtest_expansion(
    words: Sequence[str],
    vectors: Vectors,
    stems: Sequence[str],
    embed: Embed,
    holders: Holders,
) -> ExpansionBacktest:
    """Return how a model does with a catalog's words, in parallel with vectors and stems.

    Invented words, made of the halves of real ones, set how near kin must be. Then each of
    some words is hidden, and its kin, other forms of it left out, answer in its place.
    """
    rng, numbers = np.random.default_rng(_SEED), np.unique(stems, return_inverse=True)[1]
    chosen = rng.permutation(len(words))[:TESTED]
    least = _least_for(_invented([words[n] for n in chosen], set(words)), vectors, embed)
    answered = found_again = 0
    for n in chosen:
        likeness = vectors @ vectors[n]
        likeness[numbers == numbers[n]] = -1.0
        nearest = np.argsort(-likeness, kind="stable")[:MAX_WORDS]
        kin = [words[k] for k in nearest if likeness[k] > least]
        if kin:
            answered += 1
            held = holders(words[n], _ALL)
            found_again += any(held & holders(one, _FIRST) for one in kin)
    return ExpansionBacktest(least, answered, found_again)


def _invented(words: Sequence[str], known: set[str]) -> list[str]:
    """Return invented words: the beginning of one and the end of another."""
    pairs = zip(words, [*words[1:], *words[:1]], strict=True)
    made = (one[: len(one) // 2] + other[len(other) // 2 :] for one, other in pairs)
    return [word for word in made if word not in known]


def _least_for(invented: Sequence[str], vectors: Vectors, embed: Embed) -> float:
    if not invented:
        return 1.0
    best = (embed(invented) @ vectors.T).max(axis=1)
    reached = float(np.quantile(best, 1.0 - _INVENTED_FOUND))
    return max(reached + _MARGIN, _LEAST_LIKENESS)
