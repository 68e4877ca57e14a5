"""Which products hold which words, how often, in which field? An index's words as arrays.

Beside the library's index stands a second form of the same words, which `scoring.py` goes
through without the library: parts, written once and never changed, read into memory whole,
so that nothing that happens to a file is seen by who reads. A later part's product takes
the place of an earlier one's; a removed product is one without words.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from productrecs.engines.text.layout import FIELDS, NORMS, TITLE_AT
from productrecs.engines.text.parts import Arrays, PartsWriter, followed
from productrecs.engines.text.warming import Loops

Texts = Sequence[Sequence[str]]
"""The words of one product by field, in the order of `layout`."""

_MOST_TIMES: Final = 255
_K1, _B = 1.2, 0.75
_FREE: Final = 24  # lengths up to here are kept exactly; as the library rounds
_LONGEST_KEPT: Final = 1 << 24
_NAMES: Final = (
    "numbers", "lengths", "tokens", "terms", "starts", "docs", "counts", "sizes",
    "title_starts", "titles",
)  # fmt: skip

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Part:
    """Some products: for each field and term the products that hold it, and how often."""

    numbers: Ints
    lengths: npt.NDArray[np.uint8]  # by field and product, rounded
    tokens: npt.NDArray[np.int64]  # words by field
    terms: npt.NDArray[np.uint64]  # hashes, rising
    starts: Ints  # by field and term into what follows
    docs: Ints
    counts: npt.NDArray[np.uint8]
    sizes: npt.NDArray[np.uint8]  # of the field that holds it, as in `lengths`
    title_starts: Ints  # by product into `titles`
    titles: Ints  # terms of titles, in order

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """Return what the kernel goes through."""
        return (
            self.numbers,
            self.lengths,
            self.starts,
            self.docs,
            self.counts,
            self.sizes,
            self.title_starts,
            self.titles,
        )

    def bytes(self) -> int:
        """Return how much memory it takes."""
        return sum(cast("npt.NDArray[Any]", getattr(self, one)).nbytes for one in _NAMES)


@lru_cache(maxsize=20_000)
def key_of(word: str) -> int:
    """Return by what a word is found in a part."""
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")


def _rounded_lengths() -> npt.NDArray[np.int64]:
    """Return which length each of the 256 codes stands for, as the library rounds."""
    codes = np.arange(NORMS - _FREE)
    bits, shift = codes & 7, (codes >> 3) - 1
    large = np.where(shift < 0, bits, (bits | 8) << np.maximum(shift, 0))
    return np.concatenate([np.arange(_FREE), _FREE + large])


_LENGTHS: Final = _rounded_lengths()


class Postings:
    """All parts at one moment; any number of threads may read."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        """Put the parts together, the earliest first."""
        self.by_name = dict(parts)
        self.parts = tuple(parts.values())
        self.arrays = tuple(part.arrays() for part in self.parts)
        self.products = sum(len(part.numbers) for part in self.parts)
        self.largest = max((len(part.numbers) for part in self.parts), default=0)
        self.owners = _owners(self.parts)
        tokens = sum((part.tokens for part in self.parts), np.zeros(FIELDS, np.int64))
        means = np.maximum(tokens / max(self.products, 1), 1e-9)
        norms = _K1 * (1.0 - _B + _B * _LENGTHS[None, :] / means[:, None])
        self.norms = norms.astype(np.float32).ravel()

    @classmethod
    def read(cls, folder: Path, known: "Postings | None" = None) -> "Postings":
        """Read what is committed below `folder`; of what is `known` nothing is read again.

        Raises:
            BrokenIndexError: when a file is missing or not what was written.
        """
        return followed(folder, known, _part, cls)

    def held(self, stem: str, word: str, loops: Loops) -> list[int]:
        """Return how many products hold a stem by field; of codes, the word as it is."""
        found = np.zeros(FIELDS, dtype=np.int32)
        key = key_of(stem)
        of_word = key if word == stem else key_of(word)
        for part in self.parts:
            loops.held(part.terms, part.starts, key, of_word, found)
        counts: list[int] = found.tolist()
        return counts

    def stand_together(self, one: str, other: str, loops: Loops) -> bool:
        """Return whether two stems stand side by side in a title of a product."""
        keys = key_of(one), key_of(other)
        return any(
            loops.stand_together(part.terms, arrays, *keys, self.owners, own)
            for own, (part, arrays) in enumerate(zip(self.parts, self.arrays, strict=True))
        )

    def memory_bytes(self) -> int:
        """Return about how much memory it takes."""
        return sum(part.bytes() for part in self.parts) + self.owners.nbytes


class _Column(NamedTuple):
    """One field of what was put: its terms in order, and how many each product has."""

    terms: "array[int]"
    sizes: "array[int]"


class PostingsWriter:
    """The one writer of an index's parts; what it adds is read after `commit`."""

    def __init__(self, folder: Path) -> None:
        """Go on from what is committed below `folder`.

        Raises:
            BrokenIndexError: when that cannot be read.
        """
        self._files = PartsWriter(folder, _part, _arrays, _size)
        self._begin()

    def _begin(self) -> None:
        self._terms: dict[str, int] = {}
        self._numbers: list[int] = []
        self._texts = [_Column(array("i"), array("i")) for _ in range(FIELDS)]

    def put(self, number: int, texts: Texts) -> None:
        """Add a product, in place of what was known of its number."""
        terms = self._terms
        self._numbers.append(number)
        for kept, words in zip(self._texts, texts, strict=True):
            kept.terms.extend([terms.setdefault(word, len(terms)) for word in words])
            kept.sizes.append(len(words))

    def remove(self, number: int) -> None:
        """Take a product out."""
        self.put(number, ((),) * FIELDS)

    def commit(self) -> None:
        """Let readers find what was put.

        Raises:
            BrokenIndexError: when an earlier part is damaged.
            OSError: when nothing can be written.
        """
        if self._numbers:
            self._files.add(_made(self._numbers, self._terms, self._texts), _joined)
            self._begin()


