"""Learning to rank: trees trained on impressions and clicks, as plain arrays.

Only training loads the training library; serving reads the arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from productrecs.engines.arrays import Floats, Items


def score_by_numpy(
    traits: Items,
    bounds: Floats,
    left: Items,
    right: Items,
    values: Floats,
    roots: Items,
    rows: Floats,
) -> Floats:
    """Return the sum of each row's leaves, tree after tree."""
    sums = np.zeros(len(rows))
    row_numbers = np.arange(len(rows))
    for root in roots.tolist():
        node_of_row = np.full(len(rows), root, dtype=np.int64)
        while (is_inner := node_of_row >= 0).any():
            nodes, row_index = node_of_row[is_inner], row_numbers[is_inner]
            goes_left = rows[row_index, traits[nodes]] <= bounds[nodes]
            node_of_row[is_inner] = np.where(goes_left, left[nodes], right[nodes])
        sums += values[~node_of_row]
    return sums


_evaluators: list[Any] = [score_by_numpy]  # the last one is used: after warm-up, the kernel
_INTEGER_ARRAYS: Final = ("traits", "left", "right", "roots")


def warm_up() -> None:
    """Switch this process to the compiled kernel: same answers, faster."""
    from productrecs.engines.ranking import kernel  # noqa: PLC0415 - it compiles

    _evaluators[1:] = [kernel.score]


@dataclass(frozen=True, slots=True, eq=False)
class TreeEnsemble:
    """Summed binary trees. A node tests whether a row's `traits[node]` is within its bound.

    Shapes: `traits`, `bounds`, `left`, `right` [nodes]; `values` [leaves]; `roots` [trees].
    A child or root below 0 is the leaf ~child.
    """

    traits: Items
    bounds: Floats
    left: Items
    right: Items
    values: Floats
    roots: Items

    def __len__(self) -> int:
        """Return the number of trees; without any there is no order."""
        return len(self.roots)

    @classmethod
    def none(cls) -> Self:
        """Return an empty ensemble."""
        return cls.from_arrays({})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Return the trees of named arrays or lists; an empty ensemble if there are none.

        Raises:
            ValueError: when a node has an invalid child.
        """
        typed_arrays = {
            name: np.ascontiguousarray(
                np.asarray(arrays.get(name, ())),
                np.int32 if name in _INTEGER_ARRAYS else np.float64,
            )
            .view(np.ndarray)
            .view()
            for name in cls.__dataclass_fields__
        }
        for array in typed_arrays.values():  # one array type for the kernel
            array.flags.writeable = False
        trees = cls(**typed_arrays)
        trees.check()
        return trees

    def check(self) -> None:
        """Check that every child comes after its node."""
        nodes, leaf_count = len(self.traits), len(self.values)
        node_index = np.arange(nodes)
        lengths = {len(self.traits), len(self.bounds), len(self.left), len(self.right)}
        is_consistent = len(lengths) == 1 and all(
            bool(((children < 0) | (children > node_index)).all())
            for children in (self.left, self.right)
        )
        if not is_consistent or any(
            bool(((children >= nodes) | (~children >= leaf_count)).any())
            for children in (self.left, self.right, self.roots)
        ):
            message = "these trees have a branch that leads nowhere"
            raise ValueError(message)

    def to_arrays(self) -> dict[str, Any]:
        """Return its arrays by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def score(self, rows: Floats) -> Floats:
        """Return the summed score of each row of traits [n, traits]; higher is better."""
        scores: Floats = _evaluators[-1](
            self.traits,
            self.bounds,
            self.left,
            self.right,
            self.values,
            self.roots,
            np.ascontiguousarray(rows, np.float64),
        )
        return scores
