"""Learning to rank: trees learn clicks without position bias; weak models are rejected.

Worlds of which everything is known: what each product is worth, how far down people look,
and in which order lists were shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from productrecs.engines.ranking import TreeEnsemble, kernel, score_by_numpy
from productrecs.engines.ranking.ranker_training import (
    LAST_POSITION,
    RankingData,
    examination_probabilities,
    fit_ranker,
    ranking_gains,
)

if TYPE_CHECKING:
    from productrecs.engines.arrays import Floats

LENGTH = 8
LISTS = 2_500


@dataclass(frozen=True)
class World:
    """How a store's shoppers click."""

    signal: float = 0.0  # how much the first trait draws clicks; 0: nothing does
    steepness: float = 1.0  # of looking down a list
    present: float = 0.0  # how much the order that was shown went by that trait
    seed: int = 1

    def shown(self) -> tuple[RankingData, Floats]:
        """Return the lists of which something was clicked, and what is told of looking."""
        rng = np.random.default_rng(self.seed)
        traits = rng.normal(size=(LISTS, LENGTH, 4))
        pull = self.present * traits[:, :, 0] + rng.normal(size=(LISTS, LENGTH))
        order = np.argsort(-pull, axis=1)
        traits = np.take_along_axis(traits, order[:, :, None], axis=1)
        places = np.tile(np.arange(1, LENGTH + 1), (LISTS, 1))
        worth = 0.7 / (1.0 + np.exp(1.5 - self.signal * traits[:, :, 0]))
        looked = rng.random((LISTS, LENGTH)) < places**-self.steepness
        clicks = looked & (rng.random((LISTS, LENGTH)) < worth)
        counts = np.zeros((2, LAST_POSITION), np.int64)
        counts[0, :LENGTH], counts[1, :LENGTH] = LISTS, clicks.sum(axis=0)
        kept = clicks.any(axis=1)
        traits[:, :, 3] = 1.0 / places  # where it stood tells nothing that may be learned
        lists = RankingData(
            rows=traits[kept].reshape(-1, 4),
            offsets=np.arange(int(kept.sum()) + 1) * LENGTH,
            places=places[kept].reshape(-1),
            outcomes=clicks[kept].astype(np.int64).reshape(-1),
            persons=np.arange(int(kept.sum())),
        )
        return lists, examination_probabilities(counts[0], counts[1])


def interval(world: World) -> tuple[float, float]:
    """Return about the 95 % interval of what learned trees gain on later lists."""
    lists, looked = world.shown()
    begin = int(len(lists) * 0.7)
    asked = lists.slice(begin, len(lists))
    trees = fit_ranker(lists.slice(0, begin), 1)
    more, present = ranking_gains(asked, trees.score(asked.rows), looked)
    mean, error = more.mean(), more.std() / np.sqrt(len(more))
    return (mean - 2 * error) / present.mean(), (mean + 2 * error) / present.mean()


@pytest.mark.parametrize("steepness", [0.3, 1.5])
def test_what_draws_clicks_is_learned_however_far_people_look(steepness: float) -> None:
    low, high = interval(World(signal=1.5, steepness=steepness))

    assert 0 < low < high


@pytest.mark.parametrize("steepness", [0.2, 1.0, 2.0])
def test_clicks_that_tell_nothing_but_places_are_not_believed(steepness: float) -> None:
    low, _ = interval(World(signal=0.0, steepness=steepness, seed=3))

    assert low < 0


@pytest.mark.parametrize("steepness", [0.3, 1.0])
def test_an_order_that_tells_nothing_is_not_better_than_a_good_one(
    steepness: float,
) -> None:
    lists, looked = World(signal=1.5, steepness=steepness, present=3.0).shown()

    more, _ = ranking_gains(lists, np.random.default_rng(5).random(len(lists.rows)), looked)

    assert more.mean() - 2 * more.std() / np.sqrt(len(more)) < 0


def test_looking_is_never_put_lower_than_clicks_and_belief_have_it() -> None:
    shown = np.full(LAST_POSITION, 10_000)
    flat = examination_probabilities(shown, np.full(LAST_POSITION, 500))
    steep = examination_probabilities(
        shown, (500 / np.arange(1, LAST_POSITION + 1) ** 2).astype(np.int64)
    )

    assert flat == pytest.approx(np.ones(LAST_POSITION), abs=0.01)
    assert steep == pytest.approx(np.arange(1, LAST_POSITION + 1) ** -0.8)


def test_the_compiled_trees_say_what_numpy_says() -> None:
    lists, _ = World(signal=1.0).shown()
    trees = fit_ranker(lists, 1)
    arrays = trees.to_arrays()

    slow = score_by_numpy(*arrays.values(), lists.rows)  # type: ignore[call-arg]  # six arrays
    fast = kernel.score(*arrays.values(), lists.rows)  # type: ignore[call-arg]  # as above

    assert len(trees) == 64
    assert len(np.unique(slow)) > 100
    assert np.array_equal(slow, fast)


def test_trees_come_back_from_what_is_kept_of_them() -> None:
    lists, _ = World(signal=1.0).shown()
    trees = fit_ranker(lists, 1)

    kept = {name: array.tolist() for name, array in trees.to_arrays().items()}

    again = TreeEnsemble.from_arrays(kept)
    assert kernel.score(*again.to_arrays().values(), lists.rows).any()  # type: ignore[call-arg]  # six arrays
    assert np.array_equal(again.score(lists.rows), trees.score(lists.rows))


BRANCH = {
    "traits": [0],
    "bounds": [0.5],
    "left": [-1],
    "right": [-2],
    "values": [1.0, 2.0],
    "roots": [0],
}


def test_a_tree_is_read_from_its_root_to_its_leaf() -> None:
    trees = TreeEnsemble.from_arrays(BRANCH)

    assert trees.score(np.array([[0.5], [0.6]])).tolist() == [1.0, 2.0]
    assert len(TreeEnsemble.none()) == 0
    assert TreeEnsemble.none().score(np.zeros((2, 3))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "wrong",
    [{"left": [0]}, {"right": [7]}, {"roots": [3]}, {"values": [1.0]}, {"bounds": []}],
    ids=["a circle", "no such node", "no such root", "no such leaf", "no bound"],
)
def test_trees_that_lead_nowhere_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="leads nowhere"):
        TreeEnsemble.from_arrays(BRANCH | wrong)
