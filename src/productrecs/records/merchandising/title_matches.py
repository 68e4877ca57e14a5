"""Title matches: items whose folded titles contain the words of a rule."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np

from productrecs.core.ids import StoreId
from productrecs.engines.arrays import Ints
from productrecs.records.catalog.text_folding import folded_words
from productrecs.records.merchandising.repository import (
    ItemTitle,
    read_changed_titles,
    read_titles,
)
from productrecs.storage.dialects import RawReader

Words = frozenset[str]
Matches = Mapping[Words, Ints]

NO_MATCHES: Final[Matches] = MappingProxyType({})
_NO_SEQ: Final = -1


class TitleMatcher:
    """The items whose titles contain each requested word set; one writer at a time.

    Titles are not stored. `matches` is replaced atomically: readers take no lock.
    """

    def __init__(self, store_id: StoreId) -> None:
        """Start without requested words."""
        self._store_id = store_id
        self._seq = _NO_SEQ
        self.matches: Matches = NO_MATCHES

    def follow(self, reader: RawReader, phrases: Iterable[Words], catalog_seq: int) -> None:
        """Read the titles that are needed for all `phrases` as of `catalog_seq`."""
        requested = set(phrases)
        if not requested:
            self.matches, self._seq = NO_MATCHES, _NO_SEQ
        elif requested != self.matches.keys():
            self._read_all(reader, requested)
            self._seq = catalog_seq  # changes during the read are read again
        elif catalog_seq > self._seq:
            changed = read_changed_titles(reader, self._store_id, self._seq)
            self._apply(changed)
            self._seq = max([catalog_seq, *(one.change_seq for one in changed)])

    def widened(self, reader: RawReader, phrases: set[Words]) -> "TitleMatcher":
        """Return a matcher for `phrases` as of now; reads titles for new phrases."""
        matches = self.matches
        merged = TitleMatcher(self._store_id)
        missing = phrases - matches.keys()
        if missing:
            merged._read_all(reader, missing)
        reused = {words: matches[words] for words in phrases & matches.keys()}
        merged.matches = {**merged.matches, **reused}
        return merged

    def _read_all(self, reader: RawReader, requested: set[Words]) -> None:
        found: dict[Words, list[int]] = {words: [] for words in requested}
        for page in read_titles(reader, self._store_id):
            for words, numbers in _matching(requested, page).items():
                found[words] += numbers
        self.matches = {
            words: np.array(numbers, np.int64) for words, numbers in found.items()
        }

    def _apply(self, changed: Sequence[ItemTitle]) -> None:
        if not changed:
            return
        changed_numbers = np.array([one.number for one in changed], np.int64)
        new_matches = _matching(self.matches.keys(), changed)
        self.matches = {
            words: np.union1d(
                np.setdiff1d(numbers, changed_numbers),
                np.array(new_matches[words], np.int64),
            )
            for words, numbers in self.matches.items()
        }


def _matching(
    phrases: Iterable[Words], titles: Sequence[ItemTitle]
) -> dict[Words, list[int]]:
    found: dict[Words, list[int]] = {words: [] for words in phrases}
    for one in titles:
        in_title = folded_words(one.title) if one.present else frozenset()
        for words, numbers in found.items():
            if words <= in_title:
                numbers.append(one.number)
    return found
