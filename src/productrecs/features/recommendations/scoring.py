"""How good were lists that should have told something? Shares, and how sure they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.contract import Floats, Ints

SAID: Final = 50  # lists with something in them, below which nothing is told of a method
_DRAWS: Final = 1_000
_SEED: Final = 17  # the same data give the same intervals


class Question(NamedTuple):
    """What a list is made for, and what should be in it; `group` is its visit or order."""

    group: int
    given: tuple[int, ...]  # the newest last
    answers: frozenset[int]


class Verdict(StrEnum):
    """What an interval says beside popularity."""

    BETTER = "better"
    WORSE = "worse"
    LEVEL = "level"
    UNTOLD = "untold"  # too few lists had anything in them


@dataclass(frozen=True, slots=True)
class Interval:
    """A difference of hit rates with its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        """What it says; level where no difference can be told."""
        if self.low > 0:
            return Verdict.BETTER
        return Verdict.WORSE if self.high < 0 else Verdict.LEVEL


@dataclass(frozen=True, slots=True)
class Score:
    """How one method did: shares, but for `novelty`, in bits.

    `hit_rate` is the share of questions with an answer in the list, `first_places` the mean
    of 1/place of the first one. `catalog_shown` is the share of the learned products that
    stood in some list; `novelty` the mean surprise of what was shown, higher for what few
    buy or look at. `beside` is the difference of hit rates to popularity.
    """

    method: str
    hit_rate: float
    first_places: float
    catalog_shown: float
    novelty: float
    beside: Interval | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """Where the first right product stood in each list (0: nowhere), and what was shown."""

    places: Ints
    shown: Ints  # of all lists, one after the other
    said: int = 0  # how many lists had anything in them

    @classmethod
    def of(cls, questions: Sequence[Question], lists: Sequence[Sequence[int]]) -> "Answers":
        """Return where the answers stood."""
        places = [
            next((at for at, item in enumerate(one, 1) if item in asked.answers), 0)
            for asked, one in zip(questions, lists, strict=True)
        ]
        shown = [item for one in lists for item in one]
        said = sum(bool(one) for one in lists)
        return cls(np.array(places, np.int64), np.array(shown, np.int64), said)

    @property
    def hits(self) -> Floats:
        """1 where an answer stood in the list, else 0."""
        return (self.places > 0).astype(np.float64)


def score(
    method: str, answers: Answers, known: Floats, beside: Interval | None = None
) -> Score:
    """Return how a method did; `known` [n_items] is how often each item was met before.

    Of a method that had something to say less than `SAID` times nothing is told beside
    others: what it knows nothing of it does neither well nor badly.
    """
    said = answers.said >= min(SAID, len(answers.places))
    surprise = -np.log2((known + 1.0) / (known.sum() + len(known)))
    places = answers.places
    return Score(
        method=method,
        hit_rate=float(answers.hits.mean()),
        first_places=float((answers.hits / np.maximum(places, 1)).mean()),
        catalog_shown=len(np.unique(answers.shown)) / max(int((known > 0).sum()), 1),
        novelty=float(surprise[answers.shown].mean()) if len(answers.shown) else 0.0,
        beside=beside if said else None,
        verdict=(beside.verdict if said else Verdict.UNTOLD) if beside else None,
    )


def difference(ours: Answers, theirs: Answers, groups: Ints) -> Interval:
    """Return the difference of hit rates, paired by question; whole groups are drawn.

    The questions of one visit or order stand or fall together. The draws are the same in
    every run.
    """
    return interval_of(ours.hits - theirs.hits, groups)


def interval_of(values: Floats, groups: Ints, sureness: float = 0.95) -> Interval:
    """Return the mean of values with its interval, of 95 %; whole groups are drawn."""
    where = np.unique(groups, return_inverse=True)[1]
    gains = np.bincount(where, weights=values)
    sizes = np.bincount(where).astype(np.float64)
    rng = np.random.default_rng(_SEED)
    means = np.empty(_DRAWS)
    for draw in range(_DRAWS):
        chosen = rng.integers(len(sizes), size=len(sizes))
        means[draw] = gains[chosen].sum() / sizes[chosen].sum()
    low, high = np.quantile(means, (0.5 - sureness / 2, 0.5 + sureness / 2))
    return Interval(float(gains.sum() / sizes.sum()), float(low), float(high))
