"""Compiled kernels: the engines' inner loops in C (`kernels.c` and `text/words.c`).

They are called through ctypes, which releases the GIL during a call. A call takes arrays by
address: they have to be contiguous, of the type that the C file names, and alive until it
returns.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy.typing as npt

LIBRARY: Final = Path(__file__).with_name("kernels.c.so")
"""A wheel carries it; in a checkout `tools/kernels.py` makes it, which `make run` calls.

Its name has two dots, since Python would take `kernels.so` for a module of the package.
"""

_INT, _ADDRESS = ctypes.c_int64, ctypes.c_void_p
_KINDS: Final = {
    "a": _ADDRESS,
    "b": ctypes.c_char_p,
    "d": ctypes.c_double,
    "f": ctypes.c_float,
    "i": _INT,
}


def _load() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        message = (
            f"the engines' compiled kernels cannot be loaded ({error}); "
            "in a checkout run `make run` or `python -m tools.kernels`, "
            "elsewhere install productrecs again"
        )
        raise ImportError(message, name=__name__) from error


_library: Final = _load()
_library_with_gil: Final = ctypes.PyDLL(str(LIBRARY))


def declare(
    name: str, signature: str, result: Any = _INT, *, keeps_gil: bool = False
) -> Any:
    """Return a function of the library.

    `signature` has a letter for each argument: `a` for an address, `b` for bytes, `i` for a
    whole number of 64 bits, `d` for a double and `f` for a float. A call of a microsecond
    keeps the GIL, since getting it back takes longer while another thread runs.
    """
    function = getattr(_library_with_gil if keeps_gil else _library, name)
    function.argtypes = [_KINDS[letter] for letter in signature]
    function.restype = result
    return function


def address(array: npt.NDArray[Any]) -> int:
    """Return where an array's first value lies."""
    return array.ctypes.data


def addresses(*arrays: npt.NDArray[Any]) -> Any:
    """Return a C structure of pointers to the arrays, in their order."""
    return (_ADDRESS * len(arrays))(*map(address, arrays))
