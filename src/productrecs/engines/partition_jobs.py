"""Partition jobs: a fit is a set of independent jobs whose results are joined.

`InProcessRunner` runs them one after another in this process; a cluster is another
`JobRunner`. An engine's result does not depend on the runner or on the number of jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from productrecs.engines.array_types_and_sorting import Ints

Result = TypeVar("Result")
Allocate: TypeAlias = Callable[[int, npt.DTypeLike], npt.NDArray[Any]]
"""Returns an uninitialised array of a length and a type, in memory or in a mapped file."""


class JobRunner(Protocol):
    """Runs independent jobs."""

    @property
    def workers(self) -> int:
        """How many jobs run at the same time."""

    def run(
        self,
        function: Callable[..., Result],
        shared: object,
        jobs: Iterable[tuple[Any, ...]],
    ) -> Iterator[Result]:
        """Yield `function(shared, *job)` of each job, in their order.

        Jobs are taken as they are needed, so their inputs are never all in memory.
        """


class InProcessRunner:
    """Runs the jobs in this process."""

    workers = 1

    def run(
        self,
        function: Callable[..., Result],
        shared: object,
        jobs: Iterable[tuple[Any, ...]],
    ) -> Iterator[Result]:
        """Yield the result of each job, when the caller asks for it."""
        for job in jobs:
            yield function(shared, *job)


HERE: Final = InProcessRunner()


def allocate_in_memory(size: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an uninitialised array in memory."""
    return np.empty(size, kind)


def run_ranges(offsets: Ints, max_entries: int) -> Iterator[tuple[int, int]]:
    """Yield consecutive ranges of runs with at most `max_entries`, or of a single run.

    Run r has the entries offsets[r]:offsets[r + 1].
    """
    begin, runs = 0, len(offsets) - 1
    while begin < runs:
        fits = int(np.searchsorted(offsets, offsets[begin] + max_entries, side="right")) - 1
        end = min(max(fits, begin + 1), runs)
        yield begin, end
        begin = end
