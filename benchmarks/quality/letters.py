"""How do people mistype, and what do words that nobody means look like?"""

from __future__ import annotations

import string
from collections import Counter, defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

LONG, VERY_LONG = 5, 9
_ROWS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_ENDS: Final = "$"


def mistyped(query: str, edits: int, rng: random.Random) -> str:
    """Return a query with one edit in each of up to `edits` words of 5 letters or more.

    Kinds alike: a neighbour on the keyboard, a letter left out, one put in, two swapped;
    any letter of a word, the first too.
    """
    words = query.split(" ")
    for n in _drawn(words, edits, rng):
        words[n] = _edited(words[n], rng)
    return " ".join(words)


def mistyped_twice(query: str, rng: random.Random) -> str:
    """Return a query with two edits in one word of 5 letters or more."""
    words = query.split(" ")
    for n in _drawn(words, 1, rng):
        words[n] = _edited(_edited(words[n], rng), rng)
    return " ".join(words)


def _drawn(words: list[str], count: int, rng: random.Random) -> list[int]:
    long = [n for n, word in enumerate(words) if len(word) >= LONG and word.isalpha()]
    rng.shuffle(long)
    return long[:count]


def _edited(word: str, rng: random.Random) -> str:
    while True:
        kind, at = rng.randrange(4), rng.randrange(len(word))
        if kind == 0:
            changed = word[:at] + rng.choice(_beside(word[at])) + word[at + 1 :]
        elif kind == 1:
            changed = word[:at] + word[at + 1 :]
        elif kind == 2:
            changed = word[:at] + rng.choice(string.ascii_lowercase) + word[at:]
        else:
            changed = word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
        if changed != word:
            return changed


def _beside(letter: str) -> str:
    for row in _ROWS:
        at = row.find(letter.lower())
        if at >= 0:
            return row[max(0, at - 1) : at] + row[at + 1 : at + 2]
    return string.ascii_lowercase


def made_up(known: Counter[str], rng: random.Random) -> str:
    """Return a word of 5 to 10 letters, drawn letter by letter from what follows which."""
    model = _model(tuple(sorted(known.items())))
    while True:
        word = ""
        while len(word) <= 10:
            letters, weights = model[(_ENDS * 2 + word)[-2:]]
            letter = rng.choices(letters, weights)[0]
            if letter == _ENDS:
                break
            word += letter
        if LONG <= len(word) <= 10:
            return word


@lru_cache(1)
def _model(
    known: tuple[tuple[str, int], ...],
) -> dict[str, tuple[list[str], list[int]]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for word, count in known:
        whole = _ENDS * 2 + word + _ENDS
        for at in range(2, len(whole)):
            counts[whole[at - 2 : at]][whole[at]] += min(count, 20)
    return {key: (list(one), list(one.values())) for key, one in counts.items()}


class Neighbourhood:
    """Which words are within the distance that search allows of a known one?

    Two words that few edits part have a common rest after as many letters are left out.
    """

    def __init__(self, known: Iterable[str]) -> None:
        """Note the rests of every known word."""
        self._rests: dict[str, list[str]] = defaultdict(list)
        for word in known:
            for rest in _rests(word, allowed(word)):
                self._rests[rest].append(word)

    def has(self, word: str) -> bool:
        """Return whether a known word is near."""
        return any(
            distance(word, one) <= allowed(one)
            for rest in _rests(word, 2)
            for one in self._rests.get(rest, ())
        )


def allowed(word: str) -> int:
    """Return how many edits a word of the catalog forgives, by its length."""
    return 0 if len(word) < LONG else 1 if len(word) < VERY_LONG else 2


def _rests(word: str, left_out: int) -> set[str]:
    rests = {word}
    for _ in range(left_out):
        rests |= {one[:at] + one[at + 1 :] for one in rests for at in range(len(one))}
    return rests


def distance(one: str, other: str) -> int:
    """Return how many edits are between two words; a swap of neighbours is one."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row, before = before, [i], row
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
