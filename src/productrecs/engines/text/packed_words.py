"""Packed words: a catalog's words in arrays, and look-ups in them in C (`words.c`).

A hundred thousand words take 4 MB, and one pass over them finds those that are near in
spelling.
"""

import ctypes
from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import Any, Final, NamedTuple

import numpy as np

from productrecs.engines.compiled_kernels import address, addresses, declare
from productrecs.engines.text.spelling_likelihood import LetterModel
from productrecs.engines.text.tokenizer import is_code

MOST_LETTERS: Final = 60
"""A longer word is neither corrected nor a correction."""

_UTF_16, _ERRORS = "utf-16-le", "surrogatepass"
_UNIT_BYTES: Final = 2
SHORT_WORD: Final = 4
"""A shorter word is not corrected."""

_MIN_LETTERS: Final = 5  # of a word that is completed from a misspelled start

_letter_masks = declare("letter_masks", "aia", None)
_sort_words = declare("sort_words", "aiaa", None)
_near_words = declare("near_words", "aibiiiaa")
_words_with_start = declare("words_with_start", "aibiiia", keeps_gil=True)
_words_with_near_start = declare("words_with_near_start", "aibiiia", keeps_gil=True)
_has_word = declare("has_word", "aibi", keeps_gil=True)


class NearWord(NamedTuple):
    """A word, its edit distance from another, and how many products had it at first."""

    word: str
    distance: int
    products: int


class PackedWords:
    """Distinct words, the most frequent first; thread-safe."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        """Pack words and the number of products with each; ties keep their order."""
        in_order = np.fromiter(counts.values(), np.int32, len(counts))
        order = np.argsort(-in_order, kind="stable")
        self._counts = in_order[order]
        distinct = list(counts)
        words = [distinct[number] for number in order.tolist()]
        encoded = list(map(_encode, words))
        self._text = b"".join(encoded)
        sizes = np.array([len(word) // _UNIT_BYTES for word in encoded], np.int64)
        self._offsets = np.concatenate(([0], np.cumsum(sizes)))
        corrections = np.array(
            [
                number
                for number, word in enumerate(words)
                if SHORT_WORD <= sizes[number] <= MOST_LETTERS and not is_code(word)
            ],
            np.int32,
        )
        self.letter_model = LetterModel(words[number] for number in corrections.tolist())
        self._n_words, self._n_corrections = len(words), len(corrections)
        self._arrays = (
            np.frombuffer(self._text or b"\0\0", np.uint16),
            self._offsets,
            by_start := np.empty(len(words), np.int32),
            by_end := np.empty(len(words), np.int32),
            corrections,
            masks := np.empty(len(corrections), np.uint64),
            sizes[corrections].astype(np.uint8),
        )
        self._pointers = addresses(*self._arrays)
        _letter_masks(self._pointers, self._n_corrections, address(masks))
        _sort_words(self._pointers, len(words), address(by_start), address(by_end))

    def __len__(self) -> int:
        """Return the number of words."""
        return self._n_words

    def __contains__(self, word: str) -> bool:
        """Return whether it is one of the words."""
        typed = word.encode(_UTF_16, _ERRORS)
        found: int = _has_word(self._pointers, self._n_words, typed, len(typed) // 2)
        return found != 0

    def product_counts_by_word(self) -> dict[str, int]:
        """Return all words with the number of products, the most frequent first."""
        return {word.word: word.products for word in self._decode_words(range(len(self)))}

    def words_near(self, word: str, max_distance: int, limit: int) -> list[NearWord]:
        """Return up to `limit` words of each edit distance from 1 to 2, without codes.

        Words of less than four letters are near none, those of four within one edit only.
        """
        typed = _encode(word)
        size = len(typed) // _UNIT_BYTES
        if size > MOST_LETTERS:
            return []
        numbers = (ctypes.c_int32 * (limit * max_distance))()
        distances = (ctypes.c_uint8 * (limit * max_distance))()
        count = _near_words(
            *(self._pointers, self._n_corrections, typed, size),
            *(max_distance, limit, numbers, distances),
        )
        return self._decode_words(numbers[:count], distances[:count])

    def words_with_start(self, start: str, limit: int) -> list[NearWord]:
        """Return up to `limit` words that begin with `start`."""
        return self._call_kernel(_words_with_start, len(self), start, 0, limit)

    def words_with_end(self, end: str, limit: int) -> list[NearWord]:
        """Return up to `limit` words that end with `end`."""
        return self._call_kernel(_words_with_start, len(self), end, 1, limit)

    def words_with_near_start(self, start: str, limit: int) -> list[NearWord]:
        """Return up to `limit` words with the same first letter, and a start one edit away.

        They have at least five letters, and are no codes.
        """
        count = self._n_corrections
        return self._call_kernel(_words_with_near_start, count, start, _MIN_LETTERS, limit)

    def memory_bytes(self) -> int:
        """Return the memory of the arrays."""
        arrays = self._counts.nbytes + sum(array.nbytes for array in self._arrays)
        return arrays + self.letter_model.memory_bytes()

    def _call_kernel(
        self, kernel: Any, n_words: int, text: str, argument: int, limit: int
    ) -> list[NearWord]:
        typed = _encode(text)
        size = len(typed) // _UNIT_BYTES
        if not 0 < size <= MOST_LETTERS:
            return []
        numbers = (ctypes.c_int32 * limit)()
        count = kernel(self._pointers, n_words, typed, size, argument, limit, numbers)
        return self._decode_words(numbers[:count])

    def _decode_words(
        self, numbers: Iterable[int], distances: Iterable[int] = repeat(0)
    ) -> list[NearWord]:
        text, offsets, counts = self._text, self._offsets, self._counts
        return [
            NearWord(
                text[
                    _UNIT_BYTES * int(offsets[number]) : _UNIT_BYTES
                    * int(offsets[number + 1])
                ].decode(_UTF_16, _ERRORS),
                distance,
                int(counts[number]),
            )
            for number, distance in zip(numbers, distances, strict=False)
        ]


def _encode(word: str) -> bytes:
    return word.encode(_UTF_16, _ERRORS)
