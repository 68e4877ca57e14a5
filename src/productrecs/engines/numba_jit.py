"""Numba compilation of the engines' inner loops, cached on disk."""

from __future__ import annotations

import pickle  # noqa: TID251 - for its error: numba reads pickles of its own
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba
from numba import types

F = TypeVar("F", bound=Callable[..., Any])
# numba pickles the names of classes and reads them before it looks at the source's time.
_UNREADABLE: Final = (AttributeError, ImportError, EOFError, pickle.UnpicklingError)


def readonly_array(kind: Any) -> Any:
    """Return the type of a flat array of `kind` that is only read, sealed or not."""
    return types.Array(kind, 1, "C", readonly=True)


def jit_compiled(signature: Any) -> Callable[[F], F]:
    """Return a decorator that compiles for `signature`, and keeps the result.

    The cache is beside the source, in NUMBA_CACHE_DIR, or in the user's cache folder; where
    none can be written, every process compiles anew. A cache that another version of the
    program wrote, and that cannot be read, is discarded.
    """

    def decorate(function: F) -> F:
        try:
            return cast("F", numba.njit(signature, cache=True, nogil=True)(function))
        except RuntimeError:  # no folder to keep it in
            return cast("F", numba.njit(signature, nogil=True)(function))
        except _UNREADABLE:
            made: Any = numba.njit(nogil=True)(function)
            made.enable_caching()
            made._cache.flush()  # noqa: SLF001 - numba has no public one
        return cast("F", numba.njit(signature, cache=True, nogil=True)(function))

    return decorate


def without_type_dispatch(function: F) -> F:
    """Return a compiled function that is called without argument type checks.

    For the one call of each answer: finding out the types of tuples of arrays takes twice
    as long as taking the arrays out of them. Whoever calls it gives exactly what its
    signature says, arrays without gaps: nothing else is refused, it is misread.
    """
    (made,) = cast("Any", function).overloads.values()
    return cast("F", made.entry_point)
