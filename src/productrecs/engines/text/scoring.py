"""Which products hold the words best? Asked of the arrays, where the words allow it.

What is found, and its scores, are what the library's queries of `matching.py` would give;
what stands in several places of a query, phrases above all, is left to them.
"""

import threading
from collections.abc import Sequence
from itertools import pairwise
from types import ModuleType
from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.text.heads import plain_colours_of
from productrecs.engines.text.interpret import Interpreter, Slot
from productrecs.engines.text.layout import FIELDS, FLOAT_COLUMNS, INT_COLUMNS, LISTS
from productrecs.engines.text.options import WEIGHTS
from productrecs.engines.text.postings import Postings, key_of

Mask = npt.NDArray[np.bool_]
Best = tuple[list[int], list[float]]
"""Item numbers and their falling scores."""

_LAST_EPOCH: Final = 2_000_000_000
_SHOWN: Final = (WEIGHTS.title, WEIGHTS.categories, 0.0, WEIGHTS.codes)
_ALL: Final = (WEIGHTS.title, WEIGHTS.categories, WEIGHTS.description, WEIGHTS.codes)


class _Scratch(threading.local):
    """Rows for the products of the largest part, one set a thread; never cleared."""

    def __init__(self) -> None:
        self.epoch = 0
        self.ints = np.zeros((0, INT_COLUMNS), dtype=np.int32)
        self.floats = np.zeros((0, FLOAT_COLUMNS), dtype=np.float32)
        self.lists = np.zeros((LISTS, 0), dtype=np.int32)

    def fit(self, rows: int) -> None:
        """Have so many rows, and marks that were never used."""
        if rows > len(self.ints) or self.epoch > _LAST_EPOCH:
            rows = max(rows, len(self.ints))
            self.ints = np.zeros((rows, INT_COLUMNS), dtype=np.int32)
            self.floats = np.zeros((rows, FLOAT_COLUMNS), dtype=np.float32)
            self.lists = np.zeros((LISTS, rows), dtype=np.int32)
            self.epoch = 0


_SCRATCH: Final = _Scratch()


_kernels: Final[list[ModuleType]] = []


def warm_up() -> None:
    """Let this process search by its compiled kernel from now on, alike but faster."""
    from productrecs.engines.text import postings_kernel  # noqa: PLC0415 - it compiles

    _kernels[:] = [postings_kernel]


def is_plain(interpreter: Interpreter, slots: Sequence[Slot]) -> bool:
    """Return whether the arrays can tell: each reading is one word, and no two are one."""
    if not _kernels:
        return False
    for slot in slots:
        for one in slot.readings:
            if len(one.stems) != 1:
                return False
    return not any(interpreter.together(*pair) for pair in pairwise(slots))


class Scoring:
    """One query's words, looked up in all parts once."""

    def __init__(
        self, postings: Postings, interpreter: Interpreter, slots: Sequence[Slot]
    ) -> None:
        """Look up the words of `slots`, of which each means something and `is_plain`."""
        readings = [one for slot in slots for one in slot.readings]
        keys = [key_of(one.stems[0]) for one in readings]
        keys += [key_of(one.words[0]) for one in readings]
        sizes = [len(slot.readings) for slot in slots]
        self._postings = postings
        self.words = len(slots)
        self._first = np.zeros(len(slots) + 1, dtype=np.int32)
        np.cumsum(sizes, out=self._first[1:])
        self._slot_of = np.repeat(np.arange(len(slots), dtype=np.int32), sizes)
        self._weights = np.array([one.weight for one in readings], dtype=np.float32)
        self._heads = _head_shares(interpreter, slots)
        self._held = np.zeros(len(readings) * FIELDS, dtype=np.int32)
        self._places = []
        asked = np.array(keys, dtype=np.uint64)
        for part in postings.parts:
            found = np.empty(len(keys), dtype=np.int32)
            _kernels[0].locate(part.terms, part.starts, asked, found, self._held)
            self._places.append(found)

    @property
    def work(self) -> int:
        """How many places of the arrays there are to go through, at most."""
        return int(self._held.sum())

    def every_word(self, visible: Mask, limit: int) -> Best:
        """Return the best visible products that hold every word."""
        pairs = WEIGHTS.side_by_side if self.words > 1 else 0.0
        options = (1.0, pairs, WEIGHTS.all_in_title)
        return self._best(_ALL, self._heads, options, visible, limit)

    def some_words(self, visible: Mask, limit: int, *, anywhere: bool) -> Best:
        """Return the best visible products that hold some; `anywhere`: in any text."""
        pairs = WEIGHTS.side_by_side if self.words > 2 else 0.0  # noqa: PLR2004
        heads = self._heads * np.float32(WEIGHTS.head_of_some)
        shares = _ALL if anywhere else _SHOWN
        return self._best(shares, heads, (0.0, pairs, 0.0), visible, limit)

    def _best(
        self,
        shares: tuple[float, ...],
        heads: npt.NDArray[np.float32],
        options: tuple[float, float, float],
        visible: Mask,
        limit: int,
    ) -> Best:
        postings, scratch = self._postings, _SCRATCH
        scratch.fit(postings.largest)
        scores = np.empty(limit, dtype=np.float32)
        numbers = np.empty(limit, dtype=np.int32)
        query = (
            self._slot_of,
            self._first,
            self._weights,
            np.array(shares, dtype=np.float32),
            heads,
            np.array(options),
        )
        found = 0
        for own, part in enumerate(postings.arrays):
            found, scratch.epoch = _kernels[0].rank(
                part, query, self._places[own], self._held, postings.products,
                self.words, postings.owners, own, postings.norms, visible,
                scratch.ints, scratch.floats, scratch.lists, scores, numbers, found,
                scratch.epoch,
            )  # fmt: skip
        return numbers[:found].tolist(), scores[:found].tolist()


def _head_shares(
    interpreter: Interpreter, slots: Sequence[Slot]
) -> npt.NDArray[np.float32]:
    """Return what each word counts where it says what a product is; see `matching`."""
    shares = np.full(len(slots), WEIGHTS.head, dtype=np.float32)
    shares[last_told(interpreter, slots)] += WEIGHTS.last_head
    return shares


def last_told(interpreter: Interpreter, slots: Sequence[Slot]) -> int:
    """Return which word says what is looked for: the last that is no colour."""
    colours = plain_colours_of(interpreter.language.code)
    told = [index for index, slot in enumerate(slots) if slot.typed not in colours]
    return told[-1] if told else len(slots) - 1
