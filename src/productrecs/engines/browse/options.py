"""Hyperparameters of the session kNN engine, with their defaults."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from productrecs.engines.arrays import Floats


class InteractionType(IntEnum):
    """Interaction with an item of a visit, in ascending strength."""

    VIEWED = 0
    CLICKED = 1
    CARTED = 2
    BOUGHT = 3


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Hyperparameters, tuned on the last days of two training sets.

    Every other `..._scale` is the distance (in visit positions, newest first, or in days)
    at which a weight has decayed to 1/e. In a neighbouring session a vote decays more
    slowly: 1 / (1 + distance / distance_scale).
    Source: STAN and VSTAN, requirements/algorithms.md 1.1.
    """

    prefix: int = 9  # newest distinct items of the visit to compare
    recent_sessions: int = 1000  # newest sessions that share one of these items
    neighbours: int = 500  # most similar of these sessions
    sessions_per_item: int = 2500  # maximum length of a posting list
    longest: int = 200  # newest distinct items of a session
    match_scale: float = 3.62
    vote_scale: float = 3.62
    distance_scale: float = 0.5  # distance at which a vote has decayed to a half
    days_scale: float = 50.0
    rarity: float = 1.0  # boost of rare items: 1 + rarity * ln(S / df)
    enough: int = 20  # minimum number of items; with fewer, their next items are added
    backward: float = 1.0  # vote factor of items before the match in a neighbour
    clicked: float = 1.0  # weight of an item clicked in a search or a list,
    carted: float = 1.0  # put into the cart,
    bought: float = 1.0  # or bought; a view counts 1
    returns: float = 0.25  # weight of returns to items of the visit

    @property
    def weight_by_interaction(self) -> tuple[float, ...]:
        """Item weights by `InteractionType`."""
        return (1.0, self.clicked, self.carted, self.bought)

    def to_array(self) -> Floats:
        """Return the values in field order."""
        return np.array(astuple(self), dtype=np.float64)

    @classmethod
    def from_array(cls, constants: Iterable[float]) -> Self:
        """Return the options of `constants`; older releases have fewer values.

        Raises:
            ValueError: when there are too many.
        """
        numbers = list(constants)
        fields = list(cls.__dataclass_fields__.values())[: len(numbers)]
        values: dict[str, Any] = {
            field.name: int(value) if field.type == "int" else float(value)
            for field, value in zip(fields, numbers, strict=True)
        }
        return cls(**values)
