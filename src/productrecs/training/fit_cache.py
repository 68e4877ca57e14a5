"""Fit cache: reuses fitted models while their inputs are unchanged."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class FitCache:
    """The last result of each fitter, with the inputs it was fitted on.

    Most trainings come of views alone: what was bought is then the same object as before,
    and so is what it taught.
    """

    def __init__(self) -> None:
        """Begin with nothing learned."""
        self._made: dict[str, tuple[tuple[object, ...], Hashable, Any]] = {}

    @property
    def size(self) -> int:
        """How many bytes the arrays of what was learned take."""
        return sum(
            array.nbytes
            for _, _, learned in self._made.values()
            if hasattr(learned, "to_arrays")
            for array in learned.to_arrays().values()
        )

    def of(
        self,
        name: str,
        facts: tuple[object, ...],
        by: Hashable,
        learn: Callable[[], T],
    ) -> T:
        """Return what `learn` gives, or gave when it last had these facts.

        `facts` are compared by identity, so they must not change in place; `by` is what
        else it depends on. One result per name is cached.
        """
        last = self._made.get(name)
        if last is not None and _are_same(last[0], facts) and last[1] == by:
            found: T = last[2]
            return found
        self._made.pop(name, None)  # not twice in memory
        learned = learn()
        self._made[name] = (facts, by, learned)
        return learned


def _are_same(some: tuple[object, ...], others: tuple[object, ...]) -> bool:
    if len(some) != len(others):
        return False
    return all(one is other for one, other in zip(some, others, strict=True))
