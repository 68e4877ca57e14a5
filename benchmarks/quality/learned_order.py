"""How often does an order take over that clicks teach, where they tell something or not?

Invented stores of which everything is known: each list shows eight products, each product
has four traits, people look down to a place with 1 / place ** steepness and click by what
the first trait is worth (or by nothing). Trees learn from the first 70 % of the lists that
were clicked, and are tried on the others, as a store's own order is. A mistake is an order
that takes over though it is no better: the truth is what products are worth, by how far
people look.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from benchmarks.report import Figure
from productrecs.engines.ranking.ranker_training import (
    LAST_POSITION,
    RankingData,
    examination_probabilities,
    fit_ranker,
    ranking_gains,
)
from productrecs.features.recommendations.backtest import confidence_interval
from productrecs.features.recommendations.ranker_training import CONFIDENCE, MIN_GAIN

if TYPE_CHECKING:
    from benchmarks.report import Report
    from productrecs.engines.arrays import Floats

LENGTH: Final = 8
SHOWN: Final = 3_000  # lists; about 2,000 clicks
RUNS: Final = 40
_TRIFLE: Final = 1e-9
STEEPNESSES: Final = (0.3, 1.0, 1.8)
MOST_MISTAKES: Final = 0.05  # of runs, which may be chance beside 0.005


@dataclass(frozen=True, slots=True)
class World:
    """How a store's shoppers click."""

    signal: float  # how much the first trait draws clicks; 0: nothing does
    steepness: float  # of looking down a list
    present: float = 0.0  # how much the order that was shown went by that trait

    def shown(self, seed: int) -> tuple[RankingData, Floats]:
        """Return the lists of which something was clicked, and what is told of looking."""
        rng = np.random.default_rng(seed)
        traits = rng.normal(size=(SHOWN, LENGTH, 4))
        pull = self.present * traits[:, :, 0] + rng.normal(size=(SHOWN, LENGTH))
        order = np.argsort(-pull, axis=1)
        traits = np.take_along_axis(traits, order[:, :, None], axis=1)
        places = np.tile(np.arange(1, LENGTH + 1), (SHOWN, 1))
        worth = self.worth(traits[:, :, 0])
        looked = rng.random((SHOWN, LENGTH)) < places**-self.steepness
        clicks = looked & (rng.random((SHOWN, LENGTH)) < worth)
        counts = np.zeros((2, LAST_POSITION), np.int64)
        counts[0, :LENGTH], counts[1, :LENGTH] = SHOWN, clicks.sum(axis=0)
        kept = clicks.any(axis=1)
        lists = RankingData(
            rows=traits[kept].reshape(-1, 4),
            offsets=np.arange(int(kept.sum()) + 1) * LENGTH,
            places=places[kept].reshape(-1),
            outcomes=clicks[kept].astype(np.int64).reshape(-1),
            persons=np.arange(int(kept.sum())),
        )
        return lists, examination_probabilities(counts[0], counts[1])

    def worth(self, trait: Floats) -> Floats:
        """Return how often products are clicked that are looked at."""
        found: Floats = 0.7 / (1.0 + np.exp(1.5 - self.signal * trait))
        return found


class Trial(NamedTuple):
    """What came of learning in one store; gains are of the shown order's worth."""

    takes_over: bool
    told: float
    true: float  # of clicks, by what products are worth and how far people look

    @property
    def is_mistaken(self) -> bool:
        """Whether an order takes over that is no better."""
        return self.takes_over and self.true <= _TRIFLE


def trial(world: World, seed: int) -> Trial:
    """Return what came of learning in one store."""
    lists, looked = world.shown(seed)
    begin = int(len(lists) * 0.7)
    asked = lists.slice(begin, len(lists))
    scores = fit_ranker(lists.slice(0, begin), 1).score(asked.rows)
    more, present = ranking_gains(asked, scores, looked)
    gain = confidence_interval(more / present.mean(), asked.persons, CONFIDENCE)
    worth = world.worth(asked.rows[:, 0]).reshape(-1, LENGTH)
    looks = np.arange(1, LENGTH + 1) ** -world.steepness
    order = np.argsort(-scores.reshape(-1, LENGTH), axis=1, kind="stable")
    better = (np.take_along_axis(worth, order, axis=1) * looks).sum()
    return Trial(
        gain.low > MIN_GAIN, gain.mean, float(better / (worth * looks).sum() - 1.0)
    )


def measure(report: Report) -> None:
    """Add how often an order takes over, where clicks tell nothing and where they do."""
    for steepness in STEEPNESSES:
        for name, world in (
            ("clicks tell nothing", World(0.0, steepness)),
            ("the shown order is good already", World(1.5, steepness, 6.0)),
            ("a trait draws clicks", World(1.5, steepness)),
        ):
            runs = [trial(world, seed) for seed in range(RUNS)]
            share = float(np.mean([one.takes_over for one in runs]))
            mistakes = float(np.mean([one.is_mistaken for one in runs]))
            told = float(np.mean([one.told for one in runs]))
            true = float(np.mean([one.true for one in runs]))
            title = f"learned order, {name}, looking 1/place**{steepness}"
            note = (
                f"{RUNS} stores of {SHOWN:,} lists; gain told {told:+.1%}, true {true:+.1%}"
            )
            report.add(Figure(f"{title}: takes over", share, "share of stores", note=note))
            report.add(
                Figure(
                    f"{title}: takes over and is no better",
                    mistakes,
                    "share of stores",
                    target=f"<= {MOST_MISTAKES}",
                    ok=mistakes <= MOST_MISTAKES,
                )
            )
