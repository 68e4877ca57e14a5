"""Hyperparameters of the session kNN engine: defaults, and what each of them means."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from productrecs.engines.arrays import Floats


class InteractionType(IntEnum):
    """What was done with an item of a visit, the strongest last."""

    VIEWED = 0
    CLICKED = 1
    CARTED = 2
    BOUGHT = 3


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Constants that measured well on the last days of two training sets.

    Every other `..._scale` is the distance at which a weight has fallen to 1/e: of places
    in the visit (newest first), of days. By places in a neighbouring session a vote falls
    more slowly: 1 / (1 + places / distance_scale).
    Source: STAN and VSTAN, requirements/algorithms.md 1.1.
    """

    prefix: int = 9  # newest distinct items of the visit that are compared
    recent_sessions: int = 1000  # newest sessions that share one of them
    neighbours: int = 500  # the most similar of those
    sessions_per_item: int = 2500  # newest sessions kept for each item
    longest: int = 200  # distinct items kept of a session, the newest
    match_scale: float = 3.62
    vote_scale: float = 3.62
    distance_scale: float = 0.5  # places at which a vote has fallen to a half
    days_scale: float = 50.0
    rarity: float = 1.0  # how much a rare item's vote is lifted: 1 + rarity * ln(S / df)
    enough: int = 20  # items: where fewer are found, what comes next after those follows
    backward: float = 1.0  # of its vote, for what a neighbour saw before the item in common
    clicked: float = 1.0  # how much an item counts that was clicked in a search or a list,
    carted: float = 1.0  # put into the cart,
    bought: float = 1.0  # or bought, beside one that was looked at
    returns: float = 0.25  # of the share of steps that go back to an item of the visit

    @property
    def weight_by_interaction(self) -> tuple[float, ...]:
        """What an item counts by what was done with it: see `InteractionType`."""
        return (1.0, self.clicked, self.carted, self.bought)

    def to_array(self) -> Floats:
        """Return the constants in their order."""
        return np.array(astuple(self), dtype=np.float64)

    @classmethod
    def from_array(cls, constants: Iterable[float]) -> Self:
        """Return the options that gave `constants`; an older release gave fewer.

        Raises:
            ValueError: when there are too many.
        """
        given = list(constants)
        fields = list(cls.__dataclass_fields__.values())[: len(given)]
        values: dict[str, Any] = {
            field.name: int(value) if field.type == "int" else float(value)
            for field, value in zip(fields, given, strict=True)
        }
        return cls(**values)