def _part(arrays: Arrays) -> Part:
    return Part(**arrays)


def _arrays(part: Part) -> Arrays:
    return {one: getattr(part, one) for one in _NAMES}


def _size(part: Part) -> int:
    return len(part.numbers)


def _owners(parts: Sequence[Part]) -> Ints:
    """Return by item number which part speaks for it."""
    most = max((int(part.numbers.max(initial=-1)) for part in parts), default=-1)
    owners = np.full(most + 1, -1, dtype=np.int32)
    for own, part in enumerate(parts):
        owners[part.numbers] = own
    return owners


def _codes_of(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    found = np.searchsorted(_LENGTHS, np.minimum(lengths, _LONGEST_KEPT), side="right") - 1
    return found.astype(np.uint8)


def _made(
    numbers: Sequence[int], terms: Mapping[str, int], texts: Sequence["_Column"]
) -> Part:
    """Return the part of what was put; of each number what was put last."""
    last = {number: place for place, number in enumerate(numbers)}
    places = sorted(last.values())
    count = max(len(places), 1)
    keys = np.array([key_of.__wrapped__(one) for one in terms], dtype=np.uint64)
    order = np.argsort(keys)
    rank = np.empty(len(keys), dtype=np.int32)
    rank[order] = np.arange(len(keys), dtype=np.int32)
    stays = np.zeros(len(numbers), dtype=np.bool_)
    stays[places] = True
    lists, lengths, titles = [], [], np.empty(0, np.int32)
    for field, column in enumerate(texts):
        sizes = np.array(column.sizes, dtype=np.int64)
        ids = np.array(column.terms, dtype=np.int32)
        ids = rank[ids[np.repeat(stays, sizes)]]
        sizes = sizes[stays]
        docs = np.repeat(np.arange(len(places), dtype=np.int64), sizes)
        both, times = np.unique(ids * np.int64(count) + docs, return_counts=True)
        lists.append((both // count, both % count, times))
        lengths.append(sizes)
        if field == TITLE_AT:
            titles = ids
    return _packed(
        np.array([numbers[place] for place in places], dtype=np.int32),
        keys[order],
        lists,
        [_codes_of(one) for one in lengths],
        np.array([one.sum() for one in lengths], dtype=np.int64),
        titles,
        np.concatenate([[0], np.cumsum(lengths[TITLE_AT])]),
    )


def _packed(  # noqa: PLR0913, PLR0917 - what a part is made of
    numbers: Ints,
    terms: npt.NDArray[np.uint64],
    lists: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]],
    lengths: Sequence[npt.NDArray[np.uint8]],
    tokens: npt.NDArray[np.int64],
    titles: Ints,
    title_starts: npt.NDArray[Any],
) -> Part:
    """Return a part; `lists` are by field the terms, products and times, by term."""
    starts, before = [], 0
    for found, _, _ in lists:
        ends = np.cumsum(np.bincount(found, minlength=len(terms)))
        starts.append(np.concatenate([[0], ends]) + before)
        before += len(found)
    times = np.concatenate([one for _, _, one in lists])
    sizes = [size[docs] for size, (_, docs, _) in zip(lengths, lists, strict=True)]
    return Part(
        numbers=numbers,
        lengths=np.concatenate(lengths),
        tokens=tokens,
        terms=terms,
        starts=np.concatenate(starts).astype(np.int32),
        docs=np.concatenate([one for _, one, _ in lists]).astype(np.int32),
        counts=np.minimum(times, _MOST_TIMES).astype(np.uint8),
        sizes=np.concatenate(sizes),
        title_starts=title_starts.astype(np.int32),
        titles=titles.astype(np.int32),
    )


def _joined(  # noqa: PLR0915 - one walk through all columns
    parts: Sequence[Part],
    is_all: bool,  # noqa: FBT001 - a callback
) -> Part:
    """Return neighbouring parts as one; with `is_all` nothing stands before them."""
    owners = _owners(parts)
    terms = np.unique(np.concatenate([part.terms for part in parts]))
    numbers, lengths, titles, sizes, places = [], [], [], [], []
    tokens, before = np.zeros(FIELDS, dtype=np.int64), 0
    gathered: list[list[tuple[Any, Any, Any]]] = [[] for _ in range(FIELDS)]
    for own, part in enumerate(parts):
        count, width = len(part.numbers), len(part.terms) + 1
        of_part = part.lengths.reshape(FIELDS, count)
        stays = owners[part.numbers] == own
        if is_all:
            stays &= of_part.any(axis=0)
        place = np.cumsum(stays) - 1 + before
        at = np.searchsorted(terms, part.terms)
        for field in range(FIELDS):
            starts = part.starts[field * width : (field + 1) * width]
            docs = part.docs[starts[0] : starts[-1]]
            here = stays[docs]
            term = np.repeat(at, np.diff(starts))[here]
            times = part.counts[starts[0] : starts[-1]][here]
            gathered[field].append((term, place[docs[here]], times))
            tokens[field] += int(times.sum())
        size = np.diff(part.title_starts)
        titles.append(at[part.titles[np.repeat(stays, size)]])
        sizes.append(size[stays])
        numbers.append(part.numbers[stays])
        lengths.append(of_part[:, stays])
        places.append(place)
        before += int(stays.sum())
    lists = []
    for one in gathered:
        term, doc, times = (np.concatenate(column) for column in zip(*one, strict=True))
        order = np.argsort(term, kind="stable")
        lists.append((term[order], doc[order], times[order]))
    return _packed(
        np.concatenate(numbers),
        terms,
        lists,
        list(np.concatenate(lengths, axis=1)),
        tokens,
        np.concatenate(titles),
        np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
    )
