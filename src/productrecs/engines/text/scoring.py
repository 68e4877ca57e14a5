"""Which products hold the words best? Asked of the arrays, where the words allow it.

What is found, and its scores, are what the library's queries of `matching.py` would give;
what stands in several places of a query, phrases above all, is left to them.
"""

import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.text.heads import plain_colours_of
from productrecs.engines.text.interpret import Interpreter, Slot
from productrecs.engines.text.layout import COLUMNS, FIELDS, LISTS
from productrecs.engines.text.options import WEIGHTS
from productrecs.engines.text.postings import Postings, key_of
from productrecs.engines.text.warming import Loops

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Best = tuple[list[int], list[float]]
"""Item numbers and their falling scores."""

_LAST_EPOCH: Final = 2_000_000_000
# What each field counts.
_SHOWN: Final = np.array(
    [WEIGHTS.title, WEIGHTS.categories, 0.0, WEIGHTS.codes], dtype=np.float32
)
_ALL: Final = np.array(
    [WEIGHTS.title, WEIGHTS.categories, WEIGHTS.description, WEIGHTS.codes],
    dtype=np.float32,
)
# Whether every word is needed, and what counts besides: neighbours that stand together, all
# in a title, heads.
_ONE: Final = np.array([1.0, 0.0, 0.0, 1.0], dtype=np.float32)
_EVERY: Final = np.array(
    [1.0, WEIGHTS.side_by_side, WEIGHTS.all_in_title, 1.0], dtype=np.float32
)
_SOME: Final = np.array(
    [0.0, WEIGHTS.side_by_side, 0.0, WEIGHTS.head_of_some], dtype=np.float32
)
_SOME_OF_TWO: Final = np.array([0.0, 0.0, 0.0, WEIGHTS.head_of_some], dtype=np.float32)


class _Scratch(threading.local):
    """Rows for the products of the largest part, one set a thread; never cleared."""

    def __init__(self) -> None:
        self.epoch = 0
        self._have(0)

    def fit(self, rows: int) -> None:
        """Have so many rows, and marks that were never used."""
        if rows > len(self.ints) or self.epoch > _LAST_EPOCH:
            self._have(max(rows, len(self.ints)))
            self.epoch = 0

    def _have(self, rows: int) -> None:
        room = np.zeros((rows + 1) * COLUMNS, dtype=np.int32)
        # Each row in one line of the processor's cache.
        begin = -room.ctypes.data % (COLUMNS * 4) // 4
        self.ints = room[begin : begin + rows * COLUMNS].reshape(rows, COLUMNS)
        self.floats = self.ints.view(np.float32)  # the same rows, other columns
        self.lists = np.zeros((LISTS, rows), dtype=np.int32)


_SCRATCH: Final = _Scratch()


def is_plain(interpreter: Interpreter, slots: Sequence[Slot]) -> bool:
    """Return whether the arrays can tell: each reading is one word, and no two are one."""
    for slot in slots:
        for one in slot.readings:
            if len(one.stems) != 1:
                return False
    for pair in pairwise(slots):  # noqa: SIM110 - asked at every search
        if interpreter.together(*pair):
            return False
    return True


class Scoring:
    """One query's words, looked up in all parts once."""

    def __init__(
        self,
        postings: Postings,
        interpreter: Interpreter,
        slots: Sequence[Slot],
        ready: Loops,
    ) -> None:
        """Look up the words of `slots`, of which each means something and `is_plain`."""
        readings = [one for slot in slots for one in slot.readings]
        keys = [key_of(one.stems[0]) for one in readings]
        keys += [key_of(one.words[0]) for one in readings]
        slot_of, first = list[int](), [0]
        for number, slot in enumerate(slots):
            slot_of += [number] * len(slot.readings)
            first.append(len(slot_of))
        self._postings, self._loops = postings, ready
        self.words = len(slots)
        self._slot_of = np.array(slot_of, dtype=np.int32)
        self._first = np.array(first, dtype=np.int32)
        self._weights = np.array([one.weight for one in readings], dtype=np.float32)
        # What each word counts where it says what a product is; see `matching`.
        heads = [WEIGHTS.head] * len(slots)
        heads[last_told(interpreter, slots)] += WEIGHTS.last_head
        self._heads = np.array(heads, dtype=np.float32)
        self._held = np.zeros(len(readings) * FIELDS, dtype=np.int32)
        self._places = []
        asked = np.array(keys, dtype=np.uint64)
        for part in postings.parts:
            found = np.empty(len(keys), dtype=np.int32)
            ready.locate(part.terms, part.starts, asked, found, self._held)
            self._places.append(found)

    @property
    def work(self) -> int:
        """How many places of the arrays there are to go through, at most."""
        return int(self._held.sum())

    def every_word(self, visible: Mask, limit: int) -> Best:
        """Return the best visible products that hold every word."""
        return self._best(_ALL, _EVERY if self.words > 1 else _ONE, visible, limit)

    def some_words(self, visible: Mask, limit: int, *, anywhere: bool) -> Best:
        """Return the best visible products that hold some; `anywhere`: in any text."""
        shares = _ALL if anywhere else _SHOWN
        # What holds two of two was found before.
        options = _SOME if self.words > 2 else _SOME_OF_TWO  # noqa: PLR2004
        return self._best(shares, options, visible, limit)

    def _best(self, shares: Floats, options: Floats, visible: Mask, limit: int) -> Best:
        postings, scratch, rank = self._postings, _SCRATCH, self._loops.rank
        scratch.fit(postings.largest)
        scores = np.empty(limit, dtype=np.float32)
        numbers = np.empty(limit, dtype=np.int32)
        query = (self._slot_of, self._first, self._weights, shares, self._heads, options)
        found, epoch = 0, scratch.epoch
        for own, part in enumerate(postings.arrays):
            found, epoch = rank(
                part, query, self._places[own], self._held, postings.products,
                self.words, postings.owners, own, postings.norms, visible,
                scratch.ints, scratch.floats, scratch.lists, scores, numbers, found,
                epoch,
            )  # fmt: skip
        scratch.epoch = epoch
        return numbers[:found].tolist(), scores[:found].tolist()


def last_told(interpreter: Interpreter, slots: Sequence[Slot]) -> int:
    """Return which word says what is looked for: the last that is no colour."""
    colours = plain_colours_of(interpreter.language.code)
    told = [index for index, slot in enumerate(slots) if slot.typed not in colours]
    return told[-1] if told else len(slots) - 1
