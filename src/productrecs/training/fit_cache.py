"""Fit cache: the engines' last arrays, reused while what they were fitted on stays."""

from collections.abc import Callable

from productrecs.core.cache_registry import RegisteredCache
from productrecs.engines.array_types_and_sorting import Arrays
from productrecs.engines.engine_protocol import FitFingerprint


class FitCache:
    """The last arrays of each engine, with what they were fitted on.

    Most trainings only have new views: purchases are then the same object as before, and
    what was fitted to them is reused.
    """

    def __init__(self) -> None:
        """Start with an empty cache."""
        self._cached: dict[str, tuple[FitFingerprint, Arrays]] = {}

    @property
    def size_bytes(self) -> int:
        """Memory of the cached arrays."""
        return sum(
            array.nbytes for _, arrays in self._cached.values() for array in arrays.values()
        )

    def get_or_fit(
        self, name: str, fingerprint: FitFingerprint | None, fit: Callable[[], Arrays]
    ) -> Arrays:
        """Return the result of `fit`: the last one of this name, if it still holds.

        Without a fingerprint nothing is cached.
        """
        if fingerprint is None:
            return fit()
        last = self._cached.get(name)
        if last is not None and last[0].is_same(fingerprint):
            return last[1]
        self._cached.pop(name, None)  # frees memory before the next fit
        if len(self._cached) >= RegisteredCache.FITS.limit:
            self._cached.clear()
        arrays = fit()
        self._cached[name] = fingerprint, arrays
        return arrays
