"""By which constants is a store's later visit best told from its earlier ones?

Asked is the next product after each step of a visit, which may be one seen before.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.browse import SessionIndex, SessionOptions
from productrecs.engines.contract import Floats
from productrecs.training.constants.choice import Trial, improved
from productrecs.training.constants.constants import Changes
from productrecs.training.constants.stretches import Stretch, stretches_of
from productrecs.training.inputs import Behaviour, chosen
from productrecs.training.learned import sessions_of
from productrecs.training.past import Groups, walks_of

MOST_EVENTS: Final = 1_000_000  # the newest
_STEPS: Final = 5  # of a visit, the newest
_SHOWN: Final = 20

# None makes an answer slower: more neighbours than usual are not tried.
GRID: Final[tuple[tuple[Changes, ...], ...]] = (
    tuple({"days_scale": days} for days in (7.0, 20.0, 150.0)),
    tuple({"distance_scale": places} for places in (0.45, 2.0, 5.0)),
    tuple({"match_scale": one, "vote_scale": one} for one in (1.5, 2.5, 6.0)),
    tuple({"rarity": power} for power in (0.3, 2.0)),
    tuple({"neighbours": most} for most in (100, 250)),
    ({"backward": 0.5},),
)


class Learnable(NamedTuple):
    """A stretch's visits, and what was done before it."""

    stretch: Stretch
    before: Behaviour


def choose_visits(
    done: Behaviour,
    n_items: int,
    tell: Callable[[], None],
    usual: SessionOptions | None = None,
) -> SessionOptions | None:
    """Return the constants of what comes next; None where nothing can be said.

    `tell` is called after each trial.
    """
    newest = _newest(done)
    groups = walks_of(newest)
    parts = [
        Learnable(stretch, chosen(newest, newest.times < stretch.since_ms))
        for stretch in stretches_of(groups)
    ]
    if not parts:
        return None

    def judge(options: SessionOptions) -> Trial:
        scores = []
        for stretch, before in parts:
            index = sessions_of(before, n_items, options)
            scores.append(_scores(index, groups, stretch))
            tell()
        return Trial(tuple(scores))

    return improved(usual or SessionOptions(), GRID, judge)[0]


def _newest(done: Behaviour) -> Behaviour:
    if len(done.times) <= MOST_EVENTS:
        return done
    since = np.partition(done.times, -MOST_EVENTS)[-MOST_EVENTS]
    return chosen(done, done.times >= since)


def _scores(index: SessionIndex, walks: Groups, stretch: Stretch) -> Floats:
    """Return each visit's mean of whether the next product was told, and how early."""
    scores = np.zeros(len(stretch.asked))
    for number, visit in enumerate(stretch.asked.tolist()):
        seen = walks.contents(visit)
        steps = range(max(1, len(seen) - _STEPS), len(seen))
        for step in steps:
            shown = index.next_items(seen[:step], stretch.since_ms, _SHOWN).items
            found = np.flatnonzero(shown == seen[step])
            if len(found):
                scores[number] += 1.0 + 1.0 / (1.0 + int(found[0]))
        scores[number] /= 2 * len(steps)
    return scores
