"""Which words has the catalog, which are one edit away, which begin alike? Arrays.

The index of words tells the same, and what is two edits away besides; asked for a word that
nobody typed before, it takes many times as long.
"""

import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.text.parts import Arrays, PartsWriter, followed
from productrecs.engines.text.traces import LEAST, Traces, traces_of
from productrecs.engines.text.warming import Loops
from productrecs.engines.text.words import is_code

_MOST_NEAR: Final = 512
_FEW: Final = 4
_NAMES: Final = ("letters", "starts", "counts", "traces", "whose")
_BYTES_OF_A_WORD: Final = 150

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Words:
    """Some words, each once, and how many products brought each."""

    letters: npt.NDArray[np.uint32]
    starts: Ints
    counts: Ints
    traces: Traces  # rising; codes have none
    whose: Ints  # by trace
    texts: list[str]  # in order
    known: frozenset[str]

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> "Words":
        """Return words with their counts."""
        texts = sorted(counts)
        letters = _letters("".join(texts))
        ends = np.cumsum([len(one) for one in texts])
        starts = np.concatenate([[0], ends]).astype(np.int32)
        typed = [n for n, one in enumerate(texts) if len(one) >= LEAST and not is_code(one)]
        traces, whose = traces_of(letters, starts, typed)
        return cls(
            letters=letters,
            starts=starts,
            counts=np.array([counts[one] for one in texts], dtype=np.int32),
            traces=traces,
            whose=whose,
            texts=texts,
            known=frozenset(texts),
        )

    def beginning(self, start: str) -> tuple[int, int]:
        """Return from where to where the words begin with `start`."""
        past = start + chr(sys.maxunicode)
        return bisect_left(self.texts, start), bisect_left(self.texts, past)

    def counted(self) -> Iterator[tuple[str, int]]:
        """Give each word with its count."""
        return zip(self.texts, self.counts.tolist(), strict=True)


class Lexicon:
    """All words at one moment; any number of threads may read."""

    def __init__(self, parts: Mapping[str, Words]) -> None:
        """Put the parts together."""
        self.by_name = dict(parts)
        self._parts = tuple(self.by_name.values())
        self._known = tuple(part.known for part in self._parts)

    @classmethod
    def read(cls, folder: Path, known: "Lexicon | None" = None) -> "Lexicon":
        """Read what is committed below `folder`; of what is `known` nothing is read again.

        Raises:
            BrokenIndexError: when a file is missing or not what was written.
        """
        return followed(folder, known, _words, cls)

    def __len__(self) -> int:
        """Return how many words there are."""
        return sum(len(part.texts) for part in self._parts)

    def has(self, word: str) -> bool:
        """Return whether a text of the catalog ever held this very word."""
        for known in self._known:  # noqa: SIM110 - asked for every cut of every word
            if word in known:
                return True
        return False

    def cut(self, word: str, cuts: Iterable[int]) -> list[tuple[str, str]]:
        """Return the two parts of a word at each of `cuts` where both are known."""
        if len(self._known) == 1:  # asked of every word; mostly there is one part
            known = self._known[0]
            begun = [at for at in cuts if word[:at] in known]
            return [(word[:at], word[at:]) for at in begun if word[at:] in known]
        begun = [at for at in cuts if self.has(word[:at])]
        return [(word[:at], word[at:]) for at in begun if self.has(word[at:])]

    def near(self, word: str, limit: int, loops: Loops) -> list[str]:
        """Return the most frequent words that are one edit from `word`, no codes."""
        typed, found = _letters(word), np.empty(_MOST_NEAR, dtype=np.int32)
        near = loops.near
        places = []
        for part in self._parts:
            count = near(part.letters, part.starts, part.traces, part.whose, typed, found)
            places.append(found[:count].tolist() if count else ())
        return self._frequent(places, limit)

    def beginning(self, start: str, limit: int) -> list[str]:
        """Return the most frequent words that begin with `start`."""
        places = []
        for part in self._parts:
            begin, end = part.beginning(start)
            those = np.arange(begin, end, dtype=np.int32)
            if len(those) > _FEW * limit:
                counts = part.counts[begin:end]
                least = np.partition(counts, -limit)[-limit]
                those = those[counts >= least]
            places.append(those.tolist())
        return self._frequent(places, limit)

    def memory_bytes(self) -> int:
        """Return about how much memory it takes."""
        return len(self) * _BYTES_OF_A_WORD

    def _frequent(self, places: Sequence[Sequence[int]], limit: int) -> list[str]:
        ranked = [
            (-int(part.counts[place]), part.texts[place])
            for part, those in zip(self._parts, places, strict=True)
            for place in those
        ]
        ranked.sort()
        # Each once: what a killed writer added may have been added again.
        return list(dict.fromkeys(text for _, text in ranked))[:limit]


class LexiconWriter:
    """The one writer of an index's words; what it adds is read at once."""

    def __init__(self, folder: Path) -> None:
        """Go on from what is committed below `folder`, which is not read.

        Raises:
            BrokenIndexError: when there is no telling what is committed.
        """
        self._files = PartsWriter(folder, _words, _arrays, _size)

    def add(self, counts: Mapping[str, int]) -> None:
        """Add words that are not there yet: whoever calls has asked the index of words.

        Raises:
            BrokenIndexError: when an earlier part is damaged.
            OSError: when nothing can be written.
        """
        if counts:
            self._files.add(Words.of(counts), _joined)


def _letters(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _words(arrays: Arrays) -> Words:
    text = arrays["letters"].tobytes().decode("utf-32-le", "surrogatepass")
    starts = arrays["starts"].tolist()
    texts = [text[begin:end] for begin, end in pairwise(starts)]
    return Words(**arrays, texts=texts, known=frozenset(texts))


def _arrays(part: Words) -> Arrays:
    return {one: getattr(part, one) for one in _NAMES}


def _size(part: Words) -> int:
    return len(part.texts)


def _joined(parts: Sequence[Words], _is_all: bool) -> Words:  # noqa: FBT001 - a callback
    return Words.of(dict(pair for part in parts for pair in part.counted()))
