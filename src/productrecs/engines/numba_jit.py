"""Numba compilation of the engines' inner loops, cached on disk."""

from __future__ import annotations

import pickle  # noqa: TID251 - for its error: numba's own cache uses pickle
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba
from numba import types

F = TypeVar("F", bound=Callable[..., Any])
# numba's pickled index names classes and is read before the source's time is compared.
_UNREADABLE: Final = (AttributeError, ImportError, EOFError, pickle.UnpicklingError)


def readonly_array(kind: Any) -> Any:
    """Return the type of a read-only flat array of `kind`."""
    return types.Array(kind, 1, "C", readonly=True)


def jit_compiled(signature: Any) -> Callable[[F], F]:
    """Return a decorator that compiles for `signature` and caches the result on disk.

    The cache is beside the source, in NUMBA_CACHE_DIR, or in the user's cache folder.
    Without a writable folder, every process compiles again. An unreadable cache of another
    version is discarded.
    """

    def decorate(function: F) -> F:
        try:
            return cast("F", numba.njit(signature, cache=True, nogil=True)(function))
        except RuntimeError:  # no writable cache folder
            return cast("F", numba.njit(signature, nogil=True)(function))
        except _UNREADABLE:
            compiled: Any = numba.njit(nogil=True)(function)
            compiled.enable_caching()
            compiled._cache.flush()  # noqa: SLF001 - numba has no public method
        return cast("F", numba.njit(signature, cache=True, nogil=True)(function))

    return decorate


def without_type_dispatch(function: F) -> F:
    """Return a compiled function that is called without argument type checks.

    For the one call of each answer: type dispatch on tuples of arrays takes twice as long
    as unpacking them. Callers must pass exactly the types of the signature, as contiguous
    arrays: other arguments are not refused but misread.
    """
    (compiled,) = cast("Any", function).overloads.values()
    return cast("F", compiled.entry_point)
