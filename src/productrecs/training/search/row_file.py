"""Row file: a table of bytes of which rows are read one by one."""

import os
import weakref
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt


class RowFile:
    """Rows of a file, read when needed; mapped, all pages would count in each process."""

    def __init__(self, path: Path, size: int, begin: int = 0) -> None:
        """Open a file with rows of `size` bytes from the byte `begin` on."""
        self._size, self._begin = size, begin
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def read(self, numbers: Iterable[int]) -> npt.NDArray[np.uint8]:
        """Return the rows of these numbers; thread-safe."""
        size, begin, file = self._size, self._begin, self._file
        rows = b"".join([os.pread(file, size, begin + size * row) for row in numbers])
        return np.frombuffer(rows, np.uint8).reshape(-1, size)
